"""What a system said before it ended is kept, and of it the line that says why is shown."""

import json
import os
import tempfile
from pathlib import Path

import pytest
from fake_laboratory import Laboratory, _run
from installed_command import Run
from synthetic import plan as make_plan

from steelyard import last_words
from steelyard.errors import Unsupported
from steelyard.events import Event, Words

BACKTRACE = [f"[    1.0{number}]  ? do_something_{number}+0x{number}/0x20" for number in range(40)]
TAIL = [
    "[    1.9] RIP: 0033:0x7f",
    "[    1.9]  </TASK>",
    "[    1.9] ---[ end Kernel panic - not syncing: x ]---",
]

# What ended it, as those who say it write it: each stands before a backtrace of 40 lines.
CAUSES = [
    "[    1.0] Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000b00",
    "[    1.0] VFS: Unable to mount root fs on unknown-block(0,0)",
    "[    1.0] BUG: kernel NULL pointer dereference, address: 0000000000000008",
    "[    1.0] Oops: 0000 [#1] PREEMPT SMP NOPTI",
    "[    1.0] Out of memory: Killed process 71 (steelyard-load) total-vm:2048kB",
    "[    1.0] init[1]: segfault at 0 ip 0000000000401000 sp 00007ffd error 4",
    "Segmentation fault (core dumped)",
    "qemu-system-x86_64: cannot set up guest memory 'pc.ram': Cannot allocate memory",
    'runsc: running container: creating container: cannot create sandbox: "EOF"',
    "panic: runtime error: invalid memory address or nil pointer dereference",
    "ssh: connect to host nowhere port 22: Connection refused",
    "root@nowhere: Permission denied (publickey).",
    "Host key verification failed.",
    'wine: could not load ntdll.so: "(null)"',
    "0024:err:module:loader_init could not load kernel32.dll",
]


@pytest.mark.parametrize("cause", CAUSES)
def test_the_line_that_says_why_is_shown_however_much_is_said_after_it(cause: str) -> None:
    said = last_words.summary(["booting", "all is well", cause, *BACKTRACE, *TAIL])

    assert said[0] == cause
    assert len(said) <= 4
    assert said[-1] == TAIL[-1]


def test_the_first_cause_and_what_came_of_it_are_both_shown() -> None:
    first, last = "init[1]: segfault at 0 ip 4", "Kernel panic - not syncing: Attempted to kill init!"

    said = last_words.summary([first, *BACKTRACE, last, *BACKTRACE])

    assert said[:2] == [first, last]


def test_what_only_complains_counts_where_nothing_else_says_why() -> None:
    said = last_words.summary(["mount: /x: permission denied", *BACKTRACE])

    assert said[0] == "mount: /x: permission denied"


def test_the_last_lines_are_shown_where_no_line_says_why() -> None:
    assert last_words.summary(["one", "two", " ", "three", "four\x1b[2J"]) == ["two", "three", "four\\x1b[2J"]
    assert last_words.summary([]) == []


def test_of_a_command_that_failed_the_reason_is_told_and_not_its_farewell() -> None:
    said = b"mke2fs: Device size reported to be zero: No space left on device\nsee the manual\n\n"

    assert last_words.last_line(said).startswith("mke2fs: Device size")
    assert last_words.last_line(b"first\nlast\n") == "last"
    assert last_words.last_line(b"") == "no reason given"


def test_what_is_kept_is_bounded_and_holds_the_beginning_and_the_end() -> None:
    much = b"begins\n" + b"in between\n" * 100_000 + b"ends \x1b[31mred\x00\n"

    said = last_words.kept(much)

    assert said.text.startswith("begins\n")
    assert said.text.endswith("ends \\x1b[31mred\\x00")
    assert said.left_out == len(much) - last_words.KEPT_MOST
    assert f"[{said.left_out} bytes are not kept]" in said.text
    assert len(said.text) < last_words.KEPT_MOST + 200


