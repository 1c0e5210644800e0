"""Makes further builds of the load program: by another compiler, for another libc, at another level.

The papers found the compiler to be the great confounder of their comparisons; so it is a factor like any
other. A build's name says what it is, such as clang-musl-O3, and a system runs it as native+clang-musl-O3.
"""

import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import steelyard
from steelyard import allowance, commands, text
from steelyard.errors import SteelyardError, Unsupported, UsageError
from steelyard.programs import built
from steelyard.text import quoted

COMPILERS = ("gcc", "clang", "zig")
LIBCS = ("glibc", "musl")
LEVELS = ("O0", "O1", "O2", "O3", "Os", "Ofast")
TARGETS = (
    "aarch64-linux-musl",
    "riscv64-linux-musl",
    "x86-linux-musl",
    "x86_64-freebsd",
    "x86_64-linux-musl",
)  # by zig, known to build
_COMPILING_MOST_S = 900  # a compiler may have to make a libc first
_LINK = ("-s", "-Wl,--gc-sections", "-Wl,-z,noseparate-code")  # zig knows the first two


@dataclass(frozen=True, slots=True)
class LoadBuild:
    """The settings of a build: each is a level of the factor "build"."""

    compiler: str = "gcc"
    libc: str = "glibc"
    level: str = "O2"
    shared: bool = False  # linked with the system's shared libraries, and its RPC library if there is one
    target: str = ""  # of zig, instead of the libc: processor, system and libc

    @property
    def name(self) -> str:
        kind = self.target or self.libc
        parts = [Path(self.compiler).name, kind, self.level, *(["shared"] if self.shared else [])]
        return "-".join(parts)


def make(build: LoadBuild, *, warnings: Sequence[str] = ()) -> Path:
    """Compiles the build and puts it where `programs.load` finds it by its name. Raises UsageError for a
    part that is not one of the known, Unsupported where the compiler or the libc is not installed, and
    SteelyardError, with what the compiler said, where it refuses."""
    _check(build)
    place = built.build_place(build.name)
    compile_to(place, build, source=built.source(), warnings=warnings)
    return place


