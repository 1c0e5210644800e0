"""Sets this machine as a tuned system wants it, verifies it, and puts it back.

What holds for the whole machine (sysctls, huge pages) is set only while its system starts or runs a trial,
because agents stay up while others are measured; limits, nice and processors hold as long as the system's
processes live, whom the guard starts under them.
"""

import errno
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard import allowance, streams
from steelyard.errors import SteelyardError, SystemFailed, UnknownName, Unsupported, UsageError, in_words
from steelyard.study.model import Tuning
from steelyard.systems import groups
from steelyard.systems.ledger import Ledger, lock_machine, put_back_leftovers
from steelyard.systems.scratch import Scratch

_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_SYSCTLS = Path("/proc/sys")

# What can be set and never back, or is an order and not a value.
_ONE_WAY = (
    "kernel.kexec_load_disabled",
    "kernel.modules_disabled",
    "kernel.unprivileged_bpf_disabled",
    "kernel.yama.ptrace_scope",
    "vm.compact_memory",
    "vm.drop_caches",
)
# What can end this machine, or keep everybody from it, if it is set wrongly.
_DANGEROUS = re.compile(
    r"kernel\..*panic.*|vm\.panic_on_oom|kernel\.(pid_max|threads-max|sysrq|modprobe|core_pattern|hotplug)"
    r"|vm\.min_free_kbytes|fs\.(file-max|nr_open|mount-max)|user\..*"
)
# Of net.*, what cuts no connection.
_HARMLESS = ("net.ipv4.tcp_congestion_control", "net.core.default_qdisc")
# Two names of one thing: to set one makes the other 0, and 0 cannot be written. What was not 0 is put back.
_TWINS = {
    one: other
    for pair in (
        ("vm.dirty_bytes", "vm.dirty_ratio"),
        ("vm.dirty_background_bytes", "vm.dirty_background_ratio"),
        ("vm.overcommit_kbytes", "vm.overcommit_ratio"),
    )
    for one, other in (pair, pair[::-1])
}


@dataclass(frozen=True, slots=True)
class _Setting:
    """A value of the whole machine."""

    label: str
    file: Path
    value: str
    twin: Path | None = None

    def read(self) -> str:
        return _read(self.file)

    def before(self) -> tuple[Path, str]:
        """The file and the value that put back what is now."""
        now = self.read()
        if self.twin and now == "0":
            return self.twin, _read(self.twin)
        return self.file, now


def _read(file: Path) -> str:
    text = os.fsdecode(file.read_bytes()).strip()
    if file == _HUGE_PAGES:  # "always [madvise] never"
        return text.partition("[")[2].partition("]")[0]
    return text


def _sysctl(name: str) -> Path:
    # As sysctl(8) has it: the first separator says whether dots or slashes divide.
    dot, slash = name.find("."), name.find("/")
    divided = name if slash >= 0 and (dot < 0 or slash < dot) else name.translate(str.maketrans("./", "/."))
    return _SYSCTLS / divided


def _settings(tuning: Tuning) -> Iterator[_Setting]:
    if tuning.huge_pages:
        yield _Setting("huge_pages", _HUGE_PAGES, tuning.huge_pages)
    for name, value in tuning.sysctl:
        twin = _TWINS.get(name)
        yield _Setting(f"sysctl {name}", _sysctl(name), value, _sysctl(twin) if twin else None)


def check(name: str, tuning: Tuning) -> None:
    """Raises, before anything is started, where the system so tuned could not be: UsageError for what is not
    on this machine, Unsupported for what is missing to set it."""
    where = f"system '{name}': "
    for one, _ in tuning.sysctl:
        if ".".join(_sysctl(one).relative_to(_SYSCTLS).parts) in _ONE_WAY:
            raise UsageError(f"{where}sysctl '{one}' cannot be restored after a change, so it is not tuned")
        if not os.path.isfile(_sysctl(one)):
            raise UnknownName("sysctl", one, _neighbours(one), where=where)
        if danger := _danger(one):
            raise UsageError(f"{where}sysctl '{one}' can {danger}, so it is not tuned")
    for setting in _settings(tuning):
        if not os.path.isfile(setting.file):
            raise Unsupported(f"{where}this kernel has no {setting.label} ({setting.file})")
        if not (os.access(setting.file, os.R_OK) and os.access(setting.file, os.W_OK)):
            raise Unsupported(f"{where}{setting.label} cannot be set (requires root): {setting.file}")
    here = set(allowance.processors())
    if not set(tuning.processors) <= here:
        raise UsageError(
            f"{where}processors is {list(tuning.processors)}, but this machine has {sorted(here)} for it"
        )
    try:
        groups.of(tuning)
    except Unsupported as error:
        raise Unsupported(f"{where}{error}") from error


