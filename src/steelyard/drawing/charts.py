"""Turns comparisons and per-trial figures into Altair charts in the colours of the page around them.

Every colour is a CSS variable of the page, so one chart serves light, dark and print. Colour is never the
only sign: each verdict has a shape (`VERDICTS`), each system its own (`SYSTEM_SHAPES`). Altair's schema
validation is skipped: it costs more than the rest of the report, and the tests open the page in a browser.
For the same reason every channel is an object (`alt.X2("high:Q")`): for a plain "high:Q" Altair first
compares all its schemas, which takes 10 ms.
"""

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
from altair.utils import schemapi

from steelyard import quantities
from steelyard.statistics import verdict
from steelyard.statistics.signed_rank import Estimate

Spec = dict[str, Any]
Records = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Shape:
    """A symbol: an SVG path within -1..1, and whether it is filled."""

    path: str
    is_filled: bool
    colour: str


_UP, _DOWN = "M0,-.9L1,.8H-1Z", "M0,.9L1,-.8H-1Z"
_FAST, _SLOW, _PLAIN = "var(--faster)", "var(--slower)", "var(--ink)"
VERDICTS = {
    verdict.FASTER: Shape(_UP, True, _FAST),
    verdict.SLOWER: Shape(_DOWN, True, _SLOW),
    verdict.EQUIVALENT: Shape("M-.9,-.75H.9V-.2H-.9Z M-.9,.2H.9V.75H-.9Z", True, _PLAIN),
    verdict.FASTER_OPEN: Shape(_UP, False, _FAST),
    verdict.SLOWER_OPEN: Shape(_DOWN, False, _SLOW),
    verdict.BOUNDED: Shape("M-.9,-.75H.9V-.2H-.9Z M-.9,.2H.9V.75H-.9Z", False, _PLAIN),
    verdict.UNRESOLVED: Shape("M-.75,0A.75,.75 0 1,1 .75,0A.75,.75 0 1,1 -.75,0Z", False, _PLAIN),
}
# No triangles: those are verdicts.
SYSTEM_SHAPES = (
    Shape("M-.8,0A.8,.8 0 1,1 .8,0A.8,.8 0 1,1 -.8,0Z", True, "var(--system-1)"),
    Shape("M-.75,-.75H.75V.75H-.75Z", False, "var(--system-2)"),
    Shape("M0,-1L1,0L0,1L-1,0Z", True, "var(--system-3)"),
    Shape("M-.3,-1H.3V-.3H1V.3H.3V1H-.3V.3H-1V-.3H-.3Z", True, "var(--system-4)"),
    Shape("M-.8,0A.8,.8 0 1,1 .8,0A.8,.8 0 1,1 -.8,0Z", False, "var(--system-5)"),
    Shape("M0,-1L1,0L0,1L-1,0Z", False, "var(--system-6)"),
)

CONFIG: Spec = {
    "background": None,
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--ink)",
        "titleColor": "var(--quiet)",
        "tickColor": "var(--line)",
        "domainColor": "var(--line)",
        "gridColor": "var(--grid)",
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
    },
    "text": {"color": "var(--ink)", "fontSize": 12},
}


unvalidated = schemapi.debug_mode(False)  # a decorator of what draws: Altair's objects are taken as they are


def shape_of(number: int) -> Shape:
    """The shape of the system with that number; they begin again when there are more systems than shapes."""
    return SYSTEM_SHAPES[number % len(SYSTEM_SHAPES)]


def spec_of(chart: alt.LayerChart | alt.FacetChart | alt.VConcatChart) -> Spec:
    """The chart's specification, without the address of its schema: a page fetches nothing."""
    spec: Spec = chart.to_dict(validate=False)
    return {name: value for name, value in spec.items() if name != "$schema"}


# Forest plot

