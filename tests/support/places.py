"""Where the parts of the project lie."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ARCHIVES = ROOT / "tests" / "archives"
SUPPORT = ROOT / "tests" / "support"
