"""Tools' own figures: what each known tool printed, and what stands in a figure's place and is none.

The files in `printed` are what the tools wrote (of pytest-benchmark without its single durations); what
failed is called TOOL-wrong.
"""

from pathlib import Path

import pytest
from conversations import QUICK, conversation

from steelyard.errors import StudyError, UsageError
from steelyard.events import Outcome
from steelyard.running import printed
from steelyard.running.records import TrialParser
from steelyard.study import tool
from steelyard.study.model import Cell
from steelyard.study.plan import Trial
from steelyard.study.tool import Tool, ToolFigure
from steelyard.systems import protocol
from steelyard.systems.protocol import RefusedRequest

PRINTED = Path(__file__).parent / "printed"
OK = Outcome(Trial("native", Cell("command"), 0, 0, 0, 1), 1, "ok")


def figures(asked: Tool, text: str) -> dict[str, float]:
    """What the tool's figures are in that text."""
    asked = tool.expanded(asked, printed.values(asked, text))
    outcome = printed.with_figures(OK, asked, {0: text})
    assert outcome.status == "ok", outcome.reason
    return {one.metric: one.durations_ns[0] / one.operations for one in outcome.samples}


def refusal(asked: Tool, text: str) -> str:
    outcome = printed.with_figures(OK, asked, {0: text})
    assert outcome.status == "failed"
    assert outcome.samples == ()
    return outcome.reason or ""


