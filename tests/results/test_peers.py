"""The same number as other packages, where they compute it: scikit-learn, model-diagnostics, probcal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import veracity as vc

EXACT = 1e-12  # of the same formula, summed in another order


def forecasts(n: int = 1500, power: float = 1.3, shift: float = 0.2, seed: int = 0) -> tuple[Any, Any]:
    """Outcomes and forecasts with ties, but none at an edge of bins, which packages close differently."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 1.4, n)
    y = (rng.random(n) < 1 / (1 + np.exp(-x))).astype(int)
    return y, np.round(1 / (1 + np.exp(-power * x - shift)), 3).clip(0.001, 0.998) + 0.0004


def classes(n: int = 1200, k: int = 5) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(k, 0.7), n)
    return (rng.random((n, 1)) > p.cumsum(1)[:, :-1]).sum(1), p


@pytest.fixture(scope="module", params=[{}, {"power": 0.6, "shift": -0.5, "seed": 2}])
def two(request: pytest.FixtureRequest) -> tuple[Any, Any, Any]:
    y, p = forecasts(**request.param)
    return y, p, vc.assess(y, p)


def test_scores_of_two_classes_are_those_of_scikit_learn(two: tuple[Any, Any, Any]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    y, p, a = two
    assert a.scores.log_loss == pytest.approx(metrics.log_loss(y, p), abs=EXACT)
    assert a.scores.half_brier == pytest.approx(metrics.brier_score_loss(y, p), abs=EXACT)
    assert a.scores.accuracy == pytest.approx(metrics.accuracy_score(y, p > 0.5), abs=EXACT)
    assert a.scores.auc == pytest.approx(metrics.roc_auc_score(y, p), abs=EXACT)
    assert a.skill.log == pytest.approx(metrics.d2_log_loss_score(y, p), abs=EXACT)
    assert a.skill.brier == pytest.approx(metrics.d2_brier_score(y, p), abs=EXACT)


def test_scores_of_many_classes_are_those_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    y, p = classes()
    w = np.random.default_rng(3).gamma(2.0, size=len(y))
    a = vc.assess(y, p, sample_weight=w)
    assert a.scores.log_loss == pytest.approx(metrics.log_loss(y, p, sample_weight=w), abs=EXACT)
    brier = metrics.brier_score_loss(y, p, sample_weight=w, scale_by_half=False)
    assert a.scores.brier == pytest.approx(brier, abs=EXACT)
    assert a.scores.accuracy == pytest.approx(metrics.accuracy_score(y, p.argmax(1), sample_weight=w), abs=EXACT)


@pytest.mark.parametrize(("rule", "name", "scale"), [("brier", "SquaredError", 2.0), ("log", "LogLoss", 1.0)])
def test_corp_terms_are_those_of_model_diagnostics(
    rule: str, name: str, scale: float, two: tuple[Any, Any, Any]
) -> None:
    """Its squared error is half of our Brier score (0 to 2)."""
    scoring = pytest.importorskip("model_diagnostics.scoring")
    y, p, a = two
    theirs = scoring.decompose(y, p, scoring_function=getattr(scoring, name)()).row(0, named=True)
    ours = getattr(a.corp, rule)
    for term in ("miscalibration", "discrimination", "uncertainty"):
        # isotonic regression by two implementations
        assert getattr(ours, term) == pytest.approx(scale * theirs[term], abs=1e-10), term


def test_two_class_measures_are_those_of_probcal(two: tuple[Any, Any, Any]) -> None:
    metrics = pytest.importorskip("probcal.metrics")
    y, p, a = two
    assert a.scores.log_loss == pytest.approx(metrics.log_loss(y, p), abs=EXACT)
    assert a.scores.half_brier == pytest.approx(metrics.brier_score(y, p), abs=EXACT)
    assert a.skill.brier == pytest.approx(metrics.brier_skill_score(y, p), abs=EXACT)
    z = metrics.spiegelhalter_z(y, p)
    # expected scores come from the cells of the grid, to about 1e-7 of a score
    assert a.expected.scores["brier"].z == pytest.approx(z.z, rel=1e-5)
    assert a.expected.scores["brier"].p == pytest.approx(z.p_value, rel=1e-4)
    ours, theirs = a.calibration_error.classwise, metrics.ece(y, p, n_bins=15, strategy="width")
    assert ours.value == pytest.approx(theirs, abs=1e-9)
    # ours has a ridge of 0.5 that keeps it finite where outcomes do not bound it
    assert a.verdict_detail.slope == pytest.approx(metrics.calibration_slope(y, p), rel=5e-3)
    assert a.verdict_detail.intercept == pytest.approx(metrics.calibration_intercept(y, p), rel=5e-3)
