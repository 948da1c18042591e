"""Report pages in a browser: size of the file, and time from opening it to the last picture drawn."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import veracity as vc

SIZE, SECONDS = 1_600_000, 1.5  # bytes of a page; seconds until everything is drawn
REPEATS = 5
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]


def forecasts(n: int, k: int, seed: int = 0) -> tuple[Any, Any]:
    """Outcomes and over-confident forecasts of k classes."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2, (n, k))
    truth, said = (np.exp(power * logits) for power in (1.0, 1.6))
    truth, said = (p / p.sum(1, keepdims=True) for p in (truth, said))
    return (rng.random((n, 1)) > truth.cumsum(1)[:, :-1]).sum(1), said


def pages(quick: bool) -> dict[str, Any]:
    """Return results whose pages are opened: 2, 10 and 1000 classes, five models, a table."""
    two = vc.assess(*forecasts(2_000, 2))
    made: dict[str, Any] = {"assess, 2 classes": two, "table, 2 × 2": vc.PredictionTable([[83, 56], [2, 12]])}
    if not quick:
        y, p = forecasts(2_000, 5)
        models = {f"model {i}": p ** (0.6 + 0.3 * i) / (p ** (0.6 + 0.3 * i)).sum(1, keepdims=True) for i in range(5)}
        made |= {
            "assess, 10 classes": vc.assess(*forecasts(5_000, 10)),
            "assess, 1000 classes": vc.assess(*forecasts(2_000, 1_000), labels=range(1_000)),
            "compare, 5 models": vc.compare(y, models),
        }
    return made


def opened(browser: Any, page: Path) -> tuple[float, float]:
    """Return the seconds until the first screen and until every picture is drawn, in a fresh context."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    tab = context.new_page()
    tab.goto(page.as_uri(), wait_until="commit")
    tab.wait_for_selector("body[data-drawn]", state="attached", timeout=60_000)
    spent = [
        tab.evaluate("performance.getEntriesByName('first screen')[0].startTime"),
        tab.evaluate("performance.now()"),
    ]
    context.close()
    first, last = (float(milliseconds) / 1000.0 for milliseconds in spent)
    return first, last


def run(quick: bool = False) -> dict[str, Any]:
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        return {"table": [], "skipped": "no chromium or google-chrome on PATH"}
    table = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        for name, result in pages(quick).items():
            page = Path(folder, "page.html")
            result.report(page)
            size = page.stat().st_size
            seconds = [opened(browser, page) for _ in range(REPEATS)]
            table.append({"work": f"{name}: bytes of the page", "target": SIZE, "measured": size})
            for i, what in enumerate(("until the first screen is drawn", "until everything is drawn")):
                median = round(statistics.median(pair[i] for pair in seconds), 2)
                table.append({"work": f"{name}: seconds {what}", "target": SECONDS, "measured": median})
        browser.close()
    return {"table": table}