_ROW, _LABEL, _HEADING = 20, 19, 30  # heights in pixels
LETTER = 7.2  # a letter's mean width at 12 pixels
LINE_NARROW = 48  # letters of a label where the page is narrow: 345 pixels
_NEAR = 1.25  # ratios within this factor of 1 are worth a picture of their own ...
_FAR = 3.0  # ... if the whole picture spans more than this


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a forest plot; `change` is the ratio in words, for its right edge."""

    group: str
    label: str
    system: str
    ratio: Estimate | None
    verdict: str
    margin: float
    change: str


def near_one(rows: Sequence[Row]) -> list[Row]:
    """The rows that the whole plot squeezes into the line at 1; none if the plot is narrow anyway."""
    low, high = _domain(rows)
    if high / low < _FAR:
        return []
    return [
        row
        for row in rows
        if row.ratio is not None
        and all(
            1 / _NEAR <= bound <= _NEAR
            for bound in (row.ratio.value, row.ratio.low or 1, row.ratio.high or 1)
        )
    ]


def forest(rows: Sequence[Row], *, baseline: str, is_wide: bool) -> Spec:
    """Ratios with their intervals on a log scale, the margin as a band about 1, a shape for the verdict.

    The y axis is in pixels, because labels are between the rows on a narrow page. The padding holds the
    labels; the page's script sets the width to the available room less the padding.
    """
    marks, labels, bands, height = _laid_out(rows, is_wide=is_wide)
    low, high = _domain(rows)
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    y_scale = alt.Scale(domain=[height, 0], nice=False)
    y = alt.Y("y:Q", scale=y_scale, axis=None)
    left = _left(rows, is_wide=is_wide)
    layers = [
        *_ground(bands, baseline, scale, y_scale, _ticks(low, high)),
        *_intervals(marks, scale, y),
        *_texts(marks, labels, y, left),
    ]
    chart = alt.layer(*layers, height=height).resolve_axis(x="independent")
    spec = spec_of(chart)
    right = max((len(row.change) for row in rows), default=0) * LETTER + 14
    return spec | {"autosize": "none", "padding": {"left": left, "right": right, "top": 40, "bottom": 24}}


def _left(rows: Sequence[Row], *, is_wide: bool) -> float:
    systems = {row.system for row in rows}
    room = (max(map(len, systems), default=0) * LETTER + 14) if len(systems) > 1 else 4
    return room + (max((len(row.label) for row in rows), default=0) * LETTER + 14 if is_wide else 0)


def _laid_out(rows: Sequence[Row], *, is_wide: bool) -> tuple[Records, Records, Records, float]:
    """The marks, labels and margin bands with their heights on the page, and the whole height."""
    marks: Records = []
    labels: Records = []
    bands: Records = []
    several = len({row.system for row in rows}) > 1
    y = 0.0
    last: Row | None = None
    for row in rows:
        if last is None or row.group != last.group:
            labels.append({"y": y + _HEADING / 2, "text": row.group, "role": "group"})
            bands.append({"low": 1 / (1 + row.margin), "high": 1 + row.margin, "top": y + _HEADING})
            y += _HEADING
            last = None
        if last is None or row.label != last.label:
            lines = [row.label] if is_wide else textwrap.wrap(row.label, LINE_NARROW)
            for line in lines:
                y += 0 if is_wide else _LABEL
                place = y + _ROW / 2 if is_wide else y - _LABEL / 2 + 2
                labels.append({"y": place, "text": line, "role": "label"})
        marks.append(_mark(row, y + _ROW / 2, several))
        y += _ROW
        bands[-1]["bottom"] = y
        last = row
    return marks, labels, bands, y + 4


def _mark(row: Row, y: float, several: bool) -> dict[str, Any]:
    ratio = row.ratio or Estimate(math.nan)
    mark = {
        "y": y,
        "system": row.system if several else "",
        "verdict": row.verdict,
        "change": row.change,
        "about": f"{row.system}, {row.label}",
    }
    if row.ratio is not None:
        low, high = _bounds(ratio)
        mark |= {"ratio": ratio.value, "low": low, "high": high}
    return mark


def _bounds(ratio: Estimate) -> tuple[float | None, float | None]:
    """The interval to draw: none if it is so wide that it would squeeze everything else."""
    return (ratio.low, ratio.high) if quantities.is_known(ratio.low, ratio.high) else (None, None)


def _domain(rows: Iterable[Row]) -> tuple[float, float]:
    """The axis: from below the lowest bound to above the highest, with 1 and the margins inside."""
    bounds = [1 / 1.01, 1.01]
    for row in rows:
        bounds += [1 / (1 + row.margin), 1 + row.margin]
        if row.ratio is not None:
            bounds += [bound for bound in (row.ratio.value, *_bounds(row.ratio)) if bound]
    room = (max(bounds) / min(bounds)) ** 0.04
    return min(bounds) / room, max(bounds) * room


def _ticks(low: float, high: float) -> list[float]:
    """Round ratios within the limits: powers of ten, more between where few fit, or steps about 1."""
    powers = range(math.ceil(math.log10(max(high, 1 / low))) + 1)
    for between in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        above = {factor * 10.0**power for power in powers for factor in between}
        ticks = [value for value in sorted(above | {1 / value for value in above}) if low <= value <= high]
        if len(ticks) >= 4:
            return ticks
    reach = max(high - 1, 1 - low)
    step = next(size for size in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if reach / size <= 4 or size == 0.5)
    return [round(1 + step * count, 6) for count in range(-8, 9) if low <= 1 + step * count <= high]


def _ground(
    bands: Records, baseline: str, scale: Any, y_scale: Any, ticks: list[float]
) -> Iterable[alt.Chart]:
    """The margin bands, the line at 1, and the axis above and below."""
    # As 1/2 only what is such a part: 0.6 is no 1/1.66667.
    part = "datum.value < 0.7 && abs(10 / datum.value - round(10 / datum.value)) < 1e-6"
    label = f"{part} ? '1/' + format(1 / datum.value, ',~r') : format(datum.value, ',~r')"
    title = f"← slower   ·   {baseline} = 1, log scale   ·   faster →"
    known: Spec = {
        "values": ticks,
        "labelExpr": label,
        "domain": False,
        "labelOverlap": "greedy",
        "labelSeparation": 6,
    }
    above = alt.Axis(orient="top", title=title, titleLimit=360, titlePadding=6, **known)
    below = alt.Axis(orient="bottom", title=None, grid=False, **known)
    base = alt.Chart(alt.InlineData(values=bands))
    yield base.mark_rect(color="var(--band)").encode(
        x=alt.X("low:Q", scale=scale, axis=above),
        x2=alt.X2("high:Q"),
        y=alt.Y("top:Q", scale=y_scale, axis=None),
        y2=alt.Y2("bottom:Q"),
    )
    one = alt.Chart(alt.InlineData(values=[{"one": 1}]))
    yield one.mark_rule(color="var(--ink)").encode(x=alt.X("one:Q", scale=scale, axis=below))


def _intervals(marks: Records, scale: Any, y: Any) -> Iterable[alt.Chart]:
    base = alt.Chart(alt.InlineData(values=marks))
    look = coded("verdict", list(VERDICTS), list(VERDICTS.values()))
    stroke = look.pop("stroke")
    bounded = base.transform_filter("isValid(datum.low)")
    yield bounded.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", scale=scale, axis=None), x2=alt.X2("high:Q"), y=y, stroke=stroke
    )
    tooltip = [
        *(alt.Tooltip(f"{name}:N") for name in ("about", "change", "verdict")),
        *(alt.Tooltip(f"{name}:Q", format=".4~r") for name in ("ratio", "low", "high")),
    ]
    placed = base.transform_filter("isValid(datum.ratio)")
    yield placed.mark_point(size=90, opacity=1, strokeWidth=1.4).encode(
        x=alt.X("ratio:Q", scale=scale, axis=None), y=y, stroke=stroke, tooltip=tooltip, **look
    )


def coded(field: str, names: Sequence[str], shapes: Sequence[Shape]) -> Spec:
    """The channels by which the field's values look like these shapes."""

    def scale(codes: Iterable[str]) -> alt.Scale:
        return alt.Scale(domain=list(names), range=list(codes))

    paper = "var(--paper)"
    return {
        "stroke": alt.Stroke(f"{field}:N", scale=scale(one.colour for one in shapes), legend=None),
        "shape": alt.Shape(f"{field}:N", scale=scale(one.path for one in shapes), legend=None),
        "fill": alt.Fill(
            f"{field}:N", scale=scale(one.colour if one.is_filled else paper for one in shapes), legend=None
        ),
    }


