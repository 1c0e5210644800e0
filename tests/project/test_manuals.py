"""The manual pages, commands.md and what shells complete come from the command line's own tables: each
names every verb and option, and the programs that read them take them as they are."""

import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import places
import pytest
from installed_command import COMMAND
from patience import patience

from steelyard.cli import parser
from steelyard.cli.verb import Verb, options_of
from steelyard.programs import built

pytestmark = pytest.mark.program
ROOT = places.ROOT
SCRIPT = ROOT / "scripts" / "manuals"
PAGES = ["steelyard.1", "steelyard-load.1", "steelyard-watch.1"]
VERBS = [
    (f"{one.name} {verb.name}" if verb is not one else one.name, verb)
    for one in parser.VERBS
    for verb in ([one] if isinstance(one, Verb) else one.actions)
]
FLAGS = {(words, flag) for words, verb in VERBS for one in options_of(verb.options) for flag in one.flags}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("manuals")
    programs = [str(built.load("glibc")), str(built.monitor())]
    subprocess.run([sys.executable, SCRIPT, place, "1.2.3", *programs], check=True)
    return place


def needs(*programs: str) -> pytest.MarkDecorator:
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} is not installed")


def printed(page: Path) -> str:
    """The page as a terminal shows it, its lines filled to no width."""
    words = ["groff", "-man", "-Tascii", "-P-cbou", "-rLL=1000n", str(page)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_the_tables_have_options_to_name() -> None:
    assert {verb for verb, _ in FLAGS} == {words for words, _ in VERBS}
    assert len(FLAGS) > 60


@needs("groff")
def test_the_manual_has_every_verb_with_its_options_and_the_version(pages: Path) -> None:
    text = printed(pages / "steelyard.1")
    sections = re.split(r"^ {3}steelyard (?=\w)", text.partition("\nCOMMANDS\n")[2], flags=re.MULTILINE)[1:]
    found = {section.splitlines()[0].strip(): section for section in sections}

    assert list(found) == [words for words, _ in VERBS]
    assert [one for one in FLAGS if not re.search(rf"(^|\s){one[1]}\b", found[one[0]])] == []
    assert "Steelyard 1.2.3" in text
    for heading in ("NAME", "SYNOPSIS", "ENVIRONMENT", "EXIT STATUS", "SEE ALSO"):
        assert f"\n{heading}\n" in text


@needs("groff")
@pytest.mark.parametrize("program", ["load", "watch"])
def test_a_program_s_manual_has_what_its_help_has(pages: Path, program: str) -> None:
    path = {"load": built.load("glibc"), "watch": built.monitor()}[program]
    told = subprocess.run([path, "--help"], capture_output=True, text=True, check=True)

    text = printed(pages / f"steelyard-{program}.1")

    assert told.stderr == ""
    for line in told.stdout.strip().splitlines():
        for part in re.split(r"\s{2,}", line.strip().removeprefix("usage: ")):
            assert part in " ".join(text.split()), part


def test_the_monitor_s_help_has_every_option_that_it_takes() -> None:
    source = (ROOT / "monitor" / "main.c").read_text()
    table = re.findall(r'^\t\{ "([\w-]+)", (?:"\w+"|NULL),\s+"', source, re.M)
    told = subprocess.run([built.monitor(), "--help"], capture_output=True, text=True, check=True).stdout

    assert len(table) > 10
    assert re.findall(r"^  --([\w-]+)", told, re.M) == table


@needs("groff")
@pytest.mark.parametrize("page", PAGES)
def test_the_formatter_warns_of_nothing(pages: Path, page: str) -> None:
    told = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", "-z", pages / page], capture_output=True, text=True
    )

    assert (told.returncode, told.stderr) == (0, "")


def test_the_page_of_commands_has_every_option() -> None:
    made = subprocess.run([sys.executable, SCRIPT, "commands"], capture_output=True, text=True, check=True)

    sections = dict(re.findall(r"^## steelyard (.*)\n((?:(?!## ).*\n)*)", made.stdout, re.MULTILINE))
    assert [one for one in FLAGS if f"{one[1]}" not in sections[one[0]]] == []


# Completion: each shell is asked as it asks itself when a person presses Tab.

SCRIPTS = ROOT / "scripts" / "completion"


