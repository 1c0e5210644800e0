"""Has a sentence for each kind of remark: of one remark, or of several that differ in numbers alone.

Each module imports only from earlier ones: dispatch, comparisons, experiments, figures, loads.
"""

from collections.abc import Iterable, Sequence
from dataclasses import fields

from steelyard.analysis.remarks import OtherCode, Remark, SameCode, Trouble
from steelyard.words.remarks import comparisons, dispatch, experiments, figures, loads
from steelyard.words.remarks.comparisons import all_blocks as all_blocks
from steelyard.words.remarks.comparisons import apart as apart
from steelyard.words.remarks.comparisons import disturbed_blocks as disturbed_blocks
from steelyard.words.remarks.comparisons import number_of_units as number_of_units
from steelyard.words.remarks.comparisons import units as units

SPOKEN = (comparisons, experiments, figures, loads)  # the modules that have sentences
_WITHOUT_DIGESTS = (SameCode, OtherCode)  # of several, the digests are not said


def text(one: Remark) -> str:
    """Return the sentence of one remark, without a full stop."""
    return together([one])


def texts(found: Iterable[Remark]) -> tuple[str, ...]:
    """Return the sentence of each."""
    return tuple(text(one) for one in found)


def reason(one: Trouble) -> str | None:
    """Return why the trials did not end well; None where nothing is known."""
    return text(one.reason) if isinstance(one.reason, Remark) else one.reason


def together(alike: Sequence[Remark]) -> str:
    """Return one sentence for remarks that are `kind_of` the same, with the range of each number."""
    return dispatch.said(alike[0], alike)


def kind_of(one: Remark) -> tuple[object, ...]:
    """Return what is the same of remarks that one sentence can hold: all but their numbers, and digests."""
    if isinstance(one, _WITHOUT_DIGESTS):
        return (type(one),)
    values = (getattr(one, field.name) for field in fields(one))
    return (type(one), *(float if _is_number(value) else value for value in values))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
