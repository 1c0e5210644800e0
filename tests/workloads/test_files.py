"""Work on files: the data are where `cache` says, or the trial says that they are not; calls are those that
a phase claims; and what is not the trial's own stays as it was."""

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import places
import pytest
from installed_command import COMMAND

from steelyard import systems
from steelyard.programs import built
from steelyard.study import study_file
from steelyard.systems.agent import Agent

SMALL = ("size=262144", "block=4096", "batches=1", "warmup_ns=0")
STORAGE = [one for one in built.catalogue().workloads if one.group == "storage"]
READERS = ["file_sequential_read", "file_random_read", "file_queue_read", "file_character_read"]

pytestmark = pytest.mark.program


@pytest.fixture
def disk() -> Iterator[Path]:
    """A directory on a file system that has a device, where its name has a space."""
    path = places.ROOT / "build" / f"disk {os.getpid()}"
    path.mkdir()
    yield path
    shutil.rmtree(path)


def perform(
    place: Path, workload: str, *settings: str, under: tuple[str, ...] = (), **options: object
) -> list[dict]:
    """The records of one trial, whose files are below that directory."""
    command = [*under, str(built.load("glibc")), "run", workload, *settings]
    answer = subprocess.run(
        command, stdout=subprocess.PIPE, env=os.environ | {"TMPDIR": str(place)}, check=False, **options
    )
    return [json.loads(line) for line in answer.stdout.splitlines()]


def figures(records: list[dict]) -> dict[str, int]:
    """What the trial reported itself, by metric."""
    assert records[-1]["status"] == "ok", records[-1]
    return {
        one["metric"]: one["durations_ns"][0]
        for one in records
        if one["record"] == "samples" and one["metric"] not in ("time", "bandwidth")
    }


GET_FLAGS, SET_FLAGS, TOP_DIRECTORY = 0x80086601, 0x40086602, 0x20000  # FS_IOC_GETFLAGS and its kin


def flags(directory: Path, *, more: int = 0) -> int:
    """What lsattr says of it, after these have been set. Raises OSError where the file system has none."""
    file = os.open(directory, os.O_RDONLY)
    try:
        known = int.from_bytes(fcntl.ioctl(file, GET_FLAGS, bytes(8)), sys.byteorder)
        if more:
            fcntl.ioctl(file, SET_FLAGS, (known | more).to_bytes(8, sys.byteorder))
        return known | more
    finally:
        os.close(file)


def test_what_trials_make_is_laid_apart_in_our_own_directories_alone(disk: Path) -> None:
    """ext2 to ext4 give each directory in one with that flag a group of its own: else a trial meets the
    numbers of the files that others removed just before."""
    tried = disk / "tried"
    tried.mkdir()
    try:
        flags(tried, more=TOP_DIRECTORY)
    except OSError as error:
        pytest.skip(f"no flags on the file system of {disk}: {error.strerror}")
    before = flags(disk)

    with Agent(systems.find("native"), directory=disk) as agent:
        (scratch,) = (one for one in disk.iterdir() if one != tried)
        assert flags(scratch) & TOP_DIRECTORY
        assert agent.ask("trial 1 syscall batches=1", "end")["status"] == "ok"
    by_hand = [built.load("glibc"), "agent", disk]
    subprocess.run(by_hand, input=b"quit\n", stdout=subprocess.PIPE, check=True)
    assert flags(disk) == before
    with subprocess.Popen(
        [built.load("glibc"), "agent"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"TMPDIR": str(disk)},
    ) as below:
        assert below.stdin
        assert below.stdout
        below.stdout.readline()  # it greets
        (own,) = (one for one in disk.iterdir() if one != tried)
        assert flags(own) & TOP_DIRECTORY
        below.stdin.close()
    assert flags(disk) == before


@pytest.mark.parametrize("workload", READERS)
def test_cold_data_come_from_the_device_and_warm_ones_do_not(workload: str, disk: Path) -> None:
    warm, cold = (figures(perform(disk, workload, *SMALL, f"cache={cache}")) for cache in ("warm", "cold"))

    assert (warm["resident"], cold["resident"]) == (262144, 0)
    assert cold["device_read"] >= 4096 * 0.99
    if workload != "file_character_read":  # others may read from the device meanwhile, but hardly so much
        assert warm["device_read"] < 4096


def test_direct_data_pass_the_cache_by(disk: Path) -> None:
    found = figures(perform(disk, "file_random_read", *SMALL, "cache=direct", "seekers=4"))

    assert found["resident"] == 0
    assert found["device_read"] >= 4096


@pytest.mark.parametrize(
    "workload", ["file_sequential_write", "file_rewrite", "file_random_write", "file_mapped_write"]
)
def test_what_is_written_reaches_the_device_before_the_batch_ends(workload: str, disk: Path) -> None:
    found = figures(perform(disk, workload, *SMALL))

    assert found["device_written"] >= 4096


def test_data_that_cannot_be_dropped_are_not_called_cold(tmp_path: Path) -> None:
    """Somebody holds the pages in memory: the trial would measure the cache."""
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("there is no tmpfs at /dev/shm")

    end = perform(Path("/dev/shm"), "file_sequential_read", *SMALL, "cache=cold")[-1]

    assert (end["status"], end["reason"]) == (
        "unsupported",
        "the file system of the directory keeps its files in memory",
    )


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (["cache=luke%20warm"], "cache is 'luke warm', and must be warm, cold, direct or limited"),
        (["size=5000"], "size is not a multiple of block"),
        (["cache=cold", "operations=9000"], "a batch of 9000 operations is more than the 64 blocks"),
    ],
)
def test_what_cannot_be_meant_is_said(settings: list[str], reason: str, disk: Path) -> None:
    end = perform(disk, "file_random_read", *SMALL, *settings)[-1]

    assert end["status"] == "failed"
    assert end["reason"].startswith(reason)


