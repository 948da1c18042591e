"""Calibrators against scikit-learn, CORP against model-diagnostics, and the gains of remedies."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import optimize, stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from veracity import calibrators
from veracity.estimate.calibration.remedies import best_map, remedies
from veracity.estimate.loss.losses import losses
from veracity.estimate.loss.recalibration import Recalibration, recalibration
from veracity.formulas.chain import corp
from veracity.formulas.rules import rule as rule_of
from veracity.inputs import Forecasts
from veracity.records.sections import Remedy


class Stated(ClassifierMixin, BaseEstimator):
    """A classifier for scikit-learn whose features are its probabilities."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return X

    def predict(self, X):
        return X.argmax(axis=1)


class Logits(Stated):
    def decision_function(self, X):
        odds = np.log(X) - np.log1p(-X)
        return odds[:, 1] if X.shape[1] == 2 else odds


def sample(k: int, n: int = 1500, sharpen: float = 1.8, seed: int = 0) -> Forecasts:
    rng = np.random.default_rng([seed, k])
    truth = rng.dirichlet(np.full(k, 1.2), n).clip(1e-4)
    truth /= truth.sum(axis=1, keepdims=True)
    scores = truth**sharpen
    scores /= scores.sum(axis=1, keepdims=True)
    return Forecasts(scores, (rng.random(n)[:, None] > truth.cumsum(axis=1)[:, :-1]).sum(axis=1), tuple(range(k)))


def by_sklearn(f: Forecasts, method: str, new: np.ndarray) -> np.ndarray:
    model = (Logits if method == "sigmoid" else Stated)().fit(f.probabilities, f.outcomes)
    calibrated = CalibratedClassifierCV(FrozenEstimator(model), method=method, ensemble=False, cv=2)
    return calibrated.fit(f.probabilities, f.outcomes).predict_proba(new)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize(("name", "method"), [("platt", "sigmoid"), ("temperature", "temperature"), ("isotonic",) * 2])
def test_as_scikit_learn_on_fitted_and_on_new_rows(name, method, k):
    f, new = sample(k), sample(k, 300, seed=1).probabilities
    fitted = calibrators.fit(name, f)
    for rows in (f.probabilities, new):
        np.testing.assert_allclose(fitted(rows), by_sklearn(f, method, rows), atol=1e-6)


def test_isotonic_as_scikit_learn_with_weights_and_ties():
    from sklearn.isotonic import IsotonicRegression

    rng = np.random.default_rng(0)
    p = rng.random(500).round(2)
    y, w = (rng.random(500) < p).astype(int), rng.random(500)
    theirs = IsotonicRegression(out_of_bounds="clip", y_min=0, y_max=1).fit(p, y, sample_weight=w)
    x = np.linspace(0, 1, 333)
    ours = calibrators.fit("isotonic", Forecasts(p, y, (0, 1), weights=w))(x)[:, 1]
    np.testing.assert_allclose(ours, theirs.predict(x), atol=1e-12)


def test_beta_and_vector_are_optima_of_their_families():
    f = sample(2)
    y = f.outcomes
    for name in ("beta", "vector", "temperature"):
        fitted = calibrators.fit(name, f)
        best = rule_of("log").score(fitted(f.probabilities), y).mean()
        numbers = fitted.parameters
        for key, value in numbers.items():
            for step in (-0.01, 0.01):
                moved = {**numbers, key: value + step * np.eye(np.size(value))[0].reshape(np.shape(value))}
                other = type(fitted)(f.classes, **moved)
                assert rule_of("log").score(other(f.probabilities), y).mean() > best


def test_beta_keeps_slopes_that_are_not_negative():
    rng = np.random.default_rng(1)
    p = rng.random(400)
    for y in ((rng.random(400) < 0.8 - 0.6 * p), (rng.random(400) < (p - 0.5) ** 2 * 3)):
        coefficients = calibrators.fit("beta", Forecasts(p, y.astype(int), (0, 1))).coefficients
        assert (coefficients[:, :2] >= 0).all()


