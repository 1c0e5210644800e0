"""Checks an agent's records: a line becomes a record, or is refused with a sentence.

The processes in a system are not trusted. So each kind of record is a type, checked by `shapes`: a type here,
or the type of the event that keeps it (`events`). records.md says the same for people. Relations between the
records of a trial are checked where the trial is led (running/records.py).
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

from steelyard import shapes
from steelyard.allowance import PROCESSORS_MOST
from steelyard.errors import SystemFailed
from steelyard.events import (
    BATCHES_MOST,
    COPIES_MOST,
    MEMBERS_MOST,
    Copy,
    CopyProcess,
    Count,
    Duration,
    Each,
    Group,
    Histogram,
    Load,
    Positive,
    Program,
    Samples,
    Signal,
    Usage,
)
from steelyard.shapes import Check, Digest, Length, Member, Name, OneOf, Range, Told, Wrong
from steelyard.shapes import Record as Record
from steelyard.text import quoted

PROTOCOL = 1
TURN_BATCHES_MOST = 16
LINE_MOST = 16 << 20  # bytes: a group of 20,000 processes that all failed takes 12 MB
SAID_MOST = 128 << 20  # bytes from a request to its answer's end; a line of a journal may have 256 MB
ADDED = ("tuning", "file_system_made")  # to a system's record, by the laboratory
PRINTED_PARTS_MOST = 32
_SECOND_NS = 1_000_000_000  # no clock is as coarse, nor takes as long to be read
_STATUSES = ("ok", "failed", "unsupported", "timed out", "killed", "stopped")

# How a request fails, and what a load generator lacks for one: an error's name.
_LOAD_FAILURES = (
    "connect", "timeout", "closed", "malformed", "redirect", "status 4xx", "status 5xx", "status", "length",
    "body",
)  # fmt: skip
_LOAD_LIMITS = (
    "EMFILE", "ENFILE", "EADDRNOTAVAIL", "EADDRINUSE", "EAGAIN", "ENOBUFS", "ENOMEM", "ENOSPC", "EPERM",
    "EACCES", "ENETUNREACH", "ENETDOWN", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ENOSYS",
)  # fmt: skip

# How a step of a search for the highest rate ends: held, or what gave way.
_LOAD_STEPS = ("held", "failures", "latency", "unsent", "lacked", "busy", "late")

_Processors = Annotated[int, Range(1, PROCESSORS_MOST)]


class RefusedRequest(SystemFailed):
    """A record that cannot be right; what comes after it can still be read."""


def cannot_be(kind: str, key: str, value: object, allowed: str) -> RefusedRequest:
    """The refusal of a record for one of its values."""
    return RefusedRequest(
        f"its record '{kind}' cannot be right: {key} is {quoted(value)}, but must be {allowed}"
    )


@dataclass(frozen=True, slots=True)
class _Hello:
    protocol: Annotated[int, OneOf((PROTOCOL,))]
    version: str
    program_sha256: Digest | None
    compiler: str
    libc: str
    clock: str
    clock_resolution_ns: Annotated[int, Range(1, _SECOND_NS)]
    clock_cost_ns: Annotated[int, Range(0, _SECOND_NS)]


@dataclass(frozen=True, slots=True)
class _System:
    kernel: str | None
    kernel_release: str | None
    kernel_version: str | None
    architecture: str | None
    host_name: str | None
    kernel_command_line: str | None
    boot_id: str | None
    libc: str | None
    compiler: str | None
    cpu_model: str | None
    cpu_count: _Processors | None
    cpu_online: _Processors | None
    microcode: str | None
    frequency_governor: str | None
    memory_bytes: int | None
    swap_bytes: int | None
    page_bytes: int | None
    huge_pages: str | None
    huge_pages_reserved: str | None
    caches: dict[str, int | None] | None
    cache_line_bytes: int | None
    clock: str | None
    clock_source: str | None
    clock_resolution_ns: int | None
    clock_cost_ns: int | None
    address_randomisation: str | None
    mitigations: dict[str, str | None] | None
    hypervisor: str | None
    machine_product: str | None
    firmware: str | None
    firmware_date: str | None
    pci_devices: int | None
    directory: str | None
    file_system: str | None
    file_system_options: str | None
    device: str | None
    device_scheduler: str | None
    device_write_cache: str | None


@dataclass(frozen=True, slots=True)
class _Begin:
    trial: Name
    workload: Name
    code_sha256: Digest | None
    parameters: dict[str, int | str]
    clock_ns: int


@dataclass(frozen=True, slots=True)
class _OfUnit:
    """The fields of the records of a copy's samples and counts besides the kept ones."""

    unit: Name
    code_sha256: Digest | None


@dataclass(frozen=True, slots=True)
class _Failure:
    member: Annotated[int, Range(0, MEMBERS_MOST - 1)]
    status: Annotated[str, OneOf(("failed", "killed", "not created"))]
    signal: Signal
    reason: str | None


@dataclass(frozen=True, slots=True)
class _OfGroup:
    """The field of a group's record instead of a column for each process."""

    code_sha256: Digest
    failures: Annotated[list[_Failure], Length(MEMBERS_MOST)]


