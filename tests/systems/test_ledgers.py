"""What the next command does for a killed run: what its ledger says, where it fits, and nothing else.

The setting that is changed here is of System V objects, and so of the namespace that this process has.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import surroundings
from installed_command import Run

from steelyard.errors import SteelyardError, Unsupported
from steelyard.study.model import Tuning
from steelyard.systems import groups, ledger, scratch, tuning

pytestmark = [pytest.mark.root, pytest.mark.program]

SETTING = Path("/proc/sys/kernel/msgmax")
BOOT = Path("/proc/sys/kernel/random/boot_id").read_text().strip()


@pytest.fixture(autouse=True)
def before() -> Iterator[str]:
    """The setting's value, which it has again afterwards."""
    if refused := surroundings.refusal():
        pytest.skip(f"the setting would be the machine's: {refused}")
    value = SETTING.read_text().strip()
    ledger.directory().mkdir(mode=0o700, parents=True, exist_ok=True)
    yield value
    SETTING.write_text(value)
    for one in ledger.directory().glob("*.ledger"):
        one.unlink()


def write(*lines: str, boot: str = BOOT, end: str = "\n") -> Path:
    """A ledger that a killed run has left."""
    path = ledger.directory() / "test.ledger"
    path.write_text("\n".join([f"boot\t{boot}", *lines]) + end)
    return path


def test_a_value_is_put_back(before: str) -> None:
    SETTING.write_text("4711")
    left = write(f"set\t{SETTING}\t{before}")

    restored = ledger.put_back_leftovers()

    assert restored.done == [f"{SETTING} is restored to '{before}', its value before a killed run"]
    assert restored.left == []
    assert SETTING.read_text().strip() == before
    assert not left.exists()


@pytest.mark.parametrize("how", [{"boot": "0" * 8}, {"end": ""}], ids=["earlier boot", "cut short"])
def test_of_an_earlier_boot_and_of_a_line_cut_short_nothing_is_put_back(how: dict[str, str]) -> None:
    SETTING.write_text("4711")
    left = write(f"set\t{SETTING}\t8192", **how)

    assert ledger.put_back_leftovers() == ledger.Restored([], [])
    assert SETTING.read_text() == "4711\n"
    assert not left.exists()


HOSTILE = [
    *("scratch\t", "scratch\t/", "scratch\t/tmp", "scratch\t{tmp}", "scratch\t{tmp}/../steelyard-1-abcdefgh"),
    *("scratch\tsteelyard-1-abcdefgh", "scratch\t/steelyard-1-abcdefgh/.", "scratch"),
    *("group\t/", "group\t{tmp}", "group\t{tmp}/steelyard-1-1-abcdef01", "group\t/sys/fs/cgroup"),
    *("groups\t{tmp}", "groups\t{tmp}/steelyard-1-abcdefgh", "groups\t/sys/fs/cgroup/.."),
    *("undo\trm\t{tmp}/precious", "undo\tsh\t-c\trm {tmp}/precious", "undo\t", "undo"),
    *("undo\tpodman\trm\t--force\t--ignore\t--time=0\tweb", "undo\tpodman\tsystem\treset"),
    *(
        "set\t{tmp}/precious\told",
        "set\t/proc/sys/../../{tmp}/precious\told",
        "set\t/proc/1/oom_score_adj\t1",
    ),
    *("set\t/sys/power/state\tmem", "set\t/proc/sys/kernel\t1", "set\t\t", "set"),
    *("mark\t", "mark\tshort", "mark\t" + "0" * 31 + "=", "nice\t;", "processors\t0,", "precious\t{tmp}", ""),
]


