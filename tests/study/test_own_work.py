"""A command line in place of a study."""

from pathlib import Path

import pytest

from steelyard.errors import UsageError
from steelyard.programs import built
from steelyard.study import model, own_work, plan, study_file
from steelyard.study.own_work import Command, OwnWork

TWO = (
    ("old", Command(("./bench", "a b"), directory="/x y")),
    ("new", Command(("./bench", ""), directory="/z")),
)


def made(work: OwnWork) -> plan.Plan:
    study = study_file.parse(own_work.text_of(work), file="the command line")
    model.check(study, built.catalogue().limits(), file="the command line")
    return plan.make(study, systems=study.systems, processors=2, seed=1)


def settings(schedule: plan.Plan) -> dict[str, dict[str, int | str]]:
    return {trial.system: schedule.settings(trial) for trial in plan.visit(schedule, schedule.cells[0], 0)}


def test_one_command_for_several_systems_is_the_same_for_each() -> None:
    command = Command(
        ("sort", "-k 2", "it's"),
        "/d",
        ("A=1 2", "B="),
        "in",
        "out",
        prepare="rm -f 'x y'",
        ignore_failure=True,
    )
    schedule = made(OwnWork(("native", "gvisor"), command))

    assert schedule.systems == ("native", "gvisor")
    assert [cell.label for cell in schedule.cells] == ["command"]
    for each in settings(schedule).values():
        assert each["command"] == "sort\n-k 2\nit's"
        assert (each["directory"], each["environment"]) == ("/d", "A=1 2\nB=")
        assert (each["input"], each["output"], each["prepare"]) == ("in", "out", "rm\n-f\nx y")
        assert (each["ignore_failure"], each["operations"]) == (1, 1)


def test_several_commands_are_treatments_of_one_system() -> None:
    schedule = made(OwnWork(("native",), treatments=TWO))
    told = settings(schedule)

    assert schedule.systems == ("old", "new")
    assert {definition.base for definition in schedule.study.definitions} == {"native"}
    assert (told["old"]["command"], told["old"]["directory"]) == ("./bench\na b", "/x y")
    assert (told["new"]["command"], told["new"]["directory"]) == ("./bench\n", "/z")


def test_another_build_of_a_program_is_another_study(tmp_path: Path) -> None:
    work = OwnWork(("native",), treatments=(("a", Command(("./bench",), directory=str(tmp_path))), TWO[0]))
    texts = []
    for content in ("one", "two"):
        (tmp_path / "bench").write_text(content)
        texts.append(own_work.text_of(work))

    assert texts[0] != texts[1]


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (["old=./a", "new=./b -x"], ["old", "new"]),
        (["./a -x", "/usr/bin/b"], ["a", "b"]),
        (["sort a", "sort -u a"], ["command-1", "command-2"]),
        (["g++ a.c", "gcc a.c"], ["command-1", "command-2"]),
        (["A B=1", "x"], ["A", "x"]),
    ],
)
def test_commands_have_names_that_tell_them_apart(texts: list[str], names: list[str]) -> None:
    assert [name for name, _ in own_work.named(texts, shell=False)] == names


@pytest.mark.parametrize("texts", [["a=x", "a=y"], ["", "x"], ["'x", "y"]])
def test_what_is_no_command_is_a_sentence(texts: list[str]) -> None:
    with pytest.raises(UsageError, match="'"):
        own_work.named(texts, shell=False)


def test_a_line_break_in_a_command_is_refused() -> None:
    with pytest.raises(UsageError, match="without line breaks"):
        own_work.text_of(OwnWork(("native", "uml"), Command(("a\nb",))))


def test_a_treatment_is_no_other_way_of_timing() -> None:
    text = own_work.text_of(OwnWork(("native",), treatments=TWO)).replace(
        "directory = ", "batches = 5, directory = "
    )
    with pytest.raises(UsageError, match="how trials are timed is the same"):
        study_file.parse(text, file="the command line")


def test_levels_are_forms_of_the_command() -> None:
    levels = own_work.levels_of(["n=1,2", "how=a b,c"])
    forms = tuple(own_work.at_level(("./x", "{n}{how}", "{other}"), level) for level in levels)

    schedule = made(OwnWork(("native", "gvisor"), Command(("./x", "{n}")), levels=forms))

    assert [dict(cell.parameters)["command"] for cell in schedule.cells] == [
        "./x '1a b' '{other}'", "./x 1c '{other}'", "./x '2a b' '{other}'", "./x 2c '{other}'"
    ]  # fmt: skip


def test_files_that_are_sent_stand_in_the_place_of_their_names(tmp_path: Path) -> None:
    bench, data = tmp_path / "bench", tmp_path / "data.csv"
    command = Command(
        (str(bench), "--in", str(data), "data.csv"), input=str(data), prepare=f"cp {data} 'a b'"
    )

    sent = own_work.sending(OwnWork(("native", "uml"), command), [str(bench), str(data)])
    found = settings(made(sent))

    assert found["native"]["command"] == found["uml"]["command"]
    assert found["native"]["command"] == "{with}/bench\n--in\n{with}/data.csv\ndata.csv"
    assert found["native"]["input"] == "{with}/data.csv"
    assert found["native"]["prepare"] == "cp\n{with}/data.csv\na b"
    assert found["native"]["with"] == 1
    assert sent.sent == (str(bench), str(data))
    assert "with" not in settings(made(OwnWork(("native", "uml"), command)))["native"]


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        (["a/x", "b/x"], "must be files that each have another name, not two 'x'"),
        (["a b"], "must be files named with letters, digits and ._+@%=,~- alone"),
        ([".x"], "must be files named with letters"),
        (["other"], "but no word of the command names it"),
    ],
)
def test_files_that_cannot_be_sent_or_that_nothing_names_are_refused(paths: list[str], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        own_work.sending(OwnWork(("native", "uml"), Command(("sort", "x"))), paths)

    assert said in str(refused.value)


def test_a_word_may_hold_the_place_of_what_was_sent() -> None:
    command = Command(("sort", "--files={with}/list"))

    sent = own_work.sending(OwnWork(("native", "uml"), command), ["list"])

    assert settings(made(sent))["native"]["command"] == "sort\n--files={with}/list"
