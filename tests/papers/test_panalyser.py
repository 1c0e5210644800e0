"""Systems under monitors, and panalyser's study: the program with known counts, what monitors say of it, and
the paper's tables beside today's."""

import json
import os
import subprocess
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from installed_command import Run
from patience import patience

from steelyard.analysis import evaluate, usage
from steelyard.archive import experiments as archives
from steelyard.errors import SystemFailed
from steelyard.papers import figure_tables, source
from steelyard.papers.source import NOTHING, Printed
from steelyard.programs import built
from steelyard.study import study_file
from steelyard.systems import monitors
from steelyard.systems.agent import Agent
from steelyard.systems.native import NATIVE
from steelyard.systems.system import Place, System

STUDY = study_file.read("panalyser")
# Table 3 of the paper.
PAPER = {
    "read": 1082489,
    "lseek": 2042233,
    "write": 1000248,
    "openat": 6,
    "getrusage": 42,
    "mmap": 10,
    "munmap": 4,
    "close": 5,
    "fstat": 6,
    "mprotect": 2,
    "brk": 4,
    "uname": 1,
}
SCALED = ("read", "lseek", "write")


def run_under(words: list[str], *settings: str) -> list[dict[str, object]]:
    """The records of one trial whose process is started under that command."""
    answer = subprocess.run(
        [built.load("glibc"), "run", *settings],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        check=False,
        env=os.environ | {"STEELYARD_UNDER": "\n".join(words)},
        timeout=patience(60),
    )
    return [json.loads(line) for line in answer.stdout.splitlines()]


def counted(seen: Path, *settings: str) -> Counter[str]:
    """What strace -c counts of the trial's process, by the reader of its table."""
    records = run_under(["strace", "-f", "-c", "-o", str(seen)], *settings)
    assert records[-1]["status"] == "ok", records[-1]
    told = monitors.under(NATIVE, ("strace",), "strace").monitor_records(Place(Path(), seen.parent))
    return Counter({str(one["metric"]).removeprefix("calls of "): int(str(one["value"])) for one in told})


# --- the program


