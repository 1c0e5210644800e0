"""How much memory SURGE's user equivalents take, and what they ask of nginx.

    python bench/user_equivalents.py [USERS]

Starts nginx (one worker) and the load program with 1,000, 10,000 and USERS (100,000) user equivalents, and
prints the most memory that a process of it held (the trial's, which has the users), and how many objects it
asked for. The users keep their connections where the limit of open files allows that; else each file has its
own. Needs nginx.
"""

import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import machine
import trials

from steelyard.programs import built
from steelyard.running import dialogue
from steelyard.systems import agent

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
    settings = {
        "user_equivalents": users,
        "off_permille": users,
        "session": 1_000_000,
        "connection": 0 if is_kept else 1,
        "content": f"{place}/pages",
        "timeout_ms": 60_000,
        "warm_ms": 2000,
        "window_ms": SECONDS * 1000,
    }
    words = [trials.server(f"http://127.0.0.1:{PORT}/"), *dialogue.setting_words(settings)]
    with (place / "records").open("w+") as records:
        running = subprocess.Popen([built.load("glibc"), "run", "web_load", *words], stdout=records)
        most = 0
        while running.poll() is None:
            most = max([most, *map(held_kib, agent.descendants(running.pid))])
            time.sleep(0.2)
        records.seek(0)
        seen = [json.loads(line) for line in records]
    told = next((one for one in seen if one["record"] == "load"), None)
    if told is None:
        sys.exit(f"{users:,} users: {seen[-1]['reason']}")
    offered_ns = next(one["durations_ns"][0] for one in seen if one.get("metric") == "objects_offered")
    print(
        f"{users:7,} users, connections {'kept' if is_kept else 'for each file'}: {most / 1024:6.1f} MiB; "
        f"{told['objects'] / SECONDS:7,.0f} objects a second of {1e9 / offered_ns:7,.0f} offered, "
        f"{sum(told['failures'].values()):,} failures, "
        f"client {told['busiest_ns'] / told['elapsed_ns']:.0%} busy"
    )


def held_kib(process: int) -> int:
    """The most memory that it has held so far; 0 when it has ended."""
    with suppress(OSError):
        if held := re.search(r"VmHWM:\s*(\d+)", Path(f"/proc/{process}/status").read_text()):
            return int(held[1])
    return 0


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
