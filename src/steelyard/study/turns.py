"""How a trial is measured whose batches take turns; docs/explanation/statistics.md says why.

A trial that takes turns waits after its set-up, and does a batch when it is told to: so all systems can do a
cell at the same time, batch by batch, on the same processor.
"""

PARAMETER = "turns"  # the laboratory's: a trial would wait for ever for a turn that no one gives
CYCLES = 40  # in each of them every system does a batch
_BATCH_NS = 500_000  # longer than a change of turns by far, and shorter than the scheduler's slice
_WARMUP_NS = 5_000_000


def settings() -> dict[str, int]:
    """Of a trial that takes turns, in place of those of the study."""
    return {PARAMETER: 1, "batches": CYCLES, "batch_ns": _BATCH_NS, "warmup_ns": _WARMUP_NS}
