"""The frozen objects that say what is known of one system. Console, page and JSON show them."""

from dataclasses import dataclass

from steelyard.statistics.signed_rank import Estimate

_MISSING_MOST = 3  # named before the rest is counted


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference that is claimed, or several of one group that are alike."""

    phrase: str  # "starting a program (fork, exec)", or "12 system calls"
    names: tuple[str, ...]  # of several, the most different first; of one, none
    group: str
    sense: str  # "slower", "faster", "more", "less", "longer", "shorter", "earlier", "later"
    size: str  # "4.36 times slower", "3.1 to 8.2 % slower"
    interval: str  # of one, in brackets
    verdict: str  # size open only if that of every one is
    ratio: Estimate  # of one; of several the middle, with the least and the most in the interval's place
    margin: float
    why: str  # a clause; empty where the cause is not known
    cells: tuple[tuple[str, str], ...]  # cell and metric
    why_long: str = ""  # the same in sentences, with all that differs


@dataclass(frozen=True, slots=True)
class Same:
    """The metrics of a group in which no difference is claimed, and within what they are the same."""

    group: str
    name: str
    metrics: int
    of: int  # in the group, not settled ones included
    within: float  # no difference is larger, as a fraction
    typical: float  # half of them are within this
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Unsettled:
    """What is neither different for sure nor the same within a bound."""

    metrics: int
    names: tuple[str, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
class Answer:
    """All that is to be said of one system, in the order in which it matters."""

    system: str
    sentence: str
    whole: str  # the one figure, with its interval; empty where one metric is all there is
    findings: tuple[Finding, ...]
    same: tuple[Same, ...]
    same_sentence: str  # group by group, above what there is no difference
    unsettled: Unsettled | None
    missing: tuple[str, ...]  # metrics without a figure on both systems
    metrics: int
    holds: str = ""  # for what: the machine, the blocks, the boots

    @property
    def missing_sentence(self) -> str:
        """The first of what is missing, and how many more there are."""
        more = len(self.missing) - _MISSING_MOST
        named = "; ".join(self.missing[:_MISSING_MOST])
        return f"{named}; and {more} more" if more > 0 else named
