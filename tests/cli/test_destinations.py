"""What an option names to be written into takes the text whole, or one sentence says which option and why: as
a rule before anything is measured."""

import os
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from installed_command import COMMAND, Run
from patience import patience

from steelyard import cli, destination, home
from steelyard.cli import output, parser
from steelyard.cli.verb import WRITTEN, Family, Verb, options_of
from steelyard.errors import Unsupported, UsageError

# Operands without which argparse does not come to the options.
OPERANDS = {
    "compare": ["native", "native"],
    "gate": ["old", "new"],
    "run": ["pegasus"],
    "plan": ["pegasus"],
    "load": ["http://127.0.0.1:9/"],
    "archive merge": ["nowhere"],
}


def verbs() -> Iterator[tuple[str, Verb]]:
    for one in parser.VERBS:
        actions = one.actions if isinstance(one, Family) else ()
        yield from ((f"{one.name} {action.name}", action) for action in actions)
        if isinstance(one, Verb):
            yield one.name, one


WRITING = [
    (name, option.flags[0])
    for name, verb in verbs()
    for option in options_of(verb.options)
    if option.name in WRITTEN
]


def test_every_option_that_names_a_file_to_be_written_is_looked_at_first() -> None:
    """By its type: a path that is not read, nor a directory, nor an operand."""
    reads = {("watch", "--program"), ("archive export", ""), ("archive merge", "")}
    found = {
        (name, "".join(option.flags[:1]))
        for name, verb in verbs()
        for option in options_of(verb.options)
        if option.words.get("type") is Path
    }
    assert len(WRITING) > 15
    assert found - reads == set(WRITING)


@pytest.mark.parametrize(("name", "flag"), WRITING)
@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("", "it is a directory"),
        ("none/below", "no such directory"),
        ("file/below", "Not a directory"),
        ("/dev/fd/987", "this command was given no descriptor 987"),
        ("/proc/self/fd/987", "this command was given no descriptor 987"),
        ("x" * 300, "File name too long"),
    ],
)
def test_where_nothing_can_be_written_each_command_says_so_at_once(
    name: str, flag: str, place: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / place
    words = [*name.split(), *OPERANDS.get(name, []), flag, str(path)]

    assert cli.main(words) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith(f"steelyard: {flag} is '{str(path)[:40]}")
    assert said.endswith(f"which cannot be written: {why}")


def written(path: Path, text: str = "text\n") -> str | None:
    """Why it is not."""
    try:
        output.may_be_written("--output", path)
        output.write("--output", path, text)
    except UsageError as error:
        return str(error)
    return None


def test_a_file_is_replaced_whole_and_keeps_its_rights(tmp_path: Path) -> None:
    file = tmp_path / "file"
    assert written(file, "new\n") is None
    usual = file.stat().st_mode
    file.chmod(0o640)
    before = file.stat().st_ino
    assert written(file, "newer\n") is None

    assert file.read_text() == "newer\n"
    assert file.stat().st_ino != before
    assert (usual & 0o777, file.stat().st_mode & 0o777) == (0o666 & ~umask(), 0o640)
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_a_link(tmp_path: Path, is_there: bool) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "link").symlink_to("below/file")
    if is_there:
        (tmp_path / "below" / "file").write_text("old\n")

    assert written(tmp_path / "link") is None
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "below" / "file").read_text() == "text\n"


def test_a_name_of_the_greatest_length_is_one(tmp_path: Path) -> None:
    assert written(tmp_path / ("x" * 255)) is None
    assert (tmp_path / ("x" * 255)).read_text() == "text\n"


