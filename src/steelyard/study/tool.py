"""Reads what a tool's output is: the figures that a command of the user's prints, and where in its text each
stands. It is a table [tool] of a study, and a file of its own for the tools that Steelyard knows.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from steelyard import toml_file
from steelyard.errors import UsageError
from steelyard.text import quoted
from steelyard.toml_file import Reader

WORKLOAD = "command"  # that prints them
PARAMETER = "figures"  # of that workload: whether what it prints is told
HIGHER, LOWER, DESCRIBES = "higher", "lower", "none"
TIMES: Mapping[str, float] = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}  # units of a time, in ns
# What a pattern's group `unit` may find: of a time, in ns; of anything else, a prefix.
FOUND_TIMES: Mapping[str, float] = {
    **TIMES,
    "ps": 1e-3,
    "µs": 1e3,
    "μs": 1e3,
    "m": 60e9,
    "min": 60e9,
    "h": 3600e9,
}
PREFIXES: Mapping[str, float] = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
UNIT = "unit"
ONLY, TAKES = "only", ("only", "first", "last", "sum", "mean", "least", "most")
FIGURES_MOST = 200
_OWN = ("time", "peak memory")  # metrics that every command has
_UNIT_MOST = 40  # characters
_SCALE = (1e-18, 1e18)
_KEY = re.compile(
    r"(?:^|\s)(name|unit|better|pattern|pointer|among|unit_at|column|where|each|take|scale|optional)="
)
_EACH = "*"  # in the name of a figure that stands for several
_NAME = re.compile(r"[A-Za-z0-9_*](?:(?!['\"\\])[ -~]){0,119}")


@dataclass(frozen=True, slots=True)
class ToolFigure:
    """A figure that a command prints, by exactly one of `pattern`, `pointer` and `column`."""

    name: str
    unit: str  # as it is shown; one of TIMES is a time
    better: str  # HIGHER, LOWER, or DESCRIBES: nothing is judged by it
    # A regular expression that a line holds: its group is the number, and one named `unit` what it is in.
    pattern: str = ""
    pointer: str = ""  # into JSON, as RFC 6901 has it
    among: str = ""  # a pointer to a list or an object, into each of whose members `pointer` leads
    unit_at: str = ""  # a pointer likewise, to what the number is in
    column: str = ""  # of CSV, by its heading
    # What else holds where the number stands: by another column, pointer into the member, or named group.
    where: tuple[tuple[str, str], ...] = ()
    # One of those, of which each value is a figure of its own: * stands for the value in `name`.
    each: str = ""
    take: str = ONLY  # of several that are found
    scale: float = 1.0  # what the number printed is multiplied by
    optional: bool = False  # left out where it is not printed, or is 0: not every use of the tool has it

    @property
    def is_time(self) -> bool:
        return self.unit in TIMES

    def factor(self, found: str | None = None) -> float:
        """What the number printed is multiplied by, where its unit was found beside it, or is the figure's; a
        time is kept in ns. Raises KeyError for a unit that is none."""
        if found is None:
            return self.scale * TIMES.get(self.unit, 1.0)
        return self.scale * (FOUND_TIMES if self.is_time else PREFIXES)[found]

    @property
    def place(self) -> str:
        """Where it stands, in words."""
        holds = " and ".join(f"{name} is {quoted(value)}" for name, value in self.where)
        if self.pattern:
            place = f"a line that matches {quoted(self.pattern)}"
        elif self.pointer:
            inner = f" in {quoted(self.among)}" if self.among else ""
            place = f"the JSON pointer {quoted(self.pointer)}{inner}"
        else:
            place = f"the CSV column {quoted(self.column)}"
        return place + (f" where {holds}" if holds else "")

    def of(self, value: str) -> "ToolFigure":
        """The figure for one of the values of `each`."""
        name = _clean(self.name.replace(_EACH, value))
        return replace(self, name=name, where=(*self.where, (self.each, value)), each="")


@dataclass(frozen=True, slots=True)
class Tool:
    """What is known of a program that measures by itself."""

    name: str
    figures: tuple[ToolFigure, ...]
    title: str = ""
    programs: tuple[str, ...] = ()  # names that it goes by
    adds: tuple[str, ...] = ()  # words behind the program's name that have it print these figures
    failure: str = ""  # a regular expression: a line that holds it says that the tool failed
    tried: str = ""  # the version that was tried; "": none was


def bundled() -> dict[str, Path]:
    """Name and file of each tool that Steelyard knows."""
    folder = Path(str(resources.files("steelyard"))) / "tools"
    return {file.stem: file for file in sorted(folder.glob("*.toml"))}


def find(name: str) -> Tool:
    """The bundled tool of that name, or the one in that file (a name with a slash or ending in .toml). Raises
    UnknownName, StudyError or UsageError."""
    text, path = toml_file.read("tool", name, bundled())
    return parse(text, file=str(path))


def parse(text: str, *, file: str) -> Tool:
    """The tool that the file's text describes. Raises StudyError or UsageError."""
    return _whole(toml_file.parse("tool", text, file=file))


