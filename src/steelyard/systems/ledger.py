"""The ledger: changes to this machine for a tuned system, recorded before they are made.

The laboratory restores what it changed; if it is killed, its guard does, from this file; if both are killed,
the next laboratory finds the unlocked file and does it. agent/posix/ledger.h describes the lines.
"""

import contextlib
import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from steelyard import commands, standstill, text
from steelyard.errors import SteelyardError, Unsupported
from steelyard.quantities import number_of
from steelyard.systems import leftovers

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_PATIENCE_S = 5.0  # for what a killed laboratory's guard still has to do, and for killed processes to be gone


def directory() -> Path:
    """The directory of ledgers: if it is /run, it disappears at a reboot, like the changes themselves."""
    if os.geteuid() == 0:
        return Path("/run/steelyard")
    given = os.environ.get("XDG_RUNTIME_DIR")
    return Path(given) / "steelyard" if given else Path.home() / ".local" / "state" / "steelyard"


class Ledger:
    """The ledger of one running system, locked as long as this process or a guard that inherits it lives."""

    def __init__(self, scratch: Path, *, mark: str) -> None:
        place = directory()
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise Unsupported(f"cannot record the changed settings in {place}: {error.strerror}") from error
        self._settings: list[tuple[Path, str]] = []
        self._facts: list[str] = []
        with _alone(place):  # a laboratory that looks for leftovers must not find it unlocked
            self.file, name = tempfile.mkstemp(prefix=f"{os.getpid()}-", suffix=".ledger", dir=place)
            fcntl.flock(self.file, fcntl.LOCK_EX)
        self.path = Path(name)
        self.note(f"boot\t{text.of_file(_BOOT).strip()}", f"scratch\t{scratch}", f"mark\t{mark}")

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

    def undo(self) -> None:
        """Does what the guard would have done, if it has not: no guard was started, or it was killed. Raises
        SteelyardError for what cannot be put back."""
        if self.path.exists():
            _put_back(self.file)

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
    it. Raises SteelyardError if another one holds it."""
    return lock(
        directory() / "machine.lock",
        lambda holder: SteelyardError(
            f"this machine is being tuned by process {holder}: two laboratories that set its "
            "sysctls or huge pages would disturb each other's trials; wait until it ends"
        ),
        patience_s=_PATIENCE_S,
    )


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


def put_back_leftovers() -> list[str]:
    """Puts in order what killed laboratories, whose guards were killed as well, have left; returns a sentence
    for each thing done. Raises SteelyardError for what cannot be put back."""
    place = directory()
    if not any(place.glob("*.ledger")):
        return []
    done = []
    with _alone(place):
        for path in sorted(place.glob("*.ledger")):
            file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                status = os.fstat(file)
                if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
                    continue  # only this user's or root's ledger is trusted
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                done += _put_back(file)
                path.unlink()
            except BlockingIOError:
                continue  # its laboratory or its guard lives
            finally:
                os.close(file)
    return done


def _put_back(file: int) -> list[str]:
    whole = os.pread(file, os.fstat(file).st_size, 0)
    *lines, _ = os.fsdecode(whole).split("\n")  # what has no newline was never done
    facts = [line.split("\t", 2) for line in lines]
    if ["boot", text.of_file(_BOOT).strip()] not in facts:
        return []
    done = []
    folders = [Path(fact[1]) for fact in facts if fact[0] == "group"]
    scratches = [Path(fact[1]) for fact in facts if fact[0] == "scratch"]
    killed = leftovers.end_processes(folders, marks=[fact[1] for fact in facts if fact[0] == "mark"])
    if killed:
        done.append(f"ended {number_of(killed, 'process', 'processes')} left by an interrupted run")
    for _, name, old in reversed([fact for fact in facts if fact[0] == "set"]):
        try:
            Path(name).write_bytes(os.fsencode(old))
        except OSError as error:
            raise SteelyardError(
                f"{name} was changed by a killed run, and cannot be restored to '{old}': {error.strerror}"
            ) from error
        done.append(f"{name} is restored to '{old}', its value before a killed run")
    for line in reversed(lines):
        kind, *words = line.split("\t")
        if kind == "groups":
            for folder, _, _ in os.walk(words[0], topdown=False):
                _remove(Path(folder))
        if kind == "undo":
            _undo(words)
            done.append(f"'{' '.join(words)}' was done to clean up after a killed run")
    for group in folders:
        _remove(group)
    for scratch in scratches:
        leftovers.remove(scratch)
    return done


def _undo(words: list[str]) -> None:
    answer = commands.answer_of(words)
    if answer.returncode:
        raise SteelyardError(
            f"'{' '.join(words)}' must be done to clean up after a killed run, and failed: "
            f"{answer.stderr.strip()}"
        )


def _remove(group: Path) -> None:
    deadline = standstill.clock() + _PATIENCE_S
    while group.is_dir():
        try:
            group.rmdir()
        except OSError as error:
            if standstill.clock() > deadline:
                raise SteelyardError(
                    f"the control group {group} is left over from a killed run, and cannot be removed: "
                    f"{error.strerror}"
                ) from error
            time.sleep(0.02)
