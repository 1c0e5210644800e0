"""Says what a gate has decided: as text, Markdown for a pull request, JSON, JUnit's XML, and for Bencher."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from xml.etree import ElementTree

from steelyard.analysis.gating import FAILED, OPEN, RULED_OUT, WORSE, Gate, Gated
from steelyard.quantities import number_of
from steelyard.report.answers.words import duration
from steelyard.report.markdown import cell, table
from steelyard.words import wording

_STATES = {
    WORSE: "worse",
    FAILED: "failed",
    OPEN: "not decided",
    RULED_OUT: "not worse",
}
_MARKS = {WORSE: "▼", FAILED: "✗", OPEN: "?", RULED_OUT: "="}


def heading(gate: Gate) -> str:
    """The verdict in one line."""
    return f"{gate.new} vs {gate.old}: {_verdict(gate)}"


def _verdict(gate: Gate) -> str:
    worse, failed = len(gate.of(WORSE)) + len(gate.by_processor), len(gate.of(FAILED))
    metrics, undecided = number_of(len(gate.metrics), "metric"), len(gate.of(OPEN))
    if not gate.metrics:
        return "nothing was measured that could be compared"
    if worse or failed:
        parts = (
            f"worse at {worse} of {metrics}" * bool(worse),
            f"{number_of(failed, 'metric')} failed" * bool(failed),
        )
        return ", ".join(filter(None, parts))
    if undecided:
        needed = gate.seconds_needed
        more = f"; about {duration(needed)} more would decide" if needed else ""
        return f"too little was measured for {undecided} of {metrics}{more}"
    return f"no slowdown beyond the margin at any of {metrics}"


def text(gate: Gate) -> str:
    rows = (f"  {_MARKS[one.state]} {_label(one)}: {_change(one)}, {_STATES[one.state]}" for one in gate.all)
    return "\n".join([f"{heading(gate)}.", *rows])


def markdown(gate: Gate) -> str:
    """The verdict first, then what changed, then what was ruled out."""
    lines = [f"**{cell(heading(gate))}**", ""]
    if told := [one for one in gate.all if one.state != RULED_OUT]:
        lines += table(("metric", gate.old, gate.new, "change", ""), map(_row, told))
    ruled_out = gate.of(RULED_OUT)
    if ruled_out:
        lines += [f"<details><summary>No slowdown: {number_of(len(ruled_out), 'metric')}</summary>", ""]
        lines += [
            f"- {cell(_label(one))}: {_change(one)} (margin {_percent(one.comparison.margin)})"
            for one in ruled_out
        ]
        lines += ["", "</details>", ""]
    return "\n".join(lines)


def as_json(gate: Gate) -> str:
    return json.dumps(
        {
            "old": gate.old,
            "new": gate.new,
            "status": gate.status,
            "verdict": heading(gate),
            "seconds_needed": gate.seconds_needed,
            "metrics": [_object(one) for one in gate.all],
        },
        indent=1,
    )


def junit(gate: Gate) -> str:
    """A test suite with a case for each metric; what is not decided is skipped."""
    suite = ElementTree.Element("testsuite", name=heading(gate), tests=str(len(gate.all)))
    failures = 0
    for one in gate.all:
        case = ElementTree.SubElement(suite, "testcase", classname="steelyard.gate", name=_label(one))
        if one.state in (WORSE, FAILED):
            failures += 1
            ElementTree.SubElement(case, "failure", message=_change(one)).text = _STATES[one.state]
        elif one.state == OPEN:
            ElementTree.SubElement(case, "skipped", message=_change(one))
        else:
            ElementTree.SubElement(case, "system-out").text = _change(one)
    suite.set("failures", str(failures))
    suite.set("skipped", str(len(gate.of(OPEN))))
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def bencher(gate: Gate) -> str:
    """The new side's figures with their intervals, in the JSON that Bencher takes for metrics: by benchmark
    and measure. A time is its `latency`, in ns."""
    measures: dict[str, dict[str, dict[str, float]]] = {}
    for one in gate.all:
        compared = one.comparison
        if compared.value is None:
            continue
        figures = {"value": compared.value.value}
        for name, bound in (("lower_value", compared.value.low), ("upper_value", compared.value.high)):
            if bound is not None:
                figures[name] = bound
        measure = "latency" if compared.metric == "time" else _slug(compared.metric)
        measures.setdefault(compared.cell, {})[measure] = figures
    return json.dumps(measures, indent=1)


def _slug(metric: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", metric.lower()).strip("-")


FORMS: Mapping[str, Callable[[Gate], str]] = {
    "text": text,
    "markdown": markdown,
    "json": as_json,
    "junit": junit,
    "bencher": bencher,
}


def _label(one: Gated) -> str:
    return wording.label(one.comparison.cell, one.comparison.metric)


def _change(one: Gated) -> str:
    """How much worse or better, with its bounds: "+3.1 % [+2.0, +4.2]"."""
    if one.change is None:
        return "no figure"
    bounds = f" [{one.bounds[0] * 100:+.1f}, {one.bounds[1] * 100:+.1f}]" if one.bounds else ""
    return f"{one.change * 100:+.1f} %{bounds}"


def _row(one: Gated) -> Sequence[str]:
    compared = one.comparison
    values = (
        wording.value(value.value, compared.unit) if value else "–"
        for value in (compared.baseline_value, compared.value)
    )
    return (_label(one), *values, _change(one), _STATES[one.state])


def _percent(share: float) -> str:
    return f"{share * 100:.3g} %"


def _object(one: Gated) -> dict[str, object]:
    compared = one.comparison
    return {
        "metric": _label(one),
        "unit": compared.unit,
        "state": one.state,
        "margin": compared.margin,
        "change": one.change,
        "bounds": one.bounds,
        "old": compared.baseline_value.value if compared.baseline_value else None,
        "new": compared.value.value if compared.value else None,
        "blocks": compared.blocks,
        "seconds_needed": compared.seconds_needed,
    }