def with_figures(tool: Tool | None, figures: tuple[ToolFigure, ...]) -> Tool | None:
    """The tool with further figures; None without any. Raises UsageError."""
    if tool is None and not figures:
        return None
    both = replace(tool, figures=(*tool.figures, *figures)) if tool else Tool("", figures)
    _check_names(both.figures, Reader("--figure", {}, ""))
    return both


def asked(tool: Tool | None, words: tuple[str, ...]) -> tuple[str, ...]:
    """The command's words, with those that have the tool print its figures, if it is the tool."""
    if tool is None or not words or words[0].rpartition("/")[2] not in tool.programs:
        return words
    return (words[0], *(one for one in tool.adds if one not in words), *words[1:])


def expanded(tool: Tool, values: Mapping[str, Iterable[str]]) -> Tool:
    """The tool with a figure for each of the values that were found for the name of a figure that stands for
    several. Raises UsageError for too many, or none."""
    figures: list[ToolFigure] = []
    for figure in tool.figures:
        inner = [figure.of(value) for value in values.get(figure.name, ())] if figure.each else [figure]
        known = {one.name for one in figures}
        for one in inner:
            number = 2
            name = one.name
            while name in known:
                name, number = f"{one.name} {number}", number + 1
            known.add(name)
            figures.append(replace(one, name=name))
    if not figures:
        raise UsageError("the command printed none of the figures that are looked for")
    if len(figures) > FIGURES_MOST:
        raise UsageError(f"the command printed {len(figures)} figures, but at most {FIGURES_MOST} are kept")
    return replace(tool, figures=tuple(figures))


def _clean(name: str) -> str:
    """A name of which a figure can be, as like the given one as can be."""
    plain = re.sub(r"[^ -~]|['\"\\*]", "_", name)[:100].strip()
    return plain if plain[:1].isalnum() else f"_{plain}"


def known_for(program: str) -> str:
    """The bundled tool that a program of that name is; "" if none."""
    name = program.rpartition("/")[2]
    for tool, path in bundled().items():
        if name in parse(path.read_text(encoding="utf-8"), file=str(path)).programs:
            return tool
    return ""


def read(part: Reader) -> Tool | None:
    """The tool of a study's table; None if there is none. Raises StudyError."""
    return _whole(part) if part else None


def _whole(part: Reader) -> Tool:
    figures = tuple(_figure(one) for one in part.parts("figure"))
    tool = Tool(
        part.text("name", ""),
        figures,
        part.text("title", ""),
        tuple(part.texts("programs", ())),
        tuple(part.texts("adds", ())),
        _expression(part, "failure"),
        part.text("tried", ""),
    )
    part.finish()
    if not figures:
        raise part.wrong("figure", [], "at least one [[figure]], with its name and where it stands")
    _check_names(figures, part)
    return tool


def _check_names(figures: Iterable[ToolFigure], part: Reader) -> None:
    names = [one.name for one in figures]
    if len(names) > FIGURES_MOST:
        raise part.wrong("figure", len(names), f"at most {FIGURES_MOST} figures")
    for name in names:
        if names.count(name) > 1 or name in _OWN:
            raise part.wrong("figure", name, f"a name of its own; {' and '.join(_OWN)} are the command's")


def _figure(part: Reader) -> ToolFigure:
    unit, better = part.text("unit", ""), part.text("better", "")
    figure = ToolFigure(
        name=part.text("name"),
        unit=unit,
        better=better or (LOWER if unit in TIMES else ""),
        pattern=_expression(part, "pattern", has_number=True),
        pointer=part.text("pointer", ""),
        among=part.text("among", ""),
        unit_at=part.text("unit_at", ""),
        column=part.text("column", ""),
        where=_where(part),
        each=part.text("each", ""),
        take=part.text("take", ONLY),
        scale=_scale(part),
        optional=part.truth("optional", False),
    )
    part.finish()
    _check(figure, part)
    return figure


