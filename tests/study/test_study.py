"""Studies: what a file may say, what follows from it, and how it is refused."""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from steelyard.errors import SteelyardError, StudyError, UnknownName, UsageError
from steelyard.running import order
from steelyard.study import model as studies
from steelyard.study import study_file
from steelyard.study.model import MARGINS, Cell, Design, Study, SystemDefinition, TableRow
from steelyard.study.plan import Plan

HARNESS = {"copies": (1, 4096), "batches": (1, 10_000), "batch_ns": (0, 60 * 10**9), "warmup_ns": (0, 10**12)}
CATALOGUE: Mapping[str, Mapping[str, tuple[int, int]]] = {
    name: HARNESS for name in ("null", "sieve", "syscall", "funcall", "shell", "disktest", "fork_wait")
} | {"pipe_transfer": HARNESS | {"size": (1, 65536)}}
PARALLEL = {name: HARNESS | {"processes": (1, 64)} for name in ("parallel_sort", "parallel_product")}

HEAD = 'name = "small"\ntitle = "a small study"\n'
SIEVE = '[[workload]]\nname = "sieve"\n'
LEAST = HEAD + SIEVE


def _parse(text: str) -> Study:
    return study_file.parse(text, file="my.toml")


def _with(text: str) -> str:
    """The least study with one line more at its head."""
    return HEAD + text + "\n" + SIEVE


def test_the_least_study_takes_every_default() -> None:
    study = _parse(LEAST)

    assert (study.name, study.title, study.text) == ("small", "a small study", LEAST)
    assert study.systems == ("native", "native-musl")
    assert study.design == Design()
    assert dict(study.margins) == MARGINS
    assert study.trial == ()
    assert study.definitions == ()
    assert study.tables == ()
    assert studies.cells(study, processors=2) == (Cell("sieve"),)


def test_every_key_of_a_study_is_read() -> None:
    study = _parse(
        HEAD
        + """
systems = ["native", "mine"]
[design]
blocks = 12
blocks_per_boot = 3
budget = "1.5m"
trial_limit = "5s"
[margin]
cpu = 0.005
[trial]
warmup_ns = 0
batches = 3
[system.mine]
command = ["env", "{program}", "agent"]
program = "musl"
boot = true
[system.variant]
base = "uml"
memory = "64M"
swap = "256M"
[[workload]]
name = "pipe_transfer"
size = [1, 4096]
copies = 1
[[table]]
name = "I"
title = "Table I"
paper = "silva-pegasus"
row = [{ published = "piper", workload = "pipe_transfer", operations = 1000 }]
"""
    )

    assert study.systems == ("native", "mine")
    assert study.design == Design(12, 3, 90.0, 5.0)
    assert study.margins["cpu"] == 0.005
    assert study.margins["file"] == MARGINS["file"]
    assert study.trial == (("batches", 3), ("warmup_ns", 0))
    assert study.definitions == (
        SystemDefinition("mine", ("env", "{program}", "agent"), program="musl", boot=True),
        SystemDefinition("variant", base="uml", memory="64M", swap="256M"),
    )
    assert study.tables[0].rows == (TableRow("piper", "pipe_transfer", 1000),)


def test_a_study_is_never_changed() -> None:
    study = _parse(LEAST)
    with pytest.raises(dataclasses.FrozenInstanceError):
        study.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize("name", sorted(study_file.bundled()))
def test_a_bundled_study_parses_and_has_its_file_s_name(name: str) -> None:
    study = study_file.read(name)

    assert study.name == name
    assert len(studies.cells(study, processors=2)) > 0


def test_a_study_of_parts_has_all_that_its_parts_have_each_timed_as_there() -> None:
    whole = study_file.read("korunic-full")
    parts = re.findall(r'study = "(\S+)"', whole.text.partition("[included]")[0])
    assert len(parts) >= 4
    cells = {cell.label: dict(cell.parameters) for cell in studies.cells(whole, processors=2)}
    for part in map(study_file.read, parts):
        for cell in studies.cells(part, processors=2):
            timed = dict(part.trial) | dict(cell.parameters)
            label = studies.Cell(cell.workload, tuple(sorted(timed.items()))).label
            assert cells[label].keys() == timed.keys()
        assert {figure.workloads for figure in part.figures} <= {figure.workloads for figure in whole.figures}
    assert len({figure.name for figure in whole.figures}) == len(whole.figures)


