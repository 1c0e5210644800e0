"""The laboratory at work: `experiment` carries out an order, `runner` its rounds, `dialogue` a trial.

Each module imports only from earlier ones: allocation, budget, host_monitor, records, dialogue, fleet,
agenda, counting, runner, progress, peers, seats, continuation, experiment, examination.
"""
