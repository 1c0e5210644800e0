"""Another host with a shell: the load program is copied there, checked, and started by ssh.

The shell may be a Unix one, or Windows' own, cmd.exe or PowerShell; then the program for Windows is copied,
by sftp, and says its own checksum. No Windows host was at hand: that way was tested with a shell that answers
as cmd.exe does and runs the program by Wine.

The host is named as the ssh command knows it: an alias of ~/.ssh/config, user@host, or
ssh://user@host:port. Nothing is asked: keys must be in order. STEELYARD_SSH_CONFIG names a file to read in
place of ~/.ssh/config.
"""

import hashlib
import json
import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from functools import partial
from pathlib import Path

from steelyard import commands
from steelyard.errors import Unsupported, UsageError
from steelyard.last_words import last_line
from steelyard.programs import built
from steelyard.systems.system import EVERY_PEER, Place, System
from steelyard.text import of_file, quoted

_COPY_LIMIT_S = 120


# A Unix shell makes of it "%OS% :OS", cmd.exe "Windows_NT $env:OS", PowerShell "%OS% Windows_NT".
_WHICH_SHELL = "echo %OS% $env:OS"


class _Shell(Enum):
    """The shell of the other host."""

    UNIX = "a Unix shell"
    CMD = "cmd.exe"
    POWERSHELL = "PowerShell"


