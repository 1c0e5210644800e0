"""Tuned systems: what is set is set, only while it should be, and back after every end."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from definitions import definition
from installed_command import COMMAND, Run
from one_trial import run
from patience import patience
from processes import our_groups

from steelyard import systems
from steelyard.errors import StudyError, UnknownName, Unsupported, UsageError
from steelyard.study.model import SystemDefinition, Tuning
from steelyard.systems import groups, ledger, tuning
from steelyard.systems.agent import Agent, descendants
from steelyard.systems.system import check

HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
SWAPPINESS = Path("/proc/sys/vm/swappiness")
TUNED = """
base = "native"
huge_pages = "{huge_pages}"
sysctl = {{ "vm.swappiness" = 11 }}
processors = [0]
nice = 5
memory = "256M"
processes = 500
"""

pytestmark = pytest.mark.quiet  # it changes the whole machine


def chosen() -> str:
    return HUGE_PAGES.read_text().partition("[")[2].partition("]")[0]


def another() -> str:
    """Huge pages as they are not."""
    return "never" if chosen() != "never" else "always"


def trials(agent: Agent) -> int:
    """How many of its processes have become trials'."""
    members = descendants(agent._process.pid)
    return sum(b"trial-process" in Path(f"/proc/{one}/cmdline").read_bytes() for one in members)


def machine() -> tuple[str, str, list[Path], list[Path]]:
    """What a tuned system changes: it must be the same before and after."""
    return chosen(), SWAPPINESS.read_text(), our_groups(), [*ledger.directory().glob("*.ledger")]


def wait_for(true: Callable[[], bool], limit_s: float = 15) -> None:
    deadline = time.monotonic() + patience(limit_s)
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)


@pytest.fixture(autouse=True)
def ledgers() -> None:
    """The directory that the first ledger makes: since the machine's start there may have been none."""
    ledger.directory().mkdir(mode=0o700, parents=True, exist_ok=True)


@pytest.fixture
def tuned() -> Iterator[SystemDefinition]:
    """A system with every tuning; skips where it is not allowed."""
    found = definition(TUNED.format(huge_pages=another()))
    try:
        check(systems.find("tuned", [found]))
    except Unsupported as error:
        pytest.skip(str(error))
    before = machine()
    yield found
    assert machine() == before


@pytest.mark.program
def test_a_tuned_system_is_tuned_only_while_it_runs(tuned: SystemDefinition, tmp_path: Path) -> None:
    before, wanted = machine(), tuned.tuning
    with Agent(systems.find("tuned", [tuned]), directory=tmp_path) as agent:
        for _ in range(2):
            assert (chosen(), SWAPPINESS.read_text()) == (wanted.huge_pages, "11\n")
            agent.park()
            assert machine()[:2] == before[:2]
            agent.resume()
        assert agent.fingerprint["huge_pages"] == wanted.huge_pages  # as seen from inside
        told = agent.fingerprint["tuning"]
        assert told["huge_pages"] == wanted.huge_pages
        assert told["sysctl vm.swappiness"] == "11"
        assert (told["nice"], told["processors"]) == (5, [0])
        assert 256 << 20 in told.values()
        assert 500 in told.values()
    assert machine() == before


@pytest.mark.program
def test_all_of_its_processes_are_in_the_group_and_know_that_they_are_limited(
    tuned: SystemDefinition, tmp_path: Path
) -> None:
    with Agent(systems.find("tuned", [tuned]), directory=tmp_path) as agent:
        agent.send("trial 1 sieve copies=2 batches=1000 batch_ns=50000000 limit_ms=20000")
        wait_for(lambda: trials(agent) >= 2)
        members = descendants(agent._process.pid)
        assert len(members) >= 3  # the agent and its copies
        for member in members:
            assert "steelyard-" in (Path("/proc") / str(member) / "cgroup").read_text()
            assert b"STEELYARD_LIMITED=1" in (Path("/proc") / str(member) / "environ").read_bytes().split(
                b"\0"
            )
            assert os.getpriority(os.PRIO_PROCESS, member) == 5
            assert os.sched_getaffinity(member) == {0}
        assert "steelyard-" not in Path(f"/proc/{agent._process.pid}/cgroup").read_text()  # the guard is not
        agent.send("stop 1")