def _check(figure: ToolFigure, part: Reader) -> None:
    if not _NAME.fullmatch(figure.name) or (_EACH in figure.name) != bool(figure.each):
        raise part.wrong(
            "name",
            figure.name,
            f"letters, digits and what else is printable but quotes; {_EACH} where `each` is given alone",
        )
    if not figure.unit.isprintable() or len(figure.unit) > _UNIT_MOST:
        raise part.wrong("unit", figure.unit, f"at most {_UNIT_MOST} printable characters")
    directions = (HIGHER, LOWER, DESCRIBES)
    if figure.better not in directions:
        raise part.wrong("better", figure.better, f"one of {', '.join(directions)}")
    if figure.take not in TAKES:
        raise part.wrong("take", figure.take, f"one of {', '.join(TAKES)}")
    ways = [one for one in ("pattern", "pointer", "column") if getattr(figure, one)]
    if len(ways) != 1:
        raise part.wrong(
            "pattern", " and ".join(ways), "one of pattern, pointer and column alone, to say where it stands"
        )
    for key in ("pointer", "among", "unit_at"):
        if (value := getattr(figure, key)) and not value.startswith("/"):
            raise part.wrong(key, value, "a JSON pointer, such as /jobs/0/read/iops")
        if value and not figure.pointer:
            raise part.wrong(key, value, "left out: it goes with `pointer`")
    for key in (*dict(figure.where), *([figure.each] if figure.each else [])):
        if figure.pattern and key not in re.compile(figure.pattern).groupindex:
            raise part.wrong("where", key, "a group of the pattern, (?P<name>...)")
        if figure.pointer and not (figure.among and key.startswith("/")):
            raise part.wrong("where", key, "a JSON pointer into the members of `among`")


def _expression(part: Reader, key: str, *, has_number: bool = False) -> str:
    """A regular expression; one that finds a number has a group for it, and may have one named `unit`."""
    text = part.text(key, "")
    try:
        known = re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise part.wrong(key, text, f"a regular expression ({error})") from None
    if text and has_number and known.groups - len(known.groupindex) != 1:
        raise part.wrong(
            key, text, "a regular expression with one group, (...), for the number, besides named ones"
        )
    return text


def _where(part: Reader) -> tuple[tuple[str, str], ...]:
    inner = part.part("where")
    given = inner.rest()
    for name, value in given.items():
        if not toml_file.is_text(value):
            raise inner.wrong(name, value, toml_file.TEXT)
    return tuple(given.items())


def _scale(part: Reader) -> float:
    value = part.take("scale", 1.0)
    low, high = _SCALE
    if type(value) not in (int, float) or not math.isfinite(value) or not low <= value <= high:
        raise part.wrong("scale", value, f"a number from {low:g} to {high:g}")
    return float(value)


def of_words(text: str) -> ToolFigure:
    """The figure that an option describes by KEY=VALUE words, in any order; a value ends where the next key
    begins. Raises UsageError."""
    before, *rest = _KEY.split(text)
    if before.strip() or not rest:
        raise UsageError(
            f"--figure is {quoted(text)}, but must be such as 'name=throughput unit=1/s better=higher "
            "pattern=([0-9.]+) ops'"
        )
    tree: dict[str, object] = {}
    for key, value in zip(rest[::2], rest[1::2], strict=True):
        tree[key] = value.strip()
    if "where" in tree:
        column, _, value = str(tree["where"]).partition("=")
        tree["where"] = {column: value}
    if "optional" in tree:
        tree["optional"] = {"true": True, "false": False}.get(str(tree["optional"]), tree["optional"])
    if "scale" in tree:
        with suppress(ValueError):
            tree["scale"] = float(str(tree["scale"]))
    return _figure(Reader(f"--figure {quoted(text)}", tree, ""))


def text_of(tool: Tool) -> str:
    """The tool as the table [tool] of a study's file."""
    lines = ["[tool]", *_keys(tool, ("name", "title", "programs", "adds", "failure", "tried"))]
    for one in tool.figures:
        places = ("pattern", "pointer", "among", "unit_at", "column", "each")
        lines += ["[[tool.figure]]", *_keys(one, ("name", "unit", "better", *places))]
        lines += [f"take = {_toml(one.take)}"] if one.take != ONLY else []
        lines += [f"scale = {one.scale!r}"] if one.scale != 1 else []
        lines += ["optional = true"] if one.optional else []
        if one.where:
            row = ", ".join(f"{_toml(column)} = {_toml(value)}" for column, value in one.where)
            lines.append(f"where = {{ {row} }}")
    return "\n".join(lines) + "\n"


def _keys(of: object, names: Iterable[str]) -> list[str]:
    return [f"{name} = {_toml(value)}" for name in names if (value := getattr(of, name))]


def _toml(value: object) -> str:
    """JSON's texts and lists are TOML's as well."""
    return json.dumps(value, ensure_ascii=False)