def test_temperature_knows_sharpness_zeros_and_limits():
    assert calibrators.fit("temperature", sample(3, 20_000)).temperature == pytest.approx(1.8, abs=0.1)
    f = Forecasts(np.array([[0.6, 0.4, 0], [0.5, 0.4, 0.1], [0.2, 0.8, 0]]), np.array([2, 0, 0]), (0, 1, 2))
    fitted = calibrators.fit("temperature", f)  # a row that gave 0 to what happened says nothing about the temperature
    without = Forecasts(f.probabilities[1:], f.outcomes[1:], f.classes)
    assert fitted.temperature == pytest.approx(calibrators.fit("temperature", without).temperature, rel=1e-9)
    assert (fitted(f.probabilities)[:, 2] == 0).tolist() == [True, False, True]
    sure = Forecasts(np.array([0.9, 0.2]), np.array([1, 0]), (0, 1))
    assert calibrators.fit("temperature", sure).temperature == pytest.approx(np.exp(-10))
    wrong = Forecasts(np.array([0.9, 0.2]), np.array([0, 1]), (0, 1))
    assert calibrators.fit("temperature", wrong).temperature == pytest.approx(np.exp(10))


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, 40)])
def test_a_pseudo_case_keeps_the_temperature_of_forecasts_that_are_always_right(weights: Any) -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(3), 40)
    right = Forecasts.of(p.argmax(axis=1), p, labels=[0, 1, 2], sample_weight=weights)
    fitted = calibrators.fit("temperature", right, pseudo=1.0).temperature
    share = np.full(40, 1.0 / 40) if weights is None else weights / weights.sum()
    cases = 1.0 / (share @ share)

    def loss(beta: float) -> float:
        logs = np.log(p**beta / (p**beta).sum(axis=1, keepdims=True))
        return -float(cases * share @ logs.max(axis=1) + share @ logs.mean(axis=1))

    assert fitted == pytest.approx(1.0 / optimize.minimize_scalar(loss, (1.0, 2.0)).x, rel=1e-6)


@pytest.mark.parametrize("name", ["platt", "beta", "vector", "matrix", "confusion", "temperature", "isotonic", "bins"])
def test_zeros_and_ones_do_no_harm(name):
    rng = np.random.default_rng(2)
    p = rng.choice([0.0, 0.3, 0.6, 1.0], 200)
    f = Forecasts(p, (rng.random(200) < 0.2 + 0.6 * p).astype(int), (0, 1))
    rows = calibrators.fit(name, f)(p)
    assert np.isfinite(rows).all()
    assert rows.min() >= 0


@pytest.mark.parametrize("rule", ["log", "brier"])
def test_corp_as_model_diagnostics(rule):
    from model_diagnostics.scoring import LogLoss, SquaredError, decompose

    rng = np.random.default_rng(3)
    p = rng.beta(1, 2, 600).round(3).clip(0.001, 0.999)
    f = Forecasts(p, (rng.random(600) < p**0.6).astype(int), (0, 1))
    theirs = decompose(f.outcomes, p, scoring_function=LogLoss() if rule == "log" else SquaredError())
    ours = corp(rule, f.matrix, calibrators.fit("isotonic", f)(p), f.outcomes)
    unit = 1 if rule == "log" else 2  # theirs has one component, ours the sum over both classes
    for name, value in ours.items():
        assert value == pytest.approx(unit * theirs[name][0], abs=1e-6), name


def test_corp_of_published_forecasts(shared):
    numbers = json.loads((shared / "reference.json").read_text())
    frame = pl.read_csv(shared / "niamey_precip_2016" / "niamey.csv")
    for model in ("Logistic", "EMOS", "ENS", "EPC"):
        p, y = frame[model].to_numpy().astype(float), frame["obs"].to_numpy().astype(int)
        f = Forecasts(p, y, (0, 1))
        terms = corp("brier", f.matrix, calibrators.fit("isotonic", f)(p), y)
        found = numbers[f"niamey_precip_2016/{model}"]["corp_brier"]
        for name, short in (("miscalibration", "MCB"), ("discrimination", "DSC"), ("uncertainty", "UNC")):
            assert terms[name] / 2 == pytest.approx(found[short], abs=1e-12), (model, name)


@pytest.fixture(scope="module")
def gains() -> tuple[Forecasts, Recalibration, tuple[Remedy, ...]]:
    f = sample(3, 1200)
    found = recalibration(f)
    return f, found, remedies(found)


