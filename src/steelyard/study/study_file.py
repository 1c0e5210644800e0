"""Turns a TOML file into a `Study`, or says what is wrong with it: file, key, value, what is allowed."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib import resources
from pathlib import Path

from steelyard import toml_file
from steelyard.errors import SteelyardError, UnknownName
from steelyard.servers import description
from steelyard.study import bounds, model, presentation, sent, system_definition, tool
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
    ShortForm,
    Study,
)
from steelyard.toml_file import Reader


def bundled() -> dict[str, Path]:
    """Name and file of every study that comes with Steelyard."""
    folder = Path(str(resources.files("steelyard"))) / "study" / "bundled"
    return {file.stem: file for file in sorted(folder.glob("*.toml"))}


def read(name: str, *, is_short: bool = False) -> Study:
    """The study of that bundled name, or in that file (a name with a slash or ending in .toml), or its short
    form.

    Raises UnknownName, StudyError, or UsageError where the file cannot be read.
    """
    text, path = toml_file.read("study", name, bundled())
    study = parse(text, file=str(path), is_short=is_short)
    return replace(study, files=tuple(str(path.parent / file) for file in study.files))


def parse(text: str, *, file: str, is_short: bool = False) -> Study:
    """The study that the text describes; `file` is for messages only. In a short form the parts are short,
    too. Raises StudyError or UsageError."""
    reader = toml_file.parse("study", text, file=file)
    parts, texts = _included(reader, is_short=is_short)
    machines = {name: _machine(name, part) for name, part in reader.named_parts("machine").items()}
    study = Study(
        name=reader.name("name"),
        title=reader.text("title"),
        text=text + texts,
        systems=tuple(reader.texts("systems", ("native", "native-musl"), least=1, most=bounds.SYSTEMS_MOST)),
        workloads=tuple(_levels(part) for part in reader.parts("workload")),
        design=_design(reader.part("design")),
        margins=MARGINS | _margins(reader.part("margin")),
        trial=system_definition.trial(reader.part("trial")),
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
        tool=tool.read(reader.part("tool")),
        servers=tuple(description.of_part(part) for part in reader.parts("server")),
        files=tuple(reader.texts("with", ())),
    )
    study = replace(study, short=_short_form(reader.part("short"), study))
    reader.finish()
    if study.peer and not model.is_peer(study.peer):
        raise reader.wrong("peer", study.peer, model.PEERS)
    if allowed := sent.refusal(study.files):
        raise reader.wrong("with", list(study.files), allowed)
    for one in study.tool.figures if study.tool else ():
        if one.each:
            raise reader.wrong("each", one.each, "left out: a study's metrics are fixed (--tool finds them)")
    study = _joined(model.in_short(study) if is_short else study, parts)
    if not study.workloads:
        raise reader.wrong("workload", [], "at least one [[workload]] with a name")
    return study


def _included(reader: Reader, *, is_short: bool) -> tuple[list[tuple[str, Study]], str]:
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
            raise part.wrong("study", name, "a study without includes")
        parts.append((title, parse(text, file=name, is_short=is_short)))
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
            tool=study.tool or part.tool,
            servers=study.servers + part.servers,
            files=study.files or part.files,
        )
    return study


def _timed(levels: Levels, part: Study) -> Levels:
    """The part with its parameters of every trial as the workload's own, unless the workload has others."""
    all_of = {name: (value,) for name, value in part.trial} | dict(levels.levels)
    return Levels(levels.workload, tuple(sorted(all_of.items())))


def archived(text: str, *, is_short: bool = False) -> Study | None:
    """The study that an archive's header holds, or its short form; None if this version cannot read it."""
    try:
        return parse(text, file="in the archive", is_short=is_short)
    except SteelyardError:
        return None


def _levels(part: Reader) -> Levels:
    """The workload's parameters, which are its keys; a table `parameters` of them is taken as well."""
    name = part.text("name")
    inner = part.part("parameters")
    given = [(part, *one) for one in part.rest().items()] + [(inner, *one) for one in inner.rest().items()]
    varied: dict[str, tuple[int | str, ...]] = {}
    for where, key, value in given:
        if key in varied:
            raise where.wrong(key, value, "given once: it is also beside the name of the workload")
        varied[key] = _values(where, key, value)
    return Levels(name, tuple(sorted(varied.items())))


