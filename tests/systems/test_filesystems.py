"""File systems as systems: each is made, mounted where nobody else sees it, and gone after every end."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import every_call
import pytest
import synthetic
import userland_files
from one_trial import run
from patience import patience

from steelyard import systems
from steelyard.errors import SteelyardError, StudyError, Unsupported, UsageError
from steelyard.programs import built
from steelyard.study import study_file
from steelyard.study.model import FileSystem, SystemDefinition
from steelyard.systems import filesystem
from steelyard.systems.agent import Agent, descendants
from steelyard.systems.system import Place, System, check

pytestmark = [pytest.mark.root, pytest.mark.boots]


def definition(text: str) -> SystemDefinition:
    whole = f'name = "x"\ntitle = "x"\n[[workload]]\nname = "null"\n[system.fresh]\n{text}'
    (found,) = study_file.parse(whole, file="x.toml").definitions
    return found


def fresh(text: str) -> System:
    """A system whose files are on a file system of that description; skips where it is not available."""
    made = systems.find("fresh", [definition(text)])
    try:
        check(made)
    except Unsupported as error:
        pytest.skip(str(error))
    return made


def named(system: str) -> System:
    made = systems.find(system)
    try:
        check(made)
    except Unsupported as error:
        pytest.skip(str(error))
    return made


def inside(agent: Agent) -> Path:
    """The working directory as the system sees it."""
    return Path(f"/proc/{descendants(agent._process.pid)[0]}/root{agent._place.scratch}")


def size(agent: Agent) -> int:
    """The bytes of the file system that its working directory is on."""
    disk = os.statvfs(inside(agent))
    return disk.f_blocks * disk.f_frsize


def left(directory: Path) -> list[str]:
    """What there is of loop devices, mounts and processes that name the directory, and what is in it."""
    name, found = os.fsencode(directory), [path.name for path in directory.iterdir()]
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            found += [str(backing)] if name in backing.read_bytes() else []
        except OSError:
            continue  # it is free by now
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and entry.name != str(os.getpid()):
                found += [str(entry)] if name in (entry / "cmdline").read_bytes() else []
                mounted = os.fsencode(str(directory).replace(" ", "\\040"))
                found += [f"{entry}/mounts"] if mounted in (entry / "mountinfo").read_bytes() else []
        except OSError:
            continue
    return found


def wait_until_gone(directory: Path, limit_s: float = 15) -> None:
    deadline = time.monotonic() + patience(limit_s)
    while remains := left(directory):
        assert time.monotonic() < deadline, remains
        time.sleep(0.02)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """Where systems work: as it was afterwards. Its name has a space."""
    made = tmp_path / "a place"
    made.mkdir()
    yield made
    wait_until_gone(made)


KINDS = [one.name.removeprefix("native-") for one in filesystem.NATIVE]


@pytest.mark.parametrize("kind", KINDS)
def test_files_are_on_it_only_in_the_system(kind: str, place: Path) -> None:
    mounts = Path("/proc/self/mountinfo").read_text()
    with Agent(named(f"native-{kind}"), directory=place) as agent:
        told = agent.fingerprint
        assert told["file_system"] == kind
        assert told["file_system_made"].startswith(kind)
        if kind not in filesystem.WITHOUT_DEVICE:
            assert told["device"].startswith("loop, ")
            assert told["device_scheduler"]
            assert told["device_write_cache"] in ("write back", "write through")
        assert run(agent, "trial 1 file_create size=4096 batches=1 operations=10")[-1]["status"] == "ok"
        assert list(inside(agent).glob("*")) == []
        assert Path("/proc/self/mountinfo").read_text() == mounts
        agent.park()
        agent.resume()
        assert run(agent, "trial 2 file_write batches=1 operations=1")[-1]["status"] == "ok"


def test_every_workload_runs_there_or_says_why_not(place: Path) -> None:
    with Agent(named("native-xfs"), directory=place) as agent:
        for workload in built.catalogue().workloads:
            end = run(agent, synthetic.quick(workload))[-1]
            assert end["status"] in ("ok", "unsupported"), (workload.name, end)


def test_each_start_makes_it_again(place: Path) -> None:
    system = fresh('base = "native"\nfilesystem = "ext4"\nsize = "16MiB"')
    assert system.boot
    for _ in range(2):
        with Agent(system, directory=place) as agent:
            assert not (inside(agent) / "file").exists()
            (inside(agent) / "file").write_text("x")


def test_options_of_mkfs_and_mount_are_used_and_told(place: Path) -> None:
    system = fresh(
        'base = "native"\nfilesystem = "ext4"\nsize = "64MiB"\nmkfs = ["-b", "1024"]\n'
        'mount_options = "noatime,data=journal"'
    )
    with Agent(system, directory=place) as agent:
        assert os.statvfs(inside(agent)).f_frsize == 1024
        assert {"noatime", "data=journal"} <= set(agent.fingerprint["file_system_options"].split(","))
        assert "-b 1024, mounted with noatime,data=journal" in agent.fingerprint["file_system_made"]


def on_btrfs(scratch: Path, workload: str, *before: str) -> list[dict]:
    """The records of one trial, of 4 MiB, whose files are on a fresh one; made ready by these words."""
    scratch.mkdir()
    command = named("native-btrfs").command(Place(built.load("glibc"), scratch))
    trial = [built.load("glibc"), "run", workload, "size=4194304", "block=65536", "batches=1"]
    answer = subprocess.run(
        [*command[: command.index("--") + 1], *before, *trial],
        stdout=subprocess.PIPE,
        env=os.environ | {"TMPDIR": str(scratch), "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"},
        check=False,
    )
    return [json.loads(line) for line in answer.stdout.splitlines()]


@pytest.mark.parametrize("workload", ["file_sequential_read", "file_sequential_write"])
def test_a_quota_that_is_used_up_in_the_middle_is_named(workload: str, tmp_path: Path) -> None:
    quota = 'btrfs quota enable "$0" && btrfs qgroup limit 1M 0/5 "$0" && exec "$@"'
    scratch = tmp_path / "scratch"
    end = on_btrfs(scratch, workload, "sh", "-c", quota, str(scratch))[-1]

    assert end["status"] == "failed"
    assert "quota" in end["reason"]


def test_a_device_is_counted_below_a_name_with_a_space(tmp_path: Path) -> None:
    """Of btrfs, whose files have a device number of their own, only the mount's line tells the device."""
    records = on_btrfs(tmp_path / "a disk", "file_sequential_write")
    (written,) = [one for one in records if one.get("metric") == "device_written" and "durations_ns" in one]

    assert written["durations_ns"][0] >= 65536