def test_a_descriptor_is_not_truncated(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("before\n")
    with open(log, "a") as file:
        os.set_inheritable(file.fileno(), True)
        for path in (f"/dev/fd/{file.fileno()}", f"/proc/self/fd/{file.fileno()}"):
            assert written(Path(path)) is None
        (tmp_path / "link").symlink_to(f"/dev/fd/{file.fileno()}")
        assert written(tmp_path / "link") is None

    assert log.read_text() == "before\n" + 3 * "text\n"


def test_a_descriptor_of_our_own_or_for_reading_takes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("kept\n")
    with open(file, "r+") as ours, open(file) as theirs:
        os.set_inheritable(theirs.fileno(), True)
        assert "was given no descriptor" in (written(Path(f"/dev/fd/{ours.fileno()}")) or "")
        assert "for reading only" in (written(Path(f"/dev/fd/{theirs.fileno()}")) or "")
    assert file.read_text() == "kept\n"


def test_a_device_that_takes_nothing_is_named() -> None:
    assert written(Path("/dev/null")) is None
    assert written(Path("/dev/full")) == (
        "--output is '/dev/full', which cannot be written: No space left on device"
    )


def test_a_pipe_gets_all_that_its_reader_waits_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = "x" * 1_000_000
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()

    assert written(pipe, text) is None
    reader.join()
    assert read == [text]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_pipe_that_nobody_reads_is_named_and_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(destination, "_READER_S", 0.05)
    os.mkfifo(tmp_path / "pipe")

    assert (written(tmp_path / "pipe") or "").endswith("which cannot be written: this pipe has no reader")


@pytest.mark.root
@pytest.mark.program
def test_a_file_that_is_a_mount_of_its_own_is_written_in_place(tmp_path: Path) -> None:
    """As a container has a single file of its host's."""
    (tmp_path / "theirs").write_text("something longer than what comes\n" * 1000)
    (tmp_path / "ours").touch()
    script = 'mount --bind "$1" "$2" && exec "$3" list studies --output "$2"'
    words = ["unshare", "-m", "sh", "-c", script, "-", tmp_path / "theirs", tmp_path / "ours", COMMAND]
    shown = subprocess.run([COMMAND, "list", "studies"], capture_output=True, check=True)
    done = subprocess.run(words, capture_output=True, check=False, timeout=patience(60))
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "theirs").read_bytes() == shown.stdout


@pytest.mark.program
@pytest.mark.parametrize("words", [["list", "studies"], ["watch", "--format", "csv", "--", "true"]])
@pytest.mark.parametrize("place", ["-", "/dev/stdout", "/dev/fd/1"])
def test_standard_output_is_a_file_like_others(words: list[str], place: str, steelyard: Run) -> None:
    done = steelyard(words[0], "--output", place, *words[1:])

    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 1
    assert not Path("-").exists()


@pytest.mark.program
def test_a_watch_whose_report_finds_no_place_names_it(steelyard: Run) -> None:
    done = steelyard("watch", "--output", "/dev/full", "--", "true")

    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "steelyard: --output is '/dev/full', which cannot be written: No space left on device"
    )


# The user's directories


@pytest.mark.parametrize("wrong", ["none", "file", "file/below"])
def test_tmpdir_is_not_replaced(wrong: str, tmp_path: Path, steelyard: Run) -> None:
    (tmp_path / "file").touch()
    for words in (["list"], ["watch", "--", "true"], ["doctor"]):
        done = steelyard(*words, TMPDIR=str(tmp_path / wrong))
        assert done.returncode == 2
        assert done.stderr.startswith(
            f"steelyard: TMPDIR is '{tmp_path / wrong}', but must be a directory that can be written: "
        )
        assert done.stdout == ""


def test_without_a_temporary_directory_what_to_set_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(home, "_TEMPORARY", str(tmp_path / "none"))

    assert cli.main(["list", "studies"]) == 0  # which needs none
    assert cli.main(["doctor", "--no-start"]) == 0
    assert "there is no directory for temporary files: TMPDIR is not set" in capsys.readouterr().out
    with pytest.raises(Unsupported, match="TMPDIR is not set"):
        home.unnamed_file()


@pytest.mark.parametrize("variable", ["XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "HOME"])
def test_a_relative_directory_of_the_user_s_is_refused(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "some/where")
    places: dict[str, Any] = {"XDG_CACHE_HOME": home.cache, "XDG_RUNTIME_DIR": home.runtime}

    with pytest.raises(UsageError, match=f"{variable} is 'some/where', but must be the path of a directory"):
        places.get(variable, home.data)()


def test_an_empty_home_is_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", "")
    assert home.data() == Path(f"{os.path.expanduser(f'~{home.user()}')}/.local/share")


@pytest.mark.root
@pytest.mark.program
def test_a_full_temporary_directory_is_named(tmp_path: Path, archive: Path) -> None:
    script = 'mount -t tmpfs -o size=4k none "$1" && head -c 4096 /dev/zero > "$1/full" && shift && exec "$@"'
    full = tmp_path / "full"
    full.mkdir()
    begin = ["unshare", "-m", "sh", "-c", script, "-", full, COMMAND]
    for words, name in ((["watch", "--", "true"], "TMPDIR"), (["compare", "native", "native"], str(full))):
        done = subprocess.run(
            [*begin, *words],
            env=os.environ | {"TMPDIR": str(full), "STEELYARD_ARCHIVE": str(archive)},
            capture_output=True,
            text=True,
            check=False,
            timeout=patience(120),
        )
        assert done.returncode == 1
        assert name in done.stderr
        assert "No space left on device" in done.stderr
