"""Turns a TOML file into a `Study`, or says what is wrong with it: file, key, value, what is allowed."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path

from steelyard import toml_file
from steelyard.errors import SteelyardError, UnknownName, UsageError
from steelyard.study import bounds, model
from steelyard.study.model import (
    MARGINS,
    MONITORS,
    PROCESSORS,
    READINGS,
    THIS,
    TIMING,
    TWICE,
    UP_TO,
    CellTable,
    CurveTable,
    Design,
    FigureRow,
    FigureTable,
    FileSystem,
    Levels,
    Machine,
    ReferenceIndex,
    Study,
    StudyFigure,
    SystemDefinition,
    Table,
    TableFigure,
    TableRow,
    Tuning,
    duration_s,
    size_bytes,
)
from steelyard.toml_file import WHOLE_MOST, Reader

GUESTS = ("uml", "qemu")  # systems whose memory is a machine's of their own, not a limit
_OF_BASES = {  # keys that mean something for these bases alone
    "cpus": ("qemu",),
    "kernel": ("qemu",),
    "disk": ("qemu",),
    "accelerator": ("qemu",),
    "root": ("chroot", "container"),
    "image": ("container",),
}
_OTHER_FILES = ("qemu", "ssh")  # systems whose files are not on this machine's file systems
_WATCHED_BASES = ("native", "native-musl")  # systems whose programs a command of this machine can start
# What means nothing for these file systems: they have no device, or no size of their own.
_WITHOUT = {
    "tmpfs": ("mkfs", "aged", "image_directory", "device"),
    "overlay": ("size", "mkfs", "aged", "image_directory", "device"),
}
_AGED_MOST = 100
ACCELERATORS = ("tcg", "kvm")
HUGE_PAGES = ("always", "madvise", "never")


def bundled() -> dict[str, Path]:
    """Name and file of every study that comes with Steelyard."""
    folder = Path(str(resources.files("steelyard"))) / "study" / "bundled"
    return {file.stem: file for file in sorted(folder.glob("*.toml"))}


def published_papers() -> dict[str, Path]:
    """Name and file of every paper whose figures come with Steelyard."""
    folder = Path(str(resources.files("steelyard"))) / "papers" / "published"
    return {file.stem: file for file in sorted(folder.glob("*.csv"))}


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
            _definition(name, part, machines) for name, part in reader.named_parts("system").items()
        ),
        tables=tuple(_table(part) for part in reader.parts("table")),
        builds=tuple(reader.texts("builds", (), most=bounds.SYSTEMS_MOST)),
        curve_tables=tuple(_curve_table(part) for part in reader.parts("curve_table")),
        cell_tables=tuple(_cell_table(part) for part in reader.parts("cell_table")),
        figure_tables=tuple(_figure_table(part) for part in reader.parts("figure_table")),
        figures=tuple(_figure(part) for part in reader.parts("figure")),
        indices=tuple(_index(part) for part in reader.parts("index")),
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


def _expect(part: Reader) -> tuple[tuple[str, str], ...]:
    patterns = part.rest()
    for key, value in patterns.items():
        if type(value) is not int and (not toml_file.is_text(value) or not value):
            raise part.wrong(key, value, 'a pattern such as "6.12.*"')
    return tuple((key, str(value)) for key, value in patterns.items())


def _definition(name: str, part: Reader, machines: Mapping[str, Machine]) -> SystemDefinition:
    base = part.text("base", "")
    kind = base.partition("+")[0]
    sizes = {key: part.text(key, "") for key in ("memory", "swap", "disk")}
    for key, size in sizes.items():
        if size and not (_is_size(size) or (key == "swap" and size == "0")):
            raise part.wrong(key, size, 'a size such as "64M"')
    tuning, guest = _tuning(part), (sizes["memory"], sizes["swap"])
    if kind not in GUESTS:
        tuning, guest = replace(tuning, memory=guest[0], swap=guest[1]), ("", "")
    machine = part.text("machine", "")
    if machine and machine not in machines:
        raise UnknownName("machine", machine, machines, where=f"study {part.file}: {part.prefix}machine: ")
    definition = SystemDefinition(
        name=name,
        machine=machines.get(machine),
        expect=_expect(part.part("expect")),
        command=tuple(part.texts("command", ())),
        base=base,
        program=part.text("program", ""),
        boot=part.truth("boot", False),
        memory=guest[0],
        swap=guest[1],
        disk=sizes["disk"],
        cpus=part.whole("cpus", 1, 1, 1024),
        kernel=part.text("kernel", ""),
        accelerator=part.text("accelerator", ""),
        root=part.text("root", ""),
        image=part.text("image", ""),
        under=tuple(part.texts("under", ())),
        reads=part.text("reads", ""),
        tuning=tuning,
        file_system=_file_system(part),
    )
    part.finish()
    _check_definition(part, definition, kind)
    return definition


def _check_definition(part: Reader, definition: SystemDefinition, kind: str) -> None:
    usual = SystemDefinition(definition.name)
    for key, bases in _OF_BASES.items():
        value = getattr(definition, key)
        if value != getattr(usual, key) and kind not in bases:
            raise part.wrong(key, value, f"left out, or base = {' or '.join(map(json.dumps, bases))}")
    if definition.file_system and kind in _OTHER_FILES:
        raise part.wrong(
            "filesystem", definition.file_system.kind, f"left out beside base = {json.dumps(definition.base)}"
        )
    if definition.root and definition.image:
        raise part.wrong("image", definition.image, "left out beside a root")
    if definition.accelerator not in ("", *ACCELERATORS):
        raise part.wrong("accelerator", definition.accelerator, " or ".join(map(json.dumps, ACCELERATORS)))
    _check_under(part, definition, kind)
    if definition.tuning.swap and not definition.tuning.memory:
        raise part.wrong("swap", definition.tuning.swap, "beside a limit of memory")
    if definition.machine is None and definition.expect:
        raise part.wrong("expect", dict(definition.expect), "beside a machine")
    if definition.machine is not None:
        if definition.command or definition.base or definition.under or definition.file_system:
            allowed = "there without command, base, under and filesystem"
            raise part.wrong("machine", definition.machine.name, allowed)
    elif bool(definition.command) == bool(definition.base):
        raise part.wrong(
            "command", list(definition.command), 'a list of words that starts the agent, or else base = "..."'
        )


def _check_under(part: Reader, definition: SystemDefinition, kind: str) -> None:
    if definition.under and kind not in ("", *_WATCHED_BASES):
        bases = " or ".join(map(json.dumps, _WATCHED_BASES))
        raise part.wrong("under", list(definition.under), f"left out, or beside a command or base = {bases}")
    if any("\n" in word for word in definition.under):
        raise part.wrong("under", list(definition.under), "words without line breaks")
    if definition.reads and (not definition.under or definition.reads not in MONITORS):
        raise part.wrong("reads", definition.reads, f"beside `under`, one of {', '.join(MONITORS)}")


def _file_system(part: Reader) -> FileSystem:
    wish = FileSystem(
        kind=part.text("filesystem", ""),
        size=part.text("size", ""),
        mkfs=tuple(part.texts("mkfs", ())),
        options=part.text("mount_options", ""),
        aged=part.whole("aged", 0, 0, _AGED_MOST),
        image_directory=part.text("image_directory", ""),
        device=part.text("device", ""),
    )
    given = {
        "size": wish.size,
        "mkfs": list(wish.mkfs),
        "mount_options": wish.options,
        "aged": wish.aged,
        "image_directory": wish.image_directory,
        "device": wish.device,
    }
    for key, value in given.items():
        if value and not wish.kind:
            raise part.wrong(key, value, 'left out, or beside filesystem = "..."')
        if value and key in _WITHOUT.get(wish.kind, ()):
            raise part.wrong(key, value, f'left out beside filesystem = "{wish.kind}"')
    if wish.kind and not re.fullmatch(r"[a-z0-9_]{1,32}", wish.kind):
        raise part.wrong("filesystem", wish.kind, 'a name such as "ext4", as /proc/filesystems has it')
    if wish.size and not _is_size(wish.size):
        raise part.wrong("size", wish.size, 'a size such as "1GiB"')
    for key in ("size", "image_directory"):
        if given[key] and wish.device:
            raise part.wrong(key, given[key], "left out beside a device")
    if re.search(r"\s", wish.options):
        raise part.wrong("mount_options", wish.options, 'a text without spaces, such as "noatime,commit=60"')
    return wish


def _tuning(part: Reader) -> Tuning:
    """What a system's table says of the machine it runs on, but its memory."""
    huge_pages = part.text("huge_pages", "")
    if huge_pages and huge_pages not in HUGE_PAGES:
        raise part.wrong("huge_pages", huge_pages, ", ".join(f'"{one}"' for one in HUGE_PAGES))
    nice = part.number("nice")
    if nice is not None and not -20 <= nice <= 19:
        raise part.wrong("nice", nice, "a whole number from -20 to 19")
    sysctl = part.part("sysctl")
    values = []
    for name, value in sysctl.rest().items():
        good = type(value) is int or (toml_file.is_text(value) and value.strip() and value.isprintable())
        if not re.fullmatch(r"\w+([./][\w-]+)+", name, re.ASCII) or not good:
            raise sysctl.wrong(name, value, 'a number or a text, for a name such as "vm.swappiness"')
        values.append((name, str(value)))
    processors = part.numbers_from_0("processors")
    return Tuning(
        huge_pages, tuple(sorted(values)), processors, nice, processes=part.whole("processes", 0, 0, 1 << 22)
    )


