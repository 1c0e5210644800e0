"""Wine: the interface of Windows on this machine's kernel. The measured system is Wine, never Windows.

The files of drive C are created once, in the user's cache directory, which takes about ten seconds and 700
MB. Each start has its own prefix that refers to them: a registry, and so a wineserver, that no other start
shares. The wineserver is a daemon, and all Wine processes wait for it; the guard, from which it cannot
escape, ends it, and parking stops it with the others. Nothing is shown: there is no display.
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from steelyard import commands, home
from steelyard.errors import Unsupported, starting
from steelyard.last_words import last_line
from steelyard.programs import built
from steelyard.systems.system import Place, System

_MAKING_LIMIT_S = 180
_KEPT = ("system.reg", "user.reg", "userdef.reg", ".update-timestamp")
# Waits until the registry is written, and only then gives the whole its name. Fails if another was quicker.
_MAKE = 'wine wineboot -i && wineserver -w && mv -T "$0" "$1"'


def _settings(prefix: Path) -> list[str]:
    """Arguments of env(1): that prefix, no messages, no display, no menus in the user's desktop, no debugger
    for a program that crashes, and no offer to download what other programs need."""
    return [
        *("-u", "DISPLAY", "-u", "WAYLAND_DISPLAY"),
        *("-u", "TMPDIR"),  # below which Debian's Wine would look for the socket that _keep_socket names
        f"WINEPREFIX={prefix}",
        "WINEDEBUG=-all",
        "WINEDLLOVERRIDES=winemenubuilder.exe,winedbg.exe,mscoree,mshtml=",
    ]


def _cache() -> Path:
    return home.cache() / "steelyard" / "wine"


def _version() -> str:
    said = commands.answer_of(["wine", "--version"]).stdout.strip()
    return re.sub(r"[^\w.~+-]+", "-", said).strip("-") or "unknown"


def _base() -> Path:
    """The prefix that all others link to, for this version of Wine. Made if it does not exist."""
    base = _cache() / _version()
    if not os.path.isdir(base):
        _make(base)
    return base


def _make(base: Path) -> None:
    """Makes it whole or not at all, even if two do at once, or if we are killed meanwhile: under the guard,
    which removes the draft."""
    base.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".making-", dir=base.parent))
    lifeline, ours = os.pipe()
    guard = [str(built.load("glibc")), "guard", str(lifeline), str(draft)]
    prefix = draft / "prefix"
    prefix.mkdir()
    _keep_socket(prefix, draft / "wineserver")
    with starting(guard[0], raises=Unsupported):
        process = subprocess.Popen(
            [*guard, "env", *_settings(prefix), "sh", "-c", _MAKE, str(prefix), str(base)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=(lifeline,),
        )
    os.close(lifeline)
    try:
        _, said = process.communicate(timeout=_MAKING_LIMIT_S)
    except subprocess.TimeoutExpired:
        said = f"it took more than {_MAKING_LIMIT_S} s".encode()
    finally:
        os.close(ours)
        process.wait()
    if not os.path.isdir(base):
        raise Unsupported(f"system 'wine' cannot start: wineboot could not make {base}: {last_line(said)}")


def _keep_socket(prefix: Path, directory: Path) -> None:
    """Debian's Wine has its wineserver's socket in a directory of /tmp, whose name it keeps in this file, and
    leaves it there. Ours is where it is removed with the rest."""
    directory.mkdir(mode=0o700)
    (prefix / "wineserver").write_bytes(os.fsencode(os.path.relpath(directory, "/tmp")))
    (prefix / "wineserver").chmod(0o400)


def _prefix(place: Place) -> Path:
    return place.scratch / "wine"


def _prepare(place: Place) -> None:
    base, prefix = _base(), _prefix(place)
    (prefix / "dosdevices").mkdir(parents=True)
    (prefix / "drive_c").symlink_to(base / "drive_c")
    (prefix / "dosdevices" / "c:").symlink_to("../drive_c")
    (prefix / "dosdevices" / "z:").symlink_to("/")
    for name in _KEPT:
        shutil.copy2(base / name, prefix / name)
    _keep_socket(prefix, place.scratch / "wineserver")


def _command(place: Place) -> list[str]:
    directory = "Z:" + str(place.scratch).replace("/", "\\")
    return ["env", *_settings(_prefix(place)), "wine", str(place.program), "agent", directory]


WINE = System(
    "wine",
    "Wine, the Windows API on this machine's kernel",
    _command,
    program="windows",
    needs=(("wine", "wine wine64"), ("wineserver", "wine wine64")),
    prepare=_prepare,
    settle_most_s=0.5,
)
