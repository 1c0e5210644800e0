"""Steelyard weighs one operating system against another.

The modules stand in reading order, and each imports only from earlier ones: errors, quantities, study,
study_file, plan, programs, builds, statistics, watch, accounting, systems, records, dialogue, runner,
journal, archive, watches, weighing, observations, tallies, comparison, spending, why, curves, machine,
multiprogramming, scaling, summary, progress, experiment, charts, figures, timelines, panels, report, cli.
"""
