"""The documents say what happens without each file of the machine that the sources name."""

import ast

import named_places
import places
import pytest
from named_places import is_in

_ASKING = ("exists", "is_file", "is_dir", "is_symlink")  # of a pathlib.Path
_TEMPORARY = ("mkstemp", "mkdtemp", "TemporaryFile", "NamedTemporaryFile", "TemporaryDirectory")


@pytest.mark.computes
def test_every_place_that_the_sources_name_is_in_the_table() -> None:
    patterns = [pattern for row in named_places.table() for pattern in row.paths]
    named = named_places.named()

    assert len(named) > 50
    assert {
        path: files for path, files in named.items() if not any(is_in(path, one) for one in patterns)
    } == {}
    assert [one for one in patterns if not any(is_in(path, one) for path in named)] == []


def test_the_table_says_who_needs_it_and_what_happens_without() -> None:
    rows = named_places.table()

    assert [
        row.paths for row in rows if not (row.paths and row.readers.strip() and row.without.strip())
    ] == []


def test_a_place_is_found_however_it_is_put_together() -> None:
    python = '"""/proc/documented"""\nX = "devices/{}/a"\n' + "\n".join(
        ['Path("/proc/one")', "proc / 'two'", "f'/proc/{n}/three'", "root / 'sys/four'", "sys / X.format(1)"]
    )
    c = 'a("/dev/one", "%s/proc/two", "/proc/%d/three"); /* "/proc/said" */ b("/sys/four"\n "/five");'

    assert {one for one in named_places.python_texts(python) if one.startswith("/")} == {
        "/proc/one",
        "/proc/two",
        "/proc/*/three",
        "/sys/four",
        "/sys/devices/*/a",
    }
    assert list(named_places.c_texts(c)) == ["/dev/one", "/proc/two", "/proc/*/three", "/sys/four/five"]


def calls(source: str) -> list[ast.Call]:
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]


def careless(source: str) -> list[int]:
    """The lines that ask a path what raises an error where it may not be looked at, and os.path does not; and
    those that make a temporary file without saying where: for a wrong TMPDIR Python takes another."""
    found = []
    for call in calls(source):
        if not isinstance(call.func, ast.Attribute):
            continue
        owner = ast.unparse(call.func.value)
        asks = call.func.attr in _ASKING and owner not in ("os.path", "entry") and not call.args
        makes = call.func.attr in _TEMPORARY and "dir" not in {word.arg for word in call.keywords}
        if (
            asks
            or makes
            or call.func.attr in ("gettempdir", "expanduser")
            or ast.unparse(call) == "Path.home()"
        ):
            found.append(call.lineno)
    return found


@pytest.mark.computes
def test_no_path_is_asked_what_may_not_be_answered_and_no_directory_is_guessed() -> None:
    sources = sorted((places.ROOT / "src").rglob("*.py"))
    found = {str(file): careless(file.read_text(encoding="utf-8")) for file in sources}

    assert {file: lines for file, lines in found.items() if lines} == {}
    assert careless("a.exists()\nos.path.exists(a)\ntempfile.mkstemp()\ntempfile.mkdtemp(dir=a)") == [1, 3]