@pytest.mark.program
def test_a_workload_sees_the_groups_memory(tuned: SystemDefinition, tmp_path: Path) -> None:
    """An area is at most a quarter of memory: of the group's, not of the machine's."""
    request = "trial 1 memory_zero from=134217728 to=134217728 batches=1 operations=1"
    with Agent(systems.find("tuned", [tuned]), directory=tmp_path) as agent:
        end = run(agent, request)[-1]
    with Agent(systems.find("native"), directory=tmp_path) as agent:
        assert run(agent, request)[-1]["status"] == "ok"
    assert end["status"] == "unsupported"
    assert "more than the" in end["reason"]


@pytest.mark.program
def test_a_group_holds_what_outgrows_it(tuned: SystemDefinition, tmp_path: Path) -> None:
    """More processes than allowed cannot be made; the machine is not asked for them."""
    limited = definition('base = "native"\nprocesses = 6')
    with Agent(systems.find("tuned", [limited]), directory=tmp_path) as agent:
        assert run(agent, "trial 1 sieve copies=2 batches=1 operations=1")[-1]["status"] == "ok"
        end = run(agent, "trial 2 sieve copies=20 batches=1 operations=1")[-1]
    assert end["status"] == "failed"
    assert end["reason"] == "making a process: Resource temporarily unavailable"


def test_a_limited_guest_knows_that_it_is_limited_by_the_words_of_its_command(tmp_path: Path) -> None:
    from steelyard.systems.system import Place

    assert "STEELYARD_LIMITED=1" in systems.find("uml").command(Place(Path("/x"), tmp_path))


@pytest.mark.program
def test_a_setting_with_a_twin_is_put_back_by_its_twin(tuned: SystemDefinition, tmp_path: Path) -> None:
    """Bytes set make the ratio 0, and a 0 cannot be written back."""
    files = [Path("/proc/sys/vm") / name for name in ("dirty_bytes", "dirty_ratio")]
    before = [file.read_text() for file in files]
    name, value = ("vm.dirty_bytes", "104857600") if before[0] == "0\n" else ("vm.dirty_ratio", "20")
    twin = definition(f'base = "native"\nsysctl = {{ "{name}" = {value} }}')
    with Agent(systems.find("tuned", [twin]), directory=tmp_path) as agent:
        assert [file.read_text() for file in files] != before
        agent.park()
        assert [file.read_text() for file in files] == before
    assert [file.read_text() for file in files] == before


# Refusals


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('huge_pages = "sometimes"', '\'sometimes\', but must be "always", "madvise", "never"'),
        ("nice = 20", "20, but must be a whole number from -20 to 19"),
        ("nice = true", "true, but must be a whole number"),
        ("processors = [1, 1]", r"\[1, 1\], but must be a list of different whole numbers from 0"),
        ("processors = []", "a list of different whole numbers"),
        ('sysctl = { "vm/../../x" = 1 }', "for a name such as"),
        ('sysctl = { "vm.swappiness" = "1\\n2" }', "a number or a text"),
        ('memory = "much"', "'much', but must be a size"),
        ('swap = "0"', "with a memory limit"),
        ("processes = -1", "a whole number from 0 to 4194304"),
        ("cpu = 1", "there is no key 'system.tuned.cpu'"),
    ],
)
def test_a_wrong_tuning_is_refused_with_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises((StudyError, UnknownName), match=message):
        definition(f'base = "native"\n{text}')