def _danger(name: str) -> str:
    """What a wrong value of that sysctl can do; nothing that concerns more than the system."""
    whole = ".".join(_sysctl(name).relative_to(_SYSCTLS).parts)
    if _DANGEROUS.fullmatch(whole):
        return "end this machine, or keep others from starting programs"
    if whole.startswith("net.") and whole not in _HARMLESS and os.environ.get("SSH_CONNECTION"):
        return "cut the connection by which this machine is reached (ssh)"
    return ""


def _neighbours(name: str) -> list[str]:
    """The sysctls beside that one, or else those that there are, for advice."""
    folder = _sysctl(name).parent
    if not os.path.isdir(folder):
        folder = _SYSCTLS
    paths = folder.rglob("*") if folder != _SYSCTLS else folder.glob("*/*")
    return [".".join(one.relative_to(_SYSCTLS).parts) for one in paths if os.path.isfile(one)]


class _Machine:
    """The lock on this machine's settings: one for all systems of this process."""

    def __init__(self) -> None:
        self.file = -1
        self._holders = 0

    def take(self) -> None:
        if not self._holders:
            self.file = lock_machine()
            try:
                _put_in_order()
            except BaseException:
                os.close(self.file)
                raise
        self._holders += 1

    def leave(self) -> None:
        self._holders -= 1
        if not self._holders:
            os.close(self.file)


def _put_in_order() -> None:
    """What a killed run has left set would be taken for this machine's own: one may have been killed while
    we waited for the lock. Raises SteelyardError for what cannot be put back."""
    restored = put_back_leftovers()
    for sentence in restored.done:
        streams.tell(sentence)
    if restored.left:
        raise SteelyardError(f"{restored.left[0]}; this machine is not tuned before that is in order")


_machine = _Machine()


