"""The part of a plan that is still to be measured, and its estimated cost."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from steelyard.analysis.model import Horizon, Interim
from steelyard.errors import UsageError
from steelyard.events import SET_ASIDE, Earlier, Look, Outcome, Pair
from steelyard.quantities import digits, number_of
from steelyard.running import allocation, estimate
from steelyard.running.allocation import Offer
from steelyard.running.budget import Budget
from steelyard.statistics import boots, guard, levels
from steelyard.study import plan as plans
from steelyard.study.model import Cell
from steelyard.study.plan import Plan, Trial

# That many failures running on one system and cell, and it is not tried again.
_FAILURES_MOST = 2

_ROUND_PER_BOOT = 5.0  # a round takes at least this multiple of its boot time
_BOOTS_WANTED = 32
EARLY_ROUNDS = 2  # shorter by this factor while some cells lack their first blocks


class TooShort(UsageError):
    """The budget was over before two trials had been paired. What was measured is kept."""


Slot = tuple[Cell, int]  # a cell and a number of a block


class Queue:
    """The finished trials, the settled pairs, the permanent failures, and the duration of each cell."""

    def __init__(self, plan: Plan, earlier: Earlier, budget: Budget) -> None:
        self.plan = plan
        self.cells = plans.lightest_first(plan)
        self.round = earlier.rounds
        self.interim = Interim()
        self.absent: set[str] = set()  # systems that could not start when the run began
        self._budget = budget
        self._chance = random.Random(f"steelyard rounds {plan.seed} {earlier.rounds}")
        self._over = set(earlier.trials)
        self.blocks = {cell: self._first_open_block(cell) for cell in self.cells}
        self._unfinished = earlier.unfinished
        self._left_out: set[str] = set()  # systems for whose start there is no time
        self._least_s = {cell: estimate.least_trial_s(plan, cell) for cell in self.cells}
        self._cut: set[Pair] = set()  # whose costs are more than that: the budget ended them
        self._has_pair = any(self._is_paired(number, cell) for number, _, cell in self._over)
        if not self._has_pair and not earlier.unfinished:
            budget.forget()  # what an interruption left without a pair is to have one
        self._hopeless: set[Pair] = set(earlier.hopeless)
        self._failures: dict[Pair, int] = {}
        self._expected: dict[Cell, Horizon] = {}  # the first at which a verdict or a size is expected
        self._missed: dict[Cell, int] = {}  # how often it was not there then
        self._costs: dict[Pair, float] = dict(earlier.costs)  # seconds of the last trial
        # The trial that a command does whatever time is left, while nothing can be compared: else the same
        # command, given again, would never get further.
        self.owed: Trial | None = None if self._has_pair else self._nearest_to_a_pair()

    def _first_open_block(self, cell: Cell) -> int:
        """The cell's last block if some system has not done it, else the next. Where a system lacks earlier
        ones it did not need them, and would now run them without its partners."""
        last = max((number for number, _, one in self._over if one == cell), default=0)
        is_whole = all((last, system, cell) in self._over for system in self.plan.systems)
        return last + is_whole

    def leave_out(self, system: str) -> None:
        """There is no time to start the system: it is not measured."""
        self._left_out.add(system)

    def _nearest_to_a_pair(self) -> Trial | None:
        """The trial that a pair lacks, or with which the shortest cell's begins."""
        baseline = self.plan.systems[0]
        trials = [
            (
                (
                    len(left) == len(self.systems_of(cell)),
                    self._cost(one.system, cell),
                    one.system != baseline,
                ),
                one,
            )
            for cell in self.cells
            for left in [self.trials_of(cell)]
            for one in left
            if one.system == baseline or all(other.system != baseline for other in left)
        ]
        return min(trials, key=lambda trial: trial[0])[1] if trials else None

    def _is_paired(self, block: int, cell: Cell) -> bool:
        """True if the baseline and another system (or the only system) have that block of the cell."""
        baseline, *others = self.plan.systems
        done = [(block, system, cell) in self._over for system in others or [baseline]]
        return (block, baseline, cell) in self._over and any(done)

    def next_visits(self, *, boot_s: float) -> list[Offer]:
        """The visits of the next round; none when the run is over. `boot_s` is what booting for a round
        takes: a round is long enough to be worth it. Its cells are visited again in it as long as it has
        time, but none beyond its next look; or as often as a boot deserves."""
        left_s = self._budget.left_s()
        offers = self._offers(left_s)
        # A cell comes once at first, so that the first verdicts wait for the first few of them.
        if any(one.blocks < allocation.FIRST_BLOCKS for one in offers):
            seconds = max(allocation.ROUND_S, _ROUND_PER_BOOT * boot_s) / EARLY_ROUNDS
            return self._choice(offers, seconds, left_s, boot_s)
        if not boot_s:
            further = {one.cell: self._next_look(one.cell) - one.blocks for one in offers}
            return self._choice(offers, allocation.ROUND_S, left_s, boot_s, further)
        visits = self._choice(offers, 0.0, left_s, boot_s)  # as many cells as make the boot worth it
        passes = self._passes(visits, boot_s, left_s - boot_s)
        return visits + [
            one
            for number in range(1, max(passes.values(), default=0))
            for one in self._chance.sample(visits, len(visits))
            if number < passes[one.cell] and one.blocks > guard.LAST  # the first verdicts wait for boots
        ]

    def _next_look(self, cell: Cell) -> int:
        """The number of blocks of the cell at its next look, if each is a unit."""
        later = levels.after(self.blocks[cell])
        return min(later[0] if later else self.blocks[cell] + 1, self.plan.study.design.blocks)

    def _offers(self, left_s: float) -> list[Offer]:
        """The cells whose visits fit. If none fits and nothing can be compared yet, those of which a part
        fits: the same command resumes from there.
        """
        offers = [
            Offer(
                cell,
                self.blocks[cell],
                self.cost_of(cell),
                self.interim.horizons.get(cell, ()),
                self._missed.get(cell, 0),
            )
            for cell in self.cells
            if self.systems_of(cell)
        ]
        whole = [one for one in offers if one.cost_s <= left_s]
        if whole or self._has_pair:
            return whole
        return [one for one in offers if self.trials_that_fit(one.cell, left_s=left_s)] or [
            Offer(one.cell, self.blocks[one.cell], self._cost(one.system, one.cell))
            for one in [self.owed]
            if one is not None
        ]

    def _choice(
        self,
        offers: Sequence[Offer],
        seconds: float,
        left_s: float,
        boot_s: float,
        most: Mapping[Cell, int] | None = None,
    ) -> list[Offer]:
        if not offers or (left_s <= 0 and self.owed is None):
            return []
        return allocation.visits(
            offers,
            seconds=max(0.0, min(seconds, left_s)),
            left_s=left_s,
            boot_s=boot_s,
            most=most,
            chance=self._chance,
        )

    def slots(self, *, boot_s: float) -> list[Slot]:
        """The work of a machine's systems in the next round, each in its own boot: `boot_s` is the duration
        of all these boots. None when the run is over.
        """
        if self._unfinished:
            return self._left_over()
        left_s = self._budget.left_s() - boot_s
        seconds = max(allocation.ROUND_S, _ROUND_PER_BOOT * boot_s)
        visits = self._choice(self._offers(left_s), seconds, left_s, boot_s)
        passes = self._passes(visits, boot_s, left_s)
        return [
            (one.cell, self.blocks[one.cell] + number)
            for number in range(max(passes.values(), default=0))
            for one in visits
            if number < passes[one.cell]
        ]

    def _passes(self, visits: Sequence[Offer], boot_s: float, left_s: float) -> dict[Cell, int]:
        """The number of times that a round does each of its cells. Another boot tells more than another trial
        of the same, and costs more: each cell bears its share of that. But intervals of few boots are wide,
        so there must be enough boots to narrow them.
        """
        share_s, ratios = boot_s / max(1, len(visits)), self.interim.boot_ratios
        wanted = {
            one.cell: boots.trials(boot_s=share_s, trial_s=one.cost_s, ratio=ratios.get(one.cell))
            for one in visits
        }
        if ratios:
            left_s = min(left_s, self._budget.seconds / _BOOTS_WANTED - boot_s)
        once_s = sum(one.cost_s for one in visits)
        further_s = sum(one.cost_s * (wanted[one.cell] - 1) for one in visits)
        fit = min(1.0, max(0.0, left_s - once_s) / further_s) if further_s else 1.0
        most = self.plan.study.design.blocks
        return {
            one.cell: min(1 + round((wanted[one.cell] - 1) * fit), most - self.blocks[one.cell])
            for one in visits
        }

    def _left_over(self) -> list[Slot]:
        """The cells of an interrupted round that the first system did and the others still have to do. Other
        cells of that round would need another boot of the first.
        """
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
        """Everything in the round is done."""
        for cell, block in slots:
            self.blocks[cell] = max(self.blocks[cell], block + 1)
        self._unfinished = frozenset()

    def systems_of(self, cell: Cell) -> tuple[str, ...]:
        """The systems that the cell needs more trials of, in the plan's order."""
        if self.blocks[cell] >= self.plan.study.design.blocks:
            return ()
        baseline, *others = (system for system in self.plan.systems if system not in self.absent)
        if (baseline, cell) in self._hopeless or baseline in self._left_out:
            return ()
        if not others:
            return (baseline,)
        others = [system for system in others if system not in self._left_out]
        closed = self.interim.decided | self._hopeless
        undecided = tuple(system for system in others if (system, cell) not in closed)
        return (baseline, *undecided) if undecided else ()

    def cost_of(self, cell: Cell) -> float:
        """The estimated cost of the rest of the cell's next visit."""
        return sum(self._cost(trial.system, cell) for trial in self.trials_of(cell))

    def _cost(self, system: str, cell: Cell) -> float:
        """The estimated cost of a trial: that of the last one; before that, the cell's elsewhere, and at
        least that of lighter cells of its workload and the requested time.
        """
        if (system, cell) in self._costs:
            return self._costs[system, cell]
        like = [
            cost
            for (name, other), cost in self._costs.items()
            if name == system and other.workload == cell.workload
        ]
        elsewhere = [self._costs[one, cell] for one in self.plan.systems if (one, cell) in self._costs]
        return max(self._least_s[cell], *like, *([min(elsewhere)] if elsewhere else []), 0.0)

    def trials_that_fit(self, cell: Cell, *, left_s: float) -> list[Trial]:
        """The rest of the cell's next block, or as much of it as the time allows if nothing can be compared
        yet: the baseline's trial, and the shortest others.
        """
        trials = self.trials_of(cell)
        if self.cost_of(cell) <= left_s:
            return trials
        if self._has_pair:
            return []
        baseline, chosen = self.plan.systems[0], set()
        for system in sorted(
            (trial.system for trial in trials), key=lambda one: (one != baseline, self._cost(one, cell))
        ):
            left_s -= self._cost(system, cell)
            if left_s >= 0:
                chosen.add(system)
        if not chosen and self.owed is not None and self.owed.cell == cell:
            return [self.owed]
        return [trial for trial in trials if trial.system in chosen]

    def fits(self, trial: Trial) -> bool:
        """True if the trial can end in time, as far as known: other trials are not begun, with one
        exception.
        """
        return trial == self.owed or self._cost(trial.system, trial.cell) <= self._budget.left_s()

    def limit_s(self, trial: Trial) -> float:
        """The time limit of the trial: the remaining time, but at least its minimum. Mandatory trials may
        take the whole budget.
        """
        left_s = max(0.0, self._budget.left_s())
        if trial == self.owed:  # and twice what was not enough the last time
            left_s = max(left_s, self._budget.seconds, 2 * self._cost(trial.system, trial.cell))
        return left_s + self._least_s[trial.cell]

    def open_pairs(self) -> int:
        return sum(max(1, len(systems) - 1) for cell in self.cells if (systems := self.systems_of(cell)))

    def systems_in(self, visits: Sequence[Offer]) -> set[str]:
        """The systems that these visits need."""
        return {system for one in visits for system in self.systems_of(one.cell)}

    def trials_of(self, cell: Cell) -> list[Trial]:
        """The rest of the cell's next block, for the systems that need it."""
        trials = plans.remaining(plans.visit(self.plan, cell, self.blocks[cell]), self.systems_of(cell))
        return [trial for trial in trials if (trial.block, trial.system, trial.cell) not in self._over]

    def keep(self, trial: Trial, outcome: Outcome, seconds: float) -> None:
        """The trial is done, whatever came of it; or it is to be done again."""
        pair = (trial.system, trial.cell)
        if outcome.status == SET_ASIDE:
            self.owed = None if outcome.host_ns is not None else self.owed
            if outcome.host_ns is not None:  # it takes longer than that
                self._costs[pair] = max(seconds, self._costs.get(pair, 0.0))
                self._cut.add(pair)
            return
        self._cut.discard(pair)
        self.owed = None
        self._over.add((trial.block, trial.system, trial.cell))
        self._has_pair = self._has_pair or self._is_paired(trial.block, trial.cell)
        self._costs[pair] = seconds
        self._failures[pair] = 0 if outcome.status == "ok" else self._failures.get(pair, 0) + 1
        if outcome.status == "unsupported" or self._failures[pair] >= _FAILURES_MOST:
            self._hopeless.add(pair)

    def complete(self, cell: Cell) -> None:
        """A block of the cell is done."""
        self.blocks[cell] += 1

    def look(self, judge: Callable[[], Interim]) -> Look:
        """What the round has settled, and what it has opened again."""
        before = self.interim.decided
        self.round += 1
        self.interim = judge()
        self._expect()
        after = self.interim.decided
        return Look(self.round, _sorted(after - before), _sorted(before - after))

    def _expect(self) -> None:
        """Holds what was expected of each cell against what has come of it: a goal that was to be reached by
        now, and has moved on, was missed."""
        for cell, horizons in self.interim.horizons.items():
            before = self._expected.pop(cell, None)
            goal = next((one for one in horizons if one.verdicts or one.sizes), None)
            if before is not None and before.blocks <= self.blocks[cell]:
                is_open = any(one.verdicts if before.verdicts else one.sizes for one in horizons)
                if is_open and (goal is None or goal.blocks > before.blocks):
                    self._missed[cell] = self._missed.get(cell, 0) + 1
            if goal is not None:
                self._expected[cell] = goal

    def check(self) -> None:
        """Raises TooShort unless something can be compared, or nothing ever could."""
        if self._has_pair or self._hopeless:
            return
        budget_s, cells, systems = self._budget.seconds, self.cells, self.plan.systems
        known_cells = [cell for cell in cells if any((system, cell) in self._costs for system in systems)]
        cell = min(
            known_cells or cells, key=lambda one: sum(self._cost(system, one) for system in systems[:2])
        )
        pair_s = sum(self._cost(system, cell) for system in systems[:2])
        all_s = 2 * sum(self._cost(system, one) for one in cells for system in systems)
        besides_s = max(0.0, self._budget.spent_s() - sum(self._costs.values())) + self._budget.reserve_s
        known = next(
            (
                f"one trial of {cell.label} on {system} {took} "
                f"{digits(self._costs[system, cell], count=2)} s; "
                for system in systems
                if (system, cell) in self._costs
                for took in ["takes more than" if (system, cell) in self._cut else "took"]
            ),
            "",
        )
        unstarted = " and ".join(system for system in systems if system in self._left_out)
        missing = f"no time was left to start {unstarted}; " if unstarted else ""
        raise TooShort(
            f"the budget of {budget_s:g} s ended before anything could be compared: {missing}{known}"
            f"a first pair takes about {digits(pair_s, count=2)} s, and two pairs of each of "
            f"{number_of(len(cells), 'cell')} are the minimum for an interval; --budget "
            f"{estimate.needed(besides_s + all_s)} would do for these"
        )


def _sorted(pairs: frozenset[Pair]) -> tuple[Pair, ...]:
    return tuple(sorted(pairs, key=lambda pair: (pair[0], pair[1].label)))
