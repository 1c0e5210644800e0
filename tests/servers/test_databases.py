"""Databases: real ones do what they are asked, and false ones are found out."""

import os
import re
import signal
import socket
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import server_trials
from installed_command import COMMAND
from monitor_runs import until
from server_trials import METRICS, Agent, false, figures, running, until_loaded, working

pytestmark = pytest.mark.program

DATABASES = ["mariadb", "postgresql", "sqlite"]
WORKLOADS = ["database_insert", "database_select", "database_update", "database_mixture"]
PARTS = ["create", "insert", "select", "update", "drop"]
PROGRAMS = {"mariadb": "mariadbd", "postgresql": "postgres"}


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """One directory for all, so that each database is prepared once."""
    with tempfile.TemporaryDirectory(prefix="steelyard-test-") as made:
        yield Path(made)


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("database", DATABASES)
def test_a_real_database_does_what_it_is_asked(database: str, workload: str, place: Path) -> None:
    more = {"database_mixture": ["statements=3"], "database_insert": []}.get(workload, ["rows=120"])
    with Agent(place) as agent:
        found = figures(
            agent.perform(
                server_trials.described(database), workload, "clients=3", *server_trials.SHORT, *more
            )
        )
    assert list(found) == METRICS + (PARTS if workload == "database_mixture" else [])
    assert all(found.values())


def test_without_its_library_sqlite_is_unsupported(place: Path) -> None:
    with Agent(place, "musl") as agent:
        end = agent.perform(server_trials.described("sqlite"), "database_insert")[-1]
    assert (end["status"], end["reason"]) == ("unsupported", "this program was built without SQLite")


def listens(process: int) -> bool:
    """Whether it was started to serve, at a port."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"-p" in words or any(word.startswith(b"--port") for word in words)


@pytest.mark.parametrize("database", list(PROGRAMS))
def test_it_is_killed_under_load_and_named(database: str, place: Path) -> None:
    with Agent(place) as agent:
        agent.begin(
            server_trials.described(database),
            "database_select",
            "batches=1",
            "operations=10000000",
            "rows=10",
        )
        server = running(place, PROGRAMS[database])
        while not listens(server):  # what makes the empty database has the same name, and ends
            server = running(place, PROGRAMS[database])
        until_loaded(place)
        os.kill(server, signal.SIGKILL)
        end = agent.records()[-1]
    assert end["status"] == "failed"
    assert f"{database} was killed by signal 9" in end["reason"]


@pytest.mark.root
@pytest.mark.parametrize("database", list(PROGRAMS))
def test_a_port_that_another_program_has_is_named(database: str, place: Path) -> None:
    """Where the server is in its machine's network, because no other can be made."""
    confined = ("setpriv", "--bounding-set=-sys_admin", "--")
    with socket.create_server(("127.0.0.1", 0)) as taken, Agent(place, under=confined) as agent:
        server = server_trials.described(database).replace("{port}", str(taken.getsockname()[1]))
        end = agent.perform(server, "database_select")[-1]
    assert end["status"] == "failed"
    assert re.search(f"{database} ended with status 1; it said: .*ddress already in use", end["reason"])


@pytest.mark.parametrize("database", list(PROGRAMS))
def test_nothing_of_it_is_left_when_the_agent_is_killed(database: str, place: Path) -> None:
    with Agent(place) as agent:
        agent.begin(
            server_trials.described(database),
            "database_select",
            "batches=1",
            "operations=10000000",
            "rows=10",
        )
        running(place, PROGRAMS[database])
        until_loaded(place)
        agent.process.kill()
        until(lambda: not working(place), "its end")


# ---- PostgreSQL's protocol ----


def said(kind: bytes, contents: bytes, length: int | None = None) -> bytes:
    return kind + struct.pack(">I", len(contents) + 4 if length is None else length) + contents


def row(*cells: bytes) -> bytes:
    return said(
        b"D", struct.pack(">H", len(cells)) + b"".join(struct.pack(">I", len(one)) + one for one in cells)
    )


