"""Imports what reckons and draws, before anything is measured: on one thread, and never where it could hang.

Where a process may have little address space, OpenBLAS asks for memory for ever while it is imported, and
hears no signal. So a child tries it first, for a limited time.
"""

import contextlib
import importlib
import mmap
import os
import resource
import select
import signal
import sys
from collections.abc import Iterator

from steelyard.errors import SteelyardError
from steelyard.quantities import size_bytes

TRIED_S = 30.0  # so long may a child take, on a busy machine
_TRIED_CPU_S = 5  # and this much CPU time: an endless loop would use all of it
_ROOM = 64 << 20  # bytes of address space that must be left for the work itself
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_LIMITS = {resource.RLIMIT_AS: "v", resource.RLIMIT_DATA: "d"}  # and ulimit's letter


def load(*names: str) -> None:
    """Imports the modules of those names, with what they import. Raises SteelyardError where this process may
    not have the memory for that."""
    if limits() and not _can_be_imported(names):
        lifted = " and ".join(f"ulimit -{letter} unlimited" for letter in limits())
        raise SteelyardError(f"too little memory to compare and draw: {in_words()}; {lifted} lifts that")
    _import(names)


def limits() -> dict[str, int]:
    """The limits in bytes of this process's memory, by the letter that ulimit has for them."""
    try:
        found = {letter: resource.getrlimit(kind)[0] for kind, letter in _LIMITS.items()}
    except OSError:  # a sandbox may refuse the question
        return {}
    return {letter: limit for letter, limit in found.items() if limit != resource.RLIM_INFINITY}


def in_words() -> str:
    """Those limits in words."""
    words = [f"ulimit -{letter} is {size // 1024} ({size_bytes(size)})" for letter, size in limits().items()]
    return " and ".join(words)


def _import(names: tuple[str, ...]) -> None:
    with _one_thread():
        for name in names:
            importlib.import_module(name)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Lets libraries that read these variables when they are loaded start no threads, unless somebody wants
    some. What is measured inherits the environment, so it is as it was afterwards."""
    ours = [name for name in _THREADS if name not in os.environ]
    os.environ |= dict.fromkeys(ours, "1")
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)


def _can_be_imported(names: tuple[str, ...]) -> bool:
    """True if a child of this process can import them and has some memory left, within `TRIED_S`."""
    end, held = os.pipe()  # the child's end closes with it, however it ends
    child = os.fork()
    if child == 0:
        _try(names)
    try:
        os.close(held)
        waiting = select.poll()
        waiting.register(end, select.POLLIN)
        waiting.poll(1000 * TRIED_S)
    finally:
        os.close(end)
        os.kill(child, signal.SIGKILL)  # of no effect where it has ended
        _, status = os.waitpid(child, 0)
    return status == 0


def _try(names: tuple[str, ...]) -> None:
    """Imports them, and ends with status 0 if that went well. What libraries print is not for people."""
    status = 1
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (_TRIED_CPU_S, _TRIED_CPU_S))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_RDWR), 2)
        _import(names)
        if "duckdb" in sys.modules:
            sys.modules["duckdb"].connect().execute("SELECT 1")  # starts its threads, with their stacks
        mmap.mmap(-1, _ROOM, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        status = 0
    finally:
        os._exit(status)
