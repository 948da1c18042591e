"""Means that forecasts expect of themselves, and how far realised scores are from them."""

from __future__ import annotations

import numpy as np
import pytest

import veracity as vc
from bench._truth import draw, stated, truth
from veracity.estimate.means.expected import Expected, expected_at, expected_score
from veracity.formulas.rules import rule
from veracity.inputs import Forecasts
from veracity.kernels.result import R

SOME_R = (-0.9, -2 / 3, -0.5, -1 / 9, 0.0, 0.3, 1.0, 2.0)


def source(kind: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q = truth(kind, n, rng)
    return q, draw(q, rng)


def exact(p: np.ndarray, r: float, weight: np.ndarray) -> float:
    """The expected mean from the rows."""
    if r == 0.0:
        return float(np.exp(weight @ (p * np.log(p)).sum(axis=1) / weight.sum()))
    return float((weight @ (p ** (1.0 + r)).sum(axis=1) / weight.sum()) ** (1.0 / r))


@pytest.mark.parametrize("kind", ["bin", "rare", "k5", "sat10", "k100", "k1000"])
@pytest.mark.parametrize("weighted", [False, True])
def test_expected_means_from_cells_are_those_from_rows(kind: str, weighted: bool) -> None:
    p, y = source(kind, 300, 1)
    weight = np.random.default_rng(2).random(300) + 0.5 if weighted else np.ones(300)
    tally = vc.Tally.of(Forecasts(p, y, tuple(range(p.shape[1])), weights=weight if weighted else None))
    for r in SOME_R:
        # A cell counts with its mean: relative errors of 2^-20/12, below 2^-14 of 2^-12/12, raised to 1/r.
        allowed = 1e-6 if r > -0.5 else 3e-5
        assert float(expected_at(tally, r)) == pytest.approx(exact(p, r, weight), rel=allowed)


def test_expected_decisiveness_is_the_mean_of_squares_and_geometric_accuracy_that_of_entropy() -> None:
    p, y = source("k5", 200, 3)
    tally = vc.Tally.of(y, p)
    assert float(expected_at(tally, 1.0)) == pytest.approx((p**2).sum(axis=1).mean(), rel=1e-6)
    entropy = -(p * np.log(p)).sum(axis=1).mean()
    assert float(expected_at(tally, 0.0)) == pytest.approx(np.exp(-entropy), rel=1e-6)


def test_expected_means_of_certain_forecasts_are_one() -> None:
    p = np.eye(3)[np.tile([0, 1, 2], 20)]
    tally = vc.Tally.of(np.tile([0, 1, 2], 20), p)
    for r in SOME_R:
        assert float(expected_at(tally, r)) == pytest.approx(1.0, abs=1e-12)


def test_merged_parts_expect_what_the_whole_expects() -> None:
    p, y = source("k10", 700, 4)
    whole = vc.Tally.of(y, p)
    parts = [vc.Tally.of(y[i::7], p[i::7], labels=list(range(10))) for i in range(7)]
    np.testing.assert_allclose(
        Expected(sum(parts[1:], parts[0])).values, Expected(whole).values, rtol=1e-12, equal_nan=True
    )


@pytest.mark.parametrize("r", [-0.4, 0.0, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("kind", ["bin", "k5"])
def test_excess_is_the_difference_of_realised_and_expected_scores(kind: str, r: float) -> None:
    p, y = source(kind, 400, 5)
    p = stated(p, "T", 1.4)
    scoring = rule({0.0: "log", 1.0: "brier"}.get(r, r))
    expected = (p * np.stack([scoring.score(p, np.full(400, j)) for j in range(p.shape[1])], axis=1)).sum(axis=1)
    difference = float((scoring.score(p, y) - expected).mean())
    found = expected_score(vc.Tally.of(y, p), r)
    assert float(found.excess) == pytest.approx(difference, rel=1e-5, abs=1e-6)  # from cells
    assert found.expected == pytest.approx(float(expected.mean()), rel=1e-5)
    assert found.expected == pytest.approx(float(np.mean(scoring.entropy(p))), rel=1e-5)


def test_excess_of_the_brier_score_has_spiegelhalters_z() -> None:
    p, y = source("bin", 500, 6)
    p = stated(p, "T", 1.4)
    q = p[:, 1]
    z = ((y - q) * (1 - 2 * q)).sum() / np.sqrt(((1 - 2 * q) ** 2 * q * (1 - q)).sum())
    assert expected_score(vc.Tally.of(y, p), 1.0).z == pytest.approx(z, rel=1e-4)  # from cells


def test_band_holds_the_reported_profile_of_calibrated_forecasts() -> None:
    claimed = (R >= -0.5) & (R <= 1.0)
    inside = []
    for seed in range(60):
        p, y = source("k5", 300, 100 + seed)
        tally = vc.Tally.of(y, p)
        low, high = Expected(tally).band
        assert np.isnan(low[R < -0.5]).all()
        realised = p[np.arange(300), y]
        reported = np.array([float(vc.generalized_mean(realised, r)) for r in R[claimed]])
        inside.append((low[claimed] <= reported) & (reported <= high[claimed]))
    # 95 % nominally; 60 draws have a standard error of 3 %.
    assert np.mean(inside) >= 0.90
    assert np.min(np.mean(inside, axis=0)) >= 0.85


def test_expected_means_need_r_above_minus_one() -> None:
    p, y = source("bin", 50, 7)
    with pytest.raises(ValueError, match="r > -1"):
        expected_at(vc.Tally.of(y, p), -1.0)


@pytest.mark.parametrize(("kind", "size"), [("bin", 1.0), ("bin", 1.5), ("k5", 1.5)])
def test_interval_of_the_excess_holds_the_true_excess(kind: str, size: float) -> None:
    q = truth(kind, 200_000, np.random.default_rng(7))
    p = stated(q, "T", size)
    true = {
        r: float(np.sum(q * _scores(p, r), axis=1).mean() - np.sum(p * _scores(p, r), axis=1).mean())
        for r in (0.0, 1.0)
    }
    held = []
    for seed in range(150):
        rng = np.random.default_rng([9, seed])
        q = truth(kind, 300, rng)
        a = vc.assess(draw(q, rng), stated(q, "T", size), labels=list(range(q.shape[1])))
        readings = [
            (a.expected.scores[rule].excess, value) for rule, value in zip(("log", "brier"), true.values(), strict=True)
        ]
        held.append([reading.low <= value <= reading.high for reading, value in readings])
    assert (np.mean(held, axis=0) >= 0.90).all()  # 95 % nominally; 150 draws have a standard error of 1.8 %


def _scores(p: np.ndarray, r: float) -> np.ndarray:
    scoring = rule({0.0: "log", 1.0: "brier"}[r])
    return np.stack([scoring.score(p, np.full(len(p), j)) for j in range(p.shape[1])], axis=1)


def test_document_holds_expected_scores_and_the_excess_along_the_profile() -> None:
    p, y = source("k5", 400, 9)
    a = vc.assess(y, stated(p, "T", 1.6))
    found = a.document()
    assert found["expected"]["scores"]["log"]["excess"]["value"] == pytest.approx(
        float(a.scores.log_loss) - found["expected"]["scores"]["log"]["expected"], rel=1e-6
    )
    profile = a.risk_profile
    at = profile.r.index(0.0)
    assert profile.score_excess[at] == pytest.approx(float(a.expected.scores["log"].excess), rel=1e-9)
    assert profile.score_excess[at] > profile.score_excess_by_chance[at] > 0.0  # log-odds times 1.6
    assert np.isnan(profile.score_excess[0])
    assert a.expected.scores["log"].p < 1e-6
    assert vc.Assessment.from_json(a.to_json()) == a


def test_excess_is_infinite_where_an_outcome_was_ruled_out() -> None:
    a = vc.assess([0, 1, 0, 1], [0.2, 0.0, 0.4, 0.9])
    found = a.expected.scores["log"].excess
    assert np.isinf(found)
    assert found.low is None
    assert found.reason
    assert np.isfinite(a.expected.scores["brier"].excess)
