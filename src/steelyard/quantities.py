"""Numbers with units: parses durations, sizes and shares that people wrote, and formats numbers for them.

One parser serves options, study keys and the Python API: each names what it parses, within its own limits.
Rounding happens in reports alone.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from steelyard.errors import UsageError
from steelyard.shapes import Wrong
from steelyard.text import quoted

_Value = TypeVar("_Value")

MILLISECOND_NS = 10**6
HOUR_NS = 3600 * 10**9
DAY_NS = 24 * HOUR_NS
DURATION_MOST_NS = 10_000 * HOUR_NS
SIZE_LEAST, SIZE_MOST = 1 << 10, 1 << 50
SHARE_LEAST = 1e-6

_NUMBER = r"[0-9]{1,20}(?:\.[0-9]{1,20})?"
_DURATIONS = {"h": HOUR_NS, "m": 60 * 10**9, "s": 10**9, "ms": MILLISECOND_NS}  # the largest first
_SIZES = {"T": 1 << 40, "G": 1 << 30, "M": 1 << 20, "K": 1 << 10}
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"), (1e-3, "ps"))
TIME_UNITS: Mapping[str, int] = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}  # that a user may ask for
_asked: ContextVar[str] = ContextVar("the unit of all times", default="")
# No number that people read is longer than these: beyond them its digits say nothing.
_MOST, _LEAST = 1e15, 1e-12
_LEVEL_DECIMALS = 4
FACTOR_MOST = 1000  # an interval that spans more says next to nothing
NOT_KNOWN = "not yet known"


def parsed(name: str, parse: Callable[[object], _Value], value: object) -> _Value:
    """The value as `parse` reads it. Raises UsageError, which names the option or argument."""
    try:
        return parse(value)
    except Wrong as wrong:
        raise UsageError(f"{name} is {quoted(value)}, but must be {wrong.allowed}") from None


def parse_duration(value: object, *, least_ns: int = MILLISECOND_NS, most_ns: int = DURATION_MOST_NS) -> int:
    """The ns in "500ms", "90s", "5m" or "1.5h". Raises Wrong."""
    match = re.fullmatch(f"({_NUMBER})(ms|s|m|h)", value) if isinstance(value, str) else None
    ns = round(float(match[1]) * _DURATIONS[match[2]]) if match else -1
    if not least_ns <= ns <= most_ns:
        limits = f"from {_in_unit(least_ns, _DURATIONS, ' ')} to {_in_unit(most_ns, _DURATIONS, ' ')}"
        raise Wrong(value, f'a time {limits}, such as "500ms", "90s" or "5m"')
    return ns


def parse_size(value: object, *, least: int = SIZE_LEAST, most: int = SIZE_MOST) -> int:
    """The bytes in "64M", "64MiB" or "67108864". Raises Wrong."""
    match = re.fullmatch("([0-9]{1,20})(?:([KMGT])(?:iB)?)?", value) if isinstance(value, str) else None
    size = int(match[1]) * _SIZES.get(match[2], 1) if match else -1
    if not least <= size <= most:
        limits = f"from {_in_unit(least, _SIZES)} to {_in_unit(most, _SIZES)}"
        raise Wrong(value, f'a size {limits}, such as "64M"')
    return size


def parse_share(value: object, *, least: float = SHARE_LEAST, most: float = 1.0) -> float:
    """The share in "2%", "0.02" or 0.02. Raises Wrong."""
    share = value
    if isinstance(value, str) and (match := re.fullmatch(f"({_NUMBER})(%?)", value)):
        share = float(match[1]) / (100 if match[2] else 1)
    if type(share) not in (int, float) or not least <= share <= most:  # type: ignore[operator]
        example = '"2%" or 0.02' if least <= 0.02 else '"99%" or 0.99'
        raise Wrong(value, f"a share from {share_text(least)} to {share_text(most)}, such as {example}")
    return float(share)  # type: ignore[arg-type]


def parse_whole(value: object, *, least: int = 1, most: int) -> int:
    """A whole number, which may have a sign. Raises Wrong."""
    is_number = isinstance(value, str) and re.fullmatch("-?(?:0|[1-9][0-9]{0,19})", value)
    if not is_number or not least <= int(str(value)) <= most:
        raise Wrong(value, f"a whole number from {least} to {most}")
    return int(str(value))


def parse_number(value: object, *, least: float, most: float) -> float:
    """A decimal number. Raises Wrong."""
    is_number = isinstance(value, str) and re.fullmatch(_NUMBER, value)
    if not is_number or not least <= float(str(value)) <= most:
        raise Wrong(value, f"a number from {least:.12g} to {most:.12g}")
    return float(str(value))


def duration_text(ns: int) -> str:
    """The duration as `parse_duration` reads it: "90s", "5m", "24h"."""
    return _in_unit(ns, _DURATIONS).replace(",", "")


def share_text(share: float) -> str:
    """The share as `parse_share` reads it: "2%", "0.0001%"."""
    return f"{100 * share:.12g}%"


def _in_unit(number: int, units: Mapping[str, int], space: str = "") -> str:
    """The number in the largest unit of which it is a whole multiple, or else in the smallest."""
    unit = next((unit for unit, factor in units.items() if number and number % factor == 0), "")
    return f"{number // units.get(unit, 1):,}{space if unit else ' bytes'}{unit}"


def size_bytes(number: float) -> str:
    """A size in bytes as people write it: 32 KiB, 1.5 MiB."""
    for scale, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= scale:
            shown = digits(number / scale)
            return f"{shown.rstrip('0').rstrip('.') if '.' in shown else shown} {unit}"
    if number == int(number):
        return number_of(int(number), "byte")
    return f"{digits(number)} bytes"


@contextmanager
def times_in(unit: str) -> Iterator[None]:
    """Meanwhile all times are said in one of TIME_UNITS; in what suits each for ""."""
    before = _asked.set(unit)
    try:
        yield
    finally:
        _asked.reset(before)


def time_ns(value: float) -> str:
    """A time given in ns, to three digits, with the unit that suits it, or the one asked for: 51.9 µs."""
    if unit := _asked.get():
        return f"{digits(value / TIME_UNITS[unit])} {unit.replace('u', 'µ')}"
    if value == 0:
        return "0 ns"
    for scale, unit in _TIMES:
        if abs(value) >= 0.9995 * scale:
            return f"{digits(value / scale)} {unit}"
    return f"{digits(value * 1000)} ps"


def digits(number: float, *, count: int = 3) -> str:
    """The number to `count` significant digits, never in powers of ten: 0.00512, 427, 1.03, 12,300. A number
    that is too large or too small is marked as such, and NaN is a dash.
    """
    if math.isnan(number):
        return "–"
    if abs(number) >= _MOST:
        return f"over {_MOST:,.0f}" if number > 0 else f"below -{_MOST:,.0f}"
    if 0 < abs(number) < _LEAST:
        return f"below {_LEAST:.12f}"
    rounded = float(f"{number:.{count - 1}e}")
    if rounded == 0:
        return "0"
    places = count - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(0, places)}f}"


def count(number: float) -> str:
    """A number of things, exactly: 1,234,567; from an estimate, without decimals where they say nothing."""
    if abs(number) >= _MOST or math.isnan(number):
        return digits(number)
    return f"{number:,.0f}" if abs(number) >= 100 or number == int(number) else digits(number)


def number_of(number: int, noun: str, several: str = "") -> str:
    """The number and the noun, of which there is one or several: "1 cell", "8,179 cells", "2 copies"."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def level(share: float) -> str:
    """The level of an interval: "95 %", "99.35 %"; never 100 %, which none has."""
    percent = 100 * share
    for decimals in range(_LEVEL_DECIMALS + 1):
        text = f"{percent:.{decimals}f}"
        if abs(float(text) - percent) <= 0.005 * (100 - percent) + 1e-9 and float(text) < 100:
            return f"{text} %"
    return f"{text} %" if float(text) < 100 else f"over {100 - 10**-_LEVEL_DECIMALS:.{_LEVEL_DECIMALS}f} %"


def is_known(low: float | None, high: float | None) -> bool:
    """True if an interval is informative: it exists, and, if above 0, spans at most a factor of 1,000."""
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return False
    return not (math.isinf(low) or math.isinf(high) or (low > 0 and high > FACTOR_MOST * low))


def interval(low: float | None, high: float | None, said: Callable[[float], str], *, none: str = "") -> str:
    """The interval in brackets, each bound formatted by `said`; words if it is not informative; `none`
    without one.
    """
    if low is None or high is None:
        return none
    return f"[{said(low)}, {said(high)}]" if is_known(low, high) else NOT_KNOWN


def clock_text(seconds: float) -> str:
    """Minutes and seconds, such as 3:07."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def counted_processors(usable: int, online: int | None) -> str:
    """The processors that may be used, and of how many where that is fewer: "1 of 2 processors"."""
    if online is not None and usable < online:
        return f"{usable} of {online} processors"
    return number_of(usable, "processor")
