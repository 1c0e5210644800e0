"""What belongs to the whole machine, as a process that runs tests has it: as far as may be, for itself alone.

Root's has a mount namespace, System V objects, a /dev/shm and a /run/steelyard of its own; an ordinary user's
a runtime directory of its own. Its room, a directory with its lock, holds what must outlast a kill. A guard
waits for its end, whatever that is, and then clears: it ends what carries the room's name as its mark,
restores what ledgers hold, and removes the room. If the guard is killed as well, the next suite does it.

    python tests/support/surroundings.py guard ROOM PROCESS    waits for that process's end, and clears
    python tests/support/surroundings.py clear ROOM            clears, and says what it did
"""

import contextlib
import ctypes
import fcntl
import os
import secrets
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import places

MARK = "STEELYARD_TEST"  # in the environment of all that a test starts: the room's name and the test's
CACHE = "STEELYARD_TEST_CACHE"  # the directory that a suite has in place of the user's own cache
_PATIENCE_S = 20.0
_NEW_MOUNTS, _NEW_IPC = 0x00020000, 0x08000000
_BIND, _DETACH, _RECURSIVE, _PRIVATE = 1 << 12, 2, 1 << 14, 1 << 18

own: "Room | None" = None  # of this process, once it runs tests


def base() -> Path:
    """The directory of all rooms of this user."""
    if os.geteuid() == 0:
        return Path("/run/steelyard-tests")
    return Path("/tmp") / f"steelyard-tests-{os.geteuid()}"


@dataclass(frozen=True, slots=True)
class Room:
    """What one process that runs tests, or one suite, has on the disk."""

    path: Path

    @classmethod
    def make(cls) -> tuple["Room", int]:
        """A new one, and the descriptor that locks it: whoever gets the lock of another's clears it. Its name
        has one length for all, because environments take room in what is measured."""
        with _locked("rooms.lock"):
            room = cls(base() / f"{os.getpid():08d}-{secrets.token_hex(4)}")
            room.path.mkdir(mode=0o700)
            lock = room.lock()
        assert lock is not None
        room.runtime.mkdir(mode=0o700)
        (room.path / "suite").write_text(os.environ.get(CACHE, ""))
        return room, lock

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def runtime(self) -> Path:
        """The runtime directory of the laboratories that it starts."""
        return self.path / "runtime"

    @property
    def files(self) -> Path:
        """A suite's temporary directory: all users can reach it, as they can the machine's own."""
        return Path("/tmp") / f"steelyard-tests-{self.name}"

    @property
    def cache(self) -> Path:
        """A suite's, in place of the user's own."""
        return self.files / "cache"

    def lock(self) -> int | None:
        """The descriptor that locks it; None if another process has the lock, or if it is gone."""
        try:
            file = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return None
        return file

    def is_of(self, suite: "Room") -> bool:
        """Whether it is of a process of that suite."""
        try:
            return (self.path / "suite").read_text() == str(suite.cache)
        except OSError:
            return False

    def is_free(self) -> bool:
        """Whether its process and its guard have ended without clearing it."""
        if (lock := self.lock()) is not None:
            os.close(lock)
        return lock is not None


@contextlib.contextmanager
def _locked(name: str) -> Iterator[None]:
    """Alone among the processes of this user that want the same."""
    place = base()
    place.mkdir(mode=0o700, exist_ok=True)
    status = place.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o77:
        raise PermissionError(f"{place} is not a directory of this user alone")
    file = os.open(place / name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def alone() -> contextlib.AbstractContextManager[None]:
    """While no other process of this user that runs tests is in here."""
    return _locked("alone.lock")


# One process that runs tests


def take() -> None:
    """Give this process what it can have for itself, once."""
    global own
    if own is None:
        own, lock = Room.make()
        _enter(own)
        _start_guard(own, lock)
        os.close(lock)  # the guard has it too; what a test forks shall not


def group_prefix() -> str:
    """How the names of a test's own control groups begin."""
    return f"steelyard-test-{own.name}-" if own else "steelyard-test-"


def refusal() -> str:
    """Why a process here can have no namespaces of its own; nothing if it can."""
    if os.geteuid() != 0:
        return "not root"
    child = os.fork()
    if not child:
        os._exit(_unshare())
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return os.strerror(status) if status else ""


def _unshare() -> int:
    """The number of what refused it; 0 if nothing did."""
    libc = ctypes.CDLL(None, use_errno=True)
    return ctypes.get_errno() if libc.unshare(_NEW_MOUNTS | _NEW_IPC) else 0


def _mount(source: str, target: Path, kind: str, flags: int, data: str = "") -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    kind_word = kind.encode() if kind else None
    if libc.mount(source.encode(), os.fsencode(target), kind_word, ctypes.c_ulong(flags), data.encode()):
        raise OSError(ctypes.get_errno(), f"mount {target}: {os.strerror(ctypes.get_errno())}")


def _enter(room: Room) -> None:
    """Give this process, and all that it will start, what it can have for itself."""
    if os.geteuid() != 0:
        os.environ["XDG_RUNTIME_DIR"] = str(room.runtime)
        return
    if _unshare():
        return
    _mount("none", Path("/"), "", _RECURSIVE | _PRIVATE)
    places_of_ours = {Path("/run/steelyard"): room.runtime}
    if cache := os.environ.get(CACHE):
        places_of_ours[Path.home() / ".cache" / "steelyard"] = Path(cache)
    for place, source in places_of_ours.items():
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        _mount(str(source), place, "", _BIND)
    if Path("/dev/shm").is_dir():
        _mount("tmpfs", Path("/dev/shm"), "tmpfs", 0, "mode=1777")


def _start_guard(room: Room, lock: int) -> None:
    """It is no child of ours: tests look at what their process has started."""
    words = [sys.executable, __file__, "guard", room.path, str(os.getpid())]
    subprocess.run(words, check=True, env=_without_mark(), stdin=subprocess.DEVNULL, pass_fds=[lock])


def _without_mark() -> dict[str, str]:
    others = {name: value for name, value in os.environ.items() if name != MARK}
    return others | {"PYTHONPATH": str(places.ROOT / "src")}


def _wait_and_clear(room: Room, process: int) -> None:
    watched = os.pidfd_open(process)
    if os.fork():
        os._exit(0)  # the tests' process goes on
    os.setsid()
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nothing, standard)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    _until_gone(watched)
    clear(room)


