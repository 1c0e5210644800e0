"""What is kept: `events` are the types, from which the tables follow (`schema`); `journal` holds events while
an experiment is measured; `tables` makes Parquet of it; `experiments` and `watches` keep what is done.

Each module imports only from earlier ones: events, files, shape, schema, versions, header, journal, tables,
promise, reopening, exports, experiments, watches.
"""
