"""From the archive's rows to one `Weighing` of frozen objects (`model`); `weigh` puts it together.

Each module imports only from earlier ones: model, doubt, rows, trials, crowds, loads, spending, observations,
comparison, host_costs, indices, curves, multiprogramming, machine, latencies, usage, scaling, marks,
standing, reboots, weigh.
"""
