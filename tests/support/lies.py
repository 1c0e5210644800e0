"""What a system may say instead of the truth: each lie turns a trial's right records into what is said."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from trial_records import Record

Said = list[bytes]
Spoil = Callable[[list[Record]], Said]


@dataclass(frozen=True)
class Lie:
    spoil: Spoil
    found: str  # a regular expression that finds the sentence; "" where nothing is wrong
    of_clock: bool = False  # it is about the clock after the trial, and not about the trial's records
    status: str = "failed"


def line(record: object) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode()


def said(records: Sequence[object]) -> Said:
    return [line(one) for one in records]


def _changed(kind: str, **values: Any) -> Spoil:
    """All records of that kind have these values."""
    return lambda records: said(
        [one | (values if one["record"] == kind else {}) for one in records],
    )


def _without(kind: str, key: str) -> Spoil:
    return lambda records: said(
        [
            {name: value for name, value in one.items() if one["record"] != kind or name != key}
            for one in records
        ]
    )


def _dropped(*kinds: str) -> Spoil:
    return lambda records: said([one for one in records if one["record"] not in kinds])


def _instead(kind: str, text: bytes) -> Spoil:
    """That text stands where records of that kind should."""
    return lambda records: [text if one["record"] == kind else line(one) for one in records]


def _before(kind: str, *texts: bytes) -> Spoil:
    def spoil(records: list[Record]) -> Said:
        found: Said = []
        for one in records:
            found += [*texts, line(one)] if one["record"] == kind else [line(one)]
        return found

    return spoil


def _after_end(*texts: bytes) -> Spoil:
    return lambda records: [*said(records), *texts]


def _each_twice(*kinds: str) -> Spoil:
    return lambda records: [
        text for one in records for text in [line(one)] * (2 if one["record"] in kinds else 1)
    ]


def _first(kind: str, change: Callable[[Record], Record]) -> Spoil:
    def spoil(records: list[Record]) -> Said:
        return said([change(one) if one["record"] == kind else one for one in records])

    return spoil


def _cut(kind: str) -> Spoil:
    return lambda records: [
        line(one)[: len(line(one)) // 2] if one["record"] == kind else line(one) for one in records
    ]


def _processes(**values: Any) -> Spoil:
    def change(record: Record) -> Record:
        return record | {"processes": [one | values for one in record["processes"]]}

    return _first("processes", change)


def _durations(value: object) -> Lie:
    return Lie(_changed("samples", durations_ns=[value] * 3), r"'samples' .* durations_ns\[0\] is .* whole")


def _wrong(kind: str, key: str, value: object, allowed: str = "but must be") -> Lie:
    return Lie(_changed(kind, **{key: value}), rf"'{kind}' cannot be right: {key}.* is .*{allowed}")


# The limits while lies are told: with 16 and 128 MiB, the product's own, each flood takes seconds.
LINE_MOST, SAID_MOST = 4 << 20, 16 << 20
MIB = b"x" * (1 << 20)
DEEP = b'{"record":"samples","copy":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
WIDE = b'{"record":"samples","copy":' + b"[]," * 1_000_000 + b"0}"

# What a load's record holds.
LOAD: Record = {
    "record": "load", "copy": 0, "window_ns": 10**9, "elapsed_ns": 10**9, "body_fixed": True,
    **dict.fromkeys(("answers", "requests", "started"), 10),
    **dict.fromkeys(
        ("bytes", "waited", "unsent", "connections", "connecting_ns", "closed", "resent", "longest_ns",
         "silent_ns", "stalled_ns", "late_ns", "client_ns", "busiest_ns", "verified", "objects",
         "objects_failed", "objects_lost"), 0),
    **dict.fromkeys(("content_sha256", "limit_ns", "share_permille", "steps", "malformed")),
    "failures": {}, "own_limits": {},
}  # fmt: skip

LIES: dict[str, Lie] = {
    # What a duration may be.
    "float": _durations(1.5),
    "whole float": _durations(5.0),
    "nulls": _durations(None),
    "strings": _durations("5"),
    "true": _durations(True),
    "lists": _durations([5]),
    "negative": _durations(-5),
    "2^64": _durations(1 << 64),
    "10^30": _durations(10**30),
    "2^63 - 1": Lie(
        _changed("samples", durations_ns=[(1 << 63) - 1] * 3), "the sum of durations_ns of copy 0"
    ),
    "292 years": Lie(_changed("samples", durations_ns=[1 << 61] * 3), "as its trial took"),
    "an hour": Lie(_changed("samples", durations_ns=[3_600_000_000_000] * 3), "as its trial took"),
    "zero": Lie(_changed("samples", durations_ns=[0] * 3), r"durations_ns\[0\] is 0, .* resolution"),
    "5,000 digits": Lie(
        _instead("samples", b'{"record":"samples","copy":' + b"1" * 5000 + b"}"), "a number of 5,000 digits"
    ),
    "NaN": Lie(_changed("samples", durations_ns=[float("nan")] * 3), "NaN is not a JSON number"),
    "infinity": Lie(_changed("samples", durations_ns=[float("-inf")] * 3), "-Infinity is not a JSON number"),
    "1e400": Lie(_instead("samples", b'{"record":"samples","copy":1e400}'), "'1e400' is out of range"),
    "a string for durations": _wrong("samples", "durations_ns", "5"),
    "null for durations": _wrong("samples", "durations_ns", None),
    "an object for durations": _wrong("samples", "durations_ns", {"0": 5}),
    "no durations": _wrong("samples", "durations_ns", []),
    "too few durations": Lie(_changed("samples", durations_ns=[5]), "number of durations_ns is 1, .* 3 to 3"),
    "too many durations": Lie(_changed("samples", durations_ns=[5] * 4), "number of durations_ns is 4"),
    "10,001 durations": _wrong("samples", "durations_ns", [5] * 10_001),
    "durations left out": Lie(
        _without("samples", "durations_ns"), "durations_ns is missing, but must be a list"
    ),
    # What operations may be.
    "operations 0": _wrong("samples", "operations", 0),
    "operations -1": _wrong("samples", "operations", -1),
    "operations null": _wrong("samples", "operations", None),
    "operations a string": _wrong("samples", "operations", "1000"),
    "operations a float": _wrong("samples", "operations", 1000.0),
    "operations 10^18": _wrong("samples", "operations", 10**18, "1000, as asked"),
    "operations other than asked": _wrong("samples", "operations", 1001, "1000, as asked"),
    "operations left out": Lie(_without("samples", "operations"), "operations is missing"),
    # Of what they are.
    "copy -1": _wrong("samples", "copy", -1),
    "copy 1 of 1": _wrong("samples", "copy", 1, "less than 1"),
    "copy 1024": _wrong("samples", "copy", 1024),
    "copy null": _wrong("samples", "copy", None),
    "another metric": _wrong("samples", "metric", "switch", "one of time"),
    "a metric with a NUL": _wrong("samples", "metric", "time\0"),
    "a metric of a surrogate": _wrong("samples", "metric", "\ud800"),
    "a metric of 10,000 characters": _wrong("samples", "metric", "x" * 10_000),
    "a number for a metric": _wrong("samples", "metric", 5),
    "seconds": _wrong("samples", "unit", "s", "but must be 'ns'"),
    "a point of no curve": _wrong("samples", "point", 64, "null"),
    "bytes that nothing moves": _wrong("samples", "bytes", 64, "null"),
    "faults -1": _wrong("samples", "faults_major", -1),
    "a digest of another length": _wrong("samples", "code_sha256", "c0de", "64 hexadecimal digits"),
    # What was used.
    "less used than measured": _wrong("usage", "operations", 1, "at least 3000"),
    "292 years used": Lie(_changed("usage", user_ns=(1 << 63) - 1), r"user_ns \+ system_ns"),
    "used -1": _wrong("usage", "user_ns", -1),
    "used 2^64": _wrong("usage", "faults_minor", 1 << 64),
    "used a string": _wrong("usage", "system_ns", "5"),
    "used null": _wrong("usage", "system_ns", None),
    "used left out": Lie(_without("usage", "user_ns"), "user_ns is missing"),
    "used of another metric": _wrong("usage", "metric", "switch"),
    # The processes.
    "processes null": _wrong("processes", "processes", None),
    "processes a number": _wrong("processes", "processes", 5),
    "processes of numbers": Lie(_changed("processes", processes=[5]), r"processes\[0\] is 5, .* an object"),
    "no processes": Lie(_changed("processes", processes=[]), "has 0 copies, not 1"),
    "processes twice": Lie(_each_twice("processes"), "'processes' cannot be right: the list of copies"),
    "processes of another trial": _wrong("processes", "trial", "99.99"),
    "a copy that was killed": Lie(_processes(status="killed", signal=9), "as that of copy 0: killed"),
    "a copy that never began": Lie(_processes(start_ns=None), "as that of copy 0"),
    "a copy that ended before it began": Lie(
        _processes(end_ns=5), r"processes\[0\].end_ns is 5, .* not before"
    ),
    "a copy of another name": Lie(_processes(copy=3), "the list of copies is"),
    "a copy's status odd": Lie(_processes(status="fine"), r"processes\[0\].status is 'fine'"),
    "a copy's signal a string": Lie(_processes(signal="KILL"), r"processes\[0\].signal is 'KILL'"),
    # Begin and end.
    "another trial's begin": _wrong("begin", "trial", "99.99"),
    "another workload": _wrong("begin", "workload", "syscall", "'null'"),
    "another parameter": Lie(
        _first("begin", lambda one: one | {"parameters": one["parameters"] | {"batches": 5}}),
        r"parameters.batches is 5, but must be 3, as asked",
    ),
    "parameters null": _wrong("begin", "parameters", None),
    "parameters nested": _wrong("begin", "parameters", {"batches": {"batches": 3}}),
    "begun after it ended": Lie(_changed("begin", clock_ns=(1 << 63) - 1), "not before"),
    "begun before it was asked": Lie(
        _changed("begin", clock_ns=0), "'begin' .* clock_ns is 0, .* not before"
    ),
    "another trial's end": _wrong("end", "trial", "99.99"),
    "an end without status": Lie(_without("end", "status"), "'end' .* status is missing"),
    "status odd": _wrong("end", "status", "fine", "one of ok, failed"),
    "status null": _wrong("end", "status", None),
    "stopped by nobody": _wrong("end", "status", "stopped", "it was not stopped"),
    "a reason that is a number": _wrong("end", "reason", 5),
    "a signal that is a string": _wrong("end", "signal", "SIGKILL"),
    "a signal 0": _wrong("end", "signal", 0),
    "ended before it began": Lie(_changed("end", clock_ns=5), "'end' cannot be right: clock_ns is 5"),
    "ended in 292 years": Lie(_changed("end", clock_ns=(1 << 63) - 1), "'clock' .* not before"),
    # What is missing, twice, or out of place.
    "the end alone": Lie(_dropped("begin", "samples", "usage", "processes"), "it sent 'end' before 'begin'"),
    "no begin": Lie(_dropped("begin"), "it sent '.*' before 'begin'"),
    "no samples": Lie(_dropped("samples"), "no record 'samples' of copy 0 and metric 'time' came"),
    "no usage": Lie(_dropped("usage"), "no record 'usage'"),
    "no record of processes": Lie(_dropped("processes"), "has 0 copies"),
    "samples twice": Lie(_each_twice("samples"), "'samples' of copy 0 and metric 'time' came twice"),
    "begin twice": Lie(_each_twice("begin"), "it sent 'begin' twice"),
    "all twice": Lie(_each_twice("begin", "samples", "usage", "processes", "end"), "'begin' twice"),
    "end twice": Lie(_each_twice("end"), "it sent 'end' in answer to a request for its clock"),
    "samples after the end": Lie(
        _after_end(b'{"record":"clock","clock_ns":5}'), "not before|clock cannot be right"
    ),
    "a count of a workload that counts nothing": Lie(
        _before("end", b'{"record":"value","copy":0,"metric":"time","unit":"calls","value":-1}'),
        "value is -1",
    ),
    "a count of another workload": Lie(
        _before("end", b'{"record":"value","copy":0,"metric":"time","unit":"calls","value":5}'),
        "'value' .* metric",
    ),
    "a group of a workload that has none": Lie(
        _before("end", line({"record": "group", "copy": 0, "metric": "together"})), "'group' cannot be right"
    ),
    "a histogram of a workload that has none": Lie(
        _before("end", b'{"record":"histogram","copy":0,"metric":"latency","values_ns":[1],"counts":[1]}'),
        "'histogram' .* metric is 'latency', .* of another workload",
    ),
    "what a command printed, where nobody asked": Lie(
        _before("end", b'{"record":"printed","copy":0,"part":0,"text":"1"}'), "that did not ask for it"
    ),
    "a part of what was printed that is too late": Lie(
        _before("end", b'{"record":"printed","copy":0,"part":32,"text":""}'), r"'printed' .* part is 32"
    ),
    "a part of what was printed that is too long": Lie(
        _before("end", b'{"record":"printed","copy":0,"part":0,"text":"' + b"x" * 262145 + b'"}'),
        r"'printed' .* at most 262144 characters",
    ),
    "a load of a workload that loads nothing": Lie(
        _before("end", line(LOAD)), "it sent 'load' in a trial that loads no server for a while"
    ),
    "a search of a workload that loads nothing": Lie(
        _before("end", line(LOAD | {"steps": {"held": 4}})), "it sent 'load' in a trial that loads no server"
    ),
    "a histogram of nothing": Lie(
        _before("end", b'{"record":"histogram","copy":0,"metric":"latency","values_ns":[1],"counts":[0]}'),
        r"'histogram' .* counts\[0\] is 0",
    ),
    "hello in the midst": Lie(_before("end", b'{"record":"clock","clock_ns":5}'), "'clock' during a trial"),
    # Bytes that are no record.
    "half a line": Lie(_cut("samples"), r"cannot be read \(cut short"),
    "half an end": Lie(_cut("end"), r"cannot be read"),
    "an odd number": Lie(_instead("samples", b'{"record":"samples","copy":0x10}'), "cannot be read"),
    "no kind": Lie(_instead("samples", b'{"record":null}'), "record is null"),
    "a kind that is a list": Lie(_instead("samples", b'{"record":["samples"]}'), r"record is \['samples'\]"),
    "a key twice": Lie(
        _instead("samples", b'{"record":"samples","copy":0,"copy":0}'), "the key 'copy' is repeated"
    ),
    "100,000 brackets": Lie(_instead("samples", DEEP), "nested more than 8 deep"),
    "1,000,000 lists": Lie(_instead("samples", WIDE), "cannot be read"),
    "no UTF-8": Lie(_instead("samples", b'{"record":"samples","metric":"\xff\xfe"}'), "not UTF-8 at byte 30"),
    "a surrogate": Lie(
        _changed("end", status="failed", reason="\ud800 lone \x1b[31m"), r"^\\ud800 lone \\x1b\[31m$"
    ),
    "a reason of 3 MB": Lie(_changed("end", status="failed", reason="x" * 3_000_000), r"^x{1499}…x{500}$"),
    "a fault in the midst": Lie(
        _before("samples", b'{"record":"error","trial":"99.99","reason":"odd"}'),
        "'error' .* trial is '99.99'",
    ),
    # The clock.
    "a clock of null": Lie(
        lambda _: [b'{"record":"clock","clock_ns":null}'], "'clock' .* null", of_clock=True
    ),
    "a clock of nothing": Lie(lambda _: [b'{"record":"clock"}'], "clock_ns is missing", of_clock=True),
    "a clock of text": Lie(
        lambda _: [b'{"record":"clock","clock_ns":"5"}'], "clock_ns is '5'", of_clock=True
    ),
    "a clock of 2^70": Lie(
        lambda _: [line({"record": "clock", "clock_ns": 1 << 70})],
        "clock_ns is a number of about 21 digits",
        of_clock=True,
    ),
    "a clock that goes back": Lie(
        lambda _: [b'{"record":"clock","clock_ns":5}'], "clock_ns is 5, .* not before", of_clock=True
    ),
    "a clock that is an hour ahead": Lie(
        lambda one: [line(one[0] | {"clock_ns": one[0]["clock_ns"] + 3_600_000_000_000})],
        "its clock cannot be right: it advanced by 3,600,",
        of_clock=True,
    ),
    # Floods, and silence.
    "8 MiB without a newline": Lie(_instead("samples", MIB * 8), "sent a line of more than 4 MiB"),
    "a flood of records": Lie(
        _before("samples", *[b'{"record":"samples","copy":-1}'] * 20_000), "copy is -1"
    ),
    "endless records after the end": Lie(
        _after_end(*[b'{"record":"usage"' + b" " * (1 << 16) + b"}"] * 270),
        "sent more than 16 MiB|it was still busy|its record 'usage' cannot be right",
    ),
    "endless words after the end": Lie(_after_end(*[MIB] * 18), "sent more than 16 MiB"),
    "no end": Lie(_dropped("end"), "the agent did not answer", status="timed out"),
    # What is odd, and does no harm.
    "nothing": Lie(said, "", status="ok"),
    "keys that are not known": Lie(_changed("samples", colour={"red": [1, None]}), "", status="ok"),
    "a kind that is not known": Lie(_before("end", b'{"record":"colour","trial":[]}'), "", status="ok"),
    "a kernel's words": Lie(_before("end", b"[ 1.0] printk: \xff\0", b"", b"{}"), "", status="ok"),
    "a reason for nothing": Lie(_changed("end", reason="all is well"), "", status="ok"),
}


def _of(metric: str, **values: object) -> Spoil:
    """The samples of that metric have these values."""

    def spoil(records: list[Record]) -> Said:
        return said(
            [
                one | (values if one["record"] == "samples" and one["metric"] == metric else {})
                for one in records
            ]
        )

    return spoil


def _reports(metric: str, value: int, found: str) -> Lie:
    return Lie(_of(metric, durations_ns=[value]), found)


def _only_size(size: int) -> Spoil:
    """Of a curve nothing is left but that size."""
    return lambda records: said(
        [one for one in records if one["record"] != "samples" or one["point"] == size]
    )


def _first_group(**values: object) -> Spoil:
    """The first group has these values, if they are not the same."""

    def spoil(records: list[Record]) -> Said:
        number = next(number for number, one in enumerate(records) if one["record"] == "group")
        return said([one | (values if place == number else {}) for place, one in enumerate(records)])

    return spoil


def _scaled(kind: str, key: str, by: int) -> Spoil:
    def change(one: Record) -> Record:
        return one | {key: [each * by for each in one[key]]}

    return _first(kind, change)


def _less(metric: str, *others: str) -> Spoil:
    """Only these of the reported metrics are said, each once."""
    return lambda records: said(
        [one for one in records if one["record"] != "samples" or one["metric"] in (metric, *others)]
    )


# What contradicts other records, or what was asked: by the workload whose right records are spoilt. Those of
# web_requests tell of 200 requests, and of 100 ns to 1 ms each; of web_load, of a window of 100 ms.
RELATIONS: dict[str, dict[str, Lie]] = {
    "web_requests": {
        "more requests than were made": Lie(
            _scaled("histogram", "counts", 1 << 54),
            r"'histogram' cannot be right: the sum of counts is .* at most 250, as its usage says",
        ),
        "twice as many requests": Lie(_scaled("histogram", "counts", 2), "sum of counts is 400"),
        "fewer requests than were measured": Lie(
            _changed("histogram", values_ns=[1024], counts=[1]), r"latency_99 is|sum of counts is 1, .* 200"
        ),
        "a histogram of other requests": Lie(
            _changed("histogram", values_ns=[1 << 15, 1 << 16]),
            r"durations_ns of latency_50 is 1030, but must be 32768 to 33279, where its histogram has it",
        ),
        "buckets that are none": Lie(
            _changed("histogram", values_ns=[1025, 1 << 20]), r"values_ns\[0\] is 1025, .* a multiple of 16"
        ),
        "a wait longer than the trial": _reports(
            "longest_wait", 1 << 40, "durations_ns is .* as its trial took"
        ),
        "silence for more than all of the time": _reports(
            "silent", 1001, r"durations_ns \(per mille of the time .*\) is 1001, .* at most 1000"
        ),
        "99 % sooner than half": _reports("latency_99", 1025, "latency_99 is 1025, .* which is latency_90"),
        "99.9 % sooner than 99 %": _reports("latency_99_9", 1040, "latency_99_9 is 1040, .* latency_99"),
        "a median beyond the histogram's": _reports("latency_50", 2000, "latency_5?9?0? is .*"),
        "a server busier than all processors": _reports("server", 10**11, r"durations_ns is 1\d*, but"),
        "operations without end": Lie(_changed("usage", operations=1 << 62), "operations is .* in this"),
        "2^62 faults": Lie(_changed("usage", faults_minor=1 << 62), "faults_minor is .* in this time"),
        "2^62 blocks": Lie(_changed("usage", blocks_written=1 << 62), "blocks_written is .* in this time"),
        "a signal that ended what ended well": Lie(_changed("end", signal=9), "signal is 9, .* null"),
        "another code than began": Lie(_changed("samples", code_sha256="0" * 64), "code_sha256 .* 'begin'"),
    },
    "web_load": {
        "another window than asked": _wrong("load", "window_ns", 10**9, "100000000, as asked"),
        "no window": _wrong("load", "window_ns", 0),
        "over before its window": _wrong("load", "elapsed_ns", 1, "at least 100000000, its window"),
        "a load longer than the trial": _wrong("load", "elapsed_ns", 1 << 40, "as its trial took"),
        "a wait longer than the trial": _wrong("load", "longest_ns", 1 << 40, "as its trial took"),
        "stalled longer than the trial": _wrong("load", "stalled_ns", 1 << 40, "as its trial took"),
        "later than the trial": _wrong("load", "late_ns", 1 << 40, "as its trial took"),
        "silent for longer than the window": _wrong(
            "load", "silent_ns", 100_000_001, "at most 100000000, its window"
        ),
        "a loop busier than all loops": _wrong("load", "busiest_ns", 1 << 40, "of all loops"),
        "more answers than requests": _wrong("load", "requests", 1, "at least [0-9]+, its parts"),
        "failures beyond the requests": Lie(
            _changed("load", failures={"timeout": 1 << 40}), "requests is .* at least [0-9]+, its parts"
        ),
        "more bodies compared than answers": _wrong("load", "verified", 1 << 40, "of the answers"),
        "answers that its time contradicts": Lie(
            _changed("load", answers=1, verified=0), "answers is 1, .* its time a request, [0-9]+ ns"
        ),
        "requests without end": _wrong("load", "requests", 1 << 60, "at most [0-9]+ in this time"),
        "latencies of more requests": Lie(
            _scaled("histogram", "counts", 1000), "sum of counts is .* at most [0-9]+, as its load says"
        ),
        "a failure of no known kind": _wrong("load", "failures", {"odd": 1}, "any of connect, timeout, "),
        "1,000 kinds of failures": _wrong("load", "failures", {str(one): 1 for one in range(1000)}),
        "a failure less than none": Lie(_changed("load", failures={"timeout": -1}), "failures.timeout is -1"),
        "a failure of a text": Lie(_changed("load", failures={"timeout": "1"}), "failures.timeout is '1'"),
        "lacking what is not known": _wrong("load", "own_limits", {"ENOENT": 1}, "any of EMFILE"),
        "a search that was not asked for": Lie(
            _changed("load", steps={"held": 4}), "steps is .* but must be null"
        ),
        "steps that end as none does": _wrong("load", "steps", {"odd": 1}, "any of held, failures"),
        "a limit that was not asked for": _wrong("load", "limit_ns", 5, "null, as asked"),
        "a share that was not asked for": _wrong("load", "share_permille", 5, "null, as asked"),
        "more objects than requests": _wrong("load", "objects", 1 << 60, "at most [0-9]+, of the requests"),
        "more objects lost than requests": _wrong("load", "objects_lost", 1 << 60, "of the requests"),
        "more sent twice than requests": _wrong("load", "resent", 1 << 60, "of the requests"),
        "unsent without end": _wrong("load", "unsent", 1 << 60, "at most [0-9]+ in this time"),
        "waiting without end": _wrong("load", "waited", 1 << 60, "at most [0-9]+ in this time"),
        "connections without end": _wrong("load", "connections", 1 << 60, "at most [0-9]+ in this time"),
        "closed without end": _wrong("load", "closed", 1 << 60, "at most [0-9]+ in this time"),
        "lacking without end": _wrong("load", "own_limits", {"EMFILE": 1 << 60}, "in this time"),
        "bytes without end": _wrong("load", "bytes", 1 << 62, "less, in such a short trial"),
        "connecting for longer than it can": _wrong("load", "connecting_ns", 1 << 62, "for its connections"),
        "more processor time than there is": _wrong("load", "client_ns", 1 << 62, "as the processors had"),
        "answers -1": _wrong("load", "answers", -1),
        "bytes 2^80": _wrong("load", "bytes", 1 << 80),
        "bodies fixed 1": _wrong("load", "body_fixed", 1, "true or false"),
        "malformed 5": _wrong("load", "malformed", 5, "a text"),
        "a digest of another length": _wrong("load", "content_sha256", "c0de", "64 hexadecimal digits"),
        "a load without its window": Lie(_without("load", "window_ns"), "window_ns is missing"),
        "the load of another copy": _wrong("load", "copy", 1, "less than 1"),
        "the load twice": Lie(_each_twice("load"), "its record 'load' of copy 0 came twice"),
        "latencies without the load": Lie(_dropped("load"), "0 records 'load' of 1 copies came"),
    },
    "web_saturation": {
        "another step than asked": _wrong("load", "window_ns", 10**9, "200000000, as asked"),
        "a load that is no search": Lie(_changed("load", steps=None), "steps is null, .* those of a search"),
        "a search of no steps": Lie(_changed("load", steps={}), "in all, of which some are held"),
        "another limit than asked": _wrong("load", "limit_ns", 5, "as asked"),
        "another share than asked": _wrong("load", "share_permille", 5, "1, as asked"),
        "a search that held nothing": Lie(
            _changed("load", steps={"latency": 4}), "in all, of which some are held"
        ),
        "a search of more steps": Lie(_changed("load", steps={"held": 1 << 60}), "in all, of which"),
        "silent for longer than a step": _wrong("load", "silent_ns", 1 << 40, "at most 200000000, its"),
    },
    "tcp_request": {
        "softirq of all and more": _reports("softirq", 1 << 62, "per mille of demand.* at most 1000, which"),
        "near above demand": _reports("near", 10**8, "durations_ns is|of near is 10+, .* demand"),
        "near above demand, alone": Lie(
            lambda records: _less("time", "near", "demand")(
                [json.loads(one) for one in _of("near", durations_ns=[10**8])(records)]
            ),
            "durations_ns is|of near is 100000000, .* which is demand",
        ),
        "rest above demand": _reports("rest", 10**8, "durations_ns is|of rest is 10+, .* is demand"),
        "a sum that is none": _reports("demand", 10**8, "durations_ns is|of demand is 10+, .* its parts"),
        "a round trip of an hour": _reports("round_trip", 3600 * 10**9, "as its trial took"),
        "2^62 segments again": _reports("retransmits", 1 << 62, "segments.* in this time"),
    },
    "file_sequential_read": {
        "more of a file than it has": _reports("resident", 1 << 40, "of the file.* as its size is 1048576"),
        "2^62 bytes of a device": _reports("device_read", 1 << 62, "bytes per operation.* in this time"),
        "99 % sooner than half": _reports("latency_99", 1, "latency_99 is 1, .* which is latency_50"),
    },
    "linpack_processes": {
        "none created": Lie(_first_group(created=0), r"created is 0, but must be 1, the number"),
        "none "
        "finished": Lie(
            _first_group(finished=0), "finished is 0, but must be 1, the number of members that did not fail"
        ),
        "2^62 processors": Lie(_changed("group", processors=1 << 62), r"processors is .* whole number"),
        "a number left out": Lie(_first_group(batch=999), "groups 'alone' of copy 0 have the numbers"),
        "ended after the batch": Lie(_of("time", durations_ns=[5]), "ended_ns is .* at most 5, which"),
        "asked for backwards": Lie(
            lambda records: said(
                [
                    one | ({"asked_ns": [10**7, 0, 0][: one["members"]]} if one["record"] == "group" else {})
                    for one in records
                ]
            ),
            "asked_ns is|the life of member",
        ),
    },
    "memory_read": {
        "a curve with its smallest size": Lie(_only_size(4096), "has 1 of 3 sizes from 4096 to .*: 8192"),
        "a curve with its largest size": Lie(_only_size(16384), "has 1 of 3 sizes from 4096 to .*: 4096"),
        "a size that is none": Lie(
            lambda records: said(
                [
                    *records[:1],
                    next(one for one in records if one["record"] == "samples") | {"point": 5000},
                    *records[1:],
                ]
            ),
            "point is 5000, but must be one of 3 sizes",
        ),
    },
    "linpack_limit": {
        "more than was tried": Lie(_changed("value", value=1 << 62), "value is .* at most 4, as asked"),
    },
}  # fmt: skip


def hellos() -> Iterator[tuple[str, bytes, str]]:
    """Greetings that are none: what they are, what is said, and what finds the sentence."""
    from trial_records import HELLO

    for key in HELLO:
        if key not in ("record", "program_sha256"):
            rest = {name: value for name, value in HELLO.items() if name != key}
            yield f"no {key}", line(rest), rf"'hello' cannot be right: {key} is missing"
            yield f"{key} a list", line(HELLO | {key: [1]}), rf"{key} is \[1\]"
    yield "another protocol", line(HELLO | {"protocol": 2}), "protocol is 2, but must be 1"
    yield "protocol 1.0", line(HELLO | {"protocol": 1.0}), "protocol is 1.0"
    yield "protocol true", line(HELLO | {"protocol": True}), "protocol is true"
    yield "resolution 0", line(HELLO | {"clock_resolution_ns": 0}), "clock_resolution_ns is 0"
    yield "half a hello", line(HELLO)[:40], "cannot be read"
    yield "another record", b'{"record":"clock","clock_ns":5}', "did not send 'hello' within"
    yield "brackets", b'{"record":"hello","protocol":' + b"[" * 100_000, "more than 8 deep"
