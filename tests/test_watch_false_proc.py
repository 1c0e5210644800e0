"""The monitor on a /proc that a program has written: names of any bytes, lines cut short, wrong numbers."""

import json
import subprocess
from pathlib import Path

import watching

MONITOR = Path(__file__).parents[1] / "monitor"
PARTS = [
    *(MONITOR / "kernel").glob("[cps]*.c"),
    MONITOR / "follow" / "meters.c",
    *(MONITOR / f"{name}.c" for name in ("outside", "process", "write")),
    MONITOR / "backends" / "proc" / "backend.c",
    *(MONITOR.parent / "workloads" / "harness" / name for name in ("record.c", "posix/files.c")),
]


def test_files_that_no_kernel_writes_are_read_rightly_and_told_as_json(tmp_path: Path) -> None:
    program = tmp_path / "false_proc"
    (tmp_path / "calls.c").write_text(
        '#include "monitor.h"\n'
        "const char *call_name(enum abi a, uint32_t n) { (void)a, (void)n; return 0; }\n"
    )
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    flags = ["-std=gnu11", "-O1", "-D_GNU_SOURCE", *watching.WARNINGS, "-Werror", f"-I{MONITOR}", *sanitizers]
    sources = [watching.SOURCES / "false_proc.c", tmp_path / "calls.c", *PARTS]
    subprocess.run(["gcc", *flags, "-o", program, *sources], check=True)

    answer = subprocess.run([program], capture_output=True, text=True, encoding="ascii", check=False)

    assert answer.stderr == ""
    assert answer.returncode == 0
    records = [json.loads(line) for line in answer.stdout.splitlines()]
    named = {one["pid"]: one["program"] for one in records if one["record"] == "process"}
    assert named == {40: 'a) (b\n"\\\xff\xc3(c', 41: '\x01\x7f\x80\xff\xfe{"[,', 42: "child"}
