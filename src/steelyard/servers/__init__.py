"""The servers that a study can load, each described by a file: nginx.toml and its neighbours, or a user's.
What of it a trial needs goes to the load program as lines (workloads/server/description.h).

Each module imports only from earlier ones: running, description.
"""