def test_what_this_machine_has_not_is_refused_before_anything_starts() -> None:
    with pytest.raises(UnknownName, match=r"no sysctl 'vm.swapines'; did you mean 'vm.swappiness'"):
        tuning.check("x", Tuning(sysctl=(("vm.swapines", "1"),)))
    with pytest.raises(UsageError, match=r"processors is \[4711\], but this machine has \[0"):
        tuning.check("x", Tuning(processors=(4711,)))
    with pytest.raises(UsageError, match=r"'vm.drop_caches' cannot be restored after a change"):
        tuning.check("x", Tuning(sysctl=(("vm.drop_caches", "3"),)))


@pytest.mark.parametrize(
    "name", ["kernel.panic", "kernel.panic_on_oops", "vm.panic_on_oom", "kernel.pid_max"]
)
def test_what_can_end_the_machine_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"sysctl '{name}' can end this machine, .*so it is not tuned"):
        tuning.check("x", Tuning(sysctl=((name, "1"),)))
    with pytest.raises(UsageError, match="can end this machine"):
        tuning.check("x", Tuning(sysctl=((name.replace(".", "/"), "1"),)))


def test_the_network_is_not_tuned_where_it_leads_to_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    forwarding = Tuning(sysctl=(("net.ipv4.ip_default_ttl", "1"),))
    monkeypatch.setenv("SSH_CONNECTION", "192.0.2.1 4711 192.0.2.2 22")
    with pytest.raises(UsageError, match=r"'net.ipv4.ip_default_ttl' can cut the connection .*\(ssh\)"):
        tuning.check("x", forwarding)
    monkeypatch.delenv("SSH_CONNECTION")
    with contextlib.suppress(Unsupported):  # an ordinary user's refusal is another
        tuning.check("x", forwarding)


def test_a_value_that_the_kernel_refuses_is_refused(
    tuned: SystemDefinition, steelyard: Run, tmp_path: Path
) -> None:
    study = tmp_path / "bad.toml"
    study.write_text(
        'name = "bad"\ntitle = "bad"\nsystems = ["native", "bad"]\n'
        '[system.bad]\nbase = "native"\nsysctl = { "vm.swappiness" = 4711 }\n[[workload]]\nname = "null"\n'
    )
    answer = steelyard("run", str(study))
    assert answer.returncode == 2
    assert "sysctl vm.swappiness is '4711', which the kernel refuses" in answer.stderr
    assert [*(tmp_path / "archive" / "experiments").glob("*")] == []


def test_a_host_elsewhere_is_not_tuned() -> None:
    with pytest.raises(UsageError, match="runs on another host"):
        systems.find("far", [SystemDefinition("far", base="ssh:somewhere", tuning=Tuning(nice=1))])