@pytest.mark.parametrize("line", HOSTILE)
def test_what_no_run_writes_is_said_and_left_and_harms_nobody(
    line: str, tmp_path: Path, steelyard: Run
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("new")
    inner = tmp_path / "steelyard-1-abcdefgh"
    inner.mkdir()
    line = line.format(tmp=tmp_path)
    left = write(line)
    with subprocess.Popen(["sleep", "60"], cwd=inner) as bystander:
        restored = ledger.put_back_leftovers()
        answer = steelyard("list", "studies")
        alive = bystander.poll() is None
        bystander.kill()

    assert alive
    assert precious.read_text() == "new"
    assert inner.is_dir()
    assert restored.done == []
    assert len(restored.left) == 1
    assert line.replace("\t", " ")[:20] in restored.left[0]
    assert f"steelyard: {restored.left[0]}" in answer.stderr.splitlines()
    assert answer.returncode == 0
    assert left.read_text().splitlines()[-1] == line


def test_what_cannot_be_put_back_is_said_and_blocks_only_what_tunes(steelyard: Run, tmp_path: Path) -> None:
    left = write("set\t/proc/sys/vm/no_such_setting\told")

    answer = steelyard("list", "studies")

    assert answer.returncode == 0
    assert "/proc/sys/vm/no_such_setting was changed by a killed run, and cannot be restored" in answer.stderr
    assert left.exists()
    place = scratch.make(tmp_path)
    with pytest.raises(
        SteelyardError, match=r"no_such_setting was changed .* this machine is not tuned before"
    ):
        tuning.Tuned("x", Tuning(sysctl=(("kernel.msgmax", "4711"),)), place)
    place.close()
    os.close(ledger.lock_machine())  # nobody has it


TUNES = """
import sys, time
from pathlib import Path
from steelyard.study.model import Tuning
from steelyard.systems import scratch, tuning
place = scratch.make(Path(sys.argv[1]))
tuned = tuning.Tuned("x", Tuning(sysctl=(("kernel.msgmax", sys.argv[2]),)), place)
print("set", flush=True)
if sys.stdin.readline():
    tuned.close()
    place.close()
"""


def tuning_process(tmp_path: Path, value: str) -> "subprocess.Popen[str]":
    words = [sys.executable, "-c", TUNES, str(tmp_path), value]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_a_run_that_waits_for_the_machine_does_not_take_a_killed_ones_value_for_its_own(
    before: str, tmp_path: Path
) -> None:
    with tuning_process(tmp_path, "4711") as first:
        assert first.stdout
        assert first.stdout.readline() == "set\n"
        with tuning_process(tmp_path, "4712") as second:
            assert second.stdout
            time.sleep(1)  # it waits by now, or finds the first one's ledger when it begins: both must do
            first.kill()
            assert second.stdout.readline() == "set\n"
            assert SETTING.read_text() == "4712\n"
            second.communicate("end\n")

    assert second.returncode == 0
    assert SETTING.read_text().strip() == before
    assert [*ledger.directory().glob("*.ledger")] == []


def test_a_control_group_that_another_has_made_is_none_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = Tuning(processes=100)
    try:
        (group,) = groups.of(limited)
    except Unsupported as error:
        pytest.skip(str(error))
    monkeypatch.setattr(groups, "of", lambda _: (group,))
    place = scratch.make(tmp_path)
    group.path.mkdir()
    member = subprocess.Popen(["sleep", "60"])
    try:
        (group.path / "cgroup.procs").write_text(str(member.pid))
        with pytest.raises(Unsupported, match="exists already"):
            tuning.Tuned("x", limited, place)
        assert ledger.put_back_leftovers() == ledger.Restored([], [])
        assert member.poll() is None
    finally:
        member.kill()
        member.wait()
        group.path.rmdir()
        place.close()


def test_all_that_fits_is_undone_and_its_processes_are_named(before: str, tmp_path: Path) -> None:
    """A group with a process in it, a container engine's record with its tree of groups, and a directory."""
    place = scratch.make(tmp_path)
    os.close(place.file)  # its laboratory is killed
    mount = next((one for one in groups.mounts() if os.access(one, os.W_OK)), None)
    if mount is None:
        pytest.skip("no control group can be made here")
    group, tree = mount / f"steelyard-{os.getpid()}-1-0123abcd", mount / place.path.name
    group.mkdir()
    (tree / "of/groups").mkdir(parents=True)
    engine = tmp_path / "podman"
    engine.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/told\n')
    engine.chmod(0o755)
    member = subprocess.Popen(["sleep", "60"])
    try:
        (group / "cgroup.procs").write_text(str(member.pid))
        SETTING.write_text("4711")
        removal = f"podman\trm\t--force\t--ignore\t--time=0\t{place.path.name}"
        lines = [f"scratch\t{place.path}", f"mark\t{place.mark}", f"group\t{group}", f"groups\t{tree}"]
        write(*lines, f"undo\t{removal}", f"set\t{SETTING}\t{before}")
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
            restored = ledger.put_back_leftovers()
        assert member.wait() == -signal.SIGKILL
    finally:
        member.kill()
        for left in (group, tree / "of/groups", tree / "of", tree):
            if left.exists():
                left.rmdir()

    assert restored.left == []
    assert restored.done[0] == f"ended 1 process left by an interrupted run: {member.pid} (sleep)"
    assert f"{SETTING} is restored to '{before}', its value before a killed run" in restored.done
    assert (tmp_path / "told").read_text() == removal.replace("\t", " ").removeprefix("podman ") + "\n"
    assert not place.path.exists()
    assert not group.exists()
    assert not tree.exists()