def _is_size(text: str) -> bool:
    try:
        return size_bytes(text) > 0
    except UsageError:
        return False


def _table(part: Reader) -> Table:
    rows = []
    for row in part.parts("row"):
        rows.append(TableRow(row.text("published"), row.text("workload"), row.whole("operations", 1, 1)))
        row.finish()
    table = Table(*_heading(part), tuple(rows))
    part.finish()
    _check_paper(part, table.paper)
    return table


def _check_paper(part: Reader, paper: str) -> None:
    papers = published_papers()
    if paper not in papers:
        raise part.wrong("paper", paper, f"one of {', '.join(papers)}")


def _curve_table(part: Reader) -> CurveTable:
    columns = []
    for column in part.parts("column"):
        columns.append((column.text("published"), column.text("workload")))
        column.finish()
    table = CurveTable(
        *_heading(part),
        part.text("shows"),
        tuple(columns),
    )
    part.finish()
    if table.shows not in ("plateau", "knee"):
        raise part.wrong("shows", table.shows, '"plateau" or "knee"')
    _check_paper(part, table.paper)
    return table


def _stated(part: Reader) -> dict[str, int | str]:
    """Parameters that tell a cell from others."""
    parameters = part.rest()
    for key, value in parameters.items():
        if not toml_file.is_text(value) and (type(value) is not int or not 0 <= value <= WHOLE_MOST):
            raise part.wrong(key, value, f"a whole number from 0 to {WHOLE_MOST}, or a text")
    return parameters


