"""Estimates without labels, sites without rows, and tables counted in databases, against the truth.

`python -m bench.estimate [--draws N] [estimate|sites|rowless|sql …]` prints the tables; `--nannyml PYTHON` adds
cbpe. True probabilities are known.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, softmax

import veracity as vc
from bench import row
from veracity import sql
from veracity.results.estimate import estimate as estimate_of

Rng = np.random.Generator
REFERENCE, NEW = 2000, 1000


def cases(rng: Rng, name: str, n: int, shifted: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return (truth, forecasts) of cases (n, k): over-confident, too high, or of ten classes over-confident."""
    if name == "ten classes":
        x = rng.gumbel(0.0, 1.6, (n, 10))
        x[:, 0] += 1.0 if shifted else 0.0
        return softmax(x, axis=1), softmax(1.6 * x, axis=1)
    x = rng.normal(1.0 if shifted else 0.0, 1.2, n)
    stated = 2.0 * x if name == "over-confident" else x + 0.6
    return _two(x), _two(stated)


def _two(x: np.ndarray) -> np.ndarray:
    return np.column_stack([expit(-x), expit(x)])


def _scores(truth: np.ndarray, p: np.ndarray) -> dict[str, float]:
    return {
        "log_loss": float(-(truth * np.log(p)).sum(axis=1).mean()),
        "brier": float(((p**2).sum(axis=1) - 2.0 * (truth * p).sum(axis=1) + 1.0).mean()),
        "accuracy": float(truth[np.arange(len(p)), p.argmax(axis=1)].mean()),
    }


def estimate(draws: int) -> None:
    """Coverage of 95 % intervals of the mean score of the source, and bias."""
    for name in ("over-confident", "too high", "ten classes"):
        for shifted in (False, True):
            wanted = _scores(*cases(np.random.default_rng(99), name, 400_000, shifted))
            inside = dict.fromkeys(wanted, 0)
            gaps: dict[str, list[float]] = {score: [] for score in wanted}
            own: list[float] = []
            for seed in range(draws):
                rng = np.random.default_rng([seed, 41])
                truth, p = cases(rng, name, REFERENCE, False)
                y = _outcomes(rng, truth)
                new = cases(rng, name, NEW, shifted)[1]
                known = vc.Forecasts.of(y, p, labels=list(range(p.shape[1])))
                found = estimate_of(known, vc.Forecasts.of(np.zeros(NEW, int), new, labels=list(range(p.shape[1]))))
                own.append(found.record.self_expected["log_loss"] - wanted["log_loss"])
                for score, value in wanted.items():
                    reading = found.record.scores[score]
                    inside[score] += reading.low <= value <= reading.high
                    gaps[score].append(float(reading) - value)
            shares = {score: round(held / draws, 3) for score, held in inside.items()}
            bias = {score: round(float(np.mean(held)), 4) for score, held in gaps.items()}
            shift = "covariate shift" if shifted else "no shift"
            print(f"{name}, {shift}: covered {shares}, bias {bias}, by the forecasts {np.mean(own):+.3f}", flush=True)


