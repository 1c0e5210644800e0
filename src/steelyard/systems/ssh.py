"""Another host with a shell: the load program is copied there, checked, and started by ssh.

The host is named as the ssh command knows it: an alias of ~/.ssh/config, user@host, or
ssh://user@host:port. Nothing is asked: keys must be in order. STEELYARD_SSH_CONFIG names a file to read in
place of ~/.ssh/config.
"""

import hashlib
import os
import subprocess
from functools import partial

from steelyard.errors import Unsupported, UsageError
from steelyard.systems.system import Place, System

_COPY_LIMIT_S = 120


def _ssh_command() -> list[str]:
    config = os.environ.get("STEELYARD_SSH_CONFIG")
    return ["ssh", *(["-F", config] if config else []), "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]


def _remote_path(digest: str) -> str:
    return f".cache/steelyard/{digest}/steelyard-load"


def _digest(place: Place) -> str:
    return hashlib.sha256(place.program.read_bytes()).hexdigest()


def _ssh(host: str, script: str, *, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Runs a script of ours on the host. Nothing but a digest of ours is ever put into it."""
    try:
        return subprocess.run(
            [*_ssh_command(), "--", host, script],
            input=given,
            capture_output=True,
            timeout=_COPY_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Unsupported(f"system 'ssh:{host}' cannot start: no answer in {_COPY_LIMIT_S} s") from error


def _last_line(text: bytes) -> str:
    lines = text.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "no reason given"


def _prepare(host: str, place: Place) -> None:
    """Copies the program unless it is there already; its checksum is taken on the host."""
    digest = _digest(place)
    path = _remote_path(digest)
    check = f'test "$(sha256sum < {path} | cut -c1-64)" = {digest} && test -x {path}'
    answer = _ssh(host, f"{check} 2>/dev/null && echo present || echo absent")
    if answer.returncode:
        raise Unsupported(f"system 'ssh:{host}' cannot start: {_last_line(answer.stderr)}")
    if answer.stdout.strip() == b"present":
        return
    # Written under another name first: a copy that was cut short is never started.
    folder = path.rpartition("/")[0]
    copy = f"mkdir -p {folder} && cat > {path}.new && chmod 755 {path}.new && mv {path}.new {path}"
    answer = _ssh(host, f"{copy} && {check}", given=place.program.read_bytes())
    if answer.returncode:
        reason = _last_line(answer.stderr) if answer.stderr.strip() else "its checksum there differs"
        raise Unsupported(f"system 'ssh:{host}' cannot start: copying the load program failed: {reason}")


def _command(host: str, place: Place) -> list[str]:
    # The agent makes and removes its own directories in the remote temporary directory.
    return [*_ssh_command(), "-T", "--", host, f"exec {_remote_path(_digest(place))} agent"]


def _no_host(place: Place) -> list[str]:
    raise UsageError("system 'ssh' needs a host: write ssh:HOST")


def to_host(name: str, host: str) -> System:
    """The system that is that host. Raises UsageError for a host that ssh would take for an option."""
    if host.startswith("-") or any(character.isspace() for character in host):
        raise UsageError(f"system '{name}': '{host}' is not a host's name")
    return System(
        name,
        f"the host {host}, by ssh",
        partial(_command, host),
        needs=(("ssh", "openssh-client"),),
        prepare=partial(_prepare, host),
        here=False,
    )


SSH = System("ssh", "another host with a shell; write ssh:HOST", _no_host, here=False)
