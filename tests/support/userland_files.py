"""Files for a userland of a test's own, with the libraries that they need."""

import re
import shutil
import subprocess
from pathlib import Path

KINDS = ["chroot", "container"]


def put(file: Path, root: Path) -> None:
    """The file, under the name it has here."""
    place = root / str(file).lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, place)  # what a link leads to


def libraries(program: Path) -> list[Path]:
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return [Path(one) for one in re.findall(r"(/\S+) \(0x", said)]
