"""Whatever other users' processes, names, streams and encodings are, the laboratory measures, or says one
sentence; and nothing from outside reaches a terminal, a spreadsheet or a page as more than text.
"""

import ast
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from installed_command import COMMAND, Run
from monitor_runs import until
from patience import patience
from rich.table import Table
from rich.text import Text

import steelyard
from steelyard import terminal, text
from steelyard.report import template
from steelyard.systems import agent, groups

WriteStudy = Callable[..., str]
ODD = b"a \xff\xfe\x1b[31m[red]"
NASTY = "\x1b[31m[red]a[/red]\x07\u202e\udcff\ud800\r\n=1+1"
SHOWN = "\\x1b[31m[red]a[/red]\\x07\\u202e\\xff\\ud800\\r\\n=1+1"

_NAMED = f"""
import ctypes, time
ctypes.CDLL(None).prctl(15, {ODD[:15]!r}, 0, 0, 0)
print("named", flush=True)
time.sleep(60)
"""


def is_a_sentence(said: bytes) -> bool:
    *lines, rest = said.decode().split("\n")
    return rest == "" and lines[-1].startswith("steelyard") and all(line.isprintable() for line in lines)


@pytest.fixture
def somebody() -> Iterator[int]:
    """A process of somebody's, whose name is not UTF-8."""
    process = subprocess.Popen([sys.executable, "-c", _NAMED], stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()
    yield process.pid
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_run_goes_on_beside_a_process_whose_name_is_not_utf_8(
    somebody: int, steelyard: Run, write_study: WriteStudy
) -> None:
    assert ODD[:15] in Path(f"/proc/{somebody}/stat").read_bytes()
    study = write_study(systems={"a": "", "b": ""}, blocks=2)
    done = steelyard("run", study)
    assert done.returncode == 0, done.stderr


@pytest.mark.program
def test_descendants_are_found_by_parent_whatever_processes_are_called(somebody: int, tmp_path: Path) -> None:
    """As on a kernel that does not list children."""
    for name, parent in (("10", "1"), ("11", "10")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "task").mkdir()
        (tmp_path / name / "task" / name).mkdir()
        stat = Path(f"/proc/{somebody}/stat").read_bytes()
        begin, _, end = stat.rpartition(b") ")
        state, _, rest = end.split(b" ", 2)
        (tmp_path / name / "stat").write_bytes(begin + b") " + b" ".join([state, parent.encode(), rest]))
        (tmp_path / name / "status").write_bytes(b"Name:\t\xff\nTracerPid:\t0\n")
    assert agent.descendants(10, proc=tmp_path) == [11]


def test_control_groups_are_found_where_names_are_odd(tmp_path: Path) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "cgroup").write_bytes(b"1:memory:/a\xff\x0b b\n")
    (tmp_path / "self" / "mountinfo").write_bytes(
        b"1 1 0:1 / /mnt/\xff\\040\\012x rw - fuse.x a\xff rw\n"
        b"2 1 0:2 / /cg\\040\xff rw - cgroup cgroup rw,memory\n"
    )
    assert [os.fsencode(mount) for mount in groups.mounts(proc=tmp_path)] == [b"/cg \xff"]


@pytest.mark.program
@pytest.mark.parametrize("which", ["directory", "home", "environment", "archive"])
def test_a_run_goes_on_where_names_around_it_are_odd(
    which: str, write_study: WriteStudy, tmp_path: Path
) -> None:
    odd = os.fsencode(tmp_path) + b"/" + ODD + b"\n"
    os.mkdir(odd)
    study = write_study(systems={"a": "", "b": ""}, blocks=2)
    environment: dict[bytes, bytes] = {**os.environb, b"STEELYARD_ARCHIVE": os.fsencode(tmp_path / "archive")}
    if which == "home":
        environment |= {b"HOME": odd, b"XDG_RUNTIME_DIR": odd}
    if which == "archive":
        environment[b"STEELYARD_ARCHIVE"] = odd + b"/archive"
    if which == "environment":
        environment |= {b"\xff": b"\xfe\n", b"LANG": b"\xff", b"COLUMNS": b"\xff"}
    done = subprocess.run(
        [COMMAND, "run", study],
        cwd=odd if which == "directory" else None,
        env=environment,
        capture_output=True,
        check=False,
        timeout=patience(120),
    )
    assert done.returncode == 0, done.stderr
    again = subprocess.run(
        [COMMAND, "report"], env=environment, capture_output=True, check=False, timeout=patience(60)
    )
    assert again.returncode == 0, again.stderr


