"""Reads a TOML file that somebody else may have written: within bounds, and key by key.

What is more than a bound is refused before it takes time or memory.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from steelyard.errors import StudyError, UnknownName, UsageError, in_words
from steelyard.shapes import Range, Wrong, checker
from steelyard.text import quoted, shortened, shown

_Value = TypeVar("_Value")

FILE_MOST = 1 << 20  # bytes
NESTED_MOST = 20  # brackets in brackets, or names in a dotted key
NUMBER_MOST = 40  # characters of a number
NAME_MOST = 100  # characters of a name
TEXT_MOST = 4000  # characters of any other text
LIST_MOST = 10_000  # members of a list
WHOLE_MOST = (1 << 62) - 1  # the load program's
TEXT = f"a text of at most {TEXT_MOST:,} printable characters"

_TOKEN = re.compile(
    rf"""\"{{3}}|'{{3}}|["'\#\[\]{{}}.=,\n]|(?<![\w-])[+-]?[0-9][0-9A-Fa-f_xo.]{{{NUMBER_MOST},}}"""
)
_ENDS = {  # of what holds neither brackets nor numbers
    '"""': re.compile(r'(?:[^"\\]++|\\.|"(?!""))*+"""', re.DOTALL),
    "'''": re.compile(r"(?:[^']++|'(?!''))*+'''"),
    '"': re.compile(r'(?:[^"\\\n]++|\\.)*+"'),
    "'": re.compile(r"[^'\n]*+'"),
    "#": re.compile(r"[^\n]*+"),
}


def read(kind: str, name: str, known: Mapping[str, Path]) -> tuple[str, Path]:
    """The text of the bundled file of that name, or of that file (a name with a slash or ending in .toml).
    Raises UnknownName, or UsageError where it cannot be read."""
    path = Path(name) if "/" in name or name.endswith(".toml") else known.get(name)
    if path is None:
        raise UnknownName(kind, name, known)
    try:
        with open(path, "rb") as file:
            return file.read(FILE_MOST + 1).decode("utf-8-sig"), path  # some editors write a byte order mark
    except (OSError, UnicodeDecodeError) as error:
        reason = in_words(error) if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"{kind} {quoted(name)} cannot be read: {reason}") from error


def parse(kind: str, text: str, *, file: str) -> "Reader":
    """The text's outermost table; `file` is for messages only. Raises UsageError."""
    file = f"{kind} {shortened(shown(file), 200)}"
    if len(text) > FILE_MOST:
        raise _refusal(file, "more than 1 MiB of text", f"{FILE_MOST:,} bytes")
    _check(text, file=file)
    try:
        return Reader(file, tomllib.loads(text), "")
    except ValueError as error:
        raise UsageError(f"{file} is not TOML: {error}") from error


def _refusal(file: str, what: str, most: str) -> UsageError:
    return UsageError(f"{file} has {what}, but at most {most} are allowed")


def _check(text: str, *, file: str) -> None:
    """Raises UsageError where the TOML nests deeper, or has longer numbers, than its parser should be given.
    What is no TOML at all is the parser's to say."""
    depth = dots = at = 0
    while match := _TOKEN.search(text, at):
        token, at = match[0], match.end()
        if token in _ENDS:
            end = _ENDS[token].match(text, at)
            if end is None:
                return
            at = end.end()
        elif token == ".":
            dots += 1
        elif token in "[]{}":
            depth, dots = depth + (1 if token in "[{" else -1), 0
        elif token in "=,\n":
            dots = 0
        else:
            raise _refusal(file, f"a number of {len(token):,} characters", f"{NUMBER_MOST} characters")
        if max(depth, dots) > NESTED_MOST:
            line = text.count("\n", 0, at) + 1
            what = "brackets in brackets" if depth > NESTED_MOST else "dots in a key"
            raise _refusal(file, f"more than {NESTED_MOST} {what} in line {line}", str(NESTED_MOST))