def test_remedies_are_cross_fitted_with_intervals(gains):
    f, found, made = gains
    named = {entry.map: entry for entry in made}
    assert set(named) == set(found.members) - {"identity", "prior"}
    assert set(named) >= {"temperature", "vector", "matrix", "smoothed_isotonic", "confusion", "multiplicative"}
    for entry in made:
        labelled = entry.map != "multiplicative"
        assert entry.needs.startswith("labelled" if labelled else "the true class frequencies")
        assert entry.command.startswith(
            f"veracity calibrate fit FILE --map {entry.map}" if labelled else "veracity adjust"
        )
        assert entry.brier.low < entry.brier.gain < entry.brier.high
    assert named["multiplicative"].parameters.startswith("prior correction")
    assert named["temperature"].parameters.startswith("temperature 1.")
    assert named["temperature"].log.low > 0  # the scores were sharpened: temperature must help
    loss = rule_of("log").score(f.probabilities, f.outcomes).mean()
    assert named["temperature"].log.share == pytest.approx(named["temperature"].log.gain / loss, abs=1e-12)
    in_sample = loss - rule_of("log").score(calibrators.fit("vector", f)(f.probabilities), f.outcomes).mean()
    assert named["vector"].log.gain < in_sample
    order = [entry.log.gain for entry in made]
    assert order == sorted(order, reverse=True)
    assert remedies(recalibration(f)) == made  # nothing is drawn


def test_the_best_map_can_be_kept_and_applied_again(gains):
    f, _, made = gains
    best = best_map(f)
    assert best.name == made[0].map
    np.testing.assert_array_equal(calibrators.from_json(best.to_json())(f.probabilities), best(f.probabilities))
    rng = np.random.default_rng(4)
    right = np.full((400, 2), 0.5)
    assert best_map(Forecasts(right, rng.permutation(np.repeat([0, 1], 200)), (0, 1))) is None


def test_the_interval_is_that_of_paired_differences():
    f = sample(2, 800)
    found = recalibration(f)
    (entry,) = [e for e in remedies(found) if e.map == "platt"]
    out = np.empty((800, 2))
    fold = found.folds.fold[np.argsort(found.folds.row)]
    for number in range(5):
        rest = fold != number
        out[~rest] = calibrators.fit("platt", Forecasts(f.probabilities[rest], f.outcomes[rest], f.classes))(
            f.probabilities[~rest]
        )
    score = rule_of("log").score
    d = score(f.probabilities, f.outcomes) - score(out, f.outcomes)
    assert entry.log.gain == pytest.approx(d.mean(), abs=1e-12)
    assert entry.log.high - d.mean() == pytest.approx(1.959964 * d.std() / np.sqrt(800), rel=1e-6)


def test_rows_of_a_case_stay_together_and_count_as_one():
    f = sample(2, 300)
    twice = Forecasts(
        np.repeat(f.probabilities, 2, axis=0), np.repeat(f.outcomes, 2), f.classes, case=np.repeat(np.arange(300), 2)
    )
    found = recalibration(twice)
    fold = found.folds.fold[np.argsort(found.folds.row)]
    assert (fold[::2] == fold[1::2]).all()
    gains = found.gains("log", "multiplicative")
    few = stats.t.ppf(0.975, 299) / stats.norm.ppf(0.975)  # normal quantiles of this error are those of t
    assert found.mean(gains)[1] == pytest.approx(few * gains[::2].std() / np.sqrt(299), rel=1e-9)


@pytest.mark.parametrize(
    ("scores", "outcomes"),
    [
        ([[0.2, 0.5, 0.3]], [1]),
        ([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]], [1, 2, 0]),
        ([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]] * 5, [1] * 10),
        ([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]] * 50, [1, 0] * 50),
        ([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] * 50, [0] * 100),
        ([[1 / 3, 1 / 3, 1 / 3]] * 120, [0, 1, 2] * 40),
        ([[0.0, 1.0]] * 50 + [[1.0, 0.0]] * 50, [1, 0] * 50),
        ([[0.4, 0.6]] * 200, [1] * 200),
        ([[0.4, 0.6]] * 200, [0, 1] * 100),
    ],
)
def test_remedies_of_hardly_anything(scores, outcomes):
    f = Forecasts(np.array(scores), np.array(outcomes), tuple(range(len(scores[0]))))
    found = recalibration(f)
    made = remedies(found)
    assert (found is None) == (len(f) == 1)
    assert len(made) <= 8
    assert all(entry.folds <= min(5, len(f)) for entry in made)
    for rule in ("log", "brier", -0.5):
        terms = losses(f, rule, found)
        if found is not None:
            assert terms.CL >= 0.0
            assert terms.RL >= 0.0
            assert np.isfinite(terms.RL)