@pytest.mark.program
@pytest.mark.root
def test_a_run_goes_on_on_a_host_whose_name_is_odd(write_study: WriteStudy, tmp_path: Path) -> None:
    study = write_study(systems={"a": "", "b": ""}, blocks=2)
    name = b"../\xff\x1b"
    script = (
        f"import ctypes, os; assert not ctypes.CDLL(None).sethostname({name!r}, {len(name)}); "
        f"os.execv({str(COMMAND)!r}, ['steelyard', 'run', {study!r}])"
    )
    done = subprocess.run(
        ["unshare", "--uts", sys.executable, "-c", script],
        env=os.environ | {"STEELYARD_ARCHIVE": str(tmp_path / "archive")},
        capture_output=True,
        check=False,
        timeout=patience(120),
    )
    assert done.returncode == 0, done.stderr


def as_nobody_known(*words: str, tmp: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command as a user that this machine does not list, without HOME: as in many containers."""
    right = "dac_read_search"  # to reach the program, wherever it is
    keep = [f"--inh-caps=-all,+{right}", f"--ambient-caps=-all,+{right}"]
    user = ["setpriv", "--reuid=1234567", "--regid=1234567", "--clear-groups", *keep]
    tmp.chmod(0o777)
    known = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp)} | environment
    return subprocess.run([*user, COMMAND, *words], env=known, capture_output=True, text=True, check=False)


@pytest.mark.program
@pytest.mark.root
def test_without_a_home_directory_all_goes_that_needs_none(open_directory: Path) -> None:
    archive = str(open_directory / "archive")
    for words in (["list", "systems"], ["list", "studies"], ["watch", "--", "true"]):
        done = as_nobody_known(*words, tmp=open_directory, STEELYARD_ARCHIVE=archive)
        assert done.returncode == 0, done.stderr
    for words in (["report"], ["archive", "list"], ["run", "pegasus", "--budget", "5s"]):
        done = as_nobody_known(*words, tmp=open_directory)
        assert done.returncode == 77
        said = done.stderr.splitlines()[-1]
        assert said.startswith("steelyard: user 1234567 has no home directory: HOME is not set")


@pytest.mark.program
@pytest.mark.parametrize(
    "words",
    [
        ["--directory", b"d\xff\n"],
        ["--directory", b"d\t"],
        ["--html", b"nowhere\xff/a.html"],
        ["--html", b"d\xff\n"],
    ],
)
def test_where_nothing_could_be_kept_nothing_is_measured(
    words: list[str | bytes], write_study: WriteStudy, tmp_path: Path
) -> None:
    for name in (b"d\xff\n", b"d\t"):
        os.mkdir(os.fsencode(tmp_path) + b"/" + name)
    study = write_study(systems={"a": "", "b": ""}, blocks=2)
    done = subprocess.run(
        [COMMAND, "run", study, *words],
        cwd=tmp_path,
        env=os.environ | {"STEELYARD_ARCHIVE": str(tmp_path / "archive")},
        capture_output=True,
        check=False,
        timeout=patience(120),
    )
    assert done.returncode == 2
    assert is_a_sentence(done.stderr)
    assert not list(tmp_path.glob("archive*/experiments/*"))


@pytest.mark.program
def test_a_page_may_have_any_name(write_study: WriteStudy, tmp_path: Path) -> None:
    study = write_study(systems={"a": "", "b": ""}, blocks=2)
    page = os.fsencode(tmp_path) + b"/p \xff\n.html"
    done = subprocess.run(
        [COMMAND, "run", study, "--html", page, "--archive", tmp_path / "a b\n'", "--directory", tmp_path],
        capture_output=True,
        check=False,
        timeout=patience(120),
    )
    assert done.returncode == 0, done.stderr
    assert is_a_sentence(done.stderr)
    assert os.path.getsize(page) > 10_000


# Reading


def careless(source: str) -> list[int]:
    """The lines that take bytes for text of this locale, or trust them to be UTF-8 without saying so."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        given = {word.arg for word in node.keywords}
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        texts = [str(one.value) for one in node.args if isinstance(one, ast.Constant)]
        by_number = ast.unparse(node.func) in ("os.open", "calls.open", "files.calls.open")
        opens = name in ("open", "fdopen", "NamedTemporaryFile") and not by_number
        if (
            (opens and not any(re.fullmatch("[rwax+]*b", one) for one in texts) and "encoding" not in given)
            or (name in ("read_text", "write_text") and "encoding" not in given)
            or (name in ("run", "Popen", "check_output") and {"text", "universal_newlines"} & given)
            or (name in ("run", "Popen", "check_output") and "encoding" in given and "errors" not in given)
            or (name == "decode" and not node.args and "errors" not in given)
        ):
            found.append(node.lineno)
    return found


@pytest.mark.computes
def test_nothing_is_read_as_text_without_saying_which() -> None:
    sources = sorted(Path(steelyard.__file__).parent.rglob("*.py"))
    found = {str(file): careless(file.read_text(encoding="utf-8")) for file in sources}
    assert not {file: lines for file, lines in found.items() if lines}
    assert careless("open(a)\nopen(a, 'rb')\nb.decode()\nrun(c, text=True)\nf.read_text()") == [1, 3, 4, 5]


# Streams


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive with an experiment."""
    folder = tmp_path_factory.mktemp("kept")
    study = folder / "s.toml"
    study.write_text(
        'name = "s"\ntitle = "s"\nsystems = ["native", "native"]\n[design]\nblocks = 2\n'
        '[[workload]]\nname = "null"\n[trial]\nbatches = 2\nwarmup_ns = 0\nbatch_ns = 100000\n'
    )
    words = ["run", study, "--no-watch", "--archive", folder / "archive"]
    subprocess.run([COMMAND, *words], capture_output=True, check=True)
    return folder / "archive"


VERBS = {
    "list": ["list", "systems"],
    "plan": ["plan", "pegasus", "--format", "csv"],
    "report": ["report", "--all"],
    "help": ["--help"],
}


def ended(words: list[str], redirection: str, archive: Path, **environment: str) -> tuple[int, bytes, bytes]:
    """Status, standard output and standard error of the command with that redirection."""
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", COMMAND, *words],
        env=os.environ | {"STEELYARD_ARCHIVE": str(archive), "TMPDIR": str(archive.parent)} | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=patience(120),
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.program
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("redirection", "why"), [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")]
)
def test_standard_output_that_takes_nothing_is_told(
    verb: str, redirection: str, why: str, kept: Path
) -> None:
    status, _, said = ended(VERBS[verb], redirection, kept)
    assert said.decode() == f"steelyard: standard output cannot be written: {why}\n"
    assert status == 1


@pytest.mark.program
@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", "<&-"])
def test_other_streams_are_not_missed(redirection: str, kept: Path) -> None:
    assert ended(["report"], redirection, kept)[0] == 0
    assert ended(["report", "nothing"], redirection, kept)[0] == 2


@pytest.mark.program
def test_a_run_is_kept_whatever_becomes_of_the_streams(write_study: WriteStudy, tmp_path: Path) -> None:
    study = write_study(systems={"a": "", "b": ""}, blocks=2)
    for redirection in ("<&- >&- 2>&-", ">/dev/full 2>/dev/full"):
        archive = tmp_path / redirection.replace("/", "")
        assert ended(["run", study], redirection, archive)[0] == 1
        assert ended(["report"], "", archive)[0] == 0


@pytest.mark.program
@pytest.mark.parametrize("verb", VERBS)
def test_a_closed_pipe_ends_quietly(verb: str, kept: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [COMMAND, *VERBS[verb]],
        env=os.environ | {"STEELYARD_ARCHIVE": str(kept), "TMPDIR": str(kept.parent)},
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.program
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("environment", "encoding"),
    [
        ({"PYTHONIOENCODING": "ascii"}, "ascii"),
        ({"PYTHONIOENCODING": "latin-1:strict"}, "latin-1"),
        ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, "ascii"),
    ],
)
def test_output_is_made_of_what_the_stream_can_show(
    verb: str, environment: dict[str, str], encoding: str, kept: Path
) -> None:
    status, printed, said = ended(VERBS[verb], "", kept, **environment)
    assert (status, said) == (0, b"")
    assert printed.decode(encoding)


def test_our_own_signs_have_plain_ones() -> None:
    assert "1 µs ≥ 2 × …".encode("ascii", text.READABLE) == b"1 us >= 2 x ..."
    assert "é\udcff".encode("ascii", text.READABLE) == b"\\xe9\\xff"


# What is shown


def test_what_is_shown_is_one_line_that_says_all() -> None:
    assert text.shown(NASTY) == SHOWN
    assert text.shown("plain ± ünï") == "plain ± ünï"


@pytest.mark.parametrize("width", [40, 200])
def test_a_console_obeys_no_text(width: int) -> None:
    file = io.StringIO()
    console = terminal.Console(file=file, width=width, force_terminal=True, color_system=None)
    table = Table(NASTY, title=NASTY)
    table.add_row(NASTY)
    console.print(NASTY)
    console.print(Text(NASTY))
    console.print(table)
    printed = file.getvalue()
    assert not [sign for sign in printed if not sign.isprintable() and sign != "\n"]
    assert printed.count("[red]") == 5
    if width == 200:
        assert printed.splitlines()[:2] == [SHOWN, SHOWN.replace("\\x07", "").replace("\\r", "")]


@pytest.mark.parametrize(
    "text_cell", ["=cmd|'/c calc'!A1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "=1\n2"]
)
def test_a_cell_is_no_formula(text_cell: str) -> None:
    assert str(text.cell(text_cell))[0] in "'\\"


@pytest.mark.parametrize("value", [-1, -1.5, None, "-1", "+1.5e-7", "a=b", "", "1 - 2"])
def test_numbers_and_plain_texts_stay_as_they_are(value: object) -> None:
    assert text.cell(value) == value


def test_a_page_holds_no_text_that_acts() -> None:
    environment = template._environment()
    made = environment.from_string("<p>{{ said }}</p><script>{{ {'a': [said]}|json }}</script>")
    page = made.render(said=f"</script><script>alert(1)</script>{NASTY}")
    assert "<script>alert" not in page
    assert not [sign for sign in page if not sign.isprintable() and sign != "\n"]
    told = json.loads(page.partition("<script>")[2].removesuffix("</script>"))
    assert told["a"][0].endswith(text.shown(NASTY).replace("\\n", "\n"))


@pytest.mark.program
def test_a_watched_name_is_a_cell_and_a_line(tmp_path: Path) -> None:
    program = os.fsencode(tmp_path) + b"/=1\x1b\xff"
    os.symlink("/bin/true", program)
    words = [COMMAND, "watch", "--detail", "life"]
    done = subprocess.run([*words, "--format", "csv", "--", program], capture_output=True, check=True)
    names = {row["program"] for row in csv.DictReader(io.StringIO(done.stderr.decode()))}
    assert names == {"'=1\\x1b\\xff"}
    done = subprocess.run([*words, "--", program], capture_output=True, check=True)
    assert all(line.isprintable() for line in done.stderr.decode().splitlines())


def test_a_system_s_last_words_are_shown_not_obeyed(steelyard: Run, tmp_path: Path) -> None:
    study = tmp_path / "s.toml"
    words = "printf '\\\\033]0;title\\\\007[red]%020000d\\\\n\\\\377'; exit 1"
    study.write_text(
        'name = "s"\ntitle = "s"\nsystems = ["a"]\n[[workload]]\nname = "null"\n'
        f'[system.a]\ncommand = ["sh", "-c", "{words}"]\n'
    )
    done = steelyard("run", str(study))
    assert done.returncode == 77
    sentence = done.stderr.splitlines()[-1]
    assert sentence.isprintable()
    assert "\\x1b]0;title\\x07[red]0000" in sentence
    assert len(sentence) < 1000


# The monitor


@pytest.mark.program
def test_a_monitor_that_is_killed_is_told_and_what_it_saw(tmp_path: Path) -> None:
    ready, errors = tmp_path / "ready", tmp_path / "errors"
    words = [COMMAND, "watch", "--detail", "life", "--every", "100ms", "--"]
    with open(errors, "wb") as file:
        watching = subprocess.Popen(
            [*words, "sh", "-c", f"true; touch '{ready}'; sleep 30"],
            stderr=file,
            start_new_session=True,
        )
    try:
        until(ready.exists, "the command's start")
        monitor = agent.descendants(watching.pid)[0]
        words = Path(f"/proc/{monitor}/cmdline").read_bytes().split(b"\0")
        assert b"steelyard-watch" in words[0]
        written = Path(f"/proc/{monitor}/fd/{int(words[words.index(b'--records') + 1])}")
        until(lambda: b'"record":"reading"' in written.read_bytes(), "what it sees")
        os.kill(monitor, signal.SIGKILL)
        watching.wait(timeout=patience(60))
    finally:
        os.killpg(watching.pid, signal.SIGKILL)
        watching.wait()
    said = errors.read_text().splitlines()
    assert watching.returncode == 1
    assert said[0].startswith("sh -c")
    assert any(line.startswith("note: the monitor was killed before it ended") for line in said)
    assert (
        said[-1]
        == "steelyard: the monitor was killed by signal 9: the report has what it recorded until then"
    )