def beside_cbpe(name: str, shifted: bool, draws: int, python: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return accuracy and AUC of every draw: ours, and those of NannyML's CBPE, which `python` has installed."""
    ours, known = [], []
    for seed in range(draws):
        rng = np.random.default_rng([seed, 45])
        truth, p = cases(rng, name, REFERENCE, False)
        known.append((p, _outcomes(rng, truth), cases(rng, name, NEW, shifted)[1]))
        reference, new = (
            vc.Forecasts.of(y, q, labels=list(range(p.shape[1])))
            for q, y in ((p, known[-1][1]), (known[-1][2], np.zeros(NEW, int)))
        )
        ours.append(estimate_of(reference, new).record.scores)
    theirs = _by_nannyml(python, known)
    scores = ("accuracy", "auc") if p.shape[1] == 2 else ("accuracy",)
    return {
        score: (np.array([float(one[score]) for one in ours]), np.array([one[score] for one in theirs]))
        for score in scores
    }


def cbpe(draws: int, python: str = "python") -> None:
    """Accuracy and AUC beside NannyML's CBPE and beside those of the source."""
    for name in ("over-confident", "too high", "ten classes"):
        for shifted in (False, True):
            found = beside_cbpe(name, shifted, draws, python)
            for score, value in _true_ranks(name, shifted).items():
                mine, other = found[score]
                apart, own, far = mine - other, np.abs(mine - value).mean(), np.abs(other - value).mean()
                print(
                    f"{name}, {'covariate' if shifted else 'no'} shift, {score}: apart by {apart.mean():+.4f}, at most "
                    f"{np.abs(apart).max():.4f}; mean distance from the source {own:.4f}, of CBPE {far:.4f} "
                    f"({draws} draws)",
                    flush=True,
                )


def _true_ranks(name: str, shifted: bool) -> dict[str, float]:
    """Return the accuracy and the AUC of the source."""
    truth, p = cases(np.random.default_rng(99), name, 400_000, shifted)
    found = {"accuracy": _scores(truth, p)["accuracy"]}
    if p.shape[1] == 2:
        from veracity.estimate.monitoring.unlabelled import _auc

        found["auc"] = _auc(p[:, 1])(truth, np.full(len(p), 1.0 / len(p)))
    return found


def _by_nannyml(
    python: str, known: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]
) -> Sequence[Mapping[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        for i, (p, y, new) in enumerate(known):
            np.savez(Path(folder) / f"reference{i}.npz", p=p, y=y)
            np.savez(Path(folder) / f"new{i}.npz", p=new, y=np.zeros(len(new)))
        script = str(Path(__file__).with_name("cbpe.py"))
        subprocess.run([python, "-I", script, folder], capture_output=True, check=True)
        found: Sequence[Mapping[str, float]] = json.loads((Path(folder) / "cbpe.json").read_text())
    return found


def _outcomes(rng: Rng, truth: np.ndarray) -> np.ndarray:
    y: np.ndarray = (truth.cumsum(axis=1) < rng.uniform(size=(len(truth), 1))).sum(axis=1).clip(max=truth.shape[1] - 1)
    return y


def sites(draws: int) -> None:
    """Eight sites of 500 to 50,000 cases: the verdict of merged tallies without rows, and of the rows."""
    sizes = [500, 700, 1000, 2000, 4000, 8000, 20_000, 50_000]
    for slope, level in ((1.0, 0.0), (0.97, 0.0), (0.9, 0.0), (1.0, 0.05)):
        same = 0
        for seed in range(draws):
            rng = np.random.default_rng([seed, 42])
            parts = []
            for n in sizes:
                p = rng.beta(0.8, 1.6, n).clip(1e-6, 1 - 1e-6)
                parts.append((rng.uniform(size=n) < expit(level + slope * np.log(p / (1 - p))), p))
            merged = vc.Tally.of(*parts[0]).without_rows()
            for y, p in parts[1:]:
                merged += vc.Tally.of(y, p).without_rows()
            whole = vc.Tally.of(np.concatenate([y for y, _ in parts]), np.concatenate([p for _, p in parts]))
            same += vc.assess(merged).verdict == vc.assess(whole).verdict
        print(f"sites, slope {slope}, level {level}: same verdict in {same / draws:.3f} of {draws}", flush=True)


def rowless(draws: int) -> None:
    """More than two classes without rows: how often level or confidence is found wrong."""
    for k, n in ((3, 1000), (10, 2000)):
        for slope in (1.0, 1.2):
            found = 0
            for seed in range(draws):
                rng = np.random.default_rng([seed, k])
                x = rng.gumbel(0.0, 1.5, (n, k))
                y, p = _outcomes(rng, softmax(x, axis=1)), softmax(slope * x, axis=1)
                tally = vc.Tally.of(y, p, labels=list(range(k))).without_rows(at_least=5)
                found += vc.assess(tally).verdict_detail.state == "found"
            print(f"without rows, {k} classes, {n:,} cases, slope {slope}: found in {found / draws:.3f} of {draws}")


def in_database(y: np.ndarray, p: np.ndarray) -> vc.Tally:
    """Return the tally that DuckDB counts."""
    import duckdb
    import polars as pl

    connection = duckdb.connect()
    connection.register("arrays", pl.DataFrame({"y": y, "p": p}).to_arrow())
    connection.execute("CREATE TABLE predictions AS SELECT * FROM arrays")
    return sql.tally(connection, "predictions", label="y", positive_proba="p")


def database(rows: int = 10_000_000) -> None:
    """Ten million rows counted in DuckDB and from the rows."""
    import time

    rng = np.random.default_rng(43)
    p = rng.beta(0.8, 1.6, rows)
    y = (rng.uniform(size=rows) < expit(0.95 * np.log(p / (1 - p)))).astype(np.int8)
    started = time.perf_counter()
    found = in_database(y, p)
    seconds = time.perf_counter() - started
    whole = vc.Tally.of(y, p)
    cells = all(
        np.array_equal(mine.cells, other.cells) and np.array_equal(mine.all, other.all)
        for mine, other in zip((found.pooled, *found.classwise), (whole.pooled, *whole.classwise), strict=True)
    )
    sums = float(np.abs(found.sums.score[:2, 0] / whole.sums.score[:2, 0] - 1.0).max())
    a, b = vc.assess(found), vc.assess(whole)
    print(
        f"{rows:,} rows in {seconds:.1f} s: counts equal {cells}, sums within {sums:.1e}, verdicts {a.verdict} and "
        f"{b.verdict}, log loss {float(a.scores.log_loss):.6f} and {float(b.scores.log_loss):.6f}, AUC "
        f"{float(a.scores.auc):.6f} and {float(b.scores.auc):.6f}"
    )


def run(quick: bool = False) -> dict[str, Any]:
    """Return how far counts and sums of a database are from those of the rows; `main` prints every table."""
    rng = np.random.default_rng(44)
    p = rng.beta(0.8, 1.6, 20_000 if quick else 200_000)
    y = (rng.uniform(size=len(p)) < p).astype(np.int64)
    found, whole = in_database(y, p), vc.Tally.of(y, p)
    wrong = float(np.abs(found.classwise[1].all - whole.classwise[1].all).sum())
    sums = float(np.abs(found.sums.score[:2, 0] / whole.sums.score[:2, 0] - 1.0).max())
    return {
        "table": [
            row("cells of a database: cases in another cell than by rows", wrong, 0.0),
            row("cells of a database: relative error of log loss and Brier score", sums, 1e-12),
        ]
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.estimate", description=__doc__)
    tables = {"estimate": estimate, "sites": sites, "rowless": rowless, "sql": lambda _: database()}
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"some of {', '.join(tables)}; all by default")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--nannyml", metavar="PYTHON", help="interpreter that has NannyML, for the table cbpe")
    given = parser.parse_args()
    if given.nannyml:
        tables["cbpe"] = lambda draws: cbpe(draws, given.nannyml)
    for name in given.tables or tables:
        tables[name](given.draws)


if __name__ == "__main__":
    main()
