"""The time that a command may take, from its beginning on, with what was spent before an interruption."""

from collections.abc import Callable


class Budget:
    """The spent and remaining time. The clock stops while the laboratory is stopped."""

    def __init__(
        self, seconds: float, *, spent_before_s: float, begun_s: float, clock: Callable[[], float]
    ) -> None:
        """`begun_s` is what the clock showed when the command was given."""
        self.seconds = seconds
        self.reserve_s = 0.0  # the time needed after the last trial
        self._spent_before_s = spent_before_s
        self._clock = clock
        self._begun_s = begun_s

    def forget(self) -> None:
        """Do not count what was spent before an interruption."""
        self._spent_before_s = 0.0

    def add(self, seconds: float) -> None:
        """Count time that was spent before."""
        self._spent_before_s += seconds

    def spent_s(self) -> float:
        return self._spent_before_s + self._clock() - self._begun_s

    def left_s(self) -> float:
        """The remaining time for trials and everything around them."""
        return self.seconds - self.reserve_s - self.spent_s()
