"""Answers an ssh session as cmd.exe of Windows would, as far as Steelyard asks it; programs run by Wine.

far_cmd.py HOME WORD ...: HOME is the user's directory there; the words before a program start it by Wine.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

home, *wine = sys.argv[1:]
asked = os.environ["SSH_ORIGINAL_COMMAND"]
os.chdir(home)
with open("asked", "a") as log:
    log.write(asked + "\n")
if asked == "internal-sftp":
    os.execv("/usr/lib/openssh/sftp-server", ["sftp-server"])
if asked.startswith("echo "):
    sys.stdout.write(asked[5:].replace("%OS%", "Windows_NT") + "\r\n")
    sys.exit(0)
called = re.fullmatch(r'"([^"/]+)" ([\w-]+)', asked)
if called and (program := Path(called[1].replace("\\", "/"))).is_file():
    sys.exit(subprocess.run([*wine, program, called[2]], check=False).returncode)
sys.stderr.write(f"'{asked.split()[0]}' is not recognized as an internal or external command,\r\n")
sys.exit(1)
