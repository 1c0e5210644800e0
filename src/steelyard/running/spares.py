"""Systems that are started several at once, and wait, stopped, until one is needed.

The start of a sandbox is mostly waiting, until its clock is read without a system call: eight come to rest in
little more time than one. Boots differ, so a comparison knows the more the more of them it has.
"""

from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

from steelyard import allowance
from steelyard.errors import SteelyardError
from steelyard.events import Words
from steelyard.last_words import Said
from steelyard.systems.agent import Agent, Hear
from steelyard.systems.system import System

_MEMORY_SHARE = 8  # those that wait take at most this part of what is available


class Spares:
    """Starts systems; of some, more than one at a time."""

    def __init__(self, directory: Path, *, is_ahead: bool, keep: Callable[[Words], None]) -> None:
        """Their files go below the directory; no system is started before it is needed unless `is_ahead`.
        `keep` keeps what those say that are never used, and why one failed to start."""
        self._directory = directory
        self._is_ahead = is_ahead
        self._keep = keep
        self._waiting: dict[str, deque[Agent]] = {}
        self._failing: set[str] = set()  # systems that start one at a time, since one of several failed

    def take(self, system: System, *, hear: Hear, limit_s: float) -> Agent:
        """One that is up: one of the spares, or the first of those that start now. `hear` and `limit_s` are
        what Agent takes. Raises Unsupported, and SystemFailed where a spare has ended."""
        waiting = self._waiting.setdefault(system.name, deque())
        if not waiting:
            return self._started(system, hear, limit_s, waiting)
        spare = waiting.popleft()
        spare.hear = hear
        try:
            spare.resume()
            spare.ask("describe", "system")  # it is alive
            spare.settle()
        except BaseException:
            spare.close()
            raise
        return spare

    def _started(self, system: System, hear: Hear, limit_s: float, waiting: deque[Agent]) -> Agent:
        """The first of the systems that start now; the others wait."""
        begin = partial(Agent, system, directory=self._directory, start_limit_s=limit_s, is_awaited=False)
        with ExitStack() as stack:
            first = stack.enter_context(begin(hear=hear))
            others: list[Agent] = []
            for _ in range(self._number(system) - 1):
                with suppress(SteelyardError):  # there is no room for as many
                    others.append(stack.enter_context(begin(hear=partial(self._hear, system.name, None))))
            first.come_up()
            waiting.extend(one for one in others if self._waits(one))
            stack.pop_all()  # all stay
        return first

    def _waits(self, one: Agent) -> bool:
        """True if the system has come up, and waits. If it could not, the system starts alone from now on."""
        name = one.system.name
        try:
            one.come_up()
            one.park()
        except SteelyardError as error:
            self._failing.add(name)
            one.close()
            self._hear(name, str(error), Said(), Said())
            return False
        return True

    def _number(self, system: System) -> int:
        """How many of the system start at once."""
        if not self._is_ahead or system.name in self._failing or not _can_wait(system):
            return 1
        memory = allowance.available_memory() or 0
        return min(system.starts_at_once, 1 + memory // _MEMORY_SHARE // max(1, system.memory_bytes))

    def _hear(self, name: str, reason: str | None, output: Said, errors: Said) -> None:
        if reason or output.text or errors.text:
            left_out = output.left_out + errors.left_out
            self._keep(Words(f"spare of {name}", 1, reason, output.text, errors.text, left_out))

    def close(self) -> None:
        """Ends all that wait."""
        with ExitStack() as stack:
            for waiting in self._waiting.values():
                for spare in waiting:
                    stack.callback(spare.close)
                waiting.clear()


def _can_wait(system: System) -> bool:
    """True if a stopped one leaves nothing changed for others."""
    return system.takes_turns and not system.file_system
