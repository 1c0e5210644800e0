"""Turns what a machine said of itself at each of its boots into sentences: what was not as it should be."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_BUSY_MOST = 0.1  # of its processors, before a boot was measured
_NAMED = 4
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


def sentences(machines: Mapping[str, str], boots: Sequence[Boot], failures: Sequence[str]) -> Iterable[str]:
    """What should be known of the boots; `machines` says on which each system runs, `failures` why some did
    not come up."""
    seated = [(system, fingerprint) for system, fingerprint in boots if system in machines]
    for system in machines:
        yield from _within(system, [fingerprint for name, fingerprint in seated if name == system])
    for machine in dict.fromkeys(machines.values()):
        members = [one for one in machines if machines[one] == machine]
        yield from _among(machine, members, dict(reversed(seated)))
    busy = [share for _, one in seated if (share := one.get("busy_at_start")) is not None]
    restless = [share for share in busy if share > _BUSY_MOST]
    if restless:
        yield (
            f"{len(restless)} of {_boots(len(busy))} did not come to rest in time: up to "
            f"{max(restless):.0%} of the processors were busy; raise quiet in the machine's table"
        )
    for reason, count in Counter(failures).items():
        yield f"{_boots(count)} failed, and {'was' if count == 1 else 'were'} repeated: {reason}"


def _within(system: str, fingerprints: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """What changed from boot to boot of one system: its boots are then no repetition of each other."""
    for fact in (*SETTINGS, "kernel_release", "kernel_command_line", "mitigations", _MEMORY):
        values = [one.get(fact) for one in fingerprints]
        if fact == _MEMORY and _near([value for value in values if value]):
            continue
        tally = Counter(map(_text, values))
        if len(tally) > 1:
            counts = ", ".join(f"{value} in {_boots(many)}" for value, many in tally.most_common())
            yield f"the boots of {system} were not alike: {fact} was {counts}"


def _among(machine: str, systems: Sequence[str], first: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    """What the systems differ in besides themselves."""
    known = [(system, first[system]) for system in systems if system in first]
    differ = [fact for fact in SETTINGS if len({_text(one.get(fact)) for _, one in known}) > 1]
    if not _near([one[_MEMORY] for _, one in known if one.get(_MEMORY)]):
        differ.append(_MEMORY)
    mitigations = [
        name
        for name in dict.fromkeys(name for _, one in known for name in one.get("mitigations") or {})
        if len({(one.get("mitigations") or {}).get(name) for _, one in known}) > 1
    ]
    facts = [
        f"{fact} ({', '.join(f'{_text(one.get(fact))} on {system}' for system, one in known)})"
        for fact in differ
    ]
    if mitigations:
        more = f" and {len(mitigations) - _NAMED} more" if len(mitigations) > _NAMED else ""
        facts.append(f"mitigations ({', '.join(mitigations[:_NAMED])}{more})")
    if facts:
        yield (
            f"besides the system, these differ on {machine}: {'; '.join(facts)}: part of a difference may be "
            "theirs; what must be alike can be held by expect"
        )


def _boots(count: int) -> str:
    return f"{count} boot" if count == 1 else f"{count} boots"


def _text(value: object) -> str:
    return "unknown" if value is None else str(value)


def _near(sizes: Sequence[int]) -> bool:
    return not sizes or max(sizes) - min(sizes) <= _MEMORY_NEAR * max(sizes)
