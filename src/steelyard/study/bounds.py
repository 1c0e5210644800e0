"""How much a study may hold. What is more is refused before it takes time or memory: a study may be somebody
else's."""

import re

from steelyard.errors import UsageError

FILE_MOST = 1 << 20  # bytes
NESTED_MOST = 20  # brackets in brackets, or names in a dotted key
NUMBER_MOST = 40  # characters of a number
NAME_MOST = 100  # characters of a name
TEXT_MOST = 4000  # characters of any other text
LIST_MOST = 10_000  # members of a list
SYSTEMS_MOST = 256  # with their builds
CELLS_MOST = 10_000
BLOCKS_MOST = 100_000
BUDGET_MOST_S = 1e4 * 3600
WAIT_MOST_S = 24 * 3600.0
TRIAL_LIMIT_MOST_S = 24 * 3600.0  # the agent's own

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


def check(text: str, *, file: str) -> None:
    """Raises UsageError where the TOML nests deeper, or has longer numbers, than its parser should be given.
    What is no TOML at all is the parser's to say."""
    depth = dots = at = 0
    while found := _TOKEN.search(text, at):
        token, at = found[0], found.end()
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
            raise refusal(file, f"a number of {len(token):,} characters", f"{NUMBER_MOST} characters")
        if max(depth, dots) > NESTED_MOST:
            line = text.count("\n", 0, at) + 1
            what = "brackets in brackets" if depth > NESTED_MOST else "dots in a key"
            raise refusal(file, f"more than {NESTED_MOST} {what} in line {line}", str(NESTED_MOST))


def refusal(file: str, what: str, most: str) -> UsageError:
    return UsageError(f"study {file} has {what}, but {most} are the most")
