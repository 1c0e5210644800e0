"""What make does before and after Meson: packages are installed or named, what changed is looked for again,
what was built elsewhere is built again, and what was installed can be removed. Fake tools stand for apt-get
and sudo."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import places
import pytest
from patience import patience

ROOT = places.ROOT
SCRIPTS = ROOT / "scripts"
pytestmark = pytest.mark.program

Done = subprocess.CompletedProcess[str]
# A file for each package that is there; "broken" cannot be installed, and no release has "unknown".
TOOLS = {
    "dpkg-query": 'shift 3; for one; do [ -e "$STATE/$one" ] && echo "$one install ok installed"; done; true',
    "dpkg": 'echo "dpkg $*" >>"$STATE/log"',
    "apt-cache": 'case $2 in unknown*) ;; *) echo "  Candidate: 1.0" ;; esac',
    "apt-get": """echo "apt-get $*" >>"$STATE/log"
case $1 in check|update) exit 0 ;; esac
for one; do case $one in broken*) [ -e "$STATE/mended" ] || exit 100 ;; esac; done
for one; do case $one in [a-z]*) : >"$STATE/$one" ;; esac; done""",
    "id": 'case $1 in -u) echo "$NUMBER" ;; *) echo somebody ;; esac',
    "systemctl": "true",
    "sudo": """case $1 in
-n) exit "$SUDO" ;;
-v) echo asked >>"$STATE/log"; exit "$SUDO" ;;
*) exec "$@" ;;
esac""",
}


class Machine:
    """A machine with such tools, and nothing of this one's but the usual commands."""

    def __init__(self, folder: Path) -> None:
        self.state, self.bin = folder / "state", folder / "bin"
        self.state.mkdir()
        self.bin.mkdir()
        for name, script in TOOLS.items():
            self.add(name, script)

    def add(self, name: str, script: str) -> None:
        (self.bin / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.bin / name).chmod(0o755)

    def install(self, *packages: str, number: int = 0, sudo: int | None = None, **environment: str) -> Done:
        """`sudo` is what `sudo -n true` ends with; None: there is no sudo."""
        path = f"{self.bin}:/usr/bin:/bin"
        if sudo is None:
            (self.bin / "sudo").unlink(missing_ok=True)
            shutil.copy("/usr/bin/env", self.bin / "env")
            path = self.only_needed()
        known = {
            "PATH": path,
            "STATE": str(self.state),
            "NUMBER": str(number),
            "SUDO": str(sudo),
            **environment,
        }
        return subprocess.run(
            [SCRIPTS / "install-packages", *packages],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=known,
            timeout=patience(30),
        )

    def only_needed(self) -> str:
        """A path without this machine's sudo."""
        for name in ("sed", "grep", "env", "cat", "rm", "tee", "chmod", "sh"):
            target = shutil.which(name)
            assert target
            if not (self.bin / name).exists():
                (self.bin / name).symlink_to(target)
        return str(self.bin)

    @property
    def log(self) -> str:
        file = self.state / "log"
        return file.read_text() if file.exists() else ""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_what_is_missing_is_installed_at_once_and_what_is_there_is_not(machine: Machine) -> None:
    (machine.state / "there").touch()

    assert machine.install("there", "one", "two").returncode == 0

    installs = [line for line in machine.log.splitlines() if " install " in line]
    assert len(installs) == 1
    assert installs[0].endswith(" one two")
    before = machine.log
    machine.install("there", "one", "two")
    assert machine.log == before, "nothing is missing any more, so nothing is asked"


def test_one_that_cannot_be_installed_keeps_no_other_away_and_is_tried_again(machine: Machine) -> None:
    done = machine.install("one", "broken", "two")

    assert done.returncode == 0
    assert "could not install broken" in done.stderr
    assert (machine.state / "one").exists()
    assert (machine.state / "two").exists()
    (machine.state / "mended").touch()
    machine.install("one", "broken", "two")
    assert (machine.state / "broken").exists()


def test_one_that_the_release_lacks_is_named_and_not_asked_for(machine: Machine) -> None:
    done = machine.install("one", "unknown-here")

    assert "this release has no package unknown-here" in done.stderr
    assert (machine.state / "one").exists()
    assert not re.search(r"install.*unknown-here", machine.log)


