"""Says figures in words, the same on the console and on the page. Rounding happens here alone."""

from steelyard.statistics import verdict
from steelyard.statistics.signed_rank import Estimate
from steelyard.weighing import Comparison, Index

# A mark besides the word, so that no verdict is told by colour alone.
MARKS = {
    verdict.FASTER: "▲",
    verdict.SLOWER: "▼",
    verdict.EQUIVALENT: "=",
    verdict.FASTER_OPEN: "△",
    verdict.SLOWER_OPEN: "▽",
    verdict.UNRESOLVED: "?",
}
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"), (1e-3, "ps"))


def time_ns(value: float) -> str:
    """A time given in ns, to three digits, with the unit that suits it: 51.9 µs."""
    for scale, unit in _TIMES:
        if abs(value) >= scale:
            return f"{value / scale:.3g} {unit}" if value / scale < 999.5 else f"{value / scale:.0f} {unit}"
    return f"{value:.3g} ns"


def factor(ratio: float) -> str:
    """A ratio to three digits and never in powers of ten: 0.00512, 427, 1.03."""
    if ratio >= 100:
        return f"{ratio:,.0f}"
    if ratio >= 0.1:
        return f"{ratio:.3f}" if ratio < 10 else f"{ratio:.1f}"
    return f"{ratio:.3g}"


def interval(estimate: Estimate) -> str:
    """The interval in brackets, or that there is none."""
    if estimate.low is None or estimate.high is None:
        return "no interval"
    return f"[{factor(estimate.low)}, {factor(estimate.high)}]"


def how_much(ratio: Estimate) -> str:
    """The ratio as people say it: "2.31 times slower [2.25, 2.36]" or "1.2 % faster [0.8, 1.6]"."""
    slower = ratio.value < 1
    word = "slower" if slower else "faster"
    bounds = (ratio.low, ratio.high)
    if 0.8 < ratio.value < 1.25:
        percents = [None if one is None else _percent(one, slower) for one in bounds]
        shown = _bounds(sorted(one for one in percents if one is not None), "{:.1f}")
        return f"{_percent(ratio.value, slower):.1f} % {word}{shown}"
    times = [None if one is None else (1 / one if slower else one) for one in bounds]
    shown = _bounds(sorted(one for one in times if one is not None), None)
    return f"{factor(1 / ratio.value if slower else ratio.value)} times {word}{shown}"


def _percent(ratio: float, slower: bool) -> float:
    """How much more time the slower one takes, in percent; negative where the bound lies beyond 1."""
    return ((1 / ratio if slower else ratio) - 1) * 100


def _bounds(pair: list[float], form: str | None) -> str:
    if len(pair) < 2:
        return ""
    low, high = (form.format(one) if form else factor(one) for one in pair)
    return f" [{low}, {high}]"


def headline(index: Index, baseline: str) -> str:
    """One sentence for a system: how it stands against the baseline on the whole."""
    metrics = "metric" if index.metrics == 1 else "metrics"
    what = f"over {index.metrics} {metrics}" + (f" ({len(index.missing)} missing)" if index.missing else "")
    if index.ratio is None:
        return f"{index.system}: no block has every metric, so there is no figure for the whole"
    if index.ratio.low is None:
        return (
            f"{index.system} against {baseline}: {how_much(index.ratio)} in geometric mean {what}, "
            f"but {index.blocks} blocks are too few for a verdict"
        )
    if index.verdict == verdict.EQUIVALENT:
        return f"{index.system} and {baseline} are equivalent {what}: {how_much(index.ratio)}"
    if index.verdict == verdict.UNRESOLVED:
        return f"{index.system} against {baseline} is unresolved {what}: {how_much(index.ratio)}"
    return f"{index.system} is {how_much(index.ratio)} than {baseline}, in geometric mean {what}"


def verdict_text(one: Comparison) -> str:
    """The verdict with its mark."""
    return f"{MARKS[one.verdict]} {one.verdict}"


def remarks(one: Comparison) -> str:
    """The flags, and how many blocks would settle what is open."""
    words = list(one.flags)
    if one.blocks_needed is not None and one.blocks:
        words.insert(0, f"some {one.blocks_needed} blocks would settle {one.margin:.0%}")
    return "; ".join(words)
