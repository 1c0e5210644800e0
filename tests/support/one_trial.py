"""Asks an agent for one trial, and waits for its end."""

import time

from patience import patience

from steelyard.systems.agent import Agent


def run(agent: Agent, request: str) -> list[dict]:
    """The records of one trial."""
    agent.send(request)
    heard = []
    for record in agent.records(time.monotonic() + patience(60)):
        heard.append(record)
        if record["record"] in ("end", "error"):
            return heard
    raise AssertionError(f"no end after {heard}")
