"""Feeds hostile lines to a whole agent, built with sanitizers, and checks all that it says and leaves.

    whole_agent.py PROGRAM DIRECTORY SECONDS SEED

For each of as many agents as there is time for: every record is one JSON object on a line of printable ASCII,
every trial that was asked for by an ID is answered, and in order; the agent ends with status 0 at the end of
its requests, says nothing on standard error, and leaves neither a process nor a file. Prints the counts, as
JSON; what was not so ends it with status 1, after the requests that led there.

All of it is behind a fence (fence.py): a line may ask for the machine's whole memory.
"""

import functools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import fence

_LINE_MOST = 32767
_PATIENCE_S = 120
# They start as many processes as they can, which is for a guest.
_LEFT_OUT = {"linpack_limit"}
_NUMBERS = [
    "0", "1", "2", "3", "7", "64", "4096", "65536", "2147483648", "4294967296", "18446744073709551615", "-1",
    "", "1x", " ", "00001", "9" * 400, "0x10", "1e3", "%31", "+1", "\xb2",
]  # fmt: skip
_WORDS = [
    "trial", "trial ", "trial 1", "stop", "stop 1", "stop 99", "quit ", "QUIT", "describe", "list", "clock",
    "clock ", "", " ", "\t", "\r", "trial  1 sieve", "describe /", "hello", '{"record":"end"}', "[" * 9000,
    "trial " + "9" * 70,
]  # fmt: skip
_COMMANDS = [
    "true", "false", "sh%0a-c%0aexit%203", "sh%0a-c%0akill%20-9%20%24%24", "nosuch", "", "%", "%0", "%zz",
    "%00", "true%0a" + "x" * 4000, "x" * 9000, "%2f", "sh%0a-c%0aecho%20%7b%7d", "%ff%fe",
]  # fmt: skip


class NotSo(Exception):
    """What was promised and is not so."""


def catalogue(program: Path) -> list[dict]:
    answer = subprocess.run([program, "list"], capture_output=True, check=True)
    listed = json.loads(answer.stdout)
    of_all = [one for one in listed["parameters"] if one["name"] not in ("limit_ms", "copies")]
    return [
        one | {"parameters": one["parameters"] + of_all}
        for one in listed["workloads"]
        if one["name"] not in _LEFT_OUT
    ]


def trial(draw: random.Random, workloads: list[dict], number: int) -> bytes:
    """Mostly one that is understood, short by its limit."""
    workload = draw.choice(workloads)
    settings = [f"limit_ms={draw.choice((1, 10, 100, 300))}", f"copies={draw.choice((1, 1, 1, 2, 3))}"]
    settings += ["operations=1", "batches=1", "warmup_ns=0"][: draw.choice((0, 3, 3, 3, 3, 3, 3))]
    if workload["sweeps"]:
        settings.append("to=4096")  # its own initial value is a quarter of memory
    for parameter in draw.sample(workload["parameters"], draw.choice((0, 0, 1, 2, 5))):
        values = _COMMANDS if "command" in parameter["name"] else _NUMBERS
        if parameter["most"] > 1 << 20:
            values = [value for value in values if len(value) < 6 or len(value) > 19]
        fine = [str(parameter["least"]), *values]
        settings.append(f"{parameter['name']}={draw.choice(fine)}")
    draw.shuffle(settings)
    return " ".join(["trial", str(number), workload["name"], *settings]).encode("latin-1")


def spoilt(draw: random.Random, line: bytes) -> bytes:
    """The line with bytes changed, taken out, or added; no newline among them."""
    letters = bytearray(line)
    for _ in range(draw.choice((1, 1, 2, 8))):
        at = draw.randrange(len(letters) + 1)
        match draw.randrange(4):
            case 0:
                letters[at:at] = bytes([draw.randrange(256)])
            case 1:
                del letters[at : at + draw.choice((1, 3, 30))]
            case 2:
                letters[at:at] = letters[at : at + 40] * draw.choice((1, 3, 300))
            case _:
                letters[at : at + 1] = draw.choice((b" ", b"=", b"\0", b"%", b"\xff", b"9", b"\r"))
    return bytes(letters).replace(b"\n", b"")


def conversation(draw: random.Random, workloads: list[dict]) -> list[bytes]:
    lines = []
    for number in range(1, draw.choice((2, 10, 40))):
        match draw.randrange(10):
            case 0:
                lines.append(draw.choice(_WORDS).encode("latin-1"))
            case 1 | 2 | 3:
                lines.append(spoilt(draw, trial(draw, workloads, number)))
            case 4:
                lines.append(
                    bytes(draw.randrange(256) for _ in range(draw.choice((3, 300)))).replace(b"\n", b"?")
                )
            case 5:
                lines.append(f"stop {draw.randrange(1, number + 1)}".encode())
            case _:
                lines.append(trial(draw, workloads, number))
    return lines


