"""The servers that a study can load, each described by a file: nginx.toml and its neighbours, or one of a user's
own. What of it a trial needs goes to the load program as lines (workloads/server/description.h)."""
