"""The order in which things came into an archive: by what the archive knows, because clocks can be wrong.

Each header names what was the newest when it was made (`after`). So what was made while a clock was ahead is
not the newest for ever.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar


class Kept(Protocol):
    """An experiment or a watch of an archive."""

    @property
    def name(self) -> str: ...
    @property
    def header(self) -> Mapping[str, Any]: ...


_K = TypeVar("_K", bound=Kept)


def in_order(entries: Sequence[_K]) -> list[_K]:
    """The oldest first: by the clock, but none before what its header says was there when it was made."""
    by_name = {one.name: one for one in entries}
    ranks: dict[str, tuple[float, int]] = {}
    for one in sorted(entries, key=_clock):
        way = [one]  # to the first that is ranked, or follows nothing that is here
        on_the_way = {one.name}
        while way[-1].name not in ranks:
            before = by_name.get(way[-1].header.get("after") or "")
            if before is None or before.name in on_the_way:
                break
            way.append(before)
            on_the_way.add(before.name)
        for member in reversed(way):
            if member.name in ranks:
                continue
            created, least = member.header["created"], ranks.get(member.header.get("after") or "")
            is_late = least is None or (created, 0) > least
            ranks[member.name] = (created, 0) if is_late or least is None else (least[0], least[1] + 1)
    return sorted(entries, key=lambda one: (*ranks[one.name], one.name))


def _clock(one: Kept) -> tuple[float, str]:
    return one.header["created"], one.name
