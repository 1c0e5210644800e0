"""The frozen objects that say what is known of one system. Console, page and JSON show them."""

from dataclasses import dataclass

from steelyard.statistics.signed_rank import Estimate
from steelyard.words.care import Care

_MISSING_MOST = 3  # named before the rest is counted


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference that is claimed, or several of one group that are alike."""

    phrase: str  # "starting a program (fork, exec)", or "12 system calls"
    names: tuple[str, ...]  # of several, the most different first; of one, none
    group: str
    sense: str  # "slower", "faster", "more", "less", "longer", "shorter", "earlier", "later"
    size: str  # "4.36× slower", "3.1 to 8.2 % slower"
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
class Open:
    """Metrics of which something is not known yet: what differs, whether it does, or by how much."""

    metrics: int
    names: tuple[str, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer about one system, in the order of importance."""

    system: str
    sentence: str
    whole: str  # the one figure, with its interval; empty where one metric is all there is
    findings: tuple[Finding, ...]
    same: tuple[Same, ...]
    same_sentence: str  # group by group, above what there is no difference
    unsettled: Open | None
    missing: tuple[str, ...]  # metrics without a figure on both systems
    metrics: int
    holds: str = ""  # for what: the machine, the blocks, the boots
    care: Care | None = None  # of the first answer: what the machine lacked meanwhile
    likely: Open | None = None  # differences that are not claimed yet
    same_by_processor: str = ""  # where the time itself is not settled
    sizes: Open | None = None  # claimed differences that are not known as exactly as the study asks

    @property
    def last(self) -> str:
        """The answer's last line: the one figure, what it holds for, and what to be careful of."""
        care = self.care.last if self.care else ""
        return " ".join(part for part in (self.whole, self.holds, care) if part)

    @property
    def rest(self) -> tuple[tuple[str, str], ...]:
        """The texts besides the findings: titles and sentences."""
        parts = (
            ("No difference above", self.same_sentence),
            ("Equal CPU time", self.same_by_processor),
            ("Likely, not yet proven", self.likely.sentence if self.likely else ""),
            ("Sizes still open", self.sizes.sentence if self.sizes else ""),
            ("Not settled", self.unsettled.sentence if self.unsettled else ""),
        )
        return tuple((title, sentence) for title, sentence in parts if sentence)

    @property
    def missing_sentence(self) -> str:
        """The first of what is missing, and how many more there are."""
        more = len(self.missing) - _MISSING_MOST
        named = "; ".join(self.missing[:_MISSING_MOST])
        return f"{named}; and {more} more" if more > 0 else named
