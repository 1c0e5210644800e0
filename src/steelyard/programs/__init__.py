"""The built load programs and the monitor: `built` finds them, `builds` makes further ones.

Each module imports only from earlier ones: built, builds.
"""
