"""A machine that runs one system at a time: a command switches it to another, ssh waits for it, and it is
checked.

An answer of the host proves nothing: the old system answers for seconds after the command. A boot is new if
its identity is.
"""

import shlex
import socket
import subprocess
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any

from steelyard import commands, home, standstill
from steelyard.errors import BootFailed, Stuck, UnknownName, in_words
from steelyard.last_words import last_line
from steelyard.study.model import THIS, Machine, SystemDefinition
from steelyard.systems import protocol, ssh, this_machine
from steelyard.systems.system import BootEntry, System
from steelyard.text import quoted, shortened, shown

BOOT_S = 60.0  # what a boot of a machine is thought to take before there was one
_PAUSE_S = 0.5
_ANSWER_S = 20.0  # one question by ssh, the connection included
_BUSY_MOST = 0.05  # of a quiet machine's processors
_QUIET_READINGS = 3  # in a row, a second apart
# Scripts of ours, into which nothing is put. A claim is a line that names its owner; it counts for a day. A
# full disk leaves an empty one, which belongs to no laboratory. The identity is the kernel's, or where it
# has none the
# moment of its start.
_CLAIM = """
IFS= read -r mine; f=.cache/steelyard/claim; mkdir -p .cache/steelyard
if test -s $f && test -n "$(find $f -mmin -1440)" && test "$(cat $f)" != "$mine"; then cat $f; exit 9; fi
echo "$mine" > $f; cat /proc/sys/kernel/random/boot_id 2>/dev/null || sysctl -n kern.boottime
"""
_RELEASE = 'IFS= read -r mine; f=.cache/steelyard/claim; if test "$(cat $f)" = "$mine"; then rm $f; fi'
_READINGS = 'while read -r line < /proc/stat; do echo "$line"; sleep 1; done'
_CLAIMED = 9


def bootable(definition: SystemDefinition, machine: Machine) -> System:
    """The system on that machine. Raises UnknownName for what no fingerprint has."""
    known = protocol.KINDS["system"]
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
        start_s=BOOT_S,
        here=False,
        boot_entry=BootEntry(machine, definition.name, definition.expect),
    )


def identity(entry: BootEntry) -> str | None:
    """The current boot of the host; None while it does not answer. Claims the host for a day or until
    `release`. Raises Stuck if another laboratory has it, or its key is not the known one.
    """
    if entry.is_here:
        return this_machine.identity()
    host = entry.host
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
            f"{host} answers with a host key that ssh does not know: give all its systems the same host "
            "keys, "
            "and run the same command again"
        )
    return said if answer.returncode == 0 and said else None


def await_answer(entry: BootEntry) -> str | None:
    """The current boot of the host, once it answers: it may still be booting. None if it does not answer
    within the time of a boot.
    """
    begun = standstill.clock()
    while (boot := identity(entry)) is None and standstill.clock() - begun < entry.machine.wait_s:
        standstill.sleep(_PAUSE_S)
    return boot


def switch(entry: BootEntry) -> None:
    """Runs the command that brings the machine to the system, from whatever it runs, also from the same.
    Raises BootFailed."""
    words = [word.replace("{system}", entry.name) for word in entry.machine.switch]
    named = quoted(shlex.join(words))
    try:
        # Its own group, so that its children end with it when it is interrupted.
        answer = commands.run(words, limit_s=entry.machine.wait_s, is_group=True)
    except OSError as error:
        raise Stuck(f"the switch command {named} cannot be run: {in_words(error)}") from error
    except subprocess.TimeoutExpired as error:
        raise BootFailed(
            f"the switch command {named} did not end within {entry.machine.wait_s:g} s; it was ended",
            said=error.output or b"",
        ) from error
    said = answer.stdout
    if answer.returncode:
        words_said = f": {last_line(said)}" if said.strip() else ", without output"
        raise BootFailed(
            f"the switch command {named} ended with status {answer.returncode}{words_said}", said=said
        )


def await_boot(entry: BootEntry, *, old: Collection[str]) -> str:
    """The identity of the boot that the host comes up with, none of the old ones. Raises BootFailed."""
    begun, answered = standstill.clock(), False
    while standstill.clock() - begun < entry.machine.wait_s:
        boot = identity(entry)
        if boot is not None and boot not in old:
            return boot
        answered = boot is not None
        if entry.is_here:
            break  # this process would not see a boot come
        standstill.sleep(_PAUSE_S)
    if answered:
        raise BootFailed(
            f"{entry.host} was not rebooted within {entry.machine.wait_s:g} s: after the switch command it "
            "is "
            "still in the same boot; does the command need more rights?"
        )
    raise BootFailed(
        f"{entry.host} did not answer by ssh within {entry.machine.wait_s:g} s of its boot into "
        f"{entry.name}: look at its console, or allow it more time with wait in "
        f"[machine.{entry.machine.name}]"
    )


def await_quiet(entry: BootEntry) -> float | None:
    """Wait until the host is idle, up to the study's limit. Returns the busy share of its processors at the
    end; None if it does not report it.
    """
    if entry.is_here:
        return _least_busy(this_machine.readings(entry.machine.quiet_s))
    with ssh.stream(entry.host, _READINGS) as lines:
        late = threading.Timer(entry.machine.quiet_s, lines.terminate)
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
    """The busy share of each interval between two lines `cpu user nice system idle iowait ...`."""
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


def check(entry: BootEntry, fingerprint: Mapping[str, Any]) -> None:
    """Raises BootFailed unless the host is what it was asked to be."""
    for key, pattern in entry.expect:
        value: Any = fingerprint
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if value is None or not fnmatchcase(str(value), pattern):
            answer = "nothing" if value is None else quoted(value)
            raise BootFailed(
                f"{entry.host} came up as another system: its {key} is {answer}, but {entry.name} expects "
                f"{quoted(pattern)}"
            )


def release(entry: BootEntry) -> None:
    """Takes our claim away, if the host answers."""
    if entry.is_here:
        return
    with suppress(subprocess.TimeoutExpired):
        ssh.run(entry.host, _RELEASE, limit_s=_ANSWER_S, input_bytes=_owner())


def _owner() -> bytes:
    return f"{home.user()} at {socket.gethostname()}\n".encode()
