"""Whatever rows an experiment's tables hold, they are read back as they were; one that was damaged is read,
or named in one sentence."""

import os
import tempfile
from contextlib import ExitStack
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, is_typeddict

import pytest
import synthetic
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from steelyard import shapes
from steelyard.archive import names, readback, reading, reopening, schema, tables, watches
from steelyard.archive.experiments import StoredExperiment
from steelyard.errors import ArchiveError
from steelyard.events import Each
from steelyard.shapes import Member, OneOf, Range
from steelyard.study.model import Cell

# That many times as many in a run by hand, and then each time others.
TIMES = int(os.environ.get("STEELYARD_EXAMPLES", "1"))
KINDS = ("trial", "system", "watch", "accounting", "look", "note", "damage", "switch", "unbooted")
KNOWN = {"system": ("a", "ü\n"), "cell": ("null", "x y=1")}

pytestmark = [pytest.mark.computes, pytest.mark.limit(100 + 80 * TIMES)]
examples = settings(
    max_examples=15 * TIMES,
    derandomize=TIMES == 1,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
WHOLE = st.integers(-(2**63), 2**63 - 1)
REAL = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | WHOLE
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def _of(kind: Any) -> st.SearchStrategy[Any]:
    """Values of that type, as JSON has them."""
    kind, marks = shapes.without_marks(kind)
    kind, may_be_none = shapes.without_none(kind)
    kind, inner = shapes.without_marks(kind)
    if may_be_none:
        return st.none() | _plain(kind, marks + inner)
    return _plain(kind, marks + inner)


def _plain(kind: Any, marks: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    limits = next((one for one in marks if isinstance(one, Range)), None)
    for one in marks:
        if isinstance(one, OneOf):
            return st.sampled_from(one.values)
    if kind is int:
        return st.integers(int(limits.least), int(limits.most)) if limits else WHOLE
    if kind is float:
        least, most = (limits.least, limits.most) if limits else (None, None)
        return st.floats(least, most, allow_nan=False, allow_infinity=False)
    if kind in (str, Cell, bool):
        return st.booleans() if kind is bool else st.text(max_size=9)
    if get_origin(kind) is tuple:
        return st.lists(_of(get_args(kind)[0]), max_size=3)
    if is_dataclass(kind) or is_typeddict(kind):
        return _holding(shapes.members(kind))
    if get_origin(kind) is not dict:
        return JSON
    values = _of(get_args(kind)[1]) if get_args(kind)[1:] else JSON
    return st.dictionaries(st.text(max_size=5), values, max_size=3)


@st.composite
def _holding(draw: st.DrawFn, members: tuple[Member, ...]) -> dict[str, Any]:
    length = draw(st.integers(1, 4))  # of the lists that belong together
    found = {}
    for one in members:
        kind, marks = shapes.without_marks(one.kind)
        if one.name in KNOWN:
            found[one.name] = draw(st.sampled_from(KNOWN[one.name]))
        elif any(isinstance(mark, Each) for mark in marks):
            each = st.lists(_of(get_args(kind)[0]), min_size=length, max_size=length)
            found[one.name] = draw(each)
        else:
            found[one.name] = draw(_of(one.kind))
    return found


@st.composite
def _lines(draw: st.DrawFn) -> list[schema.Line]:
    kinds = draw(st.lists(st.sampled_from(KINDS), max_size=6))
    found = []
    for kind in sorted(kinds):
        line = draw(_holding(schema.LINES[schema.form_of({"kind": kind})]))
        found.append({"kind": kind, "recorded": draw(st.floats(0, 1e9)), **line})
    return found


@examples
@given(lines=_lines())
def test_whatever_rows_there_are_they_are_read_back_as_they_were(lines: list[schema.Line]) -> None:
    lines = [schema.check(line) for line in lines]
    promised = readback.ReadBack()
    with tempfile.TemporaryDirectory() as name, ExitStack() as held:
        directory = Path(name)
        written = held.enter_context(tables.of_lines(promised.noting(lines)))
        for table in schema.TABLES.values():
            (directory / f"{table.name}.parquet").write_bytes(b"".join(tables.parquet(written, table)))
        read = held.enter_context(tables.of_files(directory, absent=(), known=KNOWN))
        files = {one: f"{one}.parquet" for one in schema.TABLES}
        assert promised.first_difference(directory, files) is None
        for table in schema.TABLES.values():
            query = f"SELECT * FROM {schema.quoted(table.name)}"
            assert list(tables.rows(read, query, table)) == list(tables.rows(written, query, table))
        again = held.enter_context(tables.of_lines(reopening.lines(read)))
        assert reopening.losses(read, again) == []


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> StoredExperiment:
    plan = synthetic.plan("sieve", blocks=2)
    return synthetic.experiment(tmp_path_factory.mktemp("whole"), plan, synthetic.outcome, closed=True)


@settings(examples, max_examples=40 * TIMES)
@given(data=st.data())
def test_a_damaged_file_is_read_or_named_in_one_sentence(
    closed: StoredExperiment, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(schema.TABLES)))
    path = closed.path / f"{name}.parquet"
    whole = path.read_bytes()
    found = bytearray(whole)
    least = data.draw(st.sampled_from([0, max(0, len(whole) - 400)]))  # its description is at the end
    for _ in range(data.draw(st.integers(0, 3))):
        found[data.draw(st.integers(least, len(found) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.none() | st.integers(0, len(found)))
    said: list[str] = []
    try:
        path.write_bytes(found[:cut])
        with reading.connect(closed) as read:
            for table in schema.TABLES:
                read.execute(f"SELECT * FROM {schema.quoted(table)}").fetchall()
    except ArchiveError as error:
        said.append(str(error))
    finally:
        path.write_bytes(whole)
    assert all(str(closed.path) in one and one.isprintable() and len(one) < 1000 for one in said)


def test_a_complaint_that_quotes_bytes_is_a_sentence(closed: StoredExperiment) -> None:
    """DuckDB's own message is then no text, and Python's error another one."""
    path = closed.path / "events.parquet"
    whole = path.read_bytes()
    assert b"[]" in whole
    try:
        path.write_bytes(whole.replace(b"[]", b"\xff]"))
        with pytest.raises(ArchiveError, match="cannot be read: it is damaged"), reading.connect(closed):
            pass
    finally:
        path.write_bytes(whole)


def test_the_names_of_tables_are_those_of_the_schema() -> None:
    assert tuple(schema.TABLES) == names.OF_EXPERIMENT
    assert tuple(watches.TABLES) == names.OF_WATCH
