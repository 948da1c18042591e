"""Assessments: edge cases, JSON both ways, intervals, presets."""

from __future__ import annotations

import json
from importlib import resources

import jsonschema
import numpy as np
import pytest

import veracity as vc
from veracity.results.assess import Assessments
from veracity.state.tally import Tally
from veracity.words.verdict import sentences

SCHEMA = json.loads((resources.files("veracity") / "schema" / "assessment-2.json").read_text())
MEANS = ("decisiveness", "geometric_accuracy", "robustness")


def valid(a: vc.Assessment) -> dict:
    text = a.to_json()
    document = json.loads(text)
    jsonschema.validate(document, SCHEMA)
    assert vc.Assessment.from_json(text).to_json() == text
    return document


def draw(seed: int, n: int, k: int, sharpen: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.full(k, 0.8), n)
    y = (rng.random((n, 1)) > np.cumsum(q, axis=1)[:, :-1]).sum(axis=1)
    p = q**sharpen
    return y, p / p.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("k", [2, 3, 60])
@pytest.mark.parametrize(
    "options", [{}, {"preset": "CQ"}, {"preset": "N17"}, {"bootstrap": 50}, {"floor": 0.02, "bins": 7}]
)
def test_document_follows_the_schema_and_reads_back(k: int, options: dict) -> None:
    y, p = draw(1, 400, k)
    document = valid(vc.assess(y, p, **options))
    assert document["n"] == 400
    assert document["provenance"]["plan"]["preset"] == options.get("preset")


def test_readings_act_as_floats_with_intervals() -> None:
    y, p = draw(2, 2000, 3)
    a = vc.assess(y, p)
    assert a.reported.geometric_accuracy == pytest.approx(np.exp(np.mean(np.log(p[np.arange(2000), y]))), rel=1e-12)
    assert a.reported.geometric_accuracy.low < a.reported.geometric_accuracy < a.reported.geometric_accuracy.high
    assert a.reported.geometric_accuracy.method == "delta method"
    assert a.reported.robustness.method.startswith("Hall")
    assert a.scores.perplexity == pytest.approx(1.0 / a.reported.geometric_accuracy, rel=1e-12)
    assert a.divergence.geometric_accuracy == pytest.approx(
        a.reported.geometric_accuracy / a.measured.geometric_accuracy, rel=1e-12
    )
    d, r = a.reported.decisiveness - a.reported.robustness, a.measured.decisiveness - a.measured.robustness
    assert a.spread_ratio == pytest.approx(r / d, rel=1e-12)
    assert a.losses("log").readings()["L"] == pytest.approx(a.scores.log_loss, rel=1e-12)
    with pytest.raises(AttributeError, match="no attribute 'precision'"):
        _ = a.precision
    with pytest.raises(ValueError, match="rule: 'mse' is not one of"):
        a.losses("mse")


@pytest.mark.parametrize("map", ["auto", "bins", "grouped", "isotonic"])
def test_decomposition_and_losses_add_up(map: str) -> None:
    y, p = draw(3, 1000, 2, sharpen=1.5)
    a = vc.assess(y, p, map=map)
    for rule, loss in (("log", a.scores.log_loss), ("brier", a.scores.brier)):
        d = a.decomposition(rule)
        for terms in (d, d.plain or d):  # corrected for chance, and as counted
            found = terms.uncertainty - terms.resolution + terms.reliability + terms.within
            assert found == pytest.approx(loss, rel=1e-12)
        baseline = a.baseline.score({"log": "log_loss"}.get(rule, rule))
        assert baseline == pytest.approx((d.plain or d).uncertainty, rel=1e-12)
        x = a.losses(rule)
        assert x.AL + x.PCL + x.RL + x.remainder == pytest.approx(loss, rel=1e-12)
        assert not x.GL.known
        assert "cannot be told apart" in x.GL.reason
        if map == "auto":  # one C from other rows: nothing is left over
            assert x.remainder == 0.0
            assert pytest.approx(x.AL + x.PCL, abs=1e-12) == x.CL


