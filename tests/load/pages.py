"""Pages on a slow phone: a fresh visit under 4 times CPU slow-down, 150 ms round trips and 1.6 Mb/s.

Reported are the largest contentful paint, the layout shift, and for the calculator the time from a key or a
click to the next frame. Run by `make bench`, or alone: `python -m tests.load.pages`.
"""

import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import Browser, Page, sync_playwright

from app.settings import ROOT, Settings
from tests.load.rows import Row

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
PATHS = (
    "/",
    "/courses/training",
    "/courses/training/lessons/0010-degrees-in-order",
    "/courses/training/lessons/0013-all-three",
    "/courses/serving/lessons/0006-two-nodes-and-a-decision",
    "/calculator",
    "/calculator/schedule",
    "/published",
    "/method",
)
SLOWER, ROUND_TRIP_MS, BYTES_PER_S = 4, 150, 1.6e6 / 8
PAINT_MS, SHIFT, INTERACTION_MS = 1000, 0.02, 100
WATCH = """
window.seen = {paint: 0, shift: 0, slowest: 0};
const watch = (options, heed) =>
  new PerformanceObserver((list) => list.getEntries().forEach(heed)).observe({buffered: true, ...options});
watch({type: "largest-contentful-paint"}, (e) => { seen.paint = e.startTime; });
watch({type: "layout-shift"}, (e) => { if (!e.hadRecentInput) seen.shift += e.value; });
watch({type: "event", durationThreshold: 16}, (e) => { seen.slowest = Math.max(seen.slowest, e.duration); });
"""


class Visit(NamedTuple):
    """What one visit showed; times in milliseconds."""

    paint_ms: float
    shift: float
    slowest_ms: float = 0.0


@contextmanager
def server() -> Iterator[str]:
    """The site as it is served, on a free port and an empty database."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings()
        environment = {
            "HOST": "127.0.0.1",
            "PORT": str(port),
            "DATABASE_URL": f"sqlite:///{Path(folder) / 'pages.db'}",
            "LESSONS_DIR": str(settings.lessons_dir),
            "PATH": "/usr/bin:/bin",
        }
        process = subprocess.Popen(
            [sys.executable, "-c", "from app.cli import main; main()", "serve"], cwd=ROOT, env=environment,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(address)
            yield address
        finally:
            process.terminate()
            process.wait(10)


def _wait_for(address: str) -> None:
    for _ in range(300):
        try:
            urlopen(address).close()
            return
        except (URLError, ConnectionError):
            time.sleep(0.1)
    raise RuntimeError(f"nothing answers at {address}")


def slow_page(browser: Browser) -> Page:
    """A page of a browser that has seen nothing yet, on a slow phone."""
    page = browser.new_context(viewport={"width": 390, "height": 844}, device_scale_factor=2).new_page()
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    session.send(
        "Network.emulateNetworkConditions",
        {
            "offline": False,
            "latency": ROUND_TRIP_MS,
            "downloadThroughput": BYTES_PER_S,
            "uploadThroughput": BYTES_PER_S,
        },
    )
    page.add_init_script(WATCH)
    return page


def visit(browser: Browser, address: str) -> Visit:
    """One fresh visit."""
    page = slow_page(browser)
    page.goto(address, wait_until="load")
    page.wait_for_timeout(700)
    seen = page.evaluate("seen")
    page.context.close()
    return Visit(seen["paint"], seen["shift"])


def calculator_interactions(browser: Browser, address: str) -> float:
    """The slowest of a few keys and clicks on the calculator, from the press to the next frame."""
    page = slow_page(browser)
    page.goto(f"{address}/calculator", wait_until="load")
    field = page.locator("input[name=global_batch_size]")
    field.click()
    field.press("End")
    for key in ("Backspace", "4", "0"):
        page.keyboard.press(key)
        page.wait_for_timeout(900)
    page.locator("button[value='double:tensor_parallel'], button[value^='double']").first.click()
    page.wait_for_timeout(1500)
    slowest: float = page.evaluate("seen.slowest")
    page.context.close()
    return slowest


def page_visit_rows(times: int = 3) -> list[Row]:
    """Rows for the report: of the paint the median visit, of the rest the worst. Empty without Chromium."""
    if not CHROMIUM.exists():
        return []
    rows: list[Row] = []
    with server() as address, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        for path in PATHS:
            urlopen(f"{address}{path}").close()  # what is worked out once is no part of a visit
            visits = [visit(browser, f"{address}{path}") for _ in range(times)]
            paint = statistics.median(one.paint_ms for one in visits)
            shift = max(one.shift for one in visits)
            rows.append(Row(f"largest paint on a slow phone, {path}", PAINT_MS, paint))
            rows.append(Row(f"layout shift in thousandths, {path}", 1e3 * SHIFT, 1e3 * shift))
        slowest = calculator_interactions(browser, address)
        rows.append(
            Row("key or click to next frame, calculator", INTERACTION_MS, slowest, "the slowest of four")
        )
        browser.close()
    return rows


def main() -> None:
    """Print the rows."""
    for row in page_visit_rows():
        over = "" if row.measured_ms <= row.bound_ms else "  OVER"
        print(f"{row.name:88} {row.bound_ms:8,.0f} {row.measured_ms:10,.1f}{over} {row.note}")


if __name__ == "__main__":
    main()
