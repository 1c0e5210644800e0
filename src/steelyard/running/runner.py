"""Runs a plan on its systems and yields what happened, as it happens: starts, outcomes, looks.

Time goes in rounds of some seconds: a round's visits are chosen by what is known (`allocation`), measured,
and judged. `queue` holds what is to be measured, `running_systems` the systems that are up, and `budget` the
time.
"""

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from steelyard import standstill
from steelyard.analysis.model import Interim
from steelyard.errors import SteelyardError, SystemFailed, Unsupported
from steelyard.events import SET_ASIDE, Earlier, Event, Outcome, Unbooted
from steelyard.running import allocation
from steelyard.running.allocation import Offer
from steelyard.running.budget import Budget
from steelyard.running.counting import Counting
from steelyard.running.queue import EARLY_ROUNDS, Queue
from steelyard.running.running_systems import BootMachinesLike, NoSeats, RunningSystems, Start, Watch
from steelyard.study import plan as plans
from steelyard.study.plan import Plan, Trial
from steelyard.systems.machine import BOOT_S

_ROUND_OVERRUN = 1.5
_TRIES = 3  # at one trial, where the laboratory stands still
_LOOKS_AFTER = 2  # the work after the last trial (a look, and closing) takes this multiple of a look

_NO_SEATS = NoSeats()


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of the run, for people."""

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
    start: Start,
    boots_afresh: Collection[str],
    judge: Callable[[], Interim],
    notify: Callable[[Progress], None],
    earlier: Earlier,
    watch: Watch | None = None,
    boot_machines: BootMachinesLike = _NO_SEATS,
    keep: Callable[[Event], None] = lambda event: None,
    starts_s: Mapping[str, float] | None = None,
    begun_s: float | None = None,
    clock: Callable[[], float] = standstill.clock,
) -> Generator[Event, None, None]:
    """Yield every event of the experiment, in order; when it ends, every system has been closed.

    `start` starts a system; `boots_afresh` are those whose start is a boot; `judge` gives the interim result,
    and is called after each round. The run stops when all pairs are decided or have the maximum number of
    blocks, or when the budget would not cover another visit. The budget counts from `begun_s` on the clock,
    the time of the command, and includes everything. If a system cannot start at the beginning, it is left
    out with an Unbooted event, as long as the baseline and another system remain; otherwise the exception of
    `start` is raised. A system that dies later yields a failed outcome, and is started again for the next
    round. A system is not started if its start would exceed the remaining time, by its last start or by
    `starts_s`. Raises TooShort if nothing could be compared. With `watch` every trial is accounted for, and
    large proven differences get trials that count system calls. The output of systems is given to `keep` when
    they end.

    If systems exclude each other (`boot_machines`), a round is one boot of each, in turn. Raises Stuck if a
    machine does not come up.
    """
    budget = Budget(
        plan.study.design.budget_s,
        spent_before_s=earlier.spent_s,
        begun_s=clock() if begun_s is None else begun_s,
        clock=clock,
    )
    is_booted = any(map(boot_machines.machine, plan.systems))
    if not is_booted:  # only a round of boots is finished as it was begun
        earlier = replace(earlier, unfinished=frozenset())
    queue = Queue(plan, earlier, budget)
    budget.add(boot_machines.away_s())
    running_systems = RunningSystems(
        plan,
        start=start,
        watch=watch,
        clock=clock,
        boot_machines=boot_machines,
        earlier=earlier,
        keep=keep,
        starts_s=dict.fromkeys(filter(boot_machines.machine, plan.systems), BOOT_S) | dict(starts_s or {}),
    )
    counting = Counting(queue, running_systems, budget, counted=earlier.accounted, clock=clock)
    try:
        yield from _start_all(queue, running_systems, budget, boot_machines)
        queue.interim = judge()
        if is_booted:
            yield from _rounds_by_boot(queue, running_systems, budget, judge, boot_machines, notify, clock)
            queue.check()
            return
        boots_each_round = plan.study.design.blocks_per_boot == 1
        while visits := queue.next_visits(boot_s=running_systems.boot_s() if boots_each_round else 0.0):
            afresh = boots_afresh if plans.starts_afresh(plan, queue.round) else ()
            systems = running_systems.to_boot(queue.systems_in(visits), afresh)
            if systems and running_systems.longest_boot_s(systems) > budget.left_s():
                break
            yield from running_systems.refresh(systems)
            yield from _round(queue, running_systems, budget, visits, notify, clock)
            yield _look(queue, budget, judge, clock)
            yield from counting.perform()
        yield from counting.perform(is_over=True)
        queue.check()
    finally:
        running_systems.close()


def _start_all(
    queue: Queue, running_systems: RunningSystems, budget: Budget, boot_machines: BootMachinesLike
) -> Iterator[Event]:
    """Starts every system that excludes no other and for which there is time, and leaves out what cannot
    start, while two remain."""
    baseline, *others = queue.plan.systems
    for system in queue.plan.systems:
        if boot_machines.machine(system) is not None:
            continue
        is_owed = queue.owed is not None and queue.owed.system == system
        left_s = budget.seconds if is_owed else budget.left_s()
        if running_systems.boot_s([system]) > left_s:
            queue.leave_out(system)
            continue
        try:
            yield from running_systems.bring_up(system, limit_s=left_s)
        except SteelyardError as error:
            if budget.left_s() <= 0 and not is_owed:  # its start was cut short
                queue.leave_out(system)
                continue
            is_last = system == baseline or len(others) == len(queue.absent) + 1
            if is_last or not isinstance(error, Unsupported | SystemFailed):
                raise
            queue.absent.add(system)
            running_systems.lose(system, str(error))
            yield Unbooted(system, str(error))


def _look(queue: Queue, budget: Budget, judge: Callable[[], Interim], clock: Callable[[], float]) -> Event:
    """Judges what there is, and keeps as much time for the last look, and for closing what was measured."""
    begun = clock()
    look = queue.look(judge)
    budget.reserve_s = _LOOKS_AFTER * (clock() - begun)
    return look


def _rounds_by_boot(
    queue: Queue,
    running_systems: RunningSystems,
    budget: Budget,
    judge: Callable[[], Interim],
    boot_machines: BootMachinesLike,
    notify: Callable[[Progress], None],
    clock: Callable[[], float],
) -> Iterator[Event]:
    """Rounds in which each system does in one boot what it has to do. A round that was begun is finished: a
    system's boot without its partners' would tell nothing."""
    plan = queue.plan
    bootable = [system for system in plan.systems if boot_machines.machine(system) is not None]
    while slots := queue.slots(boot_s=running_systems.boot_s(bootable)):
        for position, system in enumerate(plans.boot_order(plan, queue.round)):
            trials = queue.trials_in(slots, system, position)
            if trials:
                yield from (
                    running_systems.boot(system)
                    if system in bootable
                    else running_systems.refresh(running_systems.to_boot([system], []))
                )
                yield from _trials(queue, running_systems, budget, trials, notify, clock)
        queue.complete_round(slots)
        yield _look(queue, budget, judge, clock)


def _trials(
    queue: Queue,
    running_systems: RunningSystems,
    budget: Budget,
    trials: Sequence[Trial],
    notify: Callable[[Progress], None],
    clock: Callable[[], float],
) -> Iterator[Outcome]:
    """The trials of one boot; those of a system that dies end there."""
    for number, trial in enumerate(trials):
        notify(_progress(queue, budget, trial, number, len(trials)))
        yield from _performed(queue, running_systems, [trial], clock, limit_s=float("inf"))
        if not running_systems.is_up(trial.system):
            return


def _performed(
    queue: Queue,
    running_systems: RunningSystems,
    trials: Sequence[Trial],
    clock: Callable[[], float],
    *,
    limit_s: float,
) -> Generator[Outcome, None, bool]:
    """The outcomes of a trial, or of those that take turns, after others that were set aside because the
    laboratory stood still; returns whether they are done."""
    for _ in range(_TRIES):
        begun = clock()
        outcomes = running_systems.attempt_together(trials, limit_s=limit_s)
        took_s = (clock() - begun) / len(trials)
        for trial, outcome in zip(trials, outcomes, strict=True):
            queue.keep(trial, outcome, took_s)
            yield outcome
        if all(one.status != SET_ASIDE for one in outcomes):
            return True
        is_cut = any(one.status == SET_ASIDE and one.host_ns is not None for one in outcomes)
        if is_cut or not all(running_systems.is_up(one.system) for one in trials):
            break
    return False


def _round(
    queue: Queue,
    running_systems: RunningSystems,
    budget: Budget,
    visits: Sequence[Offer],
    notify: Callable[[Progress], None],
    clock: Callable[[], float],
) -> Iterator[Outcome]:
    """The trials of a round, visit by visit. A round that takes much longer than was thought is cut short:
    what it would have held comes in the next one, if it is still wanted by then. So does what needs a system
    that was lost in it: it is started again before the next one."""
    down = {system for system in queue.plan.systems if not running_systems.is_up(system)}
    meant_s = sum(one.cost_s for one in visits)
    until_s = budget.spent_s() + max(_ROUND_OVERRUN * meant_s, allocation.ROUND_S / EARLY_ROUNDS)
    position, trials = 0, sum(len(queue.systems_of(one.cell)) for one in visits)
    for one in visits:
        planned = queue.trials_that_fit(one.cell, left_s=budget.left_s())
        is_whole = len(planned) == len(queue.trials_of(one.cell))
        lost = {one.system for one in planned if not running_systems.is_up(one.system)} - down
        if lost or budget.spent_s() > until_s:
            position += len(planned)
            continue
        for members in [planned] if one.cell in queue.plan.in_turns else [[trial] for trial in planned]:
            if members and all(map(queue.fits, members)):
                notify(_progress(queue, budget, members[0], position, trials))
                limit_s = min(map(queue.limit_s, members))
                is_whole &= yield from _performed(queue, running_systems, members, clock, limit_s=limit_s)
            else:
                is_whole = False
            position += len(members)
        if planned and is_whole:
            queue.complete(one.cell)


def _progress(queue: Queue, budget: Budget, trial: Trial, position: int, trials: int) -> Progress:
    plan = queue.plan
    pairs = max(1, len(plan.systems) - len(queue.absent) - 1) * len(plan.cells)
    left_s = max(0.0, budget.left_s())
    return Progress(queue.round, trial, position, trials, queue.open_pairs(), pairs, budget.spent_s(), left_s)
