"""The machine code that is the same on every system: it stands alone, and every program holds it."""

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import c_programs
import places
import pytest
from machine_code import code

from steelyard.errors import SteelyardError
from steelyard.programs import built

ROOT = places.ROOT
BUILD_CODE = ROOT / "workloads" / "build-code"
BRANCHES = re.compile(r"^(j\w+|call\w*|loop\w*|b|bl|b\.\w+|cbn?z|tbn?z)$")
# Whatever leaves the processor's user mode, or reads what another part of a program has put somewhere.
FORBIDDEN = re.compile(r"^(syscall|sysenter|int\d*|into|hlt|in|out|rd\w*|xgetbv|svc|hvc|smc|brk|mrs|msr)$")


def disassembled(content: bytes, directory: Path) -> list[tuple[int, str, str]]:
    """Address, name and operands of every instruction."""
    file = directory / "code"
    file.write_bytes(content)
    answer = subprocess.run(
        ["objdump", "-D", "-b", "binary", "-m", "i386:x86-64", "--no-show-raw-insn", file],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    rows = re.findall(r"^\s*([0-9a-f]+):\t(\S+)[ \t]*(.*)$", answer.stdout, re.MULTILINE)
    prefixes = ("cs", "data16", "rep", "repz", "repnz", "bnd", "notrack", "ds", "es", "nop")
    found = []
    for address, name, operands in rows:
        while name in prefixes and name != "nop" and operands:
            name, _, operands = operands.partition(" ")
        found.append((int(address, 16), name, operands.strip()))
    return found


def escapes(content: bytes, directory: Path) -> list[str]:
    """What in the code leaves it, or what cannot be told not to."""
    found = []
    instructions = disassembled(content, directory)
    starts = {address for address, _, _ in instructions}
    for address, name, operands in instructions:
        said = f"{address:#x}: {name} {operands}"
        if name == "(bad)" or FORBIDDEN.match(name):
            found.append(said)
        elif BRANCHES.match(name):
            target = re.match(r"0x([0-9a-f]+)", operands)
            # An indirect branch could go anywhere.
            if target is None or int(target[1], 16) not in starts:
                found.append(said)
        # Beside the code or the thread's own; or an absolute address, where a base register should be.
        elif re.search(r"%rip|%[cdefgs]s:|(^|,)0x[0-9a-f]+(,|$)", operands) and not name.startswith("nop"):
            found.append(said)
    return found


pytestmark = pytest.mark.skipif(
    built.catalogue().find("linpack").code_sha256 is None or shutil.which("objdump") is None,
    reason="objdump is not installed",
)


@pytest.mark.program
def test_nothing_leaves_the_code(tmp_path: Path) -> None:
    """No call and no jump out of it, no system call, nothing indirect, no address but the stack's."""
    assert escapes(code(), tmp_path) == []


@pytest.mark.program
def test_it_does_not_run_on_beyond_its_last_byte(tmp_path: Path) -> None:
    """The last instruction that is no filling returns or jumps back."""
    names = [name for _, name, _ in disassembled(code(), tmp_path)]
    last = next(name for name in reversed(names) if not name.startswith(("nop", "xchg")))

    assert last in ("ret", "retq", "jmp")


@pytest.mark.program
@pytest.mark.parametrize(
    ("what", "escape"),
    [
        ("a call out of it", bytes.fromhex("e8 00 10 00 00 c3")),
        ("an indirect jump", bytes.fromhex("ff e0 c3")),
        ("a system call", bytes.fromhex("0f 05 c3")),
        ("data beside the code", bytes.fromhex("48 8b 05 10 00 00 00 c3")),
        ("thread-local data", bytes.fromhex("64 48 8b 04 25 28 00 00 00 c3")),
        ("an absolute address", bytes.fromhex("48 8b 04 25 00 10 40 00 c3")),
    ],
)
def test_the_proof_would_see(what: str, escape: bytes, tmp_path: Path) -> None:
    assert escapes(escape, tmp_path) != []


@pytest.mark.program
def test_it_takes_no_more_stack_than_it_says(tmp_path: Path) -> None:
    """What it subtracts from the stack pointer and pushes, all of it together."""
    text = built.machine_code().read_text()
    stated = int(re.search(r"\.stack = (\d+)", text)[1])  # type: ignore[index]
    taken = 8
    for _, name, operands in disassembled(code(), tmp_path):
        if name.startswith("push"):
            taken += 8
        elif name.startswith("sub") and operands.endswith(",%rsp"):
            taken += int(re.match(r"\$0x([0-9a-f]+)", operands)[1], 16)  # type: ignore[index]
        # Nothing else moves the stack pointer down, so the sum above is all of it.
        assert not name.startswith("call")
        assert not (name.startswith("and") and operands.endswith(",%rsp"))

    assert 160_000 < taken <= stated


def test_its_digest_is_what_the_program_says() -> None:
    said = {one.code_sha256 for one in built.catalogue().workloads if one.code_sha256}

    assert said == {hashlib.sha256(code()).hexdigest()}


@pytest.mark.parametrize("build", ["glibc", "musl", "windows"])
def test_every_program_holds_the_very_same_bytes(build: str) -> None:
    try:
        program = built.load(build)
    except SteelyardError as error:
        pytest.skip(str(error))

    assert code() in program.read_bytes()


@pytest.mark.builds
@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("extern int other; double linp(void) { return other; }", "relocate|not defined"),
        ("double linp(void) { return 3.25; }", "besides the code|relocate"),
        ("static int kept; double linp(void) { return ++kept; }", "relocate|besides"),
        ("int first(void) { return 1; } double linp(void) { int x; return *(volatile int *)&x; }", "begin"),
        ("double linp(void) { return", "failed"),
    ],
)
def test_code_that_does_not_stand_alone_is_refused(source: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "linp.c"
    file.write_text(source)
    made = tmp_path / "made.c"
    answer = subprocess.run(
        [BUILD_CODE, "linp", file, made, "cc"], capture_output=True, text=True, check=False
    )

    assert answer.returncode == 1
    assert answer.stderr.startswith("build-code: ")
    assert re.search(why, answer.stderr)
    assert not made.exists()


@pytest.mark.program
def test_its_answer_is_the_classical_program_s_to_the_last_bit() -> None:
    """1.67 for this matrix, from the bytes and from the source alike: no fused operation, no other order."""
    program = c_programs.program("tests/agent/residual")
    answer = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True)
    by_bytes, by_source = answer.stdout.split()

    assert by_bytes == by_source
    assert float.fromhex(by_bytes) == pytest.approx(1.67, abs=0.005)


