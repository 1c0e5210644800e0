"""The request for a trial, and the answers that follow from it."""

from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.archive import relations
from steelyard.programs import built
from steelyard.study.plan import Trial

SMALL_BYTES = 65536  # a curve over areas goes at least so far on any system that can run the program
_FREE = 0  # a trial's place: on any processors


@dataclass(frozen=True, slots=True)
class Expectation:
    """The request for a trial, and the answers that follow from it."""

    trial: Trial
    workload: built.Workload
    settings: Mapping[str, int | str]  # as the request has them
    initial: Mapping[str, int | str]  # what the load program takes for those that it has not
    resolution_ns: int  # of the system's clock, as it says
    is_timed: bool = True  # else its durations count for nothing
    processors: int | None = None  # of the system, as it says

    def number(self, name: str) -> int:
        value = self.settings.get(name, self.initial.get(name, 0))
        assert isinstance(value, int)
        return value

    def batches(self, metric: str) -> tuple[int, int]:
        """The minimum and maximum number of batches."""
        if self.is_reported(metric):
            return 1, 1
        if self.workload.performances and "batches" not in self.settings:
            return (self.workload.performances,) * 2
        most = self.number("batches")
        return (most if self.number("operations") else 1), most

    def operations(self, metric: str) -> int:
        """The operations in each batch; 0: the system finds out."""
        is_one = (self.workload.performances and not self.workload.passes) or self.is_reported(metric)
        return 1 if is_one else self.number("operations")

    def is_reported(self, metric: str) -> bool:
        return any(one.name == metric and one.reported for one in self.workload.metrics)

    def unit(self, metric: str) -> str:
        return self.metric(metric).unit

    def metric(self, name: str) -> built.Metric:
        return next(one for one in self.workload.metrics if one.name == name)

    def shortest_ns(self, metric: str) -> int:
        """The minimum duration of a batch. A batch sized by the system lasts many steps of its clock."""
        if not self.is_timed or self.unit(metric) != "ns":
            return 0
        return 1 if self.operations(metric) else max(1, self.resolution_ns)

    def timed(self) -> str | None:
        """The metric that is timed, where there is one alone."""
        timed = [one.name for one in self.workload.metrics if not one.reported]
        return timed[0] if len(timed) == 1 else None

    def requests(self, metric: str) -> int | None:
        """The number of requests of an operation, as far as latencies of that name count them; None if they
        are of something that holds several requests.
        """
        per = next(
            (one.per for one in self.workload.metrics if relations.is_quantile(one.name, metric)), None
        )
        if per is None:
            return 1
        return self.number("requests") if per == "request" and "requests" in self.initial else None

    def processors_most(self) -> int | None:
        """The number of processors that members of a group may use, if the request says so."""
        return self.number("place") if self.number("place") != _FREE else None

    def sizes(self, largest: int) -> list[int]:
        """The sizes of the curve, ascending, if it goes to `largest` where the request leaves that to the
        system."""
        return relations.sizes(
            from_=self.number("from"),
            to=self.number("to") or max(largest, self.smallest_largest()),
            steps=self.number("steps"),
            grain=max(1, self.workload.sweep_grain),
        )

    def smallest_largest(self) -> int:
        """A size that the curve reaches for sure."""
        return SMALL_BYTES if self.workload.sweep_unit == "bytes" else self.number("from")
