"""What is kept: `schema` makes the tables of the types in `steelyard.events`; `journal` holds events while an
experiment is measured; `tables` makes Parquet of it; `experiments` and `watches` keep what is done.

Each module imports only from earlier ones: files, shape, schema, versions, header, journal, tables,
promise, reopening, exports, experiments, watches.
"""
