"""Whole jobs as users run them: CPU time beside the same work elsewhere, the larger of one BLAS thread and default."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench import race, row
from bench.assessment import events, four, softmax_rows
from bench.document import documents

FILES, ROWS_OF_FILE = 10, 10_000_000  # distinct rows: 1e8
CSV_ROWS = 10_000_000
SCAN = """
import sys, polars as pl
for file in sys.argv[2:]:
    lazy = pl.scan_parquet(file) if file.endswith("parquet") else pl.scan_csv(file)
    for batch in lazy.select("y", "p").collect_batches(chunk_size=1 << 20, maintain_order=True):
        batch.height
"""
# The peak of a process counts the one that started it, so a small one does.
SPAWN = """
import json, os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(child.pid, 0)
print(json.dumps([status, used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""
SINGLE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def run(quick: bool = False) -> dict[str, Any]:
    """Every ratio, the least of the turns each, in processes with one BLAS thread and with default threads."""
    part = 20 if quick else 1
    table: list[dict[str, Any]] = []
    for name in WORKS:
        found = [_measured(name, part, threads) for threads in (SINGLE, {})]
        table += [max(pair, key=lambda line: line["measured"]) for pair in zip(*found, strict=True)]
    return {"table": [*table, *commands(part)]}


def _measured(name: str, part: int, threads: dict[str, str]) -> list[dict[str, Any]]:
    plain = {k: v for k, v in os.environ.items() if k not in SINGLE}
    code = f"import json; from bench.jobs import WORKS; print(json.dumps(WORKS[{name!r}]({part})))"
    there = {**plain, **threads}
    done = subprocess.run([sys.executable, "-c", code], env=there, check=True, stdout=subprocess.PIPE, text=True)
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def _times(part: int) -> list[dict[str, Any]]:
    from veracity import assess

    n = 100_000 // part
    y, p = events(n)
    time = np.arange(n)
    ours, plain = race(lambda: str(assess(y, p, time=time)), lambda: str(assess(y, p)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    name = f"print {n:.3g} × 2 at as many times"
    return [
        row(f"{name}, × without times", ours / plain, 1.3, ours=ours, theirs=plain),
        row(f"{name}, peak in MB", peak, 400),
    ]


def _groups(part: int) -> list[dict[str, Any]]:
    from veracity import assess

    y, p = events(100_000 // part)
    group = np.arange(len(y)) % (1000 // part)
    (ours,) = race(lambda: str(assess(y, p, groups=group)), repeats=3)
    return [row(f"print {len(y):.3g} × 2 in {1000 // part} groups, CPU seconds", ours, 1.5)]


def _prints(part: int) -> list[dict[str, Any]]:
    from sklearn.metrics import log_loss

    from veracity import assess

    lines = []
    for n, target in ((1_000, 8.0), (100_000 // part, 5.0)):
        y, p = events(n)
        ours, theirs = race(lambda y=y, p=p: str(assess(y, p)), lambda y=y, p=p: four(y, p))  # type: ignore[misc]
        name = f"print {n:.3g} × 2, × scikit-learn's four calls"
        lines.append(row(name, ours / theirs, target, ours=ours, theirs=theirs))
    p, y = softmax_rows(100_000 // part, 10)
    labels = list(range(10))
    ours, theirs = race(lambda: str(assess(y, p, labels=labels)), lambda: log_loss(y, p, labels=labels))
    name = f"print {len(y):.3g} × 10 float32, × scikit-learn's log_loss"
    return [*lines, row(name, ours / theirs, 40.0, ours=ours, theirs=theirs)]


WORKS: dict[str, Callable[[int], list[dict[str, Any]]]] = {
    "times": _times,
    "groups": _groups,
    "prints": _prints,
    "documents": documents,
}


def commands(part: int) -> list[dict[str, Any]]:
    """`veracity assess --quiet` on distinct rows of Parquet and CSV, and a report, each beside its peer."""
    import polars as pl

    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [_file(folder, i, ROWS_OF_FILE // part) for i in range(FILES)]
        quiet = [sys.executable, "-m", "veracity", "assess", "--quiet", *files]
        lines += _beside(quiet, files, f"{FILES * ROWS_OF_FILE // part:.3g} distinct rows of Parquet", 2.5, 250)
        csv = folder / "rows.csv"
        pl.scan_parquet(files[0]).head(CSV_ROWS // part).sink_csv(csv)
        quiet = [sys.executable, "-m", "veracity", "assess", "--quiet", str(csv)]
        lines += _beside(quiet, [str(csv)], f"{CSV_ROWS // part:.3g} rows of CSV", 2.5, 400)
        small = folder / "small.csv"
        pl.read_parquet(files[0], n_rows=1_000).write_csv(small)
        report = [
            sys.executable,
            "-m",
            "veracity",
            "assess",
            str(small),
            "--force",
            "--report",
            str(folder / "report.html"),
        ]
        (ours, theirs), _ = _least([report, [sys.executable, "-c", "import sklearn.metrics"]])
        lines.append(row("report of 1,000 rows by the command, × import sklearn", ours / theirs, 1.2, ours=ours))
    return lines


def _file(folder: Path, number: int, rows: int) -> str:
    """Forecasts of an event that no other file has, as float64 with an int8 outcome."""
    import polars as pl

    rng = np.random.default_rng(number)
    p = rng.random(rows) ** (0.5 + 0.1 * number)
    path = folder / f"{number}.parquet"
    pl.DataFrame({"y": (rng.random(rows) < p).astype(np.int8), "p": p}).write_parquet(path)
    return str(path)


def _beside(command: list[str], files: list[str], what: str, target: float, most: float) -> list[dict[str, Any]]:
    (ours, theirs), peaks = _least([command, [sys.executable, "-c", SCAN, "scan", *files]])
    return [
        row(f"{what}, assess --quiet, × polars reading them", ours / theirs, target, ours=ours, theirs=theirs),
        row(f"{what}, assess --quiet, peak in MB", peaks[0], most),
    ]


def _least(commands: list[list[str]], turns: int = 5) -> tuple[list[float], list[float]]:
    """Return the least CPU seconds of commands that take turns, and their peaks in MB; with default threads.

    Modules are compiled in a turn that does not count, as they are where they are installed.
    """
    unset = (*SINGLE, "PYTHONDONTWRITEBYTECODE")
    plain = {k: v for k, v in os.environ.items() if k not in unset} | {"VERACITY_CHILD": "0"}
    seconds: list[list[float]] = [[] for _ in commands]
    peaks = [0.0 for _ in commands]
    with tempfile.TemporaryDirectory() as compiled:
        for turn in range(turns + 1):
            for i, command in enumerate(commands):
                spawner = [sys.executable, "-S", "-c", SPAWN, *command]
                there = {**plain, "PYTHONPYCACHEPREFIX": compiled}
                done = subprocess.run(spawner, env=there, check=True, stdout=subprocess.PIPE, text=True)
                status, used, peak = json.loads(done.stdout)
                if status:
                    raise subprocess.CalledProcessError(status, command)
                if turn:
                    seconds[i].append(used)
                    peaks[i] = max(peaks[i], peak / 1e3)
    return [min(each) for each in seconds], peaks
