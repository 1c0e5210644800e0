"""A terminal for tests: what its lines show after all that was written, scrolled away or not."""

import re

_SEQUENCE = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")


def shown(written: str) -> list[str]:
    """The lines, the last one that is not empty last. Knows the few sequences that rich writes."""
    lines, row, column = [""], 0, 0
    for number, what, control, text in _SEQUENCE.findall(written):
        if text:
            lines[row] = lines[row][:column].ljust(column) + text + lines[row][column + len(text) :]
            column += len(text)
        elif control == "\r":
            column = 0
        elif control == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif what == "A":
            row -= int(number or 1)
            assert row >= 0, "above the first line"
        elif (number, what) == ("2", "K"):
            lines[row] = ""
        else:
            assert what in "mhl", f"a sequence that is not known here: {number}{what}"
    while len(lines) > 1 and not lines[-1].strip():
        lines.pop()
    return lines
