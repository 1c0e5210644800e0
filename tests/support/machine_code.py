"""The bytes that are the same in every program."""

import re
from functools import cache

from steelyard.programs import built


@cache
def code() -> bytes:
    """As it was built into the programs."""
    text = built.machine_code().read_text()
    listed = text[text.index("bytes[") : text.index("};")]
    return bytes(int(byte, 16) for byte in re.findall(r"0x([0-9a-f]{2})\b", listed))
