"""An agent with known numbers: speaks the protocol, measures nothing. Its arguments are its behaviour.

time=NS        each operation takes so long (default 1000), give or take noise= per cent
noise=PERCENT  spread of the trials, from a fixed seed
die=N          ends in the middle of trial N
hang=N         says nothing more in trial N
fail=N         trial N fails
unsupported    every trial is unsupported
lag=PER_MILLE  its clock runs so much too fast
mute           never greets
"""

import json
import os
import random
import sys
import time

USED = ("operations", "user_ns", "system_ns", "faults_minor", "faults_major", "switches_voluntary",
        "switches_involuntary", "blocks_read", "blocks_written")  # fmt: skip

options = dict(word.partition("=")[::2] for word in sys.argv[1:])
chance = random.Random(int(options.get("seed", "1")))
trials = 0


def now() -> int:
    return int(time.monotonic_ns() * (1 + int(options.get("lag", "0")) / 1000))


def say(record: str, **fields: object) -> None:
    print(json.dumps({"record": record, **fields}), flush=True)


def trial(words: list[str]) -> None:
    global trials
    trials += 1
    name = words[1]
    say("begin", trial=name, workload=words[2], parameters={}, clock_ns=now())
    if options.get("die") == str(trials):
        os._exit(1)
    if options.get("hang") == str(trials):
        time.sleep(3600)
    time.sleep(0.02)
    status, reason = "ok", None
    if options.get("fail") == str(trials):
        status, reason = "failed", "write: No space left on device"
    if "unsupported" in options:
        status, reason = "unsupported", "this system has no such thing"
    if status == "ok":
        spread = float(options.get("noise", "0.2")) / 100
        each = float(options.get("time", "1000")) * (1 + spread * chance.uniform(-1, 1))
        say("samples", copy=0, metric="time", unit="ns", operations=1000, durations_ns=[int(each * 1000)] * 5)
        used = dict.fromkeys(USED, 5000)
        say("usage", copy=0, metric="time", **used)
    say("processes", trial=name, processes=[])
    say("end", trial=name, status=status, reason=reason, signal=None, clock_ns=now())


if "mute" in options:
    time.sleep(3600)
print("a kernel's chatter, which is no record")
say(
    "hello", protocol=1, version="fake", program_sha256="0" * 64, compiler="none", libc="none",
    clock="fake", clock_resolution_ns=1, clock_cost_ns=1,
)  # fmt: skip
for line in sys.stdin:
    match line.split():
        case ["describe"]:
            say("system", kernel="Fake <b>&", cpu_model="AMD EPYC", cpu_count=2)
        case ["clock"]:
            say("clock", clock_ns=now())
        case ["trial", *_]:
            trial(line.split())
        case ["quit"]:
            break