def test_the_paper_s_seven_parts_are_in_its_order() -> None:
    titles = [figure.title for figure in study_file.read("korunic-full").figures]

    parts = [title.partition(":")[0] for title in titles]
    named = ["Disk", "NBench", "Network", "lmbench", "Mail", "Databases", "Emulation"]
    wanted = [f"{number}. {name}" for number, name in enumerate(named, start=1)]
    assert [one for one in dict.fromkeys(parts) if one in wanted] == wanted
    assert parts == sorted(parts)


def test_a_study_of_parts_is_kept_with_their_texts() -> None:
    """What an archive holds is read again, also when its parts are not bundled any more."""
    whole = study_file.read("korunic-full")
    kept = whole.text.replace('study = "nbench"', 'study = "gone"').replace("\nnbench = ", "\ngone = ")
    assert kept.count("gone") == 2
    again = study_file.archived(kept)
    assert again is not None
    assert again.workloads == whole.workloads
    assert study_file.archived(whole.text) == whole


def test_a_study_of_parts_includes_no_study_of_parts_and_no_unknown_one() -> None:
    part = '[[include]]\ntitle = "t"\nstudy = '
    with pytest.raises(StudyError, match=r"study is 'korunic-full', but must be a study without includes"):
        _parse(HEAD + part + '"korunic-full"')
    with pytest.raises(UnknownName, match="korunik"):
        _parse(HEAD + part + '"korunik"')


def test_the_pegasus_study_keeps_to_the_catalogue() -> None:
    catalogue = {**CATALOGUE, **PARALLEL, "funcall_assignment": HARNESS}

    studies.check(study_file.read("pegasus"), catalogue, file="pegasus")


# What is wrong, and what the message must name: the key, the value, and what is allowed.
CELL_TABLE = (
    '[[cell_table]]\nname = "6.1"\ntitle = "t"\npaper = "goncalves-linux-vs-nt"\n'
    'published = "tcp-echo-64B"\nworkload = "tcp_echo"\nover = "requests"\nlevels = [5000]\n'
)
FIGURE_TABLE = (
    '[[figure_table]]\nname = "1"\ntitle = "t"\npaper = "kretschek-panalyser"\n'
    'published = "deterministic test program"\nworkload = "known_calls"\n'
)

