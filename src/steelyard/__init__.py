"""Steelyard weighs one operating system against another.

The rooms stand in reading order, in the order in which a figure travels. Each imports only from earlier
ones: text, shapes, errors, home, last_words, destination, streams, terminal, interruption, standstill,
commands, quantities, allowance, libraries, toml_file, servers, study, programs, statistics, watch, events,
systems, archive, analysis, running, words, papers, drawing, report, api, cli, entry.
"""

TYPE_CHECKING = False  # typing would take longer to import than a short command has to spare

if TYPE_CHECKING:
    from steelyard.api import open as open

    __version__: str


def __getattr__(name: str) -> object:
    """`open` and `__version__`, which docs/reference/api.md describes: imported on first use."""
    if name == "__version__":
        from importlib.metadata import version

        return version("steelyard")
    if name == "open":
        from steelyard import libraries

        libraries.load("steelyard.api")
        from steelyard import api

        return api.open
    raise AttributeError(f"module 'steelyard' has no attribute {name!r}")
