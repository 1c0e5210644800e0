"""The systems of a run, as they are: up and parked, or down; performs trials on them."""

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Protocol

from steelyard import allowance, events, last_words, standstill
from steelyard.errors import BootFailed, Rebooting, SteelyardError, Stuck, SystemFailed
from steelyard.events import RUN, Earlier, Event, Outcome, Started, Switching, Unbooted, Watched, Words
from steelyard.last_words import Said
from steelyard.quantities import clock_text
from steelyard.running import dialogue, host_monitor, records, turns
from steelyard.running.dialogue import AgentLike, Led
from steelyard.study import tool
from steelyard.study.plan import Plan, Trial
from steelyard.watch.model import Head, Mark, Process

_STARTS_KNOWN = 8  # of a system: the last ones
BOOTS_MOST = 3  # after this number of failures in a row, the machine is given up


class BootMachinesLike(Protocol):
    """The runner's view of machines that run one system at a time; the real one is in `boot_machines`."""

    def machine(self, system: str) -> str | None:
        """The name of the one that the system runs on; None for a system that excludes no other."""

    def is_on_its_way(self, system: str) -> bool:
        """True if an interrupted run already booted the system's machine into it."""

    def away_s(self) -> float:
        """The duration of the boot that ended the requesting process; 0 if there was none."""

    def identity(self, system: str) -> str | None:
        """The identity of the current boot of the system's machine."""


class NoSeats:
    """The case in which all systems run side by side."""

    def machine(self, system: str) -> str | None:
        return None

    def is_on_its_way(self, system: str) -> bool:
        return False

    def away_s(self) -> float:
        return 0.0

    def identity(self, system: str) -> str | None:
        return None


class MonitorLike(Protocol):
    """The runner's view of a monitor; `host_monitor.HostMonitor` is the real one."""

    head: Head
    exits: list[Process]  # at CALLS: the ended ones; reading removes them

    def mark(self) -> Mark | None: ...
    def close(self) -> None: ...


Watch = Callable[[str, AgentLike, str], MonitorLike]  # a system, its agent, a detail; raises SteelyardError


@dataclass(frozen=True, slots=True)
class Terms:
    """The conditions under which a system is started."""

    hear: Callable[[Said, Said], None]  # is given what it has said, when it ends or fails to come up
    limit_s: float  # how long that may take


Start = Callable[[str, Terms], AgentLike]