def compile_to(place: Path, build: LoadBuild, *, source: Path, warnings: Sequence[str] = ()) -> None:
    """Compiles that source as the build says, and puts the program there, whole or not at all."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".building-") as draft:
        program = Path(draft) / "steelyard-load"
        flags, files = [*_flags(build, source), *warnings], _files(build, source, Path(draft))
        # zig itself compiles several files at once, and keeps what it has made of each.
        parts = [*flags, *map(str, files)] if build.target else _objects(build, flags, files, Path(draft))
        _call([*_linker(build), *parts, "-o", str(program), *_libraries(build)])
        if _runs_here(build):
            _call([str(program), "--version"])
        os.replace(program, place)


def _is_zig(build: LoadBuild) -> bool:
    return Path(build.compiler).name == "zig"


def _runs_here(build: LoadBuild) -> bool:
    return build.target in ("", f"{os.uname().machine}-linux-musl")


def _zig(build: LoadBuild) -> list[str]:
    """The command, from the package of Python (ziglang) if no other is installed. Raises Unsupported."""
    if shutil.which(build.compiler):
        return [build.compiler, "cc", "-target", build.target]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc", "-target", build.target]
    raise Unsupported("the compiler zig is not installed (pip install ziglang)")


def _check_target(build: LoadBuild) -> None:
    if not _is_zig(build):
        raise UsageError(
            f"the target is {quoted(build.target)}, but {build.compiler} builds for this machine only"
        )
    if build.target not in TARGETS:
        raise UsageError(f"the target is {quoted(build.target)}, and must be one of {', '.join(TARGETS)}")
    if build.shared:
        raise UsageError("a shared build is for this machine's glibc: zig's programs are static")
    _zig(build)


def _check(build: LoadBuild) -> None:
    for what, value, allowed in (
        ("compiler", Path(build.compiler).name.partition("-")[0], COMPILERS),
        ("libc", build.libc, LIBCS),
        ("level", build.level, LEVELS),
    ):
        if value not in allowed:
            raise UsageError(f"the {what} is {quoted(value)}, and must be one of {', '.join(allowed)}")
    if build.target or _is_zig(build):
        _check_target(build)
    elif shutil.which(build.compiler) is None:
        raise Unsupported(f"the compiler {build.compiler} is not installed")
    if build.libc == "musl" and shutil.which("musl-gcc") is None:
        raise Unsupported("musl is not installed (on Debian: apt-get install musl-tools)")
    if build.libc == "musl" and build.shared:
        raise UsageError("a shared build is for glibc: musl's programs here are static")


def _flags(build: LoadBuild, source: Path) -> list[str]:
    return [
        *text.of_file(source / "base" / "compile-flags").split(),
        f"-{build.level}",
        f'-DSTEELYARD_VERSION="{steelyard.__version__}"',
        f"-I{source / 'workloads' / 'cpu'}",
        *_includes(build),
    ]


def _files(build: LoadBuild, source: Path, draft: Path) -> list[Path]:
    # A program of 32 bits has this machine's code with it, and says of its workloads that it is not for it.
    is_foreign = build.target and not build.target.startswith((os.uname().machine, "x86-"))
    code = _machine_code(build, source, draft) if is_foreign else built.machine_code()
    return [*sources(build, source), code]


def _objects(build: LoadBuild, flags: list[str], files: list[Path], draft: Path) -> list[str]:
    """Compile the files, several at once."""
    objects = [str(draft / f"{number}-{file.stem}.o") for number, file in enumerate(files)]
    commands = [
        [*_compiler(build), *flags, "-c", str(file), "-o", made]
        for file, made in zip(files, objects, strict=True)
    ]
    with ThreadPoolExecutor(len(allowance.processors())) as several:
        for _ in several.map(_call, commands):
            pass
    return objects


def sources(build: LoadBuild, source: Path) -> list[Path]:
    """The sources of the load program. The load generator, and the workloads of servers that need it, are for
    Linux.
    """
    folders = ["base", "base/posix", "workloads/*", "agent", "agent/posix"]
    is_linux = not build.target or "linux" in build.target
    if is_linux:
        folders += ["loadgen", "loadgen/surge"]
    files = sorted(file for folder in folders for file in source.glob(f"{folder}/*.c"))
    return [file for file in files if is_linux or file.parent.name != "server" or file.stem == "elsewhere"]


def _machine_code(build: LoadBuild, source: Path, draft: Path) -> Path:
    """The machine code that all programs of another architecture than this one share."""
    file = draft / "linp_code.c"
    workloads = source / "workloads"
    script = [workloads / "build-code", "linp", workloads / "cpu" / "linp.c", file]
    _call([sys.executable, *map(str, script), *_compiler(build)])
    return file


def _compiler(build: LoadBuild) -> list[str]:
    if build.target:
        return _zig(build)
    return ["musl-gcc" if build.libc == "musl" and "gcc" in build.compiler else build.compiler]


def _includes(build: LoadBuild) -> list[str]:
    """The directories with musl's headers and the RPC library's, for compilers other than musl's own."""
    if build.target:
        return []  # zig brings its own
    if build.libc == "musl" and "clang" in build.compiler:
        machine = os.uname().machine
        own = commands.answer_of([build.compiler, "-print-resource-dir"]).stdout.strip()
        return [
            f"--target={machine}-linux-musl",
            "-nostdinc",
            *("-isystem", f"{own}/include", "-isystem", f"/usr/include/{machine}-linux-musl"),
        ]
    rpc = _rpc() if build.shared else None
    return ["-DSTEELYARD_RPC", *rpc[0]] if rpc else []


def _linker(build: LoadBuild) -> list[str]:
    if build.target:
        return [*_zig(build), *(["-static"] if "linux" in build.target else []), *_LINK[:2]]
    driver = "musl-gcc" if build.libc == "musl" else build.compiler
    return [driver, *([] if build.shared else ["-static"]), *_LINK]


def _libraries(build: LoadBuild) -> list[str]:
    rpc = _rpc() if build.shared else None
    return [*(rpc[1] if rpc else []), "-lm"]


def _rpc() -> tuple[list[str], list[str]] | None:
    """The flags to compile and link with the system's RPC library, by pkg-config."""
    flags = []
    for what in ("--cflags", "--libs"):
        try:
            answer = commands.answer_of(["pkg-config", what, "libtirpc"])
        except FileNotFoundError:
            return None
        if answer.returncode:
            return None
        flags.append(answer.stdout.split())
    return flags[0], flags[1]


def _call(command: list[str]) -> None:
    answer = commands.answer_of(command, limit_s=_COMPILING_MOST_S)
    if answer.returncode:
        raise SteelyardError(f"{command[0]} failed: {answer.stderr.strip()[-2000:]}")
