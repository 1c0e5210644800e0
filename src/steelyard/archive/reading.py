"""Reads experiments by SQL, whether they are open or closed."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from steelyard.archive import experiments, exports, tables
from steelyard.archive.experiments import StoredExperiment
from steelyard.errors import ArchiveError, in_words


@contextmanager
def connect(experiment: StoredExperiment) -> Iterator[tables.Connection]:
    """A database with the tables of the experiment, whether it is open or closed; tables.md has their
    columns. Raises ArchiveError, also for what DuckDB cannot do while it is in use."""
    path = experiment.path
    with ExitStack() as held, readable(path):
        try:
            if experiment.closed:
                opened = tables.of_files(
                    path, absent=experiment.absent, known=experiments.known_names(experiment)
                )
            else:
                opened = tables.of_lines(experiments.lines(experiment))
            database = held.enter_context(opened)
        except FileNotFoundError as error:
            raise ArchiveError(
                f"experiment {path} is damaged: it has no {Path(error.filename).name}"
            ) from error
        except OSError as error:
            raise ArchiveError(f"{error.filename or path} cannot be read: {in_words(error)}") from error
        yield database


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Raises ArchiveError for what DuckDB cannot do with the experiment in that directory."""
    try:
        yield
    except tables.FAULTS as error:
        raise ArchiveError(f"experiment {path} cannot be read: {tables.complaint(error)}") from error


def export(experiment: StoredExperiment, table: str, file: Path) -> None:
    """Writes one table of the experiment to the file, by the file's ending. Raises UsageError for another
    ending, ArchiveError if the file cannot be written."""
    exports.check(file)
    with connect(experiment) as database:
        exports.write(database, table, file)
