"""Metrics of one number are those of `assess`, and the usual refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import veracity as vc
from veracity import metrics


def data(k: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(k)
    p = rng.dirichlet(np.ones(k), 500)
    y = (p.cumsum(axis=1) < rng.random((500, 1))).sum(axis=1)
    return y, (p[:, 1] if k == 2 else p), rng.integers(1, 4, 500).astype(float)


NUMBERS = {
    "log_loss": lambda a: a.scores.log_loss,
    "brier_score": lambda a: a.scores.brier,
    "geometric_accuracy": lambda a: a.reported.geometric_accuracy,
    "decisiveness": lambda a: a.reported.decisiveness,
    "robustness": lambda a: a.reported.robustness,
    "calibration_slope": lambda a: a.calibration_slope,
    "calibration_loss": lambda a: a.losses("log").CL,
    "calibration_error": lambda a: (
        (a.calibration_error.classwise if len(a.classes) == 2 else a.calibration_error.top_label).value
    ),
}


@pytest.mark.parametrize("k", [2, 4])
def test_every_metric_is_the_number_of_the_assessment(k: int) -> None:
    y, p, weight = data(k)
    names = [f"c{j}" for j in range(k)]
    words = np.array(names)[y]
    a, weighted = vc.assess(words, p, labels=names), vc.assess(words, p, labels=names, sample_weight=weight)
    for name, number in NUMBERS.items():
        own = getattr(metrics, name)
        assert own(words, p, labels=names) == pytest.approx(float(number(a)), rel=1e-12, abs=1e-12), name
        found = own(words, p, labels=names, sample_weight=weight)
        assert found == pytest.approx(float(number(weighted)), rel=1e-12, abs=1e-12), name
    assert set(NUMBERS) | {"power_score"} == set(metrics.__all__)
    for r in (0.0, 1.0, -0.5):
        expected = float(a.scores.log_loss if r == 0.0 else a.scores.brier) if r >= 0.0 else None
        found = metrics.power_score(r)(words, p, labels=names)
        assert expected is None or found == pytest.approx(expected, rel=1e-12)
        assert found == pytest.approx(float(a.losses(r).L), rel=1e-9)


def test_a_metric_explains_itself() -> None:
    assert metrics.log_loss.__doc__.startswith("Return the log loss: −(1/n) Σ ln pᵢ.")
    assert metrics.log_loss.__name__ == "log_loss"


@pytest.mark.parametrize("name", metrics.__all__)
def test_a_metric_refuses_what_an_assessment_refuses(name: str) -> None:
    own = metrics.power_score(0.5) if name == "power_score" else getattr(metrics, name)
    with pytest.raises(ValueError, match=r"y_proba\[1\] = 3: above 1"):
        own([0, 1], [0.2, 3.0])
    with pytest.raises(ValueError, match="missing"):
        own([0, 1], [0.2, np.nan])
    with pytest.raises(ValueError, match="2 outcomes"):
        own([0, 1], [0.2, 0.3, 0.4])


def test_what_a_refusal_of_logits_or_missing_values_advises_is_taken() -> None:
    y, p, _ = data(2)
    logits, holed = np.log(p / (1.0 - p)), np.where(np.arange(500) == 3, np.nan, p)
    for bad, how, expected in (
        (logits, {"scale": "logit"}, vc.assess(y, p)),
        (holed, {"missing": "drop"}, vc.assess(np.delete(y, 3), np.delete(p, 3))),
    ):
        with pytest.raises(ValueError, match=next(iter(how.items()))[0]):
            metrics.log_loss(y, bad)
        for name, number in NUMBERS.items():
            found = getattr(metrics, name)(vc.Forecasts.of(y, bad, **how))
            assert found == pytest.approx(number(expected), rel=1e-9), name
    with pytest.raises(TypeError, match=r"log_loss\(\) got more than Forecasts"):
        metrics.log_loss(vc.Forecasts.of(y, p), labels=[0, 1])


def test_a_calibrator_says_what_to_do_about_missing_values() -> None:
    y, p, _ = data(2)
    with pytest.raises(
        ValueError, match=r"1 of 500 rows have missing values \(first: row 3\)\.\n  leave these rows out$"
    ):
        vc.calibrate(y, p, method="platt").predict(np.where(np.arange(500) == 3, np.nan, p))
