"""How much memory SURGE's user equivalents take, and what they ask of nginx.

    python bench/user_equivalents.py [USERS]

Starts nginx (one worker) and steelyard-client with 1,000, 10,000 and USERS (100,000) user equivalents, and
prints the most memory that the client held, and how many objects it asked for. The users keep their
connections where the limit of open files allows that; else each file has its own. Needs nginx.
"""

import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine

from steelyard.programs import built

PORT = 7397
SECONDS = 20

CONFIGURATION = """
daemon off; user root; worker_processes 1; worker_rlimit_nofile {most};
pid {place}/pid; error_log {place}/error;
events {{ worker_connections {most}; }}
http {{ access_log off; sendfile on; tcp_nopush off; keepalive_requests 100000000; keepalive_timeout 600s;
 client_body_temp_path {place}/a; proxy_temp_path {place}/b; fastcgi_temp_path {place}/c;
 uwsgi_temp_path {place}/d; scgi_temp_path {place}/e;
 server {{ listen 127.0.0.1:{port} backlog=4096; root {place}/pages; }} }}
"""


def load(place: Path, users: int) -> None:
    """Runs one load, and prints what it took."""
    is_kept = resource.getrlimit(resource.RLIMIT_NOFILE)[1] > users + 1000
    words = [f"port={PORT}", "model=surge", "files=500", "size_most=1000000", f"content={place}/pages"]
    words += [
        f"connection={'keep-alive' if is_kept else 'new'}",
        f"clients={users}",
        f"off_permille={users}",
        "parallel=1",
        "session=1000000",
        "warmup_ms=2000",
    ]
    words += [f"window_ms={SECONDS * 1000}", "timeout_ms=60000"]
    with (place / "records").open("w+") as records:
        running = subprocess.Popen([str(built.client()), *words], stdout=records)
        most = 0
        while running.poll() is None:
            most = max(most, held_kib(running.pid))
            time.sleep(0.2)
        records.seek(0)
        seen = {one["record"]: one for one in map(json.loads, records)}
    surge, whole = seen["surge"], seen["load"]
    how = "kept" if is_kept else "for each file"
    failures = sum(whole["failures"].values())
    print(
        f"{users:7,} users, connections {how}: {most / 1024:6.1f} MiB; {surge['objects'] / SECONDS:7,.0f} "
        f"objects a second of {surge['objects_offered']:7,.0f} offered, {failures:,} failures, "
        f"client {whole['busy_most']:.0%} busy"
    )


def held_kib(process: int) -> int:
    """The most memory that it has held so far; 0 when it has ended."""
    held = re.search(r"VmHWM:\s*(\d+)", Path(f"/proc/{process}/status").read_text())
    return int(held[1]) if held else 0


def main(users: int) -> None:
    print(machine.describe())
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    most = min(users + 1000, allowed)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, allowed))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        (place / "pages").mkdir()
        (place / "nginx.conf").write_text(CONFIGURATION.format(place=place, port=PORT, most=most))
        server = subprocess.Popen(
            ["nginx", "-p", folder, "-e", f"{place}/error", "-c", f"{place}/nginx.conf"]
        )
        try:
            time.sleep(0.5)
            for one in (1000, 10_000, users):
                load(place, one)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