def _texts(marks: Records, labels: Records, y: Any, left: float) -> Iterable[alt.Chart]:
    """The texts beside the plot: groups and labels at the left edge, systems, changes at the right."""
    titles = alt.Chart(alt.InlineData(values=labels))
    for role, weight in (("group", 700), ("label", 400)):
        chosen = titles.transform_filter(f"datum.role == '{role}'")
        style: Spec = {"align": "left", "fontWeight": weight}
        yield chosen.mark_text(**style).encode(x=at_pixels(-left), y=y, text=alt.Text("text:N"))
    base = alt.Chart(alt.InlineData(values=marks))
    yield base.mark_text(align="right", color="var(--quiet)").encode(
        x=at_pixels(-12), y=y, text=alt.Text("system:N")
    )
    yield base.mark_text(align="left").encode(
        x=at_pixels({"expr": "width + 12"}), y=y, text=alt.Text("change:N")
    )


def at_pixels(pixels: object) -> alt.XValue:
    """This position, whatever the scale; `alt.value` means the same, but takes Altair 10 ms."""
    return alt.XValue(pixels)  # type: ignore[no-untyped-call]


# Samples


def samples(systems: Sequence[str]) -> Spec:
    """Each trial as a mark over its block, with a line over the middle of its batches; ns on a log scale.

    The data is named "marks", for a page that draws many panels from the one specification.
    """
    look = coded("system", systems, [shape_of(number) for number in range(len(systems))])
    si = "format(datum.value * 1e-9, '.4~s') + 's'"
    axis = alt.Axis(labelExpr=si, title=None, tickCount=4, domain=False, minExtent=46)
    scale = alt.Scale(type="log", nice=False, padding=10)
    ticks = alt.Axis(title="block", tickMinStep=1, tickCount=6, grid=False, format="d")
    base = alt.Chart(alt.NamedData(name="marks")).encode(
        x=alt.X("x:Q", scale=alt.Scale(nice=False, zero=False, padding=6), axis=ticks),
        stroke=look.pop("stroke"),
    )
    spread = base.mark_rule(strokeWidth=1.2, opacity=0.6).encode(
        y=alt.Y("low:Q", scale=scale, axis=axis), y2=alt.Y2("high:Q")
    )
    tooltip = [
        alt.Tooltip("system:N"),
        alt.Tooltip("block:Q"),
        *(
            alt.Tooltip(f"{name}:Q", title=title, format=",.4~r")
            for name, title in (("value", "ns"), ("low", "10 %"), ("high", "90 %"))
        ),
    ]
    trials = base.mark_point(size=26, opacity=1, strokeWidth=1.3).encode(
        y=alt.Y("value:Q", scale=scale, axis=axis), tooltip=tooltip, **look
    )
    return spec_of(alt.layer(spread, trials, height=150))
