"""What each verb of tests/monitor/known.c makes, process by process, and what strace says of it."""

from collections.abc import Callable, Mapping
from pathlib import Path

import monitor_runs
from monitor_runs import Record, Watch, added, counts, told

FIRST = "execve 1, exit_group 1"  # of the command, besides what its verb makes


NO_END = 1000  # of a process that is said to go on


LEAF = "getppid 20, exit_group 1"


# Of each process: its generation, its end (a status, or a signal below 0), its calls and their errors.
Expected = tuple[int, int, str]


KNOWN: dict[str, list[Expected]] = {
    "leaf": [(0, 0, f"getppid 20, {FIRST}")],
    "plain": [(0, 0, f"getppid 1000, close 500/500, access 10/10, {FIRST}")],
    "failing": [
        (0, 0, f"openat 9/7, read 6/5, write 4/3, dup 12/11, close 2, mmap 13, {FIRST}"),
    ],
    "unknown": [(0, 0, f"call 500 2/2, call 999 3/3, call 100000 1/1, {FIRST}")],
    "forks": [
        (0, 0, f"fork 2, clone 2, clone3 1, wait4 5, {FIRST}"),
        *[(1, status, "getpid 11, exit_group 1") for status in range(5)],
    ],
    "vforks": [
        (0, 0, f"vfork 3, wait4 3, {FIRST}"),
        (1, 0, "getuid 3, exit_group 1"),
        (1, 0, f"execve 1, {LEAF}"),
        (1, 2, "execve 1/1, exit_group 1"),
    ],
    "threads": [(0, 0, f"clone 4, gettid 10000, close 400/400, exit 4, getppid 50, {FIRST}")],
    "exec": [(0, 0, f"getuid 3, execve 3/1, {LEAF}")],
    "killed": [
        (0, 0, f"rt_sigprocmask 1, fork 2, kill 1, wait4 2, {FIRST}"),
        (1, -9, "getppid 5, getpid 1, kill 1"),
        (1, -15, "rt_sigsuspend 1/1"),
    ],
    "signals": [
        (
            0,
            0,
            "getpid 1, rt_sigaction 2, rt_sigprocmask 2, kill 15, ppoll 10/10, rt_sigreturn 16/10, pipe 1, "
            f"setitimer 1, read 2/1, write 1, {FIRST}",
        ),
    ],
    "stopped": [
        (0, 0, f"fork 1, nanosleep 1, kill 2, wait4 2, {FIRST}"),
        (1, 0, "nanosleep 1/1, restart_syscall 1, exit_group 1"),
    ],
    "refused": [(0, 0, f"prctl 2, getppid 50/50, getuid 5, {FIRST}")],
    "thread_exec": [(0, 0, f"getuid 7, clone 1, gettid 5, execve 2, {LEAF}")],
    "leader_first": [(0, 4, f"set_tid_address 1, clone 1, exit 1, gettid 10, {FIRST}")],
    "cut_off": [(0, 0, f"clone 3, gettid 15, {FIRST}")],
    "forks_of_a_thread": [
        (0, 0, f"clone 1, fork 1, wait4 1, exit 1, {FIRST}"),
        (1, 2, "getuid 8, exit_group 1"),
    ],
    "crashes": [
        (0, 0, f"fork 2, wait4 2, {FIRST}"),
        (1, -11, "getuid 6"),
        (1, -31, "prctl 2, getppid 1"),
    ],
    "orphan": [
        (0, 0, f"prctl 1, fork 1, wait4 2, {FIRST}"),
        (1, 5, "fork 1, exit_group 1"),
        (2, 6, "nanosleep 1, getuid 30, exit_group 1"),
    ],
    "exit_alone": [(0, 7, "execve 1, exit 1")],
    "many 30": [(0, 0, f"fork 30, wait4 30, {FIRST}"), *[(1, 0, "getppid 3, exit_group 1")] * 30],
    "at_once 10": [
        (0, 0, f"pipe 1, fork 10, close 1, wait4 10, {FIRST}"),
        *[(1, 0, "close 1, read 1, getppid 100, exit_group 1")] * 10,
    ],
}


# Whose counts differ between a text and strace, and by what: to be added to strace's.
LOST_BY_STRACE = {
    "unknown": "call 500 2/2, call 999 3/3, call 100000 1/1",
    "killed": "kill 1",
}


def expected(verb: str) -> list[tuple[int, int, dict[str, tuple[int, int]]]]:
    return _sorted([(generation, end, together(told(text))) for generation, end, text in KNOWN[verb]])


def tries(verb: str) -> range:
    """How often it may be done until its calls are those of the text: once, but for one whose child is to be
    stopped in its sleep. On a busy machine it may come to it too late, or its parent to the stop."""
    return range(20 if verb == "stopped" else 1)


def watch_of(verb: str, watch: Callable[[], Watch]) -> Watch:
    """A watch of that verb; the last one of its tries if none has found the calls of the text."""
    for _ in tries(verb):
        watched = watch()
        if found(watched.processes) == expected(verb):
            break
    return watched


def found(records: list[Record]) -> list[tuple[int, int, dict[str, tuple[int, int]]]]:
    return _sorted([(one["generation"], end_of(one), together(counts(one))) for one in records])


def _sorted(
    each: list[tuple[int, int, dict[str, tuple[int, int]]]],
) -> list[tuple[int, int, dict[str, tuple[int, int]]]]:
    return sorted(each, key=lambda one: (one[0], one[1], sorted(one[2].items())))


def together(calls: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """The calls whose numbers nobody has as one: a monitor may have no room of its own for each."""
    unknown = {name: both for name, both in calls.items() if name == "other" or name.startswith("call ")}
    rest = {name: both for name, both in calls.items() if name not in unknown}
    return added([rest, *({"unknown": both} for both in unknown.values())])


def strace_and_text(
    known: Path, verb: str, directory: Path
) -> tuple[dict[str, tuple[int, int]], dict[str, tuple[int, int]]]:
    """What strace counts of all processes and what the text says, each without what strace cannot see."""
    by_strace = added(
        [monitor_runs.by_strace([known, *verb.split()], directory), told(LOST_BY_STRACE.get(verb, ""))]
    )
    by_text = added([told(text) for _, _, text in KNOWN[verb]])
    # Tracing a stopped sleep is what makes it restart once more.
    for call in ("exit", "exit_group", *(["restart_syscall"] if verb == "stopped" else [])):
        by_strace.pop(call, None)
        by_text.pop(call, None)
    if verb == "stopped":
        # A traced parent is woken by the SIGCHLD of a child that goes on, though it ignores it: its wait
        # is broken off, which nobody untraced sees, and begins again.
        waits, broken_off = by_strace["wait4"]
        by_strace["wait4"] = (waits - broken_off, 0)
    return by_strace, by_text


def end_of(record: Record) -> int:
    if record["signal"] is not None:
        return -int(record["signal"])
    return int(record["status"]) if record["status"] is not None else NO_END
