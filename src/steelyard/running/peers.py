"""The far ends of network workloads: chosen before anything is measured, and started on other hosts.

Within a system (loopback, namespace) a trial has its far end with it. Elsewhere (laboratory, ssh:HOST) it is
an agent too, which the laboratory starts, and which serves trials that know its token.
"""

import functools
import json
import secrets
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from steelyard import commands, systems
from steelyard.errors import Unsupported, UsageError
from steelyard.events import Event, Words
from steelyard.last_words import Said
from steelyard.programs import built
from steelyard.study import model
from steelyard.study.model import LABORATORY, LOOPBACK, NAMESPACE, PEER, Catalogue, Study
from steelyard.study.plan import Plan
from steelyard.systems import ssh
from steelyard.systems.agent import Agent
from steelyard.systems.system import System
from steelyard.text import quoted

# One transaction: whether the kernel, and this user's rights, allow a private network.
_PROBE = ("tcp_request", "peer=namespace", "operations=1", "batches=1", "warmup_ns=0", "latencies=1")
_PROBE_LIMIT_S = 30
_MEANING = (
    "both ends then share one network stack and its loopback device, packets are up to 64 KiB large, and "
    "none can be delayed or lost"
)


def choose(
    study: Study,
    choice: str | None,
    members: Sequence[System],
    *,
    catalogue: Catalogue,
    tell: Callable[[str], None],
) -> Study:
    """The study with the requested far end, or else its own. If a study's own private network is unavailable,
    it becomes loopback, with a sentence about it. Raises UsageError for an invalid far end, and Unsupported
    if a system cannot have it.
    """
    if choice is not None and not model.is_peer(choice):
        raise UsageError(f"--peer is {quoted(choice)}, but must be {model.PEERS}")
    if choice or study.peer:
        refused = _refusal(choice or study.peer, members)
        if refused and (choice or study.peer != NAMESPACE):
            raise Unsupported(refused)
        if refused:
            tell(f"{refused}; so the study uses loopback: {_MEANING}")
        study = model.with_peer(study, LOOPBACK if refused else choice or study.peer, catalogue)
    for peer in _peers(study):
        refused = _refusal(peer, members)
        if refused:
            raise Unsupported(refused)
    return study


def _peers(study: Study) -> list[str]:
    return sorted({str(one) for each in study.workloads for one in dict(each.levels).get(PEER, ())})


def _refusal(peer: str, members: Sequence[System]) -> str | None:
    """Why the systems cannot have that far end; None if they can, as far as is known before they start."""
    kind = peer.partition(":")[0]
    for system in members:
        if kind not in system.peers:
            return (
                f"system '{system.name}' is measured over its own loopback only: its peer "
                f"cannot be {quoted(peer)}; --peer loopback works on every system"
            )
    if kind == NAMESPACE and any(system.here for system in members):
        return _refusal_of_namespace()
    return None


@functools.cache
def _refusal_of_namespace() -> str | None:
    try:
        answer = commands.run([built.load("glibc"), "run", *_PROBE], limit_s=_PROBE_LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"a private network did not work within {_PROBE_LIMIT_S} s here"
    end = json.loads(answer.stdout.splitlines()[-1]) if answer.stdout else {}
    if end.get("status") == "ok":
        return None
    return str(end.get("reason") or "a private network cannot be made here")


@contextmanager
def far_ends(
    plan: Plan, members: Mapping[str, System], directory: Path, *, keep: Callable[[Event], None]
) -> Iterator[dict[tuple[str, str], str]]:
    """The address, port and token of each remote far end, for each system's trials. They are up until this
    ends; their output is then given to `keep`. Raises Unsupported for a host that cannot be one.
    """
    peers = [one for one in _peers(plan.study) if one not in (LOOPBACK, NAMESPACE)]
    hosts: dict[str, Agent] = {}
    served: dict[tuple[str, str], str] = {}
    ends: dict[tuple[str, str], str] = {}
    with ExitStack() as stack:
        for peer in peers:
            host = "native" if peer == LABORATORY else peer
            hear = partial(_keep_words, keep, peer)
            hosts[peer] = stack.enter_context(Agent(systems.find(host), directory=directory, hear=hear))
            for label, system in members.items():
                at = _laboratory_for(system) if peer == LABORATORY else "-"
                if (peer, at) not in served:
                    served[peer, at] = _serve(hosts[peer], peer, at)
                ends[label, peer] = served[peer, at]
        yield ends


def _keep_words(keep: Callable[[Event], None], peer: str, output: Said, errors: Said) -> None:
    if output.text or errors.text:
        left_out = output.left_out + errors.left_out
        keep(Words(f"far end at {peer}", 1, None, output.text, errors.text, left_out))


def _laboratory_for(system: System) -> str:
    """The laboratory's address for what runs in that system."""
    return "127.0.0.1" if system.here else ssh.laboratory_as_seen_from(system.host)


def _serve(agent: Agent, peer: str, address: str) -> str:
    token = secrets.token_hex(16)
    record = agent.ask(f"far {address} {token}", "far", "error")
    if record["record"] == "error":
        raise Unsupported(f"the peer {quoted(peer)} cannot be a far end: {record['reason']}")
    return f"{record['address']} {record['port']} {token}"