@pytest.mark.program
@pytest.mark.root
def test_without_the_right_to_it_is_unsupported() -> None:
    script = (
        "import os, sys\nfrom steelyard.systems import tuning\nfrom steelyard.study.model import Tuning\n"
        "from steelyard.errors import Unsupported\nos.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "sysctl = Tuning(sysctl=(('vm.swappiness', '1'),))\n"
        "for one in (Tuning(huge_pages='never'), Tuning(memory='64M'), sysctl):\n"
        "    try:\n        tuning.check('x', one)\n    except Unsupported as error:\n        print(error)\n"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout.count("requires root") == 3, answer


# Every end


def begin(tuned: SystemDefinition, tmp_path: Path) -> tuple[subprocess.Popen[str], str]:
    """A laboratory that measures the tuned system and another one, tuned otherwise, and is set."""
    work = tmp_path / "work"
    work.mkdir()
    study = tmp_path / "tuned.toml"
    study.write_text(
        'name = "tuned"\ntitle = "t"\nsystems = ["tuned", "native", "nicer"]\n[design]\nblocks = 4000\n'
        f"[system.tuned]\n{TUNED.format(huge_pages=tuned.tuning.huge_pages)}\n"
        '[system.nicer]\nbase = "native"\nnice = 7\nmemory = "128M"\n'
        '[[workload]]\nname = "sieve"\nbatches = 20\n'
    )
    command = [COMMAND, "run", study, "--archive", tmp_path / "archive", "--directory", work]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + patience(60)
    while not any("trial" in one.read_text() for one in (tmp_path / "archive").glob("*/[!.]*/journal.jsonl")):
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return running, str(study)


def command_of(process: str) -> bytes:
    return Path(f"/proc/{process}/cmdline").read_bytes()


def is_set(tuned: SystemDefinition) -> bool:
    return chosen() == tuned.tuning.huge_pages and SWAPPINESS.read_text() == "11\n"


def stop_while_set(running: subprocess.Popen[str], tuned: SystemDefinition) -> None:
    """Stops the laboratory in the middle of a tuned trial."""
    for _ in range(200):
        wait_for(lambda: is_set(tuned))
        running.send_signal(signal.SIGSTOP)
        time.sleep(0.02)
        if is_set(tuned):
            return
        running.send_signal(signal.SIGCONT)
    raise AssertionError("it was never seen set")


def left_of(work: Path) -> list[str]:
    """Processes that know the directory: by word, environment or working directory."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                known = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
                found += [entry.name] if os.fsencode(work) in known else []
        except OSError:
            continue
    return found


@pytest.mark.program
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_after_any_end_of_the_laboratory_all_is_back(
    tuned: SystemDefinition, tmp_path: Path, number: signal.Signals
) -> None:
    before = machine()
    mounts = Path("/proc/self/mountinfo").read_text()
    running, _ = begin(tuned, tmp_path)
    stop_while_set(running, tuned)
    assert len(our_groups(running.pid)) >= 2
    running.send_signal(number)
    running.send_signal(signal.SIGCONT)
    running.communicate(timeout=patience(30))

    wait_for(lambda: machine() == before and not left_of(tmp_path / "work"))
    assert machine() == before
    assert left_of(tmp_path / "work") == []
    assert [*(tmp_path / "work").iterdir()] == []
    assert Path("/proc/self/mountinfo").read_text() == mounts


def test_if_the_guards_are_killed_as_well_the_next_start_puts_all_back(
    tuned: SystemDefinition, tmp_path: Path, steelyard: Run
) -> None:
    before = machine()
    running, _ = begin(tuned, tmp_path)
    stop_while_set(running, tuned)
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    guards = [int(one) for one in children if b"steelyard-watch" not in command_of(one)]
    assert len(guards) == 3
    for process in (running.pid, *guards):  # stopped first, so that no guard sees the laboratory's end
        os.kill(process, signal.SIGSTOP)
    for process in (running.pid, *guards):
        os.kill(process, signal.SIGKILL)
    running.communicate(timeout=patience(30))
    assert is_set(tuned)
    assert len(our_groups(running.pid)) >= 2

    answer = steelyard("list", "studies")

    assert answer.returncode == 0
    assert (
        f"{SWAPPINESS} is restored to '{before[1].strip()}', its value before a killed run" in answer.stderr
    )
    assert machine() == before
    wait_for(lambda: not left_of(tmp_path / "work"))
    assert left_of(tmp_path / "work") == []
    assert steelyard("list", "studies").stderr == ""


@pytest.mark.program
def test_a_second_laboratory_that_tunes_is_refused(tuned: SystemDefinition, tmp_path: Path) -> None:
    script = (
        "import sys\nfrom steelyard.systems import ledger\nfrom steelyard.errors import SteelyardError\n"
        "try:\n    ledger.lock_machine()\nexcept SteelyardError as error:\n    sys.exit(str(error))\n"
    )
    with Agent(systems.find("tuned", [tuned]), directory=tmp_path) as agent:
        answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        agent.park()
    assert answer.returncode == 1
    assert f"is being tuned by process {os.getpid()}" in answer.stderr
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.program
def test_if_the_guard_alone_is_killed_the_laboratory_does_its_work(
    tuned: SystemDefinition, tmp_path: Path
) -> None:
    before = machine()
    with Agent(systems.find("tuned", [tuned]), directory=tmp_path) as agent:
        assert machine() != before
        os.kill(agent._process.pid, signal.SIGKILL)
    assert machine() == before


@pytest.mark.program
@pytest.mark.long
def test_two_runs_that_tune_of_which_one_is_killed_again_and_again(
    tuned: SystemDefinition, tmp_path: Path
) -> None:
    """Each waits for the other's trials; the one that is never killed ends well, and all is as it was."""
    before, seed = machine(), random.randrange(1 << 30)
    print("seed", seed)  # of the moments of the kills
    moments = random.Random(seed)
    running, _ = begin(tuned, tmp_path)
    study = tmp_path / "other.toml"
    study.write_text(
        'name = "other"\ntitle = "t"\nsystems = ["native", "swapping"]\n[design]\nblocks = 4000\n'
        '[system.swapping]\nbase = "native"\nsysctl = { "vm.swappiness" = 12 }\nmemory = "128M"\n'
        '[[workload]]\nname = "sieve"\nbatches = 20\n'
    )
    other = [COMMAND, "run", study, "--archive", tmp_path / "other", "--directory", tmp_path / "work"]
    for _ in range(10):
        with subprocess.Popen(other, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as killed:
            try:
                killed.communicate(timeout=moments.uniform(0.3, 3))
            except subprocess.TimeoutExpired:
                killed.kill()
            else:
                raise AssertionError(killed.returncode)
    assert running.poll() is None
    running.send_signal(signal.SIGINT)
    said = running.communicate(timeout=patience(60))

    wait_for(lambda: machine() == before and not left_of(tmp_path / "work"))
    assert machine() == before
    assert left_of(tmp_path / "work") == []
    assert "Traceback" not in said[1], said


# Control groups of version 2, which this machine may not have: their files, as cgroups(7) has them


def unified(root: Path, *, own: str, passing: str) -> Path:
    """A /proc and a version 2 hierarchy in which the group `passing` passes memory and pids on."""
    proc, mount = root / "proc", root / "cgroup"
    (proc / "self").mkdir(parents=True)
    (mount / own.strip("/")).mkdir(parents=True)
    (proc / "self/cgroup").write_text(f"0::{own}\n")
    (proc / "self/mountinfo").write_text(f"30 1 0:26 / {mount} rw - cgroup2 cgroup2 rw,nsdelegate\n")
    (mount / "cgroup.controllers").write_text("cpu memory pids\n")
    (mount / passing.strip("/") / "cgroup.subtree_control").write_text("memory pids\n")
    return proc


def test_version_2_makes_one_group_below_the_nearest_that_passes_the_controllers_on(tmp_path: Path) -> None:
    proc = unified(tmp_path, own="/user/session", passing="/user")
    (group,) = groups.of(Tuning(memory="64M", swap="16M", processes=50), proc=proc)
    assert group.path.parent == tmp_path / "cgroup/user"
    assert group.path.name.startswith(f"steelyard-{os.getpid()}-")
    assert group.limits == {"memory.max": "67108864", "memory.swap.max": "16777216", "pids.max": "50"}


def test_version_2_that_passes_nothing_on_is_unsupported(tmp_path: Path) -> None:
    proc = unified(tmp_path, own="/user/session", passing="/user")
    (tmp_path / "cgroup/user/cgroup.subtree_control").write_text("cpu\n")
    with pytest.raises(Unsupported, match="needs the memory controller"):
        groups.of(Tuning(memory="64M"), proc=proc)


def test_the_summary_says_what_is_tuned() -> None:
    found = systems.find("tuned", [definition('base = "native"\nhuge_pages = "never"\nnice = 5')])
    assert found.summary == "this machine's kernel, glibc; tuned: huge pages never, nice 5"
    assert json.dumps(found.summary)