class Tuned:
    """The changes to this machine for one running system, from before its start to after its end."""

    def __init__(
        self, name: str, tuning: Tuning, scratch: Scratch, *, undo: Sequence[Sequence[str]] = ()
    ) -> None:
        """Sets all; `undo` are the ledger's lines about what the system's own command may leave, in words.
        Raises UsageError or Unsupported when nothing is left set."""
        self._where = f"system '{name}': "
        self._tuning = tuning
        self._settings = tuple(_settings(tuning))
        self._made: list[groups.ControlGroup] = []
        self._ledger: Ledger | None = None
        self._former_values: dict[str, Any] = {}
        if not tuning and not undo:
            return
        if self._settings:
            _machine.take()
        try:
            self._ledger = Ledger(scratch.path, mark=scratch.mark)
            self._ledger.note(*("\t".join(words) for words in undo))
            self._enter(self._ledger, groups.of(tuning))
            self.set()
        except BaseException:
            self._abandon()
            raise

    @property
    def files(self) -> tuple[int, ...]:
        """The descriptors that the guard must inherit."""
        if self._ledger is None:
            return ()
        return (self._ledger.file, _machine.file) if self._settings else (self._ledger.file,)

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables for the guard and the agent."""
        ledger = {"STEELYARD_LEDGER": str(self._ledger.file)} if self._ledger else {}
        return ledger | ({"STEELYARD_LIMITED": "1"} if self._tuning.is_limit else {})

    def _enter(self, ledger: Ledger, wanted: Sequence[groups.ControlGroup]) -> None:
        """Notes what the guard starts the system under, and makes the groups, each noted before."""
        if self._tuning.nice is not None:
            ledger.note(f"nice\t{self._tuning.nice}")
        if self._tuning.processors:
            ledger.note(f"processors\t{','.join(map(str, self._tuning.processors))}")
        for group in wanted:
            ledger.note(line := f"group\t{group.path}")
            try:
                groups.make(group)
            except FileExistsError as error:  # another's: nothing in it is ours to end
                ledger.strike(line)
                raise Unsupported(f"{self._where}the control group {group.path} exists already") from error
            except OSError as error:
                raise Unsupported(f"{self._where}cannot create a control group: {error}") from error
            self._made.append(group)
            try:
                self._former_values |= groups.limit(group)
            except Unsupported as error:
                raise Unsupported(f"{self._where}{error}") from error

    def set(self) -> None:
        """Sets what holds for the whole machine, unless it is set, and reads it back."""
        if self._ledger is None or self._ledger.changes():
            return
        for setting in self._settings:
            self._ledger.hold(*setting.before())
            try:
                setting.file.write_bytes(os.fsencode(setting.value))
            except OSError as error:
                raise self._refusal(setting, error) from error
            value = setting.read()
            if value.split() != setting.value.split():
                raise UsageError(
                    f"{self._where}{setting.label} was set to '{setting.value}', but reads '{value}'"
                )
            self._former_values[setting.label] = value

    def _refusal(self, setting: _Setting, error: OSError) -> SteelyardError:
        if error.errno in (errno.EPERM, errno.EACCES, errno.EROFS):
            return Unsupported(f"{self._where}{setting.label} cannot be set here: {in_words(error)}")
        return UsageError(
            f"{self._where}{setting.label} is '{setting.value}', which the kernel refuses "
            f"({in_words(error)}); it is '{setting.read()}'"
        )

    def put_back(self) -> None:
        """Puts back what holds for the whole machine. Raises SystemFailed if a value does not come back."""
        if self._ledger is None:
            return
        for file, old in reversed(self._ledger.changes()):
            try:
                file.write_bytes(os.fsencode(old))
                value = _read(file)
            except OSError as error:
                raise SystemFailed(f"{self._where}{file} cannot be restored to '{old}': {error}") from error
            if value.split() != old.split():
                raise SystemFailed(f"{self._where}{file} was restored to '{old}', but reads '{value}'")
        self._ledger.release()

    def facts(self, process: int) -> dict[str, Any] | None:
        """The settings as read back, for the fingerprint: None if there are none. `process` is the system's
        first; raises Unsupported if it does not have its nice value or its processors.
        """
        if not self._tuning:
            return None
        facts = dict(self._former_values)
        try:
            nice = os.getpriority(os.PRIO_PROCESS, process)
            processors = sorted(os.sched_getaffinity(process))
        except OSError as error:  # a sandbox may refuse the question
            raise Unsupported(f"{self._where}its settings cannot be read: {in_words(error)}") from error
        if self._tuning.nice is not None:
            facts["nice"] = nice
            if facts["nice"] != self._tuning.nice:
                raise Unsupported(f"{self._where}nice is {facts['nice']}, not {self._tuning.nice}")
        if self._tuning.processors:
            facts["processors"] = processors
            if not set(facts["processors"]) <= set(self._tuning.processors):
                raise Unsupported(f"{self._where}it runs on processors {facts['processors']}")
        return facts

    def close(self) -> None:
        """Restore the settings after the guard's end. Raises SystemFailed if any is not as it was before."""
        if self._ledger is None:
            return
        try:
            self.put_back()
            self._ledger.undo()
            left = [str(group.path) for group in self._made if os.path.exists(group.path)]
            if left:
                raise SystemFailed(f"{self._where}the control group {left[0]} cannot be removed")
        except SteelyardError:
            os.close(self._ledger.file)  # the file stays, and the next start tries again
            raise
        else:
            self._ledger.close()
        finally:
            self._ledger = None
            if self._settings:
                _machine.leave()

    def _abandon(self) -> None:
        """No guard was started."""
        if self._ledger is not None:
            self.close()
        elif self._settings:
            _machine.leave()