@pytest.mark.strace
@pytest.mark.parametrize("share", [1000, 333, 10000])
def test_a_performance_makes_the_paper_s_calls_or_one_in_so_many(share: int, tmp_path: Path) -> None:
    """Less those of a trial that does nothing; and the two to go to its directory and to clear it."""
    found = counted(tmp_path / "seen", "known_calls", f"share={share}")
    around = counted(tmp_path / "seen", "null", "operations=1", "batches=1", "warmup_ns=0")
    expected = {name: calls // share if name in SCALED else calls for name, calls in PAPER.items()}

    found.subtract(around)
    assert {name: calls for name, calls in found.items() if calls} == expected | {"chdir": 1, "unlinkat": 1}


def test_its_whole_claim_is_the_paper_s_table() -> None:
    (share,) = [one for one in built.catalogue().find("known_calls").parameters if one.name == "share"]
    claims = built.catalogue().find("known_calls").calls

    assert isinstance(share.initial, int)
    assert claims == {
        name: calls // share.initial if name in SCALED else calls for name, calls in PAPER.items()
    }


# --- under a monitor


@pytest.mark.program
def test_a_monitor_that_is_not_there_is_no_failure() -> None:
    end = run_under(["no-such-monitor", "-x"], "null")[-1]

    assert (end["status"], end["reason"]) == (
        "unsupported",
        "there is no 'no-such-monitor' to start it under",
    )


@pytest.mark.program
def test_a_monitor_that_does_not_start_the_program_is_no_failure() -> None:
    end = run_under(["sh", "-c", "exit 77"], "null")[-1]

    assert (end["status"], end["reason"]) == (
        "unsupported",
        "'sh' did not start it, and ended with status 77",
    )


@pytest.mark.program
def test_copies_are_not_put_under_a_monitor_each() -> None:
    (error,) = run_under(["env"], "null", "copies=2")

    assert error["record"] == "error"
    assert "its own monitor" in str(error["reason"])


@pytest.mark.program
def test_what_the_program_itself_executes_is_not_put_under_it_again(tmp_path: Path) -> None:
    """The trial's process does not know of its monitor."""
    seen = tmp_path / "seen"
    script = 'echo "$@" >>"$0"; exec "$@"'

    assert run_under(["sh", "-c", script, str(seen)], "fork_exec", "operations=3")[-1]["status"] == "ok"
    assert len(seen.read_text().splitlines()) == 1


@pytest.mark.strace
def test_a_trial_that_is_ended_takes_its_monitor_along(tmp_path: Path) -> None:
    seen = str(tmp_path / "seen")
    end = run_under(["strace", "-f", "-c", "-o", seen], "known_calls", "share=1", "limit_ms=300")[-1]

    assert end["status"] == "timed out"
    deadline = time.monotonic() + patience(5)
    while _naming(tmp_path):
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.strace
def test_nothing_of_a_monitor_outlives_its_system(tmp_path: Path) -> None:
    with Agent(under("strace", "-f", "-c", "-o", "{seen}"), directory=tmp_path) as agent:
        agent.send("trial 1 known_calls share=1")
        while not any(b"strace" in words for words in _naming(tmp_path)):
            time.sleep(0.02)

    assert _naming(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def _naming(directory: Path) -> list[bytes]:
    """The command lines of all processes that name that directory."""
    known = (_words(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [words for words in known if os.fsencode(directory) in words]


def _words(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def under(*words: str, reads: str = "") -> System:
    return monitors.under(replace(NATIVE, name="watched"), words, reads)


def perform(agent: Agent, workload: str) -> list[dict[str, object]]:
    """The records of a trial, up to its end."""
    agent.send(f"trial 1 {workload}")
    records = []
    for record in agent.records(time.monotonic() + patience(30)):
        records.append(record)
        if record["record"] == "end":
            return records
    raise AssertionError("no end")


@pytest.mark.strace
def test_an_agent_is_parked_and_woken_and_never_traced(tmp_path: Path) -> None:
    """Only the trial's process is its monitor's; and what that says comes before the trial's end."""
    with Agent(under("strace", "-f", "-c", "-o", "{seen}", reads="strace"), directory=tmp_path) as agent:
        for _ in range(2):
            records = perform(agent, "known_calls")
            values = {one["metric"]: one["value"] for one in records if one["record"] == "told"}
            assert values["calls of lseek"] == PAPER["lseek"] // 1000
            assert records[-1]["status"] == "ok"
            agent.park()
            agent.resume()


@pytest.mark.program
def test_why_a_monitor_refuses_is_said_in_its_own_words(tmp_path: Path) -> None:
    """Not in those of an earlier trial."""
    script = 'test -e "$0" && exit 77; : >"$0"; echo you may not trace >&2; exit 1'
    with Agent(under("sh", "-c", script, "{scratch}/second"), directory=tmp_path) as agent:
        reasons = [str(perform(agent, "null")[-1]["reason"]) for _ in range(2)]

    assert reasons == [
        "'sh' did not start it, and ended with status 1; its last output: you may not trace",
        "'sh' did not start it, and ended with status 77",
    ]


@pytest.mark.program
def test_what_is_not_understood_is_not_passed_over(tmp_path: Path) -> None:
    script = 'echo "  1.0 what is this" >"$0"; exec "$@"'
    with (
        Agent(under("sh", "-c", script, "{seen}", reads="strace"), directory=tmp_path) as agent,
        pytest.raises(SystemFailed, match="cannot parse the output"),
    ):
        perform(agent, "null")


# --- what monitors say

STRACE = """% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 90.00    0.004523           2      2042           lseek
  0.00    0.000000           0         3         1 access
------ ----------- ----------- --------- --------- ----------------
100.00    0.010929           2      2045         1 total
"""
PERF_TRACE = """
 Summary of events:

 steelyard-load (29462), 58 events, 90.6%

   syscall            calls  errors  total       min       avg       max       stddev
                                     (msec)    (msec)    (msec)    (msec)        (%)
   --------------- --------  ------ -------- --------- --------- ---------     ------
   lseek               2042      0     0.177     0.019     0.022     0.027      4.39%
   access                 3      1     0.018     0.018     0.018     0.018      0.00%

 steelyard-load (29463), 2 events, 9.4%

   syscall            calls  errors  total       min       avg       max       stddev
                                     (msec)    (msec)    (msec)    (msec)        (%)
   --------------- --------  ------ -------- --------- --------- ---------     ------
   access                 1      1     0.018     0.018     0.018     0.018      0.00%
"""
PERF_STAT = "# started on Sun Nov 22 06:21:38 2026\n\n4206,,raw_syscalls:sys_enter,661483,100.00,,\n"
SAR = """Linux 6.1.0 (name) \t11/22/26 \t_x86_64_\t(2 CPU)

06:21:38        CPU     %user     %nice   %system   %iowait    %steal     %idle
06:21:39        all     22.72      0.00     51.74      0.00      0.00     25.54

Average:        all     22.72      0.00     51.74      0.00      0.00     25.54
"""


def _process(generation: int, calls: Mapping[str, object] | None, **figures: object) -> str:
    known = {
        "record": "process",
        "thread": None,
        "generation": generation,
        "watched_ns": 1000,
        "end_ns": 2001000,
        "cpu_user_ns": 250000,
        "cpu_system_ns": 600000,
        "calls": calls,
    }
    return json.dumps(known | figures)


def _watched(detail: str, *processes: str) -> str:
    return "\n".join([json.dumps({"record": "watch", "detail": detail}), *processes, END])


END = '{"record": "end"}'
WATCH = _watched("calls", _process(1, {"read": {"calls": 2}}), _process(0, {"read": {"calls": 5}}))
IN_WINDOWS = _watched("budget", _process(0, {"read": {"calls": 5, "expanded": 1082.4}}))
UNRESOLVED = _watched("budget", _process(0, {"read": {"calls": 5, "expanded": None}}))
SAMPLED = _watched("profile", _process(0, {"read": {"calls": 0, "samples": 4}}))
UNSEEN = _watched("life", _process(0, None, cpu_user_ns=None))


@pytest.mark.program
@pytest.mark.parametrize(
    ("monitor", "text", "expected"),
    [
        ("strace", STRACE, {"calls of lseek": 2042, "calls of access": 3}),
        ("perf trace", PERF_TRACE, {"calls of lseek": 2042, "calls of access": 4}),
        ("perf stat", PERF_STAT, {"calls": 4206}),
        ("sar", SAR, {"processors in user mode": 2272, "processors in system mode": 5174}),
        ("sar", SAR.partition("Average")[0], {}),
        (
            "steelyard-watch",
            WATCH,
            {"user time": 500000, "system time": 1200000, "watched": 2000000, "calls of read": 7},
        ),
        (
            "steelyard-watch",
            IN_WINDOWS,
            {
                "user time": 250000,
                "system time": 600000,
                "watched": 2000000,
                "estimated calls of read": 1082,
            },
        ),
        ("steelyard-watch", UNRESOLVED, {"user time": 250000, "system time": 600000, "watched": 2000000}),
        ("steelyard-watch", SAMPLED, {"user time": 250000, "system time": 600000, "watched": 2000000}),
        ("steelyard-watch", UNSEEN, {"system time": 600000, "watched": 2000000}),
    ],
)
def test_each_monitor_s_account_is_read(
    monitor: str, text: str, expected: dict[str, int], tmp_path: Path
) -> None:
    (tmp_path / "seen").write_text(text)
    told = monitors.under(NATIVE, ("x",), monitor).monitor_records

    assert {one["metric"]: one["value"] for one in told(Place(Path(), tmp_path))} == expected
    assert told(Place(Path(), tmp_path)) == []  # it is not taken for the next trial's


def test_a_monitor_that_was_killed_has_said_nothing(tmp_path: Path) -> None:
    (tmp_path / "seen").write_text(WATCH.removesuffix(END))

    with pytest.raises(SystemFailed, match="no end"):
        monitors.under(NATIVE, ("x",), "steelyard-watch").monitor_records(Place(Path(), tmp_path))


# --- the study


def test_the_study_asks_for_what_the_paper_has() -> None:
    """Every figure of its tables that the paper has is found there; the two that it has not are named."""
    missing = []
    for table in STUDY.figure_tables:
        known = {(row["metric"], row["level"]) for row in source.rows_of(table.paper, table.name)}
        missing += [one.name for one in table.figures if (one.published, one.level) not in known]

    assert missing == ["all together"]


def test_what_a_monitor_adds_is_as_the_paper_computes_it() -> None:
    """Of the time with the monitor. (Of atsar's user time 0.145 % is computed, and 0.15 % printed.)"""
    rows = {
        (row["system"], row["metric"]): float(row["value"])
        for row in source.rows_of("kretschek-panalyser", "1")
    }
    for system in ("atsar", "strace", "panalyser"):
        for mode in ("user", "system"):
            found = usage.slowdown_percent(
                rows[system, f"{mode} time"], rows["untraced", f"{mode} time"], "of its own"
            )
            assert found == pytest.approx(rows[system, f"{mode} variation"], abs=0.006)


def _short(directory: Path) -> Path:
    """The study with a thousandth of the calls, in one block, without the monitors that take a privilege."""
    text = STUDY.text.replace("share = 1\n", "share = 1000\n").replace("looks = [6, 12]", "looks = [1]")
    text = text.replace('under = ["perf", "stat",', 'under = ["no-such-perf", "stat",')
    file = directory / "short.toml"
    file.write_text(text)
    return file


def _column(table: Printed, heading: str) -> dict[str, str]:
    place = table.headings.index(heading)
    return {row[0]: row[place] for row in table.rows}


@pytest.mark.strace
def test_the_paper_s_tables_are_printed_beside_today_s(steelyard: Run, archive: Path, tmp_path: Path) -> None:
    answer = steelyard(
        "run", str(_short(tmp_path)), "--systems", "untraced", "strace", "perf-stat", "--format", "json"
    )
    assert answer.returncode == 0, answer.stderr
    evaluation = evaluate.of(archives.find(archive, None))
    first, second, third = (figure_tables.table_of(evaluation, table) for table in STUDY.figure_tables)

    assert _column(first, "strace (paper)") == {
        "user time": "7.5594 s",
        "system time": "22.3054 s",
        "user added, of its own": "41.67 %",
        "system added, of its own": "39.73 %",
        "user added, of untraced": "71.43 %",
        "system added, of untraced": "65.92 %",
    }
    assert _column(first, "untraced")["user added, of untraced"] == NOTHING
    assert {"untraced", "strace"} <= set(first.headings)
    assert second.headings == ("", "panalyser (paper)", "atsar (paper)")
    assert third.headings == ("", "panalyser (paper)", "strace (paper)", "strace")
    assert [int(text.replace(",", "")) for text in _column(third, "strace").values()] == [
        *(calls // 1000 if name in SCALED else calls for name, calls in PAPER.items()),
        sum(calls // 1000 if name in SCALED else calls for name, calls in PAPER.items()) + 2,
    ]
    assert [int(text.replace(",", "")) for text in list(_column(third, "strace (paper)").values())[:-1]] == [
        *PAPER.values()
    ]
    told = json.loads(answer.stdout)
    assert [(one["status"], one["reason"]) for one in told["troubles"] if one["system"] == "perf-stat"] == [
        ("unsupported", "there is no 'no-such-perf' to start it under")
    ] * 2
    assert {
        one["value"]["value"]
        for one in told["tallies"]
        if (one["system"], one["what"]) == ("strace", "own calls of getrusage")
    } == {42.0}

    estimates = tuple(
        replace(one, what=one.what.replace("calls of", "estimated calls of")) for one in evaluation.tallies
    )
    about = figure_tables.table_of(replace(evaluation, tallies=estimates), STUDY.figure_tables[2])
    assert _column(about, "strace")["read"] == "about 1,082"
