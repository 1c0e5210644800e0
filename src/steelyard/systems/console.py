"""The console of a machine that is booted: what it shows while it boots, works and dies, printed by a command
of the study's. A kernel that panics says why on its console, and nowhere else."""

import os
import shlex
import subprocess
from pathlib import Path

from steelyard import home, last_words
from steelyard.errors import BootFailed, Stuck, in_words
from steelyard.programs import built
from steelyard.study.model import Machine
from steelyard.systems import leftovers, scratch
from steelyard.text import quoted

_PART_MOST = 1 << 20  # bytes that a failed boot's error carries: the last ones


class MachineConsole:
    """A file into which the command writes until it is closed; others may write as well. The command runs
    under the load program's guard, which ends its whole tree, also when this process dies.
    """

    def __init__(self, machine: Machine, *, directory: Path) -> None:
        """Starts the machine's command, if it has one. Raises Stuck if it cannot be started."""
        self._words = machine.console
        self._file = home.unnamed_file()  # closed in close()
        self._process: subprocess.Popen[bytes] | None = None
        if self._words:
            self._scratch = scratch.make(directory)
            lifeline, self._lifeline = os.pipe()
            try:
                self._process = self._start(lifeline)
            except OSError as error:
                os.close(self._lifeline)
                self._scratch.close()
                self._file.close()
                named = quoted(shlex.join(self._words))
                raise Stuck(f"the console command {named} cannot be run: {in_words(error)}") from error
            finally:
                os.close(lifeline)

    def _start(self, lifeline: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [built.load("glibc"), "guard", str(lifeline), self._scratch.path, *self._words],
            stdin=subprocess.PIPE,  # stays open: some end when there is nothing more to read
            stdout=self._file,
            stderr=self._file,
            pass_fds=(lifeline, self._scratch.file),
            env=os.environ | {leftovers.VARIABLE: self._scratch.mark},
        )

    def fileno(self) -> int:
        """The file's descriptor."""
        return self._file.fileno()

    def added_to(self, error: BootFailed) -> BootFailed:
        """The same error, of the same kind, with what the console said: the lines that say why, and all of it
        to be kept."""
        words = last_words.summary(last_words.lines_of(self.fileno()))
        if not words:
            return error
        size = os.fstat(self.fileno()).st_size
        said = os.pread(self.fileno(), _PART_MOST, max(0, size - _PART_MOST))
        return type(error)(f"{error}; its console: {' | '.join(words)}", said=error.said + said)

    def end(self) -> None:
        """Ends the command, and notes in the file if it had ended by itself. The file can still be read."""
        process, self._process = self._process, None
        if process is None:
            return
        status = process.poll()
        os.close(self._lifeline)
        if process.stdin is not None:
            process.stdin.close()
        process.wait()
        self._scratch.close()
        if status is not None:
            note = f"[the console command {shlex.join(self._words)} ended by itself with status {status}]\n"
            os.write(self.fileno(), note.encode())

    def close(self) -> None:
        """Ends the command; the file is gone."""
        self.end()
        self._file.close()
