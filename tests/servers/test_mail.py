"""Mail: real servers accept it, and false ones are found out."""

import os
import re
import signal
from pathlib import Path

import pytest
import server_trials
from server_trials import METRICS, Agent, false, figures, running, until_loaded

pytestmark = pytest.mark.program

HELLO, YES, GO_ON, BYE = b"220 false ESMTP\r\n", b"250-false\r\n250 ok\r\n", b"354 go on\r\n", b"221 bye\r\n"


@pytest.mark.parametrize("build", ["glibc", "musl"])
def test_messages_are_accepted_by_a_real_server(build: str, tmp_path: Path) -> None:
    with Agent(tmp_path, build) as agent:
        found = figures(
            agent.perform(
                server_trials.described("smtp-sink"),
                "mail_messages",
                "clients=3",
                "messages=3",
                *server_trials.SHORT,
            )
        )
    assert list(found) == METRICS
    assert found["latency_50"] <= found["latency_90"] <= found["latency_99"] <= found["latency_99_9"]


@pytest.mark.root
def test_postfix_takes_every_message_into_its_queue_once(open_directory: Path) -> None:
    """Its own log counts them."""
    log = open_directory / "maillog"
    description = server_trials.described("postfix").replace("{directory}/maillog", str(log))
    description = description.replace("_prefixes = {directory}", f"_prefixes = {open_directory}")
    with Agent(open_directory) as agent:
        found = figures(
            agent.perform(description, "mail_messages", "clients=2", "messages=2", *server_trials.SHORT)
        )
    assert list(found) == METRICS
    accepted = re.findall(r"message-id=<1\.(\d+)@example\.com>", log.read_text())
    assert sorted(map(int, accepted)) == list(range(12))


def sent(tmp_path: Path, seed: int) -> list[str]:
    """The messages that smtp-sink gets, as it writes them into a file."""
    kept = tmp_path / f"messages-{seed}"
    kept.unlink(missing_ok=True)
    server = server_trials.described("smtp-sink").replace("user *\n", "")
    as_root = "\t-u\n\troot\n" if os.geteuid() == 0 else ""
    server = server.replace("\t127.0.0.1:{port}", f"{as_root}\t-D\n\t{kept}\n\t127.0.0.1:{{port}}")
    with Agent(tmp_path) as agent:
        figures(agent.perform(server, "mail_messages", *server_trials.SHORT, f"load_seed={seed}", "size=500"))
    return sorted(re.findall(r"From: .*?X-Mailer.*?(?=X-Client|\Z)", kept.read_text(), re.DOTALL))


def test_what_is_sent_follows_from_the_seed(tmp_path: Path) -> None:
    first = sent(tmp_path, 1)
    assert len(first) == 12
    assert first == sent(tmp_path, 1)
    assert first != sent(tmp_path, 2)


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (false(b"554 no\r\n"), "the mail server answered the connection with '554 no'"),
        (false(HELLO, b"250-a\r\n502 what\r\n"), "the mail server answered EHLO with '502 what'"),
        (false(HELLO, YES, b"\xff\xfe\r\n"), "the mail server's answer to MAIL FROM: is not SMTP"),
        (false(HELLO, YES, YES, b"550 nobody\r\n"), "the mail server answered RCPT TO: with '550 nobody'"),
        (
            false(HELLO, YES, YES, YES, GO_ON, b"452 full\r\n"),
            "the mail server answered the message with '452 full'",
        ),
        (
            false(HELLO, YES, YES, YES, GO_ON, YES, b"421 no\r\n"),
            "the mail server answered QUIT with '421 no'",
        ),
        (false(HELLO, b"25"), "the server ended the connection within its answer"),
        (false(HELLO, YES, YES, YES, GO_ON, end="silence"), "the server did not answer within 700 ms"),
        (false(HELLO, (b"2", 70_000), end="silence"), "the server sent a line of more than 65536 bytes"),
        (
            false(HELLO, (b"250-more\r\n", 200), end="silence"),
            "the mail server's answer to EHLO has more than 100 lines",
        ),
        (false(HELLO, b"25\0 x\r\n"), "the mail server's answer to EHLO is not SMTP: '25'"),
    ],
)
def test_an_answer_that_is_not_acceptance_fails_the_trial(server: str, reason: str, tmp_path: Path) -> None:
    assert reason in server_trials.failure(tmp_path, server, "mail_messages")


@pytest.mark.parametrize("words", [(), (HELLO,), (HELLO, YES), (HELLO, YES, YES, YES)], ids=len)
def test_a_server_that_answers_byte_by_byte_is_not_waited_for(
    words: tuple[bytes, ...], tmp_path: Path
) -> None:
    """In each part of the dialogue, by a line that never ends and by lines of which none is the last."""
    for byte_by_byte in (b"2", b"250-more\r\n") if len(words) in (1, 2) else (b"2",):
        server = false(*words, end=f"drip:{byte_by_byte.hex()}")
        reason = server_trials.failure(tmp_path, server, "mail_messages")
        assert reason == ("the server did not answer within 700 ms: it began to, and did not come to an end")


@pytest.mark.parametrize(
    ("flood", "reason"),
    [(b"2", "a line of more than 65536 bytes"), (b"250-more\r\n", "has more than 100 lines")],
)
def test_a_server_that_answers_without_end_is_ended(flood: bytes, reason: str, tmp_path: Path) -> None:
    for words in ((HELLO,), (HELLO, YES)):
        server = false(*words, end=f"flood:{flood.hex()}")
        assert reason in server_trials.failure(tmp_path, server, "mail_messages")


def test_a_server_that_dies_under_load_is_named(tmp_path: Path) -> None:
    with Agent(tmp_path) as agent:
        agent.begin(server_trials.described("smtp-sink"), "mail_messages", "batches=1", "operations=10000000")
        server = running(tmp_path, "smtp-sink")
        until_loaded(tmp_path)
        os.kill(server, signal.SIGKILL)
        end = agent.records()[-1]
    assert end["status"] == "failed"
    assert "smtp-sink was killed by signal 9" in end["reason"]


def test_a_server_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    with Agent(tmp_path) as agent:
        settings = ("batches=1", "operations=10000000", "timeout_ms=700")
        agent.begin(server_trials.described("smtp-sink"), "mail_messages", *settings)
        server = running(tmp_path, "smtp-sink")
        until_loaded(tmp_path)
        os.kill(server, signal.SIGSTOP)
        end = agent.records()[-1]
    assert (end["status"], end["reason"]) == ("failed", "the server did not answer within 700 ms")


@pytest.mark.root
def test_postfix_is_unsupported_without_the_rights_of_root(open_directory: Path) -> None:
    os.chown(open_directory, 65534, 65534)
    with Agent(open_directory, under=("setpriv", "--reuid=65534", "--clear-groups")) as agent:
        end = agent.perform(server_trials.described("postfix"), "mail_messages")[-1]
    assert (end["status"], end["reason"]) == ("unsupported", "postfix works as root only")


def test_what_is_not_installed_is_named_with_its_package(tmp_path: Path) -> None:
    server = server_trials.described("smtp-sink").replace("/usr/sbin/smtp-sink", "/usr/sbin/no-such-sink")
    with Agent(tmp_path) as agent:
        end = agent.perform(server, "mail_messages")[-1]
    assert end["status"] == "unsupported"
    assert end["reason"] == "there is no program '/usr/sbin/no-such-sink' on this system: install postfix"
