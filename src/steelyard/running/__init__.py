"""The laboratory at work: `experiment` carries out an order, `runner` its rounds, `dialogue` a trial.

Each module imports only from earlier ones: allocation, host_monitor, records, dialogue, runner, progress,
experiment, examination.
"""
