"""A kernel's first file system: nothing but the load program as its first process, and the modules that the
kernel needs for its disks. The format is cpio's "newc" (the kernel's
Documentation/driver-api/early-userspace/buffer-format.rst)."""

import lzma
import os
import re
import stat
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

from steelyard.errors import Unsupported, UsageError, in_words
from steelyard.text import of_file, quoted

_DIRECTORIES = ("dev", "proc", "sys", "tmp", "run", "disk", "modules")
_ALIGNED = 4
_CONSOLE = (5, 1)  # the first process's three streams, before there is a /dev

Entry = tuple[str, int, tuple[int, int], bytes]  # name, mode, device, content
_LAST: Entry = ("TRAILER!!!", 0, (0, 0), b"")


def write(file: Path, *, program: Path, modules: Iterable[Path] = ()) -> None:
    """Writes it, with the modules to be loaded in that order."""
    pack(file, _entries(program, modules))


def pack(file: Path, entries: Iterable[Entry]) -> None:
    """Writes a file system of these entries, each directory before what is in it."""
    with open(file, "wb") as out:
        for number, (name, mode, device, content) in enumerate((*entries, _LAST), start=1):
            out.write(_entry(name, mode, device, content, number=number))


def _entries(program: Path, modules: Iterable[Path]) -> Iterator[Entry]:
    for name in _DIRECTORIES:
        yield name, stat.S_IFDIR | 0o755, (0, 0), b""
    yield "dev/console", stat.S_IFCHR | 0o600, _CONSOLE, b""
    yield "init", stat.S_IFREG | 0o755, (0, 0), program.read_bytes()
    yield from module_entries(modules)


def module_entries(modules: Iterable[Path]) -> Iterator[Entry]:
    """The modules, unpacked, by names that sort in the order in which they are to be loaded."""
    for place, module in enumerate(modules):
        yield f"modules/{place:03}-{_name(module)}", stat.S_IFREG | 0o644, (0, 0), _unpacked(module)


def _entry(name: str, mode: int, device: tuple[int, int], content: bytes, *, number: int) -> bytes:
    path = name.encode() + b"\0"
    #        inode   mode  user group links time size          of the file system    the device
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(path), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + path
    return _padded(head) + _padded(content)


def _padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % _ALIGNED)


def version_of(kernel: Path) -> str:
    """The release that a kernel's image says it is: "6.1.0-56-cloud-amd64". Raises UsageError if it is
    no kernel. (The kernel's Documentation/arch/x86/boot.rst: the setup header.)"""
    try:
        with open(kernel, "rb") as file:
            setup = file.read(0x8000)
    except OSError as error:
        raise UsageError(f"kernel is {quoted(kernel)}, which cannot be read: {in_words(error)}") from error
    if len(setup) < 0x210 or setup[0x202:0x206] != b"HdrS":
        raise UsageError(
            f"kernel is {quoted(kernel)}, but must be the image of a Linux kernel for x86 (a vmlinuz)"
        )
    (at,) = struct.unpack_from("<H", setup, 0x20E)
    return setup[at + 0x200 :].split(b"\0")[0].split(b" ")[0].decode(errors="replace")


def modules_for(kernel: Path, wanted: Iterable[str]) -> list[Path]:
    """The files of those modules and of what they depend on, in an order in which they can be loaded; what is
    built into the kernel needs none. Raises Unsupported if one is not available."""
    version = version_of(kernel)
    folders = [
        root / "modules" / version
        for root in (kernel.parent.parent / "lib", kernel.parent.parent / "usr/lib", Path("/lib"))
    ]
    folder = next((one for one in folders if os.path.isdir(one)), None)
    if folder is None:
        raise Unsupported(f"the modules of kernel {version} are not found in {folders[-1]}")
    builtin = {_name(Path(line)) for line in of_file(folder / "modules.builtin").splitlines()}
    files = {_name(file): file for file in folder.rglob("*.ko*")}
    modules: list[Path] = []
    for name in wanted:
        _collect(name, builtin, files, modules, version)
    return modules


def _collect(name: str, builtin: set[str], files: dict[str, Path], modules: list[Path], version: str) -> None:
    if name in builtin:
        return
    if name not in files:
        raise Unsupported(f"kernel {version} has no module {name}")
    if files[name] in modules:
        return
    for other in _depends(_unpacked(files[name])):
        _collect(other, builtin, files, modules, version)
    modules.append(files[name])


def _depends(module: bytes) -> list[str]:
    """The dependencies of the module, from its section .modinfo."""
    match = re.search(rb"\0depends=([^\0]*)\0", module)
    names = match[1].decode(errors="replace") if match else ""
    return [name.replace("-", "_") for name in names.split(",") if name]


def _name(module: Path) -> str:
    return module.name.partition(".")[0].replace("-", "_")


def _unpacked(module: Path) -> bytes:
    content = module.read_bytes()
    if module.suffix == ".xz":
        return lzma.decompress(content)
    if module.suffix != ".ko":
        raise Unsupported(f"the module {module} is compressed in an unknown format")
    return content


def newest_kernel(folder: Path = Path("/boot")) -> Path | None:
    """The newest of the Debian kernels there that can be read."""
    kernels = [one for one in folder.glob("vmlinuz-*-amd64") if os.access(one, os.R_OK)]
    return max(kernels, key=lambda one: [int(part) for part in re.findall(r"\d+", one.name)], default=None)
