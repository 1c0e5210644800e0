"""The monitor's figures, as declared in monitor/figures.def: names, units, kinds and families."""

import os
import re
from pathlib import Path

# Beside this file where it is installed; in the source tree where that runs.
_PLACES = (Path(__file__).with_name("figures.def"), Path(__file__).parents[3] / "monitor" / "figures.def")
_LINE = re.compile(r'^FIGURE\((\w+), +(\w+), +(\w+), +(\w*), +(\w*), +"(.+)"\)$', re.MULTILINE)
_SUMS = ("TOTAL", "THREADS")

_declared = _LINE.findall(next(path for path in _PLACES if os.path.isfile(path)).read_text(encoding="utf-8"))

# In the order of the reports: what only grows, and what goes up and down.
COUNTED = tuple(name for name, _, kind, *_ in _declared if kind in _SUMS)
LEVELS = tuple(name for name, _, kind, *_ in _declared if kind not in _SUMS)
FIGURES = COUNTED + LEVELS
ENDS = tuple(name for name, _, kind, *_ in _declared if kind == "END")  # the levels that a reading can have

TITLES = {name: title for name, *_, title in _declared}
_UNITS = {name: unit for name, unit, *_ in _declared}

# The figures of each family, by what sets them apart.
FAMILIES: dict[str, dict[str, str]] = {}
for _name, _, _, _family, _part, _ in _declared:
    if _family:
        FAMILIES.setdefault(_family, {})[_part] = _name
CPU = FAMILIES["cpu"]
FAULTS = FAMILIES["page_faults"]
SWITCHES = FAMILIES["context_switches"]
IO = FAMILIES["io"]


def unit(name: str) -> str:
    """NS, BYTES or COUNT: of a figure, or of what is made of such and named alike."""
    return "NS" if name.endswith("_ns") else _UNITS.get(name, "COUNT")
