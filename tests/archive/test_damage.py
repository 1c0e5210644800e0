"""Whatever one experiment of an archive is, every verb works on the rest, and names what is not whole."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import synthetic
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from steelyard import cli, shapes
from steelyard.archive import experiments, journal
from steelyard.archive.experiments import StoredExperiment
from steelyard.archive.header import Header

# That many times as many in a run by hand, and then each time others.
TIMES = int(os.environ.get("STEELYARD_EXAMPLES", "1"))
PLAN = synthetic.plan("sieve", blocks=2)
DEEP = b"[" * 100_000
TRIALS, SAMPLES = "trials.parquet", "samples.parquet"

Harm = Callable[[Path], object]


pytestmark = pytest.mark.computes


def _holds(name: str, content: bytes) -> Harm:
    return lambda path: (path / name).write_bytes(content)


def _is_directory(name: str) -> Harm:
    return lambda path: ((path / name).unlink(), (path / name).mkdir())


def _is_link(name: str, to: str) -> Harm:
    return lambda path: ((path / name).unlink(), (path / name).symlink_to(to))


def _is_pipe(name: str) -> Harm:
    return lambda path: ((path / name).unlink(), os.mkfifo(path / name))


def _is_half(name: str) -> Harm:
    return lambda path: os.truncate(path / name, (path / name).stat().st_size // 2)


def _encoded(name: str, encoding: str) -> Harm:
    return lambda path: (path / name).write_bytes((path / name).read_text(encoding="utf-8").encode(encoding))


def _swapped(path: Path) -> None:
    (path / TRIALS).rename(path / "x")
    (path / SAMPLES).rename(path / TRIALS)
    (path / "x").rename(path / SAMPLES)


def _as_link(path: Path) -> None:
    path.rename(path.parent.parent / "elsewhere")
    path.symlink_to(path.parent.parent / "elsewhere")


HEADER = experiments.HEADER
HARM: dict[str, Harm] = {
    "half a header": _is_half(HEADER),
    "an empty header": _holds(HEADER, b""),
    "a header of bytes": _holds(HEADER, bytes(range(256))),
    "a header of brackets": _holds(HEADER, DEEP),
    "a header of digits": _holds(HEADER, b'{"version":' + b"9" * 5000 + b"}"),
    "a header in UTF-16": _encoded(HEADER, "utf-16"),
    "a header with a byte order mark": _encoded(HEADER, "utf-8-sig"),
    "a header that is a directory": _is_directory(HEADER),
    "a header that is a pipe": _is_pipe(HEADER),
    "a header that is a link": _is_link(HEADER, "/etc/passwd"),
    "a header that links nowhere": _is_link(HEADER, "nowhere"),
    "a header that links to itself": _is_link(HEADER, HEADER),
    "half a table": _is_half(TRIALS),
    "an empty table": _holds(SAMPLES, b""),
    "a table of text": _holds(TRIALS, b"trial,system\n1,a\n"),
    "a table that is a directory": _is_directory(TRIALS),
    "a table that is a pipe": _is_pipe(SAMPLES),
    "a table that is a link": _is_link(TRIALS, SAMPLES),
    "a table that is not there": lambda path: (path / TRIALS).unlink(),
    "tables that are swapped": _swapped,
    "the last table is a directory": _is_directory("events.parquet"),
    "the last table links nowhere": _is_link("events.parquet", "nowhere"),
    "neither tables nor a journal": lambda path: (path / "events.parquet").unlink(),
    "a file": lambda path: (shutil.rmtree(path), path.write_bytes(b"")),
    "a link": _as_link,
    "empty": lambda path: (shutil.rmtree(path), path.mkdir()),
    "an odd name": lambda path: path.rename(os.fsdecode(os.fsencode(path.parent) + b"/\xff\x1b[31m\nx")),
}
OPEN_HARM: dict[str, Harm] = {
    "a journal that is a directory": _is_directory(journal.NAME),
    "a journal that is a pipe": _is_pipe(journal.NAME),
    "a journal that is a link": _is_link(journal.NAME, "/etc/passwd"),
    "a journal of bytes": _holds(journal.NAME, bytes(range(256)) * 10),
    "a journal of brackets": _holds(journal.NAME, DEEP + b"\n"),
    "a journal without an end": _is_half(journal.NAME),
}
# What is damaged, or is none, without a word that anybody would miss.
SILENT = {"empty", "an odd name"}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With three experiments: one is closed, one open, and the third is to be damaged."""
    root = tmp_path_factory.mktemp("whole")
    for name, closed in (("a-good", True), ("b-open", False), ("c-closed", True), ("d-open", False)):
        found = synthetic.experiment(root, PLAN, synthetic.outcome, closed=closed)
        found.path.rename(found.path.with_name(name))
    return root


