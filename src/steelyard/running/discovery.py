"""Runs a command of the user's once, to learn which figures it prints: a suite has as many as it has
benchmarks, and metrics are fixed before anything is measured."""

import shlex
import subprocess
from dataclasses import replace

from steelyard import commands, shapes, streams
from steelyard.errors import SystemFailed
from steelyard.programs import built
from steelyard.running import dialogue, printed
from steelyard.study import plan, sent
from steelyard.study import tool as tool_file
from steelyard.study.own_work import OwnWork
from steelyard.systems import protocol

_LIMIT_S = 3600


def with_figures(work: OwnWork) -> OwnWork:
    """The work with each figure that its command prints, where a figure of its tool stands for several.
    Raises SystemFailed where the command does not run here, and UsageError where it prints none."""
    if work.tool is None or not any(figure.each for figure in work.tool.figures):
        return work
    streams.tell("running the command once, to see which figures it prints")
    values = printed.values(work.tool, _printed(work))
    return replace(work, tool=tool_file.expanded(work.tool, values))


def _printed(work: OwnWork) -> str:
    """What the first of the commands prints on this machine."""
    told = work.command.parameters(work.tool)
    if work.levels:
        told["command"] = shlex.join(tool_file.asked(work.tool, work.levels[0]))
    if work.treatments:
        told |= work.treatments[0][1].parameters(work.tool)
    once = {
        tool_file.PARAMETER: 1,
        "operations": 1,
        "batches": 1,
        "warmup_ns": 0,
        "limit_ms": _LIMIT_S * 1000,
    }
    here = {
        name: sent.named_here(value, work.sent) if isinstance(value, str) else value
        for name, value in told.items()
    }
    words = dialogue.setting_words({name: plan.as_words(value) for name, value in here.items()} | once)
    try:
        answer = commands.run([built.load("glibc"), "run", tool_file.WORKLOAD, *words], limit_s=_LIMIT_S + 60)
    except subprocess.TimeoutExpired:
        raise SystemFailed(f"the command did not end within {_LIMIT_S} s") from None
    records = [one for line in answer.stdout.splitlines() if (one := protocol.read(line))]
    end = next((one for one in records if one["record"] in ("end", "error")), {})
    text = shapes.of_bytes("".join(str(one["text"]) for one in records if one["record"] == "printed"))
    if end.get("status") != "ok":
        why = end.get("reason") or "it ended without a word"
        raise SystemFailed(f"the command's figures are not known: {why}{printed.end_of(text)}")
    return text