def _values(where: Reader, key: str, value: object) -> tuple[int | str, ...]:
    values = value if isinstance(value, list) else [value]
    good = toml_file.is_list(values) and all(
        toml_file.is_text(one) or (type(one) is int and one >= 0) for one in values
    )
    if not good or not values:
        texts = f'"{PROCESSORS}", "{UP_TO}", "{TWICE}", a text such as a command line'
        raise where.wrong(key, value, f"a whole number from 0, {texts}, or a list of these")
    if key in TIMING and len(values) > 1:
        raise where.wrong(key, value, "one number: timing settings cannot be varied")
    return tuple(values)


def _short_form(part: Reader, study: Study) -> ShortForm:
    """The study's short form. Its levels are of parameters that a workload of the study states."""
    usual = ShortForm()
    inner = part.part("levels")
    levels = {key: _values(inner, key, value) for key, value in inner.rest().items()}
    short = ShortForm(
        budget_s=_seconds(part, "budget", usual.budget_s, bounds.budget_ns),
        blocks=part.whole("blocks", study.design.blocks, 1, bounds.BLOCKS_MOST),
        trial_limit_s=_seconds(part, "trial_limit", study.design.trial_limit_s, bounds.trial_limit_ns),
        systems=tuple(part.texts("systems", study.systems, least=1, most=bounds.SYSTEMS_MOST)),
        trial=system_definition.trial(part.part("trial")),
        levels=tuple(sorted(levels.items())),
    )
    part.finish()
    stated = {name for one in study.workloads for name, _ in one.levels}
    for key in levels:
        if key not in stated:
            raise UnknownName("level", key, stated, where=f"{inner.file}: short: levels: ")
    return short


def _design(part: Reader) -> Design:
    usual = Design()
    part.truth("scales", False)  # studies of earlier versions have it, and it means nothing any more
    looks = part.wholes("looks", (usual.blocks,))  # so have they these, of which the last is the most blocks
    design = Design(
        blocks=part.whole("blocks", max(2, looks[-1]), 1, bounds.BLOCKS_MOST),
        blocks_per_boot=part.whole("blocks_per_boot", usual.blocks_per_boot, 1, bounds.BLOCKS_MOST),
        budget_s=_seconds(part, "budget", usual.budget_s, bounds.budget_ns),
        trial_limit_s=_seconds(part, "trial_limit", usual.trial_limit_s, bounds.trial_limit_ns),
        precision=part.quantity("precision", usual.precision, bounds.precision),
        turns=part.truth("turns", usual.turns),
    )
    part.finish()
    return design


def _seconds(part: Reader, key: str, default_s: float, parse: Callable[[object], int]) -> float:
    return part.quantity(key, round(default_s * 1e9), parse) / 1e9


def _margins(part: Reader) -> dict[str, float]:
    groups = part.rest()
    for group in groups:
        if group not in MARGINS:
            where = f"{part.file}: margin: "
            raise UnknownName("group", group, MARGINS, where=where)
    return {group: part.quantity(group, 0.0, bounds.margin) for group in groups}


def _machine(name: str, part: Reader) -> Machine:
    usual = Machine(name, "", ())
    machine = Machine(
        name,
        host=part.text("host"),
        switch=tuple(part.texts("switch", (), least=1)),
        console=tuple(part.texts("console", ())),
        wait_s=_seconds(part, "wait", usual.wait_s, bounds.wait_ns),
        quiet_s=_seconds(part, "quiet", usual.quiet_s, bounds.wait_ns),
    )
    part.finish()
    if machine.host != THIS and not machine.host.startswith("ssh:"):
        raise part.wrong("host", machine.host, '"ssh:HOST", as the ssh command knows it, or "this"')
    if machine.host == THIS and machine.console:
        raise part.wrong(
            "console",
            list(machine.console),
            'left out where host is "this": a machine that reboots cannot read its own console',
        )
    return machine
