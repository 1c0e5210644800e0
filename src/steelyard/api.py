"""An archive for programs: its experiments, their tables as DuckDB relations, what was found as dataclasses.

docs/reference/api.md describes it; `steelyard.open` is its beginning.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb

from steelyard.analysis import evaluate
from steelyard.analysis.model import Comparison, Evaluation
from steelyard.archive import experiments, names, reading
from steelyard.archive.schema import quoted
from steelyard.errors import UnknownName
from steelyard.quantities import parsed
from steelyard.study import bounds

__all__ = ["Archive", "Experiment", "open"]


def open(archive: str | os.PathLike[str] | None = None) -> "Archive":
    """The archive in that directory; by default STEELYARD_ARCHIVE, or the usual one. It is only read. Use it
    as a context manager: its relations end with it. Raises ArchiveError.
    """
    return Archive(Path(archive) if archive is not None else experiments.default_root())


class Archive:
    """Experiments, the oldest first; of a name, or the newest."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._held = ExitStack()
        self.experiments = tuple(Experiment(one, self._held) for one in experiments.experiments(path))

    def __enter__(self) -> "Archive":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes what is open of the experiments: relations cannot be used any more."""
        self._held.close()

    def __iter__(self) -> Iterator["Experiment"]:
        return iter(self.experiments)

    def __len__(self) -> int:
        return len(self.experiments)

    def __getitem__(self, name: str) -> "Experiment":
        """The experiment of that name. Raises UnknownName."""
        known = {one.name: one for one in self.experiments}
        if name not in known:
            raise UnknownName("experiment", name, known, where=f"archive {self.path}: ")
        return known[name]

    @property
    def newest(self) -> "Experiment | None":
        """None in an archive that holds no experiment."""
        return self.experiments[-1] if self.experiments else None


class Experiment:
    """One execution of a study: its header, its tables, and what was found."""

    tables = names.OF_EXPERIMENT

    def __init__(self, entry: experiments.StoredExperiment, held: ExitStack) -> None:
        self._entry = entry
        self._held = held

    def __repr__(self) -> str:
        return f"<experiment {self.name}>"

    @property
    def name(self) -> str:
        return self._entry.name

    @property
    def path(self) -> Path:
        return self._entry.path

    @property
    def closed(self) -> bool:
        """True if it is complete; an open one may be under measurement."""
        return self._entry.closed

    @property
    def header(self) -> Mapping[str, Any]:
        """The header, `experiment.json` (docs/reference/records.md)."""
        return self._entry.header

    @property
    def study(self) -> str:
        return str(self.header["study"])

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(self.header["systems"])

    @cached_property
    def database(self) -> duckdb.DuckDBPyConnection:
        """A database with the tables of tables.md, for your own SQL. Raises ArchiveError."""
        return self._held.enter_context(reading.connect(self._entry))

    def table(self, name: str) -> duckdb.DuckDBPyRelation:
        """The table of that name. Raises UnknownName, ArchiveError."""
        if name not in self.tables:
            raise UnknownName("table", name, self.tables)
        return self.database.query(f"SELECT * FROM {quoted(name)}")

    @property
    def trials(self) -> duckdb.DuckDBPyRelation:
        return self.table("trials")

    @property
    def samples(self) -> duckdb.DuckDBPyRelation:
        return self.table("samples")

    def evaluation(self, *, baseline: str | None = None, margin: str | float | None = None) -> Evaluation:
        """The contents of a report: the comparison with the baseline, by a margin such as "2%" or 0.02.
        Raises UnknownName, UsageError, ArchiveError.
        """
        return evaluate.of(
            self._entry,
            baseline=baseline,
            margin=None if margin is None else parsed("margin", bounds.margin, margin),
            machine_facts=True,
        )

    def comparisons(
        self, *, baseline: str | None = None, margin: str | float | None = None
    ) -> tuple[Comparison, ...]:
        """The verdicts, one for each metric and system. Raises what `evaluation` does."""
        return self.evaluation(baseline=baseline, margin=margin).comparisons
