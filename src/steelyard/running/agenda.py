"""What of a plan is still to be measured, and what that is thought to cost."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from steelyard.analysis.model import Standing
from steelyard.errors import UsageError
from steelyard.events import Earlier, Look, Outcome, Pair
from steelyard.running import allocation
from steelyard.running.allocation import Offer
from steelyard.running.budget import Budget
from steelyard.statistics import boots
from steelyard.study import plan as plans
from steelyard.study.model import Cell
from steelyard.study.plan import Plan, Trial

# So many failures running on one system and cell, and it is not tried again.
_FAILURES_MOST = 2

_UNKNOWN_S = 0.05  # what a trial is thought to take before any like it was run
_ROUND_PER_BOOT = 5.0  # a round takes at least so many times what booting for it does
_PASSES_FIRST = 2  # trials of a cell in each of the first boots, which show how far such trials differ
EARLY_ROUNDS = 2  # so many times shorter while some cells lack their first blocks


class TooShort(UsageError):
    """The budget was over before two trials had been paired."""


Slot = tuple[Cell, int]  # a cell and a number of a block


class Agenda:
    """What was done, what is settled, what failed for good, and what each cell took."""

    def __init__(self, plan: Plan, earlier: Earlier, budget: Budget) -> None:
        self.plan = plan
        self.cells = plans.lightest_first(plan)
        self.round = earlier.rounds
        self.standing = Standing()
        self._budget = budget
        self._chance = random.Random(f"steelyard rounds {plan.seed} {earlier.rounds}")
        self._over = set(earlier.trials)
        self.blocks = {cell: self._first_open_block(cell) for cell in self.cells}
        self._unfinished = earlier.unfinished
        if not any(self.blocks.values()) and not earlier.unfinished:
            budget.forget()  # what an interruption left without a pair is to have one
        self._hopeless: set[Pair] = set(earlier.hopeless)
        self._failures: dict[Pair, int] = {}
        self._costs: dict[Pair, float] = dict(earlier.costs)  # seconds of the last trial

    def _first_open_block(self, cell: Cell) -> int:
        """The cell's last block if some system has not done it, else the next. Where a system lacks earlier
        ones it did not need them, and would now run them without its partners."""
        last = max((number for number, _, one in self._over if one == cell), default=0)
        is_whole = all((last, system, cell) in self._over for system in self.plan.systems)
        return last + is_whole

    def next_visits(self, *, boot_s: float) -> list[Offer]:
        """The visits of the next round; none when the run is over. `boot_s` is what booting for a round
        takes: a round is long enough to be worth it."""
        offers = self._offers(self._budget.left_s())
        # A cell comes once a round, so that the first verdicts wait for the first few of them.
        early = any(one.blocks < allocation.FIRST_BLOCKS for one in offers)
        seconds = max(allocation.ROUND_S, _ROUND_PER_BOOT * boot_s) / (EARLY_ROUNDS if early else 1)
        return self._choice(offers, seconds, self._budget.left_s())

    def _offers(self, left_s: float) -> list[Offer]:
        return [
            Offer(cell, self.blocks[cell], self.cost_of(cell), self.standing.blocks_needed.get(cell))
            for cell in self.cells
            if self.systems_of(cell) and (not self._costs or self.cost_of(cell) <= left_s)
        ]

    def _choice(self, offers: Sequence[Offer], seconds: float, left_s: float) -> list[Offer]:
        if not offers or left_s <= 0:
            return []
        return allocation.visits(offers, seconds=min(seconds, left_s), chance=self._chance)

    def slots(self, *, boot_s: float) -> list[Slot]:
        """What the systems of a machine do in the next round, each in a boot of its own: `boot_s` is what all
        these boots take. None when the run is over."""
        if self._unfinished:
            return self._left_over()
        left_s = self._budget.left_s() - (boot_s if self._costs else 0.0)
        visits = self._choice(self._offers(left_s), max(allocation.ROUND_S, _ROUND_PER_BOOT * boot_s), left_s)
        passes = self._passes(sum(one.cost_s for one in visits), boot_s, left_s)
        most = self.plan.study.design.blocks
        return [
            (one.cell, self.blocks[one.cell] + number)
            for number in range(passes)
            for one in visits
            if self.blocks[one.cell] + number < most
        ]

    def _passes(self, pass_s: float, boot_s: float, left_s: float) -> int:
        """How often a round does all of its cells: a boot tells more than another pass, and costs more."""
        if self.standing.boot_ratio is None:
            return _PASSES_FIRST
        wanted = boots.trials(boot_s=boot_s, trial_s=pass_s, ratio=self.standing.boot_ratio)
        return max(1, min(wanted, int(left_s / pass_s))) if pass_s else wanted

    def _left_over(self) -> list[Slot]:
        """What the first system did in a round that was interrupted: the others have that left to do. All
        else that the round was to hold would need another boot of the first."""
        done = {system for _, system, _ in self._unfinished}
        first = next(system for system in plans.boot_order(self.plan, self.round) if system in done)
        slots = sorted(
            ((cell, block) for block, system, cell in self._unfinished if system == first),
            key=lambda slot: (slot[1], slot[0].label),
        )
        for cell, block in reversed(slots):
            self.blocks[cell] = block
        return slots

    def trials_in(self, slots: Sequence[Slot], system: str, position: int) -> list[Trial]:
        """The system's trials of a round; none if a run that was interrupted began them already."""
        if any(system == one for _, one, _ in self._unfinished):
            return []
        trials = [
            next(trial for trial in plans.visit(self.plan, cell, block) if trial.system == system)
            for cell, block in slots
            if system in self.systems_of(cell)
        ]
        return [replace(trial, position=position) for trial in trials]

    def complete_round(self, slots: Sequence[Slot]) -> None:
        """All that the round could hold is done."""
        for cell, block in slots:
            self.blocks[cell] = max(self.blocks[cell], block + 1)
        self._unfinished = frozenset()

    def systems_of(self, cell: Cell) -> tuple[str, ...]:
        """The systems that the cell needs more trials of, in the plan's order."""
        if self.blocks[cell] >= self.plan.study.design.blocks:
            return ()
        baseline, *others = self.plan.systems
        if (baseline, cell) in self._hopeless:
            return ()
        if not others:
            return (baseline,)
        closed = self.standing.decided | self._hopeless
        undecided = tuple(system for system in others if (system, cell) not in closed)
        return (baseline, *undecided) if undecided else ()

    def cost_of(self, cell: Cell) -> float:
        """What a visit of the cell is thought to cost: what it did last time, or what lighter ones did."""
        systems = self.systems_of(cell)
        known = [self._costs.get((system, cell)) for system in systems]
        if known and None not in known:
            return sum(cost for cost in known if cost is not None)
        return max((self._guess(system, cell) for system in systems), default=0.0) * len(systems)

    def _guess(self, system: str, cell: Cell) -> float:
        """What the cell's first trial is thought to cost: at least what lighter cells of its workload did."""
        like = [
            cost
            for (name, other), cost in self._costs.items()
            if name == system and other.workload == cell.workload
        ]
        return max(like, default=_UNKNOWN_S)

    def affords(self, cost_s: float) -> bool:
        """Whether the budget covers it. The first visit is tried in any case: else nothing is known."""
        return not self._costs or cost_s <= self._budget.left_s()

    def open_pairs(self) -> int:
        return sum(max(1, len(systems) - 1) for cell in self.cells if (systems := self.systems_of(cell)))

    def systems_in(self, visits: Sequence[Offer]) -> set[str]:
        """The systems that these visits need."""
        return {system for one in visits for system in self.systems_of(one.cell)}

    def is_over(self) -> bool:
        """Whether the budget is spent: no trial is begun after that."""
        return bool(self._costs) and self._budget.left_s() <= 0

    def trials_of(self, cell: Cell) -> list[Trial]:
        """What is left of the cell's next block, of the systems that need it."""
        trials = plans.remaining(plans.visit(self.plan, cell, self.blocks[cell]), self.systems_of(cell))
        return [trial for trial in trials if (trial.block, trial.system, trial.cell) not in self._over]

    def keep(self, trial: Trial, outcome: Outcome, seconds: float) -> None:
        """The trial is done, whatever came of it."""
        pair = (trial.system, trial.cell)
        self._over.add((trial.block, trial.system, trial.cell))
        self._costs[pair] = seconds
        self._failures[pair] = 0 if outcome.status == "ok" else self._failures.get(pair, 0) + 1
        if outcome.status == "unsupported" or self._failures[pair] >= _FAILURES_MOST:
            self._hopeless.add(pair)

    def complete(self, cell: Cell) -> None:
        """A block of the cell is done."""
        self.blocks[cell] += 1

    def look(self, judge: Callable[[], Standing]) -> Look:
        """What the round has settled, and what it has opened again."""
        before = self.standing.decided
        self.round += 1
        self.standing = judge()
        after = self.standing.decided
        return Look(self.round, _sorted(after - before), _sorted(before - after))

    def check(self) -> None:
        """Raises TooShort unless some visit was completed, or failed for another reason than time."""
        if any(self.blocks.values()) or not self._costs or self._hopeless:
            return
        (system, cell), seconds = next(iter(self._costs.items()))
        budget, pair = self.plan.study.design.budget_s, seconds * len(self.plan.systems)
        raise TooShort(
            f"the budget of {budget:g} s was over before anything could be compared: one trial of "
            f"{cell.label} on {system} took {seconds:.2g} s; a first pair takes some {pair:.2g} s, and two "
            f"pairs of each of the {len(self.plan.cells)} cells are the least that makes an interval"
        )


def _sorted(pairs: frozenset[Pair]) -> tuple[Pair, ...]:
    return tuple(sorted(pairs, key=lambda pair: (pair[0], pair[1].label)))
