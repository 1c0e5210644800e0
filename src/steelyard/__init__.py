"""Steelyard weighs one operating system against another.

The rooms stand in reading order, in the order in which a figure travels. Each imports only from earlier
ones: text, errors, streams, terminal, interruption, quantities, toml_file, servers, study, programs,
statistics, watch, systems, events, archive, analysis, running, load, words, papers, drawing, report, cli.
"""
