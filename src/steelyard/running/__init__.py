"""The laboratory at work: `experiment` carries out an order, `runner` its rounds, `dialogue` a trial.

Each module imports only from earlier ones: allocation, budget, peers, order, host_monitor, records, dialogue,
fleet, agenda, counting, runner, progress, seats, continuation, experiment, examination.
"""
