"""How much a study may hold besides what any file may (toml_file)."""

from steelyard.errors import UsageError

SYSTEMS_MOST = 256  # with their builds
CELLS_MOST = 10_000
BLOCKS_MOST = 100_000
BUDGET_MOST_S = 1e4 * 3600
WAIT_MOST_S = 24 * 3600.0
TRIAL_LIMIT_MOST_S = 24 * 3600.0  # the agent's own


def refusal(file: str, what: str, most: str) -> UsageError:
    return UsageError(f"study {file} has {what}, but {most} are the most")
