"""The monitor that stands in for the real one."""

import places

FAKE_WATCH = places.SUPPORT / "fake_watch.py"
