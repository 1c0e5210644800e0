"""Steelyard weighs one operating system against another.

The modules stand in reading order, and each imports only from earlier ones: errors, study, plan,
programs, systems, records, runner, archive, statistics, comparison, charts, report, cli.
"""