def test_ideal_probabilities_separate_grouping_and_irreducible_loss() -> None:
    rng = np.random.default_rng(0)
    q = rng.choice([0.1, 0.4, 0.8], 3000)
    y = (rng.random(3000) < q).astype(int)
    p = np.where(q > 0.3, 0.55, 0.1)  # two groups forecast as one
    a = vc.assess(y, p, features=q, map="grouped")
    x = a.losses("brier")
    parts = x.AL + x.PCL + x.GL + x.IL
    assert parts == pytest.approx(x.L, abs=1e-11)
    assert abs(x.remainder) < 1e-11
    assert x.GL > 0.05
    assert any(f.code == "ideal_from_features" for f in a.findings)


def test_floor_raises_every_mean_and_leaves_the_log_loss() -> None:
    y, p = draw(5, 1000, 5, sharpen=3.0)
    plain, floored = vc.assess(y, p), vc.assess(y, p, floor=0.05)
    assert floored.scores.log_loss == plain.scores.log_loss
    realised = np.maximum(p[np.arange(1000), y], 0.05)
    for name, r in zip(MEANS, (1.0, 0.0, -2 / 3), strict=True):
        assert floored.reported.reading(name) == pytest.approx(vc.generalized_mean(realised, r), rel=1e-12)
        assert floored.reported.reading(name) > plain.reported.reading(name)
    at = {row.floor: row for row in plain.floors}
    assert at[0.05].robustness == pytest.approx(floored.reported.robustness, rel=1e-12)
    assert at[0.0].robustness == pytest.approx(plain.reported.robustness, rel=1e-12)


def test_risk_profile_is_the_generalized_mean() -> None:
    y, p = draw(6, 500, 4)
    a = vc.assess(y, p)
    realised = p[np.arange(500), y]
    expected = vc.risk_profile(realised, r=a.risk_profile.r)
    np.testing.assert_allclose(a.risk_profile.reported, expected, rtol=1e-12)
    floored = vc.assess(y, p, floor=0.01)
    # With a floor, values between the three named means come from cells, which are exact to 1e-7.
    np.testing.assert_allclose(
        floored.risk_profile.reported, vc.risk_profile(np.maximum(realised, 0.01), r=a.risk_profile.r), rtol=2e-7
    )


def test_contributions_sum_to_the_log_loss() -> None:
    y, p = draw(7, 800, 3)
    a = vc.assess(y, p)
    assert sum(b.contribution for b in a.bins) == pytest.approx(a.scores.log_loss, rel=1e-9)
    assert sum(b.true for b in a.bins) == 800
    assert sum(b.count for b in a.bins) == 2400


def test_a_level_of_a_group_equals_its_rows_assessed_alone() -> None:
    y, p = draw(8, 600, 3)
    g = np.repeat(["a", "b", "<c>"], 200)
    a = vc.assess(y, p, groups={"site": g})
    assert set(a.groups["site"].levels) == {"a", "b", "<c>"}
    part = vc.assess(y[g == "b"], p[g == "b"])
    level = a.groups["site"].levels["b"]
    assert level.n == 200
    assert level.scores == part.scores
    assert (level.reported, level.expected.readings()) == (part.reported, part.expected.readings())
    assert a.groups["site"].worst in {"a", "b", "<c>"}
    valid(a)


def test_calibration_error_counts_right_closed_bins() -> None:
    p, y = np.array([0.2, 0.2, 0.6, 0.8, 0.4]), np.array([0, 1, 1, 1, 0])
    a = vc.assess(y, p)
    conf, correct = np.maximum(p, 1 - p), (p > 0.5) == y
    which = np.ceil(conf * 15 - 1e-12).astype(int)
    gaps = [abs(correct[which == b].mean() - conf[which == b].mean()) * (which == b).mean() for b in np.unique(which)]
    assert a.calibration_error.top_label.value == pytest.approx(sum(gaps), rel=1e-12)


def test_several_models_as_one_document() -> None:
    y, p = draw(9, 200, 3)
    both = Assessments({"one": vc.assess(y, p), "two": vc.assess(y, p, floor=0.01)})
    document = json.loads(both.to_json())
    assert document["schema"] == "veracity/assessments/2"
    for model in document["models"].values():
        jsonschema.validate(model, SCHEMA)
    assert Assessments.from_json(both.to_json()).to_json() == both.to_json()


