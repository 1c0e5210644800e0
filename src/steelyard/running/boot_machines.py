"""Machines that run one system at a time, during a run: boots them, and holds the right to."""

import contextlib
import os
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from steelyard import home, interruption, streams
from steelyard.errors import BootFailed, Rebooting, Stuck
from steelyard.events import Earlier
from steelyard.running.running_systems import Terms
from steelyard.systems import ledger, machine
from steelyard.systems.agent import Agent
from steelyard.systems.console import MachineConsole
from steelyard.systems.system import BootEntry, System


class BootMachines:
    """The current system of each machine, and the boots that were used."""

    def __init__(self, members: Mapping[str, System], *, directory: Path, earlier: Earlier) -> None:
        self._members = members
        self._directory = directory
        self._identities = set(earlier.identities)
        self._switching = earlier.switching
        self._asked_at = earlier.switching_at
        self._has_failed = False  # the last boot

    def _boot_entry(self, system: str) -> BootEntry | None:
        return self._members[system].boot_entry

    def machine(self, system: str) -> str | None:
        boot_entry = self._boot_entry(system)
        return boot_entry.machine.name if boot_entry else None

    def is_on_its_way(self, system: str) -> bool:
        """True if an interrupted run had requested a boot into the system, which has not come up yet. If it
        did not answer, it must be requested again.
        """
        switch = self._switching
        return switch is not None and switch.system == system and switch.identity is not None

    def away_s(self) -> float:
        """The duration of the boot of this machine that ended the requesting process; 0 if there was none."""
        asked = self._switching
        boot_entry = self._boot_entry(asked.system) if asked and asked.identity is not None else None
        if boot_entry is None or not boot_entry.is_here:
            return 0.0
        return min(max(0.0, time.time() - self._asked_at), boot_entry.machine.wait_s)

    def identity(self, system: str) -> str | None:
        boot_entry = self._boot_entry(system)
        assert boot_entry is not None
        identity = machine.identity(boot_entry) if self._has_failed else machine.await_answer(boot_entry)
        if identity is not None:
            self._identities.add(identity)
        return identity

    def start(self, system: str, terms: Terms) -> Agent:
        """The system's agent, on its machine, freshly booted into it. Raises BootFailed, and what Agent does;
        Rebooting where that ends this process."""
        boot_entry = self._boot_entry(system)
        assert boot_entry is not None
        self._has_failed = True
        console = MachineConsole(boot_entry.machine, directory=self._directory)
        with ExitStack() as stack:
            stack.callback(console.close)
            try:
                self._boot(system, boot_entry)
                agent = Agent(
                    self._members[system], directory=self._directory, hear=terms.hear, console=console
                )
                stack.callback(agent.close)
                machine.check(boot_entry, agent.fingerprint)
                agent.fingerprint["busy_at_start"] = machine.await_quiet(boot_entry)
            except BootFailed as error:
                raise console.added_to(error) from error
            stack.pop_all()  # the agent closes its console
        self._has_failed = False
        return agent

    def _boot(self, system: str, boot_entry: BootEntry) -> None:
        """Boot the machine into the system. Raises BootFailed, or Rebooting."""
        try:
            if self._switching is not None and self.is_on_its_way(system):
                self._identities.add(str(self._switching.identity))
                self._switching = None
            elif boot_entry.is_here:
                with interruption.ignored():
                    machine.switch(boot_entry)
                raise Rebooting(
                    f"this machine reboots into {boot_entry.name} now, and the experiment resumes by itself: "
                    "steelyard reboots shows its progress"
                )
            else:
                machine.switch(boot_entry)
            self._identities.add(machine.await_boot(boot_entry, old=self._identities))
        except KeyboardInterrupt:
            streams.tell(f"{boot_entry.host} may still be booting into {boot_entry.name}")
            raise


@contextmanager
def hold(members: Mapping[str, System]) -> Iterator[None]:
    """Hold the right to boot every machine that these systems run on, on this host. Raises Stuck if another
    laboratory has it; on another host this is checked once the machine is up. Ends with the process.
    """
    boot_machines = {
        one.boot_entry.machine.host: one.boot_entry for one in members.values() if one.boot_entry
    }
    with ExitStack() as stack:
        for boot_entry in boot_machines.values():
            stack.callback(os.close, _lock(boot_entry.host))
        try:
            yield
        finally:
            for boot_entry in boot_machines.values():
                with contextlib.suppress(Stuck):
                    machine.release(boot_entry)


def _lock(host: str) -> int:
    folder = home.cache() / "steelyard"
    return ledger.lock(
        folder / f"machine-{urllib.parse.quote(host, safe='')}.lock",
        lambda holder: Stuck(
            f"{host} is in use by process {holder}, whose experiment a reboot would end: wait for it, or "
            "stop it"
        ),
    )
