"""What tests share: the right to run (markers skip with the reason printed) and a command line to call."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
import watching
from starting import Starter

pytest_plugins = ["bounds"]
FAKE_AGENT = Path(__file__).with_name("fake_agent.py")


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
        return "takes many minutes: make reboots"
    if marker == "root" and os.geteuid() != 0:
        return "not root"
    if marker == "ssh" and not Path("/usr/sbin/sshd").exists():
        return "sshd is not installed"
    if marker == "strace" and subprocess.run(["strace", "-o/dev/null", "true"], check=False).returncode:
        return "strace may not trace here"
    if marker in ("bpf", "ptrace"):
        return watching.refusal(marker)
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
    """The installed command, with an archive of the test's own."""

    def run(*arguments: str, timeout: float = 120, **environment: str) -> subprocess.CompletedProcess[str]:
        known = os.environ | {"STEELYARD_ARCHIVE": str(archive)} | environment
        return starter.run(arguments, environment=known, timeout=timeout)

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


@contextmanager
def ssh_server(tmp_path: Path, *, shell: str = "") -> Iterator[str]:
    """A host with a shell: this one, by an ssh server of our own on a loopback port, with its own keys.
    Another program may answer in place of the shell: it finds the command in SSH_ORIGINAL_COMMAND."""
    for name in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {tmp_path}/host_key\nUsePAM no\nStrictModes no\n"
        f"AuthorizedKeysFile {tmp_path}/user_key.pub\nPermitRootLogin prohibit-password\n"
        f"PidFile {tmp_path}/pid\nSetEnv HOME={tmp_path}/home\n"
        + (f"ForceCommand {shell}\nSubsystem sftp internal-sftp\n" if shell else "")
    )
    (tmp_path / "ssh_config").write_text(
        f"Host bench\n HostName 127.0.0.1\n Port {port}\n IdentityFile {tmp_path}/user_key\n"
        f" UserKnownHostsFile {tmp_path}/known\n StrictHostKeyChecking accept-new\n LogLevel ERROR\n"
    )
    (tmp_path / "home").mkdir()
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    server = subprocess.Popen(
        ["/usr/sbin/sshd", "-D", "-e", "-f", tmp_path / "sshd_config"], stderr=subprocess.DEVNULL
    )
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    yield "ssh:bench"
    server.terminate()
    server.wait()