def test_bootstrap_is_seeded_and_agrees_with_the_delta_method() -> None:
    y, p = draw(10, 2000, 3)
    delta, first, again = vc.assess(y, p), *(vc.assess(y, p, bootstrap=400) for _ in range(2))
    other = vc.assess(y, p, bootstrap=400, random_state=1)
    pairs = (
        ("scores", "log_loss"),
        ("scores", "brier"),
        ("reported", "geometric_accuracy"),
        ("reported", "decisiveness"),
    )
    for section, name in pairs:
        d, b, o = (getattr(a, section).readings()[name] for a in (delta, first, other))
        assert (b.low, b.high) == (
            getattr(again, section).readings()[name].low,
            getattr(again, section).readings()[name].high,
        )
        assert (b.low, b.high) != (o.low, o.high)
        assert b.method.startswith("bootstrap, 400 draws")
        # 400 draws place an end of the interval to about a tenth of its width.
        assert b.high - b.low == pytest.approx(d.high - d.low, rel=0.15)


@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("curve", ["bins", "width", "isotonic"])
def test_other_curves_measure_the_same_of_calibrated_forecasts(curve: str, per_class: bool) -> None:
    y, p = draw(11, 20_000, 3)
    a = vc.assess(y, p)
    found = a.papers.by_curve(curve, per_class=per_class)
    # 20,000 calibrated rows: sampling error about 0.003; wide bins and in-sample isotonic curves add about 0.003.
    for name in MEANS:
        assert found[name] == pytest.approx(a.reported.reading(name), abs=0.012 if curve == "width" else 0.008)
    if per_class:
        for j, means in enumerate(found["classes"].values()):
            realised = p[y == j, j]
            for name, r in zip(MEANS, (1.0, 0.0, -2.0 / 3.0), strict=True):
                # About 6,700 cases a class: sampling error 0.005, and bins as above.
                assert means[name] == pytest.approx(float(vc.generalized_mean(realised, r)), abs=0.02)
    with pytest.raises(ValueError, match="no curve is called"):
        a.papers.by_curve("spline")


def test_the_optimism_of_in_sample_calibration_is_removed() -> None:
    """Calibrated forecasts have no calibration loss; counted in the same rows they seem to have some."""
    plain, corrected, crossfitted = [], [], []
    for seed in range(20):
        y, p = draw(100 + seed, 500, 2)
        a, exact = vc.assess(y, p), vc.assess(y, p, map="bins")
        d = a.decomposition("brier")
        assert d.plain is not None
        assert d.reliability < d.plain.reliability
        plain.append(float(d.plain.reliability))
        corrected.append(float(d.reliability))
        crossfitted.append(float(a.losses("brier").RL - exact.losses("brier").RL))
    error = np.std(corrected) / np.sqrt(20)
    assert abs(np.mean(corrected)) < 3 * error < np.mean(plain)
    assert np.mean(crossfitted) > 0.0


def test_the_verdict_does_not_depend_on_the_order_of_rows() -> None:
    y, p = draw(14, 600, 3)
    order = np.random.default_rng(0).permutation(600)
    one, other = (a.verdict_detail for a in (vc.assess(y, p), vc.assess(y[order], p[order])))
    assert (other.slope.low, other.slope.high) == pytest.approx((one.slope.low, one.slope.high), rel=1e-12)
    assert (other.gain.low, other.gain.high) == pytest.approx((one.gain.low, one.gain.high), rel=1e-12)
    assert (other.level.p, other.confidence.p, other.shape.p) == (one.level.p, one.confidence.p, one.shape.p)
    assert sentences(other) == sentences(one)


def test_the_typical_probability_is_the_log_loss_on_another_scale() -> None:
    y, p = draw(16, 500, 3)
    for weights in (None, np.random.default_rng(0).gamma(1.0, size=500)):
        a = vc.assess(y, p, sample_weight=weights)
        assert a.reported.geometric_accuracy.low == pytest.approx(np.exp(-a.scores.log_loss.high), rel=1e-12)
        assert a.reported.geometric_accuracy.high == pytest.approx(np.exp(-a.scores.log_loss.low), rel=1e-12)


@pytest.mark.parametrize("preset", [None, "N17"])
def test_resampled_intervals_hold_their_values(preset: str | None) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(1000)
    a = vc.assess((rng.random(1000) < p).astype(int), p, bootstrap=100, preset=preset)
    found = [*a.reported.readings().values(), *a.measured.readings().values()]
    assert all(r.low < r < r.high for r in found)


