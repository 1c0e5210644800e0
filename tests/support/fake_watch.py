#!/usr/bin/env python3
"""A monitor with known numbers: speaks steelyard-watch's protocol, watches nothing.

STEELYARD_FAKE_WATCH says how it behaves, by words:

log=FILE       writes what it was told, a line each: its arguments, marks, the end
backend=NAME   that it says it is if it may choose (default bpf)
also=NAMES     those that work besides, with commas between (default proc)
refuse         works nowhere
refuse=DETAIL  not at that detail
die=N          ends at mark N
mute=N         does not answer mark N
"""

import json
import os
import sys

words = dict(word.partition("=")[::2] for word in os.environ.get("STEELYARD_FAKE_WATCH", "").split())
given = [word for word in sys.argv[1:] if word != "--marks"]
arguments = dict(zip(given[::2], given[1::2], strict=True))
assert ("--marks" in sys.argv) == (arguments["--detail"] == "life")
COUNTED = (
    "cpu_user_ns", "cpu_system_ns", "run_ns", "wait_ns", "blocked_ns", "faults_minor", "faults_major",
    "switches_voluntary", "switches_involuntary", "signals", "reads", "characters_read", "writes",
    "characters_written", "bytes_read", "bytes_written", "bytes_cancelled",
)  # fmt: skip


def note(text: str) -> None:
    if "log" in words:
        with open(words["log"], "a", encoding="utf-8") as file:
            print(os.getpid(), text, file=file)


records = os.fdopen(int(arguments["--records"]), "w", encoding="utf-8")


def say(record: str, **fields: object) -> None:
    records.write(json.dumps({"record": record, **fields}) + "\n")
    records.flush()


detail = arguments["--detail"]
note(" ".join(sys.argv[1:]))
if "refuse" in words and words["refuse"] in ("", detail):
    print("steelyard-watch: no backend works here", file=sys.stderr)
    sys.exit(77)
if "--backend" in arguments and arguments["--backend"] not in words.get("also", "proc").split(","):
    print(f"steelyard-watch: {arguments['--backend']}: does not work here", file=sys.stderr)
    print("steelyard-watch: no monitor here can watch that", file=sys.stderr)
    sys.exit(77)
os.kill(int(arguments["-p"]), 0)
backend = arguments.get("--backend", words.get("backend", "bpf"))
say(
    "watch", protocol=1, version="fake", backend=backend, detail=detail,
    refused=[] if backend == "bpf" else [{"backend": "bpf", "why": "not root"}], began=0.0, began_ns=0,
    processors=2, every_ns=None, children=1, budget=None, hook_ns=None,
    missing=[] if backend == "bpf" else ["processes that live shorter than a look are lost"],
)  # fmt: skip
marks = 0
with os.fdopen(int(arguments["--control"]), encoding="utf-8") as control:
    for line in control:
        verb, name = line.split()
        marks += 1
        note(line.strip())
        if words.get("die") == str(marks):
            sys.exit(1)
        if words.get("mute") == str(marks):
            continue
        figures = {figure: 1000 * marks * (number + 1) for number, figure in enumerate(COUNTED)}
        figures["bytes_cancelled"] = None
        calls = {"getppid": [5000 * marks, 0], "read": [7 * marks, marks]} if detail == "calls" else None
        say("mark", id=name, at_ns=10**6 * marks, processes=3, **figures, calls=calls)
note("end")
say("process", pid=1, parent=0, generation=0, program="fake")
