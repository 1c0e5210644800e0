"""Turns the names of programs and calls, which are whatever bytes a process chose, into text for people."""


def shown(name: str) -> str:
    """The name with UTF-8 read as such, and what a terminal or a page must not obey as \\x1b."""
    try:
        # A record has each byte of a name as a character.
        name = name.encode("latin-1").decode()
    except ValueError:
        pass
    return "".join(map(_shown, name)) or "(no name)"


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
