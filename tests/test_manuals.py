"""The manual pages, the shells' completion and docs/commands.md are made from the command line's own tables:
each names every verb and option, and the programs that read them take them as they are."""

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from steelyard.cli import parser
from steelyard.cli.verb import Verb, options_of
from steelyard.programs import built

pytestmark = pytest.mark.program
ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "scripts" / "manuals"
PAGES = ["steelyard.1", "steelyard-load.1", "steelyard-watch.1", "steelyard-client.1"]
VERBS = [
    (f"{one.name} {verb.name}" if verb is not one else one.name, verb)
    for one in parser.VERBS
    for verb in ([one] if isinstance(one, Verb) else one.actions)
]
FLAGS = {(words, flag) for words, verb in VERBS for one in options_of(verb.options) for flag in one.flags}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("manuals")
    programs = [str(built.load("glibc")), str(built.monitor()), str(built.client())]
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
@pytest.mark.parametrize("program", ["load", "watch", "client"])
def test_a_program_s_manual_has_what_its_help_has(pages: Path, program: str) -> None:
    path = {"load": built.load("glibc"), "watch": built.monitor(), "client": built.client()}[program]
    told = subprocess.run([path, "--help"], capture_output=True, text=True, check=True)

    text = printed(pages / f"steelyard-{program}.1")

    assert told.stderr == ""
    for line in told.stdout.strip().splitlines():
        for part in re.split(r"\s{2,}", line.strip().removeprefix("usage: ")):
            assert part in " ".join(text.split()), part


def test_the_monitor_s_help_has_every_option_that_it_takes() -> None:
    table = re.findall(r'^\t\{ "(\w+)", (?:"\w+"|NULL), "', (ROOT / "monitor" / "main.c").read_text(), re.M)
    told = subprocess.run([built.monitor(), "--help"], capture_output=True, text=True, check=True).stdout

    assert len(table) > 10
    assert re.findall(r"^  --(\w+)", told, re.M) == table


@needs("groff")
@pytest.mark.parametrize("page", PAGES)
def test_the_formatter_warns_of_nothing(pages: Path, page: str) -> None:
    told = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", "-z", pages / page], capture_output=True, text=True
    )

    assert (told.returncode, told.stderr) == (0, "")


def test_docs_commands_is_what_the_tables_say() -> None:
    made = subprocess.run([sys.executable, SCRIPT, "commands"], capture_output=True, text=True, check=True)

    assert (ROOT / "docs" / "commands.md").read_text() == made.stdout, "scripts/manuals commands makes it"
    sections = dict(re.findall(r"^## steelyard (.*)\n((?:(?!## ).*\n)*)", made.stdout, re.MULTILINE))
    assert [one for one in FLAGS if f"{one[1]}" not in sections[one[0]]] == []


# Completion: each shell is asked as it asks itself when a person presses Tab.


def by_bash(pages: Path, words: Sequence[str]) -> list[str]:
    script = (
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _steelyard; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    command = ["bash", "--norc", "-c", script, "bash", str(pages / "steelyard.bash"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def by_fish(pages: Path, words: Sequence[str]) -> list[str]:
    script = 'source $argv[1]; complete -C "$argv[2]"'
    command = ["fish", "--no-config", "-c", script, str(pages / "steelyard.fish"), " ".join(words)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [line.partition("\t")[0] for line in told.splitlines()]


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
        ("steelyard plan --format ", {"text", "json", "csv"}),
        ("steelyard watch --backend ", {"bpf", "ptrace"}),
        ("steelyard list ", {"systems", "studies"}),
        ("steelyard archive export --table ", {"samples", "readings"}),
    ],
)
def test_what_may_follow_is_offered(pages: Path, shell, written: str, offered: set[str]) -> None:
    assert offered <= set(shell(pages, written.split(" ")))


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("words", [words for words, _ in VERBS])
def test_every_option_of_a_verb_is_offered(pages: Path, shell, words: str) -> None:
    offered = set(shell(pages, ["steelyard", *words.split(), "--"]))

    assert {flag for verb, flag in FLAGS if verb == words and flag.startswith("--")} <= offered
    assert shell(pages, ["steelyard", *words.split(), "--nothing"]) == []


@needs("bash")
def test_a_command_to_watch_is_offered_after_the_hyphens(pages: Path) -> None:
    assert "bash" in by_bash(pages, ["steelyard", "watch", "--detail", "calls", "--", "bas"])
    assert by_bash(pages, ["steelyard", "watch", "--detail", "c"]) == ["calls"]


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
def test_zsh_completes_at_a_terminal(pages: Path, tmp_path: Path, written: str, completed: str) -> None:
    script = tmp_path / "press-tab"
    script.write_text(
        "zmodload zsh/zpty\nzpty shell zsh -f -i\n"
        'zpty -w shell "fpath=($1 \\$fpath); autoload -Uz compinit; compinit -u -D; PS1=ready"\n'
        "zpty -r -m shell told '*ready*ready*'\n"
        "zpty -w -n shell $2$'\\t'\nzpty -r -m shell told \"*$3*\" && print found\n"
    )

    told = subprocess.run(
        ["zsh", "-f", script, pages, written, completed], capture_output=True, text=True, timeout=60
    )

    assert told.stdout == "found\n", told