def test_an_aged_one_holds_the_same_old_files_at_each_start(place: Path) -> None:
    system = fresh('base = "native"\nfilesystem = "ext4"\nsize = "64MiB"\naged = 2')
    used = []
    for _ in range(2):
        with Agent(system, directory=place) as agent:
            disk = os.statvfs(inside(agent))
            used.append((disk.f_blocks - disk.f_bfree, disk.f_files - disk.f_ffree))
            assert list(inside(agent).iterdir()) == []  # out of a trial's sight
            share = (disk.f_blocks - disk.f_bfree) / disk.f_blocks
    assert 0.2 < share < 0.5
    assert used[0][1] == used[1][1] > 100
    assert used[0][0] == pytest.approx(used[1][0], rel=0.01)


@pytest.mark.parametrize("base", ["native-musl", *userland_files.KINDS])
def test_other_systems_have_their_files_on_it_too(base: str, place: Path, root: Path) -> None:
    where = "" if base == "native-musl" else f'root = "{root}"\n'
    with Agent(
        fresh(f'base = "{base}"\n{where}filesystem = "xfs"\nsize = "320MiB"'), directory=place
    ) as agent:
        assert agent.fingerprint["file_system"] == "xfs"
        assert run(agent, "trial 1 file_create batches=1 operations=10")[-1]["status"] == "ok"


@pytest.mark.gvisor
def test_gvisor_passes_its_files_on_to_it(place: Path) -> None:
    with Agent(fresh('base = "gvisor"\nfilesystem = "ext4"\nsize = "64MiB"'), directory=place) as agent:
        assert 32 << 20 < size(agent) < 64 << 20
        assert run(agent, "trial 1 file_create batches=1 operations=10")[-1]["status"] == "ok"


@pytest.mark.uml
def test_so_does_user_mode_linux(tmp_path: Path) -> None:
    with Agent(fresh('base = "uml"\nfilesystem = "ext4"\nsize = "64MiB"'), directory=tmp_path) as agent:
        assert 32 << 20 < size(agent) < 64 << 20
        assert run(agent, "trial 1 file_create batches=1 operations=10")[-1]["status"] == "ok"
    wait_until_gone(tmp_path)


# What ends before it is done


