"""The one pass and the sections that follow from it, compared with scikit-learn and with an earlier version.

`python -m bench assessment --before CHECKOUT` adds the ratios to another checkout of this repository, whose kernel must
have been built there (`python setup.py build_ext --inplace`).
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import psutil
from numpy.typing import NDArray
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss

from bench import race, row
from veracity import assess, kernels
from veracity.simulate import DISPERSION, NETWORKS

Array = NDArray[Any]

BLOCK = 1 << 22  # entries made at once
SECTIONS = (
    *("scores", "skill", "reported", "expected", "measured", "divergence", "spread_ratio"),
    *("risk_profile", "floors", "bins", "calibration_error"),
)
LATER = ("expected", "spread_ratio")  # sections that version 9086695, which --before compares with, does not have
STRENGTH = NETWORKS["alexnet-imagenet"].strength


def run(quick: bool = False) -> dict[str, Any]:
    """Every ratio, the least of five interleaved runs each; `quick` takes a tenth of the rows or less."""
    part = 20 if quick else 1
    # The largest matrix comes first: what the process needed at most is then what this call needed.
    parts = (
        large(1_280_000 // part),
        binary(10_000_000 // part),
        many_classes(1_000_000 // part, 10, 0.6),
        many_classes(100_000 // part, 100, None),
        before(20_000 // part),
        before(100_000 // part),
        small(1000),
        scaling(8 if not quick else 7),
    )
    return {"kernel": kernels.NAME, "table": [line for lines in parts for line in lines]}


def filled(y: Array, p: Array, without: tuple[str, ...] = ()) -> None:
    """Assess, and fill the sections that come from the one pass."""
    a = assess(y, p)
    for name in SECTIONS:
        if name not in without:
            getattr(a, name)


def softmax_rows(rows: int, k: int, strength: float = STRENGTH, dispersion: float = DISPERSION) -> tuple[Array, Array]:
    """float32 softmax rows made in place, with outcomes drawn from them.

    Normal logits times a strength that varies from row to row: the simulation of an ImageNet network in
    `veracity.simulate`, right in 57 % of its picks with 1000 classes.
    """
    rng = np.random.default_rng(0)
    p, y = np.empty((rows, k), dtype=np.float32), np.empty(rows, dtype=np.int64)
    step = max(1, BLOCK // k)
    for start in range(0, rows, step):
        block = p[start : start + step]
        rng.standard_normal(out=block, dtype=np.float32)
        block *= np.exp(strength + dispersion * rng.standard_normal((len(block), 1), dtype=np.float32))
        block -= block.max(axis=1, keepdims=True)
        np.exp(block, out=block)
        block /= block.sum(axis=1, keepdims=True)
        below = np.cumsum(block, axis=1) < rng.random((len(block), 1), dtype=np.float32)
        y[start : start + step] = np.minimum(below.sum(axis=1), k - 1)
        # Rounding of the running sum may end on a class of probability 0.
        ruled_out = block[np.arange(len(block)), y[start : start + step]] == 0.0
        y[start : start + step][ruled_out] = block[ruled_out].argmax(axis=1)
    return p, y


def events(rows: int, dtype: Any = np.float64, outcome: Any = np.int64) -> tuple[Array, Array]:
    """Calibrated forecasts of an event: outcomes and probabilities."""
    rng = np.random.default_rng(0)
    p, y = np.empty(rows, dtype=dtype), np.empty(rows, dtype=outcome)
    for start in range(0, rows, BLOCK):
        block = slice(start, min(start + BLOCK, rows))
        p[block] = rng.beta(0.7, 1.3, block.stop - start)
        y[block] = rng.random(block.stop - start) < p[block]
    return y, p


def four(y: Array, p: Array) -> None:
    """What a user of scikit-learn calls for a part of an assessment."""
    log_loss(y, p)
    brier_score_loss(y, p)
    calibration_curve(y, p)
    IsotonicRegression().fit(p, y)


def binary(rows: int) -> list[dict[str, Any]]:
    y, p = events(rows)

    def numpy_only() -> None:
        with patch.object(kernels, "NAME", "numpy"):
            filled(y, p)

    ours, plain, theirs = race(lambda: filled(y, p), numpy_only, lambda: four(y, p))
    name = f"{rows:.3g} binary, × scikit-learn's four calls"
    more = {"theirs": theirs, "rows": rows}
    return [
        row(name, ours / theirs, 0.03, ours=ours, **more),
        row(f"{name}, NumPy only", plain / theirs, None, ours=plain, **more),
    ]


def many_classes(rows: int, k: int, target: float | None) -> list[dict[str, Any]]:
    p, y = softmax_rows(rows, k)
    labels = np.arange(k) if len(np.unique(y)) < k else None
    ours, theirs = race(lambda: filled(y, p), lambda: log_loss(y, p, labels=labels))
    name = f"{rows:.3g} × {k} float32, × scikit-learn's log_loss"
    return [row(name, ours / theirs, target, ours=ours, theirs=theirs, rows=rows)]


def before(rows: int, turns: int = 3) -> list[dict[str, Any]]:
    """Compare with the checkout that $BENCH_BEFORE names: processes in turn, the least of all runs each."""
    checkout = os.environ.get("BENCH_BEFORE")
    if not checkout:
        return []
    here = str(Path(__file__).parents[1] / "src")
    seconds = [[_in_process(source, rows) for source in (here, f"{checkout}/src")] for _ in range(turns)]
    ours, theirs = (min(each) for each in zip(*seconds, strict=True))
    name = f"{rows:.3g} × 1000 float32, × the version before"
    return [row(name, ours / theirs, 1.15, ours=ours, theirs=theirs, rows=rows)]


def _in_process(source: str, rows: int) -> float:
    command = f"import bench.assessment; print(bench.assessment.seconds({rows}))"
    there = {**os.environ, "PYTHONPATH": source}
    done = subprocess.run([sys.executable, "-c", command], env=there, check=True, capture_output=True, text=True)
    return float(done.stdout)


def seconds(rows: int) -> float:
    """Return the CPU seconds of an assessment of 1000 classes with the veracity that is installed."""
    p, y = softmax_rows(rows, 1000)
    return race(lambda: filled(y, p, without=LATER))[0]


def large(rows: int) -> list[dict[str, Any]]:
    p, y = softmax_rows(rows, 1000)
    np.sum(p[:1000])
    filled(y[:2000], p[:2000])  # loads what is loaded on demand
    before = psutil.Process().memory_info().rss
    filled(y, p)
    extra = max(_peak() - before, 0) / 1e6
    ours, theirs = race(lambda: filled(y, p), lambda: np.sum(p))
    size = f"{rows:.3g} × 1000 float32 ({p.nbytes / 1e9:.1f} GB)"
    return [
        row(f"{size}, × one np.sum", ours / theirs, None, ours=ours, theirs=theirs, rows=rows),
        row(f"{size}, extra memory in MB", extra, 250.0, rows=rows),
    ]


def _peak() -> int:
    """The most bytes that this process ever held."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def small(rows: int) -> list[dict[str, Any]]:
    p, y = softmax_rows(rows, 10)
    labels = np.arange(10)

    def calls() -> None:
        log_loss(y, p, labels=labels)
        brier_score_loss(y, p, labels=labels)
        for j in range(10):
            calibration_curve(y == j, p[:, j])
            IsotonicRegression().fit(p[:, j], y == j)

    def calls_of_the_pick() -> None:
        log_loss(y, p, labels=labels)
        brier_score_loss(y, p, labels=labels)
        correct, confidence = p.argmax(axis=1) == y, p.max(axis=1)
        calibration_curve(correct, confidence)
        IsotonicRegression().fit(confidence, correct)

    ours, theirs, fewer = race(lambda: filled(y, p), calls, calls_of_the_pick, repeats=50)
    name = f"{rows} × 10, × the four calls"
    return [
        row(f"{name}, curves of every class", ours / theirs, 0.25, ours=ours, theirs=theirs, rows=rows),
        row(f"{name}, curves of the pick only", ours / fewer, None, ours=ours, theirs=fewer, rows=rows),
    ]


def scaling(largest: int) -> list[dict[str, Any]]:
    y, p = events(10**largest, np.float32, np.int8)
    sizes = [10**power for power in range(5, largest + 1)]
    seconds = race(*(lambda n=n: filled(y[:n], p[:n]) for n in sizes))  # type: ignore[misc]
    each = [s / n for s, n in zip(seconds, sizes, strict=True)]
    return [
        row(
            f"cost of a row from 1e5 to 1e{largest} rows (binary), largest ÷ at 1e5",
            max(each) / each[0],
            1.3,
            nanoseconds={f"{n:.0e}": e * 1e9 for n, e in zip(sizes, each, strict=True)},
        )
    ]
