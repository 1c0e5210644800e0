"""A console to which text from outside is text: no markup, no control characters, and a sentence one line."""

from collections.abc import Iterable
from typing import Any, TextIO

import rich.console
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from steelyard.text import shown

WIDTH_PIPED = 140  # where no terminal says how wide it is


class Console(rich.console.Console):
    def __init__(self, **settings: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **settings)

    def print(self, *objects: Any, **how: Any) -> None:
        super().print(*map(_on_one_line, objects), **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as elsewhere, but without control characters in text."""
        for part in super().render(renderable, options):
            if part.control or part.text.strip("\n").isprintable():
                yield part
            else:
                yield Segment("\n".join(map(shown, part.text.split("\n"))), part.style)

    def on_broken_pipe(self) -> None:
        """The reader has closed the pipe: the command line handles it."""
        raise


def console(file: TextIO | None = None) -> Console:
    """A console on that file, or on standard output; wide if it is not a terminal, so that no table is
    broken.
    """
    usual = Console(file=file)
    return usual if usual.is_terminal else Console(file=file, width=WIDTH_PIPED)


def _on_one_line(said: object) -> object:
    if isinstance(said, str):
        return Text(shown(said))
    if isinstance(said, Text) and "\n" in said.plain:
        return Text("\\n").join(said.split("\n", allow_blank=True))
    return said