@pytest.mark.parametrize(("more", "every"), [([], 1), (["aged=1"], 83)])
def test_wherever_its_making_is_killed_nothing_is_left(more: list[str], every: int, place: Path) -> None:
    """Killed at each of its system calls: while it makes, attaches, mounts, copies and moves."""
    named("native-ext4")
    program, work = str(built.load("glibc")), place / "work"
    words = [program, "filesystem", str(work), "type=ext4", "size=8388608", f"images={place}", *more]
    words += [f"make={word}" for word in ("mkfs.ext4", "-q", "-F")]

    def begin() -> int:
        os.execve(program, [*words, "--", program, "exit"], {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})

    ends, at = [], 1
    while 0 not in ends:
        work.mkdir()
        (work / "prepared").touch()
        ends.append(every_call.killed(begin, killed_at=at))
        shutil.rmtree(work)  # as the guard does
        wait_until_gone(place)
        at += every
    assert set(ends) == {-signal.SIGKILL, 0}
    assert at > 60


@pytest.mark.parametrize("killed", ["laboratory", "laboratory and guard"])
def test_when_the_laboratory_is_killed_nothing_is_left(killed: str, place: Path) -> None:
    named("native-ext4")
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom steelyard import systems\n"
        "from steelyard.systems.agent import Agent\n"
        "agent = Agent(systems.find('native-ext4'), directory=Path(sys.argv[1]))\n"
        "agent.park()\nprint(agent._process.pid, flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(place)], stdout=subprocess.PIPE, text=True
    ) as laboratory:
        assert laboratory.stdout is not None
        guard = int(laboratory.stdout.readline())
        assert left(place) != []
        if "guard" in killed:
            os.kill(laboratory.pid, signal.SIGSTOP)
            os.kill(guard, signal.SIGKILL)
        laboratory.kill()
    if "guard" in killed:
        deadline = time.monotonic() + patience(20)  # the kernel takes down what its processes held
        while left(place) and time.monotonic() < deadline:
            systems.scratch.clear(place)
            time.sleep(0.05)


# Devices that a user names


@contextmanager
def device(tmp_path: Path) -> Iterator[str]:
    """A block device that is nobody's: a loop device of the test's own."""
    image = tmp_path / "image"
    image.write_bytes(b"")
    os.truncate(image, 320 << 20)  # of holes; xfs takes no less than 300 MB
    answer = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True)
    if answer.returncode:
        pytest.skip(f"no loop device: {answer.stderr.strip()}")
    try:
        yield answer.stdout.strip()
    finally:
        subprocess.run(["losetup", "--detach", answer.stdout.strip()], check=True)


# Writes a partition table of one partition: its type, its first sector, how many; and the signature.
PARTITION = """
import struct, sys
with open(sys.argv[1], "r+b") as device:
    device.seek(446)
    device.write(struct.pack("<B3sB3sII", 0, bytes(3), 0x83, bytes(3), 2048, 10000))
    device.seek(510)
    device.write(bytes([0x55, 0xAA]))
"""


def on(path: str) -> str:
    return f'base = "native"\nfilesystem = "ext4"\ndevice = "{path}"'


def test_a_device_that_holds_nothing_is_used_and_used_again(place: Path, tmp_path: Path) -> None:
    with device(tmp_path) as path:
        for _ in range(2):
            with Agent(fresh(on(path)), directory=place) as agent:
                assert agent.fingerprint["file_system"] == "ext4"
                assert 256 << 20 < size(agent) < 320 << 20
        assert path not in Path("/proc/self/mounts").read_text()


@pytest.mark.parametrize(
    ("making", "says"),
    [
        (["mkfs.ext4", "-q", "-F", "-L", "mine"], "but it holds 'ext4' labelled 'mine', which would be"),
        (["mkfs.xfs", "-q", "-f"], "but it holds 'xfs', which would be destroyed"),
        (["mkswap", "-q"], "but it holds 'swap', which would be destroyed"),
        ([sys.executable, "-c", PARTITION], "but it holds 'dos', which would be destroyed"),
    ],
)
def test_a_device_that_holds_anything_is_refused_and_not_touched(
    making: list[str], says: str, tmp_path: Path
) -> None:
    with device(tmp_path) as path:
        if subprocess.run([*making, path], capture_output=True, check=False).returncode:
            pytest.skip(f"{making[0]} cannot make one here")
        before = hashlib.sha256((tmp_path / "image").read_bytes()).digest()
        with pytest.raises(UsageError, match=says):
            check(systems.find("fresh", [definition(on(path))]))
        assert hashlib.sha256((tmp_path / "image").read_bytes()).digest() == before


