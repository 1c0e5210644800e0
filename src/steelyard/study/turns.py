"""How a trial is measured whose batches take turns; docs/explanation/statistics.md says why.

A trial that takes turns waits after its set-up, and does a batch when it is told to: so all systems can do a
cell at the same time, batch by batch, on the same processor.
"""

PARAMETER = "turns"  # the laboratory's: a trial would wait for ever for a turn that no one gives
BATCH_MOST_NS = 3_000_000  # the scheduler's slice: another process would come in between
BATCHES = 24  # as much time as setting up; more would tell more, but of fewer trials in the same time
BATCHES_OF_BOOTS = 8  # where a boot differs from the next by far more than a trial: more boots tell more
_BATCH_NS = 500_000  # longer than a change of turns by far
_WARMUP_NS = 2_000_000


def settings(batches: int) -> dict[str, int | str]:
    """Of a trial that takes turns, unless its cell says otherwise; the study's are of other trials."""
    return {PARAMETER: 1, "batches": batches, "batch_ns": _BATCH_NS, "warmup_ns": _WARMUP_NS}