READY = said(b"Z", b"I")
WELCOME = said(b"R", bytes(4)) + said(b"S", b"a\0b\0") + READY
MADE = said(b"C", b"CREATE TABLE\0") + READY
REFUSED = said(b"E", b"SERROR\0C42P07\0Mrelation exists\0\0") + READY


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([said(b"R", struct.pack(">I", 3))], "PostgreSQL asks for a password, and there is none"),
        ([said(b"R", b"\0")], "PostgreSQL asks for a password, and there is none"),
        ([said(b"E", b"C28000\0Mno such role\0\0")], "PostgreSQL refused: no such role (28000)"),
        ([said(b"E", b"C57P03\0Mstarting\0\0")], "PostgreSQL was still starting after 700 ms"),
        ([said(b"E", b"Mnever ended")], "PostgreSQL refused:  ()"),
        ([WELCOME, REFUSED], "PostgreSQL refused: relation exists (42P07)"),
        ([WELCOME, said(b"C", b"", 3)], "PostgreSQL sent a message 'C' with a length of 3"),
        ([WELCOME, said(b"C", b"", 0xFFFFFFFF)], "PostgreSQL sent a message 'C' with a length of 4294967295"),
        ([WELCOME, said(b"C", b"CREATE TABLE")], "PostgreSQL ended a statement without a word"),
        ([WELCOME, said(b"G", b"")], "PostgreSQL sent a message of type 71, which was not expected"),
        ([WELCOME, said(b"C", b"CREATE", 40)], "the server ended the connection within its answer"),
        ([WELCOME, said(b"D", b"") + READY], "gave rows, which it cannot"),
        (
            [WELCOME, said(b"D", b"\0\1\0\0\0\x09abc")],
            "PostgreSQL sent a row that is cut short, or has a null",
        ),
        (
            [WELCOME, said(b"D", b"\0\1\xff\xff\xff\xff")],
            "PostgreSQL sent a row that is cut short, or has a null",
        ),
        ([WELCOME, row(b"a" * 300)], "the database answered with more than was asked for"),
        ([WELCOME, row(*[b"a"] * 9)], "the database answered with more than was asked for"),
        ([WELCOME, row(b"1") + MADE], "gave rows, which it cannot"),
        ([WELCOME, MADE, MADE], "affected 0 rows in place of 5"),
        ([WELCOME, said(b"C", b"CREATE 7\0") + READY], "affected 7 rows in place of 0"),
        ([WELCOME], "the server did not answer within 700 ms"),
    ],
)
def test_a_false_postgresql_is_found_out(words: list[bytes], reason: str, open_directory: Path) -> None:
    end = "silence" if "did not answer" in reason else "close"
    server = false(b"", *words, speaks="postgresql", end=end)  # the client speaks first
    assert reason in server_trials.failure(open_directory, server, "database_select", "rows=5")


NOTICE = said(b"N", b"SNOTICE\0Mand so on\0\0")


@pytest.mark.parametrize("how", ["drip", "flood"])
@pytest.mark.parametrize("words", [[b""], [b"", WELCOME], [b"", WELCOME, MADE]], ids=len)
def test_a_postgresql_without_end_is_not_waited_for(
    words: list[bytes], how: str, open_directory: Path
) -> None:
    """Byte by byte, and by as many messages as are read, of which none ends the answer."""
    server = false(*words, speaks="postgresql", end=f"{how}:{NOTICE.hex()}")
    reason = server_trials.failure(open_directory, server, "database_select", "rows=5")
    assert "the server did not answer within 700 ms: it began to, and did not come to an end" in reason


# ---- MySQL's protocol ----


def packet(number: int, contents: bytes, length: int | None = None) -> bytes:
    size = len(contents) if length is None else length
    return struct.pack("<I", size)[:3] + bytes([number]) + contents


GREETING = packet(0, b"\x0a10.11\0" + bytes(40))
OK = bytes([0, 0, 0, 2, 0, 0, 0])
IN = [GREETING, packet(2, OK), packet(1, OK), packet(1, OK)]
NO = b"\xff\x15\x04#28000Access denied"


