"""Leads trials whose batches take turns: one on each system, at the same time, on the same processor.

What disturbs a machine comes and goes within tens of milliseconds. Batches that follow each other within one
are disturbed alike, trials that follow each other are not. The order is A B B A A B B A ...: each system goes
first as often as last. What follows each other of one system is a turn. At the end each has one long turn:
what it takes alone.
"""

import contextlib
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from steelyard import allowance
from steelyard.errors import SystemFailed
from steelyard.events import Outcome
from steelyard.running.dialogue import Led, Silent
from steelyard.study import turns as batches_of
from steelyard.systems.protocol import RefusedRequest

WAITING, TURN = "waiting", "turn"  # records


@dataclass
class Partner:
    """One of the trials, and what became of it."""

    led: Led
    batches: int = 0  # that it would do by itself; known when it waits
    alone: int = 0  # the last of those that it has done
    outcome: Outcome | None = None
    error: SystemFailed | Silent | None = None  # by which its system was lost

    @property
    def is_active(self) -> bool:
        return self.outcome is None and self.error is None and not self.led.is_over

    def attempt(self, step: Callable[[], object]) -> None:
        """A step of the trial, if nothing has ended it before."""
        if self.outcome is not None or self.error is not None:
            return
        try:
            try:
                step()
            except RefusedRequest as refusal:
                self.outcome = self.led.refused(refusal)
        except (SystemFailed, Silent) as error:
            self.error = error

    def begin(self) -> None:
        self.led.ask()
        record = self.led.listen(WAITING)
        self.batches = record["batches"] if record else 0
        self.led.agent.step_aside()

    def take_turn(self, batches: int) -> None:
        self.led.agent.step_back()
        self.led.agent.send(f"turn {self.led.trial.name} {batches}")
        self.led.listen(TURN)
        self.led.agent.step_aside()

    def go_on_alone(self, batches: int) -> None:
        self.take_turn(batches)
        self.alone = 0 if self.led.is_over else batches

    def finish(self) -> None:
        self.led.agent.step_back()
        if not self.led.is_over:
            self.led.agent.send(f"turn {self.led.trial.name} 0")
            self.led.listen()
        self.outcome = _apart(self.led.outcome(), alone=self.alone)


def _apart(outcome: Outcome, *, alone: int) -> Outcome:
    """The outcome, with the last of its batches apart from those in turns."""
    if not alone or not outcome.samples:
        return outcome
    samples, *others = outcome.samples  # others only describe
    in_turns = replace(samples, durations_ns=samples.durations_ns[:-alone])
    return replace(outcome, samples=(in_turns, *others), alone_ns=samples.durations_ns[-alone:])


@contextlib.contextmanager
def beside(processor: int) -> Iterator[None]:
    """Keeps this thread on the processor of the trials meanwhile, where that is allowed: a change of turns
    then wakes no sleeping processor."""
    before = allowance.processors()
    try:
        os.sched_setaffinity(0, {processor})
    except OSError:
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, before)


@contextlib.contextmanager
def _giving_way() -> Iterator[None]:
    """Lets the trial that has answered fall asleep when this thread wakes, as the agents do: what is left to
    run would run in the midst of another's batch."""
    policy = os.sched_getscheduler(0)
    if policy != os.SCHED_OTHER:
        yield
        return
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, policy, os.sched_param(0))


def perform(trials: Sequence[Led], *, seed: int) -> list[Partner]:
    """Lead the trials until each has done its batches: as many as the slowest of them would do by itself, one
    in each cycle, and the last of them alone. What ends one of them is in its partner, and the others go on:
    what they did is kept.
    """
    partners = [Partner(one) for one in trials]
    with _giving_way():
        _lead(partners, chance_of(seed))
    return partners


def _lead(partners: Sequence[Partner], chance: random.Random) -> None:
    for one in partners:
        one.attempt(one.begin)
    whole = min((one.batches for one in partners if one.is_active), default=0)
    alone = batches_of.alone(whole)
    times = batches_of.in_a_row(whole)
    for number, batches in runs(len(partners), cycles=whole - alone, times=times, chance=chance):
        one = partners[number]
        if one.is_active:
            one.attempt(lambda one=one, batches=batches: one.take_turn(batches))  # type: ignore[misc]
    for one in partners if alone else ():
        if one.is_active:
            one.attempt(lambda one=one: one.go_on_alone(alone))  # type: ignore[misc]
    for one in partners:
        one.attempt(one.finish)


def chance_of(seed: int) -> random.Random:
    """What draws the order of the turns."""
    return random.Random(f"steelyard turns {seed}")


def runs(partners: int, *, cycles: int, chance: random.Random, times: int = 1) -> Iterator[tuple[int, int]]:
    """Whose turn it is, and for how many batches: in a cycle each has one batch, or `times` in a row in as
    many cycles, and every second time the order is reversed."""
    order = chance.sample(range(partners), partners)
    each = [
        one
        for number, begin in enumerate(range(0, cycles, times))
        for one in (order[::-1] if number % 2 else order)
        for _ in range(min(times, cycles - begin))
    ]
    for number, turn in groupby(each):
        yield number, len(list(turn))
