"""How long a test waits for what must happen: so long that only a hang reaches it, on any machine."""

import os

TIMES = float(os.environ.get("STEELYARD_PATIENCE", "1"))  # more on a machine that is slow


def patience(seconds: float) -> float:
    return seconds * TIMES
