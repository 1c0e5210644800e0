"""Turns the lives of many processes into a picture: each one a bar over time, and fairness below them."""

from collections.abc import Iterable, Sequence

import altair as alt

from steelyard.analysis.model import Life, Multiprogramming
from steelyard.drawing.charts import Records, Spec, spec_of
from steelyard.quantities import time_ns

_LIVES_HEIGHT, _FAIRNESS_HEIGHT = 300, 60
_THINNEST = 0.9  # pixels: a thinner bar is not seen
_SAME_SPAN = 4  # systems whose totals differ by less are shown over the same span of time


def span_ns(one: Multiprogramming, members: Iterable[Multiprogramming]) -> float:
    """The end of the axis: everybody's longest, or the system's own where others take many times longer."""
    own = _last(one)
    return max((last for last in map(_last, members) if last < _SAME_SPAN * own), default=own)


def _last(one: Multiprogramming) -> float:
    return max((life.ended_ns or life.began_ns or 0.0 for life in one.lives), default=0.0) or 1.0


def lives(one: Multiprogramming, *, until_ns: float) -> Spec:
    """Processes from top to bottom in the order of their requests. The page's script sets the width; times
    are in seconds.
    """
    height = max(_LIVES_HEIGHT, round(_THINNEST * len(one.lives)))
    x_scale = alt.Scale(domain=[0, until_ns / 1e9], nice=False)
    time = alt.Axis(title=None, labelExpr="format(datum.value, '~r') + ' s'", grid=True, labelFlush=True)
    rank = alt.Y(
        "top:Q",
        scale=alt.Scale(domain=[len(one.lives), 0], nice=False),
        axis=alt.Axis(title=None, values=_ranks(len(one.lives)), format="d", grid=False, minExtent=34),
    )
    bars = alt.Chart(alt.InlineData(values=_bars(one.lives)))
    colour = alt.Fill(
        "state:N",
        scale=alt.Scale(
            domain=["waiting", "running", "lost"], range=["var(--line)", "var(--system-1)", "var(--slower)"]
        ),
        legend=None,
    )
    drawn = bars.mark_rect(clip=True).encode(
        x=alt.X("from:Q", scale=x_scale, axis=time),
        x2=alt.X2("to:Q"),
        y=rank,
        y2=alt.Y2("bottom:Q"),
        fill=colour,
        tooltip=[alt.Tooltip("about:N", title="process")],
    )
    layers = [drawn.properties(height=height)]
    if one.fairness:
        layers.append(_fairness(one.fairness, x_scale))
    return spec_of(alt.vconcat(*layers, spacing=12).resolve_scale(x="shared"))


def _ranks(count: int) -> list[int]:
    """Numbers beside the first, the last, and some between."""
    step = next(
        (step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000) if count / step <= 8), 5000
    )
    return [0, *range(step, count - step // 2, step), count]


def _bars(members: Sequence[Life]) -> Records:
    bars: Records = []
    for number, life in enumerate(members):
        place = {"top": number, "bottom": number + 1, "about": _about(number, life)}
        if life.asked_ns is None:
            continue
        began = life.began_ns if life.began_ns is not None else life.ended_ns
        if began is not None and began > life.asked_ns:
            bars.append({**place, "from": _s(life.asked_ns), "to": _s(began), "state": "waiting"})
        if life.began_ns is not None and life.ended_ns is not None:
            state = "running" if life.status == "ok" else "lost"
            bars.append({**place, "from": _s(life.began_ns), "to": _s(life.ended_ns), "state": state})
    return bars


def _about(number: int, life: Life) -> str:
    facts = [f"number {number + 1}"]
    if life.began_ns is not None and life.asked_ns is not None:
        facts.append(f"started after {time_ns(life.began_ns - life.asked_ns)}")
    if life.began_ns is not None and life.ended_ns is not None:
        facts.append(f"took {time_ns(life.ended_ns - life.began_ns)}")
    if life.status != "ok":
        facts.append(life.status)
    return ", ".join(facts)


def _s(ns: float) -> float:
    return float(f"{ns / 1e9:.6g}")


def _fairness(series: Sequence[tuple[float, float, int]], x_scale: alt.Scale) -> alt.Chart:
    values = [{"at": _s(at), "index": round(index, 4), "of": count} for at, index, count in series]
    axis = alt.Axis(title=None, values=[0, 0.5, 1], format="~r", grid=True, minExtent=34)
    line = alt.Chart(alt.InlineData(values=values), height=_FAIRNESS_HEIGHT)
    drawn: alt.Chart = line.mark_line(strokeWidth=1.4, color="var(--ink)").encode(
        x=alt.X("at:Q", scale=x_scale, axis=None),
        y=alt.Y("index:Q", scale=alt.Scale(domain=[0, 1]), axis=axis),
        tooltip=[alt.Tooltip("index:Q"), alt.Tooltip("of:Q")],
    )
    return drawn
