"""The time that a run may take, from its first trial on, with what was spent before an interruption."""

from collections.abc import Callable

BOOT_S = 60.0  # what a boot of a machine is thought to take before there was one


class Budget:
    """How much is spent, and how much is left."""

    def __init__(self, seconds: float, *, spent_before_s: float, clock: Callable[[], float]) -> None:
        self.seconds = seconds
        self._spent_before_s = spent_before_s
        self._clock = clock
        self._start_s: float | None = None

    def forget(self) -> None:
        """What was spent before an interruption does not count."""
        self._spent_before_s = 0.0

    def add(self, seconds: float) -> None:
        """So much more was spent before."""
        self._spent_before_s += seconds

    def begin(self) -> None:
        """The first trial begins; of later ones it takes no notice."""
        self._start_s = self._clock() if self._start_s is None else self._start_s

    def spent_s(self) -> float:
        return self._spent_before_s + (self._clock() - self._start_s if self._start_s is not None else 0.0)

    def left_s(self) -> float:
        return self.seconds - self.spent_s()