def asked(lines: list[bytes]) -> list[str]:
    """The IDs of the trials that must be answered, in order, as records write them."""
    found = []
    for line in lines:
        line = line.removesuffix(b"\r")
        words = re.match(rb"trial  *([^ ]*)", line) if line.startswith(b"trial ") else None
        if line.startswith(b"trial ") and (len(line) > _LINE_MOST or b"\0" in line):
            words = re.match(rb"trial ([^ \0]*)", line)
        found.append(words[1].decode("latin-1") if words and 0 < len(words[1]) < 64 else None)
    return [one for one in found if one is not None]


def parsed(line: bytes) -> dict:
    if not re.fullmatch(rb"[\x20-\x7e]*", line):
        raise NotSo(f"a record holds other bytes than printable ASCII: {line[:300]!r}")
    try:
        record = json.loads(line, object_pairs_hook=only_once)
    except ValueError as error:
        raise NotSo(f"a record is no JSON: {error}: {line[:300]!r}") from error
    if not isinstance(record, dict) or "record" not in record:
        raise NotSo(f"a record is no object that says its kind: {line[:300]!r}")
    return record


def only_once(pairs: list[tuple[str, object]]) -> dict:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def ended_by(lines: list[bytes]) -> list[bytes]:
    """Those up to the first that says "quit", which the agent obeys."""
    for number, line in enumerate(lines):
        if line.removesuffix(b"\r") == b"quit":
            return lines[:number]
    return lines


def check(lines: list[bytes], output: bytes, complaints: bytes, status: int) -> list[dict]:
    """The records. Raises NotSo."""
    if complaints or status:
        raise NotSo(f"it ended with status {status} and said: {complaints.decode(errors='replace')}")
    if output and not output.endswith(b"\n"):
        raise NotSo(f"the last record is cut short: {output[-300:]!r}")
    records = [parsed(line) for line in output.split(b"\n")[:-1]]
    answered = [
        one["trial"] for one in records if one["record"] in ("end", "error") and one["trial"] is not None
    ]
    expected = asked(ended_by(lines))
    if answered != expected:
        raise NotSo(f"asked for trials {expected}, answered {answered}")
    return records


def left(directory: Path) -> str:
    """What is left of the agent: processes that have become ours, and files; "" if nothing."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.01)
        except ChildProcessError:
            break
    else:
        return "a process"
    return ", ".join(sorted(one.name for one in directory.iterdir()))


def converse(program: Path | str, directory: Path, lines: list[bytes], *, patiently: bool) -> list[dict]:
    """One agent's records of those lines. Raises NotSo."""
    with tempfile.TemporaryFile() as words, tempfile.TemporaryFile() as output:
        agent = subprocess.Popen(
            [program, "agent", directory], stdin=subprocess.PIPE, stdout=output, stderr=words,
            env={"ASAN_OPTIONS": "detect_leaks=0"}, cwd=directory,
        )  # fmt: skip
        assert agent.stdin is not None
        # Where memory is short, the kernel kills what the agent starts, and not who checks it.
        Path(f"/proc/{agent.pid}/oom_score_adj").write_text("500")
        # All is answered before a "quit"; at the end of the stream a trial is stopped, and the rest refused.
        try:
            agent.stdin.write(b"".join(line + b"\n" for line in lines) + (b"quit\n" if patiently else b""))
            agent.stdin.flush()
            if patiently:
                agent.wait(_PATIENCE_S)
            agent.stdin.close()
        except BrokenPipeError:
            agent.stdin = None  # it has read "quit", and ended
        except subprocess.TimeoutExpired as error:
            agent.kill()
            raise NotSo(f"it did not end within {_PATIENCE_S} s") from error
        status = agent.wait(_PATIENCE_S)
        words.seek(0)
        output.seek(0)
        records = check(lines, output.read(), words.read(), status)
    if remains := left(directory):
        raise NotSo(f"it has left {remains}")
    return records


def fuzz(seconds: float, seed: int, program: Path, directory: Path) -> int:
    """Prints the counts; returns the exit status."""
    workloads = catalogue(program)
    counts: Counter[str] = Counter()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        # Each agent has a seed of its own, so that one is done again without those before it.
        draw = random.Random(f"{seed} {counts['agents']}")
        lines = conversation(draw, workloads)
        patiently = draw.random() < 0.7
        try:
            records = converse(program, directory, lines, patiently=patiently)
        except NotSo as error:
            print(f"agent {counts['agents']} of seed {seed}: {error}", file=sys.stderr)
            print(json.dumps([line.decode("latin-1") for line in lines]), file=sys.stderr)
            return 1
        counts["agents"] += 1
        counts["requests"] += len(lines)
        counts["records"] += len(records)
        counts.update(f"trials {one['status']}" for one in records if one["record"] == "end")
    print(json.dumps({"seed": seed, "seconds": seconds} | dict(sorted(counts.items()))))
    return 0


if __name__ == "__main__":
    _, program, directory, seconds, seed = sys.argv
    work = functools.partial(fuzz, float(seconds), int(seed))
    sys.exit(fence.enclosed(work, Path(program).resolve(), Path(directory).resolve()))
