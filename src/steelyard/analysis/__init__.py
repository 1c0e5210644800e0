"""Turns the archive's rows into one `Evaluation` of frozen objects (`model`); `evaluate` puts it together.

Each module imports only from earlier ones: remarks, model, rows, conditions, trials, concurrent_runs,
loads, spending, observations, comparison, carry_over, host_costs, indices, curves, multiprogramming, machine,
latencies, server_loads, turns_and_alone, programs, usage, restating, scaling, marks, interim, reboots,
evaluate, gating.
"""
