"""The names of the tables that an experiment has, and of those that a watch has."""

_OF_TRIALS = ("trials", "samples", "members", "histograms", "counts", "costs")
LAST = "events"  # its file closes the experiment
OF_EXPERIMENT = (*_OF_TRIALS, "accountings", "host_calls", "watches", "systems", "words", LAST)
OF_WATCH = ("processes", "calls", "readings")
