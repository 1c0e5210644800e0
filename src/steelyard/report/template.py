"""Turns a template and what it names into a page that opens anywhere, offline."""

import json
import re
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from steelyard import text
from steelyard.papers.source import NOTHING
from steelyard.quantities import number_of

PAGES = Path(__file__).parent / "pages"
BUNDLE = PAGES / "vega" / "bundle.js"  # made by scripts/vega-bundle


def render(name: str, names: Mapping[str, Any], *, filters: Mapping[str, Callable[..., Any]]) -> str:
    """The page by that template of pages/, with the charts' JavaScript as its `bundle`."""
    environment = _environment()
    environment.filters |= filters
    bundle = Markup(BUNDLE.read_text(encoding="utf-8"))
    return environment.get_template(name).render(names, bundle=bundle)


def render_plain(name: str, names: Mapping[str, Any], *, filters: Mapping[str, Callable[..., Any]]) -> str:
    """The page by that template, which has no charts."""
    environment = _environment()
    environment.filters |= filters
    return environment.get_template(name).render(names)


def utc(seconds: float | None) -> str:
    """The date and time of day, by universal time."""
    return NOTHING if seconds is None else time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: _visible(value) if isinstance(value, str) else value,
    )
    environment.filters |= {"utc": utc, "json": _json, "number_of": number_of}
    environment.globals |= {"NOTHING": NOTHING}
    return environment


def _visible(value: object) -> object:
    """The value with every text in it as it may be shown, but for line ends and tabs."""
    match value:
        case Markup():
            return value
        case str():
            return (
                value if value.isprintable() else re.sub(r"[^\n\t]+", lambda part: text.shown(part[0]), value)
            )
        case dict():
            return {_visible(key): _visible(each) for key, each in value.items()}
        case list() | tuple():
            return [_visible(each) for each in value]
    return value


def _json(value: object) -> Markup:
    """JSON that no text in it can break out of a script element."""
    return Markup(json.dumps(_visible(value), separators=(",", ":")).replace("<", "\\u003c"))
