"""Control groups: where one with a limit can be made, of either version, and what is written into it."""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from steelyard import allowance
from steelyard.errors import Unsupported
from steelyard.quantities import parse_size
from steelyard.study.model import Tuning
from steelyard.text import of_file

_PAGE = os.sysconf("SC_PAGESIZE")
_NUMBERS = count(1)
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """A group that is to be made: its directory, and what its files shall hold."""

    path: Path
    limits: Mapping[str, str]


def of(tuning: Tuning, *, proc: Path = _PROC) -> tuple[ControlGroup, ...]:
    """The groups that hold the tuning's limits: with version 2 one, with version 1 one for each controller.
    Raises Unsupported, and says what is missing."""
    controllers = [*(["memory"] if tuning.memory else []), *(["pids"] if tuning.processes else [])]
    # By chance no other group has the name; if one has, making ours fails. So every process in it is ours.
    name = f"steelyard-{os.getpid()}-{next(_NUMBERS)}-{secrets.token_hex(4)}"
    by_path: dict[Path, dict[str, str]] = {}
    for controller in controllers:
        version, parent = _parent(controller, controllers, proc)
        if not os.access(parent, os.W_OK):
            raise Unsupported(f"cannot create a control group in {parent} (requires root)")
        by_path.setdefault(parent / name, {}).update(_limits(tuning, controller, version))
    return tuple(ControlGroup(path, limits) for path, limits in by_path.items())


def make(group: ControlGroup) -> None:
    """Makes the group. Raises OSError: FileExistsError if there is one of that name."""
    group.path.mkdir()


def limit(group: ControlGroup) -> dict[str, int]:
    """Sets the group's limits; returns them as they read back. Raises Unsupported."""
    limits = {}
    try:
        for name, value in group.limits.items():
            if not os.path.exists(group.path / name):
                raise Unsupported(_missing(name))
            (group.path / name).write_bytes(value.encode())
            limits[name] = int((group.path / name).read_bytes())
            # Memory is limited in whole pages.
            if not 0 <= int(value) - limits[name] < _PAGE:
                raise Unsupported(f"{group.path / name} was set to {value}, and reads {limits[name]}")
    except (OSError, ValueError) as error:
        raise Unsupported(f"cannot limit a control group: {error}") from error
    return limits


def mounts(*, proc: Path = _PROC) -> list[Path]:
    """The directories where hierarchies of control groups are mounted."""
    return [mount for _, mount, _, _ in allowance.hierarchies(proc)]


def processes(group: Path) -> set[int]:
    """The processes in the group and in the groups below it."""
    members = set()
    for directory, _, _ in os.walk(group):
        try:
            numbers = {int(one) for one in (Path(directory) / "cgroup.procs").read_bytes().split()}
            members |= numbers - {0}  # one of another process namespace, which has no number here
        except (OSError, ValueError):  # it is gone; or it says what no control group says
            continue
    return members


def _missing(name: str) -> str:
    if "memsw" in name or "swap" in name:
        return (
            f"this kernel does not count swap: its control groups have no {name} (boot it with swapaccount=1)"
        )
    return f"this kernel's control groups have no {name}"


def _limits(tuning: Tuning, controller: str, version: int) -> dict[str, str]:
    if controller == "pids":
        return {"pids.max": str(tuning.processes)}
    memory = parse_size(tuning.memory)
    swap = parse_size(tuning.swap) if tuning.swap not in ("", "0") else 0
    if version == 2:
        return {"memory.max": str(memory)} | ({"memory.swap.max": str(swap)} if tuning.swap else {})
    # Version 1 limits memory and swap together, and wants the smaller limit first.
    both = {"memory.memsw.limit_in_bytes": str(memory + swap)} if tuning.swap else {}
    return {"memory.limit_in_bytes": str(memory)} | both


def _parent(controller: str, controllers: list[str], proc: Path) -> tuple[int, Path]:
    """Version and directory of the group below which one with that controller can be made: the laboratory's
    own, so that limits upon it hold; with version 2, where a group that holds processes can pass no
    controller on, the nearest above it that does."""
    try:
        own = dict(allowance.own_groups(proc))
        hierarchies = list(allowance.hierarchies(proc))
    except (OSError, ValueError, IndexError) as error:
        raise Unsupported(
            f"a limit needs control groups, and {allowance.LIMITS_FROM} does not tell of them: {error}"
        ) from error
    for version, mount, root, options in hierarchies:
        if version == 1 and controller in options and controller in own:
            return 1, mount / allowance.below(own[controller], root)
        if version == 2 and "" in own and controller in _words(mount / "cgroup.controllers"):
            place = mount / allowance.below(own[""], root)
            while True:
                if set(controllers) <= _words(place / "cgroup.subtree_control"):
                    return 2, place
                if place == mount:
                    break
                place = place.parent
    raise Unsupported(
        f"a limit needs the {controller} controller of control groups, and no control group here "
        "delegates it (see cgroups(7))"
    )


def _words(file: Path) -> set[str]:
    try:
        return set(of_file(file).split())
    except OSError:
        return set()
