"""A host that is reached by ssh: this one."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def ssh_server(tmp_path: Path, *, shell: str = "") -> Iterator[str]:
    """A host with a shell: this one, by an ssh server of our own on a loopback port, with its own keys.
    Another program may answer in place of the shell: it finds the command in SSH_ORIGINAL_COMMAND."""
    for name in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {tmp_path}/host_key\nUsePAM no\nStrictModes no\n"
        f"AuthorizedKeysFile {tmp_path}/user_key.pub\nPermitRootLogin prohibit-password\n"
        f"PidFile {tmp_path}/pid\nSetEnv HOME={tmp_path}/home\n"
        + (f"ForceCommand {shell}\nSubsystem sftp internal-sftp\n" if shell else "")
    )
    (tmp_path / "ssh_config").write_text(
        f"Host bench\n HostName 127.0.0.1\n Port {port}\n IdentityFile {tmp_path}/user_key\n"
        f" UserKnownHostsFile {tmp_path}/known\n StrictHostKeyChecking accept-new\n LogLevel ERROR\n"
    )
    (tmp_path / "home").mkdir()
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    server = subprocess.Popen(
        ["/usr/sbin/sshd", "-D", "-e", "-f", tmp_path / "sshd_config"], stderr=subprocess.DEVNULL
    )
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    yield "ssh:bench"
    server.terminate()
    server.wait()
