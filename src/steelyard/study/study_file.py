"""Turns a TOML file into a `Study`, or says what is wrong with it: file, key, value, what is allowed."""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from steelyard.errors import SteelyardError, StudyError, UnknownName, UsageError
from steelyard.study import bounds, model
from steelyard.study.model import (
    MARGINS,
    MONITORS,
    PROCESSORS,
    READINGS,
    TIMING,
    TWICE,
    UP_TO,
    CellTable,
    CurveTable,
    Design,
    FigureRow,
    FigureTable,
    Levels,
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
from steelyard.text import quoted, shortened, shown

GUESTS = ("uml", "qemu")  # systems whose memory is a machine's of their own, not a limit
_OF_BASES = {  # keys that mean something for these bases alone
    "cpus": ("qemu",),
    "kernel": ("qemu",),
    "disk": ("qemu",),
    "accelerator": ("qemu",),
    "root": ("chroot", "container"),
    "image": ("container",),
}
_WATCHED_BASES = ("native", "native-musl")  # systems whose programs a command of this machine can start
ACCELERATORS = ("tcg", "kvm")
HUGE_PAGES = ("always", "madvise", "never")
_WHOLE_MOST = (1 << 62) - 1  # the load program's
_TEXT = f"a text of at most {bounds.TEXT_MOST:,} characters, all of which can be seen"


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
    known = bundled()
    path = Path(name) if "/" in name or name.endswith(".toml") else known.get(name)
    if path is None:
        raise UnknownName("study", name, known)
    try:
        with open(path, "rb") as file:
            text = file.read(bounds.FILE_MOST + 1).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"study {quoted(name)} cannot be read: {reason}") from error
    return parse(text, file=str(path))


