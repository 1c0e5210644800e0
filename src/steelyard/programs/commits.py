"""Builds two commits of the user's repository, each in a worktree of its own below a scratch directory."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from steelyard import commands
from steelyard.errors import UsageError
from steelyard.text import quoted, shown

_GIT_S, _BUILD_S = 600.0, 6 * 3600.0
_LINES = 5  # of a build that failed
_OURS = r"steelyard-\d+-"  # how a scratch directory's name begins


@contextmanager
def checked_out(repository: Path, commits: Mapping[str, str], place: Path) -> Iterator[dict[str, Path]]:
    """A worktree of each commit, by the name that it is given. They are gone afterwards; the repository's
    own files and index are never touched. Raises UsageError."""
    _forget_killed(repository)
    made: dict[str, Path] = {}
    try:
        for name, commit in commits.items():
            found = _git(repository, "rev-parse", "--verify", "--end-of-options", f"{commit}^{{commit}}")
            _git(repository, "worktree", "add", "--detach", str(place / name), found)
            made[name] = place / name
        yield made
    finally:
        for path in made.values():
            commands.run(["git", "-C", repository, "worktree", "remove", "--force", path], limit_s=_GIT_S)


def _forget_killed(repository: Path) -> None:
    """Takes worktrees of ours out of git's list whose directory is gone, because a gate was killed. The
    user's own stay, also those on a disk that is not mounted now."""
    for line in _git(repository, "worktree", "list", "--porcelain").splitlines():
        path = Path(line.removeprefix("worktree "))
        if line.startswith("worktree ") and re.match(_OURS, path.parent.name) and not os.path.exists(path):
            _git(repository, "worktree", "remove", "--force", str(path))


def _git(repository: Path, *words: str) -> str:
    try:
        answer = commands.run(["git", "-C", repository, *words], limit_s=_GIT_S)
    except FileNotFoundError:
        raise UsageError("git is not installed, which commits are taken from (apt-get install git)") from None
    if answer.returncode:
        said = shown(answer.stderr.decode(errors="replace").strip().rpartition("\n")[2])
        raise UsageError(f"git {words[0]} {quoted(words[-1])} failed in {quoted(repository)}: {said}")
    return answer.stdout.decode(errors="replace").strip()


def build(words: tuple[str, ...], directory: Path, name: str) -> None:
    """Runs the build in the worktree. Raises UsageError with the last lines of what it said."""
    try:
        answer = commands.run(["env", "-C", directory, *words], limit_s=_BUILD_S, is_group=True)
    except subprocess.TimeoutExpired:
        raise UsageError(f"the build of {name} took more than {_BUILD_S / 3600:.0f} hours") from None
    if answer.returncode:
        lines = answer.stdout.decode(errors="replace").strip().splitlines()[-_LINES:]
        said = " | ".join(shown(line) for line in lines)
        raise UsageError(f"the build of {name} failed with status {answer.returncode}; it said last: {said}")