def test_remedies_say_where_a_row_decides():
    f = sample(2, 300)
    p = f.probabilities[:, 1].copy()
    row = int(np.flatnonzero(f.outcomes == 1)[0])
    p[row] = 0.0
    named = {e.map: e for e in remedies(recalibration(Forecasts(p, f.outcomes, (0, 1))))}
    assert named["platt"].log.gain == np.inf  # it gives that row some probability
    assert named["platt"].log.low is None
    assert named["multiplicative"].log.gain is None  # zero stays zero: the loss is infinite before and after
    assert np.isfinite(named["multiplicative"].brier.gain)


def test_maps_with_too_many_parameters_are_skipped_with_a_finding():
    found = recalibration(sample(8, 400))
    assert "matrix" not in found.members
    (note,) = found.findings
    assert note.code == "too_few_for_maps"
    assert "matrix scaling (720 cases)" in note.message
    assert recalibration(sample(3, 1200)).findings == ()


def test_smoothing_rules_nothing_out_and_changes_little():
    f = sample(3, 600)
    for plain, smoothed in (("isotonic", "smoothed_isotonic"), ("bins", "smoothed_bins")):
        before, after = calibrators.fit(plain, f)(f.probabilities), calibrators.fit(smoothed, f)(f.probabilities)
        assert before.min() == 0.0 or plain == "bins"
        assert after.min() > 0.0
        assert np.abs(after - before).max() < 0.25
    counted = calibrators.fit("smoothed_grouped", Forecasts(np.array([[0.3, 0.7]] * 4), np.array([1, 1, 1, 0]), (0, 1)))
    np.testing.assert_allclose(counted(np.array([[0.3, 0.7], [0.2, 0.8]])), [[0.3, 0.7], [0.2, 0.8]], atol=1e-15)
    np.testing.assert_allclose(counted.means, [[1.5 / 5, 3.5 / 5]], atol=1e-15)


def test_matrix_and_confusion_are_optima_of_their_families():
    f = sample(3, 900)
    y = f.outcomes
    scale = np.sqrt((np.log(f.probabilities) ** 2).mean())
    from veracity.calibrators.confusion import KEEP
    from veracity.calibrators.matrix import RIDGE

    cold = 1.0 / calibrators.fit("temperature", f).temperature

    def matrix_loss(fitted):
        pull = (scale * (fitted.slopes - cold * np.eye(3))) ** 2
        rest = fitted.intercepts - fitted.intercepts.mean()
        return rule_of("log").score(fitted(f.probabilities), y).sum() + RIDGE / 2 * (pull.sum() + (rest**2).sum())

    def confusion_loss(fitted):
        prior = KEEP * np.eye(3) + 1 / 3
        return rule_of("log").score(fitted(f.probabilities), y).sum() - (prior * np.log(fitted.matrix)).sum()

    fitted = calibrators.fit("matrix", f)
    rng = np.random.default_rng(0)
    for _ in range(20):
        moved = type(fitted)(
            f.classes,
            slopes=fitted.slopes + 0.01 * rng.standard_normal((3, 3)),
            intercepts=fitted.intercepts + 0.01 * rng.standard_normal(3),
        )
        assert matrix_loss(moved) > matrix_loss(fitted)
    fitted = calibrators.fit("confusion", f)
    for _ in range(20):
        other = fitted.matrix * np.exp(0.05 * rng.standard_normal((3, 3)))
        moved = type(fitted)(f.classes, matrix=other / other.sum(axis=1, keepdims=True))
        assert confusion_loss(moved) > confusion_loss(fitted)


def test_curves_between_knots_of_next_to_nothing() -> None:
    p = np.array([0.0, 5e-324, 1e-320, 1e-300, 0.2, 0.9, 1e-322, 0.0, 0.5, 0.7])
    y = np.array([0, 1, 0, 1, 0, 1, 0, 0, 1, 1])
    fitted = calibrators.fit("isotonic", Forecasts.of(y, p))
    mapped = fitted(np.array([3e-324, 2e-321, 1e-310, 0.3]))
    assert np.isfinite(mapped).all()
    assert (np.diff(mapped[:, 1]) >= 0.0).all()
