"""The built load programs and the monitor: `built` finds them, `builds` makes further ones. `commits` builds
those of a user's repository.

Each module imports only from earlier ones: built, builds, commits.
"""
