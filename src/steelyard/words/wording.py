"""Says figures in words, the same on the console and on the page. Rounding happens here alone."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from steelyard.analysis.host_costs import ALL_CALLS
from steelyard.analysis.model import (
    Alone,
    Comparison,
    CostDifference,
    CurveComparison,
    CurveLine,
    Gain,
    HostCost,
    Index,
    MachineFact,
    Multiprogramming,
    PartRatio,
    Scaling,
)
from steelyard.analysis.spending import REST
from steelyard.quantities import NOT_KNOWN, count, is_known, number_of
from steelyard.quantities import digits as digits
from steelyard.quantities import interval as interval_of
from steelyard.quantities import size_bytes as size_bytes
from steelyard.quantities import time_ns as time_ns
from steelyard.statistics import verdict
from steelyard.statistics.signed_rank import Estimate
from steelyard.words import reasons
from steelyard.words import remarks as sentences

# A mark besides the word, so that colour is not the only sign of a verdict.
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
_NAMED = 3  # this number of cells is named; of more, the number of the rest
_SHORT = {"times": "", "of": ""}  # units that are said once, beside the values
why, why_long = reasons.why, reasons.why_long
LAWS = {"universal": "universal", "amdahl": "Amdahl", "": "none"}


def title(names: Sequence[str], baseline: str | None) -> str:
    """The title of a page: the compared systems, and the baseline if there is one."""
    listed = " and ".join([*[", ".join(names[:-1])] * (len(names) > 1), *names[-1:]])
    return listed + (f" vs {baseline}" if baseline else "")


def label(cell: str, metric: str) -> str:
    """The cell and, where it has more than the one, its metric."""
    return cell if metric in ("time", "bandwidth") else f"{cell}, {metric}"


def value(number: float, unit: str) -> str:
    """A value of a comparison, to three digits: a time or a bandwidth in the unit that suits it."""
    if unit.startswith("ns"):
        return time_ns(number)
    if unit == "MB/s":
        return f"{digits(number / 1000)} GB/s" if number >= 999.5 else f"{digits(number)} MB/s"
    if _is_noun(unit):
        return f"{count(number)} {unit}"
    return f"{factor(number)} {_SHORT.get(unit.partition(' ')[0], unit)}".rstrip()


def _is_noun(unit: str) -> bool:
    """Whether the unit is words, which are said once, beside the value."""
    return not (unit.startswith("ns") or unit.partition(" ")[0] in _SHORT or unit in ("MB/s", "", "/s", "%"))


def value_interval(estimate: Estimate, unit: str) -> str:
    """The interval of a value in brackets, or words that say that there is none, or that it says nothing."""
    say = count if _is_noun(unit) else lambda bound: value(bound, unit)
    return interval_of(estimate.low, estimate.high, say, none="no interval")


def quantity(number: float, unit: str) -> str:
    """A property of the machine: bytes as sizes, else three digits and the unit."""
    if unit == "bytes":
        return size_bytes(number)
    return f"{count(number) if float(number).is_integer() else digits(number)} {unit}".rstrip()


def quantity_interval(estimate: Estimate, unit: str) -> str:
    """The interval in brackets; nothing without one."""
    return interval_of(estimate.low, estimate.high, lambda bound: quantity(bound, unit))


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


def failure(reason: str) -> str:
    """The way in which a process of many failed."""
    return f"{reason}, because an earlier one could not be created" if reason == "not asked for" else reason


def _plainly(estimate: Estimate | None, said: Callable[[float], str]) -> str:
    return said(estimate.value) if estimate else "–"


def _estimated(estimate: Estimate | None, said: Callable[[float], str]) -> str:
    if estimate is None:
        return "–"
    return f"{said(estimate.value)} {interval_of(estimate.low, estimate.high, said)}".rstrip()


@dataclass(frozen=True, slots=True)
class CurvePart:
    """A plateau or knee in words: what, over which sizes, its figure, its ratio; and the verdict's word."""

    texts: tuple[str, str, str, str]
    verdict: str | None


