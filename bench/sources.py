"""The load program's source, copied for a benchmark that changes it."""

import shutil
from pathlib import Path

from steelyard.programs import built


def copy_into(place: Path) -> Path:
    """The copy, with the directories that `steelyard build` compiles."""
    shutil.rmtree(place, ignore_errors=True)
    for folder in ("base", "loadgen", "workloads", "agent"):
        shutil.copytree(built.source() / folder, place / folder)
    return place
