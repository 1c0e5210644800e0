"""One load from the generator, with the pattern of a test."""

from collections.abc import Callable

from steelyard.errors import SystemFailed
from steelyard.load import client
from steelyard.load.model import LatencyHistogram, LoadTrial, Pattern, Waits
from steelyard.servers.running import Target

# Four connections for a hundred requests, and nothing to tell of.
CALM = Waits(4, 400_000, 0, 0, 5_000_000, LatencyHistogram({}), 0, 1_000_000_000)
CLOSED = Pattern("keep-alive", None, "constant", 0, "constant", 1.0, 1000)


def loaded(
    port: int,
    pattern: Pattern = CLOSED,
    *,
    clients: int = 4,
    warmup_s: float = 0.1,
    window_s: float = 1.0,
    threads: int = 1,
) -> LoadTrial:
    """A host that takes the processor for some tenths of a second leaves enough of that window."""
    target = Target("x", "127.0.0.1", port, "localhost", "/", False)
    return client.run(
        target, pattern, clients=clients, threads=threads, warmup_s=warmup_s, window_s=window_s, seed=1
    )


def answered(load: Callable[[], LoadTrial]) -> LoadTrial:
    """The first trial whose first fetch was answered: a busy host may let the server be silent that long."""
    for _ in range(20):
        try:
            return load()
        except SystemFailed as error:
            if "it sent nothing within" not in str(error):
                raise
    return load()


def loaded_until(is_enough: Callable[[LoadTrial], bool], load: Callable[[], LoadTrial]) -> LoadTrial:
    """The first of several trials of which that is so: a host may let nobody run for the whole of one."""
    for _ in range(20):
        found = load()
        if is_enough(found):
            break
    return found
