"""Runs all tests, and those that failed once more, alone, one after the other.

    python tests/support/suite.py [--at-once N] [ARGUMENTS OF PYTEST...]

First the tests that run beside each other, then the quiet ones, then the second try. A test that fails once
and then passes is unsteady: it is named at the end, with what its first failure said. The status is 0 if each
test passes in the end and at most UNSTEADY_MOST are unsteady. More failures than that are no chance, and are
not tried again. A file that cannot be collected, a crash of pytest and Ctrl-C end the suite at once.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import surroundings

UNSTEADY_MOST = 5
LINES_MOST = 12  # of what a failure said, at the end
FILES_MOST, FILE_SECONDS_LEAST = 25, 10  # of those that took longest
RECORD = "--record-failures"  # how this program calls itself


@dataclass(frozen=True, slots=True)
class Failure:
    """A test that failed, or a file that could not be collected."""

    name: str  # pytest's node
    stage: str  # "collect", "setup", "call" or "teardown"
    said: str


class Recorder:
    """Appends each failure to a file, as a line of JSON, and says which files of tests took longest;
    given to pytest as a plugin."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seconds: Counter[str] = Counter()  # by file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.location[0]] += report.duration
        if report.failed:
            self._append(report.nodeid, report.when or "call", report.longreprtext)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._append(report.nodeid, "collect", report.longreprtext)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        longest = [pair for pair in self._seconds.most_common(FILES_MOST) if pair[1] > FILE_SECONDS_LEAST]
        if longest:
            terminalreporter.section("longest files of tests")
        for name, seconds in longest:
            terminalreporter.write_line(f"{seconds:7.1f}s  {name}")

    def _append(self, name: str, stage: str, said: str) -> None:
        with self._path.open("a") as lines:
            lines.write(json.dumps({"name": name, "stage": stage, "said": said}) + "\n")


class Broken(Exception):
    """Pytest itself ended with that status: not because tests failed."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def failures_of(*arguments: str) -> dict[str, Failure]:
    """Run pytest with those arguments, and return what failed by its name."""
    with tempfile.TemporaryDirectory(prefix="steelyard-suite-") as directory:
        record = Path(directory) / "failures"
        record.touch()
        command = [sys.executable, __file__, RECORD, record, *arguments]
        status = subprocess.run(command, check=False).returncode
        found = [Failure(**json.loads(line)) for line in record.read_text().splitlines()]
    if status == pytest.ExitCode.NO_TESTS_COLLECTED:
        return {}
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or (status and not found):
        raise Broken(status)
    first: dict[str, Failure] = {}
    for failure in found:
        first.setdefault(failure.name, failure)
    return first


def verdict(first: dict[str, Failure], again: dict[str, Failure] | None) -> tuple[int, str]:
    """Return the exit status and what is said at the end; `again` is None if nothing was tried again."""
    if again is None:
        failed, unsteady = first, {}
    else:
        failed = again
        unsteady = {name: failure for name, failure in first.items() if name not in again}
    lines = []
    if failed:
        how = "twice" if again is not None else "and were not tried again: too many for chance"
        lines.append(f"{len(failed)} failed {how}:")
        lines += [_told(failure) for failure in failed.values()]
    lines.append(f"{len(unsteady)} unsteady{': failed once, and passed alone:' if unsteady else ''}")
    lines += [_told(failure) for failure in unsteady.values()]
    if len(unsteady) > UNSTEADY_MOST:
        lines.append(f"That is more than {UNSTEADY_MOST}: the suite fails.")
    return int(bool(failed) or len(unsteady) > UNSTEADY_MOST), "\n".join(lines)


def _told(failure: Failure) -> str:
    """The name of the test and the end of what it said."""
    said = [f"    {line}" for line in failure.said.splitlines()[-LINES_MOST:]]
    return "\n".join([f"  {failure.name} ({failure.stage})", *said])


def main(words: Sequence[str]) -> int:
    """Run the suite between looks at what is left: by an earlier one that was killed, and by this one."""
    for done in surroundings.clear_all():
        print(f"left by an earlier suite: {done}", flush=True)
    with surroundings.of_a_suite() as room:
        status = tested(words)
    for done in surroundings.clear_all(of=room):
        print(f"left by this suite: {done}", flush=True)
    return status


def tested(words: Sequence[str]) -> int:
    """Run the tests, and those that failed once more; returns the status."""
    signal.signal(signal.SIGINT, lambda *_: None)  # pytest hears it, and ends as it should
    parser = argparse.ArgumentParser(description=__doc__, add_help=False)
    parser.add_argument("--at-once", default="4")  # two work while others wait
    known, more = parser.parse_known_args(words)
    durations = ("--durations=25", "--durations-min=5")
    try:
        first = failures_of("-n", known.at_once, "--dist", "worksteal", "-m", "not quiet", *durations, *more)
        first |= failures_of("-m", "quiet", *durations, *more)
        is_chance = len(first) <= UNSTEADY_MOST and all(one.stage != "collect" for one in first.values())
        again: dict[str, Failure] | None = {} if is_chance else None
        for name in first if is_chance else ():  # each in a process of its own, with nothing of another in it
            again |= failures_of(name)
    except Broken as error:
        print(f"pytest ended with status {error.status}", flush=True)
        return error.status
    status, text = verdict(first, again)
    print(text, flush=True)
    return status


if __name__ == "__main__":
    if sys.argv[1:2] == [RECORD]:
        sys.exit(pytest.main(sys.argv[3:], plugins=[Recorder(Path(sys.argv[2]))]))
    sys.exit(main(sys.argv[1:]))
