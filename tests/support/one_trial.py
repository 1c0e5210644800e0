"""Asks an agent for one trial, and waits for its end."""

import time

from steelyard.systems.agent import Agent


def run(agent: Agent, request: str) -> list[dict]:
    """The records of one trial."""
    agent.send(request)
    heard = []
    for record in agent.records(time.monotonic() + 60):
        heard.append(record)
        if record["record"] in ("end", "error"):
            return heard
    raise AssertionError(f"no end after {heard}")
