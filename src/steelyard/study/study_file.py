"""Turns a TOML file into a `Study`, or says what is wrong with it: file, key, value, what is allowed."""

from collections.abc import Iterable
from dataclasses import replace
from importlib import resources
from pathlib import Path

from steelyard import toml_file
from steelyard.errors import SteelyardError, UnknownName, UsageError
from steelyard.study import bounds, model, presentation, system_definition
from steelyard.study.model import (
    MARGINS,
    PROCESSORS,
    THIS,
    TIMING,
    TWICE,
    UP_TO,
    Design,
    Levels,
    Machine,
    Study,
    duration_s,
)
from steelyard.toml_file import WHOLE_MOST, Reader


def bundled() -> dict[str, Path]:
    """Name and file of every study that comes with Steelyard."""
    folder = Path(str(resources.files("steelyard"))) / "study" / "bundled"
    return {file.stem: file for file in sorted(folder.glob("*.toml"))}


def read(name: str) -> Study:
    """The study of that bundled name, or in that file (a name with a slash or ending in .toml).

    Raises UnknownName, StudyError, or UsageError where the file cannot be read.
    """
    text, path = toml_file.read("study", name, bundled())
    return parse(text, file=str(path))


def parse(text: str, *, file: str) -> Study:
    """The study that the text describes; `file` is for messages only. Raises StudyError or UsageError."""
    reader = toml_file.parse("study", text, file=file)
    parts, texts = _included(reader)
    machines = {name: _machine(name, part) for name, part in reader.named_parts("machine").items()}
    study = Study(
        name=reader.name("name"),
        title=reader.text("title"),
        text=text + texts,
        systems=tuple(reader.texts("systems", ("native", "native-musl"), least=1, most=bounds.SYSTEMS_MOST)),
        workloads=tuple(_levels(part) for part in reader.parts("workload")),
        design=_design(reader.part("design")),
        margins=MARGINS | _margins(reader.part("margin")),
        trial=tuple(sorted(_trial(reader.part("trial")).items())),
        definitions=tuple(
            system_definition.read(name, part, machines)
            for name, part in reader.named_parts("system").items()
        ),
        tables=tuple(presentation.table(part) for part in reader.parts("table")),
        builds=tuple(reader.texts("builds", (), most=bounds.SYSTEMS_MOST)),
        curve_tables=tuple(presentation.curve_table(part) for part in reader.parts("curve_table")),
        cell_tables=tuple(presentation.cell_table(part) for part in reader.parts("cell_table")),
        figure_tables=tuple(presentation.figure_table(part) for part in reader.parts("figure_table")),
        figures=tuple(presentation.figure(part) for part in reader.parts("figure")),
        indices=tuple(presentation.index(part) for part in reader.parts("index")),
        peer=reader.text("peer", ""),
    )
    reader.finish()
    if study.peer and not model.is_peer(study.peer):
        raise reader.wrong("peer", study.peer, model.PEERS)
    study = _joined(study, parts)
    if not study.workloads:
        raise reader.wrong("workload", [], "at least one [[workload]] with a name")
    return study


def _included(reader: Reader) -> tuple[list[tuple[str, Study]], str]:
    """Title and study of each part; and their texts, as one more table, for an archive: a later version's
    parts may be others."""
    by_name = reader.part("included").rest()
    parts, texts = [], []
    for part in reader.parts("include"):
        name, title = part.text("study"), part.text("title")
        part.finish()
        text = by_name.get(name)
        if not isinstance(text, str):
            if name not in bundled():
                raise UnknownName("study", name, bundled(), where=f"{reader.file}: ")
            text, _ = toml_file.read("study", name, bundled())
            texts.append(f"{name} = '''\n{text}'''\n")
        inner = toml_file.parse("study", text, file=name)
        if inner.parts("include"):
            raise part.wrong("study", name, "a study that includes none")
        parts.append((title, parse(text, file=name)))
    return parts, "".join(["\n[included]\n", *texts]) if texts else ""