def _options() -> list[str]:
    config = os.environ.get("STEELYARD_SSH_CONFIG")
    return [*(["-F", config] if config else []), "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]


def _ssh_command() -> list[str]:
    return ["ssh", *_options()]


def _remote_path(digest: str) -> str:
    return f".cache/steelyard/{digest}/steelyard-load"


def _digest(place: Place) -> str:
    return hashlib.sha256(place.program.read_bytes()).hexdigest()


def run(
    host: str, script: str, *, limit_s: float, input_bytes: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Runs a script of ours on the host. Nothing but a digest of ours is ever put into it. Raises
    TimeoutExpired."""
    words = [*_ssh_command(), "--", host, script]
    return commands.run(words, limit_s=limit_s, input_bytes=input_bytes)


class ForwardedLines:
    """The output of a script on the host, line by line, until it ends or is terminated."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def __iter__(self) -> Iterator[bytes]:
        assert self._process.stdout is not None
        yield from self._process.stdout

    def terminate(self) -> None:
        self._process.terminate()


@contextmanager
def stream(host: str, script: str) -> Iterator[ForwardedLines]:
    """Runs a script of ours on the host for as long as the context lasts."""
    words = [*_ssh_command(), "--", host, script]
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield ForwardedLines(process)
        finally:
            process.terminate()


def _ssh(host: str, script: str, *, input_bytes: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The same, with as much time as copying the load program may take. Raises Unsupported."""
    try:
        return run(host, script, limit_s=_COPY_LIMIT_S, input_bytes=input_bytes)
    except subprocess.TimeoutExpired as error:
        raise Unsupported(f"system 'ssh:{host}' cannot start: no answer in {_COPY_LIMIT_S} s") from error


def laboratory_as_seen_from(host: str) -> str:
    """The address by which the host knows this machine, of what ssh has connected. Raises Unsupported."""
    answer = _ssh(host, "echo $SSH_CONNECTION")
    words = answer.stdout.decode(errors="replace").split()
    if answer.returncode or len(words) != 4:
        raise Unsupported(f"the host {quoted(host)} does not report the address of this machine that it sees")
    return words[0]


def _shell_of(host: str) -> _Shell:
    answer = _ssh(host, _WHICH_SHELL)
    if answer.returncode:
        raise Unsupported(f"system 'ssh:{host}' cannot start: {last_line(answer.stderr)}")
    if b"Windows_NT" not in answer.stdout:
        return _Shell.UNIX
    return _Shell.POWERSHELL if b"%OS%" in answer.stdout else _Shell.CMD


def _note(place: Place) -> Path:
    """The file in which _prepare leaves what it found, for _command."""
    return place.scratch / "shell"


def _prepare(host: str, place: Place) -> None:
    shell = _shell_of(host)
    _note(place).write_bytes(shell.value.encode())
    if shell is _Shell.UNIX:
        _prepare_unix(host, place)
    else:
        _prepare_windows(host, shell, replace(place, program=built.load("windows")))


def _windows_words(shell: _Shell, digest: str, verb: str) -> str:
    """The command line that runs the program on Windows, from the user's own directory, where sshd starts."""
    path = _remote_path(digest).replace("/", "\\") + ".exe"
    return f'& ".\\{path}" {verb}' if shell is _Shell.POWERSHELL else f'"{path}" {verb}'


def _runs_there(host: str, shell: _Shell, digest: str) -> bool:
    """True if that very program is there and starts: it reports its own file's checksum."""
    answer = _ssh(host, _windows_words(shell, digest, "--version"))
    try:
        return bool(json.loads(answer.stdout)["program_sha256"] == digest)
    except (ValueError, KeyError, TypeError):
        return False


def _copy_of(path: str) -> str:
    """A name beside it that no other laboratory gives."""
    return f"{path}.{secrets.token_hex(4)}"


def _prepare_windows(host: str, shell: _Shell, place: Place) -> None:
    """Copies the program by sftp unless it is there already: Windows' shells take none from a stream."""
    digest = _digest(place)
    if _runs_there(host, shell, digest):
        return
    path = f"{_remote_path(digest)}.exe"
    folders = path.split("/")[:-1]
    program = str(place.program).replace("\\", "\\\\").replace('"', '\\"')
    copy = _copy_of(path)
    batch = [
        # A folder that is there already is no error, hence the hyphen.
        *(f"-mkdir {'/'.join(folders[: depth + 1])}" for depth in range(len(folders))),
        f'put "{program}" {copy}',
        f"-rm {path}",
        f"rename {copy} {path}",
    ]
    answer = _sftp(host, "\n".join(batch) + "\n")
    if answer.returncode:
        _sftp(host, f"-rm {copy}\n")
        reason = last_line(answer.stderr)
        raise Unsupported(f"system 'ssh:{host}' cannot start: copying the load program failed: {reason}")
    if not _runs_there(host, shell, digest):
        raise Unsupported(
            f"system 'ssh:{host}' cannot start: the load program was copied to {path}, and does not run "
            f"there, or its checksum there differs ({shell.value})"
        )


def _sftp(host: str, batch: str) -> subprocess.CompletedProcess[bytes]:
    """Carries out those commands of sftp, up to the first that fails."""
    place = "sftp" + host.removeprefix("ssh") if host.startswith("ssh://") else host
    try:
        words = ["sftp", *_options(), "-b", "-", "--", place]
        return commands.run(words, limit_s=_COPY_LIMIT_S, input_bytes=os.fsencode(batch))
    except subprocess.TimeoutExpired as error:
        raise Unsupported(f"system 'ssh:{host}' cannot start: no answer in {_COPY_LIMIT_S} s") from error


def _prepare_unix(host: str, place: Place) -> None:
    """Copies the program unless it is there already; its checksum is taken on the host."""
    digest = _digest(place)
    path = _remote_path(digest)
    check = f'test "$(sha256sum < {path} | cut -c1-64)" = {digest} && test -x {path}'
    answer = _ssh(host, f"{check} 2>/dev/null && echo present || echo absent")
    if answer.returncode:
        raise Unsupported(f"system 'ssh:{host}' cannot start: {last_line(answer.stderr)}")
    if answer.stdout.strip() == b"present":
        return
    # Written under a unique name first: a copy that was cut short is never started, and another
    # laboratory may be copying the same.
    folder, copy = path.rpartition("/")[0], _copy_of(path)
    script = (
        f"trap 'rm -f {copy}' EXIT; trap 'exit 1' HUP INT TERM; mkdir -p {folder} && cat > {copy} && "
        f"chmod 755 {copy} && {check.replace(path, copy)} && mv {copy} {path}"
    )
    answer = _ssh(host, script, input_bytes=place.program.read_bytes())
    if answer.returncode:
        reason = last_line(answer.stderr) if answer.stderr.strip() else "its checksum there differs"
        raise Unsupported(f"system 'ssh:{host}' cannot start: copying the load program failed: {reason}")


def _command(host: str, place: Place) -> list[str]:
    # The agent makes and removes its own directories in the remote temporary directory.
    shell = _Shell(of_file(_note(place)))
    if shell is _Shell.UNIX:
        words = f"exec {_remote_path(_digest(place))} agent"
    else:
        words = _windows_words(shell, _digest(replace(place, program=built.load("windows"))), "agent")
    return [*_ssh_command(), "-T", "--", host, words]


def _no_host(place: Place) -> list[str]:
    raise UsageError("system 'ssh' needs a host: write ssh:HOST")


def to_host(name: str, host: str) -> System:
    """The system that is that host. Raises UsageError for a host that ssh would take for an option."""
    if host.startswith("-") or any(character.isspace() for character in host):
        raise UsageError(f"system {quoted(name)}: {quoted(host)} is not a host name")
    return System(
        name,
        f"the host {host}, by ssh",
        partial(_command, host),
        needs=(("ssh", "openssh-client"), ("sftp", "openssh-client")),
        prepare=partial(_prepare, host),
        here=False,
        start_s=1.0,
        host=host,
        peers=EVERY_PEER,
    )


SSH = System("ssh", "another host with a shell; write ssh:HOST", _no_host, here=False)
