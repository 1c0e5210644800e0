"""Real trials, word by word: what was asked, what was said, and when."""

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import synthetic

from steelyard.events import Outcome
from steelyard.programs import built
from steelyard.running import dialogue
from steelyard.running.expectation import Expectation
from steelyard.running.records import ClockReading, TrialParser
from steelyard.study.model import Cell
from steelyard.study.plan import Trial
from steelyard.systems import protocol
from steelyard.systems.protocol import RefusedRequest

QUICK = (("batches", 3), ("operations", 100), ("warmup_ns", 0))


@dataclass(frozen=True)
class Conversation:
    """A real trial: what was asked, what was said, and when."""

    expected: Expectation
    said: tuple[bytes, ...]
    before: ClockReading
    after: ClockReading

    def outcome(self, lines: Sequence[bytes]) -> Outcome:
        """What comes of the trial if these lines are said. Raises Refused."""
        parser = TrialParser(self.expected)
        for line in lines:
            record = protocol.read(line)
            if record is not None and parser.ends_with(record):
                break
        else:
            raise RefusedRequest("it fell silent")
        if parser.refusal is not None:
            raise RefusedRequest(parser.refusal)
        return parser.outcome(1, began=1.0, before=self.before, after=self.after)


def conversation(cell: Cell, directory: Path, *, server: str = "") -> Conversation:
    """A trial of the cell; on the server of that description, where it needs one."""
    catalogue = built.catalogue()
    trial = Trial(0, 0, "a", cell, pad=7, seed=1)
    wanted = synthetic.plan().settings(trial) | ({"server": server} if server else {})
    workload = catalogue.find(cell.workload)
    initial = {one.name: one.initial for one in (*catalogue.parameters, *workload.parameters)}
    before = ClockReading(time.monotonic_ns(), time.monotonic_ns(), 1000)
    said = _said(dialogue.request(trial, wanted), directory)
    after = ClockReading(time.monotonic_ns(), time.monotonic_ns(), 1000)
    return Conversation(Expectation(trial, workload, wanted, initial, 1, processors=2), said, before, after)


def _said(request: str, directory: Path) -> tuple[bytes, ...]:
    """What a real agent answers."""
    with subprocess.Popen(
        [built.load("glibc"), "agent", directory],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"STEELYARD_LIMITED": "1"},
    ) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdout.readline()  # hello
        agent.stdin.write(f"{request}\n".encode())
        agent.stdin.flush()
        said = [agent.stdout.readline()]
        while not said[-1].startswith(b'{"record":"end"'):
            said.append(agent.stdout.readline())
        agent.stdin.close()
    return tuple(line.rstrip(b"\n") for line in said)
