"""Calibrators against scikit-learn, CORP against model-diagnostics, and the gains of remedies."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from veracity import maps
from veracity.data import Forecasts
from veracity.formulas.chain import corp
from veracity.formulas.rules import rule as rule_of


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
    fitted = maps.fit(name, f)
    for rows in (f.probabilities, new):
        np.testing.assert_allclose(fitted(rows), by_sklearn(f, method, rows), atol=1e-6)


def test_isotonic_as_scikit_learn_with_weights_and_ties():
    from sklearn.isotonic import IsotonicRegression

    rng = np.random.default_rng(0)
    p = rng.random(500).round(2)
    y, w = (rng.random(500) < p).astype(int), rng.random(500)
    theirs = IsotonicRegression(out_of_bounds="clip", y_min=0, y_max=1).fit(p, y, sample_weight=w)
    x = np.linspace(0, 1, 333)
    ours = maps.fit("isotonic", Forecasts(p, y, (0, 1), weights=w))(x)[:, 1]
    np.testing.assert_allclose(ours, theirs.predict(x), atol=1e-12)


def test_beta_and_vector_are_optima_of_their_families():
    f = sample(2)
    y = f.outcomes
    for name in ("beta", "vector", "temperature"):
        fitted = maps.fit(name, f)
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
        coefficients = maps.fit("beta", Forecasts(p, y.astype(int), (0, 1))).coefficients
        assert (coefficients[:, :2] >= 0).all()


def test_temperature_knows_sharpness_zeros_and_limits():
    assert maps.fit("temperature", sample(3, 20_000)).temperature == pytest.approx(1.8, abs=0.1)
    f = Forecasts(np.array([[0.6, 0.4, 0], [0.5, 0.4, 0.1], [0.2, 0.8, 0]]), np.array([2, 0, 0]), (0, 1, 2))
    fitted = maps.fit("temperature", f)  # a row that gave 0 to what happened says nothing about the temperature
    without = Forecasts(f.probabilities[1:], f.outcomes[1:], f.classes)
    assert fitted.temperature == pytest.approx(maps.fit("temperature", without).temperature, rel=1e-9)
    assert (fitted(f.probabilities)[:, 2] == 0).tolist() == [True, False, True]
    sure = Forecasts(np.array([0.9, 0.2]), np.array([1, 0]), (0, 1))
    assert maps.fit("temperature", sure).temperature == pytest.approx(np.exp(-10))
    wrong = Forecasts(np.array([0.9, 0.2]), np.array([0, 1]), (0, 1))
    assert maps.fit("temperature", wrong).temperature == pytest.approx(np.exp(10))


@pytest.mark.parametrize("name", ["platt", "beta", "vector", "temperature", "isotonic", "bins"])
def test_zeros_and_ones_do_no_harm(name):
    rng = np.random.default_rng(2)
    p = rng.choice([0.0, 0.3, 0.6, 1.0], 200)
    f = Forecasts(p, (rng.random(200) < 0.2 + 0.6 * p).astype(int), (0, 1))
    rows = maps.fit(name, f)(p)
    assert np.isfinite(rows).all()
    assert rows.min() >= 0


@pytest.mark.parametrize("rule", ["log", "brier"])
def test_corp_as_model_diagnostics(rule):
    from model_diagnostics.scoring import LogLoss, SquaredError, decompose

    rng = np.random.default_rng(3)
    p = rng.beta(1, 2, 600).round(3).clip(0.001, 0.999)
    f = Forecasts(p, (rng.random(600) < p**0.6).astype(int), (0, 1))
    theirs = decompose(f.outcomes, p, scoring_function=LogLoss() if rule == "log" else SquaredError())
    ours = corp(rule, f.matrix, maps.fit("isotonic", f)(p), f.outcomes)
    unit = 1 if rule == "log" else 2  # theirs has one component, ours the sum over both classes
    for name, value in ours.items():
        assert value == pytest.approx(unit * theirs[name][0], abs=1e-6), name


def test_corp_of_published_forecasts(shared):
    numbers = json.loads((shared / "reference.json").read_text())
    frame = pl.read_csv(shared / "niamey_precip_2016" / "niamey.csv")
    for model in ("Logistic", "EMOS", "ENS", "EPC"):
        p, y = frame[model].to_numpy().astype(float), frame["obs"].to_numpy().astype(int)
        f = Forecasts(p, y, (0, 1))
        terms = corp("brier", f.matrix, maps.fit("isotonic", f)(p), y)
        found = numbers[f"niamey_precip_2016/{model}"]["corp_brier"]
        for name, short in (("miscalibration", "MCB"), ("discrimination", "DSC"), ("uncertainty", "UNC")):
            assert terms[name] / 2 == pytest.approx(found[short], abs=1e-12), (model, name)


@pytest.fixture(scope="module")
def gains() -> tuple[Forecasts, list[dict]]:
    f = sample(3, 1200)
    return f, maps.remedies(f)


def test_remedies_are_cross_fitted_with_intervals(gains):
    f, found = gains
    assert {entry["map"] for entry in found} == {
        *("multiplicative", "additive", "temperature", "vector", "platt", "beta", "isotonic", "bins")
    }
    named = {entry["map"]: entry for entry in found}
    for entry in found:
        assert entry["needs_labels"] == (entry["map"] not in ("multiplicative", "additive"))
        gain = entry["brier"]
        assert gain["low"] < gain["gain"] < gain["high"]
    assert named["temperature"]["parameters"].startswith("temperature 1.")
    assert named["temperature"]["log"]["low"] > 0  # the scores were sharpened: temperature must help
    assert named["additive"]["log"]["gain"] is None  # values outside [0, 1] have no log score
    loss = rule_of("log").score(f.probabilities, f.outcomes).mean()
    gain = named["temperature"]["log"]
    assert gain["share"] == pytest.approx(1 - gain["gain"] / loss, abs=1e-12)
    in_sample = loss - rule_of("log").score(maps.fit("vector", f)(f.probabilities), f.outcomes).mean()
    assert named["vector"]["log"]["gain"] < in_sample
    order = [entry["log"]["gain"] for entry in found if entry["log"]["gain"] is not None]
    assert order == sorted(order, reverse=True)
    assert maps.remedies(f) == found  # the seed decides the folds


def test_the_winner_can_be_kept_and_applied_again(gains):
    f, found = gains
    best = maps.winner(f, found)
    assert best.name == found[0]["map"]
    np.testing.assert_array_equal(maps.from_json(best.to_json())(f.probabilities), best(f.probabilities))
    assert maps.winner(f, found, "brier") is not None
    nothing = [{"map": "temperature", "log": {"gain": -0.1}}]
    assert maps.winner(f, nothing) is None


def test_the_interval_is_that_of_paired_differences():
    f = sample(2, 800)
    (entry,) = [e for e in maps.remedies(f, folds=4) if e["map"] == "temperature"]
    from veracity.maps._remedies import crossfitted, folds_of

    fold = folds_of(f, 4, 0)
    assert sorted(np.bincount(fold)) == [200] * 4
    rows = crossfitted("temperature", f, fold)
    score = rule_of("log").score
    d = score(f.probabilities, f.outcomes) - score(rows, f.outcomes)
    assert entry["log"]["gain"] == pytest.approx(d.mean(), abs=1e-12)
    assert entry["log"]["high"] - d.mean() == pytest.approx(1.959964 * d.std() / np.sqrt(800), rel=1e-6)


def test_rows_of_a_case_stay_together_and_count_as_one():
    f = sample(2, 300)
    twice = Forecasts(
        np.repeat(f.probabilities, 2, axis=0), np.repeat(f.outcomes, 2), f.classes, case=np.repeat(np.arange(300), 2)
    )
    from veracity.maps._remedies import folds_of

    fold = folds_of(twice, 5, 0)
    assert (fold[::2] == fold[1::2]).all()
    named, whole = ({e["map"]: e for e in maps.remedies(x)} for x in (twice, f))
    for name in ("temperature", "multiplicative"):
        for end in ("gain", "low", "high"):
            assert named[name]["log"][end] == pytest.approx(whole[name]["log"][end], abs=1e-9)


@pytest.mark.parametrize(
    ("scores", "outcomes"),
    [
        ([[0.2, 0.5, 0.3]], [1]),
        ([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]], [1, 2, 0]),
        ([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]] * 5, [1] * 10),
        ([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]] * 5, [1, 0] * 5),
        ([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] * 5, [0] * 10),
        ([[1 / 3, 1 / 3, 1 / 3]] * 12, [0, 1, 2] * 4),
    ],
)
def test_remedies_of_hardly_anything(scores, outcomes):
    f = Forecasts(np.array(scores), np.array(outcomes), (0, 1, 2))
    found = maps.remedies(f)
    assert len(found) <= 8
    assert all(entry["folds"] == min(5, len(f)) for entry in found)
    with pytest.raises(ValueError, match="2 or more"):
        maps.remedies(f, folds=1)


def test_remedies_say_where_a_row_decides():
    f = sample(2, 300)
    p = f.probabilities[:, 1].copy()
    row = int(np.flatnonzero(f.outcomes == 1)[0])
    p[row] = 0.0
    named = {e["map"]: e for e in maps.remedies(Forecasts(p, f.outcomes, (0, 1)))}
    assert named["platt"]["log"]["gain"] == np.inf  # it gives that row some probability
    assert named["platt"]["log"]["low"] is None
    assert np.isfinite(named["temperature"]["log"]["gain"])  # zero stays zero: that row does not change


def test_curves_between_knots_of_next_to_nothing() -> None:
    p = np.array([0.0, 5e-324, 1e-320, 1e-300, 0.2, 0.9, 1e-322, 0.0, 0.5, 0.7])
    y = np.array([0, 1, 0, 1, 0, 1, 0, 0, 1, 1])
    fitted = maps.fit("isotonic", Forecasts.of(y, p))
    mapped = fitted(np.array([3e-324, 2e-321, 1e-310, 0.3]))
    assert np.isfinite(mapped).all()
    assert (np.diff(mapped[:, 1]) >= 0.0).all()