def parts_of(curve: CurveComparison, line: CurveLine) -> Iterable[CurvePart]:
    """Each plateau and knee of one system's line, the plateaus in order, a knee after the one it ends."""
    judged = {(one.part, one.number): one for one in curve.parts.get(line.system, ())}
    for number, plateau in enumerate(line.plateaus):
        sizes = f"{_size(plateau.low, curve)} to {_size(plateau.high, curve)}"
        figure = f"{value(plateau.level.value, curve.unit)} {value_interval(plateau.level, curve.unit)}"
        yield _part(f"plateau {number + 1}", sizes, figure, judged.get(("plateau", number)))
        for knee in line.knees:
            if knee.plateau == number:
                if knee.place.low is None or knee.place.high is None:
                    place = f"not yet known ({number_of(line.trials, 'trial')})"
                else:
                    place = _estimated(knee.place, lambda size: _size(size, curve))
                yield _part("knee", "", place, judged.get(("knee", number)))


def _part(what: str, sizes: str, figure: str, judged: PartRatio | None) -> CurvePart:
    ratio = f"{factor(judged.ratio.value)} {interval(judged.ratio)}" if judged else ""
    return CurvePart((what, sizes, figure, ratio), judged.verdict if judged else None)


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
    """The remaining throughput with more copies than processors: "96 % with 4"."""
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
            yield f"{what} ({sides}): {sentences.text(why)}"


def gained(gains: Sequence[Gain], system: str) -> str:
    """The speed-ups of a system by number of copies: the smallest and the largest, each with its interval. A
    speed-up without an interval is left out with the reason; an impossible one is questioned. Empty without
    speed-ups.
    """
    by_copies: dict[int, list[Gain]] = {}
    for one in sorted(gains, key=lambda one: one.copies):
        if one.system == system:
            by_copies.setdefault(one.copies, []).append(one)
    if not by_copies:
        return ""
    known = {
        copies: credible
        for copies, members in by_copies.items()
        if (credible := [one.gain for one in members if one.is_known and not one.is_beyond])
    }
    unknown = [
        str(copies) for copies, members in by_copies.items() if not any(one.is_known for one in members)
    ]
    beyond = [one for members in by_copies.values() for one in members if one.is_beyond]
    parts = [
        f"{number_of(copies, 'copy', 'copies')} {_least_to_most(values)} times"
        for copies, values in known.items()
    ]
    sentences = [f"Throughput relative to one copy on {system}: {', '.join(parts)} as much."] * bool(parts)
    if unknown:
        blocks = max(one.blocks for members in by_copies.values() for one in members if not one.is_known)
        rest = f"{number_of(blocks, 'block has', 'blocks have')} no interval"
        which = f" with {' and '.join([', '.join(unknown[:-1])] * (len(unknown) > 1) + unknown[-1:])} copies"
        sentences.append(f"Throughput on {system}{which} is not yet known: {rest}.")
    if beyond:
        many = f"{len(beyond)} gains are" if len(beyond) > 1 else f"{_gain_of(beyond[0])} is"
        sentences.append(f"Questionable: {many} more than the copies and processors allow; see the notes.")
    return " ".join(sentences)


def _gain_of(one: Gain) -> str:
    copies = number_of(one.copies, "copy", "copies")
    return f"{digits(one.gain.value)} times {interval(one.gain)} with {copies} of {one.cell}"


def _least_to_most(gains: Sequence[Estimate]) -> str:
    least, most = (pick(gains, key=lambda one: one.value) for pick in (min, max))
    low, high = (f"{digits(one.value, count=2)} {_bounds(one)}" for one in (least, most))
    return low if low == high else f"{low} to {high}"


def _bounds(estimate: Estimate) -> str:
    assert estimate.low is not None
    assert estimate.high is not None
    return f"[{digits(estimate.low, count=2)}, {digits(estimate.high, count=2)}]"


def efficiency(one: Gain) -> str:
    """The gain as a share of a full one, where it has an interval; and a question where it cannot be."""
    if not one.is_known:
        return "–"
    share = f"{100 * one.efficiency.value:.1f} %"
    return f"{share} (?: {one.full} would be all)" if one.is_beyond else share


