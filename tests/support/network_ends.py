"""Far ends of network workloads, and a machine on which no network namespace can be made."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from steelyard.programs import built


@contextmanager
def far_end(address: str = "127.0.0.1") -> Iterator[tuple[subprocess.Popen[str], dict]]:
    """An agent that was asked for one, and its answer."""
    with subprocess.Popen(
        [built.load("glibc"), "agent"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdin.write(f"far {address} secret\n")
        agent.stdin.flush()
        agent.stdout.readline()
        yield agent, json.loads(agent.stdout.readline())
        agent.stdin.close()


def without_namespaces() -> tuple[str, ...]:
    """A command under which no network namespace can be made, whoever one is."""
    none = 'echo 0 > /proc/sys/user/max_net_namespaces && exec "$@"'
    under = ("unshare", "--user", "--map-root-user", "sh", "-c", none, "sh")
    if subprocess.run([*under, "true"], check=False, stderr=subprocess.DEVNULL).returncode:
        pytest.skip("no user namespace available")
    return under