def one(**parts: object) -> Tool:
    given = {"name": "speed", "unit": "1/s", "better": "higher"} | parts
    return Tool("", (ToolFigure(**given),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "file", "wanted"),
    [
        ("sysbench", "sysbench-cpu", {"events": 1528.07, "latency": 0.65e6, "latency_95": 0.24e6}),
        ("sysbench", "sysbench-memory", {"operations": 5050135.01, "memory": 4931.77}),
        ("sysbench", "sysbench-threads", {"latency": 0.86e6}),
        (
            "sysbench",
            "sysbench-fileio",
            {"file reads": 9098.53, "file syncs": 607.55},
        ),
        ("hackbench", "hackbench", {"hackbench": 0.133e9}),
        ("cyclictest", "cyclictest", {"latency": 833.5e3, "latency min": 10e3, "latency max": 98692e3}),
        ("stress-ng", "stress-ng", {"cpu": 696.9, "cpu by processor time": 2117.73}),
        ("perf-bench", "perf-pipe", {"operation": 5902.5, "operations": 169419, "total": 11e6}),
        ("perf-bench", "perf-messaging", {"total": 28e6}),
        ("perf-bench", "perf-memcpy", {"bandwidth": 33.674569}),
        ("fio", "fio", {"reads": 13473.684211, "read bandwidth": 55.18821, "read latency_99": 201728}),
        ("iperf3", "iperf3", {"received": 11666.34561437, "sent": 11670.790039779, "retransmits": 2}),
        ("iperf3", "iperf3-udp", {"datagrams": 1.048484781824}),
        ("pgbench", "pgbench", {"transactions": 368.481805, "latency": 2.714e6, "connecting": 4.933e6}),
        (
            "wrk",
            "wrk",
            {"requests": 1112.96, "latency": 72.43e6, "latency_50": 637e3},
        ),
        ("h2load", "h2load", {"requests": 1797.19, "request": 1.04e6, "connecting": 69e3}),
        ("redis-benchmark", "redis-benchmark", {"SET": 60606.06, "MSET (10 keys) latency_99": 119e3}),
        ("hyperfine", "hyperfine", {"mean": 1206112.0, "median": 682249.5, "user": 588300.0}),
        ("pyperf", "pyperf", {"mean": 282.0}),
        ("go-test", "go-test", {"BenchmarkRepeat-2": 757.0, "BenchmarkRepeat-2 allocations": 1}),
        ("google-benchmark", "google-benchmark", {"BM_copy/4096": 635.19809150096, "BM_ms": 1.9234005187751}),
        (
            "jmh",
            "jmh",
            {
                "Sums.average 1000": 1393.475,
                "Sums.sampled:p0.99 10": 89.0,
                "Sums.through 10 throughput by ms": 33364015.0,
            },
        ),
        ("pytest-benchmark", "pytest-benchmark", {"test_x.py::test_sort[10]": 119.64646671248}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_figures_of_a_known_tool_are_read(name: str, file: str, wanted: dict[str, float]) -> None:
    found = figures(tool.find(name), (PRINTED / f"{file}.txt").read_text())

    assert {figure: found[figure] for figure in wanted} == pytest.approx(wanted, rel=1e-9)


def test_every_known_tool_is_tried_here() -> None:
    files = " ".join(file.stem for file in PRINTED.iterdir())
    programs = {"perf-bench": "perf", "go-test": "go-test"}

    untried = [name for name in tool.bundled() if programs.get(name, name) not in files]
    assert untried == [name for name in tool.bundled() if not tool.find(name).tried]


@pytest.mark.parametrize(
    ("name", "file", "sentence"),
    [
        ("sysbench", "sysbench-wrong", "sysbench says: FATAL: Invalid value for --threads: 0."),
        ("fio", "fio-wrong", "reads: there is no JSON; it printed: fio: failed parsing rw=nonsense"),
        ("iperf3", "iperf3-wrong", "unable to connect to server: Connection refused"),
        ("pgbench", "pgbench-wrong", 'pgbench: error: connection to server on socket "/srv/data'),
        (
            "redis-benchmark",
            "redis-wrong",
            "Could not connect to Redis at 127.0.0.1:6398: Connection refused",
        ),
    ],
)
def test_a_tool_that_says_that_it_failed_fails_its_trial(name: str, file: str, sentence: str) -> None:
    assert sentence in refusal(tool.find(name), (PRINTED / f"{file}.txt").read_text())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fio: x: error=5\n{\n}\n", "fio: x: error=5"),
        ("first\n\nno such job\n}\n", "first | no such job"),
    ],
)
def test_a_trial_that_failed_says_what_its_command_printed(text: str, said: str) -> None:
    failed = Outcome(OK.trial, 1, "failed", "'fio' exited with status 1")

    told = printed.with_figures(failed, tool.find("fio"), {0: text})

    assert told.reason == f"'fio' exited with status 1; it printed: {said}"


@pytest.mark.parametrize(
    ("pattern", "text", "number"),
    [
        (r"([\d.]+) ops", "12.5 ops", 12.5),
        (r"([\d,.]+) ops", "1,234,567.5 ops", 1234567.5),
        (r"(\S+) ops", "1.5e3 ops", 1500.0),
        (r"(\S+) ops", "8e-7 ops", 8e-7),
        (r"([\d.]+)(?P<unit>[kMG]?)iops", "2.5Miops", 2.5e6),
        (r"([\d.]+)(?P<unit>[kMG]?)iops", "7iops", 7.0),
        (r"(\d+) ops", "\x1b[1m17 ops\x1b[0m of früher", 17.0),
    ],
)
def test_a_number_is_read_as_it_is_printed(pattern: str, text: str, number: float) -> None:
    assert figures(one(pattern=pattern), f"before\n{text}\nbehind\n") == {"speed": pytest.approx(number)}


@pytest.mark.parametrize(
    ("parts", "text", "sentence"),
    [
        ({"pattern": r"(\d+) ops"}, "", "no line that matches '(\\d+) ops'; it printed nothing"),
        ({"pattern": r"(\d+) ops"}, "a\nb\n", "it printed: a | b"),
        ({"pattern": r"(\S+) ops"}, "many ops", "the line 'many ops' has 'many', which is no number"),
        ({"pattern": r"(\S+) ops"}, "nan ops", "'nan', which is no number"),
        ({"pattern": r"(\S+) ops"}, "-5 ops", "it was -5, but must be from 0 to"),
        ({"pattern": r"(\S+) ops"}, "9e300 ops", "but must be from 0 to"),
        (
            {"pattern": r"(\d+) ops"},
            "1 ops\n2 ops",
            "is there 2 times: say which counts",
        ),
        ({"pattern": r"(\d+)(?P<unit>\w+)"}, "5parsecs", "has the unit 'parsecs', which is not known"),
        ({"pointer": "/a/b"}, '{"a": {"c": 1}}', "leads nowhere at 'b'; there are 'c'"),
        ({"pointer": "/a/1"}, '{"a": [1]}', "leads nowhere at '1'"),
        ({"pointer": "/a"}, '{"a": [1]}', "has '[1]', which is no number"),
        ({"pointer": "/a"}, '{"a": true}', "has 'true', which is no number"),
        ({"pointer": "/a"}, '{"a": "x"}', "has 'x', which is no number"),
        ({"pointer": "/a"}, '{"a": NaN}', "but must be from 0 to"),
        ({"pointer": "/a"}, '{"a": 1', "its JSON cannot be read"),
        ({"pointer": "/a"}, "[" * 100_000, "its JSON"),
        ({"pointer": "/a"}, "a: 1", "there is no JSON"),
        ({"column": "rps"}, "test,ops\na,1\n", "no CSV column 'rps'"),
        ({"column": "rps", "where": (("test", "b"),)}, "test,rps\na,1\n", "where test is 'b'"),
        ({"column": "rps"}, "test,rps\na,\n", "has '', which is no number"),
    ],
)
def test_what_is_no_figure_fails_the_trial_and_is_quoted(
    parts: dict[str, object], text: str, sentence: str
) -> None:
    assert sentence in refusal(one(**parts), text)


def test_a_pattern_that_never_comes_to_an_end_fails_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printed, "_READ_S", 0.2)
    evil = one(pattern=r"^(?:a+)+(b)$")

    assert "give plainer patterns" in refusal(evil, "a" * 60)
    assert figures(one(pattern=r"(\d) ops"), "1 ops") == {"speed": 1.0}  # no alarm is left


