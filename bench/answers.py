"""What a command of Steelyard answers, kept: a benchmark of hours goes on where it was stopped."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def of(
    command: Sequence[str | Path], kept: Path | None = None, environment: Mapping[str, str] | None = None
) -> Any:
    """The command's JSON; from the file `kept` where it is there, else left there."""
    if kept is not None and kept.exists():
        return json.loads(kept.read_text())
    answer = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, env=environment
    )
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(answer.stdout)
    return json.loads(answer.stdout)
