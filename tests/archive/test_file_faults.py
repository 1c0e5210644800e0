"""Each call of the archive to the file system fails in turn, in every way that a file system has: what was
promised stays, what is there is whole, and the same command goes on.

In the manner of SQLite's tests of input and output errors: the n-th call fails, for n from 1 until none is
reached any more. A kill and a power cut are faults, too: from then on no call does anything; of a power cut,
what was not synced is lost besides.
"""

import errno
import io
import os
import random
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import monitor_records
import pytest
import synthetic

from steelyard.archive import (
    closing,
    experiments,
    exports,
    files,
    journal,
    merging,
    names,
    reading,
    tables,
    watches,
)
from steelyard.archive.journal import Journal
from steelyard.errors import ArchiveError
from steelyard.watch import records

pytestmark = pytest.mark.computes

PLAN = synthetic.plan("sieve", blocks=2)
EVENTS = [synthetic.outcome(trial) for trial in synthetic.trials(PLAN)]
ERRORS = {"EIO": errno.EIO, "ENOSPC": errno.ENOSPC, "EINTR": errno.EINTR, "broken disk": errno.EIO}
LASTING = ("broken disk", "kill", "power cut")
# In a run by hand each operation meets every fault. In the suite the slow ones meet each n in some way, every
# second time: which, is drawn again in each run.
ALL = int(os.environ.get("STEELYARD_EXAMPLES", "1")) > 1
KINDS = ("short", *ERRORS, "Ctrl-C", "kill", "power cut")


class Killed(BaseException):
    """The laboratory is no more."""