BAD = {
    "no name": (f'title = "t"\n{SIEVE}', ["name", "missing", "a text"]),
    "empty name": (f'name = ""\ntitle = "t"\n{SIEVE}', ["name", "''", "a text"]),
    "name a number": (f'name = 5\ntitle = "t"\n{SIEVE}', ["name", "5", "a text"]),
    "name a path": (f'name = "a/b"\ntitle = "t"\n{SIEVE}', ["name", "'a/b'"]),
    "no title": (f'name = "n"\n{SIEVE}', ["title", "missing", "a text"]),
    "no workload": (HEAD, ["workload", "[]", "at least one [[workload]]"]),
    "workload a table": (HEAD + '[workload]\nname = "sieve"', ["workload", "[[workload]]"]),
    "workload without a name": (HEAD + "[[workload]]\ncopies = 1", ["workload 1: name", "missing", "a text"]),
    "systems a text": (_with('systems = "native"'), ["systems", "'native'", "a list of texts"]),
    "systems numbers": (_with("systems = [1]"), ["systems", "[1]", "a list of texts"]),
    "systems with an empty one": (_with('systems = [""]'), ["systems", "['']", "a list of texts"]),
    "no systems": (_with("systems = []"), ["systems", "[]"]),
    "level negative": (LEAST + "copies = -1", ["workload 1: copies", "-1", "a whole number from 0"]),
    "level a fraction": (LEAST + "copies = 1.5", ["workload 1: copies", "1.5", "a whole number from 0"]),
    "timing varied": (LEAST + "batches = [5, 10]", ["workload 1: batches", "[5, 10]", "one number"]),
    "level a truth": (LEAST + "copies = true", ["copies", "true", "a whole number from 0"]),
    "no levels": (LEAST + "copies = []", ["copies", "[]", "a whole number from 0"]),
    "second workload": (
        LEAST + '[[workload]]\nname = "shell"\ncopies = -7',
        ["workload 2: copies", "-7", "a whole number from 0"],
    ),
    "looks empty": (_with("[design]\nlooks = []"), ["design.looks", "[]", "a list of whole numbers from 1"]),
    "looks zero": (_with("[design]\nlooks = [0]"), ["design.looks", "[0]", "a list of whole numbers from 1"]),
    "looks a number": (_with("[design]\nlooks = 12"), ["design.looks", "12", "a list"]),
    "looks truths": (_with("[design]\nlooks = [true]"), ["design.looks", "[true]", "numbers from 1"]),
    "blocks a text": (_with('[design]\nblocks = "12"'), ["design.blocks", "'12'", "from 1 to"]),
    "blocks a list": (_with("[design]\nblocks = [6, 12]"), ["design.blocks", "[6, 12]", "a whole number"]),
    "no block": (_with("[design]\nblocks = 0"), ["design.blocks", "0", "a whole number from 1 to 100000"]),
    "blocks a truth": (_with("[design]\nblocks = true"), ["design.blocks", "true", "a whole number"]),
    "scales a number": (_with("[design]\nscales = 1"), ["design.scales", "1", "true or false"]),
    "boots of no blocks": (
        _with("[design]\nblocks_per_boot = 0"),
        ["design.blocks_per_boot", "0", "a whole number from 1 to 100000"],
    ),
    "boots a truth": (_with("[design]\nblocks_per_boot = true"), ["design.blocks_per_boot", "true"]),
    "budget a number": (_with("[design]\nbudget = 300"), ["design.budget", "300", '"5m"']),
    "budget without unit": (_with('[design]\nbudget = "300"'), ["design.budget", "'300'", '"5m"']),
    "budget nothing": (_with('[design]\nbudget = "0s"'), ["design.budget", "'0s'", '"5m"']),
    "limit": (_with('[design]\ntrial_limit = "soon"'), ["design.trial_limit", "'soon'", '"90s"']),
    "design a number": (_with("design = 1"), ["design", "1", "a table [design]"]),
    "margin of nothing": (_with("[margin]\ncpu = 0.0"), ["margin.cpu", "0.0", "a share from 0.0001% to"]),
    "margin of all": (_with("[margin]\ncpu = 1.0"), ["margin.cpu", "1.0", "a share"]),
    "margin whole": (_with("[margin]\ncpu = 2"), ["margin.cpu", "2", "a share"]),
    "margin text": (_with('[margin]\ncpu = "2 %"'), ["margin.cpu", "'2 %'", "a share"]),
    "trial text": (_with('[trial]\nbatches = "3"'), ["trial.batches", "'3'", "a whole number"]),
    "trial processors": (
        _with('[trial]\ncopies = "processors"'),
        ["trial.copies", "'processors'", "a whole"],
    ),
    "trial negative": (_with("[trial]\nbatches = -3"), ["trial.batches", "-3", "a whole number"]),
    "trial truth": (_with("[trial]\nbatches = true"), ["trial.batches", "true", "a whole number"]),
    "system a text": (_with('[system]\nmine = "x"'), ["system.mine", "'x'", "a table [system.mine]"]),
    "system of nothing": (_with("[system.mine]\nboot = true"), ["system.mine.command", "[]", "base"]),
    "system of both": (
        _with('[system.mine]\nbase = "uml"\ncommand = ["x"]'),
        ["system.mine.command", "['x']", "base"],
    ),
    "system command a text": (
        _with('[system.mine]\ncommand = "x agent"'),
        ["system.mine.command", "'x agent'", "a list of texts"],
    ),
    "system memory": (
        _with('[system.mine]\nbase = "uml"\nmemory = "much"'),
        ["system.mine.memory", "'much'", '"64M"'],
    ),
    "system memory elsewhere": (
        _with('[system.mine]\nbase = "native"\nswap = "64M"'),
        ["system.mine.swap", "'64M'", "with a memory limit"],
    ),
    "figure kind": (
        _with('[[figure]]\nname = "1"\ntitle = "t"\nkind = "pie"\nworkloads = ["sieve"]'),
        ["figure 1: kind", "'pie'", '"bars"'],
    ),
    "figure over": (
        _with('[[figure]]\nname = "1"\ntitle = "t"\nkind = "lines"\nworkloads = ["sieve"]'),
        ["figure 1: over", "''", "a parameter's name"],
    ),
    "figure of two restatements": (
        _with(
            '[[figure]]\nname = "1"\ntitle = "t"\nkind = "bars"\nworkloads = ["sieve"]\n'
            'rate = true\nmoves = "size"'
        ),
        ["figure 1: rate", "without per and moves"],
    ),
    "figure of curves as rates": (
        _with('[[figure]]\nname = "1"\ntitle = "t"\nkind = "curves"\nworkloads = ["sieve"]\nrate = true'),
        ["figure 1: kind", "'curves'", '"lines"'],
    ),
    "short form of a level that is none": (
        _with("[short]\nlevels = { copies = [1] }"),
        ["no level 'copies'", "short: levels"],
    ),
    "short form's budget": (
        _with('[short]\nbudget = "long"'),
        ["short.budget", "'long'"],
    ),
    "index": (
        _with('[[index]]\nname = "i"\ntitle = "t"\nreference = "r"\ntimes_ns = { sieve = -1 }'),
        ["index 1: times_ns", "-1", "positive numbers"],
    ),
    "curve table": (
        _with('[[curve_table]]\nname = "5"\ntitle = "t"\npaper = "silva-pegasus"\nshows = "x"'),
        ["curve_table 1: shows", "'x'", '"plateau" or "knee"'],
    ),
    "cell table of no figure": (
        _with(CELL_TABLE),
        ["cell_table 1: figure", "[]", "at least one"],
    ),
    "cell table of no levels": (
        _with(CELL_TABLE.replace("levels = [5000]", "levels = []")),
        ["cell_table 1: levels", "[]", "a list of whole numbers from 1"],
    ),
    "cell table divided by what is not stated": (
        _with(CELL_TABLE + 'figure = [{ published = "time", metric = "time", per = "copies" }]'),
        ["cell_table 1: figure: per", "'copies'", "requests"],
    ),
    "cell table variant": (
        _with(CELL_TABLE + 'variant = [{ name = "a", library = 1.5 }]'),
        ["cell_table 1: variant 1: library", "1.5", "a whole number"],
    ),
    "a guest under a monitor": (
        _with('[system.mine]\nbase = "uml"\nunder = ["strace"]'),
        ["system.mine.under", "['strace']", 'base = "native"'],
    ),
    "a monitor's words": (
        _with('[system.mine]\nbase = "native"\nunder = ["sh", "a\\nb"]'),
        ["system.mine.under", "without line breaks"],
    ),
    "a monitor that nobody reads": (
        _with('[system.mine]\nbase = "native"\nunder = ["x"]\nreads = "x"'),
        ["system.mine.reads", "'x'", "perf trace"],
    ),
    "a reading without a monitor": (
        _with('[system.mine]\nbase = "native"\nreads = "strace"'),
        ["system.mine.reads", "'strace'", "with `under`"],
    ),
    "figure table of no figure": (
        _with(FIGURE_TABLE),
        ["figure_table 1: figure", "[]", "at least one"],
    ),
    "figure table's reading": (
        _with(FIGURE_TABLE + 'figure = [{ published = "a", what = "b", reading = "c" }]'),
        ["figure_table 1: figure 1: reading", "'c'", "of untraced"],
    ),
    "system boot": (
        _with('[system.mine]\ncommand = ["x"]\nboot = "yes"'),
        ["system.mine.boot", "'yes'", "true or false"],
    ),
    "table without title": (
        _with('[[table]]\nname = "I"\npaper = "silva-pegasus"'),
        ["table 1: title", "missing", "a text"],
    ),
    "table of no paper we have": (
        _with('[[table]]\nname = "I"\ntitle = "t"\npaper = "nobody"'),
        ["nobody"],
    ),
    "row of no operations": (
        _with(
            '[[table]]\nname = "I"\ntitle = "t"\npaper = "silva-pegasus"\n'
            'row = [{ published = "sieve", workload = "sieve", operations = 0 }]'
        ),
        ["table 1: row 1: operations", "0", "from 1 to"],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_study_is_refused_by_file_key_value_and_what_is_allowed(case: str) -> None:
    text, named = BAD[case]

    with pytest.raises(UsageError) as refusal:
        _parse(text)

    for words in ["my.toml", *named]:
        assert words in str(refusal.value)


UNKNOWN = {
    "at the top": (_with('sistems = ["native"]'), "sistems", "systems"),
    "in design": (_with("[design]\nblock = 12"), "design.block", "design.blocks"),
    "in a system": (_with('[system.mine]\ncommand = ["x"]\nboots = true'), "boots", "system.mine.boot"),
    "in a table": (
        _with('[[table]]\nname = "I"\ntitle = "t"\npaper = "silva-pegasus"\nnotes = "n"'),
        "notes",
        "table 1: note",
    ),
    "group of a margin": (_with("[margin]\nsyscal = 0.02"), "syscal", "syscall"),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_an_unknown_key_is_refused_and_the_nearest_suggested(case: str) -> None:
    text, written, meant = UNKNOWN[case]

    with pytest.raises(UnknownName) as refusal:
        _parse(text)

    assert "my.toml" in str(refusal.value)
    assert written in str(refusal.value)
    assert f"did you mean '{meant}'?" in str(refusal.value)


def test_text_that_is_not_toml_is_refused_with_the_place() -> None:
    with pytest.raises(UsageError, match=r"my\.toml is not TOML.*line 2"):
        _parse("name = 'x'\ntitle ===\n")


def test_a_name_that_no_study_has_is_refused_and_the_nearest_suggested() -> None:
    with pytest.raises(UnknownName, match="did you mean 'pegasus'"):
        study_file.read("pegasos")


@pytest.mark.parametrize("content", [None, b"\xff\xfe not text"])
def test_a_file_that_cannot_be_read_is_refused_by_name(tmp_path, content: bytes | None) -> None:
    file = tmp_path / "it's mine.toml"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(UsageError, match=r"it's mine\.toml"):
        study_file.read(str(file))


def test_a_file_is_read_by_its_path_and_kept_byte_for_byte(tmp_path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("# with a comment\n" + LEAST, encoding="utf-8")

    assert study_file.read(str(file)).text == "# with a comment\n" + LEAST


@pytest.mark.parametrize("text", [LEAST, LEAST.replace("\n", "\r\n")], ids=["lf", "crlf"])
def test_a_byte_order_mark_is_no_part_of_a_study(tmp_path: Path, text: str) -> None:
    file = tmp_path / "study.toml"
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())

    assert study_file.read(str(file)).workloads == _parse(LEAST).workloads


def test_a_workload_s_parameters_may_stand_in_a_table() -> None:
    by_itself, in_table = (
        LEAST + "copies = [1, 2]\nbatches = 5",
        LEAST + "parameters = {copies = [1, 2], batches = 5}",
    )

    assert _parse(in_table).workloads == _parse(by_itself).workloads
    with pytest.raises(StudyError, match=r"parameters\.copies is 2, but must be given once"):
        _parse(LEAST + "copies = 1\nparameters = {copies = 2}")
    with pytest.raises(
        StudyError, match=r"parameters\.copies is \{'a': 1\}, but must be a whole number from 0"
    ):
        _parse(LEAST + "parameters = {copies = {a = 1}}")
    with pytest.raises(
        StudyError, match=r"copies is 'many', but must be a whole number from 1 to 4096, \"proc"
    ):
        _checked(LEAST + 'parameters = {copies = "many"}')
    with pytest.raises(StudyError, match=r"parameters is 3, but must be a table"):
        _parse(LEAST + "parameters = 3")


def _checked(text: str) -> None:
    studies.check(_parse(text), CATALOGUE, file="my.toml")


def test_levels_at_their_limits_are_allowed() -> None:
    _checked(LEAST + "copies = [1, 4096]")
    _checked(LEAST + 'copies = ["processors", "1..processors", "2x processors"]')


@pytest.mark.parametrize("value", [0, 4097])
def test_a_level_beyond_its_limits_is_refused_with_them(value: int) -> None:
    with pytest.raises(StudyError) as refusal:
        _checked(LEAST + f"copies = [1, {value}]")

    for words in ("my.toml", "workload sieve: copies", f"is {value},", "from 1 to 4096"):
        assert words in str(refusal.value)


def test_a_harness_parameter_beyond_its_limits_is_refused_with_them() -> None:
    with pytest.raises(StudyError, match=r"batches is 10001, but must be a whole number from 1 to 10000"):
        _checked(_with("[trial]\nbatches = 10001"))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (LEAST.replace("sieve", "sive"), "sieve"),
        (LEAST + "copy = 2", "copies"),
        (LEAST.replace("sieve", "pipe_transfer") + "sise = 1", "size"),
        (_with("[trial]\nbatch = 3"), "batches"),
    ],
)
def test_a_name_that_the_catalogue_has_not_is_refused_and_the_nearest_suggested(
    text: str, meant: str
) -> None:
    with pytest.raises(UnknownName, match=rf"my\.toml.*did you mean '{meant}'\?"):
        _checked(text)


def test_where_nothing_is_near_all_that_is_known_is_named() -> None:
    with pytest.raises(UnknownName, match=r"known are: disktest, fork_wait, funcall, null"):
        _checked(LEAST.replace("sieve", "zzzzzzzzzz"))


def test_where_nothing_is_known_that_is_said() -> None:
    assert str(UnknownName("experiment", "none", ())) == "there is no experiment 'none'; there are none"


def test_cells_are_all_combinations_of_levels_in_the_order_written() -> None:
    study = _parse(HEAD + '[[workload]]\nname = "pipe_transfer"\nsize = [4096, 1]\ncopies = [1, 2]\n' + SIEVE)

    assert [cell.label for cell in studies.cells(study, processors=8)] == [
        "pipe_transfer copies=1 size=4096",
        "pipe_transfer copies=1 size=1",
        "pipe_transfer copies=2 size=4096",
        "pipe_transfer copies=2 size=1",
        "sieve",
    ]


@pytest.mark.parametrize(("processors", "copies"), [(1, [1]), (2, [1, 2]), (64, [1, 2, 64])])
def test_the_level_processors_is_this_machine_s_number_and_makes_no_cell_twice(
    processors: int, copies: list[int]
) -> None:
    written = [1, 2, "processors"] if processors != 1 else [1, "processors"]
    study = _parse(LEAST + f"copies = {written}")

    found = studies.cells(study, processors=processors)

    assert [cell.copies for cell in found] == copies


@pytest.mark.parametrize(
    ("processors", "copies"),
    [
        (1, [1, 2]),
        (2, [1, 2, 4]),
        (8, [1, 2, 3, 4, 5, 6, 7, 8, 16]),
        (64, [1, 2, 3, 6, 11, 20, 35, 64, 128]),
    ],
)
def test_the_levels_up_to_the_processors_are_all_or_a_ladder_and_twice_is_beyond(
    processors: int, copies: list[int]
) -> None:
    study = _parse(LEAST + 'copies = ["1..processors", "2x processors"]')

    assert sorted(cell.copies for cell in studies.cells(study, processors=processors)) == copies


def test_a_cell_without_copies_has_one() -> None:
    assert Cell("sieve").copies == 1
    assert Cell("sieve", (("copies", 3), ("size", 1))).copies == 3


def test_a_cell_written_twice_is_one() -> None:
    assert studies.cells(_parse(LEAST + SIEVE), processors=2) == (Cell("sieve"),)


def test_only_keeps_the_named_workloads_in_the_study_s_order() -> None:
    study = _parse(LEAST + '[[workload]]\nname = "shell"\n[[workload]]\nname = "null"')

    kept = studies.only(study, ["null", "sieve"])

    assert [levels.workload for levels in kept.workloads] == ["sieve", "null"]
    assert dataclasses.replace(kept, workloads=study.workloads) == study


def test_only_refuses_a_workload_that_the_study_has_not() -> None:
    with pytest.raises(UnknownName, match=r"study small: .*'siev'; did you mean 'sieve'"):
        studies.only(_parse(LEAST), ["siev"])


def test_every_refusal_of_a_study_is_a_usage_error_with_status_2() -> None:
    for error in (StudyError("f", "k", 1, "2"), UnknownName("kind", "a", ["b"]), UsageError("x")):
        assert isinstance(error, SteelyardError)
        assert error.exit_status == 2


def test_how_a_cell_is_timed_is_no_part_of_its_name() -> None:
    study = _parse(LEAST + "copies = 2\nbatches = 5\nbatch_ns = 1000000\nwarmup_ns = 0\noperations = 9")

    (cell,) = studies.cells(study, processors=1)
    assert cell.label == "sieve copies=2"
    assert dict(cell.parameters)["batch_ns"] == 1000000


@pytest.mark.parametrize(
    ("looks", "blocks"),
    [("[6, 12]", 12), ("[7, 14, 28]", 28), ("[5]", 5), ("[1]", 2), ("[3, 6, 12, 24]", 24)],
)
def test_a_study_of_an_earlier_version_has_as_many_blocks_as_its_last_look(looks: str, blocks: int) -> None:
    design = _parse(LEAST + f"[design]\nlooks = {looks}\nscales = true\n").design

    assert design == dataclasses.replace(Design(), blocks=blocks)


def test_blocks_go_before_looks() -> None:
    assert _parse(LEAST + "[design]\nlooks = [6, 12]\nblocks = 40\n").design.blocks == 40


def test_a_budget_of_the_command_line_changes_the_budget_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(LEAST + '[design]\nbudget = "5m"\nblocks = 9\n[trial]\nbatches = 10\n')

    def plan(budget_ns: int | None) -> Plan:
        return order.plan_of(order.Order(str(file), None, (), budget_ns, 7))

    usual, longer = plan(None), plan(3600 * 10**9)

    assert (usual.study.design.budget_s, longer.study.design.budget_s) == (300.0, 3600.0)
    design = dataclasses.replace(usual.study.design, budget_s=3600.0)
    assert longer == dataclasses.replace(usual, study=dataclasses.replace(usual.study, design=design))


SHORT = """
[design]
budget = "1h"
blocks = 9
[trial]
batches = 10
[short]
budget = "90s"
blocks = 3
systems = ["native"]
trial = { batches = 2 }
levels = { copies = [1] }
"""


def test_a_short_form_keeps_the_study_and_takes_less_of_it() -> None:
    text = LEAST + "copies = [1, 2, 4]\n" + SHORT
    whole = _parse(text)
    short = study_file.parse(text, file="my.toml", is_short=True)

    assert (whole.is_short, short.is_short) == (False, True)
    assert (short.design.budget_s, short.design.blocks) == (90.0, 3)
    assert short.systems == ("native",)
    assert dict(short.trial) == {"batches": 2}
    assert [cell.copies for cell in studies.cells(short, processors=2)] == [1]
    assert [cell.copies for cell in studies.cells(whole, processors=2)] == [1, 2, 4]
    assert (short.name, short.tables, short.figures, short.text) == (
        whole.name, whole.tables, whole.figures, whole.text
    )  # fmt: skip


def test_a_part_of_a_study_is_short_by_its_own_short_form() -> None:
    part = (
        'name = "part"\ntitle = "p"\n[[workload]]\nname = "sieve"\ncopies = [1, 2]\n'
        "[short]\nlevels = { copies = 1 }\n"
    )
    text = HEAD + '[[include]]\nstudy = "part"\ntitle = "Part"\n[included]\npart = """' + part + '"""\n'

    whole, short = _parse(text), study_file.parse(text, file="my.toml", is_short=True)

    assert len(studies.cells(whole, processors=2)) == 2
    assert len(studies.cells(short, processors=2)) == 1


@pytest.mark.parametrize("name", study_file.bundled())
def test_every_bundled_study_has_a_short_form_that_fits_two_processors_and_keeps_its_tables(
    name: str,
) -> None:
    """Every level of a table is measured in the short form as well."""
    whole, short = study_file.read(name), study_file.read(name, is_short=True)

    assert short.design.budget_s <= 180
    for table in short.cell_tables:
        cells = [
            dict(cell.parameters)
            for cell in studies.cells(short, processors=2)
            if cell.workload == table.workload
        ]
        for variant, fixed in table.variants:
            for level in table.levels:
                wanted = {table.over: level, **dict(fixed)}
                measured_in_full = any(
                    wanted.items() <= dict(cell.parameters).items()
                    for cell in studies.cells(whole, processors=2)
                )
                assert not measured_in_full or any(wanted.items() <= one.items() for one in cells), (
                    table.name, variant, level
                )  # fmt: skip


def test_a_command_line_is_a_level_and_must_be_one() -> None:
    catalogue = {"command": {"command": None, "copies": (1, 9)}}
    good = _parse(
        'name = "x"\ntitle = "x"\n[[workload]]\nname = "command"\ncommand = ["true", "ls -l \'a b\'"]'
    )
    studies.check(good, catalogue, file="my.toml")
    assert [cell.label for cell in studies.cells(good, processors=1)] == [
        "command command=true",
        """command command='ls -l '"'"'a b'"'"''""",
    ]
    for wrong in ('""', '"it\'s"', "3"):
        bad = _parse(f'name = "x"\ntitle = "x"\n[[workload]]\nname = "command"\ncommand = {wrong}')
        with pytest.raises(StudyError, match="a command line"):
            studies.check(bad, catalogue, file="my.toml")