def machine_fact(one: MachineFact) -> tuple[str, str]:
    """The finding about the machine, and its interval; without an interval, the reason."""
    if not one.is_known:
        return "not yet known", f"{number_of(one.trials, 'trial')}"
    return quantity(one.value.value, one.unit), quantity_interval(one.value, one.unit)


def factor(ratio: float) -> str:
    """A ratio: to three digits, and near 1 to three decimals, where the third digit is what matters."""
    return f"{ratio:.3f}" if 0.8 < ratio < 1.25 else digits(ratio)


def interval(estimate: Estimate) -> str:
    """The interval in brackets, or words that say that there is none."""
    return interval_of(estimate.low, estimate.high, factor, none="no interval")


_WIDE = 3  # an interval whose ends differ by this factor has no size to quote, only a minimum


def leaves_1_out(ratio: Estimate) -> bool:
    """True if there is an interval and it excludes 1."""
    return ratio.low is not None and ratio.high is not None and not ratio.low <= 1 <= ratio.high


def is_wide(ratio: Estimate) -> bool:
    """True if the interval excludes 1 but is too wide to quote its middle."""
    if not leaves_1_out(ratio):
        return False
    assert ratio.low is not None
    assert ratio.high is not None
    return ratio.high > _WIDE * ratio.low


def quotable(ratio: Estimate) -> float:
    """The ratio as it may be quoted: where the interval is wide, its end that is nearer to 1."""
    if not is_wide(ratio):
        return ratio.value
    assert ratio.low is not None
    assert ratio.high is not None
    return ratio.low if ratio.value > 1 else ratio.high


def how_much(ratio: Estimate) -> str:
    """The ratio as people say it, to the digits that its interval bears: "2.31× slower [2.25, 2.36]",
    "180× slower [150, 210]", "1.2 % faster [0.8, 1.6]"; of a wide interval what is sure, "at least 16× slower
    [16, 210]"."""
    slower = ratio.value < 1
    word = "slower" if slower else "faster"
    shown = quotable(ratio)
    near = 0.8 < shown < 1.25

    def said(one: float) -> float:
        """As a multiple, or as a percentage; negative if a bound lies on the other side of 1."""
        multiple = 1 / one if slower else one
        return (multiple - 1) * 100 if near else multiple

    figure, unit = said(shown), " %" if near else "×"
    if ratio.low is None or ratio.high is None:
        return f"{digits(figure, count=2)}{unit} {word}"
    low, high = sorted((said(ratio.low), said(ratio.high)))
    borne = digits_borne(figure, low, high)
    known = is_known(ratio.low, ratio.high)
    bounds = (
        f"{digits(low, count=max(2, borne))}, {digits(high, count=max(2, borne))}" if known else NOT_KNOWN
    )
    if is_wide(ratio):
        least = digits(figure, count=2)
        return f"at least {least}{unit} {word} [{bounds}]"
    return f"{digits(figure, count=borne)}{unit} {word} [{bounds}]"


def digits_borne(figure: float, low: float, high: float) -> int:
    """The number of digits that the interval supports, at most three: the last one stands for at most half of
    the interval's width. Never a single 1, which may be rounded by a third.
    """
    if figure == 0 or not math.isfinite(high - low):
        return 2
    exponent = math.floor(math.log10(abs(figure)))
    for borne in (1, 2):
        unit = 10.0 ** (exponent - borne + 1)
        if unit <= (high - low) / 2 and (borne > 1 or abs(figure) >= 2 * unit):
            return borne
    return 3


def within(bound: float) -> str:
    """A bound in percent, rounded up, for a smaller one would not be true: "0.9 %", "12 %", "180 %"."""
    percent = 100 * bound
    tenths = math.ceil(round(10 * percent, 6))  # what is 9 % but for the last bit is not 9.1 %
    return f"{tenths / 10:.1f} %" if tenths < 100 else f"{math.ceil(round(percent, 6))} %"


