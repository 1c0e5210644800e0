"""The journal: whole lines or none, and a run that goes on where another stopped."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import synthetic

from steelyard.archive import journal
from steelyard.archive.journal import Journal
from steelyard.errors import ArchiveError
from steelyard.events import Accounted, Done, Earlier, Look, Stood, Switching, Unbooted
from steelyard.running import records
from steelyard.study.model import Cell

PLAN = synthetic.plan("sieve", "shell", blocks=4)
CELLS = {cell.label: cell for cell in PLAN.cells}
TRIALS = synthetic.trials(PLAN)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """An open experiment with two systems up and three trials done."""
    found = synthetic.new(tmp_path / "archive", PLAN)
    open_journal = Journal(found.path)
    for system in ("a", "b"):
        open_journal.append(synthetic.started(system))
    for trial in TRIALS[:3]:
        open_journal.append(synthetic.outcome(trial))
    open_journal.close()
    return found.path


def _path(directory: Path) -> Path:
    return directory / journal.NAME


def _kinds(directory: Path) -> list[str]:
    return [line["kind"] for line in journal.lines(directory)]


def _done(directory: Path) -> set[tuple[int, str, Cell]]:
    return set(_earlier(directory).trials)


def _earlier(directory: Path) -> Earlier:
    return journal.earlier(journal.lines(directory), CELLS)


def _triples(count: int) -> set[tuple[int, str, Cell]]:
    return {(trial.block, trial.system, trial.cell) for trial in TRIALS[:count]}


def test_an_event_is_one_line_of_json_in_the_order_it_happened(directory: Path) -> None:
    text = _path(directory).read_bytes()

    assert text.endswith(b"\n")
    assert [json.loads(line)["kind"] for line in text.splitlines()] == ["system"] * 2 + ["trial"] * 3


def test_what_is_appended_is_on_the_disk_when_append_returns(directory: Path) -> None:
    open_journal = Journal(directory)
    open_journal.append(Look(1, ()))

    assert _kinds(directory)[-1] == "look"
    open_journal.close()


def test_a_journal_opened_again_goes_on_at_its_end(directory: Path) -> None:
    before = _path(directory).read_bytes()

    again = Journal(directory)
    again.append('a note with "quotes", a\nnew line and ü')
    again.close()

    assert _path(directory).read_bytes().startswith(before)
    assert list(journal.lines(directory))[-1]["note"] == 'a note with "quotes", a\nnew line and ü'


@pytest.mark.parametrize("left", [1, 20, 200])
def test_a_line_cut_short_never_happened_and_its_trial_is_to_be_run_again(directory: Path, left: int) -> None:
    whole = _path(directory).read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    _path(directory).write_bytes(whole[: last + left])

    assert _done(directory) == _triples(2)

    again = Journal(directory)
    assert _path(directory).read_bytes() == whole[:last]
    again.append(synthetic.outcome(TRIALS[2]))
    again.close()
    assert _done(directory) == _triples(3)
    assert _kinds(directory) == ["system"] * 2 + ["trial"] * 3


def test_a_line_that_lacks_only_its_newline_never_happened(directory: Path) -> None:
    _path(directory).write_bytes(_path(directory).read_bytes()[:-1])

    assert _done(directory) == _triples(2)
    Journal(directory).close()
    assert _kinds(directory) == ["system"] * 2 + ["trial"] * 2


def test_a_long_line_cut_short_is_cut_off_whole(directory: Path) -> None:
    before = _path(directory).read_bytes()
    _path(directory).write_bytes(before + b'{"kind":"note","note":"' + b"x" * 300_000)

    Journal(directory).close()

    assert _path(directory).read_bytes() == before


def test_a_journal_of_nothing_but_half_a_line_becomes_empty(directory: Path) -> None:
    _path(directory).write_bytes(b'{"kind":"sys')

    Journal(directory).close()

    assert _path(directory).read_bytes() == b""
    assert list(journal.lines(directory)) == []


@pytest.mark.parametrize(
    "damage",
    [
        b"\x00" * 40,
        b'{"kind":"tri',
        b"\xff\xfe\xfd",
        b"",
        b"[" * 100_000,
        b"5",
        b'{"kind":["trial"]}',
        b'{"kind":"trial","recorded":1}',
        b'{"kind":"note","recorded":NaN,"note":""}',
        b'{"kind":"note","recorded":1e400,"note":""}',
        b'{"kind":"note","recorded":' + b"9" * 5000 + b',"note":""}',
    ],
)
def test_a_damaged_line_is_a_remark_that_names_it_and_the_others_are_read(
    directory: Path, damage: bytes
) -> None:
    lines = _path(directory).read_bytes().splitlines()
    lines[2] = damage
    _path(directory).write_bytes(b"\n".join(lines) + b"\n")

    read = list(journal.lines(directory))
    assert [line["kind"] for line in read] == ["system"] * 2 + ["damage"] + ["trial"] * 2
    assert read[2]["note"].startswith("line 3 of the journal is damaged and left out: ")
    assert len(read[2]["note"]) < 250
    assert _done(directory) == _triples(3) - _triples(1)


def test_a_full_disk_leaves_the_journal_as_it_was_and_says_what_to_do(directory: Path) -> None:
    before = _path(directory).read_bytes()
    open_journal = Journal(directory)

    with synthetic.no_room_beyond(len(before) + 50), pytest.raises(ArchiveError) as refusal:
        open_journal.append(synthetic.outcome(TRIALS[3]))

    assert _path(directory).read_bytes() == before
    assert str(_path(directory)) in str(refusal.value)
    assert "File too large" in str(refusal.value)
    assert "--archive" in str(refusal.value)

    open_journal.append(synthetic.outcome(TRIALS[3]))  # there is room again
    open_journal.close()
    assert _done(directory) == _triples(4)


def test_a_journal_that_is_not_there_cannot_be_opened(directory: Path) -> None:
    _path(directory).unlink()

    with pytest.raises(ArchiveError, match=r"journal\.jsonl"):
        Journal(directory)


def test_what_was_done_is_known_by_block_system_and_cell(directory: Path) -> None:
    assert _done(directory) == _triples(3)


def test_the_last_boot_of_each_system_is_known(directory: Path) -> None:
    open_journal = Journal(directory)
    open_journal.append(synthetic.started("b", 2))
    open_journal.append(synthetic.started("b", 3))
    open_journal.close()

    assert _earlier(directory).boots == {"a": 1, "b": 3}


def test_boots_that_fail_are_counted_until_one_of_that_machine_does_not(directory: Path) -> None:
    """A system that excludes none is started by each run, and says nothing of the machine."""
    open_journal = Journal(directory)
    for number in (1, 2):
        for event in (Switching("b", None), synthetic.started("a", number), Unbooted("b", "another kernel")):
            open_journal.append(event)
    assert (_earlier(directory).failed_boots, _earlier(directory).switching) == (2, None)
    for event in (Switching("b", None), synthetic.started("a", 3)):
        open_journal.append(event)
    assert _earlier(directory).switching == Switching("b", None)
    open_journal.append(synthetic.started("b", 1))
    open_journal.close()

    assert (_earlier(directory).failed_boots, _earlier(directory).switching) == (0, None)


def test_rounds_are_counted_on_from_the_last_look(directory: Path) -> None:
    assert _earlier(directory).rounds == 0
    open_journal = Journal(directory)
    for number in (1, 2, 3):
        open_journal.append(Look(number, ()))
    open_journal.close()

    assert _earlier(directory).rounds == 3


def test_a_look_says_what_was_decided_and_what_was_opened_again(directory: Path) -> None:
    first, second = CELLS.values()
    open_journal = Journal(directory)
    open_journal.append(Look(4, (("b", first),), (("b", second), ("c", first))))
    open_journal.close()

    line = list(journal.lines(directory))[-1]
    assert (line["kind"], line["round"]) == ("look", 4)
    assert line["decided"] == [["b", first.workload, []]]
    assert line["reopened"] == [["b", second.workload, []], ["c", first.workload, []]]


def test_a_look_of_an_earlier_version_is_read_past(directory: Path) -> None:
    with open(_path(directory), "a") as file:
        file.write(json.dumps({"kind": "look", "recorded": 1.0, "blocks": 12, "decided": []}) + "\n")

    assert _earlier(directory).rounds == 0
    assert _done(directory) == _triples(3)


def test_accounting_trials_are_known_by_round_system_and_cell(directory: Path) -> None:
    open_journal = Journal(directory)
    for number, purpose in ((0, "work"), (0, "setup"), (1, "work")):
        open_journal.append(
            Accounted(number, "b", 1, Cell("sieve"), purpose, "bpf", "ok", None, (Done("time", 5),), (), None)
        )
    open_journal.close()

    found = _earlier(directory)
    assert found.accounted == {(0, "b", Cell("sieve")), (1, "b", Cell("sieve"))}
    assert found.trials == _triples(3)


@pytest.mark.parametrize(
    ("statuses", "given_up"),
    [
        ("ok ok", False),
        ("failed", False),
        ("ok failed", False),
        ("failed ok", False),
        ("failed ok failed", False),
        ("failed failed", True),
        ("ok failed timed_out", True),
        ("unsupported", True),
        ("ok unsupported", True),
    ],
)
def test_what_was_given_up_stays_given_up(tmp_path: Path, statuses: str, given_up: bool) -> None:
    found = synthetic.new(tmp_path, PLAN)
    open_journal = Journal(found.path)
    trials = [trial for trial in TRIALS if (trial.system, trial.cell) == ("b", Cell("sieve"))]
    for trial, status in zip(trials, statuses.split(), strict=False):
        told = synthetic.outcome(trial)
        open_journal.append(told if status == "ok" else synthetic.bad(trial, status.replace("_", " ")))
    open_journal.close()

    expected = {("b", Cell("sieve"))} if given_up else set()
    assert set(_earlier(found.path).hopeless) == expected


def _rewritten(directory: Path, moments: Sequence[float], **others: float) -> None:
    """Gives the journal's lines these moments, and each trial those others."""
    lines = [json.loads(line) for line in _path(directory).read_bytes().splitlines()]
    for line, recorded in zip(lines, moments, strict=True):
        line["recorded"] = recorded
        if line["kind"] == "trial":
            line |= others
    _path(directory).write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_the_time_spent_counts_from_the_beginning_of_the_first_start(directory: Path) -> None:
    _rewritten(directory, [1000.0, 1050.0, 1057.0, 1060.0, 1063.5], began=1055.0)

    assert _earlier(directory).spent_s == 63.5 + 0.5


