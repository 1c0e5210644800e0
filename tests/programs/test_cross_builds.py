"""The load program for other processors and systems: it compiles, and where there is an emulator it runs."""

import random
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
import synthetic
from one_trial import run

from steelyard import systems
from steelyard.errors import Unsupported, UsageError
from steelyard.programs import builds, built
from steelyard.programs.builds import LoadBuild
from steelyard.systems import userland
from steelyard.systems.agent import Agent, descendants
from steelyard.systems.system import check

AARCH64, FREEBSD = "aarch64-linux-musl", "x86_64-freebsd"
MACHINES = {AARCH64: 183, FREEBSD: 62}  # EM_AARCH64, EM_X86_64
WARNINGS = ("-Wall", "-Wextra", "-Werror")


@pytest.fixture(autouse=True)
def own_place(keeping_compilers: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("ziglang") is None:
        pytest.skip("zig is not installed (pip install ziglang)")
    monkeypatch.setenv("STEELYARD_PROGRAMS", str(tmp_path / "programs"))


def machine_of(elf: Path) -> int:
    header = elf.read_bytes()[:20]
    assert header[:4] == b"\x7fELF"
    return int.from_bytes(header[18:20], "little")


@pytest.mark.builds
@pytest.mark.parametrize("target", MACHINES)
def test_sources_are_compiled_without_a_warning(target: str, tmp_path: Path) -> None:
    """Some of them, and the machine code that all programs share: without libc, which takes a minute."""
    build = LoadBuild("zig", target=target)
    *files, code = builds._files(build, built.source(), tmp_path)
    seed = random.randrange(1 << 32)
    print(f"drawn by seed {seed}")
    some = [*random.Random(seed).sample(files, 40), code]

    made = builds._objects(build, [*builds._flags(build, built.source()), *WARNINGS], some, tmp_path)

    assert {machine_of(Path(one)) for one in made} == {MACHINES[target]}


@pytest.mark.long
@pytest.mark.builds
@pytest.mark.limit(600)  # zig compiles its libc once
@pytest.mark.parametrize(("target", "loader"), [(AARCH64, None), (FREEBSD, "/libexec/ld-elf.so.1")])
def test_it_is_built_without_a_warning_for_what_it_says(target: str, loader: str | None) -> None:
    build = LoadBuild("zig", target=target)
    assert build.name == f"zig-{target}-O2"
    made = builds.make(build, warnings=WARNINGS)
    assert userland.interpreter_of(made) == loader
    assert machine_of(made) == MACHINES[target]


@pytest.mark.long
@pytest.mark.builds
@pytest.mark.limit(600)
def test_aarch64_runs_every_workload_under_emulation_or_says_why_not(tmp_path: Path) -> None:
    """The agent starts itself again by the emulator: nothing registered with the kernel helps it."""
    system = systems.find("qemu-aarch64")
    builds.make(LoadBuild("zig", target=AARCH64), warnings=WARNINGS)
    (tmp_path / "work").mkdir()
    try:
        check(system)
    except Unsupported as error:
        pytest.skip(str(error))
    with Agent(system, directory=tmp_path / "work") as agent:
        assert agent.fingerprint["architecture"] == "aarch64"
        assert agent.hello["libc"] == "musl"
        agent.send("trial 0 sieve batches=1000 batch_ns=50000000 limit_ms=20000")
        while not any(b"trial-process" in _words(one) for one in descendants(agent._process.pid)):
            time.sleep(0.02)
        emulated = [_words(one) for one in descendants(agent._process.pid)]
        assert all(b"qemu-aarch64" in words.split(b"\0")[0] for words in emulated), emulated
        assert agent.ask("stop 0", "end")["status"] == "stopped"
        for workload in built.catalogue().workloads:
            heard = run(agent, synthetic.quick(workload))
            assert heard[-1]["status"] in ("ok", "unsupported"), (workload.name, heard[-1])
        begin, *_, end = run(agent, "trial 2 linpack batches=1 operations=2")
        assert end["status"] == "ok"
        # Machine code of its own: a comparison with this machine's says that they differ.
        assert begin["code_sha256"] not in (None, built.catalogue().find("linpack").code_sha256)
        end = run(agent, "trial 2 fork_shell batches=1 operations=1")[-1]
        assert "would not run under the emulator" in end["reason"]
    assert list((tmp_path / "work").iterdir()) == []


def _words(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (LoadBuild("zig"), "the target is '', and must be one of aarch64-linux-musl"),
        (LoadBuild("zig", target="vax-vms"), "the target is 'vax-vms', and must be one of"),
        (LoadBuild("gcc", target=AARCH64), "gcc builds for this machine only"),
        (LoadBuild("zig", target=AARCH64, shared=True), "zig's programs are static"),
    ],
)
def test_a_target_that_is_none_is_refused(build: LoadBuild, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        builds.make(build)


def test_a_build_that_is_not_there_is_asked_for_by_its_command() -> None:
    with pytest.raises(Unsupported, match="steelyard build --cc zig --target aarch64-linux-musl --level O2"):
        built.load("zig-aarch64-linux-musl-O2")
