"""Starts the installed command in a fork of a process that has imported all that it imports: as it is started
by a shell, but for the second of processor time that Python takes to import it.

    installed_command.py HANDLE    serves what a Starter asks, by the socket of that number
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import refused_calls
import taken_away

COMMAND = Path(sys.executable).with_name("steelyard")
_OWN = (
    "STEELYARD_",
    "PYTEST_",
    "TMPDIR",
)  # what a command may have otherwise in its environment than this process
_MESSAGE_MOST = 1 << 18


class Starter:
    """A process that forks when it is asked to. `run` is subprocess.run, with the output as text."""

    def __init__(self) -> None:
        self._environment = _inherited(os.environ)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        words = [sys.executable, __file__, str(theirs.fileno())]
        alone = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # a fork has none but the thread that forked
        self._server = subprocess.Popen(
            words, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=alone
        )
        theirs.close()

    def close(self) -> None:
        self._socket.close()
        self._server.wait()

    def run(
        self,
        arguments: Sequence[str],
        *,
        environment: Mapping[str, str],
        timeout: float,
        without: Sequence[tuple[str, str]] = (),
        refused: tuple[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """`without` are files and directories of this machine that the command shall not have, and the way in
        which it has not (taken_away); `refused` are an error, and the calls that the kernel answers with it
        (refused_calls)."""
        if _inherited(environment) != self._environment:
            assert not without, "only the starter's own environment goes with what is taken away"
            assert refused is None, "or with what is refused"
            return subprocess.run(
                [COMMAND, *arguments], env=environment, timeout=timeout, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, check=False,
            )  # fmt: skip
        asked = {
            "words": [str(COMMAND), *arguments],
            "environment": dict(environment),
            "place": os.getcwd(),
            "without": list(without),
            "refused": refused,
        }
        with open(os.devnull) as nothing, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            streams = [nothing.fileno(), out.fileno(), errors.fileno()]
            socket.send_fds(self._socket, [json.dumps(asked).encode()], streams)
            status = self._ended(arguments, timeout)
            said = [stream.seek(0) or stream.read().decode() for stream in (out, errors)]
        return subprocess.CompletedProcess([COMMAND, *arguments], status, *said)

    def _ended(self, arguments: Sequence[str], timeout: float) -> int:
        """Waits for the exit status; a command that takes longer is killed."""
        process = int(self._socket.recv(_MESSAGE_MOST))
        try:
            self._socket.settimeout(timeout)
            return int(self._socket.recv(_MESSAGE_MOST))
        except BaseException as error:
            os.kill(process, signal.SIGKILL)
            self._socket.settimeout(None)
            self._socket.recv(_MESSAGE_MOST)
            if isinstance(error, TimeoutError):
                raise subprocess.TimeoutExpired([COMMAND, *arguments], timeout) from None
            raise
        finally:
            self._socket.settimeout(None)


def _inherited(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith(_OWN)}


def _serve(connection: socket.socket) -> None:
    """Forks for each request, tells the process and, in the end, its exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _import_all()
    gc.freeze()
    while True:
        message, streams, _, _ = socket.recv_fds(connection, _MESSAGE_MOST, 3)
        if not message:
            gc.unfreeze()
            return
        process = os.fork()
        if process == 0:
            connection.close()
            _become(json.loads(message), streams)
        for stream in streams:
            os.close(stream)
        connection.send(str(process).encode())
        _, status = os.waitpid(process, 0)
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(asked: dict[str, object], streams: Sequence[int]) -> None:
    """Goes on as the command, and ends as Python does, but does not put away what was imported: that takes
    as long as importing it."""
    from steelyard import cli

    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if asked["without"]:
        taken_away.alone()
        for path, how in asked["without"]:  # type: ignore[attr-defined]
            taken_away.take(path, how)
    os.environ.clear()
    os.environ.update(asked["environment"])  # type: ignore[call-overload]
    tempfile.tempdir = None  # which was that of the process that forked
    os.chdir(str(asked["place"]))
    sys.argv = list(asked["words"])  # type: ignore[call-overload]
    if asked["refused"]:
        refused_calls.refuse(*asked["refused"])  # type: ignore[misc]
    try:
        cli.entry()
    except SystemExit as leaving:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        os._exit(int(leaving.code or 0))


def _import_all() -> None:
    import steelyard

    for one in pkgutil.walk_packages(steelyard.__path__, "steelyard."):
        if not one.name.endswith("__main__"):
            importlib.import_module(one.name)
    for name in ("scipy.special", "scipy.optimize"):  # imported when they are first named
        importlib.import_module(name)
    refused_calls.numbers()
    assert len(os.listdir("/proc/self/task")) == 1


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))


Run = Callable[..., subprocess.CompletedProcess[str]]
