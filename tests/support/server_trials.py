"""What tests of servers share: one trial by an agent of its own, on a real server or a false one."""

import glob
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import places
import pytest
from monitor_runs import until
from patience import patience
from processes import used_s

from steelyard.programs import built
from steelyard.servers import description

FALSE_SERVER = places.SUPPORT / "false_server.py"
SHORT = ("batches=2", "operations=6", "warmup_ns=0")


def written(lines: str) -> str:
    return "".join(f"%{byte:02x}" for byte in lines.encode())


def false(
    *words: bytes | tuple[bytes, int], end: str = "close", speaks: str = "", ready: str = "accepts"
) -> str:
    """The description of a server that says these words, one after each question, some of them many times."""
    hexadecimal = [word.hex() if isinstance(word, bytes) else f"{word[0].hex()}x{word[1]}" for word in words]
    command = [sys.executable, str(FALSE_SERVER), "{port}", end, *hexadecimal]
    said = ["name false", f"ready {ready}", "start", *(f"\t{word}" for word in command)]
    return "\n".join([f"speaks {speaks}", *said] if speaks else said)


def described(name: str) -> str:
    """A bundled server's description; or skips where its program or its user is not here."""
    server = description.read(name)
    programs = [
        word
        for words in (*server.prepare, server.command)
        for word in " ".join(words).split()
        if word[0] == "/"
    ]
    missing = [one for one in programs if "bin/" in one and not Path(one).exists()]
    if server.find and not any(glob.glob(pattern) for pattern in server.find):
        missing.append(server.find[0])
    if missing:
        pytest.skip(f"{missing[0]} is not installed: {server.package}")
    return server.lines()


class Agent:
    """An agent in that directory, which performs one trial after another."""

    def __init__(self, directory: Path, build: str = "glibc", *, under: tuple[str, ...] = ()) -> None:
        program = built.load(build)
        if under:  # another user, who may not come through to where it is built
            program = Path(shutil.copy(program, directory / "program"))
        self.process = subprocess.Popen(
            [*under, program, "agent", directory],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> "Agent":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate(timeout=patience(30))

    def begin(self, server: str, workload: str, *settings: str) -> None:
        assert self.process.stdin is not None
        request = " ".join(["trial 1", workload, f"server={written(server)}", *settings])
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()

    def records(self) -> list[dict[str, Any]]:
        """Those of the trial, up to its end."""
        assert self.process.stdout is not None
        heard = []
        for line in self.process.stdout:
            heard.append(json.loads(line))
            if heard[-1]["record"] in ("end", "error"):
                break
        return heard

    def perform(self, server: str, workload: str, *settings: str) -> list[dict[str, Any]]:
        self.begin(server, workload, *settings)
        return self.records()


def figures(records: list[dict[str, Any]]) -> dict[str, int]:
    """What the trial found, by metric: of the time, the first batch's. It must have gone well."""
    end = records[-1]
    if end.get("status") == "unsupported":
        pytest.skip(end["reason"])
    assert end.get("status") == "ok", end
    return {one["metric"]: one["durations_ns"][0] for one in records if one["record"] == "samples"}


def failure(directory: Path, server: str, workload: str, *settings: str) -> str:
    """Why the trial failed, which it must."""
    with Agent(directory) as agent:
        end = agent.perform(server, workload, *SHORT, "timeout_ms=700", *settings)[-1]
    assert end.get("status") == "failed", end
    return str(end["reason"])


def working(directory: Path) -> dict[int, str]:
    """The processes that work below the directory, with their names."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if directory in (process / "cwd").readlink().parents:
                found[int(process.name)] = (process / "comm").read_text().strip()
        except OSError:
            continue
    return found


def descended(directory: Path) -> list[str]:
    return sorted(working(directory).values())


def running(directory: Path, name: str) -> int:
    """The process of that name which works below the directory, as soon as there is one."""
    found: list[int] = []

    def looked() -> list[int]:
        found[:] = [process for process, called in working(directory).items() if called == name]
        return found

    until(looked, f"a {name} in {directory}")
    return found[0]


def until_loaded(directory: Path) -> None:
    """Waits until the trial below the directory is on: it uses much more than a server that waits."""

    def used() -> float:
        return sum(map(used_s, working(directory)))

    before_s = used()
    until(lambda: used() > before_s + 0.2, "the load")


METRICS = ["time", "server", "client", "latency_50", "latency_90", "latency_99", "latency_99_9"]
