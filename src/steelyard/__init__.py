"""Steelyard weighs one operating system against another.

The modules stand in reading order, and each imports only from earlier ones: errors, study,
study_file, plan, programs, builds, systems, records, dialogue, runner, journal, archive, statistics,
weighing, observations, accounts, comparison, curves, machine, multiprogramming, scaling, summary, progress,
experiment, charts, figures, timelines, panels, report, cli.
"""