class RunningSystems:
    """Each system's agent, what watches it, how often it was booted, and if it is down, why."""

    def __init__(
        self,
        plan: Plan,
        *,
        start: Start,
        watch: Watch | None,
        clock: Callable[[], float],
        boot_machines: BootMachinesLike,
        earlier: Earlier,
        keep: Callable[[Event], None],
        starts_s: Mapping[str, float],
    ) -> None:
        """`keep` keeps what a system has said as soon as it has ended, however that comes about; `starts_s`
        is what the systems are thought to take to start before any of them did."""
        self.plan = plan
        self._boot_machines = boot_machines
        self._failed_boots = earlier.failed_boots  # in a row
        self.agents: dict[str, AgentLike | None] = dict.fromkeys(plan.systems)
        self.boots = dict(earlier.boots)
        self.is_watched = watch is not None
        self._start = start
        self._watch = watch
        self._clock = clock
        self._monitors: dict[str, MonitorLike] = {}
        self._active: set[str] = set()  # systems that have run a trial since they came up
        self._down: dict[str, str] = {}  # systems that are down, and why
        self._starts_s = {
            system: deque([seconds], maxlen=_STARTS_KNOWN)
            for system, seconds in {**starts_s, **earlier.boot_costs}.items()
        }
        self._keep = keep
        self._said: dict[str, tuple[Said, Said]] = {}  # by systems that have just ended

    def close(self) -> None:
        """Closes every agent, also when closing one of them is interrupted."""
        with ExitStack() as stack:
            for system in self.plan.systems:
                stack.callback(self._leave, system)

    def bring_up(
        self, system: str, *, before_s: float = 0.0, limit_s: float = float("inf")
    ) -> Iterator[Started | Watched]:
        """Starts the system, again if it was up, and parks it; then begins to account for it. So much of the
        start was before this process; it may take as long as that."""
        begun = self._clock() - before_s
        self._leave(system)
        terms = Terms(partial(self._hear, system), limit_s)
        try:
            agent = self._start(system, terms)
        except BaseException as error:
            if isinstance(error, BootFailed) and error.said:
                self._hear(system, last_words.kept(error.said), Said())
            self._keep_words(system, self.boots.get(system, 0) + 1, str(error) or "interrupted")
            raise
        self.agents[system] = agent
        self.boots[system] = self.boots.get(system, 0) + 1
        agent.park()
        self._down.pop(system, None)
        self._active.discard(system)
        yield Started(system, self.boots[system], agent.hello, agent.fingerprint, self._clock() - begun)
        if self._watch is not None:
            monitor, event = self.monitor_of(system, agent, events.LIFE)
            yield event
            if monitor is not None:
                self._monitors[system] = monitor
        known = self._starts_s.setdefault(system, deque(maxlen=_STARTS_KNOWN))
        if self.boots[system] == 1:
            known.clear()  # it was a guess
        known.append(self._clock() - begun)

    def boot(self, system: str) -> Iterator[Started | Switching | Unbooted | Watched]:
        """Boot the system's machine into it, with retries. Raises Stuck."""
        for other in self.plan.systems:
            if self._boot_machines.machine(other) == self._boot_machines.machine(system):
                self._leave(other)
        while True:
            before_s = 0.0
            if self._boot_machines.is_on_its_way(system):
                before_s = self._boot_machines.away_s()
            else:
                yield Switching(system, self._boot_machines.identity(system))
            try:
                yield from self.bring_up(system, before_s=before_s)
            except (Rebooting, Stuck):
                raise
            except SteelyardError as error:
                self._down[system] = str(error)
                self._failed_boots += 1
                yield Unbooted(system, str(error))
                if self._failed_boots >= BOOTS_MOST:
                    raise Stuck(
                        f"{self._boot_machines.machine(system)} failed {BOOTS_MOST} times in a row to boot "
                        f"into {system}, and is given up; the last time, {error}"
                    ) from error
            else:
                self._failed_boots = 0
                return

    def is_up(self, system: str) -> bool:
        return self.agents[system] is not None

    def monitor_of(self, system: str, agent: AgentLike, detail: str) -> tuple[MonitorLike | None, Watched]:
        """A monitor of the system's processes and its description; or None and the reason."""
        assert self._watch is not None
        boot = self.boots[system]
        try:
            monitor = self._watch(system, agent, detail)
        except SteelyardError as error:
            return None, Watched(system, boot, detail, None, (), str(error))
        return monitor, Watched(system, boot, detail, monitor.head.backend, monitor.head.missing, None)

    def _leave(self, system: str, reason: str | None = None) -> None:
        """Ends the system, for that reason if there is one, and what watches it; keeps what it has said."""
        agent, watching = self.agents[system], self._monitors.pop(system, None)
        self.agents[system] = None
        try:
            if watching is not None:
                watching.close()
        finally:
            if agent is not None:
                try:
                    agent.close()
                finally:
                    self._keep_words(system, self.boots[system], reason)

    def _hear(self, system: str, output: Said, errors: Said) -> None:
        self._said[system] = (output, errors)

    def _keep_words(self, system: str, boot: int, reason: str | None) -> None:
        """One that ended as it should, and said nothing, has no words."""
        output, errors = self._said.pop(system, (Said(), Said()))
        if reason is not None or output.text or errors.text:
            left_out = output.left_out + errors.left_out
            self._keep(Words(system, boot, reason, output.text, errors.text, left_out))

    def boot_s(self, systems: Iterable[str] | None = None) -> float:
        """The usual duration of a boot of each of these systems, or of all."""
        wanted = self.plan.systems if systems is None else systems
        return sum(fmean(self._starts_s.get(one, [0.0])) for one in wanted)

    def longest_boot_s(self, systems: Iterable[str]) -> float:
        """The same of the longest of the last: of sandboxes only each first of several takes time."""
        return sum(max(self._starts_s.get(one, [0.0])) for one in systems)

    def to_boot(self, needed: Collection[str], afresh: Collection[str]) -> list[str]:
        """The systems that must be started before those that are needed can be measured, in the plan's
        order: those that are down, and of those to be booted afresh the used ones."""
        return [
            system
            for system in self.plan.systems
            if system in needed and (system in self._down or (system in afresh and system in self._active))
        ]

    def refresh(self, systems: Iterable[str]) -> Iterator[Started | Watched]:
        """Before a round: boot the systems that need it, and restart those that died."""
        for system in systems:
            try:
                yield from self.bring_up(system)
            except SteelyardError as error:
                self._down[system] = str(error)

    def attempt(self, trial: Trial, *, limit_s: float = float("inf")) -> Outcome:
        """Runs one trial, whatever comes of it, for as long as its study or that limit allows. It is set
        aside if the laboratory stood still meanwhile, or where that limit ended it."""
        (outcome,) = self.attempt_together([trial], limit_s=limit_s)
        return outcome

    def attempt_together(self, trials: Sequence[Trial], *, limit_s: float = float("inf")) -> list[Outcome]:
        """The same of several trials at once, whose batches take turns."""
        began, begun = time.time(), self._clock()
        plan, cell = self.plan, trials[0].cell
        is_cut = limit_s < plan.limit_s(cell)
        if is_cut:
            plan = plan.limited(cell, limit_s)
        stood = len(standstill.all_so_far())
        outcomes: dict[Trial, Outcome] = {}

        def lose(trial: Trial, error: SystemFailed | dialogue.Silent) -> None:
            status, reason = "failed", str(error)
            if isinstance(error, dialogue.Silent):
                waited_s = plan.limit_s(cell) + dialogue.GRACE_S
                words = agents[trial].last_words()
                status, reason = "timed out", f"the agent did not answer for {waited_s:g} s{words}"
            boot = self.boots.get(trial.system, 0)
            outcomes[trial] = records.failed(trial, boot, reason, status=status, began=began)
            self.lose(trial.system, reason)

        agents: dict[Trial, AgentLike] = {}
        for trial in trials:
            agent = self.use(trial.system)
            if agent is None:
                boot = self.boots.get(trial.system, 0)
                outcomes[trial] = records.failed(trial, boot, self._down[trial.system], began=began)
                continue
            agents[trial] = agent
            try:
                agent.resume()
            except SystemFailed as error:
                lose(trial, error)
        up = {trial: agent for trial, agent in agents.items() if trial not in outcomes}
        for trial, outcome in self._perform(up, plan).items() if up else ():
            if isinstance(outcome, Outcome):
                outcomes[trial] = replace(outcome, together=began if len(up) > 1 else None)
                try:
                    up[trial].park()
                except SystemFailed as error:
                    lose(trial, error)
            else:
                lose(trial, outcome)
        took_s = self._clock() - begun
        during = standstill.all_so_far()[stood:]
        return [self._unless_set_aside(outcomes[one], during, took_s if is_cut else None) for one in trials]

    def _unless_set_aside(
        self, outcome: Outcome, during: Sequence[standstill.Standstill], cut_s: float | None
    ) -> Outcome:
        """The outcome; or that it is set aside: because the laboratory stood still, or the budget cut it."""
        trial, boot, began = outcome.trial, outcome.boot, outcome.began
        if during:
            spans = " and ".join(f"{one.why} for {clock_text(one.seconds)}" for one in during)
            return records.set_aside(trial, boot, f"the laboratory {spans} while it ran", began=began)
        if cut_s is not None and outcome.status == "timed out":
            why = f"the budget ended {cut_s:.2g} s into it"
            return records.set_aside(trial, boot, why, began=began, took_s=cut_s)
        return outcome

    def _perform(
        self, agents: Mapping[Trial, AgentLike], plan: Plan
    ) -> dict[Trial, Outcome | SystemFailed | dialogue.Silent]:
        """What came of the trials, with what they cost this host if that is watched: from before the clocks
        are read to after they are read again, so that no mark is within what is timed."""
        watching = {trial: self._monitors.get(trial.system) for trial in agents}
        before = {trial: one.mark() if one else None for trial, one in watching.items()}
        # One that reads /proc now and then sees no process to its end: our own reading is better than none.
        is_watched = all(
            mark is not None and mark.figures.get(RUN) is not None and one is not None
            and one.head.backend != "proc"
            for (_, mark), one in zip(before.items(), watching.values(), strict=True)
        )  # fmt: skip
        found = self._led(agents, plan, is_watched=is_watched)
        whole = [trial for trial, outcome in found.items() if isinstance(outcome, Outcome)]
        after = {trial: one.mark() if (one := watching[trial]) and before[trial] else None for trial in whole}
        costs = {
            trial: host_monitor.between(first, last).figures
            for trial in whole
            if (first := before[trial]) is not None and (last := after[trial]) is not None
        }
        outcomes = [outcome for outcome in found.values() if isinstance(outcome, Outcome)]
        if is_watched and len(costs) == len(found):
            known = dialogue.with_costs(outcomes, [costs[trial] for trial in whole])
        else:
            known = [
                replace(
                    outcome,
                    costs=costs.get(trial, ()),
                    surroundings=None if is_watched else outcome.surroundings,
                )
                for trial, outcome in zip(whole, outcomes, strict=True)
            ]
        known = [dialogue.with_server(one) if plan.server_runs(one.trial.cell) else one for one in known]
        return {**found, **dict(zip(whole, known, strict=True))}

    def _led(
        self, agents: Mapping[Trial, AgentLike], plan: Plan, *, is_watched: bool
    ) -> dict[Trial, Outcome | SystemFailed | dialogue.Silent]:
        """Leads the trials: by turns if the plan has them so."""
        first, *others = agents
        boots = {trial: self.boots.get(trial.system, 0) for trial in agents}
        if first.cell not in plan.in_turns:
            assert not others
            try:
                outcome = dialogue.perform(
                    agents[first], first, plan, boot=boots[first], is_watched=is_watched
                )
            except (SystemFailed, dialogue.Silent) as error:
                return {first: error}
            return {first: outcome}
        state = dialogue.State([*agents.values()], is_watched=is_watched)
        with ExitStack() as bound:
            if first.cell.workload != tool.WORKLOAD:  # a command may use several processors
                processors = allowance.processors()
                processor = processors[first.seed % len(processors)]
                for agent in agents.values():
                    bound.enter_context(agent.on(processor))
                bound.enter_context(turns.beside(processor))
            leds = [Led(agent, trial, plan, boot=boots[trial]) for trial, agent in agents.items()]
            partners = turns.perform(leds, seed=first.seed)
        whole = [one.outcome for one in partners if one.outcome is not None]
        found: dict[Trial, Outcome | SystemFailed | dialogue.Silent] = {
            one.led.trial: one.error for one in partners if one.error is not None
        }
        return found | {one.trial: one for one in state.added_to(whole)}

    def use(self, system: str) -> AgentLike | None:
        """The system's agent, to run something on it; None while it is down."""
        agent = self.agents[system]
        if agent is not None:
            self._active.add(system)
        return agent

    def lose(self, system: str, reason: str) -> None:
        """Ends the system until it is booted again."""
        self._down[system] = reason
        self._leave(system, reason)
