"""Loads a server and says what it served: at which latency, at which cost, and what held it back.

Each module imports only from earlier ones: model, client, trials, saturation, console.
"""