def test_a_limit_that_is_none_is_unsupported(disk: Path) -> None:
    end = perform(disk, "file_sequential_read", *SMALL, "cache=limited")[-1]

    assert end["status"] == "unsupported"
    assert end["reason"].startswith("the file is not twice as large as this system's memory")


def test_a_new_file_cannot_be_cold(disk: Path) -> None:
    assert perform(disk, "file_sequential_write", *SMALL, "cache=cold")[-1]["status"] == "failed"


@pytest.mark.parametrize("method", ["fsync", "fdatasync", "dsync", "msync"])
@pytest.mark.strace
def test_each_commit_is_brought_to_the_device_by_the_call_that_is_named(
    method: str, disk: Path, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    under = ("strace", "-f", "-qq", "-e", "trace=pwrite64,fsync,fdatasync,openat", "-o", str(trace))
    settings = ("size=262144", "block=4096", "batches=1", "warmup_ns=0", "operations=17", f"method={method}")
    end = perform(disk, "file_commit", *settings, under=under)[-1]
    if method == "msync":
        assert (end["status"], end["reason"]) == (
            "failed",
            "method is 'msync', and must be fsync, fdatasync or dsync",
        )
        return
    text = trace.read_text()
    made = Counter(re.findall(r"^\d+ +(\w+)\(", text, re.MULTILINE))

    assert made["pwrite64"] == 17
    if method == "dsync":
        assert "O_RDWR|O_DSYNC" in text
    else:
        # The file is also synced when it has been made, and before each batch.
        assert made[method] - (2 if method == "fsync" else 0) in (17, 18)


@pytest.mark.parametrize("workload", [one.name for one in STORAGE])
def test_a_trial_writes_nothing_but_its_own_and_leaves_nothing(workload: str, disk: Path) -> None:
    """Of copies that share a directory, too; one of which is there before."""
    kept = disk / "kept by somebody"
    kept.write_text("kept")
    names = {one.name for one in built.catalogue().find(workload).parameters}
    settings = [
        f"{name}={few}" for name, few in (("size", 65536), ("files", 20), ("shared", 1)) if name in names
    ]
    if workload == "directory_list":
        settings.append("operations=2")

    end = perform(disk, workload, *settings, "copies=2", "batches=2", "warmup_ns=0")[-1]

    assert end["status"] == "ok" or (workload == "fio" and end["status"] == "unsupported"), end
    assert [path.name for path in disk.iterdir()] == ["kept by somebody"]
    assert kept.read_text() == "kept"


@pytest.mark.parametrize("workload", ["file_sequential_read", "directory_create", "file_copy"])
def test_a_disk_without_room_fails_the_trial_with_a_sentence(workload: str, tmp_path: Path) -> None:
    """A file system of its own, in a mount namespace of its own; needs a user namespace or root."""
    size = "size=64k" if workload != "directory_create" else "size=64k,nr_inodes=12"
    script = (
        'mount -t tmpfs -o "$1" tmpfs "$2" && shift 2 && exec "$@"',
        "sh",
        size,
        str(tmp_path),
    )
    settings = ("size=262144", "block=4096") if workload != "directory_create" else ("files=40",)
    under = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", *script)

    records = perform(tmp_path, workload, *settings, "batches=1", under=under)
    if not records:
        pytest.skip("no mount namespace of one's own is available")

    assert records[-1]["status"] == "failed"
    assert records[-1]["reason"].endswith("No space left on device")


@pytest.mark.parametrize("study", ["files", "korunic-files"])
def test_its_study_asks_for_what_the_workloads_have(study: str) -> None:
    """And draws figures of workloads and metrics that there are."""
    found = study_file.read(study)
    catalogue = built.catalogue()

    for figure in found.figures:
        for name in figure.workloads:
            assert figure.metric in [metric.name for metric in catalogue.find(name).metrics]


@pytest.mark.limit(300)
def test_a_directory_that_is_named_is_left_as_it_was(disk: Path, tmp_path: Path) -> None:
    """And a study runs there, under a name with a space, from the first trial to the verdict."""
    (disk / "mine").write_text("mine")
    study = tmp_path / "small.toml"
    study.write_text(
        'name = "small"\ntitle = "Small"\nsystems = ["native", "native-musl"]\n[design]\nblocks = 2\n'
        '[[workload]]\nname = "file_random_read"\nsize = 262144\nblock = 4096\ncache = ["warm", "cold"]\n'
    )
    command = [
        str(COMMAND),
        "run",
        str(study),
        "--directory",
        str(disk),
        "--archive",
        str(tmp_path / "archive"),
    ]

    answer = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, check=False)

    assert answer.returncode == 0, answer.stderr
    told = json.loads(answer.stdout)
    assert {one["metric"] for one in told["comparisons"]} >= {"bandwidth", "latency_50"}
    assert "resident" not in {one["metric"] for one in told["comparisons"]}  # it is told, and not judged
    assert [path.name for path in disk.iterdir()] == ["mine"]
    assert (disk / "mine").read_text() == "mine"