def test_an_interrupted_installation_is_finished_first(machine: Machine) -> None:
    machine.install("one")

    lines = machine.log.splitlines()
    assert lines[0] == "dpkg --configure -a"
    assert next(number for number, line in enumerate(lines) if " install " in line) > 0


def test_servers_are_not_started_while_they_are_installed_and_only_then(
    machine: Machine, tmp_path: Path
) -> None:
    policy = tmp_path / "policy-rc.d"
    machine.add("apt-get", f'[ ! -x {policy} ] || {policy}; echo "$1 $?" >>"$STATE/log"')

    machine.install("--servers", "one", POLICY=str(policy))

    asked = [line for line in machine.log.splitlines() if line.startswith("install ")]
    assert asked == ["install 101"]
    assert not policy.exists()


def test_what_forbids_to_start_servers_forbids_nothing_after_a_kill(machine: Machine, tmp_path: Path) -> None:
    """The machine would never start a server again that is installed or renewed."""
    policy = tmp_path / "policy-rc.d"
    machine.add("apt-get", 'kill -9 "$PPID"')

    machine.install("--servers", "one", POLICY=str(policy))

    assert subprocess.run([policy]).returncode == 0
    machine.add("apt-get", f'[ ! -x {policy} ] || {policy}; echo "$1 $?" >>"$STATE/log"')
    machine.install("--servers", "one", POLICY=str(policy))
    assert "install 101" in machine.log.splitlines()
    assert not policy.exists()


