"""Trials without a laboratory: what a benchmark holds beside something else."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.programs import built
from steelyard.running import dialogue
from steelyard.servers import description


class Unable(Exception):
    """A trial that did not go well, in the load program's own words."""


def records(
    workload: str, *settings: str, program: Path | None = None, **environment: str
) -> list[dict[str, Any]]:
    """All that the load program (glibc's, unless told otherwise) says of one trial. Raises Unable."""
    command = [str(program or built.load("glibc")), "run", workload, *settings]
    answer = subprocess.run(command, stdout=subprocess.PIPE, env=os.environ | environment, check=False)
    answers: list[dict[str, Any]] = [json.loads(line) for line in answer.stdout.splitlines()]
    if not answers or answers[-1].get("status") != "ok":
        reasons = (one["reason"] for one in answers if one.get("reason"))
        raise Unable(f"{workload}: {next(reasons, 'no answer')}")
    return answers


def load(url: str, *settings: str) -> dict[str, Any]:
    """The record "load" of one window on the server that runs there. Raises Unable."""
    answers = records("web_load", server(url), *settings)
    return next(one for one in answers if one["record"] == "load")


def server(url: str) -> str:
    """The setting that names that server to the load program."""
    (word,) = dialogue.setting_words({"server": description.read(url).lines()})
    return word


def rate(load: dict[str, Any]) -> float:
    """Answers a second in the window."""
    return float(load["answers"] * 1e9 / load["window_ns"])


def samples(
    workload: str, *settings: str, metric: str | None = None, program: Path | None = None, **environment: str
) -> dict[str, Any]:
    """The record of that metric (of the first, unless told otherwise) of one trial. Raises Unable."""
    answers = records(workload, *settings, program=program, **environment)
    return next(one for one in answers if one["record"] == "samples" and metric in (None, one["metric"]))


def floor_ns(record: dict[str, Any]) -> float:
    """The lower quartile of a trial's batches, per operation."""
    return quartile(record["durations_ns"]) / float(record["operations"])


def quartile(durations: list[int]) -> float:
    return float(np.quantile(durations, 0.25))
