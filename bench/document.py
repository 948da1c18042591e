"""Documents and a report beside one stable `np.sort` of 1e7 numbers, which `jobs` measures, and the command line."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench import race, row
from bench.assessment import events, softmax_rows
from veracity import assess, show

IMPORTS = "import numpy, scipy.special, scipy.optimize, polars, rich"
TARGETS = {(1_000_000, 2): 2.5, (1_000_000, 10): 4.0, (20_000, 100): 4.0}


def run() -> dict[str, Any]:
    """Return the ratio of CPU time of the command line on a small file."""
    ours, theirs = command_line()
    return {"table": [row("command line on 1,000 rows of CSV, × the imports", ours / theirs, 1.3, ours=ours)]}


def documents(part: int) -> list[dict[str, Any]]:
    """Return every ratio of CPU time, the least of five runs (two of the report)."""
    numbers = np.random.default_rng(0).random(10_000_000 // part)
    # by merging: other ways take a tenth where the processor has vectors of 512 bits, and that is no measure of it
    (sort,) = race(lambda: np.sort(numbers, kind="stable"))
    table = []
    for (rows, k), target in TARGETS.items():
        y, p = events(rows // part) if k == 2 else softmax_rows(rows // part, k)[::-1]
        labels = list(range(k))
        (ours,) = race(lambda y=y, p=p, labels=labels: assess(y, p, labels=labels).document())  # type: ignore[misc]
        table.append(
            row(f"document of {rows:.3g} × {k}, × stable np.sort of 1e7", ours / sort, target, ours=ours, sort=sort)
        )
    p, y = softmax_rows(5000 // part, 1000)
    (ours,) = race(lambda: show.report(assess(y, p, labels=list(range(1000)))), repeats=2)
    table.append(
        row("document and report of 5,000 × 1000, × stable np.sort of 1e7", ours / sort, 2.5, ours=ours, sort=sort)
    )
    return table


def command_line() -> tuple[float, float]:
    """Least CPU seconds of `veracity assess` on 1,000 rows, and of Python importing what it needs."""
    y, p = events(1000)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "forecasts.csv"
        file.write_text("y,p\n" + "".join(f"{a},{b}\n" for a, b in zip(y.tolist(), p.tolist(), strict=True)))
        commands = ([sys.executable, "-m", "veracity", "assess", str(file)], [sys.executable, "-c", IMPORTS])
        turns = [[cpu(command, folder) for command in commands] for _ in range(6)]
    ours, theirs = (min(seconds) for seconds in zip(*turns, strict=True))
    return ours, theirs


def cpu(command: list[str], compiled: str) -> float:
    """CPU seconds of a process; modules are compiled into a folder once, as they are where they are installed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with_compiled = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": compiled}
    with_compiled.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run(command, check=True, capture_output=True, env=with_compiled)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