def by_bash(line: str, folder: Path) -> list[str]:
    script = (
        'source "$1"; COMP_LINE=$2; COMP_POINT=${#2}; COMP_TYPE=9; _python_argcomplete steelyard; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return _asked(["bash", "--norc", "-c", script, "bash", str(SCRIPTS / "steelyard.bash"), line], folder)


def by_fish(line: str, folder: Path) -> list[str]:
    script = 'source $argv[1]; complete -C "$argv[2]"'
    words = ["fish", "--no-config", "-c", script, str(SCRIPTS / "steelyard.fish"), line]
    return [line.partition("\t")[0] for line in _asked(words, folder)]


def _asked(words: list[str], folder: Path) -> list[str]:
    told = subprocess.run(
        words, cwd=folder, env=environment(folder), capture_output=True, text=True, check=True
    )
    return told.stdout.splitlines()


def environment(folder: Path) -> dict[str, str]:
    return os.environ | {
        "PATH": f"{COMMAND.parent}:{os.environ['PATH']}",
        "STEELYARD_ARCHIVE": str(folder / "archive"),
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "d" / "my dir" / "inner").mkdir(parents=True)
    (tmp_path / "d" / "my study.toml").touch()
    for name in ("20260131-120000-pegasus-1a2b", "20260201-120000-web-3c4d"):
        (tmp_path / "archive" / "experiments" / name).mkdir(parents=True)
    (tmp_path / "archive" / "watches" / "20260202-120000-watch-5e6f").mkdir(parents=True)
    return tmp_path


SHELLS = [
    pytest.param(by_bash, marks=needs("bash"), id="bash"),
    pytest.param(by_fish, marks=needs("fish"), id="fish"),
]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("written", "offered"),
    [
        ("steelyard ", {one.name for one in parser.VERBS}),
        ("steelyard archive ", {"list", "show", "merge", "export"}),
        ("steelyard compare native ", {"native-musl", "uml", "gvisor"}),
        ("steelyard compare --study ", {"standard", "pegasus"}),
        ("steelyard run peg", {"pegasus"}),
        ("steelyard run pegasus --only sie", {"sieve"}),
        ("steelyard watch --backend ", {"bpf", "ptrace"}),
        ("steelyard list ", {"systems", "studies"}),
        ("steelyard archive export --table ", {"samples", "readings"}),
        ("steelyard report ", {"20260131-120000-pegasus-1a2b", "20260201-120000-web-3c4d"}),
        ("steelyard archive export 20260201", {"20260201-120000-web-3c4d"}),
        ("steelyard watch --kept ", {"20260202-120000-watch-5e6f"}),
    ],
)
def test_what_may_follow_is_offered(folder: Path, shell, written: str, offered: set[str]) -> None:
    assert offered <= {one.strip() for one in shell(written, folder)}


@needs("bash")
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("steelyard compare native --study=peg", ["pegasus "]),
        ("steelyard report d/my\\ d", ["d/my\\ dir/"]),
        ("steelyard report 'd/my d", ["d/my dir/"]),
        ("steelyard run d/my\\ s", ["d/my\\ study.toml "]),
        ("steelyard report --archive=d/my\\ dir/in", ["d/my\\ dir/inner/"]),
        ("steelyard report --archive d/my\\ dir 2026", [""]),
        ("steelyard watch --detail c", ["calls "]),
        ("steelyard report --nothing", [""]),
        ("steelyard plan --seed ", [""]),
    ],
)
def test_a_word_is_completed_and_never_lost(folder: Path, written: str, expected: list[str]) -> None:
    assert by_bash(written, folder) == expected


@needs("bash")
def test_bash_at_a_terminal_completes_a_path_with_a_space(folder: Path) -> None:
    """By readline itself, which would delete what was typed if the words were not ours."""
    answer, ours = pty.fork()
    if answer == 0:
        os.chdir(folder)
        os.execve(
            shutil.which("bash") or "bash", ["bash", "--norc", "--noprofile", "-i"], environment(folder)
        )
    try:
        os.write(ours, f"source {shlex.quote(str(SCRIPTS / 'steelyard.bash'))}; PS1='ready>'\n".encode())
        seen = _read_until(ours, b"ready>")
        os.write(ours, b"steelyard report d/my\\ d\t")
        seen = _read_until(ours, b"dir/")
        assert b"steelyard report d/my\\ dir/" in seen
    finally:
        os.kill(answer, signal.SIGKILL)
        os.waitpid(answer, 0)
        os.close(ours)


def _read_until(handle: int, words: bytes) -> bytes:
    seen = b""
    while not seen.rstrip().endswith(words) and words not in seen.rpartition(b"\n")[2]:
        seen += os.read(handle, 1000)
    return seen


@needs("bash")
@pytest.mark.parametrize("words", [words for words, _ in VERBS])
def test_every_option_of_a_verb_is_offered(folder: Path, words: str) -> None:
    offered = {one.strip() for one in by_bash(f"steelyard {words} --", folder)}

    assert {flag for verb, flag in FLAGS if verb == words and flag.startswith("--")} <= offered


@needs("bash")
def test_a_command_to_watch_is_offered_after_the_hyphens(folder: Path) -> None:
    assert "bash" in by_bash("steelyard watch --detail calls -- bas", folder)
    assert by_bash("steelyard watch --detail calls -- bash d/my\\ s", folder) == ["d/my\\ study.toml "]
    assert by_bash("steelyard watch bas", folder) == [""]


@needs("bash")
def test_what_is_asked_by_a_shell_changes_nothing(folder: Path) -> None:
    before = sorted(folder.rglob("*"))

    by_bash("steelyard report ", folder)

    assert sorted(folder.rglob("*")) == before


@needs("zsh")
@pytest.mark.parametrize(
    ("written", "completed"),
    [
        ("steelyard rep", "steelyard report"),
        ("steelyard run --form", "steelyard run --format"),
        ("steelyard run peg", "steelyard run pegasus"),
        ("steelyard archive ex", "steelyard archive export"),
        ("steelyard build --cc cl", "steelyard build --cc clang"),
    ],
)
def test_zsh_completes_at_a_terminal(folder: Path, written: str, completed: str) -> None:
    script = folder / "press-tab"
    script.write_text(
        "zmodload zsh/zpty\nzpty shell zsh -f -i\n"
        'zpty -w shell "fpath=($1 \\$fpath); autoload -Uz compinit; compinit -u -D; PS1=ready"\n'
        "zpty -r -m shell told '*ready*ready*'\n"
        "zpty -w -n shell $2$'\\t'\nzpty -r -m shell told \"*$3*\" && print found\n"
    )

    told = subprocess.run(
        ["zsh", "-f", script, SCRIPTS, written, completed],
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=patience(60),
    )

    assert told.stdout == "found\n", told
