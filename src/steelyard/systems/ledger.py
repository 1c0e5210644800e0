"""The ledger: changes to this machine for a tuned system, recorded before they are made.

The laboratory restores what it changed; if it is killed, its guard does, from this file; if both are killed,
the next laboratory finds the unlocked file and does it. agent/ledger.h describes the lines. The load
program alone knows what they may say, and undoes them: for the guard as well as for the next laboratory.
"""

import contextlib
import fcntl
import os
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from steelyard import home, standstill
from steelyard.errors import SteelyardError, Unsupported, in_words, starting
from steelyard.programs import built
from steelyard.systems import leftovers, scratch
from steelyard.text import quoted

_PATIENCE_S = 5.0  # for what a killed laboratory's guard still has to do
_OTHER_BOOT = 3  # agent/ledger.h


def directory() -> Path:
    """The directory of ledgers: if it is /run, it disappears at a reboot, like the changes themselves. Raises
    Unsupported if the user can have none."""
    return Path("/run/steelyard") if os.geteuid() == 0 else home.runtime() / "steelyard"


class Ledger:
    """The ledger of one running system, locked as long as this process or a guard that inherits it lives."""

    def __init__(self, directory_of_system: Path, *, mark: str) -> None:
        place, boot = directory(), leftovers.boot()
        if not boot:
            raise Unsupported(
                f"cannot record the changed settings: {leftovers.BOOT} does not say until when they hold"
            )
        self._settings: list[tuple[Path, str]] = []
        self._facts: list[str] = []
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _alone(place):  # a laboratory that looks for leftovers must not find it unlocked
                self.file, name = tempfile.mkstemp(prefix=f"{os.getpid()}-", suffix=".ledger", dir=place)
                fcntl.flock(self.file, fcntl.LOCK_EX)
        except OSError as error:
            raise Unsupported(f"cannot record the changed settings in {place}: {in_words(error)}") from error
        self.path = Path(name)
        self.note(f"boot\t{boot}", f"scratch\t{directory_of_system}", f"mark\t{mark}")

    def note(self, *facts: str) -> None:
        """Adds lines that hold as long as the system runs."""
        self._facts += facts
        self._write()

    def hold(self, file: Path, old: str) -> None:
        """Notes that the file held the old value, and is about to hold another."""
        self._settings.append((file, old))
        self._write()

    def changes(self) -> list[tuple[Path, str]]:
        return list(self._settings)

    def release(self) -> None:
        """Notes that all files hold their old values again."""
        self._settings.clear()
        self._write()

    def strike(self, fact: str) -> None:
        """Takes back a line whose change was not made."""
        self._facts.remove(fact)
        self._write()

    def undo(self) -> None:
        """Does what the guard would have done, if it has not: no guard was started, or it was killed. Raises
        SteelyardError for what cannot be put back."""
        if os.path.exists(self.path) and (left := _put_back(self.file, self.path).left):
            raise SteelyardError(left[0])

    def close(self) -> None:
        self.path.unlink(missing_ok=True)
        os.close(self.file)

    def _write(self) -> None:
        """A kill leaves the file as it was or as it becomes: at worst a value is put back that is back."""
        lines = [*self._facts, *(f"set\t{file}\t{old}" for file, old in self._settings)]
        whole = os.fsencode("".join(f"{line}\n" for line in lines))
        os.pwrite(self.file, whole, 0)
        os.ftruncate(self.file, len(whole))


