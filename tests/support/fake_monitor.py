"""Stands in for steelyard-watch: takes its command line, writes a script's records, ends as told.

A script is the lines that go to the records' descriptor; between them may stand: `exit N`, `kill` (itself),
`run` (the command), `await` (the end of the control descriptor, or SIGINT).
"""

import contextlib
import json
import os
import signal
import subprocess
import sys


def main(script: str, words: list[str]) -> int:
    options = dict(zip(words[::2], words[1::2], strict=False))
    file = int(options.get("--records", 1))
    control = int(options.get("--control", 0))
    if "ARGUMENTS" in os.environ:
        with open(os.environ["ARGUMENTS"], "w", encoding="utf-8") as told:
            json.dump(words, told)
    status = 0
    with open(script, encoding="utf-8") as lines:
        for line in lines:
            match line.split():
                case ["exit", number]:
                    return int(number)
                case ["kill"]:
                    os.kill(os.getpid(), signal.SIGKILL)
                case ["run"]:
                    status = subprocess.run(words[words.index("--") + 1 :], check=False).returncode
                case ["await"]:
                    with contextlib.suppress(KeyboardInterrupt):
                        while os.read(control, 100):
                            pass
                case ["cut", *_]:
                    os.write(file, line.removeprefix("cut ").rstrip("\n").encode())
                case _:
                    os.write(file, line.encode())
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
