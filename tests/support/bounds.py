"""What a test may do: an unmarked one starts no process; none outlasts its limit or leaves a process behind.

Every process that a test starts inherits an environment variable that names the test, wherever it goes, and
is known by it; or, where it was given another environment, by its parent. What the fixtures of a module or of
the session start is known by theirs, and looked for when they have ended. What it may share with others on
the machine: surroundings.py.
"""

import os
import signal
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, NoReturn

import pytest
import surroundings
from patience import patience

LIMIT_S, SECOND_LIMIT_S, GRACE_S = 180, 20, 3
COSTS = {
    "program": "starts a program that was built",
    "boots": "starts another system, or what is as slow: a browser, an ssh server",
    "builds": "compiles",
    "computes": "takes a quarter of a second of processor time or more, and starts nothing",
}
# What a marker or a fixture costs, whose tests need not say it.
IMPLIED = {
    **dict.fromkeys(("gvisor", "uml", "wine", "ssh", "browser"), "boots"),
    **dict.fromkeys(("strace", "bpf", "ptrace", "steelyard"), "program"),
}
STARTS = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec")
NAME = surroundings.MARK

_forbidden_for: str | None = None


def _audit(event: str, _: tuple[Any, ...]) -> None:
    if _forbidden_for and event in STARTS:
        pytest.fail(f"{_forbidden_for} starts a process: mark it by its cost ({', '.join(COSTS)})")


def pytest_configure(config: pytest.Config) -> None:
    for name, meaning in COSTS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    config.addinivalue_line("markers", f"limit(seconds): its time, where {LIMIT_S} s are too few")
    sys.addaudithook(_audit)
    # Who runs the tests in the background may have them ignore what their programs must hear.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD):
        if signal.getsignal(number) == signal.SIG_IGN:
            default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, default)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    runs_tests = hasattr(config, "workerinput") or getattr(config.option, "dist", "no") == "no"
    if runs_tests and not config.option.collectonly:
        surroundings.take()


def pytest_report_header() -> str | None:
    why = surroundings.refusal()
    return f"the tests share mounts and /dev/shm with this machine: {why}" if why else None


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        names = {mark.name for mark in item.iter_markers()} | set(getattr(item, "fixturenames", ()))
        for cost in {IMPLIED[name] for name in names & IMPLIED.keys()}:
            item.add_marker(cost)


def is_pure(item: pytest.Item) -> bool:
    return not any(item.get_closest_marker(cost) for cost in COSTS if cost != "computes")


# Time


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if item.get_closest_marker("quiet") is None:
        return (yield)
    with surroundings.alone():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    global _forbidden_for
    _forbidden_for = item.name if is_pure(item) else None
    _begin(_name_of(item))
    return (yield from _limited(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    return (yield from _limited(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, None, None]:
    global _forbidden_for
    try:
        return (yield from _limited(item))
    finally:
        _forbidden_for = None
        ended = [] if is_pure(item) else [_name_of(item)]
        if nextitem is None or nextitem.path != item.path:
            ended.append(_name_of(item.path))
        if left := _end(*ended):
            pytest.fail(f"left behind, and killed now: {', '.join(left)}", pytrace=False)


def _limited(item: pytest.Item) -> Generator[None, None, None]:
    """With an alarm that first kills what the test has started, so that no `with Popen` waits for it."""
    mark = item.get_closest_marker("limit")
    limit_s = patience(mark.args[0] if mark else LIMIT_S)

    def too_late(number: int, frame: object) -> NoReturn:
        _kill(_processes_of(_name_of(item)))
        pytest.fail(f"not done after {limit_s:g} s")

    before = signal.signal(signal.SIGALRM, too_late)
    signal.setitimer(signal.ITIMER_REAL, limit_s, SECOND_LIMIT_S)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# Processes


def _name_of(scope: object) -> str:
    """Of one length for all, because environments take room in the programs that are measured."""
    assert surroundings.own is not None
    return f"{surroundings.own.name}-{hash(scope) & 0xFFFFFFFF:08x}"


def _begin(name: str) -> None:
    os.environ[NAME] = name


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any, request: pytest.FixtureRequest) -> Generator[Any, Any, Any]:
    """What a module's fixture starts is the module's; of a session's it is not followed."""
    if fixturedef.scope == "function" or NAME not in os.environ:
        return (yield)
    before = os.environ[NAME]
    os.environ[NAME] = _name_of(request.path if fixturedef.scope == "module" else "session")
    try:
        return (yield)
    finally:
        os.environ[NAME] = before


def _end(*names: str) -> list[str]:
    """Kills what is left of those names, and says what it was; what is just leaving has time to."""
    deadline = time.monotonic() + patience(GRACE_S)
    while left := [one for name in names for one in _processes_of(name)]:
        if time.monotonic() > deadline:
            return _kill(left)
        time.sleep(0.02)
    return []


def _kill(processes: list[int]) -> list[str]:
    said = []
    for process in processes:
        try:
            words = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ")
            os.kill(process, signal.SIGKILL)
            said.append(f"{process} ({os.fsdecode(words)[:120].strip()})")
        except OSError:
            continue
    return said


def _processes_of(name: str) -> list[int]:
    """Those that have the name in their environment, and their descendants that have none."""
    parents, named, nameless = {}, set(), set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state, parent = (entry / "stat").read_text(errors="replace").rpartition(") ")[2].split()[:2]
            environment = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        number = int(entry.name)
        if state in "ZX" or number == os.getpid():
            continue
        parents[number] = int(parent)
        if f"{NAME}={name}".encode() in environment:
            named.add(number)
        elif not any(one.startswith(f"{NAME}=".encode()) for one in environment):
            nameless.add(number)
    found = set(named)
    while more := {one for one in nameless - found if parents[one] in found | {os.getpid()}}:
        found |= more
    return sorted(found)
