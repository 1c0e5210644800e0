"""Turns a template and what it names into a page that opens anywhere, offline, and writes it whole or not at
all."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from steelyard import text
from steelyard.papers.source import NOTHING

_BUNDLE = "import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle().encode())"


def render(name: str, names: Mapping[str, Any], *, filters: Mapping[str, Callable[..., Any]]) -> str:
    """The page by that template of pages/, with the charts' JavaScript as its `bundle`."""
    prepare()
    environment = _environment()
    environment.filters |= filters
    return environment.get_template(name).render(names, bundle=Markup(prepare().result()))


def render_plain(name: str, names: Mapping[str, Any], *, filters: Mapping[str, Callable[..., Any]]) -> str:
    """The page by that template, which has no charts."""
    environment = _environment()
    environment.filters |= filters
    return environment.get_template(name).render(names)


def write(path: Path, content: str) -> None:
    """Writes the page to the path, whole or not at all. Raises OSError."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(content)
            os.fchmod(file.fileno(), 0o666 & ~_umask())
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


@cache
def prepare() -> "Future[str]":
    """Begins to put the page's JavaScript together, in another process: it takes over a second, in
    which this one can do the rest. Whoever knows early that a page will be wanted may call this first.
    """
    pool = ThreadPoolExecutor(1)
    bundle = pool.submit(_bundle)
    pool.shutdown(wait=False)
    return bundle


def utc(seconds: float | None) -> str:
    """The date and time of day, by universal time."""
    return NOTHING if seconds is None else time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def _bundle() -> str:
    # A thread alone would not do, because vl_convert holds Python's lock all the while.
    # A group of its own: a Ctrl-C is ours, and we would have nothing to show without it.
    answer = subprocess.run(
        [sys.executable, "-P", "-c", _BUNDLE], stdout=subprocess.PIPE, check=True, process_group=0
    )
    return answer.stdout.decode("utf-8")


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "pages"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: _visible(value) if isinstance(value, str) else value,
    )
    environment.filters |= {"utc": utc, "json": _json}
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
