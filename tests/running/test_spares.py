"""Sandboxes that start several at once: those that wait are stopped, and none of them is lost or left."""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard import allowance, systems
from steelyard.errors import SystemFailed
from steelyard.events import Words
from steelyard.running.spares import Spares
from steelyard.study.model import Tuning
from steelyard.systems.agent import Agent, descendants
from steelyard.systems.system import Place, System

pytestmark = pytest.mark.program
NATIVE = systems.find("native")
MANY = replace(NATIVE, starts_at_once=3, memory_bytes=1 << 20)


class Started:
    """A system, and the places of all that were started of it; those of some numbers cannot start."""

    def __init__(self, *failing: int, **changes: object) -> None:
        self.places: list[Path] = []
        self._failing = failing
        self.system: System = replace(MANY, command=self._command, **changes)  # type: ignore[arg-type]

    def _command(self, place: Place) -> list[str]:
        self.places.append(place.scratch)
        return ["false"] if len(self.places) in self._failing else NATIVE.command(place)


@pytest.fixture
def words() -> list[Words]:
    return []


@pytest.fixture
def spares(tmp_path: Path, words: list[Words]) -> Iterator[Spares]:
    with closing(Spares(tmp_path, is_ahead=True, keep=words.append)) as made:
        yield made


def take(spares: Spares, system: System) -> Agent:
    return spares.take(system, hear=lambda output, errors: None, limit_s=30)


def states(directory: Path) -> list[str]:
    """The states of the agents' processes whose scratch directory is below this one."""
    found = []
    for guard in descendants(os.getpid()):
        stat, words = Path(f"/proc/{guard}/stat"), Path(f"/proc/{guard}/cmdline")
        try:
            if b"\0agent\0" + bytes(directory) in words.read_bytes():
                found.append(stat.read_text().rpartition(")")[2].split()[0])
        except OSError:
            pass
    return found


def test_all_start_at_once_and_those_that_wait_are_stopped(spares: Spares, tmp_path: Path) -> None:
    started = Started()
    taken = [take(spares, started.system)]

    assert len(started.places) == 3
    assert states(tmp_path).count("T") == 2
    taken += [take(spares, started.system) for _ in range(2)]
    assert len(started.places) == 3
    assert "T" not in states(tmp_path)
    assert len({one.process for one in taken}) == 3
    assert all(one.ask("describe", "system")["record"] == "system" for one in taken)
    taken.append(take(spares, started.system))
    assert len(started.places) == 6
    for one in taken:
        one.close()
    spares.close()
    assert states(tmp_path) == []
    assert not any(place.exists() for place in started.places)


def test_what_fails_before_it_is_needed_is_kept_and_then_one_starts_at_a_time(
    spares: Spares, words: list[Words]
) -> None:
    started = Started(3)
    first = take(spares, started.system)

    (kept,) = words
    assert kept.speaker == "spare of native"
    assert kept.ended is not None
    assert "cannot start" in kept.ended
    for number in (3, 4):  # the one that waits, and one alone
        take(spares, started.system).close()
        assert len(started.places) == number
    first.close()


def test_if_the_first_fails_none_is_left(spares: Spares, tmp_path: Path) -> None:
    started = Started(1)

    with pytest.raises(Exception, match="cannot start"):
        take(spares, started.system)
    assert states(tmp_path) == []
    assert not any(place.exists() for place in started.places)


def test_one_that_ends_while_it_waits_is_named_when_it_is_needed(spares: Spares) -> None:
    started = Started()
    first = take(spares, started.system)
    waiting = spares._waiting["native"][0]
    assert waiting.process is not None
    os.kill(descendants(waiting.process)[0], signal.SIGKILL)

    with pytest.raises(SystemFailed, match="has ended"):
        take(spares, started.system)
    take(spares, started.system).close()
    first.close()


