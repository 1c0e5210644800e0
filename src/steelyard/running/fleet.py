"""The systems of a run, as they are: up and parked, or down; performs trials on them."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Protocol

from steelyard import events
from steelyard.errors import Rebooting, SteelyardError, Stuck, SystemFailed
from steelyard.events import Earlier, Outcome, Started, Switching, Unbooted, Watched
from steelyard.running import budget, dialogue, host_monitor, records
from steelyard.running.dialogue import AgentLike
from steelyard.study.plan import Plan, Trial
from steelyard.watch.model import Head, Mark, Process

BOOTS_MOST = 3  # so many failures in a row, and the machine is left alone


class SeatsLike(Protocol):
    """What the runner needs of machines that run one system at a time; `seats.Seats` is the real one."""

    def machine(self, system: str) -> str | None:
        """The name of the one that the system runs on; None for a system that excludes no other."""

    def is_on_its_way(self, system: str) -> bool:
        """Whether the system's machine was brought to it already, by a run that was interrupted then."""

    def away_s(self) -> float:
        """How long the boot took that ended the process which asked for it; 0 if none did."""

    def identity(self, system: str) -> str | None:
        """Which boot the system's machine is in."""


class NoSeats:
    """Where every system is up beside the others."""

    def machine(self, system: str) -> str | None:
        return None

    def is_on_its_way(self, system: str) -> bool:
        return False

    def away_s(self) -> float:
        return 0.0

    def identity(self, system: str) -> str | None:
        return None


class MonitorLike(Protocol):
    """What the runner needs of a monitor; `host_monitor.HostMonitor` is the real one."""

    head: Head
    exits: list[Process]  # at CALLS: that have ended; whoever reads them takes them

    def mark(self) -> Mark | None: ...
    def close(self) -> None: ...


Watch = Callable[[str, AgentLike, str], MonitorLike]  # a system, its agent, a detail; raises SteelyardError


class Fleet:
    """Each system's agent, what watches it, how often it was booted, and if it is down, why."""

    def __init__(
        self,
        plan: Plan,
        *,
        start: Callable[[str], AgentLike],
        watch: Watch | None,
        clock: Callable[[], float],
        seats: SeatsLike,
        earlier: Earlier,
    ) -> None:
        self.plan = plan
        self._seats = seats
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
        self._boot_costs = dict(earlier.boot_costs)

    def close(self) -> None:
        """Closes every agent, also when closing one of them is interrupted."""
        with ExitStack() as stack:
            for system in list(self._monitors):
                stack.callback(self._monitors.pop(system).close)
            for system, agent in self.agents.items():
                if agent is not None:
                    stack.callback(agent.close)
                    self.agents[system] = None

    def bring_up(self, system: str, *, before_s: float = 0.0) -> Iterator[Started | Watched]:
        """Starts the system, again if it was up, and parks it; then begins to account for it. So much of the
        start was before this process."""
        begun = self._clock() - before_s
        self._leave(system)
        agent = self._start(system)
        self.agents[system] = agent
        agent.park()
        self._down.pop(system, None)
        self._active.discard(system)
        self.boots[system] = self.boots.get(system, 0) + 1
        self._boot_costs[system] = self._clock() - begun
        yield Started(system, self.boots[system], agent.hello, agent.fingerprint, self._boot_costs[system])
        if self._watch is not None:
            monitor, event = self.monitor_of(system, agent, events.LIFE)
            yield event
            if monitor is not None:
                self._monitors[system] = monitor

    def boot(self, system: str) -> Iterator[Started | Switching | Unbooted | Watched]:
        """Boots the system's machine into it, anew, as often as it takes. Raises Stuck."""
        for other in self.plan.systems:
            if self._seats.machine(other) == self._seats.machine(system):
                self._leave(other)
        while True:
            before_s = 0.0
            if self._seats.is_on_its_way(system):
                before_s = self._seats.away_s()
            else:
                yield Switching(system, self._seats.identity(system))
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
                        f"{self._seats.machine(system)} failed {BOOTS_MOST} times in a row to boot into "
                        f"{system}, and is left alone; the last time, {error}"
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

    def _leave(self, system: str) -> None:
        """Ends the system, and what watches it."""
        watching = self._monitors.pop(system, None)
        if watching is not None:
            watching.close()
        agent = self.agents[system]
        self.agents[system] = None
        if agent is not None:
            agent.close()

    def boot_s(self, systems: Iterable[str] | None = None) -> float:
        """What booting these systems, or all, took the last time."""
        return sum(
            self._boot_costs.get(system, budget.BOOT_S)
            for system in (self.plan.systems if systems is None else systems)
        )

    def to_boot(self, needed: Collection[str], afresh: Collection[str]) -> list[str]:
        """The systems that must be started before those that are needed can be measured, in the plan's
        order: those that are down, and of those to be booted afresh the used ones."""
        return [
            system
            for system in self.plan.systems
            if system in needed and (system in self._down or (system in afresh and system in self._active))
        ]

    def refresh(self, systems: Iterable[str]) -> Iterator[Started | Watched]:
        """Before a round: boots what is to be booted, and starts again what has died."""
        for system in systems:
            try:
                yield from self.bring_up(system)
            except SteelyardError as error:
                self._down[system] = str(error)

    def attempt(self, trial: Trial) -> Outcome:
        """Runs one trial, whatever comes of it."""
        agent = self.use(trial.system)
        boot = self.boots[trial.system]
        began = time.time()
        if agent is None:
            return records.failed(trial, boot, self._down[trial.system], began=began)
        try:
            agent.resume()
            outcome = self._perform(agent, trial, boot)
            agent.park()
        except SystemFailed as error:
            self.lose(trial.system, str(error))
            return records.failed(trial, boot, str(error), began=began)
        except dialogue.Silent:
            reason = (
                f"the agent fell silent for {self.plan.study.design.trial_limit_s + dialogue.GRACE_S:g} s"
            )
            self.lose(trial.system, reason)
            return records.failed(trial, boot, reason, status="timed out", began=began)
        return outcome

    def _perform(self, agent: AgentLike, trial: Trial, boot: int) -> Outcome:
        """The trial's outcome, with what it cost this host if that is watched: from before the clocks are
        read to after they are read again, so that no mark is within what is timed."""
        watching = self._monitors.get(trial.system)
        before = watching.mark() if watching else None
        outcome = dialogue.perform(agent, trial, self.plan, boot=boot)
        after = watching.mark() if watching and before else None
        if before is None or after is None:
            return outcome
        return replace(outcome, costs=host_monitor.between(before, after).figures)

    def use(self, system: str) -> AgentLike | None:
        """The system's agent, to run something on it; None while it is down."""
        agent = self.agents[system]
        if agent is not None:
            self._active.add(system)
        return agent

    def lose(self, system: str, reason: str) -> None:
        """Ends the system until it is booted again."""
        self._down[system] = reason
        self._leave(system)
