"""ReadOptions and validating 50 million rows of Parquet, beside polars' own iteration over the same batches."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROWS = 50_000_000
TARGET = 1.3  # of the ratio, at most

WRITE = """
import sys, numpy as np, polars as pl
rows, path = int(sys.argv[1]), sys.argv[2]
rng = np.random.default_rng(0)
def part(n):
    p = rng.random(n, dtype=np.float32)
    return pl.DataFrame({"p": p, "y": (rng.random(n, dtype=np.float32) < p).astype(np.int8)})
parts = [part(min(1 << 22, rows - start)) for start in range(0, rows, 1 << 22)]
pl.concat(parts).write_parquet(path, row_group_size=1 << 20)
"""

MEASURE = """
import json, resource, sys, time
import polars as pl
from veracity.inputs import check
from veracity.read import open as open_source
kind, path = sys.argv[1:]
rows, start = 0, time.process_time()
if kind == "polars":
    for frame in pl.scan_parquet(path).select("p", "y").collect_batches(chunk_size=1 << 20, maintain_order=True):
        rows += frame.height
else:
    source = open_source(path)
    for part in source.parts():
        for batch in source.batches(part):
            for forecasts in batch.forecasts:
                check(forecasts)
                rows += len(forecasts)
seconds = time.process_time() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"rows": rows, "cpu": seconds, "peak": peak}))
"""


def run(rows: int = ROWS, repeats: int = 5) -> dict[str, float]:
    """CPU seconds and peak megabytes of both, each the best of fresh processes; `ratio` should stay at or below 1.3."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "forecasts.parquet")
        subprocess.run([sys.executable, "-c", WRITE, str(rows), path], check=True)
        runs = {kind: [_measured(kind, path, rows) for _ in range(repeats)] for kind in ("polars", "veracity")}
    polars, ours = (min(r["cpu"] for r in runs[kind]) for kind in ("polars", "veracity"))
    return {
        "rows": rows,
        "polars_cpu_seconds": polars,
        "veracity_cpu_seconds": ours,
        "ratio": ours / polars,
        "polars_peak_mb": max(r["peak"] for r in runs["polars"]),
        "veracity_peak_mb": max(r["peak"] for r in runs["veracity"]),
    }


def _measured(kind: str, path: str, rows: int) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", MEASURE, kind, path], check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    if found["rows"] != rows:
        raise RuntimeError(f"{kind} saw {found['rows']} of {rows} rows")
    return found


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
