"""Says figures in words, the same on the console and on the page. Rounding happens here alone."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from steelyard.analysis.host_costs import ALL_CALLS
from steelyard.analysis.model import (
    Comparison,
    CostDifference,
    CurveComparison,
    CurveLine,
    Gain,
    HostCost,
    Index,
    Multiprogramming,
    PartRatio,
    Scaling,
)
from steelyard.quantities import digits as digits
from steelyard.quantities import size_bytes as size_bytes
from steelyard.quantities import time_ns as time_ns
from steelyard.statistics import verdict
from steelyard.statistics.signed_rank import Estimate
from steelyard.words import reasons

# A mark besides the word, so that no verdict is told by colour alone.
MARKS = {
    verdict.FASTER: "▲",
    verdict.SLOWER: "▼",
    verdict.EQUIVALENT: "=",
    verdict.FASTER_OPEN: "△",
    verdict.SLOWER_OPEN: "▽",
    verdict.BOUNDED: "≈",
    verdict.UNRESOLVED: "?",
}
_CLAIMED = (verdict.FASTER, verdict.SLOWER, verdict.FASTER_OPEN, verdict.SLOWER_OPEN)
_SHORT = {"times": "", "of": ""}  # units that are said once, beside the values
why, why_long = reasons.why, reasons.why_long
LAWS = {"universal": "universal", "amdahl": "Amdahl", "": "none"}


def title(names: Sequence[str], baseline: str | None) -> str:
    """What a page is about: the systems that were compared with the baseline, if there is one."""
    listed = " and ".join([*[", ".join(names[:-1])] * (len(names) > 1), *names[-1:]])
    return listed + (f" weighed against {baseline}" if baseline else "")


def label(cell: str, metric: str) -> str:
    """The cell and, where it has more than the one, its metric."""
    return cell if metric in ("time", "bandwidth") else f"{cell}, {metric}"


def value(number: float, unit: str) -> str:
    """A value of a comparison, to three digits: a time or a bandwidth in the unit that suits it."""
    if unit.startswith("ns"):
        return time_ns(number)
    if unit == "MB/s":
        return f"{digits(number / 1000)} GB/s" if number >= 999.5 else f"{digits(number)} MB/s"
    return f"{factor(number)} {_SHORT.get(unit.partition(' ')[0], unit)}".rstrip()


def value_interval(estimate: Estimate, unit: str) -> str:
    """The interval of a value in brackets, or words that say that there is none."""
    if estimate.low is None or estimate.high is None:
        return "no interval"
    return f"[{value(estimate.low, unit)}, {value(estimate.high, unit)}]"


def quantity(number: float, unit: str) -> str:
    """A property of the machine: bytes as sizes, else three digits and the unit."""
    return size_bytes(number) if unit == "bytes" else f"{digits(number)} {unit}".rstrip()


def quantity_interval(estimate: Estimate, unit: str) -> str:
    """The interval in brackets; nothing without one."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"[{quantity(estimate.low, unit)}, {quantity(estimate.high, unit)}]"


