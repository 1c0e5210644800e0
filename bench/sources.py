"""The load program's source, copied for a benchmark that changes it."""

import shutil
from pathlib import Path

from steelyard.programs import built


def copy_into(place: Path) -> Path:
    """The copy's directory of workloads; what they include from beside it is copied, too."""
    shutil.rmtree(place, ignore_errors=True)
    for folder in ("workloads", "client"):
        shutil.copytree(built.source().parent / folder, place / folder)
    return place / "workloads"
