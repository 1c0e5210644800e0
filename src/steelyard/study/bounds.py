"""Limits of a study besides those of any file (toml_file), and parsers of its quantities within them: a key
of the file and the option that replaces it use the same parser.
"""

from functools import partial

from steelyard.errors import UsageError
from steelyard.quantities import DAY_NS, DURATION_MOST_NS, SHARE_LEAST, parse_duration, parse_share

SYSTEMS_MOST = 256  # with their builds
CELLS_MOST = 10_000
BLOCKS_MOST = 100_000
budget_ns = partial(parse_duration, most_ns=DURATION_MOST_NS)
wait_ns = partial(parse_duration, most_ns=DAY_NS)  # for a machine
trial_limit_ns = partial(parse_duration, most_ns=DAY_NS)  # the agent's own
precision = partial(parse_share, most=1 - SHARE_LEAST)
margin = partial(parse_share, most=1 - SHARE_LEAST)


def refusal(file: str, what: str, most: str) -> UsageError:
    return UsageError(f"study {file} has {what}, but at most {most} are allowed")
