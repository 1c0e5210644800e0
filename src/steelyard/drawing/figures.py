"""Turns values into Altair charts, on log scales: curves with their segments, bars of levels, lines over a
parameter, gains over copies. They wear the page's colours and the systems' shapes, as `charts` has them.
"""

import math
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from steelyard.analysis.model import CurveComparison, Gain, Level, Scaling, UsageFigure
from steelyard.drawing.charts import LETTER, Records, Spec, at_pixels, coded, shape_of, spec_of
from steelyard.statistics import scalability
from steelyard.study.model import AT

_TIME = "format(datum.value * 1e-9, '.3~s') + 's'"
_BANDWIDTH = "format(datum.value * 1e6, '.3~s') + 'B/s'"
_BYTES = (
    "datum.value >= 1073741824 ? format(datum.value / 1073741824, '~r') + ' GiB' : "
    "datum.value >= 1048576 ? format(datum.value / 1048576, '~r') + ' MiB' : "
    "datum.value >= 1024 ? format(datum.value / 1024, '~r') + ' KiB' : format(datum.value, '~r')"
)
_IN_BYTES = ("size", "block")  # parameters that are numbers of bytes in every workload that has them
_CURVE_HEIGHT, _LINES_HEIGHT = 260, 190
_FINE = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
_TICKS_MOST = 9  # sizes written under an axis


def curve(one: CurveComparison, systems: Sequence[str]) -> Spec:
    """Every system's curve: a mark at each size with its interval, and the fitted segments through them.

    A knee is a vertical line, and the band around it is its interval. The page's script sets the width.
    """
    marks, segments, knees = _curve_data(one)
    x_axis = _size_axis([mark["x"] for mark in marks], is_bytes=one.sweep_unit == "bytes", title=one.sweeps)
    x = alt.X("x:Q", scale=alt.Scale(type="log", base=2, nice=False, padding=8), axis=x_axis)
    y = _value_axis(one.unit, marks)
    look = coded("system", systems, [shape_of(number) for number in range(len(systems))])
    stroke = look.pop("stroke")
    chart = alt.Chart(alt.InlineData(values=knees))
    layers = [
        chart.mark_rect(opacity=0.14).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), fill=_filled(systems)),
        chart.mark_rule(strokeDash=[4, 3]).encode(x=alt.X("x:Q"), stroke=stroke),
        alt.Chart(alt.InlineData(values=segments)).mark_line(strokeWidth=1.6).encode(x=x, y=y, stroke=stroke),
        *_intervals(marks, one.unit, x, stroke, look),
    ]
    return spec_of(alt.layer(*layers, height=_CURVE_HEIGHT))


def _curve_data(one: CurveComparison) -> tuple[Records, Records, Records]:
    marks: Records = []
    segments: Records = []
    knees: Records = []
    for line in one.lines:
        marks += [
            {"x": size, "system": line.system, **_bounded(value.value, value.low, value.high)}
            for size, value in line.points
        ]
        segments += [{"x": x, "value": y, "system": line.system} for x, y in line.knots]
        knees += [
            {
                "x": knee.place.value,
                "low": knee.place.low or knee.place.value,
                "high": knee.place.high or knee.place.value,
                "system": line.system,
            }
            for knee in line.knees
        ]
    return marks, segments, knees


def _bounded(value: float, low: float | None, high: float | None) -> dict[str, float]:
    numbers = {"value": value, "low": low or value, "high": high or value}
    return {name: float(f"{number:.5g}") for name, number in numbers.items()}


def _filled(systems: Sequence[str]) -> alt.Fill:
    colours = [shape_of(number).colour for number in range(len(systems))]
    return alt.Fill("system:N", scale=alt.Scale(domain=list(systems), range=colours), legend=None)


def _intervals(marks: Records, unit: str, x: Any, stroke: Any, look: Spec) -> Iterable[alt.Chart]:
    base = alt.Chart(alt.InlineData(values=marks))
    yield base.mark_rule(strokeWidth=1.2, opacity=0.6).encode(
        x=x, y=_value_axis(unit, marks, "low:Q"), y2=alt.Y2("high:Q"), stroke=stroke
    )
    tooltip = [alt.Tooltip(f"{name}:N") for name in ("system", "x")]
    tooltip += [alt.Tooltip(f"{name}:Q", format=",.4~r") for name in ("value", "low", "high")]
    yield base.mark_point(size=30, opacity=1, strokeWidth=1.3).encode(
        x=x, y=_value_axis(unit, marks), stroke=stroke, tooltip=tooltip, **look
    )