def test_a_file_that_is_still_written_to_is_read_without_moving_its_place() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b"one\ntwo\n")
        file.flush()
        assert last_words.lines_of(file.fileno()) == ["one", "two"]
        assert last_words.lines_of(file.fileno(), since=4) == ["two"]
        assert last_words.kept(file.fileno()).text == "one\ntwo"
        assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == 8


# --- of the systems of a run


def _words(laboratory: Laboratory, **others: object) -> list[Words]:
    kept: list[Event] = []
    list(_run(laboratory, make_plan("sieve", blocks=4), keep=kept.append, **others))
    return [one for one in kept if isinstance(one, Words)]


def test_words_of_every_start_are_kept_also_of_one_that_ends_well() -> None:
    laboratory = Laboratory()
    start = laboratory.start

    def talkative(system: str, terms: object) -> object:
        agent = start(system, terms)  # type: ignore[arg-type]
        agent.words = f"{system} boots"
        return agent

    laboratory.start = talkative  # type: ignore[method-assign,assignment]
    laboratory.behave = lambda system, workload, number: "dies" if (system, number) == ("b", 2) else "ok"

    words = _words(laboratory)

    assert [(one.speaker, one.boot) for one in words if one.ended] == [("b", 1)]
    assert "has ended" in str(next(one.ended for one in words if one.ended))
    assert {(one.speaker, one.boot) for one in words} == {("a", 1), ("b", 1), ("b", 2)}
    assert {one.errors for one in words} == {"a boots", "b boots"}


def test_a_system_that_does_not_come_up_leaves_its_reason() -> None:
    laboratory = Laboratory()
    laboratory.starts = lambda system, number: Unsupported("it panicked") if system == "b" else None
    kept: list[Event] = []

    with pytest.raises(Unsupported):
        list(_run(laboratory, make_plan("sieve"), keep=kept.append))

    assert [(one.speaker, one.ended) for one in kept if isinstance(one, Words)] == [("b", "it panicked")]


STUDY = """
name = "dies"
title = "dies"
systems = ["native", "panics"]
[design]
budget = "60s"
blocks = 2
[[workload]]
name = "null"
[system.panics]
command = ["sh", "-c", '''
echo "a boot loader greets"
echo "[    0.9] \\033[2JKernel panic - not syncing: no working init" >&2
for i in 1 2 3 4 5 6 7 8 9; do echo "[    1.$i]  ? call_$i+0x0/0x20" >&2; done
exit 1''', "{program}"]
"""


@pytest.mark.program
def test_a_guest_that_panics_is_told_by_its_panic_and_its_console_is_kept(
    steelyard: Run, tmp_path: Path
) -> None:
    """With the experiment, which tells it again; copied with it, and shown with nothing that a terminal
    obeys."""
    (tmp_path / "dies.toml").write_text(STUDY)
    archive = str(tmp_path / "archive")

    done = steelyard("run", str(tmp_path / "dies.toml"), "--archive", archive)

    assert done.returncode == 77
    assert "Kernel panic - not syncing: no working init" in done.stderr.replace("\n", " ")
    (folder,) = (tmp_path / "archive" / "experiments").iterdir()
    shown = steelyard("archive", "show", "--words", "--archive", archive).stdout
    assert "a boot loader greets" in shown
    assert "call_1+0x0" in shown
    assert "\x1b" not in shown
    (row,) = json.loads(
        steelyard("archive", "show", "--words", "--format", "json", "--archive", archive).stdout
    )
    assert (row["speaker"], row["boot"]) == ("panics", 1)
    assert "Kernel panic" in row["errors"]
    assert "Kernel panic" in row["ended"]
    reported = steelyard("report", "--archive", archive)
    assert reported.returncode == 0
    assert "panics" in reported.stdout
    file = tmp_path / "words.csv"
    steelyard("archive", "export", folder.name, str(file), "--table", "words", "--archive", archive)
    assert "Kernel panic" in file.read_text()
