"""Text from outside: bytes become text, whatever they are; text becomes words on one line, or a cell, that no
terminal, no spreadsheet and no reader obeys."""

import codecs
import re
from pathlib import Path, PurePath

_QUOTED_MOST, _PATH_MOST = 60, 200  # characters of a quoted value, of a file's name
# Our own signs, where a stream cannot show them.
_PLAIN = {
    "µ": "u", "×": "x", "·": ".", "–": "-", "−": "-", "─": "-", "…": "...", "≈": "~", "≤": "<=", "≥": ">=",
    "’": "'", "“": '"', "”": '"', "→": "->", "←": "<-", "▲": "^", "△": "^", "▼": "v", "▽": "v",
}  # fmt: skip


def of_file(path: Path) -> str:
    """The text of the file, whatever its bytes. Raises OSError."""
    return path.read_bytes().decode(errors="replace")


def shown(text: str) -> str:
    """The text on one line: control characters, those that turn the direction of writing, and bytes that
    were no text are written out, as \\x1b."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _written_out(each) for each in text)


def _written_out(character: str) -> str:
    if "\udc80" <= character <= "\udcff":  # a byte of an argument or a file's name (surrogateescape)
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def shortened(text: str, most: int) -> str:
    """Its beginning and its end, if it is longer than that."""
    return text if len(text) <= most else f"{text[: most - 1 - most // 4]}…{text[-(most // 4) :]}"


def quoted(value: object) -> str:
    """The value as a message quotes it: a text in quotes, all shortened and on one line."""
    if isinstance(value, str | PurePath):
        most = _QUOTED_MOST if isinstance(value, str) else _PATH_MOST
        # Escaping makes it longer.
        return f"'{shortened(shown(shortened(str(value), most)), most)}'"
    return shortened(_outlined(value, levels=3), _QUOTED_MOST)


def _outlined(value: object, *, levels: int) -> str:
    """A shortened repr, with few levels and members: a value from outside may have any size."""
    if isinstance(value, str):
        return quoted(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]  # as files have them
    if isinstance(value, int) and abs(value) >= 10**18:
        # Python refuses to say very long ones in decimal digits.
        return f"a number of about {max(19, round(value.bit_length() * 0.30103)):,} digits"
    if not isinstance(value, list | tuple | dict):
        return shown(shortened(str(value), _QUOTED_MOST))
    left, right = "{}" if isinstance(value, dict) else "[]"
    if not levels:
        return f"{left}…{right}"
    first = list(value.items() if isinstance(value, dict) else value)[:5]
    parts = [
        f"{quoted(each[0])}: {_outlined(each[1], levels=levels - 1)}"
        if isinstance(value, dict)
        else _outlined(each, levels=levels - 1)
        for each in first
    ]
    return f"{left}{', '.join(parts)}{', …' if len(value) > len(first) else ''}{right}"


def cell(value: object) -> object:
    """The value as a cell of CSV: a text that a spreadsheet would take for a formula begins with an
    apostrophe; numbers stay numbers."""
    if not isinstance(value, str):
        return value
    text = shown(value)
    if re.match(r"[=+\-@]", text) and not re.fullmatch(r"[+-]?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?", text):
        return f"'{text}"
    return text


def _readable(error: UnicodeError) -> tuple[str, int]:
    """Replacements for characters that a stream cannot show: ASCII for ours, escapes for the rest."""
    assert isinstance(error, UnicodeEncodeError)
    part = error.object[error.start : error.end]
    return "".join(_PLAIN.get(each) or _written_out(each) for each in part), error.end


READABLE = "steelyard-readable"  # the name of that handling
codecs.register_error(READABLE, _readable)
