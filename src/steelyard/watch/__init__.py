"""The monitor as the laboratory sees it: `monitor` starts steelyard-watch, `records` reads what it writes
into the `model`, `accounts` reckons with that. docs/monitor.md has every record and key.

Each module imports only from earlier ones: order, model, records, monitor, session, groups, series,
accounts, sentences, plain, console, tally, live, openmetrics, views.
"""
