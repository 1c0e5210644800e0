"""What tests share: the right to run (markers skip with the reason printed) and a command line to call."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

import monitor_runs
import places
import pytest
from installed_command import Run, Starter
from patience import patience

from steelyard.errors import Unsupported
from steelyard.programs import built

pytest_plugins = ["bounds"]
FAKE_AGENT = places.SUPPORT / "fake_agent.py"


def _missing(marker: str) -> str | None:
    """Why a test with that marker cannot run here; None if it can."""
    needs = {
        "gvisor": ["runsc"],
        "uml": ["linux.uml"],
        "ssh": ["ssh", "ssh-keygen"],
        "strace": ["strace"],
        "wine": ["wine", "wineserver", "x86_64-w64-mingw32-gcc"],
    }
    for program in needs.get(marker, []):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    if marker == "long" and not os.environ.get("STEELYARD_LONG"):
        return "takes long: make reboots"
    if marker == "root" and os.geteuid() != 0:
        return "not root"
    if marker == "ssh" and not Path("/usr/sbin/sshd").exists():
        return "sshd is not installed"
    if marker == "strace" and subprocess.run(["strace", "-o/dev/null", "true"], check=False).returncode:
        return "strace may not trace here"
    if marker in ("bpf", "ptrace"):
        return monitor_runs.refusal(marker)
    return None


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers():
        reason = _missing(mark.name)
        if reason:
            pytest.skip(reason)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "archive"


@pytest.fixture
def keeping_compilers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a further build compiles is kept in pytest's cache, by its content: by zig itself, with its libc,
    and of the others by ccache, where it is installed."""
    cache = request.config.cache
    assert cache is not None
    monkeypatch.setenv("ZIG_GLOBAL_CACHE_DIR", str(cache.mkdir("zig")))
    if ccache := shutil.which("ccache"):
        compilers = cache.mkdir("compilers")
        for name in ("gcc", "clang", "musl-gcc"):
            with suppress(FileExistsError):
                (compilers / name).symlink_to(ccache)
        monkeypatch.setenv("PATH", f"{compilers}:{os.environ['PATH']}")
        monkeypatch.setenv("CCACHE_DIR", str(cache.mkdir("ccache")))
        monkeypatch.setenv("CCACHE_MAXSIZE", "500M")


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """One that servers reach as other users: pytest's own is closed to them."""
    with tempfile.TemporaryDirectory(prefix="steelyard-test-") as made:
        yield Path(made)


@pytest.fixture(scope="session")
def starter() -> Iterator[Starter]:
    with closing(Starter()) as made:
        yield made


@pytest.fixture
def steelyard(archive: Path, starter: Starter) -> Run:
    """The installed command, with an archive of the test's own. A test of all that it says also gives it a
    TMPDIR of its own: what another test's killed run has left there is removed, and this is said."""

    def run(
        *arguments: str,
        timeout: float = 120,
        without: Sequence[tuple[str, str]] = (),
        refused: tuple[str, str] | None = None,
        **environment: str,
    ) -> subprocess.CompletedProcess[str]:
        known = os.environ | {"STEELYARD_ARCHIVE": str(archive)} | environment
        limit = patience(timeout)
        return starter.run(arguments, environment=known, timeout=limit, without=without, refused=refused)

    return run


@pytest.fixture
def write_study(tmp_path: Path) -> Callable[..., str]:
    """Writes a small study of fake systems and returns its file's name."""

    def write(*, systems: dict[str, str], workloads: str = "syscall", blocks: int = 8, more: str = "") -> str:
        lines = [
            'name = "small"',
            'title = "small"',
            f"systems = {list(systems)!r}".replace("'", '"'),
            more,
            f'[design]\nblocks = {blocks}\nbudget = "60s"\ntrial_limit = "5s"',
        ]
        lines += [f'[[workload]]\nname = "{name}"' for name in workloads.split()]
        for name, behaviour in systems.items():
            words = [sys.executable, str(FAKE_AGENT), *behaviour.split()]
            command = ", ".join(f'"{word}"' for word in words)
            lines.append(f'[system."{name}"]\ncommand = [{command}]')
        path = tmp_path / "small study.toml"
        path.write_text("\n".join(lines))
        return str(path)

    return write


@pytest.fixture
def real() -> Path:
    """The monitor that was built, where it can count by BPF."""
    try:
        program = built.monitor()
    except Unsupported as error:
        pytest.skip(str(error))
    assert program.stat().st_mode & stat.S_IXUSR
    probed = subprocess.run([program, "--probe"], capture_output=True, text=True, check=False)
    works = [line for line in probed.stdout.splitlines() if '"bpf"' in line and '"works":true' in line]
    if not works:
        pytest.skip(f"BPF does not work here: {probed.stdout.partition(chr(10))[0]}")
    return program
