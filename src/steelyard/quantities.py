"""Says numbers as people write them, with the unit that suits them. Rounding happens in reports alone."""

import math

_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"), (1e-3, "ps"))


def size_bytes(number: float) -> str:
    """A size in bytes as people write it: 32 KiB, 1.5 MiB."""
    for scale, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= scale:
            shown = digits(number / scale)
            return f"{shown.rstrip('0').rstrip('.') if '.' in shown else shown} {unit}"
    return f"{digits(number)} bytes" if number != int(number) else f"{int(number)} bytes"


def time_ns(value: float) -> str:
    """A time given in ns, to three digits, with the unit that suits it: 51.9 µs."""
    if value == 0:
        return "0 ns"
    for scale, unit in _TIMES:
        if abs(value) >= 0.9995 * scale:
            return f"{digits(value / scale)} {unit}"
    return f"{digits(value * 1000)} ps"


def digits(number: float, *, count: int = 3) -> str:
    """The number to so many significant digits, never in powers of ten: 0.00512, 427, 1.03, 12,300."""
    rounded = float(f"{number:.{count - 1}e}")
    if rounded == 0:
        return "0"
    places = count - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(0, places)}f}"


def count(number: float) -> str:
    """A number of things: 1,234,567; from an estimate, without decimals where they say nothing."""
    return f"{number:,.0f}" if number >= 100 or number == int(number) else digits(number)


def clock_text(seconds: float) -> str:
    """Minutes and seconds, such as 3:07."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
