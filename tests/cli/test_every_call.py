"""A laboratory killed before some of the system calls that change something loses and leaves nothing."""

import json
import random
import subprocess
import sys
from pathlib import Path

import places
import pytest

EVERY_CALL = places.SUPPORT / "every_call.py"


@pytest.mark.program
@pytest.mark.ptrace
@pytest.mark.limit(600)
@pytest.mark.parametrize("options", [["--no-watch"], []], ids=["alone", "watched"])
def test_a_laboratory_may_be_killed_at_any_system_call(options: list[str], tmp_path: Path) -> None:
    study = EVERY_CALL.with_suffix(".toml")
    every = 100
    first = random.randrange(1, every)

    answer = subprocess.run(
        [sys.executable, EVERY_CALL, f"--first={first}", f"--every={every}", tmp_path, study, *options],
        capture_output=True,
        check=False,
    )

    assert answer.returncode == 0, answer.stderr.decode()
    told = json.loads(answer.stdout)
    print(told)
    assert told["is_done"]
    counts = told["counts"]
    assert counts["kills"] >= 2
    assert counts["promised"] > 0
