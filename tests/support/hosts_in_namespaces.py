"""Runs a command in this network namespace, from which it reaches others by ssh: hosts a and b, which are
one, and control. Start it in one of its own: unshare --net python THIS DIRECTORY COMMAND ...

All ends with the processes: no namespace has a name, and each pair of devices ends with the namespaces.
"""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from patience import patience

HOSTS = {"a": "10.79.1", "control": "10.79.2"}


def ip(*words: str, inside: int | None = None) -> None:
    enter = ["nsenter", f"--net=/proc/{inside}/ns/net"] if inside else []
    subprocess.run([*enter, "ip", *words], check=True)


def serve(directory: Path, name: str, network: str) -> subprocess.Popen[bytes]:
    """An ssh server in a namespace of its own, at NETWORK.2; this one is its router, at NETWORK.1."""
    (directory / f"sshd-{name}").write_text(
        f"Port 22\nListenAddress {network}.2\nHostKey {directory}/host_key\nUsePAM no\nStrictModes no\n"
        f"AuthorizedKeysFile {directory}/user_key.pub\nPermitRootLogin prohibit-password\n"
        f"PidFile {directory}/pid-{name}\nSetEnv HOME={directory}/home\n"
    )
    command = f"read go && exec /usr/sbin/sshd -D -e -f {directory}/sshd-{name}"
    server = subprocess.Popen(
        ["unshare", "--net", "sh", "-c", command], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    while os.readlink(f"/proc/{server.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
        time.sleep(0.01)
    ip("link", "add", f"to-{name}", "type", "veth", "peer", "name", "way", "netns", str(server.pid))
    ip("address", "add", f"{network}.1/24", "dev", f"to-{name}")
    ip("link", "set", f"to-{name}", "up")
    ip("address", "add", f"{network}.2/24", "dev", "way", inside=server.pid)
    ip("link", "set", "way", "up", inside=server.pid)
    ip("link", "set", "lo", "up", inside=server.pid)
    ip("route", "add", "default", "via", f"{network}.1", inside=server.pid)
    assert server.stdin is not None
    server.stdin.write(b"go\n")
    server.stdin.close()
    deadline = time.monotonic() + patience(60)
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex((f"{network}.2", 22)) == 0:
                return server
        time.sleep(0.05)
    raise SystemExit(f"the ssh server of {name} does not answer")


def main() -> int:
    if len(Path("/proc/net/route").read_text().splitlines()) > 1:  # a new one has no route
        raise SystemExit("this network is in use, and its routing would be changed: unshare --net")
    directory = Path(sys.argv[1])
    for name in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", directory / name], check=True)
    Path("/run/sshd").mkdir(exist_ok=True)
    (directory / "home").mkdir()
    ip("link", "set", "lo", "up")
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    (directory / "ssh_config").write_text(
        f"Host a b\n HostName {HOSTS['a']}.2\nHost control\n HostName {HOSTS['control']}.2\n"
        f"Host *\n IdentityFile {directory}/user_key\n UserKnownHostsFile {directory}/known\n"
        " StrictHostKeyChecking accept-new\n LogLevel ERROR\n"
    )
    servers = [serve(directory, name, network) for name, network in HOSTS.items()]
    try:
        environment = os.environ | {"STEELYARD_SSH_CONFIG": str(directory / "ssh_config")}
        return subprocess.run(sys.argv[2:], check=False, env=environment).returncode
    finally:
        for server in servers:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    sys.exit(main())
