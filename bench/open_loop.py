"""How exactly an open load keeps to its times at 80 % of what nginx serves.

    python bench/open_loop.py [ROUNDS]

Starts nginx (one worker) on processor 0 and steelyard-client on processor 1. In each round it measures the
saturation by a closed load, then loads at 80 % of it, at constant and at exponential distances, and prints
how late requests left after they were due. Needs nginx and taskset.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import load_generators
import machine

from steelyard.load.model import LatencyHistogram
from steelyard.programs import built

SHARE = 0.8
LIMIT_NS = 200_000


def loaded(*words: str) -> dict[str, Any]:
    """The records of one load, by kind, and the lag's histogram."""
    common = [f"port={load_generators.PORT}", "path=/1000", "clients=64", "warmup_ms=300", "window_ms=2000"]
    command = ["taskset", "-c", "1", str(built.client()), *common, *words]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    records = [json.loads(line) for line in text.splitlines()]
    found = {one["record"]: one for one in records}
    found["lag"] = next(one for one in records if one.get("of") == "lag")
    return found


def main(rounds: int) -> None:
    print(machine.describe())
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        (place / "pages").mkdir()
        (place / "pages" / "1000").write_bytes(bytes(1000))
        (place / "nginx.conf").write_text(
            load_generators.CONFIGURATION.format(place=place, port=load_generators.PORT)
        )
        server = subprocess.Popen(
            ["nginx", "-p", folder, "-c", f"{place}/nginx.conf"], stderr=subprocess.DEVNULL
        )
        try:
            time.sleep(0.5)
            for _ in range(rounds):
                compare()
        finally:
            server.terminate()
            server.wait()


def compare() -> None:
    closed = loaded()["load"]
    most = closed["answers"] * 1e9 / closed["window_ns"]
    for arrivals in ("constant", "exponential"):
        found = loaded(f"rate_millihertz={round(SHARE * most * 1000)}", f"arrivals={arrivals}")
        lag = LatencyHistogram(dict(zip(found["lag"]["values_ns"], found["lag"]["counts"], strict=True)))
        total = sum(lag.counts.values())
        within = sum(count for value, count in lag.counts.items() if value <= LIMIT_NS)
        quantiles = ", ".join(
            f"{share:.1%} {(lag.quantile(share) or 0) / 1000:.0f} µs" for share in (0.5, 0.99, 0.999)
        )
        print(
            f"{most:7,.0f} a second at most; {SHARE:.0%} of it, {arrivals:11}: "
            f"{within / max(total, 1):.2%} within {LIMIT_NS // 1000} µs ({quantiles}); "
            f"{found['load']['waited']:,} found no client free"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