def test_a_machine_s_own_word_on_starting_servers_stands(machine: Machine, tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 104\n")

    machine.install("--servers", "one", POLICY=str(policy))

    assert policy.read_text() == "#!/bin/sh\nexit 104\n"


@pytest.mark.parametrize(
    ("sudo", "environment", "why"),
    [
        (None, {}, "is not root and has no sudo"),
        (1, {}, "sudo wants a password, with nobody at a terminal"),
        (0, {"INSTALL": "no"}, "INSTALL=no"),
    ],
)
def test_who_may_not_is_given_the_one_command_and_waits_for_nothing(
    machine: Machine, sudo: int | None, environment: dict[str, str], why: str
) -> None:
    (machine.state / "there").touch()

    done = machine.install("there", "one", "two", number=1000, sudo=sudo, **environment)

    assert done.returncode == 0
    assert why in done.stderr
    assert done.stderr.splitlines()[1:] == [
        "    apt-get update && apt-get install --no-install-recommends one two"
    ]
    assert machine.log == ""


def test_sudo_that_needs_no_password_installs(machine: Machine) -> None:
    machine.install("one", number=1000, sudo=0)

    assert (machine.state / "one").exists()


def check_tools(folder: Path, name_of_python: str, **tools: str) -> Done:
    """In a directory with these tools alone, and the few that the script itself needs."""
    for name in ("mktemp", "rm"):
        (folder / name).symlink_to(shutil.which(name) or "")
    for name, script in tools.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return subprocess.run(
        ["/bin/sh", SCRIPTS / "check-tools", name_of_python],
        capture_output=True,
        text=True,
        env={"PATH": str(folder)},
        timeout=patience(30),
    )


def test_a_machine_without_compiler_and_python_is_told_both_at_once(tmp_path: Path) -> None:
    done = check_tools(tmp_path, "python3")

    assert done.returncode == 1
    assert "there is no cc (on Debian: apt-get install build-essential)" in done.stderr
    assert "there is no python3 (on Debian: apt-get install python3)" in done.stderr


@pytest.mark.parametrize(
    ("tools", "python", "told"),
    [
        ({"cc": "exit 1", "python": "exit 0"}, "python", "the static C library is missing"),
        ({"cc": "exit 0", "old": "[ $1 = -V ] && echo Python 3.9.2"}, "old", "old is Python 3.9.2"),
        (
            {"cc": "exit 0", "bare": "case $2 in *ensurepip*) exit 1;; esac"},
            "bare",
            "apt-get install python3-venv",
        ),
    ],
)
def test_what_is_there_by_half_is_said_too(
    tmp_path: Path, tools: dict[str, str], python: str, told: str
) -> None:
    done = check_tools(tmp_path, python, **tools)

    assert done.returncode == 1
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_where_all_is_there_nothing_is_said(tmp_path: Path) -> None:
    done = check_tools(tmp_path, "python", cc="exit 0", python="exit 0")

    assert (done.returncode, done.stderr) == (0, "")


def look_for(*things: str, path: Path) -> list[str]:
    environment = {"PATH": f"{path}:/usr/bin:/bin"}
    done = subprocess.run([SCRIPTS / "look-for", *things], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_tool_that_comes_changes_or_goes_is_noticed(tmp_path: Path) -> None:
    things = ("program:such-a-compiler", "package:no-such-library", "library:no-such", "header:no-such.h")

    def now() -> list[str]:
        return look_for(*things, path=tmp_path)

    nothing = now()
    assert nothing == [*things]
    (tmp_path / "such-a-compiler").write_text("#!/bin/sh\n")
    (tmp_path / "such-a-compiler").chmod(0o755)
    first = now()
    assert first[0].startswith(f"program:such-a-compiler {tmp_path}/such-a-compiler ")
    (tmp_path / "such-a-compiler").write_text("#!/bin/sh\nexit 1\n")
    assert now() != first
    (tmp_path / "such-a-compiler").unlink()
    assert now() == nothing


@pytest.mark.builds
def test_meson_looks_again_when_something_has_come(tmp_path: Path) -> None:
    """A program that is in no directory of the path at first."""
    source, tools = tmp_path / "source", tmp_path / "tools"
    tools.mkdir()
    shutil.copytree(SCRIPTS, source / "scripts")
    (source / "meson.build").write_text(
        "project('small')\n"
        "there = find_program('such-a-tool', required: false).found()\n"
        "configure_file(output: 'there', configuration: {'there': there}, output_format: 'json')\n"
        "found = run_command('scripts/look-for', 'program:such-a-tool', check: true).stdout()\n"
        "configure_file(output: 'found', input: 'scripts/found.in', configuration: {'found': found})\n"
    )
    environment = os.environ | {"PATH": f"{tools}:{Path(sys.executable).parent}:/usr/bin:/bin"}

    def do(*words: str) -> None:
        subprocess.run(
            words, cwd=source, check=True, env=environment, stdout=subprocess.DEVNULL, timeout=patience(60)
        )

    def there() -> bool:
        read = json.loads((source / "build" / "there").read_text())
        assert isinstance(read["there"], bool)
        return read["there"]

    do("meson", "setup", "build")
    assert not there()
    (tools / "such-a-tool").write_text("#!/bin/sh\n")
    (tools / "such-a-tool").chmod(0o755)
    do("scripts/configure", "build")
    assert there()
    made = (source / "build" / "there").stat().st_mtime_ns
    do("scripts/configure", "build")
    assert (source / "build" / "there").stat().st_mtime_ns == made, "nothing has changed since"
    (tools / "such-a-tool").unlink()
    do("scripts/configure", "build")
    assert not there()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree that was built, as far as scripts/begin looks; its name has a space."""
    folder = tmp_path / "a tree"
    (folder / ".venv" / "bin").mkdir(parents=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    (folder / ".venv" / "lib" / version).mkdir(parents=True)
    (folder / ".venv" / "bin" / "python").symlink_to(sys.executable)
    (folder / ".venv" / "bin" / "pip").write_text(f"#!{folder}/.venv/bin/python\n")
    (folder / "scripts").symlink_to(SCRIPTS)
    (folder / "build").mkdir()
    (folder / "build" / "found").write_text("\n".join(look_for("compiler:cc", path=folder)))
    assert begin(folder).returncode == 0
    assert (folder / "build").exists()
    return folder


def begin(folder: Path) -> Done:
    return subprocess.run(
        ["scripts/begin", sys.executable], cwd=folder, capture_output=True, text=True, timeout=patience(30)
    )


def test_what_was_built_here_stays(tree: Path) -> None:
    done = begin(tree)

    assert (done.returncode, done.stderr) == (0, "")
    assert (tree / "build").exists()
    assert (tree / ".venv").exists()


def _another_compiler(tree: Path) -> None:
    (tree / "build" / "found").write_text("compiler:cc cc 1.0\n")


def _another_python(tree: Path) -> None:
    (folder,) = (tree / ".venv" / "lib").iterdir()
    folder.rename(folder.with_name("python3.1"))


def _no_python(tree: Path) -> None:
    (tree / ".venv" / "bin" / "python").unlink()
    (tree / ".venv" / "bin" / "python").symlink_to("/no/such/python")


@pytest.mark.parametrize("spoil", [_another_compiler, _another_python, _no_python])
def test_what_another_tool_built_is_built_again(tree: Path, spoil: Callable[[Path], None]) -> None:
    spoil(tree)

    done = begin(tree)

    assert done.returncode == 0
    assert "building again" in done.stderr
    assert not (tree / "build").exists()
    assert not (tree / ".venv").exists()


def test_a_tree_that_was_moved_is_built_again(tree: Path) -> None:
    moved = tree.rename(tree.with_name("elsewhere"))

    done = begin(moved)

    assert "was made in another directory" in done.stderr
    assert not (moved / ".venv").exists()
    assert not (moved / "build").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_what_cannot_be_written_is_named(tree: Path) -> None:
    (tree / "build").chmod(0o555)

    done = begin(tree)

    assert done.returncode == 1
    assert "cannot be written by" in done.stderr


def test_make_takes_no_jobs_from_another_make_and_gives_none(tmp_path: Path) -> None:
    """ninja and pip would take a jobserver's descriptors for theirs, which are closed."""
    makefile = (ROOT / "Makefile").read_text()
    shell = "\n".join(line for line in makefile.splitlines() if re.match(r"\.?SHELL", line))
    (tmp_path / "Makefile").write_text(f'{shell}\nall:\n\t@echo "flags: $$MAKEFLAGS$$MFLAGS."\n')

    for jobs in ("-j2", "-j", "-j1"):
        done = subprocess.run(
            ["make", jobs], cwd=tmp_path, capture_output=True, text=True, timeout=patience(30), check=True
        )
        assert done.stdout == "flags: .\n"


def test_two_makes_at_once_wait_for_each_other(tmp_path: Path) -> None:
    words = [SCRIPTS / "alone", "sh", "-c", "echo begin >>log; sleep 0.3; echo end >>log"]

    running = [subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [one.communicate(timeout=patience(30))[1] for one in running]

    assert [one.returncode for one in running] == [0, 0]
    assert (tmp_path / "log").read_text().split() == ["begin", "end", "begin", "end"]
    assert sum("waits for another make" in one for one in said) <= 1


def test_help_names_every_target_that_a_person_gives() -> None:
    done = subprocess.run(
        ["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=patience(30)
    )

    named = set(re.findall(r"^make ([a-z]+)", done.stdout, re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text()
    (phony,) = re.findall(r"^\.PHONY: ((?:.*\\\n)*.*)", makefile, re.MULTILINE)
    internal = {"all", "fuzzers", "packages", "packages-of-all", "packages-of-tests", "tools", "configured"}
    assert named == set(phony.replace("\\", "").split()) - internal


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """One that has what is linked: a command, a manual page, a completion."""
    import zipfile

    path = tmp_path / "steelyard-1-py3-none-any.whl"
    share = "steelyard-1.data/data/share"
    with zipfile.ZipFile(path, "w") as file:
        for name, text in {
            "steelyard.py": "def entry():\n    print('hello')\n",
            f"{share}/man/man1/steelyard.1": "manual",
            f"{share}/fish/vendor_completions.d/steelyard.fish": "completion",
            "steelyard-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: steelyard\nVersion: 1\n",
            "steelyard-1.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            "steelyard-1.dist-info/entry_points.txt": "[console_scripts]\nsteelyard = steelyard:entry\n",
            "steelyard-1.dist-info/RECORD": "",
        }.items():
            file.writestr(name, text)
    return path


def _all_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def _install_into(*words: object, **how: int) -> Done:
    return subprocess.run(
        [SCRIPTS / "install-into", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=patience(120),
        **how,
    )


def test_uninstall_leaves_what_was_there_before_and_nothing_else(tmp_path: Path, wheel: Path) -> None:
    prefix = tmp_path / "a prefix"
    (prefix / "share" / "man").mkdir(parents=True)
    (prefix / "share" / "man" / "other.1").touch()
    before = _all_below(prefix)

    done = _install_into(prefix, sys.executable, wheel, umask=0o077)

    assert done.returncode == 0, done.stderr
    command = subprocess.run([prefix / "bin" / "steelyard"], capture_output=True, text=True, check=True)
    assert command.stdout == "hello\n"
    assert (prefix / "share/man/man1/steelyard.1").read_text() == "manual"
    assert all(path.stat().st_mode & 0o004 for path in (prefix / "lib").rglob("*"))
    (prefix / "share" / "fish" / "another").touch()
    (prefix / "bin" / "steelyard").unlink()
    (prefix / "bin" / "steelyard").write_text("another")
    done = _install_into(prefix, sys.executable, wheel)
    assert done.returncode == 0, "again, as for a newer version"
    assert "is there already" in done.stderr, "a command of that name that is not ours is left"
    assert _install_into("--undo", prefix).returncode == 0
    others = {"bin", "bin/steelyard", "share/fish", "share/fish/another"}
    assert _all_below(prefix) - before == others
    assert (prefix / "bin" / "steelyard").read_text() == "another"
    assert before <= _all_below(prefix)
    again = _install_into("--undo", prefix)
    assert again.returncode == 1
    assert "nothing is installed" in again.stderr


@pytest.mark.builds
def test_a_build_names_each_part_that_it_lacks_why_and_what_brings_it(tmp_path: Path) -> None:
    """Without pkg-config nothing is known of libbpf, which may well be there; the monitor says so too."""
    absent = {"pkg-config", "musl-gcc", "x86_64-w64-mingw32-gcc"}
    tools, build = tmp_path / "tools", tmp_path / "build"
    tools.mkdir()
    for program in Path("/usr/bin").iterdir():
        if program.name not in absent:
            (tools / program.name).symlink_to(program)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PKG_CONFIG")}
    environment["PATH"] = f"{Path(sys.executable).parent}:{tools}"

    def do(*words: object) -> str:
        done = subprocess.run(
            [*map(str, words)],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=patience(170),
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    do("meson", "setup", "-Dsqlite=disabled", build)
    lacks = json.loads((build / "lacks.json").read_text())
    do("ninja", "-C", build, "monitor/steelyard-watch")
    probe = do(build / "monitor" / "steelyard-watch", "--probe")

    reason = lacks.pop("BPF in the monitor")
    if sys.platform == "linux" and os.uname().machine == "x86_64":
        assert "pkg-config" in reason
        assert re.search(r"\(on Debian: apt-get install pkg-config[a-z ]*\)", reason)
    assert lacks == {
        "SQLite among the databases": "it was configured so (-Dsqlite=disabled)",
        "the load program for musl": "musl-gcc was not found (on Debian: apt-get install musl-tools)",
        "the load program for Windows": "x86_64-w64-mingw32-gcc was not found (on Debian: apt-get install "
        "gcc-mingw-w64-x86-64)",
    }
    assert f"built without it, because {reason}" in probe


def test_the_summary_has_what_is_missing_and_one_command_for_all_of_it(tmp_path: Path) -> None:
    reasons = {
        "BPF in the monitor": "clang, bpftool were not found (on Debian: apt-get install clang bpftool)",
        "the load program for musl": "musl-gcc was not found (on Debian: apt-get install musl-tools)",
    }
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "lacks.json").write_text(json.dumps(reasons))

    done = subprocess.run(
        [sys.executable, SCRIPTS / "summary"],
        cwd=tmp_path,
        env={"PATH": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=patience(60),
    )

    assert done.returncode == 0, done.stderr
    assert "Its monitor has no BPF." in done.stdout
    for name, reason in reasons.items():
        assert re.search(rf"^  {name} +{re.escape(reason)}$", done.stdout, re.MULTILINE)
    assert re.search(r"^  system gvisor +runsc is not installed", done.stdout, re.MULTILINE)
    (command,) = re.findall(
        r"apt-get update && apt-get install --no-install-recommends (.*)$", done.stdout, re.MULTILINE
    )
    assert {"clang", "bpftool", "musl-tools", "runsc", "user-mode-linux"} <= set(command.split())
    assert "Systems that can be compared here: native" in done.stdout