class Reader:
    """Takes keys out of one TOML table, checks each, and refuses the keys that are left."""

    def __init__(self, file: str, tree: Mapping[str, Any], prefix: str) -> None:
        self.file = file
        self.prefix = prefix
        self._tree = dict(tree)
        self._keys: set[str] = set()

    def __bool__(self) -> bool:
        """Whether the table holds anything."""
        return bool(self._tree)

    def wrong(self, key: str, value: object, allowed: str) -> StudyError:
        return StudyError(self.file, f"{self.prefix}{key}", value, allowed)

    def take(self, key: str, default: object) -> Any:
        self._keys.add(key)
        return self._tree.get(key, default)

    def text(self, key: str, default: str | None = None) -> str:
        value = self.take(key, default)
        if not is_text(value) or (not value and default is None):
            raise self.wrong(key, value, TEXT)
        return str(value)

    def name(self, key: str) -> str:
        """A text that can be part of a file's name."""
        value = self.text(key)
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", value) or len(value) > NAME_MOST:
            most = NAME_MOST
            raise self.wrong(key, value, f"letters, digits, dots, hyphens and underscores, {most} at most")
        return value

    def texts(self, key: str, default: Iterable[str], *, least: int = 0, most: int = LIST_MOST) -> list[str]:
        value = self.take(key, list(default))
        if not (is_list(value, most) and all(is_text(one) and one for one in value)) or len(value) < least:
            raise self.wrong(key, value, f"a list of texts, {most:,} at most")
        return list(value)

    def whole(self, key: str, default: int, least: int, most: int = WHOLE_MOST) -> int:
        value: int = self._checked(key, self.take(key, default), checker(Annotated[int, Range(least, most)]))
        return value

    def wholes(self, key: str, default: Iterable[int]) -> list[int]:
        value = self.take(key, list(default))
        good = is_list(value) and all(type(one) is int and 0 < one <= WHOLE_MOST for one in value)
        if not good or not value:
            raise self.wrong(key, value, f"a list of whole numbers from 1 to {WHOLE_MOST}")
        return list(value)

    def truth(self, key: str, default: bool) -> bool:
        value: bool = self._checked(key, self.take(key, default), checker(bool))
        return value

    def number(self, key: str, least: int, most: int) -> int | None:
        """A whole number, or None."""
        kind = Annotated[int | None, Range(least, most)]
        value: int | None = self._checked(key, self.take(key, None), checker(kind))
        return value

    def numbers_from_0(self, key: str) -> tuple[int, ...]:
        value = self.take(key, [])
        good = is_list(value) and all(type(one) is int and 0 <= one < 1 << 16 for one in value)
        if not good or len(set(value)) != len(value) or (key in self._tree and not value):
            raise self.wrong(key, value, "a list of different whole numbers from 0 to 65535")
        return tuple(sorted(value))

    def numbers(self, key: str) -> dict[str, float]:
        value = self.take(key, {})
        good = isinstance(value, dict) and all(
            type(one) in (int, float) and 0 < one < WHOLE_MOST for one in value.values()
        )
        if not good:
            raise self.wrong(key, value, "a table of names and positive numbers")
        return {name: float(number) for name, number in value.items()}

    def quantity(self, key: str, default: _Value, parse: Callable[[object], _Value]) -> _Value:
        """The duration, size or share that the value means, as `parse` reads it (steelyard.quantities)."""
        value = self.take(key, None)
        return default if value is None else self._checked(key, value, parse)

    def _checked(self, key: str, value: object, check: Callable[[object], _Value]) -> _Value:
        try:
            return check(value)
        except Wrong as wrong:
            raise self.wrong(key, value, wrong.allowed) from None

    def rest(self) -> dict[str, Any]:
        left = {key: value for key, value in self._tree.items() if key not in self._keys}
        self._keys |= set(left)
        return left

    def part(self, key: str) -> "Reader":
        value = self.take(key, {})
        if not isinstance(value, dict):
            raise self.wrong(key, value, f"a table [{key}]")
        return Reader(self.file, value, f"{self.prefix}{key}.")

    def parts(self, key: str) -> list["Reader"]:
        value = self.take(key, [])
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise self.wrong(key, value, f"tables [[{self.prefix}{key}]]")
        return [
            Reader(self.file, one, f"{self.prefix}{key} {number}: ")
            for number, one in enumerate(value, start=1)
        ]

    def named_parts(self, key: str) -> dict[str, "Reader"]:
        part = self.part(key)
        for name, value in part._tree.items():
            if not name.isprintable() or not 0 < len(name) <= NAME_MOST:
                raise self.wrong(key, name, f"a name of 1 to {NAME_MOST} printable characters")
            if not isinstance(value, dict):
                raise self.wrong(f"{key}.{name}", value, f"a table [{key}.{name}]")
        return {name: part.part(name) for name in list(part._tree)}

    def finish(self) -> None:
        for key in self._tree:
            if key not in self._keys:
                where = f"{self.file}: "
                raise UnknownName(
                    "key", f"{self.prefix}{key}", (f"{self.prefix}{one}" for one in self._keys), where=where
                )


def is_text(value: object) -> bool:
    """True if it is a text of reasonable size without invisible characters other than line ends and tabs."""
    if not isinstance(value, str) or len(value) > TEXT_MOST:
        return False
    return value.isprintable() or re.sub(r"[\n\t]", "", value).isprintable()


def is_list(value: object, most: int = LIST_MOST) -> bool:
    return isinstance(value, list) and len(value) <= most
