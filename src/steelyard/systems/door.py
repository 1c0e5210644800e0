"""The door: a line that a system said becomes a record, or is refused with a sentence.

What runs in a system is not trusted. So each kind of record is described here, once: its keys, and of each
what it may be. docs/records.md says the same for people. What a whole trial promised is checked where the
trial is led (running/records.py).
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from steelyard.errors import SystemFailed
from steelyard.text import quoted, shortened, shown

Record = dict[str, Any]
Shape = Callable[[Any], Any]  # the value as it is kept; raises _Wrong

PROTOCOL = 1
LINE_MOST = 16 << 20  # bytes: a group of 20,000 processes that all failed takes 12 MB
SAID_MOST = 128 << 20  # bytes from a request to its answer's end; a line of a journal may have 256 MB
WHOLE_MOST = (1 << 63) - 1  # what a column of the archive holds
REASON_MOST = 2000  # characters that are kept of a reason, or of a fact
ADDED = ("tuning", "file_system_made")  # to a system's record, by the laboratory
_DIGITS_MOST = 40
_NESTED_MOST = 8  # brackets in one another; no record has more than four
# As the load program has them.
_COPIES_MOST, _BATCHES_MOST, _MEMBERS_MOST, _MARKS, _BUCKETS_MOST = 1024, 10000, 20000, 16, 1728


class Refused(SystemFailed):
    """A record that cannot be right; what comes after it can still be read."""


class _Missing:
    def __repr__(self) -> str:
        return "missing"


class _Wrong(Exception):
    """A value that is none of what is allowed, and where it was found."""

    def __init__(self, value: object, allowed: str) -> None:
        self.where, self.value, self.allowed = "", value, allowed

    def at(self, place: str | int) -> "_Wrong":
        name = f"[{place}]" if isinstance(place, int) else shortened(shown(place), 60)
        joint = "." if self.where and not self.where.startswith("[") else ""
        self.where = f"{name}{joint}{self.where}"
        return self


def cannot_be(kind: str, key: str, value: object, allowed: str) -> Refused:
    """The refusal of a record for one of its values."""
    return Refused(f"its record '{kind}' cannot be right: {key} is {quoted(value)}, but must be {allowed}")


def whole(least: int = 0, most: int = WHOLE_MOST) -> Shape:
    allowed = f"a whole number from {least} to {most}"

    def take(value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise _Wrong(value, allowed)
        return value

    return take


def text(most: int = 200) -> Shape:
    """A name: shown as it is, and held against others."""

    def take(value: Any) -> str:
        if type(value) is not str or len(value) > most or not value.isprintable():
            raise _Wrong(value, f"a text of at most {most} printable characters")
        return value

    return take


def prose(value: Any) -> str:
    """What is for people only: kept escaped and shortened, so that no terminal obeys it."""
    if type(value) is not str:
        raise _Wrong(value, "a text")
    return shortened(shown(shortened(_of_bytes(value), REASON_MOST)), REASON_MOST)


def _of_bytes(value: str) -> str:
    """The agent writes each byte as a character. Where these are UTF-8 they are read so; a last character
    that was cut short is written out, and what is no UTF-8 stays as it is."""
    if value.isascii():
        return value
    try:
        octets = value.encode("latin-1")
        return octets.decode(errors="strict")
    except UnicodeEncodeError:
        return value
    except UnicodeDecodeError as error:
        is_cut = error.reason == "unexpected end of data"
        return octets.decode(errors="backslashreplace") if is_cut else value


def digest(value: Any) -> str:
    if type(value) is not str or not re.fullmatch("[0-9a-f]{64}", value):
        raise _Wrong(value, "64 hexadecimal digits")
    return value


def one_of(*words: str | int) -> Shape:
    def take(value: Any) -> str | int:
        if type(value) not in (str, int) or value not in words:
            raise _Wrong(value, f"one of {', '.join(map(str, words))}" if len(words) > 1 else str(words[0]))
        word: str | int = value
        return word

    return take


def maybe(shape: Shape) -> Shape:
    """The same, or null where it is not known; what is null may be left out."""

    def take(value: Any) -> Any:
        return None if value is None or isinstance(value, _Missing) else shape(value)

    return take


def listed(shape: Shape, *, most: int, least: int = 0) -> Shape:
    def take(value: Any) -> list[Any]:
        if type(value) is not list or not least <= len(value) <= most:
            raise _Wrong(value, f"a list of {least} to {most}" if least < most else f"a list of {most}")
        items = []
        for number, one in enumerate(value):
            try:
                items.append(shape(one))
            except _Wrong as wrong:
                raise wrong.at(number) from None
        return items

    return take


def keyed(shapes: Mapping[str, Shape]) -> Shape:
    """An object with these keys. Others, which a later version may add, are left out."""

    def take(value: Any) -> Record:
        if type(value) is not dict:
            raise _Wrong(value, "an object")
        members = {}
        for key, shape in shapes.items():
            try:
                members[key] = shape(value.get(key, _MISSING))
            except _Wrong as wrong:
                raise wrong.at(key) from None
        return members

    return take


def any_names(shape: Shape, *, most: int = 200) -> Shape:
    """An object with any names for keys."""

    def take(value: Any) -> Record:
        if type(value) is not dict or len(value) > most:
            raise _Wrong(value, f"an object of at most {most} keys")
        members = {}
        for key, one in value.items():
            try:
                members[_NAME(key)] = shape(one)
            except _Wrong as wrong:
                raise wrong.at(key) from None
        return members

    return take


def either(first: Shape, second: Shape) -> Shape:
    def take(value: Any) -> Any:
        try:
            return first(value)
        except _Wrong:
            return second(value)

    return take


_MISSING = _Missing()
_NAME = text()
_COPY = whole(0, _COPIES_MOST - 1)
_SIGNAL = maybe(whole(1, 255))
_TIMES = listed(maybe(whole()), most=_MEMBERS_MOST)
_STATUSES = ("ok", "failed", "unsupported", "timed out", "killed", "stopped")
_FACT, _NUMBER = maybe(prose), maybe(whole())

KINDS: Mapping[str, Mapping[str, Shape]] = {
    "hello": {
        "protocol": one_of(PROTOCOL),
        "version": prose,
        "program_sha256": maybe(digest),
        "compiler": prose,
        "libc": prose,
        "clock": prose,
        "clock_resolution_ns": whole(1),
        "clock_cost_ns": whole(),
    },
    "system": {
        "kernel": _FACT,
        "kernel_release": _FACT,
        "kernel_version": _FACT,
        "architecture": _FACT,
        "host_name": _FACT,
        "kernel_command_line": _FACT,
        "boot_id": _FACT,
        "libc": _FACT,
        "compiler": _FACT,
        "cpu_model": _FACT,
        "cpu_count": maybe(whole(1)),
        "microcode": _FACT,
        "frequency_governor": _FACT,
        "memory_bytes": _NUMBER,
        "swap_bytes": _NUMBER,
        "page_bytes": _NUMBER,
        "huge_pages": _FACT,
        "huge_pages_reserved": _FACT,
        "caches": maybe(any_names(_NUMBER)),
        "cache_line_bytes": _NUMBER,
        "clock": _FACT,
        "clock_source": _FACT,
        "clock_resolution_ns": _NUMBER,
        "clock_cost_ns": _NUMBER,
        "address_randomisation": _FACT,
        "mitigations": maybe(any_names(_FACT)),
        "hypervisor": _FACT,
        "machine_product": _FACT,
        "firmware": _FACT,
        "firmware_date": _FACT,
        "pci_devices": _NUMBER,
        "directory": _FACT,
        "file_system": _FACT,
        "file_system_options": _FACT,
        "device": _FACT,
        "device_scheduler": _FACT,
        "device_write_cache": _FACT,
    },
    "begin": {
        "trial": text(),
        "workload": text(),
        "code_sha256": maybe(digest),
        "parameters": any_names(either(whole(), prose)),
        "clock_ns": whole(),
    },
    "samples": {
        "copy": _COPY,
        "metric": text(),
        "unit": text(),
        "point": maybe(whole(1)),
        "bytes": maybe(whole(1)),
        "faults_major": _NUMBER,
        "operations": whole(1),
        "durations_ns": listed(whole(), least=1, most=_BATCHES_MOST),
        "code_sha256": maybe(digest),
    },
    "value": {
        "copy": _COPY,
        "metric": text(),
        "unit": text(),
        "value": whole(),
        "code_sha256": maybe(digest),
    },
    "group": {
        "copy": _COPY,
        "metric": text(),
        "batch": whole(1, _BATCHES_MOST),
        "processors": whole(1),
        "members": whole(1, _MEMBERS_MOST),
        "created": whole(0, _MEMBERS_MOST),
        "finished": whole(0, _MEMBERS_MOST),
        "iterations": whole(1),
        "code_sha256": digest,
        "zero_ns": whole(),
        "asked_ns": _TIMES,
        "began_ns": _TIMES,
        "ended_ns": _TIMES,
        "reaped_ns": _TIMES,
        "marks_ns": listed(listed(_NUMBER, least=_MARKS, most=_MARKS), most=_MEMBERS_MOST),
        "failures": listed(
            keyed(
                {
                    "member": whole(0, _MEMBERS_MOST - 1),
                    "status": one_of("failed", "killed", "not created"),
                    "signal": _SIGNAL,
                    "reason": maybe(prose),
                }
            ),
            most=_MEMBERS_MOST,
        ),
    },
    "histogram": {
        "copy": _COPY,
        "metric": text(),
        "values_ns": listed(whole(), least=1, most=_BUCKETS_MOST),
        "counts": listed(whole(1), least=1, most=_BUCKETS_MOST),
    },
    "usage": {
        "copy": _COPY,
        "metric": text(),
        "operations": whole(),
        "user_ns": whole(),
        "system_ns": whole(),
        "faults_minor": _NUMBER,
        "faults_major": _NUMBER,
        "switches_voluntary": _NUMBER,
        "switches_involuntary": _NUMBER,
        "blocks_read": _NUMBER,
        "blocks_written": _NUMBER,
    },
    "processes": {
        "trial": text(),
        "processes": listed(
            keyed(
                {
                    "copy": _COPY,
                    "asked_ns": whole(),
                    "start_ns": _NUMBER,
                    "end_ns": _NUMBER,
                    "status": one_of("ok", "failed", "unsupported", "killed", "not started"),
                    "signal": _SIGNAL,
                }
            ),
            most=_COPIES_MOST,
        ),
    },
    "end": {
        "trial": text(),
        "status": one_of(*_STATUSES),
        "reason": maybe(prose),
        "signal": _SIGNAL,
        "clock_ns": whole(),
    },
    "clock": {"clock_ns": whole()},
    "far": {"address": text(), "port": whole(1, 65535)},
    "error": {"trial": maybe(text()), "reason": prose},
}


def read(line: bytes) -> Record | None:
    """The record in the line. None for a line that is none (a kernel's message), or one of a kind that a
    later version may add. Raises Refused."""
    if not line.startswith(b'{"record":'):
        return None
    try:
        if not _is_flat(line):
            raise ValueError(f"cut short, or of more than {_NESTED_MOST} brackets in one another")
        record = json.loads(
            line.decode(errors="strict"),
            object_pairs_hook=_object,
            parse_constant=_no_number,
            parse_float=_finite,
            parse_int=_short,
        )
    except ValueError as error:
        why = f"not UTF-8 at byte {error.start}" if isinstance(error, UnicodeDecodeError) else str(error)
        raise Refused(f"its record cannot be read ({why}): {quoted(line.decode(errors='replace'))}") from None
    kind = record["record"]
    if type(kind) is str:
        return checked(kind, record) if kind in KINDS else None
    raise Refused(f"its record is of no kind: record is {quoted(kind)}, but must be a name")


def checked(kind: str, record: Mapping[str, Any]) -> Record:
    """The record of that kind with the keys that are known. Raises Refused."""
    try:
        return {"record": kind, **keyed(KINDS[kind])(record)}
    except _Wrong as wrong:
        raise cannot_be(kind, wrong.where, wrong.value, wrong.allowed) from None


def known_part(kind: str, record: object) -> Record:
    """What can be right of a record that was kept before there was a door."""
    members = {}
    for key, shape in KINDS[kind].items():
        with suppress(_Wrong):
            if isinstance(record, dict) and key in record:
                members[key] = shape(record[key])
    return members


_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def _is_flat(line: bytes) -> bool:
    """Whether its brackets match, and few stand in one another: Python's JSON recurses with them."""
    shape = _STRING.sub(b"", line).translate(None, _NO_BRACKETS)
    for _ in range(_NESTED_MOST):
        shape = shape.replace(b"[]", b"").replace(b"{}", b"")
    return not shape


def _object(pairs: Iterable[tuple[str, Any]]) -> Record:
    record: Record = {}
    for key, value in pairs:
        if key in record:
            raise ValueError(f"the key {quoted(key)} stands there twice")
        record[key] = value
    return record


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON")


def _short(digits: str) -> int:
    if len(digits) > _DIGITS_MOST:
        raise ValueError(f"a number of {len(digits):,} digits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"{quoted(digits)} is beyond all numbers")
    return value
