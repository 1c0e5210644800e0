"""Steelyard weighs one operating system against another.

The modules stand in reading order, and each imports only from earlier ones: errors, quantities, study,
study_file, plan, allocation, programs, builds, statistics, watch, accounting, systems, records, dialogue,
runner, journal, archive, watches, weighing, rows, observations, tallies, comparison, standing, spending,
why, curves, machine, multiprogramming, scaling, summary, progress, experiment, charts, figures, timelines,
panels, report, cli.
"""
