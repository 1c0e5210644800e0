"""Stores experiments and watches: `schema` makes the tables of the types in `steelyard.events`; `journal`
holds events during a measurement; `experiments` and `watches` keep finished ones. `closing` makes Parquet of
a journal through `tables`, and `reading` queries either by SQL.

Each module imports only from earlier ones: names, files, schema, sequence, versions, header, journal,
experiments, tables, readback, reopening, exports, relations, exclusions, reading, closing, merging, watches.
"""
