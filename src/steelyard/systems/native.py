"""This machine's own kernel: the agent is started directly."""

from steelyard.systems.system import EVERY_PEER, Place, System


def _command(place: Place) -> list[str]:
    return [str(place.program), "agent", str(place.scratch)]


NATIVE = System("native", "this machine's kernel, glibc", _command, peers=EVERY_PEER)
NATIVE_MUSL = System(
    "native-musl", "this machine's kernel, musl libc", _command, program="musl", peers=EVERY_PEER
)