def _joined(study: Study, parts: Iterable[tuple[str, Study]]) -> Study:
    """The study with what its parts measure and show. Each workload keeps its part's way of timing; systems,
    design and margins are the study's own."""
    for title, part in parts:
        titled = (
            replace(figure, name=f"{part.name}: {figure.name}", title=f"{title}: {figure.title}")
            for figure in part.figures
        )
        known = {index.name for index in study.indices}
        study = replace(
            study,
            workloads=(*study.workloads, *(_timed(levels, part) for levels in part.workloads)),
            figures=(*study.figures, *titled),
            indices=(*study.indices, *(index for index in part.indices if index.name not in known)),
            tables=(*study.tables, *part.tables),
            curve_tables=(*study.curve_tables, *part.curve_tables),
            cell_tables=(*study.cell_tables, *part.cell_tables),
            figure_tables=(*study.figure_tables, *part.figure_tables),
            peer=study.peer or part.peer,
        )
    return study


def _timed(levels: Levels, part: Study) -> Levels:
    """With the part's parameters of every trial as the workload's own, unless it has others."""
    all_of = {name: (value,) for name, value in part.trial} | dict(levels.levels)
    return Levels(levels.workload, tuple(sorted(all_of.items())))


def archived(text: str) -> Study | None:
    """The study that an archive's header holds; None if this version cannot read it."""
    try:
        return parse(text, file="in the archive")
    except SteelyardError:
        return None


def _levels(part: Reader) -> Levels:
    name = part.text("name")
    varied = []
    for key, value in part.rest().items():
        values = value if isinstance(value, list) else [value]
        good = toml_file.is_list(values) and all(
            toml_file.is_text(one) or (type(one) is int and one >= 0) for one in values
        )
        if not good or not values:
            raise part.wrong(
                key, value, f'whole numbers, "{PROCESSORS}", "{UP_TO}", "{TWICE}", or a command line'
            )
        if key in TIMING and len(values) > 1:
            raise part.wrong(key, value, "one number: how a workload is timed is no level to be varied")
        varied.append((key, tuple(values)))
    return Levels(name, tuple(sorted(varied)))


def _design(part: Reader) -> Design:
    usual = Design()
    part.truth("scales", False)  # studies of earlier versions have it, and it means nothing any more
    looks = part.wholes("looks", (usual.blocks,))  # so have they these, of which the last is the most blocks
    design = Design(
        blocks=part.whole("blocks", max(2, looks[-1]), 2, bounds.BLOCKS_MOST),
        blocks_per_boot=part.whole("blocks_per_boot", usual.blocks_per_boot, 1, bounds.BLOCKS_MOST),
        budget_s=_time(part, "budget", usual.budget_s, most_s=bounds.BUDGET_MOST_S),
        trial_limit_s=_time(part, "trial_limit", usual.trial_limit_s, most_s=bounds.TRIAL_LIMIT_MOST_S),
    )
    part.finish()
    return design


def _time(part: Reader, key: str, default: float, *, most_s: float) -> float:
    value = part.take(key, None)
    if value is None:
        return default
    try:
        return duration_s(value if isinstance(value, str) else "", most_s=most_s)
    except UsageError:
        allowed = f'a time such as "90s" or "5m", from 1 ms to {most_s / 3600:,.0f} h'
        raise part.wrong(key, value, allowed) from None


def _margins(part: Reader) -> dict[str, float]:
    margins = part.rest()
    for group, value in margins.items():
        if group not in MARGINS:
            where = f"{part.file}: margin: "
            raise UnknownName("group", group, MARGINS, where=where)
        if not isinstance(value, float) or not 0 < value < 1:
            raise part.wrong(group, value, "a fraction such as 0.02")
    return margins


def _trial(part: Reader) -> dict[str, int]:
    parameters = part.rest()
    for key, value in parameters.items():
        if type(value) is not int or not 0 <= value <= WHOLE_MOST:
            raise part.wrong(key, value, f"a whole number from 0 to {WHOLE_MOST}")
    return parameters


def _machine(name: str, part: Reader) -> Machine:
    usual = Machine(name, "", ())
    machine = Machine(
        name,
        host=part.text("host"),
        switch=tuple(part.texts("switch", (), least=1)),
        wait_s=_time(part, "wait", usual.wait_s, most_s=bounds.WAIT_MOST_S),
        quiet_s=_time(part, "quiet", usual.quiet_s, most_s=bounds.WAIT_MOST_S),
    )
    part.finish()
    if machine.host != THIS and not machine.host.startswith("ssh:"):
        raise part.wrong("host", machine.host, '"ssh:HOST", as the ssh command knows it, or "this"')
    return machine
