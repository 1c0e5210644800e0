"""A real agent behind a liar: every second trial is told as lies.LIES has it, one lie after another.

    hostile_agent.py PROGRAM DIRECTORY COUNT

COUNT is a file that holds how many trials there were so far: the count goes on when the system is started
again.
"""

import json
import subprocess
import sys
from pathlib import Path

from lies import LIES, Lie

program, directory, count = sys.argv[1], sys.argv[2], Path(sys.argv[3])
agent = subprocess.Popen([program, "agent", directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
assert agent.stdin is not None
assert agent.stdout is not None
lies = list(LIES.values())
lie: Lie | None = None


def say(lines: list[bytes]) -> None:
    for line in lines:
        sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def hear(last: tuple[str, ...]) -> list[bytes]:
    """What the agent says, up to a record of one of these kinds."""
    assert agent.stdout is not None
    heard = [agent.stdout.readline().rstrip(b"\n")]
    while json.loads(heard[-1])["record"] not in last:
        heard.append(agent.stdout.readline().rstrip(b"\n"))
    return heard


say(hear(("hello",)))
for request in sys.stdin.buffer:
    agent.stdin.write(request)
    agent.stdin.flush()
    match request.split()[0]:
        case b"describe":
            say(hear(("system",)))
        case b"clock":
            answer = hear(("clock",))
            say(lie.spoil([json.loads(answer[0])]) if lie and lie.of_clock else answer)
            lie = None
        case b"trial":
            number = int(count.read_text())
            count.write_text(str(number + 1))
            lie = lies[number // 2] if number % 2 == 0 and number // 2 < len(lies) else None
            answer = hear(("end", "error"))
            say(lie.spoil([json.loads(one) for one in answer]) if lie and not lie.of_clock else answer)
            lie = lie if lie and lie.of_clock else None
        case b"quit":
            break
