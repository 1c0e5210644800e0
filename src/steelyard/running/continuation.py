"""Resumes an experiment on this machine after each of its reboots: a systemd unit repeats the command until
the experiment is over.
"""

import json
import os
import re
import shlex
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from steelyard.archive import journal
from steelyard.errors import Rebooting, Stuck, in_words
from steelyard.systems import this_machine
from steelyard.text import of_file

NAME = "steelyard-reboots.service"
GOES_ON = "STEELYARD_GOES_ON"  # in the environment of the command that the unit gives: the experiment's name
_UNITS = Path("/etc/systemd/system")
_STATE = Path("/var/lib/steelyard/reboots.json")
LOG = _STATE.with_name("reboots.log")  # what the unit's commands say; an experiment that is empty is removed
_KEPT = re.compile("PATH|HOME|XDG_(DATA|CACHE)_HOME|TMPDIR|STEELYARD_.*")  # of the environment
_NEVER = ("--new",)  # of the command's words: it would start over after each boot


@dataclass(frozen=True, slots=True)
class Continuation:
    """The command to resume."""

    command: tuple[str, ...]
    directory: str
    experiment: str  # its directory
    process: int  # that measures, in this boot
    began: str  # when that process did, as its kernel says: another with its number did not
    boot: str


def of_this_command(experiment: Path) -> Continuation:
    """The one of the command that this process is."""
    words = [str(Path(sys.argv[0]).absolute()), *(word for word in sys.argv[1:] if word not in _NEVER)]
    return Continuation(
        tuple(words),
        os.getcwd(),
        str(experiment),
        os.getpid(),
        _beginning(os.getpid()),
        this_machine.identity(),
    )


def _beginning(process: int) -> str:
    """The process's start in ticks since the machine's (proc(5)); nothing if there is no such process."""
    try:
        return of_file(Path(f"/proc/{process}/stat")).rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def install(wanted: Continuation) -> None:
    """Has the command given after each boot. Raises Stuck."""
    if shutil.which("systemctl") is None:
        raise Stuck("cannot resume after a reboot: this machine has no systemd")
    try:
        _STATE.parent.mkdir(parents=True, exist_ok=True)
        if not is_asked_for():
            LOG.unlink(missing_ok=True)
        _STATE.write_text(json.dumps(asdict(wanted)), encoding="utf-8")
        (_UNITS / NAME).write_text(unit(wanted), encoding="utf-8")
    except OSError as error:
        remove()
        raise Stuck(
            f"{error.filename} cannot be written: {in_words(error)}; to resume after a reboot by itself, "
            "Steelyard must run as root"
        ) from error
    this_machine.do("systemctl", "daemon-reload")
    this_machine.do("systemctl", "enable", NAME)
    os.sync()


def unit(wanted: Continuation) -> str:
    """The unit's file. It starts when the boot is over, so that nothing else runs beside the measurement."""
    environment = {name: value for name, value in os.environ.items() if _KEPT.fullmatch(name)}
    environment[GOES_ON] = Path(wanted.experiment).name
    lines = [
        "[Unit]",
        "Description=Steelyard resumes an experiment over reboots (steelyard reboots stop ends it)",
        "After=network.target ssh.service",
        "[Service]",
        "Type=idle",
        f"WorkingDirectory={_escaped(wanted.directory)}",
        *(f"Environment={_quoted(f'{name}={value}')}" for name, value in environment.items()),
        f"ExecStart={' '.join(map(_quoted, wanted.command))}",
        f"StandardOutput=append:{LOG}",
        f"StandardError=append:{LOG}",
        "[Install]",
        "WantedBy=multi-user.target",
    ]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def _quoted(word: str) -> str:
    """The word as systemd reads it: in double quotes, with C's escapes (systemd.syntax(7),
    systemd.service(5)).
    """
    return '"' + _escaped(word).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$") + '"'


def standing() -> Continuation | None:
    """The command to resume after the next boot; None if there is none."""
    try:
        members = json.loads(of_file(_STATE))
        return Continuation(**(members | {"command": tuple(members["command"])}))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def stop(found: Continuation) -> bool:
    """Ends it: nothing is gone on with, and the process that measures is asked to end, as by Ctrl-C. Returns
    whether there was one."""
    remove()
    if found.boot != this_machine.identity():
        return False
    with suppress(OSError):  # it has ended
        held = os.pidfd_open(found.process)
        try:
            if is_the_same := found.began != "" and _beginning(found.process) == found.began:
                signal.pidfd_send_signal(held, signal.SIGINT)
        finally:
            os.close(held)
        return is_the_same
    return False


def remove() -> None:
    """Nothing is gone on with after the next boot."""
    file = _UNITS / NAME
    if os.path.exists(file):
        this_machine.do("systemctl", "disable", NAME)
        file.unlink(missing_ok=True)
        this_machine.do("systemctl", "daemon-reload")
    _STATE.unlink(missing_ok=True)


def facts(run: Continuation) -> dict[str, Any]:
    """The progress of the experiment."""
    experiment = Path(run.experiment)
    lines = list(journal.lines(experiment))
    kinds = Counter(line["kind"] for line in lines)
    boots = Counter(line["system"] for line in lines if line["kind"] == "system")
    return {
        "experiment": experiment.name,
        "trials": kinds["trial"],
        "rounds": kinds["look"],
        "boots": ", ".join(f"{many} of {system}" for system, many in boots.items()) or "none",
        "failed": kinds["unbooted"],
        "booting": next((line["system"] for line in reversed(lines) if line["kind"] == "switch"), "nothing"),
        "command": shlex.join(run.command),
        "log": str(LOG),
    }


def is_asked_for() -> bool:
    """True if this process is the unit's command."""
    return GOES_ON in os.environ


@contextmanager
def over_reboots(experiment: Path) -> Iterator[None]:
    """Has this process's command given again after a reboot that comes while the context lasts; when it
    ends otherwise, however that is, nothing is gone on with."""
    try:
        install(of_this_command(experiment))
        yield
    except Rebooting:
        raise
    except BaseException:
        with suppress(Stuck):  # the first error is the one to tell
            remove()
        raise
    remove()