def _size_axis(sizes: Iterable[float], *, is_bytes: bool, title: str) -> alt.Axis:
    """Powers of two, and no more of them than there is room for."""
    low, high = min(sizes, default=1.0), max(sizes, default=1.0)
    powers = [2.0**power for power in range(64) if low <= 2.0**power <= high]
    step = max(1, -(-len(powers) // _TICKS_MOST))
    return _places_axis(powers[::step], title, is_bytes=is_bytes, plain="~r")


def _places_axis(places: Sequence[float], title: str, *, is_bytes: bool, plain: str) -> alt.Axis:
    """Labels at those places: numbers of bytes, or numbers in the plain format."""
    labels: Spec = {"labelExpr": _BYTES} if is_bytes else {"format": plain}
    return alt.Axis(values=places, title=title, grid=False, labelOverlap="greedy", **labels)


def _label(unit: str) -> str:
    """How an axis writes values in that unit."""
    if unit == "MB/s":
        return _BANDWIDTH
    if unit.startswith("ns"):
        return _TIME
    return "format(datum.value, '.3~s')" + (f" + '{unit}'" if unit in ("/s", "%") else "")


def _value_axis(unit: str, marks: Records, field: str = "value:Q") -> alt.Y:
    label = _label(unit)
    bounds = [mark[name] for mark in marks for name in ("low", "high")]
    axis = alt.Axis(labelExpr=label, title=None, domain=False, minExtent=52, values=_ticks(bounds))
    return alt.Y(field, scale=alt.Scale(type="log", nice=False, padding=8), axis=axis)


def _ticks(values: Sequence[float]) -> list[float]:
    """Round numbers across the values: the fewer of each decade, the more decades there are."""
    low, high = min(values, default=1.0) / 1.3, max(values, default=1.0) * 1.3
    decades = math.log10(high / low)
    factors = (1,) if decades > 3 else (1, 3) if decades > 1.8 else (1, 2, 5) if decades > 0.7 else _FINE
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [factor * 10.0**power for power in powers for factor in factors]
    return [value for value in ticks if low <= value <= high]


# Bars

_BAR, _GAP, _HEADING, _NAME = 9, 8, 26, 18  # heights in pixels


@dataclass(frozen=True, slots=True)
class _Laid:
    """The bars and texts of a figure with their places in pixels from the top."""

    bars: Records
    texts: Records
    height: float


def bars(levels: Sequence[Level], systems: Sequence[str], *, is_wide: bool) -> Spec:
    """A row for each cell and metric, and in it a bar a system, on a log scale: shorter is faster for times,
    longer is faster for bandwidths. The padding holds the labels where there is room beside the bars."""
    laid = _bars_laid_out(levels, systems, is_wide=is_wide)
    values = [bar[name] for bar in laid.bars for name in ("low", "value", "high")]
    low, high = min(values, default=1.0) / 1.6, max(values, default=1.0) * 1.15
    unit = next((level.unit for level in levels), "")
    axis = alt.Axis(
        orient="top",
        labelExpr=_label(unit),
        title=None,
        domain=False,
        values=_ticks(values),
    )
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    y_scale = alt.Scale(domain=[laid.height, 0], nice=False)
    base = alt.Chart(alt.InlineData(values=[bar | {"from": low} for bar in laid.bars]))
    layers = [
        base.mark_rect(opacity=0.85).encode(
            x=alt.X("from:Q", scale=scale, axis=axis),
            x2=alt.X2("value:Q"),
            y=alt.Y("top:Q", scale=y_scale, axis=None),
            y2=alt.Y2("bottom:Q"),
            fill=_filled(systems),
            tooltip=[alt.Tooltip("system:N"), alt.Tooltip("about:N"), alt.Tooltip("value:Q", format=",.4~r")],
        ),
        base.mark_rule(strokeWidth=1.2, color="var(--ink)").encode(
            x=alt.X("low:Q", scale=scale), x2=alt.X2("high:Q"), y=alt.Y("middle:Q", scale=y_scale, axis=None)
        ),
        *_bar_texts(laid.texts, y_scale, is_wide=is_wide, left=_left(levels)),
    ]
    left = _left(levels) if is_wide else 2
    spec = spec_of(alt.layer(*layers, height=laid.height))
    return spec | {"autosize": "none", "padding": {"left": left, "right": 10, "top": 24, "bottom": 4}}


def _left(levels: Sequence[Level]) -> float:
    return max((len(_name(level)) for level in levels), default=0) * LETTER + 14


def _name(level: Level) -> str:
    return level.cell if level.metric in ("time", "bandwidth") else f"{level.cell}, {level.metric}"


def _bars_laid_out(levels: Sequence[Level], systems: Sequence[str], *, is_wide: bool) -> _Laid:
    placed: Records = []
    texts: Records = []
    y = 0.0
    last = ""
    by_row: dict[tuple[str, str], list[Level]] = {}
    for level in levels:
        by_row.setdefault((level.group, _name(level)), []).append(level)
    for (group, name), members in by_row.items():
        if group != last:
            texts.append({"y": y + _HEADING / 2, "text": group, "role": "group"})
            y += _HEADING
            last = group
        y += 0 if is_wide else _NAME
        middle = y + _BAR * len(members) / 2
        texts.append({"y": middle if is_wide else y - _NAME / 2 - 1, "text": name, "role": "name"})
        for level in sorted(members, key=lambda one: systems.index(one.system)):
            number = level.value
            placed.append(
                {
                    "system": level.system,
                    "about": name,
                    "top": y + 0.5,
                    "bottom": y + _BAR - 0.5,
                    "middle": y + _BAR / 2,
                    **_bounded(number.value, number.low, number.high),
                }
            )
            y += _BAR
        y += _GAP
    return _Laid(placed, texts, y)


def _bar_texts(texts: Records, y_scale: Any, *, is_wide: bool, left: float) -> Iterable[alt.Chart]:
    base = alt.Chart(alt.InlineData(values=texts))
    for role, weight in (("group", 700), ("name", 400)):
        style: Spec = {"align": "left", "fontWeight": weight}
        yield (
            base.transform_filter(f"datum.role == '{role}'")
            .mark_text(**style)
            .encode(
                x=at_pixels(-left if is_wide else 0),
                y=alt.Y("y:Q", scale=y_scale, axis=None),
                text=alt.Text("text:N"),
            )
        )


# Lines


def lines(levels: Sequence[Level], systems: Sequence[str], *, over: str) -> dict[str, Spec]:
    """A panel for each combination of the other parameters and the metric, by its title: the systems'
    values over that parameter. A title names the parameters that the panels differ in."""
    shown = [level for level in levels if over in dict(level.parameters)]
    known: dict[tuple[str, str], set[int | str]] = {}
    for level in shown:
        for name, value in level.parameters:
            known.setdefault((level.workload, name), set()).add(value)
    panels: dict[str, list[Level]] = {}
    for level in shown:
        varied = {name for name, _ in level.parameters if len(known[level.workload, name]) > 1} - {over}
        panels.setdefault(_titled(level, varied), []).append(level)
    return {title: _panel(members, systems, over=over) for title, members in panels.items()}


def _titled(level: Level, varied: Container[str]) -> str:
    rest = [f"{name}={value}" for name, value in level.parameters if name in varied]
    metric = [] if level.metric in ("time", "bandwidth") else [level.metric]
    return ", ".join([level.workload, *rest, *metric])


def _panel(levels: Sequence[Level], systems: Sequence[str], *, over: str) -> Spec:
    marks = [
        {
            "x": dict(level.parameters)[over],
            "system": level.system,
            **_bounded(level.value.value, level.value.low, level.value.high),
        }
        for level in levels
    ]
    sizes = sorted({float(mark["x"]) for mark in marks})
    is_log = min(sizes) > 0
    scale = (
        alt.Scale(type="log", base=2, nice=False, padding=8)
        if is_log
        else alt.Scale(type="symlog", padding=8)
    )
    is_bytes = over in _IN_BYTES and all(size < 1024 or size % 1024 == 0 for size in sizes)
    axis = _places_axis(sizes, over, is_bytes=is_bytes, plain="~s")
    x = alt.X("x:Q", scale=scale, axis=axis)
    y = _value_axis(levels[0].unit, marks)
    look = coded("system", systems, [shape_of(number) for number in range(len(systems))])
    stroke = look.pop("stroke")
    line = alt.Chart(alt.InlineData(values=marks)).mark_line(strokeWidth=1.2).encode(x=x, y=y, stroke=stroke)
    return spec_of(alt.layer(line, *_intervals(marks, levels[0].unit, x, stroke, look), height=_LINES_HEIGHT))


# Series


def over_time(points: Sequence[UsageFigure], systems: Sequence[str]) -> Spec:
    """The systems' values over the seconds since the load began, on even scales."""
    marks = [
        {
            "x": int(one.what.rpartition(AT)[2]) / 1000,
            "system": one.system,
            "value": float(f"{one.value.value:.5g}"),
        }
        for one in points
    ]
    label = _label(points[0].unit)
    x = alt.X(
        "x:Q", scale=alt.Scale(nice=False, zero=True), axis=alt.Axis(title="s", grid=False, tickCount=6)
    )
    y_axis = alt.Axis(labelExpr=label, title=None, domain=False, minExtent=52, tickCount=5)
    y = alt.Y("value:Q", scale=alt.Scale(zero=True), axis=y_axis)
    look = coded("system", systems, [shape_of(number) for number in range(len(systems))])
    stroke = look.pop("stroke")
    base = alt.Chart(alt.InlineData(values=marks))
    tooltip = [alt.Tooltip(f"{name}:N") for name in ("system", "x", "value")]
    layers = [
        base.mark_line(strokeWidth=1.2).encode(x=x, y=y, stroke=stroke),
        base.mark_point(size=20, opacity=1, strokeWidth=1.2).encode(
            x=x, y=y, stroke=stroke, tooltip=tooltip, **look
        ),
    ]
    return spec_of(alt.layer(*layers, height=_LINES_HEIGHT))


# Gains

_LOG_FROM = 16  # with more copies than this, both axes are on log scales
_STEPS = 60  # of a law's line


def gains(rows: Sequence[Gain], scalings: Sequence[Scaling], systems: Sequence[str]) -> Spec:
    """Gain over copies with intervals; dashed, what the processors could give at most; and through the marks
    the fitted law as far as it holds, or else min(N, saturation)."""
    ones = [{"x": 1, "system": name, "value": 1.0, "low": 1.0, "high": 1.0} for name in systems]
    marks = ones + [
        {
            "x": one.copies,
            "system": one.system,
            **_bounded(one.gain.value, one.gain.low, one.gain.high),
        }
        for one in rows
    ]
    most = max(one.copies for one in rows)
    known = [one.processors for one in scalings if one.processors]
    processors = min(max(known, default=most), most)
    ideal = [{"x": count, "value": min(count, processors)} for count in sorted({1, processors, most})]
    kind: Spec = {"type": "log", "base": 2} if most > _LOG_FROM else {"type": "linear", "zero": False}
    ticks = sorted({1, *(one.copies for one in rows)})
    plain: Spec = {"grid": False, "labelOverlap": "greedy", "format": "d"}
    x_axis = alt.Axis(values=ticks, title="copies", **plain)
    x = alt.X("x:Q", scale=alt.Scale(nice=False, padding=10, **kind), axis=x_axis)
    y_axis = alt.Axis(title=None, domain=False, minExtent=30, tickCount=5, format="~r")
    y_scale = alt.Scale(nice=False, padding=8, **kind)

    def y(field: str = "value:Q") -> alt.Y:
        return alt.Y(field, scale=y_scale, axis=y_axis)

    look = coded("system", systems, [shape_of(number) for number in range(len(systems))])
    stroke = look.pop("stroke")
    base = alt.Chart(alt.InlineData(values=marks))
    tooltip = [alt.Tooltip("system:N"), alt.Tooltip("x:Q", title="copies")]
    tooltip += [alt.Tooltip(f"{name}:Q", format=".4~r") for name in ("value", "low", "high")]
    layers = [
        alt.Chart(alt.InlineData(values=ideal))
        .mark_line(strokeDash=[4, 3], strokeWidth=1.2, color="var(--quiet)")
        .encode(x=x, y=y()),
        alt.Chart(alt.InlineData(values=_law_lines(scalings)))
        .mark_line(strokeWidth=1.6)
        .encode(x=x, y=y(), stroke=stroke),
        base.mark_rule(strokeWidth=1.2, opacity=0.6).encode(
            x=x, y=y("low:Q"), y2=alt.Y2("high:Q"), stroke=stroke
        ),
        base.mark_point(size=30, opacity=1, strokeWidth=1.3).encode(
            x=x, y=y(), stroke=stroke, tooltip=tooltip, **look
        ),
    ]
    return spec_of(alt.layer(*layers, height=_LINES_HEIGHT))


def _law_lines(scalings: Sequence[Scaling]) -> Records:
    lines: Records = []
    for one in scalings:
        counts = np.linspace(1, max(one.within or one.copies), _STEPS)
        if one.contention and one.coherency:
            shape = scalability.speedup(
                counts, contention=one.contention.value, coherency=one.coherency.value
            )
        elif one.worth:
            shape = np.minimum(counts, one.worth.value)
        else:
            continue
        lines += [
            {"x": round(x, 3), "value": round(value, 4), "system": one.system}
            for x, value in zip(counts.tolist(), shape.tolist(), strict=True)
        ]
    return lines
