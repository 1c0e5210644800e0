"""An agent with known numbers: speaks the protocol, measures nothing. Its arguments are its behaviour.

time=NS        each operation takes so long (default 1000), give or take noise= per cent
noise=PERCENT  spread of the trials, from a fixed seed
die=N          ends in the middle of trial N
hang=N         says nothing more in trial N
fail=N         trial N fails
unsupported    every trial is unsupported
lag=PER_MILLE  its clock runs so much too fast
take=SECONDS   a trial takes so long, at least (default 0.02)
mute           never greets
"""

import json
import os
import random
import sys
import time

import trial_records

options = dict(word.partition("=")[::2] for word in sys.argv[1:])
chance = random.Random(int(options.get("seed", "1")))
trials = 0


def now() -> int:
    return int(time.monotonic_ns() * (1 + int(options.get("lag", "0")) / 1000))


def say(record: trial_records.Record) -> None:
    print(json.dumps(record), flush=True)


def durations_ns(operations: int) -> list[int]:
    spread = float(options.get("noise", "0.2")) / 100
    each = float(options.get("time", "1000")) * (1 + spread * chance.uniform(-1, 1))
    return [int(each * operations)] * 5


def trial(request: str) -> None:
    global trials
    trials += 1
    status, reason = "ok", None
    if options.get("fail") == str(trials):
        status, reason = "failed", "write: No space left on device"
    if "unsupported" in options:
        status, reason = "unsupported", "this system has no such thing"
    for record in trial_records.trial(
        request, clock=now, durations_ns=durations_ns, used=5000, status=status, reason=reason
    ):
        say(record)
        if record["record"] == "begin":
            if options.get("die") == str(trials):
                os._exit(1)
            if options.get("hang") == str(trials):
                time.sleep(3600)
        if record["record"] == "samples":
            time.sleep(float(options.get("take", "0.02")))  # as its batches are said to have taken, or longer


if "mute" in options:
    time.sleep(3600)
print("a kernel's chatter, which is no record")
say(trial_records.HELLO)
for line in sys.stdin:
    match line.split():
        case ["describe"]:
            say({"record": "system", "kernel": "Fake <b>&", "cpu_model": "AMD EPYC", "cpu_count": 2})
        case ["clock"]:
            say({"record": "clock", "clock_ns": now()})
        case ["trial", *_]:
            trial(line)
        case ["quit"]:
            break
