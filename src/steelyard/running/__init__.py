"""The laboratory at work: `experiment` carries out an order, `runner` its rounds, `dialogue` a trial.

Each module imports only from earlier ones: allocation, budget, estimate, peers, order, host_monitor,
laboratories, machine_state, expectation, checks, records, printed, dialogue, discovery, turns,
running_systems, spares, queue, forecast, counting, runner, progress, boot_machines, continuation, experiment,
examination."""
