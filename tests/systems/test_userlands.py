"""Another userland on this machine's kernel, plainly and in namespaces: it runs, and leaves nothing."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import synthetic
from installed_command import Run
from one_trial import run
from patience import patience
from processes import our_groups
from userland_files import KINDS, libraries, put

from steelyard import systems
from steelyard.errors import Unsupported, UsageError
from steelyard.programs import built
from steelyard.study.model import SystemDefinition, Tuning
from steelyard.systems.agent import Agent, descendants
from steelyard.systems.system import System, check

pytestmark = pytest.mark.root


def userland(kind: str, root: Path, name: str = "other") -> System:
    return systems.find(name, [SystemDefinition("other", base=kind, root=str(root))])


@pytest.mark.boots
@pytest.mark.parametrize("kind", KINDS)
def test_every_workload_runs_in_it_and_nothing_is_left(kind: str, root: Path, tmp_path: Path) -> None:
    mounts, files = Path("/proc/self/mountinfo").read_text(), sorted(root.rglob("*"))
    with Agent(userland(kind, root), directory=tmp_path) as agent:
        native = Agent(systems.find("native"), directory=tmp_path)
        native.close()
        assert agent.fingerprint["kernel_release"] == os.uname().release
        assert agent.fingerprint["directory"] == "/tmp"
        assert agent.fingerprint["file_system"] == native.fingerprint["file_system"]
        assert agent.hello["program_sha256"] == native.hello["program_sha256"]
        for workload in built.catalogue().workloads:
            end = run(agent, synthetic.quick(workload))[-1]
            assert end["status"] in ("ok", "unsupported"), (workload.name, end)
        assert Path("/proc/self/mountinfo").read_text() == mounts
    assert list(tmp_path.iterdir()) == []
    assert sorted(root.rglob("*")) == files


@pytest.mark.boots
@pytest.mark.parametrize("kind", KINDS)
def test_its_files_are_the_userlands(kind: str, root: Path, tmp_path: Path) -> None:
    """A command that is there only: the shell finds a file that this machine has not."""
    assert not Path("/etc/userland").exists()
    with Agent(userland(kind, root), directory=tmp_path) as agent:
        assert run(agent, f"trial 1 command {_words('test -e /etc/userland')}")[-1]["status"] == "ok"
        assert run(agent, f"trial 2 command {_words('test -e /etc/passwd')}")[-1]["status"] != "ok"


def _words(script: str) -> str:
    text = "\n".join(["/bin/sh", "-c", script])
    coded = "".join(chr(byte) if chr(byte).isalnum() else f"%{byte:02x}" for byte in text.encode())
    return f"command={coded} batches=1 operations=1 warmup_ns=0"


@pytest.mark.boots
def test_a_container_has_its_own_processes_host_name_network_and_devices(root: Path, tmp_path: Path) -> None:
    links = ("mnt", "pid", "uts", "ipc", "net")
    with Agent(userland("container", root), directory=tmp_path) as agent:
        inner = descendants(agent._process.pid)[-1]
        for kind in links:
            assert os.readlink(f"/proc/{inner}/ns/{kind}") != os.readlink(f"/proc/self/ns/{kind}"), kind
        assert agent.fingerprint["host_name"] == "container"
        devices = {one.name for one in Path(f"/proc/{inner}/root/dev").iterdir()}
        assert devices == {
            *("null", "zero", "full", "random", "urandom", "tty", "shm", "pts", "ptmx"),
            *("fd", "stdin", "stdout", "stderr"),
        }
        script = "test -d /proc/self && test ! -d /proc/{} && echo x > /dev/null"
        assert run(agent, f"trial 1 command {_words(script.format(os.getpid()))}")[-1]["status"] == "ok"
        assert run(agent, "trial 2 tcp_latency batches=1 operations=1")[-1]["status"] in ("ok", None)


@pytest.mark.boots
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_parked_and_wakes(kind: str, root: Path, tmp_path: Path) -> None:
    with Agent(userland(kind, root), directory=tmp_path) as agent:
        agent.park()
        states = {
            Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[0]
            for one in descendants(agent._process.pid)
        }
        assert states == {"T"}
        agent.resume()
        assert run(agent, "trial 1 sieve batches=1 operations=1 warmup_ns=0")[-1]["status"] == "ok"


@pytest.mark.boots
@pytest.mark.parametrize("kind", KINDS)
def test_when_the_laboratory_is_killed_nothing_is_left(kind: str, root: Path, tmp_path: Path) -> None:
    mounts = Path("/proc/self/mountinfo").read_text()
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom steelyard import systems\n"
        "from steelyard.study.model import SystemDefinition\nfrom steelyard.systems.agent import Agent\n"
        "definition = SystemDefinition('x', base=sys.argv[1], root=sys.argv[2])\n"
        "agent = Agent(systems.find('x', [definition]), directory=Path(sys.argv[3]))\n"
        "agent.park()\nprint('up', flush=True)\ntime.sleep(60)\n"
    )
    command = [sys.executable, "-c", script, kind, str(root), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as laboratory:
        assert laboratory.stdout is not None
        assert laboratory.stdout.readline() == "up\n"
        members = descendants(laboratory.pid)
        laboratory.send_signal(signal.SIGKILL)
    assert len(members) >= (2 if kind == "chroot" else 4)
    deadline = time.monotonic() + patience(10)
    while any(Path(f"/proc/{one}/root").exists() for one in members) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [one for one in members if Path(f"/proc/{one}/root").exists()] == []
    assert list(tmp_path.iterdir()) == []
    assert Path("/proc/self/mountinfo").read_text() == mounts


def test_a_shared_build_runs_with_the_userlands_libc(
    root: Path, tmp_path: Path, steelyard: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is found there, and without one the refusal says so."""
    made = tmp_path / "programs"
    monkeypatch.setenv("STEELYARD_PROGRAMS", str(made))
    answer = steelyard("build", "--shared", timeout=300)
    assert answer.returncode == 0, answer.stderr
    name = answer.stdout.strip()
    bare = tmp_path / "bare"
    for one in ("proc", "sys", "dev", "tmp", "bin"):
        (bare / one).mkdir(parents=True)
    (bare / "bin/sh").touch()
    (tmp_path / "work").mkdir()
    with pytest.raises(Unsupported, match=r"needs the libc that /lib64/ld-linux.* belongs to"):
        Agent(userland("chroot", bare, f"other+{name}"), directory=tmp_path / "work")

    whole = tmp_path / "whole"
    shutil.copytree(root, whole)
    for library in libraries(made / name):
        put(library, whole)
    marked = next(one for one in libraries(made / name) if one.name == "libc.so.6")
    with Agent(userland("chroot", whole, f"other+{name}"), directory=tmp_path / "work") as agent:
        inner = descendants(agent._process.pid)[-1]
        maps = Path(f"/proc/{inner}/map_files")
        used = {os.stat(one).st_ino for one in maps.iterdir() if os.readlink(one).endswith("libc.so.6")}
        assert used == {(whole / str(marked).lstrip("/")).stat().st_ino}
        assert agent.hello["libc"].startswith("glibc")
        assert run(agent, "trial 1 sieve batches=1 operations=1 warmup_ns=0")[-1]["status"] == "ok"


