"""Turns an evaluation into one HTML file that opens anywhere, offline: verdict, charts, tables, method."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from steelyard import destination
from steelyard.analysis import turns_and_alone
from steelyard.analysis.model import HARDWARE, Comparison, Evaluation, Gain, Index, Multiprogramming
from steelyard.analysis.observations import COST, FLOOR, GROUP, TYPICAL
from steelyard.drawing import charts, marks, study_figures
from steelyard.papers.source import Printed
from steelyard.quantities import counted_processors
from steelyard.report import answers, sentences, template
from steelyard.report.answers import Answer
from steelyard.statistics import verdict
from steelyard.statistics.signed_rank import Estimate
from steelyard.words import care, loads, notes, phrases, remarks, wording

_FOLDED_FROM = 150  # with more comparisons than this the page begins with its parts folded
_LABEL_MOST = 46  # letters beside the findings' plot
_SERIES_LEAST = 3  # marks of one system: fewer are no series, and stand as numbers
_EXPLAINED = {
    verdict.FASTER_OPEN: "faster; whether by more than the margin is open",
    verdict.SLOWER_OPEN: "slower; whether by more than the margin is open",
    verdict.BOUNDED: "no difference is claimed; if there is one, it lies within the line",
}
_LENSES = {
    FLOOR: "lower quartile of batches",
    TYPICAL: "median of batches",
    COST: "mean of batches",
    GROUP: "slowest copy, over all work",
}


def write(path: Path, evaluation: Evaluation, *, tables: Sequence[Printed]) -> None:
    """Writes the page to the path, whole or not at all. Raises OSError."""
    destination.write(path, html(evaluation, tables=tables))


@charts.unvalidated
def html(evaluation: Evaluation, *, tables: Sequence[Printed]) -> str:
    """The whole page."""
    shown = {
        "tables": tables,
        "verdicts": charts.VERDICTS,
        "lenses": _LENSES,
        "folded_from": _FOLDED_FROM,
        "tally_of": sentences.tally_of,
        **_names(evaluation),
    }
    sections = [
        (one, Markup(text))
        for one in _in_order(has_tables=bool(tables), has_answers=bool(shown["answers"]))
        if (text := template.render_plain(f"sections/{one.name}.html", shown, filters=_FILTERS).strip())
    ]
    return template.render("experiment.html", shown | {"sections": sections}, filters=_FILTERS)


@dataclass(frozen=True, slots=True)
class _Section:
    """A part of the page: sections/NAME.html, whose heading has the name as its id. It is empty where there
    is nothing to show."""

    name: str
    title: str = ""  # in the contents


SECTIONS = (
    _Section("findings", "Differences"),
    _Section("care"),
    _Section("indices", "Indices"),
    _Section("groups", "Groups"),
    _Section("processes", "Processes"),
    _Section("curves", "Curves"),
    _Section("figures", "Figures"),
    _Section("published", "Published tables"),
    _Section("gains", "Gains"),
    _Section("machine", "The machine"),
    _Section("loads", "Loads on servers"),
    _Section("levels", "Values"),
    _Section("ratios", "Every metric"),
    _Section("table", "Table"),
    _Section("alone", "Alone"),
    _Section("accounts", "Costs to this host"),
    _Section("samples", "Samples"),
    _Section("troubles", "Troubles"),
    _Section("systems", "Systems"),
    _Section("method", "How it was measured"),
)
_FIRST_OF_A_PAPER = ("processes", "figures", "published", "indices")
_FIRST_WITHOUT_ANSWERS = ("loads", "gains")


def _in_order(*, has_tables: bool, has_answers: bool) -> list[_Section]:
    """A paper's study begins with the paper's own figures; one without a comparison with its gains."""
    first = _FIRST_OF_A_PAPER if has_tables else () if has_answers else _FIRST_WITHOUT_ANSWERS
    return sorted(SECTIONS, key=lambda one: first.index(one.name) if one.name in first else len(first))


def _names(evaluation: Evaluation) -> dict[str, Any]:
    """Everything that the template names."""
    header = evaluation.experiment.header
    names = [system.name for system in evaluation.systems]
    study = evaluation.experiment.study  # None: of a version to come, whose text is shown all the same
    placed = marks.placed(evaluation.marks, names)
    samples = _samples(evaluation, placed)
    curve_panels = [(one, study_figures.of_curve(one, names)) for one in evaluation.curves]
    gain_panels = study_figures.of_gains(evaluation)
    drawn = study_figures.of_study(evaluation, study)
    processes = _processes(evaluation)
    answers_shown = answers.all_of(evaluation)
    findings = [row for one in answers_shown for row in _finding_rows(one, len(answers_shown) > 1)]
    groups = sentences.by_group(one for one in evaluation.comparisons if one.verdict in wording.MARKS)
    rows = [_row(one) for members in groups.values() for one in members]
    means = [_mean_row(one) for one in _whole_first(evaluation.indices)]
    others = list(evaluation.others)
    warnings = () if others else loads.warnings(evaluation.remarks)
    return {
        "evaluation": evaluation,
        "header": header,
        "version": header.get("steelyard", ""),
        "title": wording.title(others or names, evaluation.baseline if others else None),
        "finds": "a workload, group or verdict",
        "made_from": f" from experiment {evaluation.experiment.name}",
        "names": names,
        "shapes": {name: charts.shape_of(number) for number, name in enumerate(names)},
        "others": others,
        "answers": answers_shown,
        "care": answers.care_of(evaluation),
        "state": care.facts(evaluation.state),
        "notes": notes.of(evaluation, without=warnings),
        "warnings": warnings,
        "without_comparison": answers.without_comparison(evaluation),
        "load_tables": loads.tables(evaluation.server_loads, of_several=bool(others)),
        "of_monitors": notes.of_monitors(evaluation),
        "tallies": sentences.tallies(evaluation.comparisons),
        "found_verdicts": {row.verdict for row in findings},
        "explained": _EXPLAINED,
        "groups": groups,
        "gains": _gains(evaluation.gains),
        "processes": processes,
        "alone": turns_and_alone.worth_a_word(evaluation.alone),
        "said_of_alone": wording.alone,
        "said_of_account": wording.account,
        "account_notes": list(wording.account_notes(evaluation.accounts)),
        "counted_processors": counted_processors,
        "machine_fact": wording.machine_fact,
        "efficiency": wording.efficiency,
        "said_of_processes": wording.multiprogramming,
        "gain_panels": gain_panels,
        "laws": wording.LAWS,
        "missing_laws": list(wording.missing_laws(evaluation.scalings)),
        "curve_panels": curve_panels,
        "is_drawn": lambda one: study_figures.is_drawn(one, study),
        "parts_of": wording.parts_of,
        "facts": sentences.facts(evaluation.systems),
        "hardware": HARDWARE,
        "indices": _whole_first(evaluation.indices),
        "charts": {"config": charts.CONFIG, **_forests(findings, rows, means, evaluation.baseline)},
        "again": again(header),
        "study": study,
        "samples": samples,
        "panels_json": {
            "spec": charts.samples(names),
            "marks": {group: [placed[one["key"]] for one in members] for group, members in samples.items()},
        },
        "pictures": drawn,
        "figure_specs": _figure_specs([panel for _, panel in curve_panels], gain_panels, drawn)
        | {f"lives {cell} {panel.title}": panel.specs for cell, _, shown in processes for panel in shown},
    }


def _figure_specs(
    curves: Sequence[study_figures.Chart],
    gains: Sequence[study_figures.Chart],
    drawn: Sequence[study_figures.Picture],
) -> dict[str, Any]:
    """Every picture's chart by the name that the page calls it."""
    by_name = {f"curve {panel.title}": panel.specs for panel in curves}
    by_name |= {f"gain {panel.title}": panel.specs for panel in gains}
    for number, picture in enumerate(drawn):
        for position, panel in enumerate(picture.panels):
            by_name[f"figure {number} {position}"] = panel.specs
    return {name: specs for name, specs in by_name.items() if specs}