class Faults:
    """A context in which the n-th call fails, in that way."""

    def __init__(self, kind: str, number: int) -> None:
        self.kind, self.number = kind, number
        self._left = number
        self._before = dict(vars(files.calls))
        self._calls = self._before | {"fsync": lambda handle: None}  # what it does is in _unsynced
        self._unsynced: dict[
            int, tuple[int, int]
        ] = {}  # by inode: a descriptor, and the bytes that are synced
        self._renamed: list[tuple[Path, Path]] = []  # in directories that were not synced since

    @property
    def struck(self) -> bool:
        return self._left <= 0

    def __enter__(self) -> "Faults":
        for name in self._calls:
            setattr(files.calls, name, self._failing(name))
        return self

    def __exit__(self, *_: object) -> None:
        vars(files.calls).update(self._before)
        if self.struck and self.kind == "power cut":
            for handle, size in self._unsynced.values():
                os.ftruncate(handle, size)
            for place, before in reversed(self._renamed):
                os.rename(place, before)
        for handle, _ in self._unsynced.values():
            os.close(handle)

    def _failing(self, name: str) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            if self.kind == "short" and name not in ("read", "write"):
                return self._done(name, *given, **named)
            self._left -= 1
            if self._left > 0 or (self._left < 0 and self.kind not in LASTING):
                return self._done(name, *given, **named)
            if self._left == 0 and name in ("read", "write"):  # some of it comes through
                handle, what = given
                some = max(1, what // 20) if name == "read" else what[: max(1, len(what) // 2)]
                part = self._done(name, handle, some)
                if self.kind == "short":
                    return part
            if self.kind == "Ctrl-C" and name in ("rename", "unlink", "mkdir", "fsync", "truncate"):
                self._done(name, *given, **named)
            raise self._error(given[0])

        return call

    def _error(self, what: object) -> BaseException:
        if self.kind == "Ctrl-C":
            return KeyboardInterrupt()
        if self.kind not in ERRORS:
            return Killed()
        number = ERRORS[self.kind]
        return OSError(number, os.strerror(number), str(what) if isinstance(what, Path) else None)

    def _done(self, name: str, *given: Any, **named: Any) -> Any:
        if name == "write":
            now = os.fstat(given[0])
            if now.st_ino not in self._unsynced:
                self._unsynced[now.st_ino] = (os.dup(given[0]), now.st_size)
        is_new = name == "rename" and not given[1].exists()
        answer = self._calls[name](*given, **named)
        if is_new:
            self._renamed.append((given[1], given[0]))
        if name == "fsync":
            now = os.fstat(given[0])
            if now.st_ino in self._unsynced:
                self._unsynced[now.st_ino] = (self._unsynced[now.st_ino][0], now.st_size)
            self._renamed = [one for one in self._renamed if one[0].parent.stat().st_ino != now.st_ino]
        return answer


class Operation:
    """What is done with an archive, and what is so whatever fails in it."""

    is_slow = False

    def __init__(self) -> None:
        self.promised = 0  # what must be there, as far as it was acknowledged

    def prepare(self, place: Path) -> None:
        """Makes what is there before."""

    def act(self, place: Path) -> None:
        raise NotImplementedError

    def check(self, place: Path, *, done: bool) -> None:
        """`done`: nothing has failed, this time."""
        raise NotImplementedError


def _open(place: Path, *, closed: bool = False) -> experiments.StoredExperiment:
    return synthetic.experiment(place, PLAN, synthetic.outcome, closed=closed)


def _watch(place: Path) -> watches.KeptWatch:
    found = records.read(
        io.BytesIO(
            monitor_records.lines(
                [monitor_records.head(), monitor_records.process(5, "x"), monitor_records.end(at_s=1)]
            )
        )
    )
    assert found is not None
    return watches.keep(place, found, watched="x")


def _hidden(place: Path) -> list[str]:
    return [str(path.relative_to(place)) for path in place.rglob(".*")]


def _contents(place: Path) -> dict[str, bytes]:
    """Of every file, by its name below the place."""
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


class Measuring(Operation):
    """A laboratory that keeps trials, and goes on where another stopped."""

    def act(self, place: Path) -> None:
        with experiments.measuring(place):
            found = experiments.unfinished(place, "same") or synthetic.new(place, PLAN)
            done = sum(1 for _ in experiments.lines(found))
            kept = Journal(found.path)
            try:
                for number, one in enumerate(EVENTS[done:], start=done + 1):
                    kept.append(one)
                    self.promised = number
            finally:
                kept.close()

    def check(self, place: Path, *, done: bool) -> None:
        found = experiments.experiments(place)
        assert len(found) <= 1
        kept = [(line["block"], line["system"]) for one in found for line in experiments.lines(one)]
        assert kept == [(one.trial.block, one.trial.system) for one in EVENTS[: len(kept)]]
        # What was written and not acknowledged may be there.
        assert self.promised <= len(kept) <= self.promised + 1
        assert not done or (len(kept) == len(EVENTS) and not _hidden(place))


class Closing(Operation):
    """With a line that is damaged, which is kept as it is."""

    is_slow = True

    def prepare(self, place: Path) -> None:
        found = _open(place)
        with open(found.path / journal.NAME, "ab") as file:
            file.write(b"damaged\n")
        self.text = (found.path / journal.NAME).read_bytes()
        self.rows = self._rows(found)
        self.seen: set[str] = set()

    def _rows(self, found: experiments.StoredExperiment) -> list[Any]:
        with reading.connect(found) as connection:
            return [connection.execute(f"SELECT * FROM {name}").fetchall() for name in names.OF_EXPERIMENT]

    def act(self, place: Path) -> None:
        (found,) = experiments.experiments(place)
        closing.close(found)

    def check(self, place: Path, *, done: bool) -> None:
        (found,) = experiments.experiments(place)
        there = {path.name for path in found.path.iterdir()}
        if not found.closed:
            assert (found.path / journal.NAME).read_bytes() == self.text
        elif (state := _state(place)) not in self.seen:
            self.seen.add(state)
            assert self._rows(found) == self.rows
            assert (found.path / experiments.DAMAGED).read_bytes() == b"damaged\n"
        tables_ = {f"{name}.parquet" for name in names.OF_EXPERIMENT}
        assert not done or there == {experiments.HEADER, experiments.DAMAGED, *tables_}


def _state(place: Path) -> str:
    """But for what drafts hold: that is never read."""
    return repr(
        sorted((name, None if "/." in name else hash(content)) for name, content in _contents(place).items())
    )


class Reopening(Closing):
    """A closed experiment becomes an open one."""

    def prepare(self, place: Path) -> None:
        found = _open(place, closed=True)
        self.rows = self._rows(found)
        self.seen = set()

    def act(self, place: Path) -> None:
        (found,) = experiments.experiments(place)
        if found.closed:
            closing.reopen(found)

    def check(self, place: Path, *, done: bool) -> None:
        (found,) = experiments.experiments(place)
        if (state := _state(place)) not in self.seen:
            self.seen.add(state)
            assert self._rows(found) == self.rows
        assert not done or not found.closed


class Opening(Operation):
    """An experiment that is closed, and one that is open."""

    is_slow = True

    def prepare(self, place: Path) -> None:
        self.before = [_trials(_open(place)), _trials(_open(place, closed=True))]

    def act(self, place: Path) -> None:
        for one in experiments.experiments(place):
            assert _trials(one) in self.before

    def check(self, place: Path, *, done: bool) -> None:
        assert len(experiments.experiments(place)) == 2


def _trials(found: experiments.StoredExperiment) -> list[Any]:
    with reading.connect(found) as connection:
        return connection.execute("SELECT trial, system, block, status FROM trials").fetchall()


class Listing(Operation):
    """Whatever is not listed is named."""

    def prepare(self, place: Path) -> None:
        self.names = {_open(place).name, _open(place, closed=True).name, _watch(place).name}

    def act(self, place: Path) -> None:
        said: list[str] = []
        found = [one.name for one in experiments.experiments(place, said.append)]
        found += [one.name for one in watches.watches(place, said.append)]
        assert {name for name in self.names if name in found or name in " ".join(said)} == self.names
        assert all(one.isprintable() for one in said)

    def check(self, place: Path, *, done: bool) -> None:
        self.act(place)


class Exporting(Operation):
    """Over files that are there already: each is the old one, or the new one."""

    def prepare(self, place: Path) -> None:
        self.names = [f"out{ending}" for ending in (".csv", ".json", ".parquet")]
        self.held = tables.of_lines(experiments.lines(_open(place / "archive")))
        self.connection = self.held.__enter__()
        self.act(place)
        self.new = {name: (place / name).read_bytes() for name in self.names}
        for name in self.names:
            (place / name).write_bytes(b"old")

    def act(self, place: Path) -> None:
        for name in self.names:
            exports.write(self.connection, "trials", place / name)

    def check(self, place: Path, *, done: bool) -> None:
        for name in self.names:
            assert (place / name).read_bytes() in ((b"old", self.new[name])[done:])
        assert not done or not _hidden(place)


class Importing(Operation):
    """Each experiment and watch of another archive is copied whole, or is not there."""

    is_slow = True

    def prepare(self, place: Path) -> None:
        there = place / "there"
        _open(there, closed=True), _open(there, closed=True), _watch(there)
        self.wanted = _contents(there)

    def act(self, place: Path) -> None:
        merging.merge(place / "here", place / "there")
        watches.merge(place / "here", place / "there")

    def check(self, place: Path, *, done: bool) -> None:
        here = place / "here"
        found = _contents(here)
        copies = {str(Path(name).parent) for name in found if not name.split("/")[1].startswith(".")}
        wanted = {name: one for name, one in self.wanted.items() if done or str(Path(name).parent) in copies}
        assert {name: one for name, one in found.items() if str(Path(name).parent) in copies} == wanted
        assert not done or not _hidden(here)


class Removing(Operation):
    """It is there whole, or not at all; what is left of it goes when the next one is made."""

    is_slow = True

    def prepare(self, place: Path) -> None:
        self.name = _open(place).name
        self.before = _contents(place)

    def act(self, place: Path) -> None:
        for one in experiments.experiments(place):
            experiments.discard(one)
        synthetic.new(place, PLAN)

    def check(self, place: Path, *, done: bool) -> None:
        found = [one.name for one in experiments.experiments(place)]
        left = {name: one for name, one in _contents(place).items() if f"/{self.name}/" in name}
        assert left == (self.before if self.name in found else {})
        assert not done or (len(found) == 1 and self.name not in found and not _hidden(place))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("operation", [*Operation.__subclasses__(), Reopening])
def test_whatever_call_fails_nothing_promised_is_lost_and_the_same_goes_on(
    operation: type[Operation], kind: str, tmp_path: Path
) -> None:
    whole = operation()
    whole.prepare(tmp_path / "before")
    gone_on: set[str] = set()
    is_sampled = whole.is_slow and not ALL
    faults = 0
    for number in count(1 + KINDS.index(kind), len(KINDS)) if is_sampled else count(1):
        if is_sampled and faults and random.random() < 0.5:
            continue
        place = tmp_path / "archive"
        shutil.rmtree(place, ignore_errors=True)
        if (tmp_path / "before").exists():
            shutil.copytree(tmp_path / "before", place)
        whole.promised = 0
        failed = _failed(whole, place, fault := Faults(kind, number))
        if not fault.struck:
            break
        faults += 1
        assert kind != "short" or failed is None
        assert kind not in ERRORS or (str(failed).isprintable() and len(str(failed)) < 1000)
        whole.check(place, done=failed is None and kind == "short")
        # From where it is now, what is done without a fault has been seen.
        if (state := _state(place)) in gone_on:
            continue
        gone_on.add(state)
        whole.act(place)
        whole.check(place, done=True)
    assert failed is None
    assert faults
    print(f"{operation.__name__} {kind}: {faults} faults")


def _failed(operation: Operation, place: Path, faults: Faults) -> BaseException | None:
    allowed = (
        KeyboardInterrupt if faults.kind == "Ctrl-C" else ArchiveError if faults.kind in ERRORS else Killed
    )
    try:
        with faults:
            operation.act(place)
    except allowed as error:
        return error
    return None
