"""How a trial is measured whose batches take turns; docs/explanation/statistics.md says why.

A trial that takes turns waits after its set-up, and does a batch when it is told to: so all systems can do a
cell at the same time, batch by batch, on the same processor.
"""

from dataclasses import dataclass

PARAMETER = "turns"  # the laboratory's: a trial would wait for ever for a turn that no one gives
BATCH_MOST_NS = 3_000_000  # the scheduler's slice: another process would come in between
_WARMUP_NS = 2_000_000


@dataclass(frozen=True, slots=True)
class Batches:
    """Of each trial that takes turns, unless its cell says otherwise; the study's are of other trials."""

    most: int
    ns: int

    def settings(self) -> dict[str, int | str]:
        return {PARAMETER: 1, "batches": self.most, "batch_ns": self.ns, "warmup_ns": _WARMUP_NS}


# Short, because noise changes within a millisecond; and as much time as setting up. More would tell more, but
# of fewer trials in the same time.
OF_TRIALS = Batches(most=72, ns=125_000)
# Where systems are booted for each round, a boot differs from the next by far more than a trial, and a change
# of turns takes longer: few batches, and long ones.
OF_BOOTS = Batches(most=10, ns=500_000)

_ALONE_MOST, _ALONE_FROM = 8, 10


def alone(batches: int) -> int:
    """How many of a trial's batches are its last turn, which tells what it would take alone: without another
    trial's work between them. Where they are few, none."""
    return min(_ALONE_MOST, batches // 5) if batches >= _ALONE_FROM else 0


def in_a_row(batches: int) -> int:
    """How many batches a system has before another system has its own. Two, where a trial has as many batches
    as it may because they are short: that halves the changes of turns."""
    return 2 if batches >= OF_TRIALS.most else 1