@pytest.mark.parametrize("kind", KINDS)
def test_a_root_that_is_no_userland_is_refused(kind: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none', but must be a directory with a userland in it"):
        check(userland(kind, tmp_path / "none"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="must be a userland with a shell and a libc: it has no bin/sh"):
        check(userland(kind, tmp_path / "empty"))
    with pytest.raises(UsageError, match="needs a userland: in a study"):
        check(systems.find(kind))


# With podman, from an image


# Where podman keeps what it has: below the test's own directory, so that it shares neither images nor
# containers, neither networks nor locks with the machine's.
STORAGE = """[storage]
driver = "vfs"
graphroot = "{store}/graph"
runroot = "{store}/run"
"""
ENGINE = """[engine]
static_dir = "{store}/graph/libpod"
tmp_dir = "{store}/tmp"
volume_path = "{store}/graph/volumes"
lock_type = "file"
events_logger = "none"
image_copy_tmp_dir = "{store}"
[network]
network_config_dir = "{store}/networks"
"""


@pytest.fixture(scope="module")
def image(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An image of the smallest userland, in a store that goes with the test's directory."""
    if shutil.which("podman") is None or shutil.which("runc") is None:
        pytest.skip("podman or runc is not installed")
    store = tmp_path_factory.mktemp("store")
    with pytest.MonkeyPatch.context() as environment:
        for name, text in {"STORAGE_CONF": STORAGE, "CONF": ENGINE}.items():
            file = store / name
            file.write_text(text.format(store=store))
            environment.setenv(f"CONTAINERS_{name}", str(file))
        subprocess.run(["tar", "-C", root, "-cf", store / "root.tar", "."], check=True)
        made = subprocess.run(
            ["podman", "import", store / "root.tar", "steelyard-test"],
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            pytest.skip(f"podman makes no image here: {made.stderr.strip()[-200:]}")
        yield "steelyard-test"
        subprocess.run(["podman", "rm", "--all", "--force", "--time=0"], capture_output=True, check=False)


@pytest.mark.program
def test_podman_keeps_all_that_it_has_below_the_test_s_directory(image: str) -> None:
    """A store of the machine's own could be one that somebody needs."""
    store = Path(os.environ["CONTAINERS_CONF"]).parent
    told = subprocess.run(["podman", "info", "--format=json"], capture_output=True, text=True, check=True)

    known = json.loads(told.stdout)["store"]
    assert {known[name] for name in ("configFile", "graphRoot", "runRoot", "volumePath")} == {
        str(store / name) for name in ("STORAGE_CONF", "graph", "run", "graph/volumes")
    }
    assert known["imageStore"]["number"] == 1
    assert (store / "tmp" / "alive").exists()


def containers() -> str:
    return subprocess.run(["podman", "ps", "-aq"], capture_output=True, text=True, check=True).stdout


def from_image(image: str) -> System:
    return systems.find("boxed", [SystemDefinition("boxed", base="container", image=image)])


@pytest.mark.boots
def test_podman_runs_it_from_an_image_and_nothing_is_left(image: str, tmp_path: Path) -> None:
    with Agent(from_image(image), directory=tmp_path) as agent:
        assert containers() != ""
        assert agent.fingerprint["directory"] == "/tmp"
        assert run(agent, f"trial 1 command {_words('test -e /etc/userland')}")[-1]["status"] == "ok"
        agent.park()
        agent.resume()
        assert run(agent, "trial 2 sieve batches=1 operations=1 warmup_ns=0")[-1]["status"] == "ok"
    assert containers() == ""
    assert list(tmp_path.iterdir()) == []
    assert our_groups() == []


@pytest.mark.boots
def test_when_the_laboratory_is_killed_podman_keeps_nothing(image: str, tmp_path: Path) -> None:
    mounts = Path("/proc/self/mountinfo").read_text()
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom steelyard import systems\n"
        "from steelyard.study.model import SystemDefinition\nfrom steelyard.systems.agent import Agent\n"
        "definition = SystemDefinition('x', base='container', image=sys.argv[1])\n"
        "agent = Agent(systems.find('x', [definition]), directory=Path(sys.argv[2]))\n"
        "agent.park()\nprint('up', flush=True)\ntime.sleep(60)\n"
    )
    command = [sys.executable, "-c", script, image, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as laboratory:
        assert laboratory.stdout is not None
        assert laboratory.stdout.readline() == "up\n"
        members = descendants(laboratory.pid)
        laboratory.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + patience(15)
    while (containers() or list(tmp_path.iterdir())) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert containers() == ""
    assert [one for one in members if Path(f"/proc/{one}/root").exists()] == []
    assert list(tmp_path.iterdir()) == []
    assert Path("/proc/self/mountinfo").read_text() == mounts
    assert our_groups() == []


@pytest.mark.boots
def test_an_image_that_podman_has_not_is_refused(image: str) -> None:
    with pytest.raises(Unsupported, match="podman has no image 'nowhere/none'"):
        check(from_image("nowhere/none"))


@pytest.mark.program
def test_limits_of_an_image_are_refused() -> None:
    definition = SystemDefinition("boxed", base="container", image="x", tuning=Tuning(memory="64M"))
    with pytest.raises(UsageError, match="podman puts containers of an image into its own control groups"):
        systems.find("boxed", [definition])