def multiprogramming(one: Multiprogramming) -> tuple[str, ...]:
    """Many processes on one system in words: created, finished, total, one alone, price, delay of the start
    (median process, and what nineteen of twenty stay under), unevenness, Jain's index (median over time)."""
    indices = sorted(index for _, index, _ in one.fairness)
    return (
        f"{one.created} of {one.processes}",
        str(one.finished),
        _estimated(one.total, time_ns),
        _estimated(one.alone, time_ns),
        _estimated(one.price, lambda number: digits(number, count=4)),
        f"{_plainly(one.start_delay, time_ns)} (95 %: {_plainly(one.start_delay_95, time_ns)})",
        _plainly(one.unevenness, lambda number: f"{digits(100 * number)} %"),
        digits(indices[(len(indices) - 1) // 2]) if indices else "–",
    )


def _plainly(estimate: Estimate | None, said: Callable[[float], str]) -> str:
    return said(estimate.value) if estimate else "–"


def _estimated(estimate: Estimate | None, said: Callable[[float], str]) -> str:
    if estimate is None or estimate.low is None or estimate.high is None:
        return _plainly(estimate, said)
    return f"{said(estimate.value)} [{said(estimate.low)}, {said(estimate.high)}]"


@dataclass(frozen=True, slots=True)
class Part:
    """A plateau or knee in words: what, over which sizes, its figure, its ratio; and the verdict's word."""

    texts: tuple[str, str, str, str]
    verdict: str | None


def parts_of(curve: CurveComparison, line: CurveLine) -> Iterable[Part]:
    """Each plateau and knee of one system's line, the plateaus in order, a knee after the one it ends."""
    judged = {(one.part, one.number): one for one in curve.parts.get(line.system, ())}
    for number, plateau in enumerate(line.plateaus):
        sizes = f"{_size(plateau.low, curve)} to {_size(plateau.high, curve)}"
        figure = f"{value(plateau.level.value, curve.unit)} {value_interval(plateau.level, curve.unit)}"
        yield _part(f"plateau {number + 1}", sizes, figure, judged.get(("plateau", number)))
        for knee in line.knees:
            if knee.plateau == number:
                place = _size(knee.place.value, curve)
                if knee.place.low is not None and knee.place.high is not None:
                    place += f" [{_size(knee.place.low, curve)}, {_size(knee.place.high, curve)}]"
                yield _part("knee", "", place, judged.get(("knee", number)))


def _part(what: str, sizes: str, figure: str, judged: PartRatio | None) -> Part:
    ratio = f"{factor(judged.ratio.value)} {interval(judged.ratio)}" if judged else ""
    return Part((what, sizes, figure, ratio), judged.verdict if judged else None)


def _size(number: float, curve: CurveComparison) -> str:
    return quantity(number, curve.sweep_unit)


def with_interval(estimate: Estimate | None, unit: str = "") -> tuple[str, str]:
    """A figure to three digits, and its interval in brackets; both empty where there is none."""
    if estimate is None:
        return "", ""
    return quantity(estimate.value, unit), quantity_interval(estimate, unit)


def throughput(number: float, unit: str) -> str:
    """Operations a second, or a bandwidth."""
    return value(number, unit) if unit == "MB/s" else f"{digits(number)}/s"


def declines(one: Scaling) -> str:
    """What is left with more copies than processors: "96 % with 4"."""
    return ", ".join(f"{digits(100 * each.kept.value)} % with {each.copies}" for each in one.declines)


def missing_laws(scalings: Sequence[Scaling]) -> Iterable[str]:
    """A sentence for each reason why there is no law, or no saturation, and what it holds for."""
    for what, whys in (
        ("no scaling law", [(one.no_law, one) for one in scalings if one.no_law]),
        ("no saturation", [(one.no_capacity, one) for one in scalings if one.no_capacity and one.no_law]),
    ):
        for why in dict.fromkeys(why for why, _ in whys):
            where: dict[str, list[str]] = {}
            for reason, one in whys:
                if reason == why:
                    where.setdefault(one.system, []).append(label(one.cell, one.metric))
            every = {system: sum(one.system == system for one in scalings) for system in where}
            sides = "; ".join(
                system if len(names) == every[system] > 1 else f"{system}: {', '.join(names)}"
                for system, names in where.items()
            )
            yield f"{what} ({sides}): {why}"


def gained(gains: Sequence[Gain], system: str) -> str:
    """What a system gains with how many copies, from the least to the most; empty without gains."""
    by_copies: dict[int, list[float]] = {}
    for one in sorted(gains, key=lambda one: one.copies):
        if one.system == system:
            by_copies.setdefault(one.copies, []).append(one.gain.value)
    phrases = []
    for copies, values in by_copies.items():
        low, high = (digits(one, count=2) for one in (min(values), max(values)))
        phrases.append(
            f"{copies} copies {low} to {high} times" if low != high else f"{copies} copies {low} times"
        )
    return (
        f"What copies do together on {system}, against one alone: {', '.join(phrases)} as much."
        if phrases
        else ""
    )


def factor(ratio: float) -> str:
    """A ratio: to three digits, and near 1 to three decimals, where the third digit is what matters."""
    return f"{ratio:.3f}" if 0.8 < ratio < 1.25 else digits(ratio)


def interval(estimate: Estimate) -> str:
    """The interval in brackets, or words that say that there is none."""
    if estimate.low is None or estimate.high is None:
        return "no interval"
    return f"[{factor(estimate.low)}, {factor(estimate.high)}]"


def how_much(ratio: Estimate) -> str:
    """The ratio as people say it: "2.31 times slower [2.25, 2.36]" or "1.2 % faster [0.8, 1.6]"."""
    slower = ratio.value < 1
    word = "slower" if slower else "faster"
    near = 0.8 < ratio.value < 1.25

    def said(one: float) -> float:
        """As a multiple, or in percent how much more; below 0 where a bound lies on the other side of 1."""
        multiple = 1 / one if slower else one
        return (multiple - 1) * 100 if near else multiple

    bounds = sorted(said(one) for one in (ratio.low, ratio.high) if one is not None)
    shown = f" [{', '.join(digits(one) for one in bounds)}]" if bounds else ""
    return f"{digits(said(ratio.value))} {'%' if near else 'times'} {word}{shown}"


def within(bound: float) -> str:
    """A bound in percent, rounded up, for a smaller one would not be true: "0.9 %", "12 %", "180 %"."""
    percent = 100 * bound
    tenths = math.ceil(round(10 * percent, 6))  # what is 9 % but for the last bit is not 9.1 %
    return f"{tenths / 10:.1f} %" if tenths < 100 else f"{math.ceil(round(percent, 6))} %"


def whole(index: Index) -> str:
    """The one figure over everything, with its interval."""
    metrics = "metric" if index.metrics == 1 else "metrics"
    what = f"geometric mean over {index.metrics} {metrics}"
    what += f", {len(index.missing)} missing" if index.missing else ""
    if index.ratio is None:
        return "On the whole there is no figure: no block has every metric."
    sentence = f"On the whole {how_much(index.ratio)} ({what})"
    if index.ratio.low is None:
        blocks = "1 block is" if index.blocks == 1 else f"{index.blocks} blocks are"
        return f"{sentence}; {blocks} too few for an interval."
    return f"{sentence}{'' if index.verdict in _CLAIMED else ': no difference is claimed'}."


def verdict_text(one: Comparison) -> str:
    """The verdict with its mark."""
    return f"{MARKS[one.verdict]} {one.verdict}"


def remarks(one: Comparison) -> str:
    """The flags, and how many blocks would settle what is open."""
    words = list(one.flags)
    if one.blocks_needed is not None and one.blocks:
        words.insert(0, f"some {one.blocks_needed} blocks would settle {one.margin * 100:g} %")
    return "; ".join(words)


def percent(share: float) -> str:
    """A share in whole percent."""
    return f"{100 * share:.0f} %".replace("-", "−")


def signed(number: float) -> str:
    """A difference with its sign, to two digits."""
    return "0" if number == 0 else f"{'+' if number > 0 else '−'}{digits(abs(number), count=2)}"


def cost(number: float, unit: str) -> str:
    """A cost of an operation, to three digits."""
    return time_ns(number) if unit == "ns" else digits(number)


def cost_interval(one: CostDifference) -> str:
    """The difference of a cost with its interval in brackets."""
    low, high = one.difference.low, one.difference.high
    bounds = "" if low is None or high is None else f" [{_bound(low, one.unit)}, {_bound(high, one.unit)}]"
    return f"{_bound(one.difference.value, one.unit)}{bounds}"


def _bound(number: float, unit: str) -> str:
    return "0" if number == 0 else f"{'+' if number > 0 else '−'}{cost(abs(number), unit)}"


def account(one: HostCost) -> tuple[str, ...]:
    """A system's costs of an operation: the time and its parts, switches, faults, calls."""
    times = [_cost_or_dash(one.costs.get(name), "ns") for name in ("user", "system", "run", "wait", "rest")]
    counts = [_cost_or_dash(one.costs.get(name), "") for name in ("switches", "faults")]
    return (time_ns(one.time_ns), *times, *counts, most_called(one))


def _cost_or_dash(number: float | None, unit: str) -> str:
    return "–" if number is None else cost(number, unit)


def most_called(one: HostCost, *, most: int = 3) -> str:
    """All system calls an operation, and those that are made most."""
    if one.calls is None or ALL_CALLS not in one.calls:
        return "–"
    ordered = sorted(one.calls.items(), key=lambda item: -item[1][0])
    named = [
        (name, count) for name, (count, _) in ordered if name != ALL_CALLS and count >= reasons.COUNT_LEAST
    ]
    counts = ", ".join(f"{name} {digits(count)}" for name, count in named[:most])
    return digits(one.calls[ALL_CALLS][0]) + (f" ({counts})" if counts else "")