def test_a_weighted_roc_begins_and_ends_in_the_corners() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p, w = rng.random(100), rng.gamma(1, 1, 100)
        roc = vc.assess((rng.random(100) < p).astype(int), p, sample_weight=w).curves.roc
        rates = np.array([[point.false_positive_rate, point.true_positive_rate] for point in roc])
        assert rates[0].tolist() == [1.0, 1.0]
        assert rates[-1].tolist() == [0.0, 0.0]
        assert (np.diff(rates, axis=0) <= 0.0).all()


def test_a_map_that_leaves_the_unit_interval_has_no_ladder() -> None:
    y, p = np.tile([1, 1, 0, 1], 60), np.tile([0.97, 0.8, 0.3, 0.4], 60)
    a = vc.assess(y, p, map="additive")
    for rule, score in (("log", a.scores.log_loss), ("brier", a.scores.brier)):
        assert score == a.losses(rule).L
        assert "no probabilities; choose another" in a.losses(rule).CL.reason
        assert "no probabilities; choose another" in a.decomposition(rule).reliability.reason
    jsonschema.validate(json.loads(a.to_json()), SCHEMA)


def test_groups_have_predicted_and_observed_frequencies_of_two_classes() -> None:
    y, p = draw(6, 400, 2)
    site = np.array(["a", "b"])[np.arange(400) % 2]
    for name, part in vc.assess(y, p[:, 1], groups={"site": site}).groups["site"].levels.items():
        q, happened = p[site == name, 1], y[site == name]
        assert part.level is not None
        assert part.level.predicted == pytest.approx(q.mean(), rel=1e-12)
        assert part.level.observed == pytest.approx(happened.mean(), rel=1e-12)
        assert part.level.z == pytest.approx(
            (happened - q).sum() / np.sqrt((q * (1 - q)).sum()), rel=1e-6
        )  # from cells
    y, p = draw(6, 400, 3)
    assert all(part.level is None for part in vc.assess(y, p, groups={"site": site}).groups["site"].levels.values())


def test_the_printed_form_has_the_verdict_and_one_accuracy_the_share_of_right_picks() -> None:
    a = vc.assess(*draw(7, 500, 3, sharpen=2.0))
    printed = repr(a)
    assert "Over-confident" in printed
    (line,) = [line for line in printed.splitlines() if "accuracy" in line.lower()]
    assert line.split()[:3] == ["Accuracy", "↑", f"{100 * a.scores.accuracy:.1f}"]


@pytest.mark.parametrize("options", [{"preset": "CQ"}, {"floor": 0.05}, {"floor": 0.0037}])
def test_contributions_of_bins_have_the_floor(options: dict[str, object]) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1000)
    p = np.clip(np.where(y == 1, 0.8, 0.2) + 0.2 * rng.standard_normal(1000), 0.0005, 0.9995)
    p[:30] = 1 - y[:30]  # ruled out what happened
    a = vc.assess(y, p, **options)
    assert sum(b.contribution for b in a.bins) == pytest.approx(-np.log(a.reported.geometric_accuracy), abs=1e-12)
    assert min(b.model for b in a.bins if b.true) >= a.floor * (1 - 1e-12)


def test_corp_keeps_a_tiny_probability_of_the_first_class() -> None:
    first = np.array([1e-20] * 5 + [0.3] * 195)
    p, y = np.column_stack([first, 1 - first]), np.array([0] + [1] * 4 + [0] * 60 + [1] * 135)
    a, mirrored = vc.assess(y, p), vc.assess(1 - y, p[:, ::-1].copy())
    assert a.corp.log.miscalibration == pytest.approx(float(mirrored.corp.log.miscalibration), abs=1e-12)
    three = np.column_stack([p, np.zeros(200)])
    assert np.isfinite(vc.assess(y, three).corp.top_label.log.miscalibration)


