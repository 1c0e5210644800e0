"""Runs a short command and returns what it says, within bounds of memory and time. A standstill of ours is no
part of that time."""

import contextlib
import os
import select
import selectors
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from steelyard import home, standstill

SAID_MOST = 64 << 20  # bytes of each stream that are kept; the rest is read and let go
_LOOK_S = 0.1  # so soon it is noticed that a command has ended which left its streams to others
_READ_ONCE = 1 << 16

Words = Sequence[str | Path]


def run(
    words: Words,
    *,
    limit_s: float = 60,
    input_bytes: bytes = b"",
    most: int = SAID_MOST,
    is_group: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """Run the command with that input; return its status and the beginning of its output on each stream.

    With `is_group` it has its own process group, which ends with it, and all output is on standard output.
    Raises subprocess.TimeoutExpired, with the output, for a command that was killed at the time limit;
    OSError for one that cannot be started.
    """
    deadline = standstill.clock() + limit_s
    with (
        _input(input_bytes) as given,
        _started(
            words,
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if is_group else subprocess.PIPE,
            start_new_session=is_group,
        ) as process,
        selectors.DefaultSelector() as selector,
    ):
        said = {stream: bytearray() for stream in (process.stdout, process.stderr) if stream is not None}
        for stream in said:
            selector.register(stream, selectors.EVENT_READ)
        try:
            while _goes_on(process, selector):
                left_s = deadline - standstill.clock()
                is_running = _is_running(process)
                if is_running and left_s <= 0:
                    raise subprocess.TimeoutExpired(words, limit_s, output=bytes(next(iter(said.values()))))
                if selector.get_map():
                    standstill.wait(selector, min(left_s, _LOOK_S) if is_running else 0)
                else:  # it closed its streams, and is about to end
                    _await_end(process, min(left_s, _LOOK_S))
                is_read = _read(selector, said, most)
                if not is_read and not is_running:
                    break  # do not wait for other processes that hold its streams
        finally:
            # Until it is reaped, its number is its own, and its group's.
            with contextlib.suppress(ProcessLookupError):
                if is_group:
                    os.killpg(process.pid, signal.SIGKILL)
                else:
                    process.kill()
            process.wait()
    return subprocess.CompletedProcess(words, process.returncode, *map(bytes, said.values()))


def _is_running(process: subprocess.Popen[bytes]) -> bool:
    """Whether it runs; if not, it is not reaped."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def _await_end(process: subprocess.Popen[bytes], limit_s: float) -> None:
    """Sleeps until it has ended, or for so long; it is not reaped."""
    file = os.pidfd_open(process.pid)
    try:
        select.select([file], [], [], max(0.0, limit_s))
    finally:
        os.close(file)


def _started(words: Words, **options: Any) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(words, **options)
    except OSError as error:  # of a fork that a sandbox or a limit refuses the kernel names nothing
        raise type(error)(error.errno, error.strerror, error.filename or str(words[0])) from error


def _goes_on(process: subprocess.Popen[bytes], selector: selectors.BaseSelector) -> bool:
    return bool(selector.get_map()) or _is_running(process)


def _read(selector: selectors.BaseSelector, said: dict[IO[bytes], bytearray], most: int) -> bool:
    """Takes what is there of each stream, or its end; returns whether there was any."""
    found = selector.select(0)
    for key, _ in found:
        stream = key.fileobj
        kept = said[stream]  # type: ignore[index]
        part = os.read(key.fd, _READ_ONCE)
        kept += part[: max(0, most - len(kept))]
        if not part:
            selector.unregister(stream)
    return bool(found)


@contextlib.contextmanager
def _input(content: bytes) -> Iterator[int | IO[bytes]]:
    """The input of a command as a file, so that nothing has to wait until it is read."""
    if not content:
        yield subprocess.DEVNULL
        return
    with home.unnamed_file() as file:
        file.write(content)
        file.seek(0)
        yield file


def answer_of(words: Words, *, limit_s: float = 60) -> subprocess.CompletedProcess[str]:
    """The command's output on both streams, as any bytes; it gets no input. At the time limit it is killed,
    with status 124. Raises OSError.
    """
    try:
        answer = run(words, limit_s=limit_s)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 124, "", f"it did not end within {limit_s:g} s")
    said = (part.decode(errors="replace") for part in (answer.stdout, answer.stderr))
    return subprocess.CompletedProcess(words, answer.returncode, *said)