def parse(text: str, *, file: str) -> Study:
    """The study that the text describes; `file` is for messages only. Raises StudyError or UsageError."""
    file = shortened(shown(file), 200)
    if len(text) > bounds.FILE_MOST:
        raise bounds.refusal(file, "more than 1 MiB of text", f"{bounds.FILE_MOST:,} bytes")
    bounds.check(text, file=file)
    try:
        tree = tomllib.loads(text)
    except ValueError as error:
        raise UsageError(f"study {file} is not TOML: {error}") from error
    reader = _Reader(file, tree, "")
    study = Study(
        name=reader.name("name"),
        title=reader.text("title"),
        text=text,
        systems=tuple(reader.texts("systems", ("native", "native-musl"), least=1, most=bounds.SYSTEMS_MOST)),
        workloads=tuple(_levels(part) for part in reader.parts("workload")),
        design=_design(reader.part("design")),
        margins=MARGINS | _margins(reader.part("margin")),
        trial=tuple(sorted(_trial(reader.part("trial")).items())),
        definitions=tuple(_definition(name, part) for name, part in reader.named_parts("system").items()),
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
        raise StudyError(file, "peer", study.peer, model.PEERS)
    if not study.workloads:
        raise StudyError(file, "workload", [], "at least one [[workload]] with a name")
    return study


def archived(text: str) -> Study | None:
    """The study that an archive's header holds; None if this version cannot read it."""
    try:
        return parse(text, file="in the archive")
    except SteelyardError:
        return None


class _Reader:
    """Takes keys out of one TOML table, checks each, and refuses what nobody took."""

    def __init__(self, file: str, tree: Mapping[str, Any], prefix: str) -> None:
        self.file = file
        self.prefix = prefix
        self._tree = dict(tree)
        self._taken: set[str] = set()

    def wrong(self, key: str, value: object, allowed: str) -> StudyError:
        return StudyError(self.file, f"{self.prefix}{key}", value, allowed)

    def _take(self, key: str, default: object) -> Any:
        self._taken.add(key)
        return self._tree.get(key, default)

    def text(self, key: str, default: str | None = None) -> str:
        value = self._take(key, default)
        if not _is_text(value) or (not value and default is None):
            raise self.wrong(key, value, _TEXT)
        return str(value)

    def name(self, key: str) -> str:
        """A text that can be part of a file's name."""
        value = self.text(key)
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", value) or len(value) > bounds.NAME_MOST:
            most = bounds.NAME_MOST
            raise self.wrong(key, value, f"letters, digits, dots, hyphens and underscores, {most} at most")
        return value

    def texts(
        self, key: str, default: Iterable[str], *, least: int = 0, most: int = bounds.LIST_MOST
    ) -> list[str]:
        value = self._take(key, list(default))
        if not (_is_list(value, most) and all(_is_text(one) and one for one in value)) or len(value) < least:
            raise self.wrong(key, value, f"a list of texts, {most:,} at most")
        return list(value)

    def whole(self, key: str, default: int, least: int, most: int = _WHOLE_MOST) -> int:
        value = self._take(key, default)
        if type(value) is not int or not least <= value <= most:
            raise self.wrong(key, value, f"a whole number from {least} to {most}")
        return value

    def wholes(self, key: str, default: Iterable[int]) -> list[int]:
        value = self._take(key, list(default))
        good = _is_list(value) and all(type(one) is int and 0 < one <= _WHOLE_MOST for one in value)
        if not good or not value:
            raise self.wrong(key, value, f"a list of whole numbers from 1 to {_WHOLE_MOST}")
        return list(value)

    def truth(self, key: str, default: bool) -> bool:
        value = self._take(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, value, "true or false")
        return value

    def number(self, key: str) -> int | None:
        """A whole number of either sign, or None."""
        value = self._take(key, None)
        if value is not None and type(value) is not int:
            raise self.wrong(key, value, "a whole number")
        return value

    def numbers_from_0(self, key: str) -> tuple[int, ...]:
        value = self._take(key, [])
        good = _is_list(value) and all(type(one) is int and 0 <= one < 1 << 16 for one in value)
        if not good or len(set(value)) != len(value) or (key in self._tree and not value):
            raise self.wrong(key, value, "a list of different whole numbers from 0 to 65535")
        return tuple(sorted(value))

    def time(self, key: str, default: float, *, most_s: float) -> float:
        value = self._take(key, None)
        if value is None:
            return default
        try:
            return duration_s(value if isinstance(value, str) else "", most_s=most_s)
        except UsageError:
            allowed = f'a time such as "90s" or "5m", from 1 ms to {most_s / 3600:,.0f} h'
            raise self.wrong(key, value, allowed) from None

    def numbers(self, key: str) -> dict[str, float]:
        value = self._take(key, {})
        good = isinstance(value, dict) and all(
            type(one) in (int, float) and 0 < one < _WHOLE_MOST for one in value.values()
        )
        if not good:
            raise self.wrong(key, value, "a table of names and positive numbers")
        return {name: float(number) for name, number in value.items()}

    def rest(self) -> dict[str, Any]:
        left = {key: value for key, value in self._tree.items() if key not in self._taken}
        self._taken |= set(left)
        return left

    def part(self, key: str) -> "_Reader":
        value = self._take(key, {})
        if not isinstance(value, dict):
            raise self.wrong(key, value, f"a table [{key}]")
        return _Reader(self.file, value, f"{self.prefix}{key}.")

    def parts(self, key: str) -> list["_Reader"]:
        value = self._take(key, [])
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise self.wrong(key, value, f"tables [[{self.prefix}{key}]]")
        return [
            _Reader(self.file, one, f"{self.prefix}{key} {number}: ")
            for number, one in enumerate(value, start=1)
        ]

    def named_parts(self, key: str) -> dict[str, "_Reader"]:
        part = self.part(key)
        for name, value in part._tree.items():
            if not name.isprintable() or not 0 < len(name) <= bounds.NAME_MOST:
                raise self.wrong(key, name, f"a name of 1 to {bounds.NAME_MOST} printable characters")
            if not isinstance(value, dict):
                raise self.wrong(f"{key}.{name}", value, f"a table [{key}.{name}]")
        return {name: part.part(name) for name in list(part._tree)}

    def finish(self) -> None:
        for key in self._tree:
            if key not in self._taken:
                where = f"study {self.file}: "
                raise UnknownName(
                    "key", f"{self.prefix}{key}", (f"{self.prefix}{one}" for one in self._taken), where=where
                )


def _is_text(value: object) -> bool:
    """Whether it is a text of reasonable size, in which nothing but line ends and tabs is invisible."""
    if not isinstance(value, str) or len(value) > bounds.TEXT_MOST:
        return False
    return value.isprintable() or re.sub(r"[\n\t]", "", value).isprintable()


def _is_list(value: object, most: int = bounds.LIST_MOST) -> bool:
    return isinstance(value, list) and len(value) <= most


def _levels(part: _Reader) -> Levels:
    name = part.text("name")
    varied = []
    for key, value in part.rest().items():
        values = value if isinstance(value, list) else [value]
        good = _is_list(values) and all(_is_text(one) or (type(one) is int and one >= 0) for one in values)
        if not good or not values:
            raise part.wrong(
                key, value, f'whole numbers, "{PROCESSORS}", "{UP_TO}", "{TWICE}", or a command line'
            )
        if key in TIMING and len(values) > 1:
            raise part.wrong(key, value, "one number: how a workload is timed is no level to be varied")
        varied.append((key, tuple(values)))
    return Levels(name, tuple(sorted(varied)))


def _design(part: _Reader) -> Design:
    usual = Design()
    part.truth("scales", False)  # studies of earlier versions have it, and it means nothing any more
    looks = part.wholes("looks", (usual.blocks,))  # so have they these, of which the last is the most blocks
    design = Design(
        blocks=part.whole("blocks", max(2, looks[-1]), 2, bounds.BLOCKS_MOST),
        blocks_per_boot=part.whole("blocks_per_boot", usual.blocks_per_boot, 1, bounds.BLOCKS_MOST),
        budget_s=part.time("budget", usual.budget_s, most_s=bounds.BUDGET_MOST_S),
        trial_limit_s=part.time("trial_limit", usual.trial_limit_s, most_s=bounds.TRIAL_LIMIT_MOST_S),
    )
    part.finish()
    return design


def _margins(part: _Reader) -> dict[str, float]:
    margins = part.rest()
    for group, value in margins.items():
        if group not in MARGINS:
            where = f"study {part.file}: margin: "
            raise UnknownName("group", group, MARGINS, where=where)
        if not isinstance(value, float) or not 0 < value < 1:
            raise part.wrong(group, value, "a fraction such as 0.02")
    return margins


def _trial(part: _Reader) -> dict[str, int]:
    parameters = part.rest()
    for key, value in parameters.items():
        if type(value) is not int or not 0 <= value <= _WHOLE_MOST:
            raise part.wrong(key, value, f"a whole number from 0 to {_WHOLE_MOST}")
    return parameters


def _definition(name: str, part: _Reader) -> SystemDefinition:
    base = part.text("base", "")
    kind = base.partition("+")[0]
    sizes = {key: part.text(key, "") for key in ("memory", "swap", "disk")}
    for key, size in sizes.items():
        if size and not (_is_size(size) or (key == "swap" and size == "0")):
            raise part.wrong(key, size, 'a size such as "64M"')
    tuning, guest = _tuning(part), (sizes["memory"], sizes["swap"])
    if kind not in GUESTS:
        tuning, guest = replace(tuning, memory=guest[0], swap=guest[1]), ("", "")
    definition = SystemDefinition(
        name=name,
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
    )
    part.finish()
    _check_definition(part, definition, kind)
    return definition


def _check_definition(part: _Reader, definition: SystemDefinition, kind: str) -> None:
    usual = SystemDefinition(definition.name)
    for key, bases in _OF_BASES.items():
        value = getattr(definition, key)
        if value != getattr(usual, key) and kind not in bases:
            raise part.wrong(key, value, f"left out, or base = {' or '.join(map(json.dumps, bases))}")
    if definition.root and definition.image:
        raise part.wrong("image", definition.image, "left out beside a root")
    if definition.accelerator not in ("", *ACCELERATORS):
        raise part.wrong("accelerator", definition.accelerator, " or ".join(map(json.dumps, ACCELERATORS)))
    _check_under(part, definition, kind)
    if definition.tuning.swap and not definition.tuning.memory:
        raise part.wrong("swap", definition.tuning.swap, "beside a limit of memory")
    if bool(definition.command) == bool(definition.base):
        raise part.wrong(
            "command", list(definition.command), 'a list of words that starts the agent, or else base = "..."'
        )


def _check_under(part: _Reader, definition: SystemDefinition, kind: str) -> None:
    if definition.under and kind not in ("", *_WATCHED_BASES):
        bases = " or ".join(map(json.dumps, _WATCHED_BASES))
        raise part.wrong("under", list(definition.under), f"left out, or beside a command or base = {bases}")
    if any("\n" in word for word in definition.under):
        raise part.wrong("under", list(definition.under), "words without line breaks")
    if definition.reads and (not definition.under or definition.reads not in MONITORS):
        raise part.wrong("reads", definition.reads, f"beside `under`, one of {', '.join(MONITORS)}")


def _tuning(part: _Reader) -> Tuning:
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
        good = type(value) is int or (_is_text(value) and value.strip() and value.isprintable())
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


def _table(part: _Reader) -> Table:
    rows = []
    for row in part.parts("row"):
        rows.append(TableRow(row.text("published"), row.text("workload"), row.whole("operations", 1, 1)))
        row.finish()
    table = Table(
        part.text("name"), part.text("title"), part.text("paper"), part.text("note", ""), tuple(rows)
    )
    part.finish()
    _check_paper(part, table.paper)
    return table


def _check_paper(part: _Reader, paper: str) -> None:
    papers = published_papers()
    if paper not in papers:
        raise part.wrong("paper", paper, f"one of {', '.join(papers)}")


def _curve_table(part: _Reader) -> CurveTable:
    columns = []
    for column in part.parts("column"):
        columns.append((column.text("published"), column.text("workload")))
        column.finish()
    table = CurveTable(
        part.text("name"),
        part.text("title"),
        part.text("paper"),
        part.text("note", ""),
        part.text("shows"),
        tuple(columns),
    )
    part.finish()
    if table.shows not in ("plateau", "knee"):
        raise part.wrong("shows", table.shows, '"plateau" or "knee"')
    _check_paper(part, table.paper)
    return table


def _stated(part: _Reader) -> dict[str, int | str]:
    """Parameters that tell a cell from others."""
    parameters = part.rest()
    for key, value in parameters.items():
        if not _is_text(value) and (type(value) is not int or not 0 <= value <= _WHOLE_MOST):
            raise part.wrong(key, value, f"a whole number from 0 to {_WHOLE_MOST}, or a text")
    return parameters


def _cell_table(part: _Reader) -> CellTable:
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
        name=part.text("name"),
        title=part.text("title"),
        paper=part.text("paper"),
        note=part.text("note", ""),
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


def _figure_table(part: _Reader) -> FigureTable:
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
        name=part.text("name"),
        title=part.text("title"),
        paper=part.text("paper"),
        note=part.text("note", ""),
        published=part.text("published"),
        workload=part.text("workload"),
        figures=tuple(figures),
    )
    part.finish()
    if not figures:
        raise part.wrong("figure", [], "at least one, with published and what")
    _check_paper(part, table.paper)
    return table


def _figure(part: _Reader) -> StudyFigure:
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


def _index(part: _Reader) -> ReferenceIndex:
    index = ReferenceIndex(
        part.text("name"), part.text("title"), part.text("reference"), tuple(part.numbers("times_ns").items())
    )
    part.finish()
    if not index.times_ns:
        raise part.wrong("times_ns", {}, "a table of workloads and their ns per operation")
    return index
