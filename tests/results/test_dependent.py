"""Intervals of clustered cases and of cases in time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy import stats

import veracity as vc

Floats = NDArray[np.float64]


def clustered(seed: int = 1, number: int = 60, size: int = 20) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
    """Outcomes and forecasts that share much within clusters."""
    rng = np.random.default_rng(seed)
    g = np.repeat(np.arange(number), size)
    z = 1.2 * rng.standard_normal(number)[g] + 0.5 * rng.standard_normal(len(g))
    y = (rng.random(len(g)) < 1 / (1 + np.exp(-z))).astype(int)
    return y, 1 / (1 + np.exp(-1.3 * z - 0.8 * rng.standard_normal(number)[g])), g


def rows(y: NDArray[np.int64], p: Floats) -> dict[str, Floats]:
    given = np.where(y == 1, p, 1 - p)
    return {"log_loss": -np.log(given), "brier": 2 * (1 - given) ** 2, "decisiveness": given}


def found(a: Any) -> dict[str, Any]:
    return {"log_loss": a.scores.log_loss, "brier": a.scores.brier, "decisiveness": a.reported.decisiveness}


def test_intervals_of_clusters_are_those_of_statsmodels() -> None:
    y, p, g = clustered()
    a = vc.assess(y, p, clusters=g)
    for name, x in rows(y, p).items():
        fit = sm.OLS(x, np.ones(len(x))).fit(cov_type="cluster", cov_kwds={"groups": g, "use_correction": False})
        half = fit.bse[0] * math.sqrt(60 / 59) * stats.t.ppf(0.975, 59)
        reading = found(a)[name]
        assert (reading.low, reading.high) == pytest.approx((x.mean() - half, x.mean() + half), rel=1e-9)
        assert reading.method.endswith("60 clusters")


def test_intervals_with_lags_are_those_of_statsmodels() -> None:
    y, p, _ = clustered()
    order = np.random.default_rng(2).permutation(len(y))
    a = vc.assess(y, p, time=np.arange(len(y)))
    b = vc.assess(vc.Forecasts.of(y[order], p[order], time=order))
    for name in rows(y, p):
        one, other = found(a)[name], found(b)[name]
        assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-9)  # whatever the order of rows
    lagged = vc.Tally.of(vc.Forecasts.of(y, p, time=np.arange(len(y))), lags=6)
    for name, x in rows(y, p).items():
        fit = sm.OLS(x, np.ones(len(x))).fit(cov_type="HAC", cov_kwds={"maxlags": 6, "use_correction": False})
        half = fit.bse[0] * stats.norm.ppf(0.975)
        reading = found(vc.assess(lagged))[name]
        assert (reading.low, reading.high) == pytest.approx((x.mean() - half, x.mean() + half), rel=1e-9)


def test_every_interval_of_scores_and_means_is_wider_for_clusters() -> None:
    y, p, g = clustered()
    plain, wide = vc.assess(y, p), vc.assess(y, p, clusters=g)
    for section in ("scores", "skill", "reported"):
        for name, reading in getattr(wide, section).readings().items():
            before = getattr(plain, section).readings()[name]
            assert float(reading) == pytest.approx(float(before), rel=1e-12)
            if before.low is not None:
                assert reading.low < before.low, (section, name)
                assert reading.high > before.high, (section, name)
    for name, reading in wide.measured.readings().items():  # clusters have other folds, and so another C
        before = plain.measured.reading(name)
        assert float(reading) == pytest.approx(float(before), rel=0.02)
        assert reading.high - reading.low > 1.2 * (before.high - before.low), name
    assert wide.verdict_detail.slope.high - wide.verdict_detail.slope.low > (
        plain.verdict_detail.slope.high - plain.verdict_detail.slope.low
    )
    assert wide.risk_profile.reported_low is not None
    assert plain.risk_profile.reported_low is not None
    middle = len(wide.risk_profile.r) // 2
    assert wide.risk_profile.reported_low[middle] < plain.risk_profile.reported_low[middle]


def test_clusters_hide_larger_errors_and_their_calibration_error_has_no_chance_of_independent_cases() -> None:
    y, p, g = clustered()
    plain, of_clusters = vc.assess(y, p), vc.assess(y, p, clusters=g)
    assert plain.calibration_error.classwise.by_chance > 0.0
    for name in ("classwise", "pooled", "top_label"):
        error = getattr(of_clusters.calibration_error, name)
        assert error.by_chance is error.low is error.high is None
    # 20 cases of a cluster share most of their residual, so they show what a few would
    assert of_clusters.verdict_detail.detectable > 3.0 * plain.verdict_detail.detectable


def test_too_few_clusters_leave_no_interval_and_say_why() -> None:
    y, p, g = clustered()
    a = vc.assess(y, p, clusters=g // 10)
    assert a.scores.log_loss.low is None
    assert a.scores.log_loss.reason == "6 clusters: too few for an interval (from 10)"
    assert a.risk_profile.reported_low is None


NAMES = {
    "patient": "cluster",
    "patientId": "cluster",
    "Subject ID": "cluster",
    "state": "cluster",
    "forecast_date": "time",
    "fold": None,
    "class_id": None,
    "sex": None,
    "model_run_id": None,
}


@pytest.mark.parametrize("name", NAMES)
def test_repeated_units_and_dates_are_a_finding_with_the_option(name: str) -> None:
    y, p, g = clustered()
    option = NAMES[name]
    values: Any = [f"2024-01-{1 + i % 28:02d}" for i in g] if option == "time" else [f"u{i}" for i in g]
    frame = pl.DataFrame({"y": y, "p": p, name: values})
    found = {f.code: f.message for f in vc.assess(frame, label="y").findings}
    assert ("dependent_rows" in found) == (option is not None)
    if option is None:
        return
    assert found["dependent_rows"] == (
        f'rows look dependent (`{name}`: {len(set(values))} values, 1,200 rows); add {option}="{name}", '
        "the intervals may be too narrow without"
    )
    given = vc.assess(frame, label="y", **{option: name})
    assert "dependent_rows" not in {f.code for f in given.findings}
    both = vc.compare(frame.with_columns(q=pl.col("p").sqrt()), label="y", positive_proba="p,q")
    assert "dependent_rows" in {f.code for f in both.findings}


def test_few_or_unique_units_are_no_finding() -> None:
    y, p, g = clustered()
    for values in (np.arange(len(y)), g % 9, np.where(np.arange(len(y)) < 40, 0, np.arange(len(y)))):
        frame = pl.DataFrame({"y": y, "p": p, "patient": values})
        assert "dependent_rows" not in {f.code for f in vc.assess(frame, label="y").findings}


def test_sums_by_key_add_and_travel_as_bytes() -> None:
    y, p, g = clustered()
    whole = vc.Tally.of(vc.Forecasts.of(y, p, clusters=g))
    parts = [vc.Tally.of(vc.Forecasts.of(y[i::3], p[i::3], clusters=g[i::3])) for i in range(3)]
    total = parts[2] + vc.Tally.from_bytes(parts[0].to_bytes()) + parts[1]
    assert total.by_key is not None
    assert whole.by_key is not None
    assert np.array_equal(total.by_key.sums.keys, whole.by_key.sums.keys)
    assert total.by_key.sums.values == pytest.approx(whole.by_key.sums.values, rel=1e-12)
    one, other = vc.assess(total).scores.log_loss, vc.assess(whole).scores.log_loss
    assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-10)


def test_intervals_of_clusters_hold_the_truth() -> None:
    """300 draws of 40 clusters: 95 % ± 3.8 % is three standard errors; independent intervals hold it in 55 to 70 %."""
    truth = float(np.mean([rows(*clustered(1000 + s, 400, 20)[:2])["log_loss"].mean() for s in range(20)]))
    held = {"clusters": 0, "independent": 0}
    for seed in range(300):
        y, p, g = clustered(seed, 40)
        for name, options in (("clusters", {"clusters": g}), ("independent", {})):
            loss = vc.assess(y, p, **options).scores.log_loss
            held[name] += loss.low <= truth <= loss.high
    assert 0.91 <= held["clusters"] / 300 <= 0.99
    assert held["independent"] / 300 < 0.85


def test_more_than_131_072_times_have_intervals() -> None:
    n, rng = 140_000, np.random.default_rng(0)
    p = rng.beta(0.7, 1.3, n)
    y = rng.random(n) < p
    a, plain = vc.assess(y, p, time=np.arange(n)), vc.assess(y, p)
    assert a.scores.log_loss.method == "delta method, 140,000 times"
    ends = a.scores.log_loss, plain.scores.log_loss
    wide = [float(x.high or 0.0) - float(x.low or 0.0) for x in ends]
    assert 0.9 < wide[0] / wide[1] < 1.1  # cases are independent: their order in time changes little
