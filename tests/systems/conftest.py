"""What tests of systems share."""

from pathlib import Path

import pytest
from userland_files import libraries, put


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The smallest userland: a shell, a utility, and their libc, which are this machine's."""
    place = tmp_path_factory.mktemp("userland")
    for name in ("proc", "sys", "dev", "tmp", "etc"):
        (place / name).mkdir()
    (place / "etc/userland").touch()
    for program in (Path("/bin/sh"), Path("/bin/true"), Path("/usr/bin/true")):
        for file in (program, *libraries(program)):
            put(file, place)
    return place
