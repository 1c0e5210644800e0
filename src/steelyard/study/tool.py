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
_KEY = re.compile(r"(?:^|\s)(name|unit|better|pattern|pointer|column|where|take|scale|optional)=")


@dataclass(frozen=True, slots=True)
class ToolFigure:
    """A figure that a command prints, by exactly one of `pattern`, `pointer` and `column`."""

    name: str
    unit: str  # as it is shown; one of TIMES is a time
    better: str  # HIGHER, LOWER, or DESCRIBES: nothing is judged by it
    # A regular expression that a line holds: its group is the number, and one named `unit` what it is in.
    pattern: str = ""
    pointer: str = ""  # into JSON, as RFC 6901 has it
    column: str = ""  # of CSV, by its heading
    where: tuple[tuple[str, str], ...] = ()  # what other columns of its row hold
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
        if self.pattern:
            return f"a line that matches {quoted(self.pattern)}"
        if self.pointer:
            return f"the JSON pointer {quoted(self.pointer)}"
        rows = " and ".join(f"{name} is {quoted(value)}" for name, value in self.where)
        return f"the CSV column {quoted(self.column)}" + (f" where {rows}" if rows else "")


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
        column=part.text("column", ""),
        where=_where(part),
        take=part.text("take", ONLY),
        scale=_scale(part),
        optional=part.truth("optional", False),
    )
    part.finish()
    _check(figure, part)
    return figure


def _check(figure: ToolFigure, part: Reader) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_. /-]{0,59}", figure.name):
        raise part.wrong("name", figure.name, "letters, digits and _ . - / and blanks, 60 at most")
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
    if figure.pointer and not figure.pointer.startswith("/"):
        raise part.wrong("pointer", figure.pointer, "a JSON pointer, such as /jobs/0/read/iops")
    if figure.where and not figure.column:
        raise part.wrong("where", dict(figure.where), "left out: only a column has rows")


def _expression(part: Reader, key: str, *, has_number: bool = False) -> str:
    """A regular expression; one that finds a number has a group for it, and may have one named `unit`."""
    text = part.text(key, "")
    try:
        known = re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise part.wrong(key, text, f"a regular expression ({error})") from None
    if text and has_number and (known.groups - len(known.groupindex) != 1 or {*known.groupindex} - {UNIT}):
        raise part.wrong(
            key, text, "a regular expression with one group, (...), for the number, and at most (?P<unit>...)"
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
        lines += ["[[tool.figure]]", *_keys(one, ("name", "unit", "better", "pattern", "pointer", "column"))]
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
