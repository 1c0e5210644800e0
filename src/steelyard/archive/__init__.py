"""What is kept: `schema` makes the tables of the types in `steelyard.events`; `journal` holds events while an
experiment is measured; `experiments` and `watches` keep what is done. `closing` makes Parquet of a journal by
`tables`, and `reading` asks either by SQL.

Each module imports only from earlier ones: names, files, shape, schema, versions, header, journal,
experiments, tables, promise, reopening, exports, reading, closing, watches.
"""
