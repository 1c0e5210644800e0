"""Hostile text, some seconds of it: `make fuzz` is the same for an hour. Seeds are drawn, and printed."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import c_programs
import places
import pytest

pytestmark = pytest.mark.program

ROOT = places.ROOT
FUZZ = ROOT / "tests" / "fuzz"
SECONDS = 5


@pytest.fixture(scope="module")
def build() -> Path:
    """The sanitizers' build."""
    if shutil.which("clang") is None:
        pytest.skip("clang is not installed")
    return c_programs.program("", directory="build-asan")


def _parts(build: Path, found: Path, *options: str) -> str:
    """What libFuzzer says when it has found nothing. Beside `found` it leaves what was wrong."""
    command = [
        build / "tests" / "fuzz" / "steelyard-fuzz",
        f"-artifact_prefix={found.parent}/",
        "-timeout=60",
    ]
    answer = subprocess.run(
        [*command, *options, found, FUZZ / "corpus"], capture_output=True, text=True, errors="replace"
    )
    assert answer.returncode == 0, answer.stderr[-5000:]
    return answer.stderr


def test_what_reads_text_from_outside_is_not_hurt_by_any(build: Path, tmp_path: Path) -> None:
    """First by every text of the corpus, then by what it is changed into."""
    (tmp_path / "found").mkdir()
    seed = random.randrange(1, 1 << 31)

    said = _parts(build, tmp_path / "found", f"-seed={seed}", f"-max_total_time={SECONDS}", "-max_len=10000")

    runs = re.search(r"Done (\d+) runs", said)
    assert runs is not None
    print(f"seed {seed}: {runs[1]} texts")
    assert int(runs[1]) > len(list((FUZZ / "corpus").iterdir()))


def test_a_whole_agent_answers_hostile_requests_in_order_and_leaves_nothing(
    build: Path, tmp_path: Path
) -> None:
    seed = random.randrange(1 << 31)
    program, directory = Path("agent") / "steelyard-load", os.path.relpath(tmp_path, build)

    answer = subprocess.run(
        [sys.executable, FUZZ / "whole_agent.py", program, directory, str(SECONDS), str(seed)],
        capture_output=True, text=True, cwd=build,
    )  # fmt: skip

    assert answer.returncode == 0, answer.stderr[-5000:]
    print(answer.stdout)
    assert json.loads(answer.stdout)["requests"] > 0


@pytest.mark.parametrize(
    ("output", "complaint"),
    [
        (b'{"record":"end","trial":"2"}\n', "asked for trials ['1'], answered ['2']"),
        (b"", "asked for trials ['1'], answered []"),
        (b'{"record":"end","trial":"1"}', "the last record is cut short"),
        (b'{"record":"end","trial":"1","trial":"1"}\n', "a key is there twice"),
        (b'{"record":"end","trial":"\xff"}\n', "other bytes than printable ASCII"),
        (b'["record"]\n', "is no object"),
        (b"sorry\n", "is no JSON"),
    ],
)
def test_what_a_hostile_agent_says_would_be_noticed(output: bytes, complaint: str, tmp_path: Path) -> None:
    """The check of the check: by an agent that says what is not so."""
    script = tmp_path / "agent"
    script.write_text(f"#!{sys.executable}\nimport os, sys\nsys.stdin.read()\nos.write(1, {output!r})\n")
    script.chmod(0o755)
    check = (
        "import sys\nfrom pathlib import Path\nimport whole_agent\n"
        "whole_agent.converse(sys.argv[1], Path(sys.argv[2]), [b'trial 1 null'], patiently=False)\n"
    )
    (tmp_path / "work").mkdir()

    answer = subprocess.run(
        [sys.executable, "-c", check, script, tmp_path / "work"], capture_output=True, text=True, cwd=FUZZ
    )

    assert answer.returncode == 1
    assert complaint in answer.stderr
