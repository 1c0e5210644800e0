"""What is to be measured: a TOML file becomes a `Study`, and with a seed a `Plan` of trials.

`bundled/` holds the studies that come with Steelyard.

Each module imports only from earlier ones: bounds, model, presentation,
system_definition, study_file, plan.
"""