# The way into the kernel

KERNEL_CALL = (ROOT / "workloads" / "api" / "kernel_call.h").resolve()


def reached(file: Path) -> set[Path]:
    """The headers of ours that a C file includes, and those that they include."""
    names = re.findall(r'^#include "(.+)"', file.read_text(), re.MULTILINE)
    headers = {(file.parent / name).resolve() for name in names}
    return headers.union(*(reached(header) for header in headers))


def entering() -> list[Path]:
    """The workloads whose system calls are made by kernel_call.h, themselves or through a header."""
    files = sorted((ROOT / "workloads" / "syscall").glob("*.c"))
    return [file for file in files if KERNEL_CALL in reached(file)]


TIMED = re.compile(r"\.text\.(?:run|ask|change|futex|wait_while|\w+_round_trip)\b")


def timed_part(file: Path, compiler: str, directory: Path) -> tuple[bytes, str]:
    """The machine code of what is timed, and what it reaches outside of itself."""
    made, raw = directory / f"{file.stem}-{compiler}.o", directory / "raw"
    flags = (ROOT / "base" / "compile-flags").read_text().split()
    subprocess.run([compiler, "-O2", *flags, "-c", file, "-o", made], check=True)
    headers = subprocess.run(["objdump", "-h", "-w", made], stdout=subprocess.PIPE, text=True, check=True)
    sections = sorted(set(TIMED.findall(headers.stdout)))
    code, reaches = b"", ""
    for section in sections:
        subprocess.run(["objcopy", "-O", "binary", "-j", section, made, raw], check=True)
        code += raw.read_bytes()
        listed = ["objdump", "-r", "-j", section, made]
        reaches += subprocess.run(listed, stdout=subprocess.PIPE, text=True, check=True).stdout
    return code, reaches


@pytest.mark.builds
@pytest.mark.usefixtures("keeping_compilers")
@pytest.mark.skipif(shutil.which("musl-gcc") is None, reason="musl-gcc is not installed")
@pytest.mark.parametrize("file", entering(), ids=lambda file: file.stem)
def test_what_asks_the_kernel_is_the_same_machine_code_for_both_libcs(file: Path, tmp_path: Path) -> None:
    """Else a difference between two libraries' wrappers would be told of as one between two systems."""
    code, reaches = timed_part(file, "gcc", tmp_path)
    other, _ = timed_part(file, "musl-gcc", tmp_path)

    assert len(code) > 16
    assert code == other
    assert "kernel_call" in reaches


def test_more_than_a_dozen_workloads_ask_so() -> None:
    known = {"syscall", "read_zero", "write_null", "open_close", "yield", "poll_files", "stat_file"}
    assert known <= {file.stem for file in entering()}
    assert len(entering()) > 12
