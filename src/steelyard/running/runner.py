"""Runs a plan on its systems and yields what happened, as it happens: starts, outcomes, looks.

Time goes in rounds of some seconds: a round's visits are chosen by what is known (`allocation`), measured,
and judged. `agenda` holds what is to be measured, `fleet` the systems that are up, `budget` the time.
"""

import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, replace

from steelyard.analysis.model import Standing
from steelyard.events import Earlier, Event, Outcome
from steelyard.running import allocation
from steelyard.running.agenda import EARLY_ROUNDS, Agenda
from steelyard.running.allocation import Offer
from steelyard.running.budget import Budget
from steelyard.running.counting import Counting
from steelyard.running.dialogue import AgentLike
from steelyard.running.fleet import Fleet, NoSeats, SeatsLike, Watch
from steelyard.study import plan as plans
from steelyard.study.plan import Plan, Trial

_ROUND_OVERRUN = 1.5


_NO_SEATS = NoSeats()


@dataclass(frozen=True, slots=True)
class Progress:
    """Where the run stands, for people."""

    round: int  # from 0
    trial: Trial
    position: int
    trials: int  # in this round
    open_pairs: int
    pairs: int  # that can be decided at all
    spent_s: float
    left_s: float  # at most


def run(
    plan: Plan,
    *,
    start: Callable[[str], AgentLike],
    boots_afresh: Collection[str],
    judge: Callable[[], Standing],
    notify: Callable[[Progress], None],
    earlier: Earlier,
    watch: Watch | None = None,
    seats: SeatsLike = _NO_SEATS,
    clock: Callable[[], float] = time.monotonic,
) -> Generator[Event, None, None]:
    """Yields every event of the experiment, in order; when it ends, every system has been closed.

    `start` brings a system up; `boots_afresh` are those whose start is a boot; `judge` says what is known by
    now, and is asked after each round. Stops when all pairs are decided or have the most blocks, or when the
    budget, counted from the first trial on, would not cover another visit. A system that cannot start at the
    beginning raises what `start` raises; one that dies later yields failed outcomes, and is started again
    for the next round. Raises TooShort if the budget does not cover even one pair. With `watch` every trial
    is accounted for, and what differs much for sure gets trials that count system calls.

    Where systems exclude each other (`seats`), a round is one boot of each, one after the other. Raises Stuck
    where a machine does not come up.
    """
    budget = Budget(plan.study.design.budget_s, spent_before_s=earlier.spent_s, clock=clock)
    is_booted = any(map(seats.machine, plan.systems))
    if not is_booted:  # only a round of boots is finished as it was begun
        earlier = replace(earlier, unfinished=frozenset())
    agenda = Agenda(plan, earlier, budget)
    budget.add(seats.away_s())
    fleet = Fleet(
        plan,
        start=start,
        watch=watch,
        clock=clock,
        seats=seats,
        earlier=earlier,
    )
    counting = Counting(agenda, fleet, budget, counted=earlier.accounted, clock=clock)
    try:
        for system in plan.systems:
            if seats.machine(system) is None:
                yield from fleet.bring_up(system)
        agenda.standing = judge()
        if is_booted:
            yield from _rounds_by_boot(agenda, fleet, budget, judge, seats, notify, clock)
            agenda.check()
            return
        boots_each_round = plan.study.design.blocks_per_boot == 1
        while visits := agenda.next_visits(boot_s=fleet.boot_s() if boots_each_round else 0.0):
            afresh = boots_afresh if plans.starts_afresh(plan, agenda.round) else ()
            systems = fleet.to_boot(agenda.systems_in(visits), afresh)
            if fleet.boot_s(systems) >= budget.left_s():
                break
            yield from fleet.refresh(systems)
            yield from _round(agenda, fleet, budget, visits, notify, clock)
            yield agenda.look(judge)
            yield from counting.perform()
        yield from counting.perform(is_over=True)
        agenda.check()
    finally:
        fleet.close()


def _rounds_by_boot(
    agenda: Agenda,
    fleet: Fleet,
    budget: Budget,
    judge: Callable[[], Standing],
    seats: SeatsLike,
    notify: Callable[[Progress], None],
    clock: Callable[[], float],
) -> Iterator[Event]:
    """Rounds in which each system does in one boot what it has to do. A round that was begun is finished: a
    system's boot without its partners' would tell nothing."""
    plan = agenda.plan
    seated = [system for system in plan.systems if seats.machine(system) is not None]
    while slots := agenda.slots(boot_s=fleet.boot_s(seated)):
        for position, system in enumerate(plans.boot_order(plan, agenda.round)):
            trials = agenda.trials_in(slots, system, position)
            if trials:
                budget.begin()
                yield from (
                    fleet.boot(system) if system in seated else fleet.refresh(fleet.to_boot([system], []))
                )
                yield from _trials(agenda, fleet, budget, trials, notify, clock)
        agenda.complete_round(slots)
        yield agenda.look(judge)


def _trials(
    agenda: Agenda,
    fleet: Fleet,
    budget: Budget,
    trials: Sequence[Trial],
    notify: Callable[[Progress], None],
    clock: Callable[[], float],
) -> Iterator[Outcome]:
    """The trials of one boot; those of a system that does not live through it end there."""
    for number, trial in enumerate(trials):
        notify(_progress(agenda, budget, trial, number, len(trials)))
        begun = clock()
        outcome = fleet.attempt(trial)
        agenda.keep(trial, outcome, clock() - begun)
        yield outcome
        if not fleet.is_up(trial.system):
            return


def _round(
    agenda: Agenda,
    fleet: Fleet,
    budget: Budget,
    visits: Sequence[Offer],
    notify: Callable[[Progress], None],
    clock: Callable[[], float],
) -> Iterator[Outcome]:
    """The trials of a round, visit by visit. A round that takes much longer than was thought is cut short:
    what it would have held comes in the next one, if it is still wanted by then."""
    meant_s = sum(one.cost_s for one in visits)
    until_s = budget.spent_s() + max(_ROUND_OVERRUN * meant_s, allocation.ROUND_S / EARLY_ROUNDS)
    position, trials = 0, sum(len(agenda.systems_of(one.cell)) for one in visits)
    for one in visits:
        planned = agenda.trials_of(one.cell)
        if budget.spent_s() > until_s or not agenda.affords(agenda.cost_of(one.cell)):
            position += len(planned)
            continue
        for trial in planned:
            if agenda.is_over():
                return
            budget.begin()
            notify(_progress(agenda, budget, trial, position, trials))
            begun = clock()
            outcome = fleet.attempt(trial)
            agenda.keep(trial, outcome, clock() - begun)
            yield outcome
            position += 1
        agenda.complete(one.cell)


def _progress(agenda: Agenda, budget: Budget, trial: Trial, position: int, trials: int) -> Progress:
    plan = agenda.plan
    pairs = max(1, len(plan.systems) - 1) * len(plan.cells)
    left_s = max(0.0, budget.left_s())
    return Progress(
        agenda.round, trial, position, trials, agenda.open_pairs(), pairs, budget.spent_s(), left_s
    )
