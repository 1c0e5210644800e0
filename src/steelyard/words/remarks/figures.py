"""Has the sentences on why a trial failed, what a figure rests on, and why there is none."""

from collections.abc import Sequence

from steelyard.analysis import remarks
from steelyard.words.remarks.dispatch import said

_FIGURES = {"law": "a law", "saturation": "a saturation"}


@said.register
def _(one: remarks.Signal, alike: Sequence[remarks.Signal]) -> str:
    return f"signal {one.number}"


@said.register
def _(one: remarks.Timeless, alike: Sequence[remarks.Timeless]) -> str:
    return f"{one.metric} took no measurable time by its clock"


@said.register
def _(one: remarks.NotAboveOverhead, alike: Sequence[remarks.NotAboveOverhead]) -> str:
    return f"{one.metric} does not exceed the overhead to subtract"


# Costs


@said.register
def _(one: remarks.CoveredLittle, alike: Sequence[remarks.CoveredLittle]) -> str:
    return (
        f"only {100 * one.covered:.0f} % of the accounted time was spent in operations: the costs include "
        "too much of set-up for shares"
    )


@said.register
def _(one: remarks.SetupKept, alike: Sequence[remarks.SetupKept]) -> str:
    return "the cost of set-up was not measured on both: counts include it, and no difference is claimed"


@said.register
def _(one: remarks.FewTicks, alike: Sequence[remarks.FewTicks]) -> str:
    return "the trials met too few clock ticks to tell user from system mode: both are in run"


@said.register
def _(one: remarks.SharesBeyondWhole, alike: Sequence[remarks.SharesBeyondWhole]) -> str:
    return "several processes ran at once, or one saved what another cost: shares exceed 100 %"


# The machine


@said.register
def _(one: remarks.CacheCapacity, alike: Sequence[remarks.CacheCapacity]) -> str:
    return f"cache {one.name}"


@said.register
def _(one: remarks.LatencyStep, alike: Sequence[remarks.LatencyStep]) -> str:
    return f"step {one.number} of the latency"


@said.register
def _(one: remarks.CacheLine, alike: Sequence[remarks.CacheLine]) -> str:
    return "cache line"


@said.register
def _(one: remarks.TranslationReach, alike: Sequence[remarks.TranslationReach]) -> str:
    return "address translation"


@said.register
def _(one: remarks.OperationsAtOnce, alike: Sequence[remarks.OperationsAtOnce]) -> str:
    return f"{one.workload}: {one.operation} at once"


@said.register
def _(one: remarks.LoadsInFlight, alike: Sequence[remarks.LoadsInFlight]) -> str:
    return "loads in flight"


@said.register
def _(one: remarks.Step, alike: Sequence[remarks.Step]) -> str:
    gradual = f"gradual, over {one.octaves:.1f} octaves: an effective capacity"
    share = "" if one.agreement is None else f"; as many steps in {one.agreement:.0%} of resamples"
    return f"{'a sharp step' if one.is_sharp else gradual}, {one.times:.1f} times slower beyond{share}"


@said.register
def _(one: remarks.ByTrials, alike: Sequence[remarks.ByTrials]) -> str:
    return f"by {one.share:.0%} of trials on their own"


@said.register
def _(one: remarks.PagesBeyond, alike: Sequence[remarks.PagesBeyond]) -> str:
    return f"above this number of pages of {one.page_bytes} bytes, address translation costs time"


@said.register
def _(one: remarks.AtSize, alike: Sequence[remarks.AtSize]) -> str:
    return f"at {one.size} bytes; maximum at {one.most_at} bytes"


# Scaling


@said.register
def _(one: remarks.ProcessorsUnknown, alike: Sequence[remarks.ProcessorsUnknown]) -> str:
    return "a scaling law holds up to the number of processors, which the system does not report"


@said.register
def _(one: remarks.FewWithin, alike: Sequence[remarks.FewWithin]) -> str:
    has = "1 processor" if one.processors == 1 else f"{one.processors} processors"
    are = "here is 1" if len(one.within) == 1 else f"here are {len(one.within)}"
    listed = f" ({', '.join(str(count) for count in one.within)})" if one.within else ""
    return (
        f"a scaling law needs {one.needed} numbers of copies up to the number of processors; "
        f"{are}{listed}, with {has}"
    )


@said.register
def _(one: remarks.FewWholeBlocks, alike: Sequence[remarks.FewWholeBlocks]) -> str:
    have = "1 has" if one.blocks == 1 else f"{one.blocks} have"
    return f"{_FIGURES[one.figure]} needs {one.needed} blocks with every number of copies; {have}"


@said.register
def _(one: remarks.NeverBeyond, alike: Sequence[remarks.NeverBeyond]) -> str:
    return "it was not measured with more copies than processors"


@said.register
def _(one: remarks.FewNumbers, alike: Sequence[remarks.FewNumbers]) -> str:
    return f"a saturation needs {one.needed} numbers of copies, but only {one.numbers} were measured"


@said.register
def _(one: remarks.StillGrowing, alike: Sequence[remarks.StillGrowing]) -> str:
    return f"throughput still grows at {one.copies} copies"
