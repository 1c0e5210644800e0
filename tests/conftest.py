"""What tests share: the right to run (markers skip with the reason printed) and a command line to call."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("steelyard")
FAKE_AGENT = Path(__file__).with_name("fake_agent.py")


def _missing(marker: str) -> str | None:
    """Why a test with that marker cannot run here; None if it can."""
    needs = {
        "gvisor": ["runsc"],
        "uml": ["linux.uml"],
        "ssh": ["ssh", "ssh-keygen"],
        "strace": ["strace"],
    }
    for program in needs.get(marker, []):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    if marker == "root" and os.geteuid() != 0:
        return "not root"
    if marker == "ssh" and not Path("/usr/sbin/sshd").exists():
        return "sshd is not installed"
    if marker == "strace" and subprocess.run(["strace", "-o/dev/null", "true"], check=False).returncode:
        return "strace may not trace here"
    return None


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers():
        reason = _missing(mark.name)
        if reason:
            pytest.skip(reason)


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "archive"


@pytest.fixture
def steelyard(archive: Path) -> Run:
    """The installed command, with an archive of the test's own."""

    def run(*arguments: str, timeout: float = 120, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMAND, *arguments],
            capture_output=True,
            text=True,
            timeout=timeout,
            env=os.environ | {"STEELYARD_ARCHIVE": str(archive)} | environment,
            stdin=subprocess.DEVNULL,
        )

    return run


@pytest.fixture
def write_study(tmp_path: Path) -> Callable[..., str]:
    """Writes a small study of fake systems and returns its file's name."""

    def write(
        *, systems: dict[str, str], workloads: str = "syscall", looks: str = "[8]", more: str = ""
    ) -> str:
        lines = [
            'name = "small"',
            'title = "small"',
            f"systems = {list(systems)!r}".replace("'", '"'),
            more,
            f'[design]\nlooks = {looks}\nbudget = "60s"\ntrial_limit = "5s"',
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
