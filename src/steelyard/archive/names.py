"""The names of the tables that an experiment has, and of those that a watch has."""

OF_EXPERIMENT = (
    "trials",
    "samples",
    "members",
    "histograms",
    "counts",
    "costs",
    "accountings",
    "host_calls",
    "watches",
    "systems",
    "events",
)
LAST = OF_EXPERIMENT[-1]  # its file closes the experiment
OF_WATCH = ("processes", "calls", "readings")
