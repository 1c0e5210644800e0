"""What a reader of a page sees: its text, its data, and the page in a real browser."""

import html as markup
import json
import re
import shutil
import subprocess
from pathlib import Path

from patience import patience

BROWSERS = ("chromium-headless-shell", "chromium")


BROWSER = next((path for name in BROWSERS if (path := shutil.which(name))), None)


def text_of(page_text: str) -> str:
    """What a reader sees: no scripts, styles or tags."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", page_text, flags=re.DOTALL)
    return re.sub(r"\s+", " ", markup.unescape(re.sub(r"<[^>]*>", " ", bare)))


def json_of(page_text: str, name: str) -> dict[str, object]:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page_text, re.DOTALL)
    assert found
    parsed: dict[str, object] = json.loads(found[1])
    return parsed


_PROBE = """<script>
const report = (text) => { document.title = "probe"; document.body.innerHTML = "<pre id=probe></pre>";
  document.getElementById("probe").textContent = text; };
const frame = document.createElement("iframe");
frame.srcdoc = PAGE; frame.style = "width:390px;height:800px;border:0"; document.body.append(frame);
const started = Date.now();
const scrolling = (inside) => [...inside.querySelectorAll(".wide[data-scrolls]")];
const look = () => {
  const inside = frame.contentDocument;
  if (inside?.documentElement?.dataset.drawn !== "all" && Date.now() - started < 20000)
    return setTimeout(look, 50);
  report(JSON.stringify({
    drawn: inside.documentElement.dataset.drawn,
    charts: inside.querySelectorAll(".chart").length,
    svgs: inside.querySelectorAll(".chart svg").length,
    marks: inside.querySelectorAll(".mark-symbol path").length,
    forests: [...inside.querySelectorAll(".chart[data-forest] svg text")].map((one) => one.textContent),
    beyond: inside.documentElement.scrollWidth - inside.documentElement.clientWidth,
    scrolling: scrolling(inside).map((one) => one.getAttribute("aria-label")),
    pinned: scrolling(inside).map((one) => {
      const first = one.querySelector("tbody th, tbody td");
      const before = first.getBoundingClientRect().left;
      one.scrollLeft = 100;
      return first.getBoundingClientRect().left === before && first.getBoundingClientRect().width < 200;
    }),
    fetched: frame.contentWindow.performance.getEntriesByType("resource").length,
  }));
};
look();
</script>"""


def seen_in_browser(content: str, folder: Path) -> dict[str, object]:
    """What a probe finds in the page when Chromium shows it at the width of a phone."""
    assert BROWSER
    probe = folder / "probe.html"
    inlined = json.dumps(content).replace("<", "\\u003c")
    probe.write_text(f"<!DOCTYPE html><body>{_PROBE.replace('PAGE', inlined)}", encoding="utf-8")
    command = [
        BROWSER,
        "--no-sandbox",
        "--disable-gpu",
        "--headless",
        f"--user-data-dir={folder / 'profile'}",
    ]
    told = subprocess.run(
        [*command, "--virtual-time-budget=30000", "--dump-dom", f"file://{probe}"],
        capture_output=True,
        text=True,
        timeout=patience(120),
        check=True,
    ).stdout
    found = re.search(r'<pre id="probe">(.*?)</pre>', told, re.DOTALL)
    assert found, told[-2000:]
    seen: dict[str, object] = json.loads(markup.unescape(found[1]))
    return seen
