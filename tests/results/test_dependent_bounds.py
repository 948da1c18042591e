"""Intervals of clusters and times end where their quantity ends, and nowhere else."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy import stats

import veracity as vc
from veracity.cli import run
from veracity.estimate.comparison.dependent import Widening
from veracity.measures import quantities
from veracity.records.reading import Reading

Floats = NDArray[np.float64]


def drawn(seed: int, slope: float = 1.3, number: int = 20, size: int = 20) -> tuple[Any, Floats, Any]:
    """Over-confident forecasts of outcomes that share much within few clusters."""
    rng = np.random.default_rng(seed)
    g = np.repeat(np.arange(number), size)
    z = 2.0 * rng.standard_normal(number)[g] + 0.5 * rng.standard_normal(len(g))
    y = (rng.random(len(g)) < 1 / (1 + np.exp(-z - 1.5 * rng.standard_normal(number)[g]))).astype(int)
    return y, 1 / (1 + np.exp(-slope * z)), g


def by_hand(x: Floats, g: Any) -> tuple[float, float]:
    """Mean ± t·se from the sums of clusters."""
    sums, number = np.bincount(g, x - x.mean()) / len(x), len(np.unique(g))
    half = stats.t.ppf(0.975, number - 1) * math.sqrt(number / (number - 1) * (sums**2).sum())
    return x.mean() - half, x.mean() + half


def test_the_interval_of_a_log_loss_of_clusters_goes_on_beyond_one() -> None:
    y, p, g = drawn(3, slope=2.5)
    loss = -np.log(np.where(y == 1, p, 1 - p))
    low, high = by_hand(loss, g)
    assert loss.mean() < 1.0 < high
    found = vc.assess(y, p, clusters=g).scores
    assert (found.log_loss.low, found.log_loss.high) == pytest.approx((low, high), rel=1e-9)
    assert found.perplexity is not None
    assert (found.perplexity.low, found.perplexity.high) == pytest.approx((math.exp(low), math.exp(high)), rel=1e-9)


def test_skill_of_clusters_may_be_below_zero_and_the_gate_sees_it(tmp_path: Path) -> None:
    y, p, g = drawn(3)
    plain, wide = vc.assess(y, p).skill.log, vc.assess(y, p, clusters=g).skill.log
    assert plain.low > 0.0
    assert wide.low < -0.1
    assert wide.high < 1.0
    pl.DataFrame({"y": y, "p": p, "g": g}).write_csv(tmp_path / "f.csv")
    command = ["check", str(tmp_path / "f.csv"), "--label", "y", "--cluster", "g", "--require", "skill.log.low>=0"]
    assert run(command) == 1
    sentence = vc.assess(y, p, clusters=g).to_markdown()
    assert "% worse and" in sentence
    assert "between no better" not in sentence


def widened(path: str, reading: Reading) -> Reading:
    """One reading as that of its quantity, with the interval twenty times as wide."""
    y, p, g = drawn(1)
    wide = Widening(vc.Tally.of(vc.Forecasts.of(y, p, clusters=g)))
    found: Reading = wide.reading(reading, 20.0, quantities()[path].bounds)
    return found


@pytest.mark.parametrize(
    ("path", "low", "high"),
    [
        ("scores.log_loss", 0.0, math.inf),
        ("scores.brier", 0.0, 2.0),
        ("scores.half_brier", 0.0, 1.0),
        ("scores.auc", 0.0, 1.0),
        ("scores.perplexity", 1.0, math.inf),
        ("skill.log", -math.inf, 1.0),
        ("skill.brier", -math.inf, 1.0),
        ("reported.robustness", 0.0, 1.0),
        ("expected", 0.0, 1.0),
        ("measured", 0.0, 1.0),
        ("divergence", 0.0, math.inf),
        ("calibration_slope", -math.inf, math.inf),
    ],
)
@pytest.mark.parametrize("value", [0.1, 0.9, 1.4])
def test_widened_intervals_keep_the_bounds_of_the_measure(path: str, low: float, high: float, value: float) -> None:
    if low <= value <= high:
        found = widened(path, Reading(value, value - 0.1, value + 0.1, "delta method"))
        assert found.low == pytest.approx(max(value - 2.0, low))
        assert found.high == pytest.approx(min(value + 2.0, high))


def test_every_interval_of_dependent_cases_is_within_its_bounds_and_holds_its_value() -> None:
    for seed in range(12):
        y, p, g = drawn(seed, slope=(0.4, 1.0, 3.0)[seed % 3])
        by: dict[str, Any] = {"clusters": g} if seed % 2 else {"time": np.arange(len(y))}
        a = vc.assess(y, p, **by)
        known = quantities()
        for section in ("scores", "skill", "reported", "expected", "measured", "divergence"):
            for name, reading in getattr(a, section).readings().items():
                if reading.low is None or reading.high is None:
                    continue
                bounds = (known.get(f"{section}.{name}") or known[section]).bounds
                assert bounds[0] <= reading.low <= reading <= reading.high <= bounds[1], (seed, section, name)
        for reading in (a.expected_at(0.5), a.measured_at(0.5)):
            assert reading.low is None or 0.0 <= reading.low <= reading <= reading.high <= 1.0


def test_a_registered_measure_of_clusters_keeps_its_own_bounds() -> None:
    from veracity import measures

    def logs(f: Any) -> Floats:
        return np.asarray(-np.log2(f.realised)[:, None])

    bits = measures.register(measures.Measure(name="bits", label="Bits", bounds=(0.0, np.inf), rows=logs))
    try:
        y, p, g = drawn(3, slope=1.5)
        found = vc.assess(y, p, clusters=g).scores.reading("bits")
        assert found < 1.0 < found.high
    finally:
        measures.MEASURES.remove(bits)
