"""Turns a watch's account into Altair charts: processes over time, series, system calls by type."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from steelyard.drawing import lanes
from steelyard.drawing.charts import LETTER, Records, Spec, at_pixels, spec_of
from steelyard.drawing.lanes import Lanes
from steelyard.quantities import digits

# The first is for the program that used most; "(others)" are those without a colour of their own.
COLOURS = tuple(f"var(--system-{number})" for number in (3, 2, 4, 5, 6, 1))
OTHERS, OTHERS_COLOUR = "(others)", "var(--line)"
_LANE, _LANES_HEIGHT, _WRITTEN_FROM = 18, 420, 12  # pixels; thinner bars have no room for a name
_LINE_HEIGHT, _BAR = 130, 17
_POINTS_MOST = 300  # of a line; more intervals are merged into means, with a band from minimum to maximum


@dataclass(frozen=True, slots=True)
class StepLine:
    """One thing over time: its value in each interval."""

    name: str
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class Bar:
    """One type of call: how often, its interval if it is an estimate, and how often it failed."""

    name: str
    count: float
    low: float | None
    high: float | None
    errors: float


def timeline(lanes: Lanes, colours: Mapping[str, str], *, begin_ns: int, end_ns: int) -> Spec:
    """Processes as bars over the seconds of the watch. The page's script sets the width."""
    lane = _LANE if lanes.count * _LANE <= _LANES_HEIGHT else max(_LANES_HEIGHT // lanes.count, 2)
    span_ns = max(end_ns - begin_ns, 1)
    bars = [_bar(one, colours, begin_ns, span_ns) for one in lanes.bars]
    base = alt.Chart(alt.InlineData(values=bars))
    scale = alt.Scale(domain=[0, span_ns / 1e9], nice=False)
    axis = alt.Axis(title=None, labelExpr=_SECONDS, grid=True, labelFlush=True, tickCount=6)
    y_scale = alt.Scale(domain=[lanes.count, 0], nice=False)
    names = list(dict.fromkeys(bar["shown"] for bar in bars))
    fill = alt.Fill(
        "shown:N",
        scale=alt.Scale(domain=names, range=[colours.get(name, OTHERS_COLOUR) for name in names]),
        legend=None,
    )
    gap = 1 if lane >= 6 else 0
    marked = base.mark_rect(
        stroke="var(--paper)" if gap else None, strokeWidth=gap, minBandSize=1, clip=True
    ).encode(
        x=alt.X("from:Q", scale=scale, axis=axis),
        x2=alt.X2("to:Q"),
        y=alt.Y("top:Q", scale=y_scale, axis=None),
        y2=alt.Y2("bottom:Q"),
        fill=fill,
        tooltip=[alt.Tooltip("about:N", title="process")],
    )
    layers = [marked]
    if lane >= _WRITTEN_FROM:
        style: Spec = {"align": "left", "dx": 4, "fontSize": 11, "baseline": "middle", "clip": True}
        layers.append(
            base.transform_filter(f"datum.share * width > 8 + {LETTER} * length(datum.program)")
            .mark_text(**style)
            .encode(
                x=alt.X("from:Q", scale=scale, axis=axis),
                y=alt.Y("middle:Q", scale=y_scale, axis=None),
                text=alt.Text("program:N"),
                color=alt.condition(
                    f"datum.shown == '{OTHERS}'", alt.ColorValue("var(--ink)"), alt.ColorValue("var(--paper)")
                ),
            )
        )
    spec = spec_of(alt.layer(*layers, height=round(lane * max(lanes.count, 1))))
    return spec | {"autosize": "none", "padding": {"left": 4, "right": 14, "top": 4, "bottom": 24}}


_SECONDS = "format(datum.value, '~r') + ' s'"


def _bar(one: lanes.LaneBar, colours: Mapping[str, str], begin_ns: int, span_ns: int) -> dict[str, Any]:
    # Nothing is too short to be seen.
    end_ns = max(one.end_ns, one.begin_ns + span_ns // 1000)
    return {
        "from": _number((one.begin_ns - begin_ns) / 1e9),
        "to": _number((end_ns - begin_ns) / 1e9),
        "top": one.lane,
        "middle": one.lane + 0.5,
        "bottom": one.lane + 1,
        "share": round((end_ns - one.begin_ns) / span_ns, 4),
        "program": one.program if one.lives == 1 else f"{one.lives} × {one.program}",
        "shown": one.program if one.program in colours else OTHERS,
        "about": one.about,
    }


def lines(
    steps: Sequence[StepLine], begins_s: Sequence[float], ends_s: Sequence[float], *, unit: str
) -> Spec:
    """Values by interval as steps; the second line is dashed, the third dotted."""
    marks, bands = [], []
    for line in steps:
        points = list(_thinned(line.values, begins_s, ends_s))
        marks += [{"x": x, "value": mean, "name": line.name} for x, mean, _, _ in points]
        if len(points) < len(line.values):
            bands += [{"x": x, "low": low, "high": high, "name": line.name} for x, _, low, high in points]
        marks.append({"x": ends_s[-1], "value": marks[-1]["value"], "name": line.name})
    names = [line.name for line in steps]
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[begins_s[0], ends_s[-1]], nice=False),
        axis=alt.Axis(title=None, labelExpr=_SECONDS, grid=False, labelFlush=True, tickCount=5),
    )
    y_axis = alt.Axis(title=None, labelExpr=_LABELS[unit], domain=False, tickCount=4, minExtent=46)

    def y(field: str) -> alt.Y:
        return alt.Y(field, scale=alt.Scale(zero=True, nice=True), axis=y_axis)

    colours = alt.Scale(domain=names, range=list(COLOURS[: len(names)]))
    stroke = alt.Stroke("name:N", scale=colours, legend=None)
    dash = alt.StrokeDash(
        "name:N",
        scale=alt.Scale(domain=names, range=[list(one) for one in DASHES[: len(names)]]),
        legend=None,
    )
    layers = [
        alt.Chart(alt.InlineData(values=bands))
        .mark_area(opacity=0.18, interpolate="step-after")
        .encode(x=x, y=y("low:Q"), y2=alt.Y2("high:Q"), fill=alt.Fill("name:N", scale=colours, legend=None)),
        alt.Chart(alt.InlineData(values=marks))
        .mark_line(strokeWidth=1.6, interpolate="step-after")
        .encode(x=x, y=y("value:Q"), stroke=stroke, strokeDash=dash),
    ]
    return spec_of(alt.layer(*(layers if bands else layers[1:]), height=_LINE_HEIGHT))


