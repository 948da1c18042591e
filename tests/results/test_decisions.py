"""Decisions: equal to dcurves and model-diagnostics, by hand, in parts, and refused with their remedy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import veracity as vc
from veracity import words
from veracity.cli import run
from veracity.estimate.decisions.clinical import reliability_band
from veracity.state.plan import Plan
from veracity.state.tally import Tally

RNG = np.random.default_rng(0)
N = 600
P = RNG.beta(1.0, 2.0, N)
Y = (RNG.random(N) < P).astype(int)
NOISY = 1.0 / (1.0 + np.exp(-(np.log(P / (1.0 - P)) + RNG.normal(0.0, 1.5, N))))
THREE = RNG.dirichlet([1.0, 1.0, 1.0], 300)
Y3 = np.array([RNG.choice(3, p=row) for row in THREE])


def forecasts(digits: int | None) -> tuple[np.ndarray, np.ndarray]:
    return Y, P if digits is None else np.round(P, digits)


@pytest.mark.parametrize("digits", [None, 1, 2])
def test_net_benefit_is_that_of_dcurves(digits: int | None) -> None:
    import dcurves

    y, p = forecasts(digits)
    d = vc.assess(y, p).decisions
    found = dcurves.dca(pd.DataFrame({"y": y, "p": p}), "y", ["p"], thresholds=list(d.thresholds))
    for model, ours in (("p", d.net_benefit), ("all", d.treat_all), ("none", np.zeros(len(d.thresholds)))):
        theirs = found[found.model == model].sort_values("threshold")
        np.testing.assert_allclose(theirs.threshold, d.thresholds, atol=1e-12)
        np.testing.assert_allclose(theirs.net_benefit, ours, atol=1e-12)


def test_interventions_avoided_are_those_of_dcurves() -> None:
    import dcurves

    found = dcurves.dca(pd.DataFrame({"y": Y, "p": P}), "y", ["p"], thresholds=[0.1, 0.3])
    theirs = found[found.model == "p"].sort_values("threshold").net_intervention_avoided
    ours = [float(one.avoided) for one in vc.assess(Y, P, threshold=[0.1, 0.3]).decisions.at]
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("digits", [None, 1, 2])
def test_murphy_curve_is_that_of_model_diagnostics(digits: int | None) -> None:
    from model_diagnostics.scoring import ElementaryScore

    y, p = forecasts(digits)
    d = vc.assess(y, p).decisions
    c = np.array(d.thresholds)
    theirs = [ElementaryScore(one)(y, p) for one in c]  # which acts at p ≥ c, as net benefit does
    np.testing.assert_allclose((1.0 - c) * (y.mean() - np.array(d.net_benefit)), theirs, atol=1e-12)
    above = [ElementaryScore(one)(y, np.where(p == one, p - 1e-9, p)) for one in c]
    np.testing.assert_allclose(d.murphy, above, atol=1e-12)


def test_ties_act_in_net_benefit_and_not_in_the_murphy_curve() -> None:
    y, p = [0, 1, 1, 0], [0.2, 0.2, 0.7, 0.1]
    (one,) = vc.assess(y, p, threshold=0.2).decisions.at
    assert float(one.net_benefit) == pytest.approx(2 / 4 - 1 / 4 * 0.25)
    assert float(one.murphy) == pytest.approx(0.8 / 4)  # the event at 0.2 is missed, nothing is a false alarm


def test_costs_are_counted_by_hand() -> None:
    a = vc.assess(Y, P, costs={"false_alarm": 2, "miss": 6})
    (user,) = a.decisions.costs
    act = P >= 0.25
    assert user.threshold == 0.25
    assert float(user.cost) == pytest.approx((2 * (act & (Y == 0)).sum() + 6 * (~act & (Y == 1)).sum()) / N, abs=1e-12)
    assert float(user.without) == pytest.approx(min(2 * (Y == 0).mean(), 6 * (Y == 1).mean()), abs=1e-12)
    assert float(user.saved) == pytest.approx(float(user.without) - float(user.cost), abs=1e-12)
    best = [(2 * ((c <= P) & (Y == 0)).sum() + 6 * ((c > P) & (Y == 1)).sum()) / N for c in a.decisions.thresholds]
    assert float(user.regret) == pytest.approx(float(user.cost) - min(best), abs=1e-12)
    assert float(user.perfect) == 0.0


@pytest.mark.parametrize("k", [2, 3])
def test_the_prior_of_the_cases_changes_nothing(k: int) -> None:
    y, p = (Y, P) if k == 2 else (Y3, THREE)
    a = vc.assess(y, p, threshold=() if k == 3 else (0.1, 0.4))
    frequencies = {c: float(np.mean(y == c)) for c in range(k)}
    found = a.at_prior(frequencies)
    for side in (found.as_is, found.updated):
        assert float(side.log_loss) == pytest.approx(float(a.scores.log_loss), abs=1e-12)
        assert a.scores.brier is not None
        assert float(side.brier) == pytest.approx(float(a.scores.brier), abs=1e-12)
        np.testing.assert_allclose(side.curve, a.decisions.net_benefit, atol=1e-12)
    for one in a.decisions.at:
        assert float(found.updated.net_benefit[f"{one.threshold:g}"]) == pytest.approx(
            float(one.net_benefit), abs=1e-12
        )


def test_another_prior_reweights_the_classes() -> None:
    found = vc.assess(Y, P, threshold=0.1).at_prior({"event": 0.05})
    hits, alarms = (P[Y == 1] >= 0.1).mean(), (P[Y == 0] >= 0.1).mean()
    assert float(found.as_is.net_benefit["0.1"]) == pytest.approx(0.05 * hits - 0.95 * alarms / 9.0, abs=1e-12)
    log = -np.log(np.where(Y == 1, P, 1.0 - P))
    assert float(found.as_is.log_loss) == pytest.approx(
        0.05 * log[Y == 1].mean() + 0.95 * log[Y == 0].mean(), abs=1e-12
    )


def test_a_class_called_like_a_number_is_told_from_its_frequency() -> None:
    found = vc.assess([0, 0, 0, 1], [0.2, 0.3, 0.4, 0.9]).at_prior({"event": 0.05})
    assert words.decisions.prior(found) == "Frequency of “1”: 5 % instead of 25 %."


def test_thresholds_that_pay_are_those_of_a_bootstrap_of_both_differences_at_once() -> None:
    d = vc.assess(Y, P).decisions
    c = np.array(d.thresholds)
    worth = np.where(Y[:, None] == 1, 1.0 - c, -c)
    acts = P[:, None] >= c
    over_none, over_all = worth * acts, -worth * ~acts
    both = np.concatenate([over_none, over_all], axis=1)
    errors = np.random.default_rng(1).standard_normal((4000, N)) @ (both - both.mean(axis=0)) / N
    band = np.quantile(errors.max(axis=1), 0.95)
    wanted = np.minimum(over_none.mean(axis=0), over_all.mean(axis=0)) > band
    found = [any(span.low <= one <= span.high for span in d.useful) for one in c]
    assert wanted.sum() > 30
    assert (wanted != found).sum() <= 2  # both bands vary by 2 %


def test_picks_by_coverage_are_counted_by_hand() -> None:
    picks = vc.assess(Y3, THREE).decisions.picks
    assert picks is not None
    order = np.argsort(-THREE.max(axis=1), kind="stable")
    right = (THREE.argmax(axis=1) == Y3)[order]
    assert float(picks.accuracy["0.8"]) == pytest.approx(right[:240].mean(), abs=2 / 240)  # cells hold a few cases
    steps = np.cumsum(~right) / np.arange(1, 301)
    assert float(picks.area) == pytest.approx(steps.mean(), abs=0.005)
    second = np.argsort(-THREE, axis=1)[:, :2]
    assert float(picks.top_k["2"]) == pytest.approx((second == Y3[:, None]).any(axis=1).mean(), abs=1e-12)


def test_one_class_against_the_rest_is_that_of_two_classes() -> None:
    ours = vc.assess(Y3, THREE).decisions.of(2)
    two = vc.assess((Y3 == 2).astype(int), THREE[:, 2]).decisions
    for name in ("net_benefit", "net_benefit_low", "treat_all", "murphy", "useful", "band"):
        mine, theirs = getattr(ours, name), getattr(two, name)
        if name == "useful":
            assert [one.stated() for one in mine] == [] or mine == theirs
        else:
            np.testing.assert_allclose(mine, theirs, atol=1e-12)


@pytest.mark.parametrize(
    "given", [{}, {"clusters": np.arange(N) // 3}, {"time": np.arange(N)}, {"sample_weight": 1 + P}]
)
def test_decisions_are_the_same_in_parts(given: dict[str, Any]) -> None:
    plan: dict[str, Any] = {"threshold": (0.1, 0.37), "costs": "false_alarm=1,miss=8", "prior": "event=0.05"}
    whole = vc.assess(Y, P, **plan, **given)
    made = [
        vc.inputs.Forecasts.of(Y[s], P[s], labels=[0, 1], **{name: np.asarray(x)[s] for name, x in given.items()})
        for s in (slice(0, 7), slice(7, 300), slice(300, N))
    ]
    parts = vc.assess(sum((Tally.of(f, plan=Plan(**plan)) for f in made[1:]), Tally.of(made[0], plan=Plan(**plan))))
    a, b = (json.loads(one.to_json())["decisions"] for one in (whole, parts))
    _same(a, b)


def _same(a: Any, b: Any) -> None:
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            _same(a[key], b[key])
    elif isinstance(a, list):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            _same(x, y)
    elif isinstance(a, float):
        assert a == pytest.approx(b, rel=1e-6, abs=1e-9)  # fits of the recalibration stop at small steps
    else:
        assert a == b


def test_decisions_and_dominance_read_back_from_their_documents() -> None:
    a = vc.assess(Y, P, threshold=0.1, costs={"false_alarm": 1, "miss": 8}, prior={"event": 0.05})
    assert vc.Assessment.from_json(a.to_json()) == a
    c = vc.compare(Y, {"good": P, "noisy": NOISY})
    again = vc.Comparison.from_json(c.to_json())
    assert again.dominance("good", "noisy") == c.dominance("good", "noisy")
    with pytest.raises(AttributeError, match="read from a document"):
        again.dominance("noisy", "good")


def test_dominance_names_the_better_model_and_is_antisymmetric() -> None:
    c = vc.compare(Y, {"good": P, "noisy": NOISY})
    d, turned = c.dominance("good", "noisy"), c.dominance("noisy", "good")
    assert d.a_better
    assert not d.b_better
    assert (turned.a_better, turned.b_better) == (d.b_better, d.a_better)
    np.testing.assert_allclose(turned.difference, -np.array(d.difference), atol=1e-15)


def test_few_distinct_forecasts_can_dominate_under_every_proper_score() -> None:
    rng = np.random.default_rng(1)
    y = (rng.random(2000) < np.repeat([0.2, 0.8], 1000)).astype(int)
    c = vc.compare(y, {"sharp": np.repeat([0.2, 0.8], 1000), "swapped": np.repeat([0.8, 0.2], 1000)})
    assert c.dominance("sharp", "swapped").everywhere == "sharp"
    assert "beats swapped under every proper score" in repr(c)


def test_the_band_holds_the_frequency_of_every_forecast_and_narrows_with_cases() -> None:
    p = np.array([0.1, 0.3, 0.6])
    few = reliability_band(p, np.full(3, 20.0), np.array([2.0, 6.0, 12.0]), 0.95)
    many = reliability_band(p, np.full(3, 2000.0), np.array([200.0, 600.0, 1200.0]), 0.95)
    for _, low, high, _ in (few, many):
        assert (np.diff(low) >= 0).all()
        assert (np.diff(high) >= 0).all()
        assert ((low <= p) & (p <= high)).all()
    assert (many[2] - many[1] < few[2] - few[1]).all()


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "percent": (
        lambda: vc.assess(Y, P, threshold=10),
        "threshold: 10 is outside (0, 1)\n  give probabilities: 0.1 for",
    ),
    "zero": (lambda: vc.assess(Y, P, threshold=[0.1, 0]), "threshold: 0 is outside (0, 1)"),
    "word": (lambda: vc.assess(Y, P, threshold="low"), "threshold: 'low' is not a number\n  write 0.1,0.2"),
    "word of a cost": (
        lambda: vc.assess(Y, P, costs="false_alarm=1,miss=x"),
        "costs: 'x' is not a number\n  write false",
    ),
    "prior of 5": (lambda: vc.assess(Y, P).at_prior({"event": 5}), "prior: event=5 is outside (0, 1)"),
    "no class": (lambda: vc.assess(Y, P).at_prior({"rain": 0.1}), "prior: no class 'rain'; there are 0, 1"),
    "sum": (
        lambda: vc.assess(Y3, THREE).at_prior({0: 0.2, 1: 0.2, 2: 0.2}),
        "prior: the frequencies sum to 0.6, not",
    ),
    "missing class": (lambda: vc.assess(Y3, THREE).at_prior({0: 0.2}), "prior: 1, 2 without a frequency"),
    "nobody": (
        lambda: vc.assess([0, 0, 1], np.full((3, 3), 1 / 3), labels=[0, 1, 2]).at_prior({0: 0.2, 1: 0.3, 2: 0.5}),
        "prior: no case of 2 was observed",
    ),
    "no miss": (lambda: vc.assess(Y, P, costs="false_alarm=1"), "costs: miss is missing\n  give both"),
    "negative": (
        lambda: vc.assess(Y, P, costs={"false_alarm": -1, "miss": 1}),
        "costs: false_alarm=-1: costs of errors",
    ),
    "other cost": (
        lambda: vc.assess(Y, P, costs="false_alarm=1,miss=2,hit=3"),
        "costs: 'hit' is neither false_alarm",
    ),
    "whose": (
        lambda: vc.assess(Y3, THREE, threshold=0.1),
        "threshold: there are 3 classes, and a decision is",
    ),
    "event": (lambda: vc.assess(Y3, THREE, threshold=0.1, pos_label=7), "pos_label: no class '7'; there are 0, 1, 2"),
    "label": (
        lambda: vc.assess(Y3, THREE).decisions.of("x"),
        "label: no class 'x'; there are 0, 1, 2\n  name one",
    ),
    "model": (lambda: vc.compare(Y, {"a": P, "b": NOISY}).dominance("a", "z"), "dominance: 'z' is not another model"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_decided_is_refused_with_its_remedy(name: str) -> None:
    call, said = REFUSED[name]
    with pytest.raises(ValueError) as refused:
        call()
    assert str(refused.value).startswith(said)


def test_an_event_of_a_frame_that_is_no_class_is_answered_with_one_that_is() -> None:
    frame = pd.DataFrame({"y": Y3, **{f"p_{k}": THREE[:, k] for k in range(3)}})
    with pytest.raises(
        ValueError, match=r"has no effect: there are 3 classes\.\n  decide about one class:  positive=.0"
    ):
        vc.assess(frame, positive="7", threshold=0.3)
    assert vc.assess(frame, positive="0", threshold=0.3).decisions.event == "0"


def test_more_than_two_classes_decide_about_the_one_that_is_named() -> None:
    d = vc.assess(Y3, THREE, threshold=0.3, pos_label=1).decisions
    assert d.event == "1"
    assert len(d.at) == 1


def test_winners_at_the_prevalence_of_the_cases_are_those_of_dominance() -> None:
    d = vc.compare(Y, {"good": P, "noisy": NOISY}).dominance("good", "noisy")
    by = {(round(w.prevalence, 9), round(w.threshold, 9)): w.difference for w in d.prevalences}
    misses, alarms = ([float(np.mean(((p < 0.3) if y else (p >= 0.3))[y == Y])) for p in (P, NOISY)] for y in (1, 0))
    for prevalence in (0.05, 0.5):
        expected = prevalence * 0.7 * (misses[0] - misses[1]) + (1.0 - prevalence) * 0.3 * (alarms[0] - alarms[1])
        assert by[prevalence, 0.3] == pytest.approx(expected, abs=1e-12)
    assert {w.better for w in d.prevalences} <= {None, "good"}


def test_thresholds_and_frequencies_are_read_in_per_cent_too() -> None:
    a, b = (vc.assess(Y, P, threshold=t, prior=f) for t, f in (("10%,20 %", "event=8%"), ([0.1, 0.2], {"event": 0.08})))
    assert [one.threshold for one in a.decisions.at] == [0.1, 0.2]
    assert a.decisions.at == b.decisions.at
    assert a.decisions.prior == b.decisions.prior


def test_costs_of_answers_with_their_confidence_are_those_of_letting_them_stand(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    confidence = rng.integers(4, 20, 500) / 20
    right = (rng.random(500) < confidence**1.5).astype(int)
    picks, both = tmp_path / "picks.csv", tmp_path / "both.csv"
    pl.DataFrame({"correct": right == 1, "stated_confidence": confidence}).write_csv(picks)
    pl.DataFrame({"outcome": right, "probability": confidence}).write_csv(both)
    costs = ["--costs", "false_alarm=3,miss=1", "--threshold", "0.75", "--json", str(tmp_path / "a.json"), "--force"]
    sides = []
    for path in (picks, both):
        assert run(["assess", str(path), *costs]) == 0
        sides.append(json.loads((tmp_path / "a.json").read_text())["decisions"])
    assert sides[0]["costs"][0]["threshold"] == 0.75
    for name in ("costs", "at"):
        assert sides[0][name] == sides[1][name]