def _counts_of(kinds: tuple[str, ...]) -> Check:
    """A number for each kind that occurred."""
    number = shapes.checker(Positive, told=True)

    def counted(kind: str, count: object) -> int:
        try:
            checked_count: int = number(count)
        except Wrong as wrong:
            raise wrong.at(kind) from None
        return checked_count

    def check(value: object) -> dict[str, int]:
        if not isinstance(value, dict) or value.keys() - set(kinds):
            raise Wrong(value, f"an object with a number for any of {', '.join(kinds)}")
        return {kind: counted(kind, count) for kind, count in value.items()}

    return check


@dataclass(frozen=True, slots=True)
class _OfLoad:
    """The fields of a load's record whose numbers stand by their kind."""

    failures: Annotated[dict[str, int], Told(_counts_of(_LOAD_FAILURES))]
    own_limits: Annotated[dict[str, int], Told(_counts_of(_LOAD_LIMITS))]
    steps: Annotated[dict[str, int] | None, Told(_counts_of(_LOAD_STEPS))]


@dataclass(frozen=True, slots=True)
class _OfCopy:
    copy: Copy


@dataclass(frozen=True, slots=True)
class _SharedFields:
    copy: Copy
    server: Name
    why: str


@dataclass(frozen=True, slots=True)
class _Printed:
    """A part of what a command of the user's printed."""

    copy: Copy
    part: Annotated[int, Range(0, PRINTED_PARTS_MOST - 1)]
    text: shapes.Printed


@dataclass(frozen=True, slots=True)
class _Waiting:
    trial: Name
    batches: Annotated[int, Range(1, BATCHES_MOST)]


@dataclass(frozen=True, slots=True)
class _Turn:
    trial: Name
    durations_ns: Annotated[tuple[Duration, ...], Each("duration_ns"), Told(Length(TURN_BATCHES_MOST, 1))]


@dataclass(frozen=True, slots=True)
class _Processes:
    trial: Name
    processes: Annotated[list[CopyProcess], Length(COPIES_MOST)]


@dataclass(frozen=True, slots=True)
class _End:
    trial: Name
    status: Annotated[str, OneOf(_STATUSES)]
    reason: str | None
    signal: Signal
    clock_ns: int


@dataclass(frozen=True, slots=True)
class _Clock:
    clock_ns: int


@dataclass(frozen=True, slots=True)
class _Far:
    address: Name
    port: Annotated[int, Range(1, 65535)]


@dataclass(frozen=True, slots=True)
class _Carried:
    name: Name
    size: Annotated[int, Range(0, 1 << 40)]
    sha256: Digest


@dataclass(frozen=True, slots=True)
class _Error:
    trial: Name | None
    reason: str


_TYPES: Mapping[str, tuple[type, ...]] = {
    "hello": (_Hello,),
    "system": (_System,),
    "begin": (_Begin,),
    "waiting": (_Waiting,),
    "turn": (_Turn,),
    "samples": (Samples, _OfUnit),
    "value": (Count, _OfUnit),
    "group": (Group, _OfGroup),
    "program": (_OfCopy, Program),
    "shared": (_SharedFields,),
    "histogram": (Histogram,),
    "load": (Load, _OfLoad),
    "printed": (_Printed,),
    "usage": (Usage,),
    "processes": (_Processes,),
    "end": (_End,),
    "clock": (_Clock,),
    "far": (_Far,),
    "carried": (_Carried,),
    "error": (_Error,),
}
_OURS = ("statuses", "signals", "reasons")  # of a group: made of its failures


def _members(kind: str) -> dict[str, Member]:
    """The keys of a record of that kind; where two types have one, the later says what it may be."""
    known = {one.name: one for type_ in _TYPES[kind] for one in shapes.members(type_)}
    return {name: one for name, one in known.items() if kind != "group" or name not in _OURS}


KINDS: Mapping[str, Mapping[str, Member]] = {kind: _members(kind) for kind in _TYPES}
_CHECKS: Mapping[str, Check] = {
    kind: shapes.object_with(known.values(), told=True) for kind, known in KINDS.items()
}


def read(line: bytes) -> Record | None:
    """The record in the line. None for a line that is none (a kernel's message), or one of a kind that a
    later version may add. Raises Refused."""
    if not line.startswith(b'{"record":'):
        return None
    try:
        record = shapes.read(line)
    except ValueError as error:
        said = quoted(line.decode(errors="replace"))
        raise RefusedRequest(f"its record cannot be read ({error}): {said}") from None
    kind = record["record"]
    if type(kind) is str:
        return checked(kind, record) if kind in KINDS else None
    raise RefusedRequest(f"its record is of no kind: record is {quoted(kind)}, but must be a name")


def checked(kind: str, record: Mapping[str, Any]) -> Record:
    """The record of that kind with the keys that are known. Raises Refused."""
    try:
        return {"record": kind, **_CHECKS[kind](record)}
    except Wrong as wrong:
        raise cannot_be(kind, wrong.where, wrong.value, wrong.allowed) from None


def known_part(kind: str, record: object) -> Record:
    """The valid part of a record that was kept before records were checked."""
    known = {}
    for key, member in KINDS[kind].items():
        with suppress(Wrong):
            if isinstance(record, dict) and key in record:
                known[key] = shapes.checker(member.kind, told=True)(record[key])
    return known
