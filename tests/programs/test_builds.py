"""The factor "build": another compiler, libc or level makes another program, and a system can run it."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from machine_code import code

from steelyard import cli, systems
from steelyard.errors import Unsupported, UsageError
from steelyard.programs import builds, built
from steelyard.programs.builds import LoadBuild
from steelyard.running import order


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Builds of the tests' own, so that the user's are let alone."""
    monkeypatch.setenv("STEELYARD_PROGRAMS", str(tmp_path / "programs"))
    return tmp_path / "programs"


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (LoadBuild(), "gcc-glibc-O2"),
        (LoadBuild("clang", "musl", "O3"), "clang-musl-O3"),
        (LoadBuild("/usr/bin/gcc", "glibc", "Os", shared=True), "gcc-glibc-Os-shared"),
    ],
)
def test_a_build_is_named_by_its_levels(build: LoadBuild, name: str) -> None:
    assert build.name == name


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (LoadBuild("tcc"), ("compiler", "'tcc'", "gcc, clang")),
        (LoadBuild(libc="dietlibc"), ("libc", "'dietlibc'", "glibc, musl")),
        (LoadBuild(level="O9"), ("level", "'O9'", "O0, O1")),
        (LoadBuild(libc="musl", shared=True), ("shared", "glibc")),
    ],
)
def test_a_build_of_unknown_levels_is_refused_by_name(build: LoadBuild, words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as refused:
        builds.make(build)
    assert all(word in str(refused.value) for word in words)


def test_a_compiler_that_is_not_there_is_named() -> None:
    with pytest.raises(Unsupported, match="gcc-99 is not installed"):
        builds.make(LoadBuild("gcc-99"))


@pytest.mark.builds
@pytest.mark.limit(600)  # where other work has the processors, a compiler takes minutes
@pytest.mark.usefixtures("keeping_compilers")
@pytest.mark.parametrize(
    "build",
    [
        LoadBuild("clang", "musl", "O0"),
        pytest.param(LoadBuild(level="O0", shared=True), marks=pytest.mark.long),  # userlands run one, too
    ],
)
def test_a_further_build_runs_the_same_workloads(build: LoadBuild) -> None:
    """And holds the machine code that all programs share as it is: only the rest is compiled. At the level
    that compiles fastest."""
    for needed in (build.compiler, *(["musl-gcc"] if build.libc == "musl" else [])):
        if shutil.which(needed) is None:
            pytest.skip(f"{needed} is not installed")

    place = builds.make(build)

    assert built.load(build.name) == place
    assert build.name in built.builds()
    answer = subprocess.run(
        [place, "run", "sieve", "batches=1", "warmup_ns=0"], capture_output=True, check=True
    )
    assert b'"status":"ok"' in answer.stdout
    answer = subprocess.run([place, "run", "linpack", "operations=2"], capture_output=True, check=True)
    assert code() in place.read_bytes()
    assert json.loads(answer.stdout.splitlines()[0])["code_sha256"] == hashlib.sha256(code()).hexdigest()
    greeting = built.greeting(build.name)
    assert greeting["compiler"].startswith(build.compiler)
    assert greeting["libc"].startswith(build.libc)
    assert systems.find(f"native+{build.name}").program == build.name


def test_a_build_that_is_missing_says_how_to_make_it() -> None:
    with pytest.raises(Unsupported, match="steelyard build --cc clang --libc musl --level O3"):
        systems.find("native+clang-musl-O3")
    with pytest.raises(Unsupported, match="there are glibc"):
        systems.find("native+nonsense")


def test_every_system_is_crossed_with_every_build(tmp_path: Path) -> None:
    study = tmp_path / "mine.toml"
    study.write_text(
        'name = "mine"\ntitle = "mine"\nsystems = ["native", "uml"]\nbuilds = ["glibc", "musl"]\n'
        '[[workload]]\nname = "sieve"\n'
    )

    plan = order.plan_of(order.Order(str(study), None, (), None, 1))

    assert plan.systems == ("native+glibc", "native+musl", "uml+glibc", "uml+musl")


def test_the_command_prints_the_builds_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builds, "make", lambda build: built.build_place(build.name))
    assert cli.main(["build", "--level", "O1"]) == 0
    assert capsys.readouterr().out == "gcc-glibc-O1\n"
    monkeypatch.undo()
    assert cli.main(["build", "--cc", "tcc"]) == 2
    assert "'tcc'" in capsys.readouterr().err