def _forests(
    findings: list[charts.Row], rows: list[charts.Row], means: list[charts.Row], baseline: str
) -> dict[str, Any]:
    plots = {"findings": findings, "means": means, "forest": rows, "near": charts.near_one(rows)}
    return {
        "forests": {
            name: {
                width: charts.forest(plot, baseline=baseline, is_wide=width == "wide")
                for width in ("wide", "narrow")
            }
            for name, plot in plots.items()
            if plot
        }
    }


def _samples(evaluation: Evaluation, placed: Mapping[tuple[str, str], list[Any]]) -> dict[str, list[Any]]:
    """The data of the sample plots, in the study's order, by group of workloads."""
    blocks = {(mark.cell, mark.metric): mark.blocks for mark in evaluation.marks}
    workloads = evaluation.experiment.header["workloads"]
    by_group: dict[str, list[Any]] = {}
    for cell in evaluation.experiment.cells:
        workload = workloads[cell.workload]
        for metric in (one["name"] for one in workload["metrics"]):
            if (cell.label, metric) in placed:
                by_group.setdefault(workload["group"], []).append(
                    {
                        "label": wording.label(cell.label, metric),
                        "operation": workload["operation"],
                        "key": (cell.label, metric),
                        "numbers": _numbers(placed[cell.label, metric]),
                        "blocks_per_mark": blocks[cell.label, metric],
                        "copies": cell.copies,
                        "summary": workload["summary"],
                    }
                )
    return by_group