def test_a_value_of_json_is_found_among_other_lines() -> None:
    text = 'Starting [1 thread]\n[not json\n{"a": {"x/y": [1, 2.5]}}\nfinished {ok}\n'

    assert figures(one(pointer="/a/x~1y/1"), text) == {"speed": 2.5}


@pytest.mark.parametrize(
    ("take", "number"),
    [("first", 3.0), ("last", 2.0), ("sum", 6.0), ("mean", 2.0), ("least", 1.0), ("most", 3.0)],
)
def test_of_several_the_one_that_was_asked_for_counts(take: str, number: float) -> None:
    assert figures(one(pattern=r"(\d) ops", take=take), "3 ops\n1 ops\n2 ops\n") == {"speed": number}


def test_a_time_is_kept_in_nanoseconds_and_an_optional_figure_may_be_missing() -> None:
    asked = Tool(
        "",
        (
            ToolFigure("wait", "ms", "lower", pattern=r"wait ([\d.]+)"),
            ToolFigure("other", "s", "lower", pattern=r"took ([\d.]+)(?P<unit>us|s)"),
            ToolFigure("none", "1/s", "higher", pattern=r"never (\d+)", optional=True),
            ToolFigure("idle", "1/s", "higher", pattern=r"idle (\d+)", optional=True),
        ),
    )

    assert figures(asked, "wait 1.5\ntook 20us\nidle 0\n") == {"wait": 1.5e6, "other": 20e3}


def test_where_every_figure_is_missing_the_trial_failed() -> None:
    assert "none of the figures" in refusal(one(pattern=r"(\d) ops", optional=True), "done\n")


def test_a_figure_is_described_by_words_in_any_order() -> None:
    told = tool.of_words(
        r"pattern=([\d.]+) ops name=throughput better=higher unit=1/s scale=1e3 optional=true"
    )

    assert told == ToolFigure(
        "throughput", "1/s", "higher", pattern=r"([\d.]+) ops", scale=1000.0, optional=True
    )


@pytest.mark.program
def test_what_is_told_in_parts_is_one_text(tmp_path: Path) -> None:
    told = conversation(Cell("command", (*QUICK, ("command", "true"), ("figures", 1))), tmp_path)
    plain = [one for one in told.said if b'"record":"printed"' not in one]
    part = b'{"record":"printed","copy":0,"part":%d,"text":"%s"}'
    begin, *rest = plain
    parser = TrialParser(told.expected)

    for one in (begin, part % (0, b"a\\u00c3"), part % (1, b"\\u00a4"), *rest):
        record = protocol.read(one)
        assert record is not None
        parser.ends_with(record)

    assert parser.printed() == {0: "aä"}
    with pytest.raises(RefusedRequest, match=r"part is 1, but must be 0, the next"):
        told.outcome((begin, part % (1, b"late"), *rest))


def test_values_that_tell_figures_apart_make_names_of_their_own() -> None:
    asked = one(name="x *", pattern=r"^(?P<n>.*): (\d+)", each="n")
    text = "a'b: 1\na\"b: 2\n\u2713: 3\n" + "long" * 50 + ": 4\n"

    found = figures(asked, text)

    assert list(found.values()) == [1, 2, 3, 4]
    assert list(found)[:3] == ["x a_b", "x a_b 2", "x _"]
    assert all(len(name) <= 120 for name in found)


