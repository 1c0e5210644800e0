"""A paper's tables beside today's figures. `published/` holds the papers' own.

Each module imports only from earlier ones: source, figure_tables, cell_tables, tables.
"""
