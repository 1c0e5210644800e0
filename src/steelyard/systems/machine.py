"""A machine that runs one system at a time: is brought to another by a command, awaited by ssh, and checked.

That the host answers proves nothing: the old system does so for seconds after it was told to go. A boot is
new if its identity is.
"""

import getpass
import os
import shlex
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any

from steelyard.errors import BootFailed, Stuck, UnknownName
from steelyard.study.model import THIS, Machine, SystemDefinition
from steelyard.systems import door, ssh, this_machine
from steelyard.systems.system import Seat, System
from steelyard.text import last_line, quoted, shortened, shown

_PAUSE_S = 0.5
_ANSWER_S = 20.0  # one question by ssh, the connection included
_BUSY_MOST = 0.05  # of a quiet machine's processors
_QUIET_READINGS = 3  # in a row, a second apart
# Scripts of ours, into which nothing is put. A claim is a line that names its owner; it counts for a day. A
# full disk leaves an empty one, which is nobody's. The identity is the kernel's, or where it has none the
# moment of its start.
_CLAIM = """
IFS= read -r mine; f=.cache/steelyard/claim; mkdir -p .cache/steelyard
if test -s $f && test -n "$(find $f -mmin -1440)" && test "$(cat $f)" != "$mine"; then cat $f; exit 9; fi
echo "$mine" > $f; cat /proc/sys/kernel/random/boot_id 2>/dev/null || sysctl -n kern.boottime
"""
_RELEASE = 'IFS= read -r mine; f=.cache/steelyard/claim; if test "$(cat $f)" = "$mine"; then rm $f; fi'
_READINGS = 'while read -r line < /proc/stat; do echo "$line"; sleep 1; done'
_CLAIMED = 9


def seated(definition: SystemDefinition, machine: Machine) -> System:
    """The system on that machine. Raises UnknownName for what no fingerprint has."""
    known = door.KINDS["system"]
    for key, _ in definition.expect:
        if key.partition(".")[0] not in known:
            raise UnknownName("fact", key, known, where=f"system {quoted(definition.name)}: expect: ")
    if machine.host == THIS:
        return this_machine.on(machine, definition.name, definition.name, definition.expect)
    reached = ssh.to_host(definition.name, machine.host.removeprefix("ssh:"))
    return System(
        definition.name,
        f"{definition.name} on {machine.name}, {reached.summary}, a boot for each start",
        reached.command,
        program=definition.program or reached.program,
        boot=True,
        needs=reached.needs,
        prepare=reached.prepare,
        start_limit_s=_ANSWER_S + reached.start_limit_s,
        here=False,
        seat=Seat(machine, definition.name, definition.expect),
    )


def identity(seat: Seat) -> str | None:
    """Which boot the host is in; None while nobody answers. Says there that it is ours, for a day or until
    `release`. Raises Stuck if it is somebody else's, or its key is not the known one."""
    if seat.is_here:
        return this_machine.identity()
    host = seat.host
    try:
        answer = ssh.run(host, _CLAIM, limit_s=_ANSWER_S, input_bytes=_owner())
    except subprocess.TimeoutExpired:
        return None
    said = answer.stdout.decode(errors="replace").strip()
    if answer.returncode == _CLAIMED:
        raise Stuck(
            f"{host} is in use by {shortened(shown(said), 100)}, whose experiment a reboot would end: wait "
            "for it, or remove .cache/steelyard/claim there"
        )
    if b"Host key verification failed" in answer.stderr:
        raise Stuck(
            f"{host} answers with another host key than ssh knows: give all its systems the same host keys, "
            "and give the same command again"
        )
    return said if answer.returncode == 0 and said else None


def await_answer(seat: Seat) -> str | None:
    """Which boot the host is in, once it answers: it may still be coming up. None if it does not for as long
    as a boot may take."""
    begun = time.monotonic()
    while (boot := identity(seat)) is None and time.monotonic() - begun < seat.machine.wait_s:
        time.sleep(_PAUSE_S)
    return boot


