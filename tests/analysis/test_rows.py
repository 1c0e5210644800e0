"""Rows of an event, as a look takes them, and of the tables, as a report does: the same."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic

from steelyard.analysis import rows
from steelyard.analysis.rows import Rows
from steelyard.archive import reading
from steelyard.events import Count, Outcome, Samples, Surroundings, Unbooted
from steelyard.study.plan import Trial

WORKLOADS = ("sieve", "disktest", "memory_read", "linpack_limit", "shell")


def _measured(trial: Trial, chance: random.Random) -> Outcome:
    """Trials of every kind, at random: several copies, curves, counts, failures, clocks that are apart."""
    if chance.random() < 0.1:
        return synthetic.bad(trial, chance.choice(("failed", "timed out", "unsupported")), "it did not work")
    one = synthetic.outcome(trial, 1000 * math.exp(chance.gauss(0, 0.1)), boot=trial.block // 3 + 1)
    samples = tuple(
        replace(
            each, durations_ns=tuple(round(ns * math.exp(chance.gauss(0, 0.1))) for ns in each.durations_ns)
        )
        for each in one.samples
    )
    if trial.cell.workload == "memory_read":
        samples = tuple(
            replace(each, point=point, bytes=point) for each in samples for point in (4096, 65536)
        )
    counts = (Count(0, "count", "processes", chance.randint(1, 99)),) * (
        trial.cell.workload == "linpack_limit"
    )
    return replace(
        one,
        samples=() if counts else samples,
        counts=counts,
        guest_ns=one.host_ns and one.host_ns + chance.randint(-(10**6), 10**6),
        clock_doubt_ns=chance.choice((0, 5 * 10**5)),
        pressure=chance.choice((None, 0.0, 0.7)),
        together=chance.choice((None, 7.0)) if trial.cell.copies == 1 else None,
        surroundings=Surroundings(had_ns=10**9, busy_ns=chance.randint(0, 10**9))
        if chance.random() < 0.5
        else None,
    )


def _like(found: Sequence[Any]) -> list[tuple[Any, ...]]:
    """In an order that both have, with floats that differ by their last bits alike."""
    return sorted(
        (tuple(float(f"{one:.12e}") if isinstance(one, float) else one for one in row) for row in found),
        key=str,
    )


@pytest.mark.computes
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("copies", [(), (1, 3)])
def test_what_is_heard_is_what_is_read(tmp_path: Path, seed: int, copies: tuple[int, ...]) -> None:
    chance = random.Random(seed)
    workloads = [one for one in WORKLOADS if not copies or one != "memory_read"]
    made = synthetic.plan(*workloads, copies=copies, blocks=5)
    found, heard = synthetic.new(tmp_path, made), Rows()
    for trial in synthetic.trials(made):
        event = _measured(trial, chance)
        synthetic.append(found, event)
        heard.hear(event)
    unbooted = Unbooted("b", "it did not come up")
    synthetic.append(found, unbooted)
    heard.hear(unbooted)

    with reading.connect(found) as connection:
        read = rows.read(connection)

    for kind in ("trials", "values", "counts", "usage"):
        assert _like(getattr(heard, kind)) == _like(getattr(read, kind)), kind
    assert heard.absent == read.absent
    assert len(heard.values) > 20


def test_times_with_a_batch_or_two_have_the_quantiles_of_the_tables(tmp_path: Path) -> None:
    made = synthetic.plan("sieve", blocks=2)
    found, heard = synthetic.new(tmp_path, made), Rows()
    for number, trial in enumerate(synthetic.trials(made)):
        durations = (10**9, 3 * 10**9, 4 * 10**9)[: 1 + number % 3]
        event = replace(synthetic.outcome(trial), samples=(Samples(0, "time", 7, durations),))
        synthetic.append(found, event)
        heard.hear(event)

    with reading.connect(found) as connection:
        assert _like(heard.values) == _like(rows.read(connection).values)
