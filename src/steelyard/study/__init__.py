"""Turns a TOML file into a `Study`, and with a seed into a `Plan` of trials.

`bundled/` holds the studies that come with Steelyard.

Each module imports only from earlier ones: bounds, sent, tool, model, presentation,
system_definition, study_file, own_work, server_load, turns, plan.
"""
