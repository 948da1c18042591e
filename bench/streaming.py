"""Streams: time beside polars' own batch scan of the same files, peak memory, and what Dask and Spark add."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench import row

BINARY_ROWS, FILES = 10_000_000, 10  # distinct rows: 1e8
TURNS, CLUSTER_TURNS = 5, 3
DASK_FILES = 10  # of half as many rows: 5e7
SPARK_FILES = 4  # of these: 2e7
WIDE_ROWS, WIDE_CLASSES, WIDE_REPEATS = 256_000, 1000, 5  # 1.28e6 rows

# Each work is a process of its own, so that its peak memory is its own. It prints rows, seconds, CPU time and peak.
WORK = """
import json, resource, sys, time

def imports():  # are not measured
    import polars, veracity.results.assessment, veracity.engines.dask, veracity.estimate.loss.losses

def scan(files):
    import polars as pl
    rows = 0
    for file in files:
        for batch in pl.scan_parquet(file).collect_batches(chunk_size=1 << 20, maintain_order=True):
            rows += batch.height
    return rows

def stream(files, **options):
    from veracity import engines
    (made,) = engines.assess(files, **options).values()
    made.measured
    return made.n

def dask(files):
    from distributed import Client, LocalCluster
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        client.run(imports)
        global started, ended
        started = time.perf_counter()  # a cluster is there before the work, and stays
        rows = stream(files, engine="dask")
        ended = time.perf_counter()
        return rows

def spark(files):
    import os
    from pyspark.sql import SparkSession
    os.environ["PYSPARK_PYTHON"] = sys.executable
    quiet = SparkSession.builder.config("spark.log.level", "OFF").config("spark.ui.showConsoleProgress", "false")
    session = quiet.master("local[2]").getOrCreate()

    def warm(batches):  # workers stay, with what they have imported
        imports()
        time.sleep(1.0)  # so that each takes one
        yield from batches

    session.range(0, 2, 1, 2).mapInArrow(warm, "id long").collect()
    global started, ended
    started = time.perf_counter()
    rows = stream(files, engine="spark")
    ended = time.perf_counter()
    session.stop()
    return rows

def peak():
    try:  # of this program; what the system calls the maximum counts the one that started it too
        (line,) = (line for line in open("/proc/self/status") if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

if __name__ == "__main__":
    imports()
    work, *files = json.loads(sys.argv[1])
    started, before, ended = time.perf_counter(), time.process_time(), None
    rows = {"scan": scan, "stream": stream, "dask": dask, "spark": spark}[work](files)
    seconds, cpu = (ended or time.perf_counter()) - started, time.process_time() - before
    print(json.dumps([rows, seconds, cpu, peak()]))
"""


def measured(work: str, files: list[str]) -> dict[str, float]:
    script = Path(files[0]).with_name("work.py")
    script.write_text(WORK)
    done = subprocess.run(
        [sys.executable, script, json.dumps([work, *files])], check=True, stdout=subprocess.PIPE, text=True
    )
    rows, seconds, cpu, peak = json.loads(done.stdout.splitlines()[-1])
    return {"rows": rows, "seconds": seconds, "cpu_seconds": cpu, "peak_bytes": peak, "rows_a_second": rows / seconds}


def binary(path: Path, rows: int, seed: int) -> str:
    """Forecasts of an event as float64 with an int8 outcome, as polars writes them."""
    import polars as pl

    rng = np.random.default_rng(seed)
    p = rng.beta(0.6, 0.6, rows)
    pl.DataFrame({"y": (rng.random(rows) < p).astype(np.int8), "p": p}).write_parquet(path)
    return str(path)


def wide(path: Path, rows: int, classes: int, seed: int) -> str:
    """Softmax rows as float32, in the row groups that polars makes by itself: half a gigabyte each."""
    import polars as pl

    rng = np.random.default_rng(seed)
    p = np.exp(3.0 * rng.standard_normal((rows, classes), dtype=np.float32))
    p /= p.sum(axis=1, keepdims=True)
    y = np.where(rng.random(rows) < 0.5, p.argmax(axis=1), rng.integers(0, classes, rows)).astype(np.int16)
    pl.DataFrame({"y": y, **{f"p{j}": p[:, j] for j in range(classes)}}).write_parquet(path)
    return str(path)


def _middle(turns: Sequence[tuple[dict[str, float], ...]], which: int) -> dict[str, float]:
    """The measurement whose time is the median."""
    return sorted((turn[which] for turn in turns), key=lambda one: one["seconds"])[len(turns) // 2]


def run(quick: bool = False) -> dict[str, Any]:
    """A table of ratios and peaks, and the raw measurements behind it."""
    less = 20 if quick else 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        distinct = [binary(folder / f"binary{i}.parquet", BINARY_ROWS // less, i) for i in range(FILES)]
        # They take turns: the machine may be slower at one time than at another.
        turns = [(measured("scan", distinct), measured("stream", distinct)) for _ in range(TURNS)]
        found: dict[str, Any] = {"scan": _middle(turns, 0), "local": _middle(turns, 1)}
        found["turns"] = [[one["seconds"] for one in turn] for turn in turns]
        files = [binary(folder / f"part{i}.parquet", BINARY_ROWS // 2 // less, i) for i in range(DASK_FILES)]
        pairs = [(measured("stream", files), measured("dask", files)) for _ in range(CLUSTER_TURNS)]
        found |= {"local_files": _middle(pairs, 0), "dask": _middle(pairs, 1)}
        few = files[:SPARK_FILES]
        pairs = [(measured("stream", few), measured("spark", few)) for _ in range(CLUSTER_TURNS)]
        found |= {"local_of_spark": _middle(pairs, 0), "spark": _middle(pairs, 1)}
        seeds = range(2 if quick else WIDE_REPEATS)
        many = [wide(folder / f"wide{i}.parquet", WIDE_ROWS // less, WIDE_CLASSES, i) for i in seeds]
        found["wide"] = measured("stream", many)
    local, scan = found["local"], found["scan"]
    rows = f"{local['rows']:.2g} binary rows"
    ratio = local["seconds"] / scan["seconds"]
    table = [
        row(f"{rows}, streamed: wall time over polars' batch scan, medians of five", ratio, 2.5),
        row(f"{rows}, streamed: peak memory in MB", local["peak_bytes"] / 1e6, 600),
        row(f"{rows}, streamed: nanoseconds a row", 1e9 * local["seconds"] / local["rows"], None),
        row(
            f"{found['dask']['rows']:.2g} binary rows: Dask over local, wall time",
            found["dask"]["seconds"] / found["local_files"]["seconds"],
            1.2,
        ),
        row(
            f"{found['spark']['rows']:.2g} binary rows: Spark over local, wall time",
            found["spark"]["seconds"] / found["local_of_spark"]["seconds"],
            3.0,
        ),
        row(
            f"{found['wide']['rows']:.3g} rows of {WIDE_CLASSES} classes, streamed: peak memory in MB",
            found["wide"]["peak_bytes"] / 1e6,
            1500,
        ),
    ]
    return {"table": table, "measured": found}


if __name__ == "__main__":
    print(json.dumps(run(quick="--quick" in sys.argv), indent=2))