def whole(index: Index) -> str:
    """The one figure over everything, with its interval."""
    what = f"geometric mean of {number_of(index.metrics, 'metric')}"
    what += f", {len(index.missing)} missing" if index.missing else ""
    if index.ratio is None:
        return "No overall figure: no block has every metric."
    if index.ratio.low is None:
        blocks = number_of(index.blocks, "block is", "blocks are")
        return f"No overall figure yet: {blocks} too few for an interval."
    sentence = f"Overall {how_much(index.ratio)} ({what})"
    return f"{sentence}{'' if index.verdict in _CLAIMED else ': no proven difference'}."


def _plain(number: float) -> str:
    """The number as it was given, to ten decimals."""
    return f"{number:.10f}".rstrip("0").rstrip(".")


def verdict_text(one: Comparison) -> str:
    """The verdict with its mark."""
    return f"{MARKS[one.verdict]} {one.verdict}"


def remarks(one: Comparison) -> str:
    """The limits of the comparison, and the number of blocks that would settle it."""
    words = list(sentences.texts(one.remarks))
    if one.blocks_needed is not None and one.blocks:
        blocks = number_of(one.blocks_needed, "block")
        words.insert(0, f"about {blocks} would resolve {_plain(one.margin * 100)} %")
    return "; ".join(words)


def percent(share: float) -> str:
    """A share in whole percent."""
    return f"{100 * share:.0f} %".replace("-", "−")


def signed(number: float) -> str:
    """A difference with its sign, to two digits."""
    return "0" if number == 0 else f"{'+' if number > 0 else '−'}{digits(abs(number), count=2)}"


def cost(number: float, unit: str) -> str:
    """A cost of an operation, to three digits. One that came out below 0 is none: by so much what was taken
    away is wrong, at least."""
    said = time_ns(abs(number)) if unit == "ns" else digits(abs(number))
    return f"below {said}" if number < 0 and float(f"{number:.2e}") else said


def cost_of(one: CostDifference, number: float) -> str:
    """One side of a cost's difference. Where several ran at once, how long none could is not known."""
    return "–" if one.cost == REST and number < 0 else cost(number, one.unit)


def cost_interval(one: CostDifference) -> str:
    """The difference of a cost with its interval in brackets."""
    low, high = one.difference.low, one.difference.high
    bounds = "" if low is None or high is None else f" [{_bound(low, one.unit)}, {_bound(high, one.unit)}]"
    return f"{_bound(one.difference.value, one.unit)}{bounds}"


def _bound(number: float, unit: str) -> str:
    return "0" if number == 0 else f"{'+' if number > 0 else '−'}{cost(abs(number), unit)}"


def alone(one: Alone) -> tuple[str, ...]:
    """What a system takes alone over what it takes in turns, and its ratio alone, each with its interval."""
    ratio = ("–", "") if one.ratio is None else (factor(one.ratio.value), interval(one.ratio))
    return (factor(one.level.value), interval(one.level), *ratio)


def account(one: HostCost) -> tuple[str, ...]:
    """A system's costs of an operation: the time and its parts, switches, faults, calls."""
    times = [_known(one, name, "ns") for name in ("user", "system", "run", "wait", "rest")]
    counts = [_known(one, name, "") for name in ("switches", "faults")]
    return (time_ns(one.time_ns), *times, *counts, most_called(one))


def _known(one: HostCost, name: str, unit: str) -> str:
    if name in one.below:
        return f"below {cost(one.below[name], unit)}"
    return cost(one.costs[name], unit) if name in one.costs else "–"


def account_notes(accounts: Sequence[HostCost]) -> Iterable[str]:
    """Why some of these costs are left out: a sentence a system."""
    by_system: dict[str, list[str]] = {}
    for one in accounts:
        if one.overlap_ns is not None:
            said = f"{label(one.cell, one.metric)} ({time_ns(one.overlap_ns)} of {time_ns(one.time_ns)})"
            by_system.setdefault(one.system, []).append(said)
    for system, cells in by_system.items():
        more = f" and {len(cells) - _NAMED} more" if len(cells) > _NAMED else ""
        yield (
            f"on {system} several processes ran or waited at once, or operations that were not measured took "
            f"longer, and that was more than the time: how long none of them could run is not known, at "
            f"{', '.join(cells[:_NAMED])}{more}"
        )


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
