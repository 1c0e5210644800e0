"""One line of each command that looks at the machine, for tests that take something away from all of them."""

import subprocess
from pathlib import Path

from installed_command import COMMAND

_STUDY = """name = "s"
title = "s"
systems = ["native", "native"]
[design]
blocks = 2
[[workload]]
name = "null"
[trial]
batches = 2
warmup_ns = 0
batch_ns = 100000
"""
LINES = {
    "list": ["list", "systems"],
    "plan": ["plan", "{study}"],
    "doctor": ["doctor", "--no-start"],
    "run": ["run", "{study}", "--new"],
    "report": ["report"],
    "watch": ["watch", "--", "true"],
}


def study_in(folder: Path) -> Path:
    """A small study there, and beside it an archive in which it was run."""
    study = folder / "s.toml"
    study.write_text(_STUDY)
    words = ["run", study, "--no-watch", "--archive", folder / "archive"]
    subprocess.run([COMMAND, *words], capture_output=True, check=True)
    return study