def _cell_table(part: Reader) -> CellTable:
    figures = []
    for figure in part.parts("figure"):
        figures.append(
            TableFigure(
                figure.text("published"),
                figure.text("metric"),
                figure.text("per", ""),
                figure.text("moves", ""),
                figure.truth("rate", False),
            )
        )
        figure.finish()
    variants = []
    for variant in part.parts("variant"):
        name = variant.text("name")
        variants.append((name, tuple(sorted(_stated(variant).items()))))
    table = CellTable(
        *_heading(part),
        published=part.text("published"),
        workload=part.text("workload"),
        over=part.text("over"),
        levels=tuple(part.wholes("levels", ())),
        figures=tuple(figures),
        variants=tuple(variants) or (("", ()),),
    )
    part.finish()
    if not figures:
        raise part.wrong("figure", [], "at least one, with published and metric")
    fixed = [{table.over, *(key for key, _ in parameters)} for _, parameters in table.variants]
    divisors = set.intersection(*fixed)
    for one in figures:
        if one.is_rate and (one.per or one.moves):
            raise part.wrong("figure: rate", "true", "there without per and moves")
        for key, name in (("per", one.per), ("moves", one.moves)):
            if name and name not in divisors:
                raise part.wrong(f"figure: {key}", name, f"one of {', '.join(sorted(divisors))}, or left out")
    _check_paper(part, table.paper)
    return table


def _heading(part: Reader) -> tuple[str, str, str, str]:
    """The fields of a PublishedTable."""
    return part.text("name"), part.text("title"), part.text("paper"), part.text("note", "")


def _figure_table(part: Reader) -> FigureTable:
    figures = []
    for figure in part.parts("figure"):
        published, reading = figure.text("published"), figure.text("reading", "")
        named = figure.text("name", published)
        row = FigureRow(named, published, figure.text("level", ""), figure.text("what"), reading)
        figure.finish()
        if row.reading not in ("", *READINGS):
            raise figure.wrong("reading", reading, " or ".join(map(json.dumps, READINGS)))
        figures.append(row)
    table = FigureTable(
        *_heading(part),
        published=part.text("published"),
        workload=part.text("workload"),
        figures=tuple(figures),
    )
    part.finish()
    if not figures:
        raise part.wrong("figure", [], "at least one, with published and what")
    _check_paper(part, table.paper)
    return table


def _figure(part: Reader) -> StudyFigure:
    figure = StudyFigure(
        name=part.text("name"),
        title=part.text("title"),
        kind=part.text("kind"),
        workloads=tuple(part.texts("workloads", (), least=1)),
        over=part.text("over", ""),
        metric=part.text("metric", ""),
        note=part.text("note", ""),
    )
    part.finish()
    if figure.kind not in ("bars", "lines", "curves"):
        raise part.wrong("kind", figure.kind, '"bars", "lines" or "curves"')
    if bool(figure.over) != (figure.kind == "lines"):
        raise part.wrong("over", figure.over, "a parameter's name, for a figure of lines and no other")
    return figure


def _index(part: Reader) -> ReferenceIndex:
    index = ReferenceIndex(
        part.text("name"), part.text("title"), part.text("reference"), tuple(part.numbers("times_ns").items())
    )
    part.finish()
    if not index.times_ns:
        raise part.wrong("times_ns", {}, "a table of workloads and their ns per operation")
    return index