@contextlib.contextmanager
def _alone(place: Path) -> Iterator[None]:
    file = os.open(place / "ledgers.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def lock_machine() -> int:
    """The descriptor that locks this machine's settings for one laboratory, and for the guards that inherit
    it. Raises SteelyardError if another one holds it, Unsupported if there can be none."""
    place = directory()
    try:
        return lock(
            place / "machine.lock",
            lambda holder: SteelyardError(
                f"this machine is being tuned by process {holder}: two laboratories that set its "
                "sysctls or huge pages would disturb each other's trials; wait until it ends"
            ),
            patience_s=_PATIENCE_S,
        )
    except OSError as error:
        raise Unsupported(f"cannot lock this machine's settings in {place}: {in_words(error)}") from error


def lock(path: Path, refusal: Callable[[str], SteelyardError], *, patience_s: float = 0.0) -> int:
    """The descriptor that locks the file, which names its holder. If another process holds the lock for this
    long, raises the refusal, made from that process's ID.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    deadline = standstill.clock() + patience_s
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            holder = os.pread(file, 20, 0).decode(errors="replace").strip()
            if standstill.clock() >= deadline:
                os.close(file)
                raise refusal(holder) from None
        time.sleep(0.05)
    os.ftruncate(file, 0)
    os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
    return file


@dataclass(frozen=True, slots=True)
class Restored:
    """Sentences about what killed runs had left: what was done, and what is left, with why."""

    done: list[str]
    left: list[str]


def put_back_leftovers() -> Restored:
    """Put in order what killed laboratories, whose guards were killed as well, have left."""
    found = Restored([], [])
    try:
        place = directory()
    except Unsupported:
        return found
    try:
        if not _ledgers(place):
            return found
        with _alone(place):
            for path in _ledgers(place):
                one = _put_back_file(path)
                found.done.extend(one.done)
                found.left.extend(one.left)
    except (FileNotFoundError, NotADirectoryError):  # nothing was changed here
        pass
    except OSError as error:
        found.left.append(
            f"whether a killed run has changed this machine is unknown: {place}: {in_words(error)}"
        )
    return found


def _ledgers(place: Path) -> list[Path]:
    return sorted(place / name for name in os.listdir(place) if name.endswith(".ledger"))


def _put_back_file(path: Path) -> Restored:
    try:
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return Restored([], [f"{path} cannot be read, and is left alone: {in_words(error)}"])
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return Restored([], [])  # only this user's or root's ledger is trusted
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return _put_back(file, path)
    except BlockingIOError:
        return Restored([], [])  # its laboratory or its guard lives
    except SteelyardError as error:
        return Restored([], [f"{path}, from a killed run, is left as it is: {error}"])
    finally:
        os.close(file)


def _put_back(file: int, path: Path) -> Restored:
    """Undo what the ledger says. It then holds only what could not be undone, or is gone."""
    told = _asked("read", file)
    if told is None:  # of an earlier boot: nothing of it holds
        path.unlink()
        return Restored([], [])
    facts = [words for state, *words in told if state == "fits"]
    ended = leftovers.end_processes(
        [Path(words[1]) for words in facts if words[0] == "group"],
        marks=[words[1] for words in facts if words[0] == "mark"],
    )
    found = Restored(leftovers.told(ended), [])
    for state, *words in _asked("restore", file) or ():
        if state == "done":
            found.done.extend(_told(*words))
        elif state == "failed":
            found.left.append(_told_left(*words))
        else:
            line = " ".join(words)
            found.left.append(
                f"{path} says {quoted(line)}, which is no line of a run: nothing is done for it"
            )
    for words in facts:
        if words[0] == "scratch":
            found.done.extend(scratch.clear_one(Path(words[1])))
    return found


def _asked(order: str, file: int) -> list[list[str]] | None:
    """What the load program tells of the ledger, as words; None if it is of an earlier boot."""
    command = [str(built.load("glibc")), "ledger", order, str(file)]
    with starting(command[0], raises=Unsupported):
        answer = subprocess.run(command, pass_fds=[file], capture_output=True, check=False)
    if answer.returncode == _OTHER_BOOT:
        return None
    if answer.returncode:
        raise SteelyardError(os.fsdecode(answer.stderr).strip())
    return [line.split("\t") for line in os.fsdecode(answer.stdout).split("\n")[:-1]]


def _told(kind: str, *words: str) -> Iterator[str]:
    """What was done for that line, if anybody wants to know it."""
    if kind == "set":
        yield f"{words[0]} is restored to {quoted(' '.join(words[1:]))}, its value before a killed run"
    if kind == "undo":
        yield f"{quoted(' '.join(words))} was done to clean up after a killed run"


def _told_left(why: str, kind: str, *words: str) -> str:
    if kind == "set":
        old = quoted(" ".join(words[1:]))
        return f"{words[0]} was changed by a killed run, and cannot be restored to {old}: {why}"
    if kind == "undo":
        return f"{quoted(' '.join(words))} must be done to clean up after a killed run, and failed"
    return f"the control group {words[0]} is left over from a killed run, and cannot be removed: {why}"