def _numbers(placed: Iterable[Mapping[str, Any]]) -> list[str]:
    """Each system's marks as numbers, if there are too few for a series."""
    by_system: dict[str, list[str]] = {}
    for mark in placed:
        by_system.setdefault(mark["system"], []).append(wording.time_ns(mark["value"]))
    if max(map(len, by_system.values()), default=0) >= _SERIES_LEAST:
        return []
    return [f"{system} {', '.join(values)}" for system, values in by_system.items()]


# Rows and tables


def _finding_rows(one: Answer, with_system: bool) -> Iterable[charts.Row]:
    """A row a finding, then one for what of each group is the same, from bound to bound."""
    group = one.system if with_system else ""
    for each in one.findings:
        if each.sense in answers.PLACES:  # not a speed: described in words, below the plot
            continue
        yield charts.Row(
            group,
            answers.labelled(each, _LABEL_MOST),
            one.system,
            each.ratio,
            each.verdict,
            each.margin,
            each.size,
        )
    for same in one.same:
        within = Estimate(1.0, 1 / (1 + same.within), 1 + same.within)
        change = f"≤ {wording.within(same.within)}"
        yield charts.Row(
            "no difference above" if not with_system else f"{one.system}, no difference above",
            f"{same.name}: {same.metrics} of {same.of}" if same.metrics < same.of else same.name,
            one.system,
            within,
            verdict.BOUNDED,
            0.0,
            change,
        )


def _row(one: Comparison) -> charts.Row:
    text = _short(one.ratio) if one.ratio else "no pair"
    name = wording.label(one.cell, one.metric)
    return charts.Row(one.group, name, one.system, one.ratio, one.verdict, one.margin, text)


def _mean_row(one: Index) -> charts.Row:
    name = "everything" if one.group == "all" else phrases.of_group(one.group).name
    text = _short(one.ratio) if one.ratio else "no pair"
    return charts.Row("geometric means", name, one.system, one.ratio, one.verdict, one.margin, text)


def _whole_first(indices: Sequence[Index]) -> list[Index]:
    """The indices over all groups, then group by group, the systems side by side."""
    order = ["all", *dict.fromkeys(one.group for one in indices)]
    return sorted(indices, key=lambda one: order.index(one.group))


def _processes(
    evaluation: Evaluation,
) -> list[tuple[str, list[Multiprogramming], list[study_figures.Chart]]]:
    """Cell by cell: what many processes did on each system, and the picture of their lives."""
    by_cell: dict[str, list[Multiprogramming]] = {}
    for one in evaluation.multiprogramming:
        by_cell.setdefault(one.cell, []).append(one)
    return [(cell, members, study_figures.of_processes(members)) for cell, members in by_cell.items()]


def _gains(gains: Iterable[Gain]) -> dict[tuple[str, int], dict[str, Gain]]:
    """Each system's speed-up, by workload (and metric) and copies."""
    by_label: dict[tuple[str, int], dict[str, Gain]] = {}
    for one in gains:
        by_label.setdefault((wording.label(one.cell, one.metric), one.copies), {})[one.system] = one
    return by_label


def again(header: Mapping[str, Any]) -> str | None:
    """The command that repeats the experiment, in the same random order."""
    command = header.get("command")
    if not command or "--seed" in command:
        return command
    return f"{command} --seed {header['seed']}"


# Figures


def _short(estimate: Estimate) -> str:
    """The ratio in words without its interval."""
    return wording.how_much(Estimate(estimate.value))


_FILTERS: dict[str, Callable[..., Any]] = {
    "factor": wording.factor,
    "interval": wording.interval,
    "duration": wording.time_ns,
    "change": _short,
    "remarks": wording.remarks,
    "sentence": lambda one: remarks.text(one) if one else "",
    "reason": remarks.reason,
    "failure": wording.failure,
    "why": wording.why,
    "why_long": wording.why_long,
    "cost": wording.cost,
    "cost_of": wording.cost_of,
    "signed": wording.signed,
    "percent": wording.percent,
    "cost_interval": wording.cost_interval,
    "value": wording.value,
    "value_interval": wording.value_interval,
    "quantity": wording.quantity,
    "quantity_interval": wording.quantity_interval,
    "throughput": wording.throughput,
    "declines": wording.declines,
    "level": sentences.level,
}