def _until_gone(process: int, limit_s: float | None = None) -> None:
    waiting = select.poll()
    waiting.register(process, select.POLLIN)
    waiting.poll(None if limit_s is None else limit_s * 1000)


# A suite


@contextlib.contextmanager
def of_a_suite() -> Iterator[Room]:
    """Set the temporary directory, and for root the cache, that the suite's processes have."""
    room, lock = Room.make()
    room.files.mkdir(mode=0o755)
    room.files.chmod(0o1777)
    room.cache.mkdir(mode=0o700)
    before = dict(os.environ)
    os.environ |= {"TMPDIR": str(room.files), CACHE: str(room.cache)}
    tempfile.tempdir = None
    try:
        yield room
    finally:
        os.environ.clear()
        os.environ |= before
        tempfile.tempdir = None
        _remove(room)
        os.close(lock)


def clear_all(of: Room | None = None) -> list[str]:
    """Clear what killed suites and workers of this user have left, or after a suite what its workers have;
    returns a sentence for each thing done."""
    done = []
    for path in sorted(base().glob("*-*")) if base().is_dir() else ():
        if of is not None and Room(path).is_of(of):
            _await_guard(Room(path))
        with _locked("rooms.lock"):
            lock = Room(path).lock()
        if lock is None:
            continue  # its process or its guard lives
        words = [sys.executable, __file__, "clear", path]
        said = subprocess.run(words, env=_without_mark(), stdout=subprocess.PIPE, text=True, check=False)
        done += said.stdout.splitlines()
        os.close(lock)
    return done


def _await_guard(room: Room) -> None:
    """Its guard is about to clear it."""
    deadline = time.monotonic() + _PATIENCE_S
    while room.path.exists() and not room.is_free() and time.monotonic() < deadline:
        time.sleep(0.02)


# Clearing


def clear(room: Room) -> list[str]:
    """End and remove all that is surely of that room; returns a sentence for each thing done."""
    done = [f"ended {one}" for one in end_marked(f"{room.name}-")]
    if any(room.runtime.glob("**/*.ledger")):
        from steelyard.systems import ledger

        restored = ledger.put_back_leftovers()
        done += restored.done + restored.left
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            if backing.read_text().startswith(f"{room.files}/"):
                device = f"/dev/{backing.parent.parent.name}"
                subprocess.run(["losetup", "-d", device], check=False, capture_output=True)
                done.append(f"detached {device}")
    for group in Path("/sys/fs/cgroup").glob(f"**/steelyard-test-{room.name}-*"):
        with contextlib.suppress(OSError):
            group.rmdir()
            done.append(f"removed the control group {group}")
    _remove(room)
    return done


def end_marked(name: str) -> list[str]:
    """Kill all processes whose mark begins so, but for our ancestors; returns what they were."""
    said = []
    deadline = time.monotonic() + _PATIENCE_S
    while found := marked(name):
        for process, words in found:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(process, signal.SIGKILL)
                said.append(words)
        for process, _ in found:
            _until_gone(process, max(0.0, deadline - time.monotonic()))
            os.close(process)
        if time.monotonic() > deadline:
            break
    return said


def marked(name: str) -> list[tuple[int, str]]:
    """Descriptor and command of each process whose mark begins so: as a whole entry of its environment."""
    found = []
    begin, spared = f"{MARK}={name}".encode(), _ancestors()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) in spared:
            continue
        try:
            process = os.pidfd_open(int(entry.name))  # first, so that its number cannot be another's by then
        except OSError:
            continue
        try:
            entries = (entry / "environ").read_bytes().split(b"\0")
            words = os.fsdecode((entry / "cmdline").read_bytes().replace(b"\0", b" ")).strip()
            if any(one.startswith(begin) for one in entries):
                found.append((process, f"{entry.name} ({words[:120]})"))
                continue
        except OSError:
            pass
        os.close(process)
    return found


def _ancestors() -> set[int]:
    """This process and all above it."""
    found, process = set(), os.getpid()
    while process > 0:
        found.add(process)
        try:
            process = int(Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()[1])
        except OSError:
            break
    return found


def _remove(room: Room) -> None:
    """The suite's files and the room, without what is mounted there."""
    for mounted in reversed(_mounts_below(room.files)):
        ctypes.CDLL(None).umount2(os.fsencode(mounted), _DETACH)
    for tree in (room.files, room.path):
        if tree.is_symlink() or not tree.is_dir() or tree.lstat().st_uid != os.geteuid():
            continue
        for folder, below, _ in os.walk(tree) if os.geteuid() else ():  # some tests take rights away
            for path in (Path(folder) / name for name in below):
                if not path.is_symlink():
                    path.chmod(0o700)
        shutil.rmtree(tree, ignore_errors=True)


def _mounts_below(tree: Path) -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines()
    targets = [line.split()[4].replace("\\040", " ") for line in lines]
    return [target for target in targets if target.startswith(f"{tree}/")]


def main(order: str, room: str, *more: str) -> int:
    found = Room(Path(room))
    if order == "guard":
        _wait_and_clear(found, int(more[0]))
    else:
        _enter(found)
        print(*clear(found), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
