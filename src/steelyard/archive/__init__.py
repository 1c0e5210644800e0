"""What is kept: `events` are the types, `journal` holds them while an experiment is measured,
`experiments` and `watches` keep what is done.

Each module imports only from earlier ones: events, journal, experiments, watches.
"""