def test_the_difference_of_infinite_losses_is_undefined() -> None:
    y = np.array([0, 1] * 200)
    p = np.where(np.arange(400) % 4 == 0, 1.0, np.where(y == 1, 0.7, 0.3))
    a, exact = vc.assess(y, p), vc.assess(y, p, map="grouped")
    for reading in (exact.losses("log").remainder, exact.decomposition("log").within, a.decomposition("log").within):
        assert np.isnan(reading)
        assert reading.reason == "the difference of two infinite losses"
    assert exact.losses("log").AL.reason == a.losses("log").CL.reason == "some outcomes had probability 0: no interval"
    assert a.losses("log").L == a.losses("log").CL == np.inf
    assert np.isfinite(a.losses("log").RL)  # other rows show what is never ruled out
    assert exact.document()["decomposed_profile"]["remainder"][0] is None


@pytest.mark.parametrize("k", [2, 3, 10, 130])
def test_tied_rows_in_any_order_merged_and_counted(k: int) -> None:
    """Intervals too: null draws and influences do not depend on how rows come."""
    rng = np.random.default_rng(k)
    n = 1200
    p = np.round(rng.dirichlet([0.5] * k, n), 2)
    p /= p.sum(axis=1, keepdims=True)
    y = np.minimum((np.cumsum(p, axis=1) < rng.random((n, 1))).sum(axis=1), k - 1)
    y = np.where(p[np.arange(n), y] > 0, y, p.argmax(axis=1))
    w, order, labels = rng.gamma(3.0, size=n), rng.permutation(n), range(k)
    parts = [Tally.of(y[part], p[part], labels=labels) for part in (slice(0, 500), slice(500, n))]
    pairs = (
        (vc.assess(y, p), vc.assess(y[order], p[order], labels=labels)),
        (vc.assess(y, p), vc.assess(parts[1] + parts[0])),
        (vc.assess(y, p, sample_weight=w), vc.assess(y[order], p[order], sample_weight=w[order], labels=labels)),
        (vc.assess(y, p, counts=np.full(n, 2)), vc.assess(np.repeat(y, 2), np.repeat(p, 2, axis=0))),
    )
    for a, b in pairs:
        assert a.verdict == b.verdict
        found = (
            (x.calibration_slope, x.spread_ratio, *x.measured.readings().values(), *x.divergence.readings().values())
            for x in (a, b)
        )
        for one, other in zip(*found, strict=True):
            ends = ([r.low or 0.0, r.high or 0.0] for r in (one, other))
            np.testing.assert_allclose(*ends, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("map", ["auto", "bins"])
@pytest.mark.parametrize(("k", "n"), [(2, 12_000), (10, 4_000), (130, 1_000)])
def test_terms_along_the_risk_axis_are_those_of_the_ladder(k: int, n: int, map: str) -> None:
    """More rows than are adjusted for every r."""
    rng = np.random.default_rng(0)
    logits = 2.0 * rng.standard_normal((n, k))
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    y = np.minimum((np.cumsum(p, axis=1) < rng.random((n, 1))).sum(axis=1), k - 1)
    p[:, 0] *= 1.5
    a = vc.assess(y, p / p.sum(axis=1, keepdims=True), labels=range(k), map=map)
    profile, terms, losses = a.decomposed_profile, a.decomposition("log"), a.losses("log")
    counted = terms if map == "auto" else terms.plain  # the exact chain has nothing subtracted
    assert counted is not None
    at, unit = profile.r.index(0.0), float(counted.uncertainty)
    for name in ("resolution", "reliability", "within"):
        assert getattr(profile, name)[at] == pytest.approx(float(counted.readings()[name]) / unit, abs=1e-9)
    both = (profile.adjustment[at] or 0.0) + profile.post_calibration[at]
    assert both == pytest.approx(float(losses.CL) / unit, abs=1e-9)
    assert profile.refinement[at] == pytest.approx(float(losses.RL) / unit, abs=1e-9)
    if k > 50:
        assert profile.adjustment == (None,) * len(profile.r)
    else:
        assert 0.0 <= profile.adjustment[at] <= both + 1e-12


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [2, 5])
def test_a_loss_has_the_interval_of_its_score(k: int, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet([0.7] * k, 300), rng.integers(0, k, 300)
    a = vc.assess(y, p, sample_weight=rng.gamma(2.0, size=300) if weighted else None)
    for score, rule in (("log_loss", "log"), ("brier", "brier")):
        one, other = a.scores.reading(score), a.losses(rule).readings()["L"]
        assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-12)