def test_a_device_that_is_mounted_is_refused(tmp_path: Path) -> None:
    """Even if it bears the label of what was made here."""
    at = tmp_path / "mounted"
    at.mkdir()
    with device(tmp_path) as path:
        subprocess.run(["mkfs.ext4", "-q", "-F", "-L", filesystem.LABEL, path], check=True)
        subprocess.run(["mount", path, at], check=True)
        try:
            with pytest.raises(UsageError, match=f"device is '{path}', which is in use or cannot be opened"):
                check(systems.find("fresh", [definition(on(path))]))
        finally:
            subprocess.run(["umount", at], check=True)


def test_what_is_no_block_device_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="but must be a block device"):
        check(systems.find("fresh", [definition(on("/etc/passwd"))]))
    with pytest.raises(UsageError, match="No such file or directory"):
        check(systems.find("fresh", [definition(on("/dev/nonesuch"))]))


# What is missing


REFUSE = """
import sys
from pathlib import Path
from steelyard import systems
from steelyard.errors import SteelyardError
from steelyard.systems.agent import Agent
try:
    Agent(systems.find("native-xfs"), directory=Path(sys.argv[1])).close()
except SteelyardError as error:
    print(type(error).__name__, error)
"""


def refusal(place: Path, *wrapper: str) -> str:
    """What the system says when it is started so."""
    answer = subprocess.run(
        [*wrapper, sys.executable, "-c", REFUSE, str(place)],
        capture_output=True,
        text=True,
        timeout=patience(60),
    )
    assert answer.stderr == ""
    return answer.stdout


def test_without_roots_rights_it_is_refused_with_what_to_do(place: Path) -> None:
    def begin() -> int:
        os.setuid(65534)
        try:
            check(systems.find("native-xfs"))
        except Unsupported as error:
            return 0 if "mounting a file system requires root; without root, native" in str(error) else 1
        return 2

    assert every_call.killed(begin, killed_at=None) == 0


def test_root_without_the_capability_is_told_what_is_not_permitted(place: Path) -> None:
    named("native-xfs")
    said = refusal(place, "setpriv", "--bounding-set=-sys_admin")
    assert said.startswith("Unsupported system 'native-xfs' cannot start: ")
    assert "a mount namespace for" in said
    assert "Operation not permitted" in said


def in_another_view(script: str) -> list[str]:
    """Words that start a command where the script has mounted something; it ends with the command."""
    return ["unshare", "--mount", "--propagation=private", "sh", "-c", f'{script}; exec "$@"', "sh"]


def test_without_loop_devices_it_is_refused(place: Path, tmp_path: Path) -> None:
    named("native-xfs")
    (tmp_path / "dev").mkdir()
    script = f"cd {tmp_path}/dev && for one in null urandom; do touch $one; mount --bind /dev/$one $one; done"
    said = refusal(place, *in_another_view(f"{script}; mount --rbind {tmp_path}/dev /dev"))
    assert said == (
        "Unsupported system 'native-xfs' cannot start: this machine has no loop devices (/dev/loop-control)\n"
    )


def test_without_mkfs_the_package_is_named(place: Path) -> None:
    named("native-xfs")
    said = refusal(place, *in_another_view(f"mount --bind /dev/null {shutil.which('mkfs.xfs')}"))
    assert said == (
        "Unsupported system 'native-xfs' cannot start: mkfs.xfs is not installed "
        "(on Debian: apt-get install xfsprogs)\n"
    )


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('filesystem = "nonesuch"', "this kernel has no file system 'nonesuch'"),
        (
            'filesystem = "ext4"\nsize = "900000G"',
            "making an image of .* bytes in .*: No space left on device",
        ),
        ('filesystem = "ext4"\nimage_directory = "/proc"', "making a file without a name in /proc: "),
        ('filesystem = "ext4"\nimage_directory = "/nowhere"', "image_directory is '/nowhere', but must be"),
        ('filesystem = "ext4"\nmkfs = ["-O", "nonsense"]', "mkfs.ext4 failed: Invalid filesystem option set"),
        ('filesystem = "ext4"\nmount_options = "nonsense"', "mount failed: mount: .*bad option"),
        ('filesystem = "ext4"\nsize = "1MiB"\nmkfs = ["-N", "16"]\naged = 1', "aging the file system for"),
    ],
)
def test_what_cannot_be_made_is_refused_with_the_reason(more: str, says: str, place: Path) -> None:
    named("native-ext4")
    with pytest.raises(SteelyardError, match=says):
        Agent(systems.find("fresh", [definition(f'base = "native"\n{more}')]), directory=place)


