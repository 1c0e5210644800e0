"""Machines that run one system at a time, during a run: boots them, and holds the right to."""

import contextlib
import os
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from steelyard import interruption, streams
from steelyard.errors import Rebooting, Stuck
from steelyard.events import Earlier
from steelyard.systems import ledger, machine
from steelyard.systems.agent import Agent
from steelyard.systems.system import Seat, System


class Seats:
    """Which system has its machine, and which boots have been used."""

    def __init__(self, members: Mapping[str, System], *, directory: Path, earlier: Earlier) -> None:
        self._members = members
        self._directory = directory
        self._identities = set(earlier.identities)
        self._switching = earlier.switching
        self._asked_at = earlier.switching_at
        self._has_failed = False  # the last boot

    def _seat(self, system: str) -> Seat | None:
        return self._members[system].seat

    def machine(self, system: str) -> str | None:
        seat = self._seat(system)
        return seat.machine.name if seat else None

    def is_on_its_way(self, system: str) -> bool:
        """Whether a boot into the system was asked for by a run that was interrupted before it came up. What
        did not answer then has to be asked again."""
        switch = self._switching
        return switch is not None and switch.system == system and switch.identity is not None

    def away_s(self) -> float:
        """How long this machine took for the boot that ended the process that asked for it; 0 if none did."""
        asked = self._switching
        seat = self._seat(asked.system) if asked and asked.identity is not None else None
        if seat is None or not seat.is_here:
            return 0.0
        return min(max(0.0, time.time() - self._asked_at), seat.machine.wait_s)

    def identity(self, system: str) -> str | None:
        seat = self._seat(system)
        assert seat is not None
        identity = machine.identity(seat) if self._has_failed else machine.await_answer(seat)
        if identity is not None:
            self._identities.add(identity)
        return identity

    def start(self, system: str) -> Agent:
        """The system's agent, on its machine, freshly booted into it. Raises BootFailed, and what Agent does;
        Rebooting where that ends this process."""
        seat = self._seat(system)
        assert seat is not None
        self._has_failed = True
        try:
            if self._switching is not None and self.is_on_its_way(system):
                self._identities.add(str(self._switching.identity))
                self._switching = None
            elif seat.is_here:
                with interruption.ignored():
                    machine.switch(seat)
                raise Rebooting(
                    f"this machine reboots into {seat.name} now, and the experiment goes on by itself: "
                    "steelyard reboots says where it stands"
                )
            else:
                machine.switch(seat)
            self._identities.add(machine.await_boot(seat, old=self._identities))
        except KeyboardInterrupt:
            streams.tell(f"{seat.host} may still be booting into {seat.name}")
            raise
        agent = Agent(self._members[system], directory=self._directory)
        try:
            machine.check(seat, agent.fingerprint)
            busy = machine.await_quiet(seat)
        except BaseException:
            agent.close()
            raise
        agent.fingerprint["busy_at_start"] = busy
        self._has_failed = False
        return agent


@contextmanager
def hold(members: Mapping[str, System]) -> Iterator[None]:
    """Holds the right to boot every machine that these systems run on, on this host. Raises Stuck if another
    laboratory has it; who has it on another host is asked when the machine is up. Ends with the process."""
    seats = {one.seat.machine.host: one.seat for one in members.values() if one.seat}
    with ExitStack() as stack:
        for seat in seats.values():
            stack.callback(os.close, _lock(seat.host))
        try:
            yield
        finally:
            for seat in seats.values():
                with contextlib.suppress(Stuck):
                    machine.release(seat)


def _lock(host: str) -> int:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "steelyard"
    return ledger.lock(
        folder / f"machine-{urllib.parse.quote(host, safe='')}.lock",
        lambda holder: Stuck(
            f"{host} is in use by process {holder}, whose experiment a reboot would end: wait for it, or "
            "stop it"
        ),
    )