DASHES = ((1, 0), (6, 3), (2, 2), (8, 2, 2, 2), (1, 3))
_LABELS = {
    "share": "format(datum.value, '~%')",
    "count": "format(datum.value, '~s')",
    "bytes": "format(datum.value, '~s') + 'B'",
}


def _thinned(
    values: Sequence[float], begins_s: Sequence[float], ends_s: Sequence[float]
) -> Iterable[tuple[float, float, float, float]]:
    """Time, mean, minimum and maximum of each group of neighbouring intervals."""
    width = -(-len(values) // _POINTS_MOST)
    for first in range(0, len(values), width):
        some = values[first : first + width]
        spans = [
            end - begin
            for begin, end in zip(begins_s[first : first + width], ends_s[first : first + width], strict=True)
        ]
        mean = sum(value * span for value, span in zip(some, spans, strict=True)) / (sum(spans) or 1)
        yield begins_s[first], _number(mean), _number(min(some)), _number(max(some))


def bars(rows: Sequence[Bar]) -> Spec:
    """The number of calls of each type, with the failed ones; intervals of estimates."""
    values: Records = [
        {
            "name": one.name,
            "count": one.count,
            "errors": one.errors,
            "low": one.low,
            "high": one.high,
            "text": digits(one.count),
            "top": number + 0.12,
            "middle": number + 0.5,
            "bottom": number + 0.88,
        }
        for number, one in enumerate(rows)
    ]
    most = max((one.high or one.count for one in rows), default=1) or 1
    base = alt.Chart(alt.InlineData(values=values))
    y_scale = alt.Scale(domain=[len(rows), 0], nice=False)
    scale = alt.Scale(domain=[0, most], nice=False)
    middle = alt.Y("middle:Q", scale=y_scale, axis=None)

    def rectangles(to: str, colour: str) -> Any:
        return base.mark_rect(color=colour).encode(
            x=alt.X("zero:Q", scale=scale, axis=None),
            x2=to,
            y=alt.Y("top:Q", scale=y_scale, axis=None),
            y2=alt.Y2("bottom:Q"),
            tooltip=[alt.Tooltip(f"{name}:Q", format=",.4~r") for name in ("count", "errors")],
        )

    zeroed = base.transform_calculate(zero="0")
    base = zeroed
    layers = [
        rectangles("count:Q", "var(--system-3)"),
        rectangles("errors:Q", "var(--slower)"),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(color="var(--ink)", strokeWidth=1.2)
        .encode(x=alt.X("low:Q", scale=scale, axis=None), x2=alt.X2("high:Q"), y=middle),
        base.mark_text(align="right").encode(x=at_pixels(-8), y=middle, text=alt.Text("name:N")),
        base.mark_text(align="left", color="var(--quiet)").encode(
            x=at_pixels({"expr": "width + 6"}), y=middle, text=alt.Text("text:N")
        ),
    ]
    left = max((len(one.name) for one in rows), default=0) * LETTER + 10
    right = max((len(digits(one.count)) for one in rows), default=0) * LETTER + 8
    spec = spec_of(alt.layer(*layers, height=_BAR * len(rows)))
    return spec | {"autosize": "none", "padding": {"left": left, "right": right, "top": 2, "bottom": 2}}


def _number(value: float) -> float:
    return float(f"{value:.6g}")
