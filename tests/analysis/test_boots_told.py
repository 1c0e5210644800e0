"""What a report says of the boots of a machine, besides its verdicts."""

from steelyard.analysis import reboots
from steelyard.words import remarks

ALIKE = {"kernel_release": "6.1", "clock_source": "tsc", "memory_bytes": 1000, "mitigations": {"mds": "off"}}
BOX = {"a": "box", "b": "box"}


def told(*boots: tuple[str, dict[str, object]], failures: tuple[str, ...] = ()) -> list[str]:
    return list(remarks.texts(reboots.remarks(BOX, boots, failures)))


def test_what_differs_as_it_should_is_not_mentioned() -> None:
    other = ALIKE | {"kernel_release": "6.12", "memory_bytes": 990, "boot_id": "x", "busy_at_start": 0.01}
    assert told(("a", ALIKE), ("b", other), ("a", ALIKE | {"boot_id": "y"})) == []


def test_boots_of_one_system_that_were_not_alike_are_named() -> None:
    odd = ALIKE | {"clock_source": "hpet"}
    (sentence,) = told(("a", ALIKE), ("b", ALIKE), ("a", ALIKE), ("a", odd))
    assert sentence == "the boots of a differed: clock_source was tsc in 2 boots, hpet in 1 boot"


def test_what_systems_differ_in_besides_themselves_is_named() -> None:
    other = ALIKE | {"clock_source": "hpet", "memory_bytes": 500, "mitigations": {"mds": "on", "l1tf": "on"}}
    (sentence,) = told(("a", ALIKE), ("b", other), ("c", {"clock_source": "jiffies"}))
    assert "on box: clock_source (tsc on a, hpet on b); memory_bytes (1000 on a, 500 on b)" in sentence
    assert "mitigations (mds, l1tf)" in sentence


def test_boots_that_were_measured_while_busy_and_boots_that_failed_are_counted() -> None:
    busy = [("a", ALIKE | {"busy_at_start": share}) for share in (0.02, 0.5, 0.2, None)]
    restless, failed = told(*busy, failures=("no answer", "no answer"))
    assert restless.startswith("2 of 3 boots did not become idle in time: up to 50%")
    assert failed == "2 boots failed, and were repeated: no answer"
