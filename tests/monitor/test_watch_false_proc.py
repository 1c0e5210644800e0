"""The monitor on a /proc that a program has written: what it tells of names of any bytes is JSON."""

import json
import subprocess

import c_programs
import pytest


@pytest.mark.program
def test_files_that_no_kernel_writes_are_read_rightly_and_told_as_json() -> None:
    program = c_programs.program("tests/monitor/false_proc")
    answer = subprocess.run([program], capture_output=True, text=True, encoding="ascii", check=False)

    assert answer.stderr == ""
    assert answer.returncode == 0
    records = [json.loads(line) for line in answer.stdout.splitlines()]
    named = {one["pid"]: one["program"] for one in records if one["record"] == "process"}
    assert named == {40: 'a) (b\n"\\\xff\xc3(c', 41: '\x01\x7f\x80\xff\xfe{"[,', 42: "child"}