def test_more_figures_than_can_be_kept_are_refused() -> None:
    asked = one(name="*", pattern=r"^(?P<n>\w+) (\d+)", each="n")
    text = "".join(f"b{number} 1\n" for number in range(201))

    with pytest.raises(UsageError, match="printed 201 figures, but at most 200 are kept"):
        figures(asked, text)
    with pytest.raises(UsageError, match="printed none of the figures"):
        figures(asked, "nothing here")


def test_a_row_is_described_by_words() -> None:
    told = tool.of_words("name=set unit=1/s better=higher column=rps where=test=SET")

    assert (told.column, told.where) == ("rps", (("test", "SET"),))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "must be such as 'name=throughput"),
        ("throughput", "must be such as 'name=throughput"),
        ("12 name=a", "must be such as 'name=throughput"),
        ("name=a unit=1/s pattern=(x)", "better"),
        ("name=a unit=1/s better=more pattern=(x)", "one of higher, lower, none"),
        ("name=a unit=1/s better=higher", "one of pattern, pointer and column"),
        ("name=a unit=1/s better=higher pattern=(x) pointer=/a", "one of pattern, pointer and column"),
        ("name=a unit=1/s better=higher pattern=x", "with one group"),
        ("name=a unit=1/s better=higher pattern=(x)(y)", "with one group"),
        ("name=a unit=1/s better=higher pattern=(?P<other>x)", "with one group"),
        ("name=* unit=1/s better=higher pattern=(x)", "where `each` is given alone"),
        ("name=a unit=1/s better=higher pattern=(?P<b>x)(y) each=b", "where `each` is given alone"),
        ("name=* unit=1/s better=higher pattern=(?P<b>x)(y) each=c", "a group of the pattern"),
        ("name=* unit=1/s better=higher pointer=/a each=/b", "into the members of `among`"),
        ("name=a unit=1/s better=higher column=x among=/b", "it goes with `pointer`"),
        ("name=a unit=1/s better=higher pattern=(x", "a regular expression"),
        ("name=a unit=1/s better=higher pointer=a", "a JSON pointer"),
        ("name=a unit=1/s better=higher pattern=(x) where=a=b", "a group of the pattern"),
        ("name=a unit=1/s better=higher pattern=(x) take=any", "one of only, first"),
        ("name=a unit=1/s better=higher pattern=(x) scale=0", "a number from"),
        ("name=a unit=1/s better=higher pattern=(x) scale=fast", "a number from"),
        ("name=a unit=1/s better=higher pattern=(x) optional=perhaps", "true or false"),
        ("name='a' unit=s pattern=(x)", "letters, digits"),
        ("unit=s pattern=(x)", "name"),
    ],
)
def test_words_that_describe_no_figure_are_refused(text: str, sentence: str) -> None:
    with pytest.raises((StudyError, UsageError), match=sentence.replace("(", r"\(")):
        tool.of_words(text)


@pytest.mark.parametrize("name", list(tool.bundled()))
def test_a_tool_is_the_same_in_a_study_s_file(name: str) -> None:
    known = tool.find(name)

    text = tool.text_of(known).replace("[tool]\n", "").replace("[[tool.figure]]", "[[figure]]")

    assert tool.parse(text, file="study") == known
    assert known.name == name


@pytest.mark.parametrize(
    "text",
    [
        'name = "x"',
        '[[figure]]\nname = "time"\nunit = "s"\npattern = "(x)"',
        '[[figure]]\nname = "a"\nunit = "s"\npattern = "(x)"\n' * 2,
        '[[figure]]\nname = "a"\nunit = "s"\npattern = "(x)"\nelse = 1',
        'failure = "("\n[[figure]]\nname = "a"\nunit = "s"\npattern = "(x)"',
    ],
)
def test_a_file_that_describes_no_tool_is_refused(text: str) -> None:
    with pytest.raises((StudyError, UsageError)):
        tool.parse(text, file="tool.toml")


def test_a_tool_s_words_are_added_to_its_command_alone() -> None:
    fio = tool.find("fio")

    assert tool.asked(fio, ("/usr/bin/fio", "job.fio")) == ("/usr/bin/fio", "--output-format=json", "job.fio")
    already = ("fio", "--output-format=json", "x")
    assert tool.asked(fio, already) == already
    assert tool.asked(fio, ("./run-fio", "x")) == ("./run-fio", "x")
    assert tool.known_for("/usr/bin/fio") == "fio"
    assert tool.known_for("cat") == ""
