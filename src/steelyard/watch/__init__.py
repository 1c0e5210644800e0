"""The monitor as the laboratory sees it: `monitor` starts steelyard-watch, `records` reads what it writes
into the `model`, `accounts` reckons with that. docs/explanation/monitor.md has every record and key.

Each module imports only from earlier ones: figures, order, model, records, monitor, session, groups, series,
accounts, sentences, indented, plain, console, tally, live, openmetrics, views.
"""
