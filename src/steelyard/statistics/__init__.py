"""Pure functions over arrays, one idea a file; docs/statistics.md has each one's question and source."""
