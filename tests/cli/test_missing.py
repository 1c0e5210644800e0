"""Where something is missing that a machine otherwise has, a command does without, or says one sentence that
names it; and no figure takes its place."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import each_command
import named_places
import pytest
import taken_away
from installed_command import COMMAND, Run
from patience import patience
from taken_away import ABSENT, EMPTY, ODD, UNREADABLE, WAYS

from steelyard.programs import built

# Each is taken away once in every run of the tests: what these commands need, or show.
ALWAYS = [
    ("/proc", ABSENT, "list"),
    ("/proc", UNREADABLE, "watch"),
    ("/proc/self/fd", EMPTY, "report"),
    ("/proc/meminfo", ABSENT, "doctor"),
    ("/proc/stat", ODD, "run"),
    ("/proc/self/cgroup", UNREADABLE, "report"),
    ("/sys", UNREADABLE, "run"),
    ("/dev", UNREADABLE, "list"),
    ("/dev/null", ABSENT, "run"),
    ("/proc/self/task/self/children", ODD, "run"),
]
_OF_GUESTS = ("/dev/root", "/dev/ttyS0", "/dev/ubdb", "/dev/vda", "/dev/vdb", "/tmp/steelyard-load")
_OWN = ("/tmp",)  # the test's own files are there


def here() -> list[str]:
    """What of the table this machine has and can be taken away: of several that are alike, one."""
    found = []
    for pattern in (one for row in named_places.table() for one in row.paths):
        if pattern in _OF_GUESTS or pattern in _OWN:
            continue
        if pattern.startswith("/proc/net/"):  # which is another file each time that it is looked up
            pattern = "/proc/self/net"
        path = pattern.replace("/proc/*/", "/proc/self/").replace("/task/*/", "/task/self/")
        if "*" in path:
            folder, _, rest = path.partition("/*")
            inside = sorted(Path(folder).glob(f"*{rest}")) if Path(folder).is_dir() else []
            path = str(inside[0]) if inside else ""
        if path and os.path.exists(taken_away.own(path)) and not os.path.islink(taken_away.own(path)):
            found.append(path)
    return sorted({*found})


def all_of_them() -> list[tuple[str, str, str]]:
    ways = {path: (EMPTY, UNREADABLE) if os.path.isdir(taken_away.own(path)) else WAYS for path in here()}
    return [(path, how, command) for path in ways for how in ways[path] for command in each_command.LINES]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return each_command.study_in(tmp_path_factory.mktemp("missing"))


def is_told(path: str, said: str) -> bool:
    """Whether the last line is a sentence that names it, or the directory that it is in."""
    *_, last = said.splitlines() or [""]
    return last.startswith("steelyard") and any(
        str(one) in last for one in (path, *Path(path).parents) if str(one) != "/"
    )


@pytest.mark.root
@pytest.mark.program
@pytest.mark.parametrize(
    "most",
    [5, pytest.param(10_000, marks=[pytest.mark.long, pytest.mark.limit(7200)])],
    ids=["some", "all"],
)
def test_without_any_of_its_places_each_command_does_without_or_names_it(
    most: int, steelyard: Run, study: Path, tmp_path: Path
) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print(f"drawn with seed {seed}")
    every = all_of_them()
    drawn = random.Random(seed).sample(every, min(most, len(every)))
    wrong = []
    for path, how, command in [*ALWAYS, *drawn]:
        words = [word.format(study=study) for word in each_command.LINES[command]]
        done = steelyard(
            *words,
            without=[(path, how)],
            TMPDIR=str(tmp_path),
            STEELYARD_ARCHIVE=str(study.parent / "archive"),
        )
        is_well = done.returncode == 0 or (done.returncode in (1, 2, 77) and is_told(path, done.stderr))
        if "Traceback" in done.stderr or not is_well:
            wrong.append((path, how, command, done.returncode, done.stderr[-500:]))
            print(wrong[-1], flush=True)
    assert len(every) > 500
    assert wrong == []


# What the load program itself needs of its own process's files, by which it is started here.
@pytest.mark.root
@pytest.mark.program
@pytest.mark.parametrize("how", [ABSENT, UNREADABLE, ODD])
@pytest.mark.parametrize("name", ["cgroup", "mountinfo", "fd", "io", "oom_score_adj", "status"])
def test_the_load_program_describes_a_machine_without_its_own_files(name: str, how: str) -> None:
    taken = [sys.executable, taken_away.__file__, how, f"/proc/self/{name}"]
    done = subprocess.run(
        [*taken, built.load("glibc"), "describe"], capture_output=True, check=False, timeout=patience(60)
    )

    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["memory_bytes"] > 1 << 20
    if name == "mountinfo":
        assert (facts["file_system"], facts["device"]) == (None, None)


@pytest.mark.root
@pytest.mark.program
@pytest.mark.parametrize("how", WAYS)
def test_a_size_that_the_kernel_does_not_tell_is_null_and_no_number(how: str) -> None:
    taken = [sys.executable, taken_away.__file__, how, "/proc/meminfo"]
    done = subprocess.run([*taken, built.load("glibc"), "describe"], capture_output=True, check=True)

    facts = json.loads(done.stdout)
    assert (facts["memory_bytes"], facts["swap_bytes"]) == (None, None)


@pytest.mark.root
@pytest.mark.program
def test_doctor_does_not_take_silence_for_quiet(steelyard: Run) -> None:
    gone = [
        "/proc/stat",
        "/proc/meminfo",
        "/proc/pressure/cpu",
        "/proc/loadavg",
        "/proc/self/net",
        "/sys/fs/cgroup",
    ]
    there = [(path, EMPTY) for path in gone if os.path.exists(path)]
    done = steelyard("doctor", "--no-start", "--format", "json", without=there)

    unknown = {row["name"]: row["says"] for row in json.loads(done.stdout) if "unknown: " in row["says"]}
    assert {"memory", "other work", "other laboratory", "limits"} <= unknown.keys()
    assert all(
        any(path in says for path in (*gone, "/proc/net/unix", "/proc/self/cgroup"))
        for says in unknown.values()
    )
    assert not [row for row in json.loads(done.stdout) if row["good"] and row["name"] in unknown]


@pytest.mark.root
@pytest.mark.program
def test_a_report_says_that_the_use_of_the_processors_is_unknown(steelyard: Run, study: Path) -> None:
    done = steelyard("run", str(study), "--no-watch", without=[("/proc/stat", ABSENT)])

    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "what other work used, and the host stole, is unknown: the kernel does not tell" in said


@pytest.mark.root
@pytest.mark.program
def test_a_ledger_is_left_alone_where_no_one_knows_its_boot(steelyard: Run, tmp_path: Path) -> None:
    boot = "/proc/sys/kernel/random/boot_id"
    ledger = tmp_path / "1-a.ledger"
    ledger.write_text(f"boot\t{Path(boot).read_text()}")
    taken = [sys.executable, taken_away.__file__, UNREADABLE, boot]
    with open(ledger, "r+b") as file:
        done = subprocess.run(
            [*taken, built.load("glibc"), "ledger", "read", str(file.fileno())],
            pass_fds=[file.fileno()], capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert boot in done.stderr


@pytest.mark.root
@pytest.mark.program
@pytest.mark.parametrize("redirection", ["<&-", "2>&-", ">&-"])
def test_a_closed_stream_needs_no_dev_null(redirection: str, tmp_path: Path) -> None:
    taken = [sys.executable, taken_away.__file__, ABSENT, "/dev/null"]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", *taken, COMMAND, "list", "studies"],
        env=os.environ | {"TMPDIR": str(tmp_path)}, stdin=subprocess.PIPE, capture_output=True, check=False,
        timeout=patience(60),
    )  # fmt: skip
    assert b"Traceback" not in done.stderr
    assert done.returncode == (1 if redirection == ">&-" else 0), done.stderr
