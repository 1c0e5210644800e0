"""What a comparison measured, kept: a benchmark of hours goes on where it was stopped, and what was measured
is judged by the method of today."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

STEELYARD = Path(sys.executable).with_name("steelyard")


def of(compare: Sequence[str], archive: Path, environment: Mapping[str, str] | None = None) -> Any:
    """The report, as JSON, of a comparison with these options: measured into the archive, unless that holds
    it already, whole."""
    whole = archive / "measured"
    if not whole.exists():
        shutil.rmtree(archive, ignore_errors=True)
        command = [str(STEELYARD), "compare", *compare, "--archive", str(archive)]
        subprocess.run(command, capture_output=True, check=True, env=environment)
        whole.touch()
    report = [str(STEELYARD), "report", "--archive", str(archive), "--format", "json"]
    return json.loads(subprocess.run(report, stdout=subprocess.PIPE, check=True).stdout)