def switch(seat: Seat) -> None:
    """Runs the command that brings the machine to the system, from whatever it runs, also from the same.
    Raises BootFailed."""
    words = [word.replace("{system}", seat.name) for word in seat.machine.switch]
    named = quoted(shlex.join(words))
    try:
        # A group of its own, so that what it started ends with it when it is interrupted.
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise Stuck(f"the switch command {named} cannot be run: {error.strerror}") from error
    with process:
        try:
            said, _ = process.communicate(timeout=seat.machine.wait_s)
        except subprocess.TimeoutExpired as error:
            raise BootFailed(
                f"the switch command {named} did not end within {seat.machine.wait_s:g} s; it was ended"
            ) from error
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        words_said = f": {last_line(said)}" if said.strip() else ", and said nothing"
        raise BootFailed(f"the switch command {named} ended with status {process.returncode}{words_said}")


def await_boot(seat: Seat, *, old: Collection[str]) -> str:
    """The identity of the boot that the host comes up with, none of the old ones. Raises BootFailed."""
    begun, answered = time.monotonic(), False
    while time.monotonic() - begun < seat.machine.wait_s:
        boot = identity(seat)
        if boot is not None and boot not in old:
            return boot
        answered = boot is not None
        if seat.is_here:
            break  # this process would not see a boot come
        time.sleep(_PAUSE_S)
    if answered:
        raise BootFailed(
            f"{seat.host} was not booted anew within {seat.machine.wait_s:g} s: the switch command left it in"
            " the boot it was in; does it need more rights?"
        )
    raise BootFailed(
        f"{seat.host} did not answer by ssh within {seat.machine.wait_s:g} s of its boot into {seat.name}: "
        f"look at its console, or allow it more time with wait in [machine.{seat.machine.name}]"
    )


def await_quiet(seat: Seat) -> float | None:
    """Waits until the host has nothing else to do, or for as long as the study says. Returns the share of its
    processors that was busy at the end; None where it does not say."""
    if seat.is_here:
        return _least_busy(this_machine.readings(seat.machine.quiet_s))
    with ssh.stream(seat.host, _READINGS) as lines:
        late = threading.Timer(seat.machine.quiet_s, lines.terminate)
        late.start()
        try:
            return _least_busy(lines)
        finally:
            late.cancel()


def _least_busy(lines: Iterable[bytes]) -> float | None:
    """The last of the readings' shares, or the last of the first few in a row that are quiet."""
    share, quiet = None, 0
    for share in _shares(lines):
        quiet = quiet + 1 if share <= _BUSY_MOST else 0
        if quiet == _QUIET_READINGS:
            break
    return share


def _shares(lines: Iterable[bytes]) -> Iterator[float]:
    """Of each span between two lines `cpu user nice system idle iowait ...`, the share that was not idle."""
    before: list[int] | None = None
    for line in lines:
        name, *words = line.split()
        if name != b"cpu" or len(words) < 5 or not all(word.isdigit() for word in words):
            return
        now = [int(word) for word in words[:8]]
        if before is not None:
            spent = [later - earlier for later, earlier in zip(now, before, strict=True)]
            yield 1 - (spent[3] + spent[4]) / max(1, sum(spent))
        before = now


def check(seat: Seat, fingerprint: Mapping[str, Any]) -> None:
    """Raises BootFailed unless the host is what it was asked to be."""
    for key, pattern in seat.expect:
        value: Any = fingerprint
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if value is None or not fnmatchcase(str(value), pattern):
            answer = "nothing" if value is None else quoted(value)
            raise BootFailed(
                f"{seat.host} came up as another system: its {key} is {answer}, but {seat.name} expects "
                f"{quoted(pattern)}"
            )


def release(seat: Seat) -> None:
    """Takes our claim away, if the host answers."""
    if seat.is_here:
        return
    with suppress(subprocess.TimeoutExpired):
        ssh.run(seat.host, _RELEASE, limit_s=_ANSWER_S, input_bytes=_owner())


def _owner() -> bytes:
    return f"{getpass.getuser()} at {socket.gethostname()}\n".encode()