def _told(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """Status, output and what was said, which is sentences."""
    status = cli.main([str(one) for one in words])
    output, said = capsys.readouterr()
    assert "Traceback" not in said
    assert all(line.isprintable() and len(line) < 1000 for line in said.split("\n"))
    return status, output, said


@pytest.mark.parametrize("name", [*HARM, *OPEN_HARM])
def test_each_verb_works_on_the_rest_and_names_what_is_not_whole(
    name: str, archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root, other = tmp_path / "archive", tmp_path / "other"
    shutil.copytree(archive, root)
    damaged = "c-closed" if name in HARM else "d-open"
    (HARM | OPEN_HARM)[name](root / "experiments" / damaged)
    words = ("--archive", root)

    status, output, said = _told(capsys, "archive", "list", "--format", "json", *words)
    listed = [one["experiment"] for one in json.loads(output)]
    assert status == 0
    assert {"a-good", "b-open"} <= set(listed)
    assert name in SILENT or damaged in listed or damaged in said

    # Each verb on one of the sound ones: on the closed one beside every second harm, else on the open one.
    first, second = ("a-good", "b-open") if [*HARM, *OPEN_HARM].index(name) % 2 else ("b-open", "a-good")
    assert _told(capsys, "archive", "show", first, *words)[0] == 0
    status, output, said = _told(capsys, "report", second, "--format", "csv", *words)
    assert status == 0
    assert "sieve" in output
    assert _told(capsys, "archive", "export", first, tmp_path / "sound.csv", *words)[0] == 0

    for verb in (["archive", "show"], ["report", "--format", "csv"], ["archive", "reopen"]):
        status, _, said = _told(capsys, *verb, damaged, *words)
        assert status in (0, 1, 2)
        assert status == 0 or said.startswith("steelyard")
    status, _, said = _told(capsys, "archive", "export", damaged, tmp_path / "damaged.csv", *words)
    assert status == 0 or not (tmp_path / "damaged.csv").exists()

    status, _, said = _told(capsys, "archive", "merge", root, "--archive", other)
    assert status == 0
    assert (other / "experiments" / "a-good" / HEADER).read_bytes() == (
        archive / "experiments" / "a-good" / HEADER
    ).read_bytes()

    # As a new measurement begins.
    sentences: list[str] = []
    with experiments.measuring(root):
        experiments.unfinished(root, "same", sentences.append)
        synthetic.new(root, PLAN)


VALUES: list[Any] = [None, True, 5, -1, 1.5, 10**400, "x", "\ud800", [], [[]], {}, {"x": 1}, [None, 5]]


def _paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in it."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(*at, key) for key, _ in inner] + [path for key, one in inner for path in _paths(one, (*at, key))]


@st.composite
def _spoiled(draw: st.DrawFn, value: Any) -> Any:
    """The value with one to three parts that are gone, are another, or are there besides."""
    value = json.loads(json.dumps(value))
    for _ in range(draw(st.integers(1, 3))):
        if not (paths := _paths(value)):
            break
        *outer, key = draw(st.sampled_from(paths))
        held = value
        for step in outer:
            held = held[step]
        match draw(st.sampled_from(["gone", "another", "besides"])):
            case "gone":
                del held[key]
            case "another":
                held[key] = draw(st.sampled_from(VALUES))
            case _ if isinstance(held, dict):
                held[draw(st.text(max_size=5))] = draw(st.sampled_from(VALUES))
            case _:
                held.append(draw(st.sampled_from(VALUES)))
    return value


def _bytes_of(draw: st.DrawFn, content: bytes) -> bytes:
    """The same with some bytes that are others, or cut."""
    found = bytearray(content)
    for _ in range(draw(st.integers(0, 3))):
        found[draw(st.integers(0, len(found) - 1))] = draw(st.integers(0, 255))
    return bytes(found[: draw(st.integers(0, len(found)))] if draw(st.booleans()) else found)


_bytes = st.composite(_bytes_of)
examples = settings(
    max_examples=150 * TIMES,
    derandomize=TIMES == 1,
    database=None,
    deadline=None,
    phases=[Phase.generate],
)


@pytest.fixture(scope="module")
def found(archive: Path) -> StoredExperiment:
    return experiments.find(archive, "d-open")


@examples
@given(data=st.data())
def test_a_header_is_read_or_named_whatever_is_in_it(found: StoredExperiment, data: st.DataObject) -> None:
    spoiled = data.draw(_spoiled(dict(found.header)))
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "experiments" / "x"
        path.mkdir(parents=True)
        content = json.dumps(spoiled).encode()
        (path / HEADER).write_bytes(data.draw(st.just(content) | _bytes(content)))
        said: list[str] = []
        read = experiments.experiments(Path(name), said.append)
    assert len(read) + len(said) == 1
    assert all(str(path) in one and one.isprintable() and len(one) < 1000 for one in said)
    for one in read:
        shapes.checker(Header)(one.header)
        assert isinstance(one.cells, tuple)


@examples
@given(data=st.data())
def test_a_journal_s_line_is_read_as_it_was_or_named(found: StoredExperiment, data: st.DataObject) -> None:
    lines = (found.path / journal.NAME).read_bytes().splitlines()
    whole = list(journal.lines(found.path))
    number = data.draw(st.integers(0, len(lines) - 1))
    content = json.dumps(data.draw(_spoiled(whole[number]))).encode()
    harmed = data.draw(st.just(content) | _bytes(lines[number])).replace(b"\n", b" ")
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / journal.NAME).write_bytes(
            b"".join(line + b"\n" for line in [*lines[:number], harmed, *lines[number + 1 :]])
        )
        read = list(journal.lines(Path(name)))
    assert len(read) == len(lines)
    assert read[:number] == whole[:number]
    assert read[number + 1 :] == whole[number + 1 :]
    assert read[number]["kind"] != "damage" or f"line {number + 1} of the journal" in read[number]["note"]