@pytest.mark.parametrize(("available", "at_once"), [(None, 1), (0, 1), (8 << 20, 2), (1 << 40, 3)], ids=str)
def test_they_take_an_eighth_of_the_memory_at_most(
    available: int | None, at_once: int, spares: Spares, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allowance, "available_memory", lambda: available)
    started = Started()

    take(spares, started.system).close()
    assert len(started.places) == at_once


def test_a_system_that_changes_the_machine_starts_alone(spares: Spares) -> None:
    started = Started(file_system="ext4")
    take(spares, started.system).close()
    assert len(started.places) == 1
    assert not replace(MANY, tuning=Tuning(sysctl=(("vm.swappiness", 11),))).takes_turns


def test_nothing_starts_ahead_where_boots_are_few(tmp_path: Path) -> None:
    started = Started()
    with closing(Spares(tmp_path, is_ahead=False, keep=lambda words: None)) as spares:
        take(spares, started.system).close()
    assert len(started.places) == 1


# Systems that are kept on one processor


def affinities(agent: Agent) -> dict[int, set[int]]:
    assert agent.process is not None
    processes = [agent.process, *descendants(agent.process, with_held=True)]
    threads = [int(name) for process in processes for name in os.listdir(f"/proc/{process}/task")]
    return {thread: os.sched_getaffinity(thread) for thread in threads}


needs_two = pytest.mark.skipif(len(allowance.processors()) < 2, reason="needs two processors")


@needs_two
def test_a_thread_that_looks_after_others_is_kept_off_their_processor(tmp_path: Path) -> None:
    one, *others = allowance.processors()
    with Agent(replace(NATIVE, watcher=lambda threads: threads[0]), directory=tmp_path) as agent:
        before = affinities(agent)
        with agent.on(one):
            assert [affinities(agent)[thread] for thread in descendants(agent.process or 0)] == [set(others)]
        assert affinities(agent) == before
    with Agent(NATIVE, directory=tmp_path) as agent, agent.on(one):
        assert [affinities(agent)[thread] for thread in descendants(agent.process or 0)] == [{one}]


@needs_two
@pytest.mark.parametrize("boots", [True, False])
def test_what_a_kernel_of_its_own_does_between_its_turns_it_does_elsewhere(
    tmp_path: Path, boots: bool
) -> None:
    one, *others = allowance.processors()
    with Agent(replace(NATIVE, boot=boots), directory=tmp_path) as agent:
        before = affinities(agent)
        (worker,) = descendants(agent.process or 0)
        with agent.on(one):
            agent.step_back()  # it was nowhere else
            for _ in range(2):
                agent.step_aside()
                assert os.sched_getaffinity(worker) == (set(others) if boots else {one})
                agent.step_back()
                assert os.sched_getaffinity(worker) == {one}
            agent.step_aside()
        assert affinities(agent) == before
        agent.step_aside()  # outside of turns it stays where it is
        assert affinities(agent) == before


@needs_two
@pytest.mark.root
@pytest.mark.gvisor
def test_of_gvisor_it_is_the_runtime_s_own_thread(tmp_path: Path) -> None:
    """The one that sleeps by the clock, and not until another wakes it, while a program makes calls."""
    one = allowance.processors()[0]
    slept: Counter[int] = Counter()
    with Agent(systems.find("gvisor"), directory=tmp_path) as agent, agent.on(one):
        kernel = max(descendants(agent.process or 0), key=lambda each: len(os.listdir(f"/proc/{each}/task")))
        (free,) = (thread for thread in threads_of(kernel) if os.sched_getaffinity(thread) != {one})
        agent.send("trial 1 syscall batches=40 batch_ns=10000000")
        while not slept[free]:
            slept.update(thread for thread in threads_of(kernel) if "nanosleep" in wait_of(kernel, thread))

    assert max(slept, key=slept.__getitem__) == free


def threads_of(process: int) -> list[int]:
    return [int(name) for name in os.listdir(f"/proc/{process}/task")]


def wait_of(process: int, thread: int) -> str:
    """The kernel's function in which it sleeps."""
    try:
        return Path(f"/proc/{process}/task/{thread}/wchan").read_text()
    except OSError:  # it has ended
        return ""