def test_a_disk_that_is_full_is_refused_before_anything_is_measured(place: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4M", "tmpfs", small], check=True)
    try:
        text = f'base = "native"\nfilesystem = "ext4"\nsize = "16MiB"\nimage_directory = "{small}"'
        with pytest.raises(Unsupported, match=r"making an image of 16777216 bytes in .*: No space left"):
            Agent(fresh(text), directory=place)
        assert os.statvfs(small).f_bfree == os.statvfs(small).f_blocks
    finally:
        subprocess.run(["umount", small], check=True)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('base = "native"\nsize = "1G"', 'size is .1G., but must be left out, or with filesystem = "..."'),
        ('base = "native"\nfilesystem = "EXT 4"', "filesystem is 'EXT 4', but must be a name such as"),
        ('base = "native"\nfilesystem = "tmpfs"\nmkfs = ["-q"]', "mkfs is .*, but must be left out beside"),
        ('base = "native"\nfilesystem = "overlay"\nsize = "1G"', "size is '1G', but must be left out beside"),
        ('base = "native"\nfilesystem = "ext4"\nsize = "big"', "size is 'big', but must be a size"),
        ('base = "native"\nfilesystem = "ext4"\naged = 1000', "aged is 1000, but must be a whole number"),
        ('base = "native"\nfilesystem = "ext4"\nmount_options = "a b"', "but must be a text without spaces"),
        ('base = "native"\nfilesystem = "ext4"\nsize = "1G"\ndevice = "/dev/x"', "left out with a device"),
        (
            'base = "qemu"\nfilesystem = "ext4"',
            'filesystem is .ext4., but must be left out with base = "qemu"',
        ),
    ],
)
def test_keys_that_mean_nothing_are_refused(more: str, says: str) -> None:
    with pytest.raises(StudyError, match=says):
        definition(more)


def test_another_hosts_files_are_its_own() -> None:
    with pytest.raises(UsageError, match="runs on another host"):
        filesystem.mounted(systems.find("ssh:somewhere"), FileSystem("ext4"))


# The fingerprint


def fact_root(tmp_path: Path, mount: str, files: dict[str, str]) -> Callable[[str], str | None]:
    """What the load program says of a machine whose /proc and /sys are these."""
    for name, content in {"proc/self/mountinfo": mount, **files}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    answer = subprocess.run(
        [built.load("glibc"), "describe", "/data/x", tmp_path], capture_output=True, check=True
    )
    return json.loads(answer.stdout).get


def test_a_partition_has_its_disks_queue(tmp_path: Path) -> None:
    (tmp_path / "sys/dev/block").mkdir(parents=True)
    (tmp_path / "sys/devices/sda/sda1").mkdir(parents=True)
    (tmp_path / "sys/dev/block/8:1").symlink_to("../../devices/sda/sda1")
    told = fact_root(
        tmp_path,
        "1 1 8:1 / / rw,noatime - xfs /dev/sda1 rw,inode64,noatime\n",
        {
            "sys/devices/sda/queue/scheduler": "none [bfq] kyber\n",
            "sys/devices/sda/queue/write_cache": "write through\n",
        },
    )
    assert (told("device"), told("device_scheduler"), told("device_write_cache")) == (
        *("sda1", "bfq", "write through"),
    )
    assert told("file_system_options") == "rw,noatime,inode64"


def test_a_device_is_found_by_name_where_its_file_system_has_a_number_of_its_own(tmp_path: Path) -> None:
    told = fact_root(
        tmp_path,
        "1 1 0:40 / / rw - ext4 /dev/sdb rw\n2 1 0:39 / /data rw - btrfs /dev/loop7 rw,subvol=/\n",
        {
            "sys/class/block/loop7/loop/dio": "1\n",
            "sys/class/block/loop7/queue/scheduler": "[none] kyber\n",
        },
    )
    assert (told("device"), told("device_scheduler"), told("device_write_cache")) == (
        *("loop, direct I/O", "none", None),
    )


def test_what_has_no_device_says_none(tmp_path: Path) -> None:
    told = fact_root(tmp_path, "1 1 0:40 / / rw - tmpfs tmpfs rw\n", {})
    assert (told("device"), told("device_scheduler"), told("device_write_cache")) == (None, None, None)
