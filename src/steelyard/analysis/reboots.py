"""Finds in what a machine said of itself at each of its boots what was not as it should be."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from steelyard.analysis.remarks import BootsUnlike, BusyBoots, FailedBoots, OtherSettings, Remark

_BUSY_MOST = 0.1  # of its processors, before a boot was measured
# What one machine's systems should have in common, unless it is what they are compared for.
SETTINGS = (
    "architecture",
    "cpu_model",
    "cpu_count",
    "microcode",
    "firmware",
    "firmware_date",
    "pci_devices",
    "hypervisor",
    "frequency_governor",
    "clock_source",
    "swap_bytes",
    "huge_pages",
    "huge_pages_reserved",
    "address_randomisation",
    "file_system",
    "file_system_options",
)
_MEMORY = "memory_bytes"
_MEMORY_NEAR = 0.05  # kernels keep as much for themselves

Boot = tuple[str, Mapping[str, Any]]  # a system and its fingerprint


def remarks(machines: Mapping[str, str], boots: Sequence[Boot], failures: Sequence[str]) -> Iterable[Remark]:
    """Remarks on the boots; `machines` gives the machine of each system, `failures` the reasons of failed
    boots.
    """
    bootable = [(system, fingerprint) for system, fingerprint in boots if system in machines]
    for system in machines:
        yield from _within(system, [fingerprint for name, fingerprint in bootable if name == system])
    for machine in dict.fromkeys(machines.values()):
        members = [one for one in machines if machines[one] == machine]
        yield from _among(machine, members, dict(reversed(bootable)))
    busy = [share for _, one in bootable if (share := one.get("busy_at_start")) is not None]
    restless = [share for share in busy if share > _BUSY_MOST]
    if restless:
        yield BusyBoots(len(restless), len(busy), max(restless))
    for reason, count in Counter(failures).items():
        yield FailedBoots(count, reason)


def _within(system: str, fingerprints: Sequence[Mapping[str, Any]]) -> Iterable[BootsUnlike]:
    """Facts that changed from boot to boot of one system: its boots are then not replications."""
    for fact in (*SETTINGS, "kernel_release", "kernel_command_line", "mitigations", _MEMORY):
        values = [one.get(fact) for one in fingerprints]
        if fact == _MEMORY and _near([value for value in values if value]):
            continue
        by_text = {str(value): value for value in values}
        tally = Counter(map(str, values))
        if len(tally) > 1:
            yield BootsUnlike(
                system, fact, tuple((by_text[text], boots) for text, boots in tally.most_common())
            )


def _among(
    machine: str, systems: Sequence[str], first: Mapping[str, Mapping[str, Any]]
) -> Iterable[OtherSettings]:
    """The differences between the systems besides the systems themselves."""
    known = [(system, first[system]) for system in systems if system in first]
    differ = [fact for fact in SETTINGS if len({str(one.get(fact)) for _, one in known}) > 1]
    if not _near([one[_MEMORY] for _, one in known if one.get(_MEMORY)]):
        differ.append(_MEMORY)
    mitigations = tuple(
        name
        for name in dict.fromkeys(name for _, one in known for name in one.get("mitigations") or {})
        if len({(one.get("mitigations") or {}).get(name) for _, one in known}) > 1
    )
    settings = tuple((fact, tuple((system, one.get(fact)) for system, one in known)) for fact in differ)
    if settings or mitigations:
        yield OtherSettings(machine, settings, mitigations)


def _near(sizes: Sequence[int]) -> bool:
    return not sizes or max(sizes) - min(sizes) <= _MEMORY_NEAR * max(sizes)