@pytest.mark.parametrize("words", [[], [GREETING], IN[:2], IN], ids=len)
def test_a_mysql_without_end_is_not_waited_for(words: list[bytes], open_directory: Path) -> None:
    """Byte by byte, or by one packet after another."""
    more = packet([0, 2, 1, 1, 1][len(words)], b"\1" * 2000)
    server = false(*words, speaks="mysql", end=f"drip:{more.hex()}")
    reason = server_trials.failure(open_directory, server, "database_select", "rows=5")
    assert "the server did not answer within 700 ms: it began to, and did not come to an end" in reason
    flooding = false(*words, speaks="mysql", end=f"flood:{more.hex()}")
    assert "700 ms" not in server_trials.failure(open_directory, flooding, "database_select", "rows=5")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([packet(0, b"\x09old")], "the server greets by version 9 of the protocol, and not by 10"),
        ([packet(0, NO)], "the server refused: Access denied (1045)"),
        ([packet(0, b"\xff")], "the server sent a packet that is cut short"),
        ([packet(1, b"\x0a")], "the server sent packet 1 where packet 0 was due"),
        ([packet(0, b"")], "the server sent an empty packet"),
        (
            [packet(0, b"\x0a", 0xFFFFFF)],
            "the server announced 16777215 bytes at once, and 65536 are allowed",
        ),
        ([GREETING, packet(2, NO)], "the server refused: Access denied (1045)"),
        ([GREETING, packet(2, b"\xfesha\0"), packet(4, NO)], "the server refused: Access denied (1045)"),
        ([GREETING, packet(2, b"\x07")], "the server answered the log-in by packet type 7"),
        ([*IN, packet(1, b"\0\xfc\1")], "the server sent a packet that is cut short"),
        ([*IN, packet(1, b"\0\xff")], "the server sent a null, or no number, where a number was due"),
        ([*IN, packet(1, b"\xfb/etc/passwd")], "the server asked for a file of this machine"),
        ([*IN, packet(1, b"\xc8")], "the server announced 200 columns"),
        ([*IN, packet(1, b"\1") + packet(2, b"def") + packet(3, b"xx")], "did not end the description"),
        (
            [*IN, packet(1, b"\1") + packet(2, b"d") + packet(3, b"\xfe\0\0\0\0") + packet(4, b"\x09abc")],
            "the server sent a packet that is cut short",
        ),
        (
            [*IN, packet(1, b"\1") + packet(2, b"d") + packet(3, b"\xfe\0\0\0\0") + packet(4, b"\x01abc")],
            "the server sent a row that is longer than its cells",
        ),
        ([*IN, packet(1, b"\0\5\0\2\0\0\0")], "affected 5 rows in place of 0"),
        ([*IN, packet(1, OK, 99)], "the server ended the connection within its answer"),
        (IN, "the server did not answer within 700 ms"),
    ],
)
def test_a_false_mysql_is_found_out(words: list[bytes], reason: str, open_directory: Path) -> None:
    end = "silence" if "did not answer" in reason else "close"
    server = false(*words, speaks="mysql", end=end)
    assert reason in server_trials.failure(open_directory, server, "database_select", "rows=5")


def test_a_server_that_is_no_database_is_refused(open_directory: Path) -> None:
    reason = server_trials.failure(open_directory, false(b"x", speaks="gopher"), "database_select")
    assert reason == "the server is no database: it speaks 'gopher', and not postgresql, mysql or sqlite"


def test_nothing_of_it_is_left_when_the_laboratory_is_killed(tmp_path: Path) -> None:
    """Neither the server nor its files: the guard of the system removes what the agent made."""
    server_trials.described("mariadb")
    study = tmp_path / "study.toml"
    study.write_text(
        'name = "one"\ntitle = "one"\nsystems = ["native"]\n[design]\nblocks = 2\nbudget = "120s"\n'
        'trial_limit = "60s"\n[trial]\noperations = 100000000\n'
        '[[workload]]\nname = "database_select"\nserver = ["mariadb"]\nrows = 10\n'
    )
    with tempfile.TemporaryDirectory(prefix="steelyard-test-") as made:
        environment = os.environ | {"STEELYARD_ARCHIVE": str(tmp_path / "archive"), "TMPDIR": made}
        Path(made).chmod(0o755)
        laboratory = subprocess.Popen(
            [COMMAND, "run", str(study)],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        running(Path(made), "mariadbd")
        laboratory.kill()
        laboratory.wait()
        until(lambda: not working(Path(made)) and not list(Path(made).iterdir()), "its end")