def test_time_in_which_the_laboratory_stood_still_is_not_spent(directory: Path) -> None:
    open_journal = Journal(directory)
    open_journal.append(Stood("was stopped", 30.0))
    open_journal.append(synthetic.outcome(TRIALS[3]))
    open_journal.close()
    _rewritten(directory, [1000.0, 1001.0, 1002.0, 1003.0, 1004.0, 1035.0, 1036.0], began=1001.0)

    assert _earlier(directory).spent_s == 36.0 + 0.5 - 30.0


def test_a_trial_that_was_set_aside_is_still_to_be_done_and_no_failure(directory: Path) -> None:
    open_journal = Journal(directory)
    trial = TRIALS[3]
    for _ in range(3):
        open_journal.append(records.set_aside(trial, 1, "the budget was over", began=1.0, took_s=2.5))
    open_journal.close()

    before = _earlier(directory)

    assert (trial.block, trial.system, trial.cell) not in before.trials
    assert (trial.system, trial.cell) not in before.hopeless
    assert before.costs[trial.system, trial.cell] == 2.5


def test_time_away_is_not_spent(directory: Path) -> None:
    open_journal = Journal(directory)
    open_journal.append(journal.GOING_ON)
    open_journal.append(synthetic.started("a", 2))
    open_journal.append(synthetic.outcome(TRIALS[3]))
    open_journal.append(Look(1, ()))
    open_journal.close()
    lines = [json.loads(line) for line in _path(directory).read_bytes().splitlines()]
    moments = [1000, 1001, 1010, 1012, 1014, 90000, 90020, 90035, 90036]
    for line, recorded in zip(lines, moments, strict=True):
        line["recorded"] = float(recorded)
        if line["kind"] == "trial":
            line["began"] = recorded - 2.0  # what a trial takes
    _path(directory).write_text("".join(json.dumps(line) + "\n" for line in lines))

    # From 999.5 to 1014; then from 90019.5, when the first start of the second sitting began, to 90036.
    assert _earlier(directory).spent_s == 14.5 + 16.5


def test_what_happens_between_trials_is_spent(directory: Path) -> None:
    open_journal = Journal(directory)
    open_journal.append(synthetic.started("b", 2))
    open_journal.append(synthetic.outcome(TRIALS[3]))
    open_journal.close()
    _rewritten(directory, [1.0, 2.0, 10.0, 11.0, 12.0, 40.0, 41.0], began=9.0)

    assert _earlier(directory).spent_s == 41.0 - 0.5


def test_whole_numbers_are_written_as_they_were_measured(directory: Path) -> None:
    great = 2**62 + 1
    told = synthetic.outcome(TRIALS[3])
    told = replace(told, guest_ns=great, samples=(replace(told.samples[0], durations_ns=(great, 2**53 + 1)),))
    open_journal = Journal(directory)
    open_journal.append(told)
    open_journal.close()

    line = list(journal.lines(directory))[-1]
    assert line["guest_ns"] == great
    assert line["samples"][0]["durations_ns"] == [great, 2**53 + 1]
