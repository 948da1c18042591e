"""Laws of prediction–realization tables, over random tables and every rule of the risk axis."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from veracity.formulas import intervals
from veracity.formulas import tables as t
from veracity.formulas.intervals import wilson
from veracity.formulas.rules import RULES, rule


@st.composite
def counts(draw: st.DrawFn, outcomes: int | None = None) -> np.ndarray:
    k, wide = draw(st.integers(2, 6)), outcomes or draw(st.integers(2, 4))
    cells = st.integers(0, 60)
    n = np.array(draw(st.lists(st.lists(cells, min_size=wide, max_size=wide), min_size=k, max_size=k)), float)
    assume((n.sum(0) > 0).all() and (n.sum(1) > 0).all())
    return n


@st.composite
def with_forecasts(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    n = draw(counts())
    parts = st.lists(st.integers(1, 50), min_size=n.size, max_size=n.size)
    f = np.array(draw(parts), float).reshape(n.shape)
    return n, f / f.sum(1, keepdims=True)


@pytest.mark.parametrize("scoring", RULES, ids=str)
@settings(max_examples=30)
@given(with_forecasts())
def test_score_is_uncertainty_minus_resolution_plus_reliability(scoring, drawn):
    n, f = drawn
    share = t.category_shares(n)
    parts = t.uncertainty(n, scoring) - share @ t.resolutions(n, scoring) + share @ t.reliabilities(n, f, scoring)
    score = t.score(n, f, scoring)
    assert abs(score - parts) <= 1e-12 * max(1.0, score)


@pytest.mark.parametrize("scoring", RULES, ids=str)
@settings(max_examples=30)
@given(with_forecasts())
def test_terms_have_their_signs(scoring, drawn):
    n, f = drawn
    resolution = t.category_shares(n) @ t.resolutions(n, scoring)
    assert (t.resolutions(n, scoring) >= 0).all()
    assert (t.reliabilities(n, f, scoring) >= 0).all()
    assert resolution <= t.uncertainty(n, scoring) + 1e-12
    assert t.reliabilities(n, t.predictive_values(n), scoring) == pytest.approx(0.0, abs=1e-14)


@given(counts())
def test_resolution_of_the_log_loss_is_the_mutual_information(n):
    resolution = t.category_shares(n) @ t.resolutions(n, rule("log"))
    assert resolution == pytest.approx(t.mutual_information(n), abs=1e-12)
    assert t.entropy(n) - t.conditional_entropy(n) == pytest.approx(t.mutual_information(n), abs=1e-12)
    assert t.g2(n) == pytest.approx(2 * n.sum() * t.mutual_information(n), abs=1e-9)
    assert t.mcfadden_r2(n) == pytest.approx(t.normalized_mutual_information(n), abs=1e-12)


@given(counts())
def test_chi_squares_agree_with_scipy(n):
    for mine, which in ((t.x2(n), "pearson"), (t.g2(n), "log-likelihood")):
        theirs = stats.chi2_contingency(n, correction=False, lambda_=which)
        assert mine == pytest.approx(theirs.statistic, abs=1e-9)
        assert t.degrees_of_freedom(n) == theirs.dof
        # the statistic is a difference of large sums, so a p of 1e-40 agrees to fewer digits
        assert t.chi_square_tail(mine, theirs.dof) == pytest.approx(theirs.pvalue, rel=1e-8, abs=1e-300)


@pytest.mark.parametrize("df", [1, 2, 3, 4, 7, 10, 33])
@pytest.mark.parametrize("x", [0.0, 1e-8, 0.3, 3.84, 50.0, 700.0])
def test_chi_square_tail_equals_scipy(df, x):
    assert t.chi_square_tail(x, df) == pytest.approx(stats.chi2.sf(x, df), rel=1e-11, abs=1e-310)


@given(st.integers(1, 20_000), st.data(), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_exact_interval_has_the_binomial_tails(n, data, level):
    x = data.draw(st.integers(0, n))
    (low,), (high,) = intervals.clopper_pearson([x], [n], level)
    tail = (1 - level) / 2
    assert low == 0 if x == 0 else stats.binom.sf(x - 1, n, low) == pytest.approx(tail, rel=1e-9)
    assert high == 1 if x == n else stats.binom.cdf(x, n, high) == pytest.approx(tail, rel=1e-9)


@given(st.integers(1, 200), st.data(), st.sampled_from([0.5, 0.95]))
@settings(max_examples=30)
def test_wilson_interval_agrees_with_scipy(n, data, level):
    x = data.draw(st.integers(0, n))
    theirs = stats.binomtest(x, n).proportion_ci(level, method="wilson")
    low, high = wilson(x / n, n, level)
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize(("x", "n"), [(0, 1), (1, 10**6), (500_000, 10**6), (10**6 - 1, 10**6), (3.25, 7.5)])
def test_exact_interval_of_many_or_fractional_cases(x, n):
    low, high = intervals.clopper_pearson([x], [n], 0.95)
    assert low[0] == pytest.approx(stats.beta.ppf(0.025, x, n - x + 1) if x else 0.0, rel=1e-9)
    assert high[0] == pytest.approx(stats.beta.ppf(0.975, x + 1, n - x), rel=1e-9)


@given(st.lists(st.integers(0, 30), min_size=4, max_size=4))
def test_fisher_agrees_with_scipy(cells):
    n = np.array(cells, float).reshape(2, 2)
    assume((n.sum(0) > 0).all() and (n.sum(1) > 0).all())
    assert t.fisher_p(n) == pytest.approx(stats.fisher_exact(n).pvalue, rel=1e-7)


def test_fisher_of_many_cases():
    assert t.fisher_p([[50_000, 49_000], [49_500, 49_900]]) == pytest.approx(
        stats.fisher_exact([[50_000, 49_000], [49_500, 49_900]]).pvalue, rel=1e-6
    )


@pytest.mark.parametrize("cells", [[[5, 2, 1], [3, 4, 6]], [[9, 1], [4, 4], [2, 7]]])
def test_permutation_p_agrees_with_all_tables(cells):
    """Against shuffled cases, 20,000 times: three standard errors."""
    n = np.array(cells)
    rows = np.repeat(np.arange(n.shape[0]), n.sum(1))
    columns = np.concatenate([np.repeat(np.arange(n.shape[1]), line) for line in n])
    rng = np.random.default_rng(1)
    draws = []
    for _ in range(4_000):
        shuffled = np.zeros(n.shape)
        np.add.at(shuffled, (rows, rng.permutation(columns)), 1)
        draws.append(t.g2(shuffled) >= t.g2(n) - 1e-9)
    p = np.mean(draws)
    assert t.permutation_p(n, 9_999, 0) == pytest.approx(p, abs=3 * np.sqrt(p * (1 - p) * (1 / 4_000 + 1 / 9_999)))


def test_permutation_p_is_seeded():
    n = [[5, 2, 1], [3, 4, 6]]
    assert t.permutation_p(n, 999, 0) == t.permutation_p(n, 999, 0)


@given(counts(outcomes=2))
def test_saturated_logit_gives_the_predictive_values_back(n):
    assume((n > 0).all())
    b, error = t.saturated_logit(n)
    odds = np.concatenate([b[:1, 0], b[0, 0] + b[1:, 0]])
    assert 1 / (1 + np.exp(-odds)) == pytest.approx(t.predictive_values(n)[:, 1], abs=1e-12)
    # inverse of the Fisher information X' W X of the model with an intercept and one column per other category
    design = np.column_stack([np.ones(len(n)), np.eye(len(n))[:, 1:]])
    weight = n.prod(1) / n.sum(1)
    information = design.T @ (weight[:, None] * design)
    assert error[:, 0] == pytest.approx(np.sqrt(np.diag(np.linalg.inv(information))), rel=1e-9)


@given(counts(outcomes=2), st.floats(0.0, 1.0))
def test_updating_keeps_the_likelihoods_and_returns_at_the_own_prior(n, prevalence):
    own = t.posterior(t.likelihoods(n), t.prior(n))
    assert own == pytest.approx(t.predictive_values(n), abs=1e-12)
    d = t.posterior(t.likelihoods(n), [1 - prevalence, prevalence])
    assert d.sum(1) == pytest.approx(1.0, abs=1e-12) or prevalence in (0.0, 1.0)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0.01, 0.99))
def test_rates_make_the_table_that_has_them(sens, spec, prior):
    n = t.shares_from_rates(sens, spec, prior)
    assume((n.sum(1) > 0).all())
    assert t.sensitivity(n)[0] == pytest.approx(sens, abs=1e-12)
    assert t.specificity(n)[0] == pytest.approx(spec, abs=1e-12)
    assert t.prior(n)[1] == pytest.approx(prior, abs=1e-12)


@pytest.mark.parametrize("scoring", RULES, ids=str)
@settings(max_examples=30)
@given(p=st.floats(0.001, 0.999), q=st.floats(0.0, 1.0))
def test_tangents_touch_the_curve_and_stay_below_it(scoring, p, q):
    slope, at_0, _ = t.tangents(p, scoring)
    scale = 1.0 + abs(slope)
    assert at_0 + slope * p == pytest.approx(float(t.curve(p, scoring)), abs=1e-12 * scale)
    gap = float(t.curve(q, scoring)) - (at_0 + slope * q)
    assert gap >= -1e-12 * scale
    assert gap == pytest.approx(float(scoring.divergence([1 - p, p], [1 - q, q])), abs=1e-12 * scale)


@given(counts())
def test_merging_categories_never_adds_resolution(n):
    merged = np.vstack([n[0] + n[1], n[2:]])
    for scoring in RULES:
        whole = t.category_shares(n) @ t.resolutions(n, scoring)
        assert t.category_shares(merged) @ t.resolutions(merged, scoring) <= whole + 1e-12


def test_a_forecast_that_was_ruled_out_stays_infinite():
    n, f = [[9, 1], [2, 8]], [[1.0, 0.0], [0.2, 0.8]]
    assert t.score(n, f, rule("log")) == np.inf
    assert t.reliabilities(n, f, rule("log"))[0] == np.inf
    assert np.isfinite(t.score(n, f, rule("half_brier")))
    # 0 ln 0 = 0: the same forecast without the event that it ruled out is finite
    assert np.isfinite(t.score([[9, 0], [2, 8]], f, rule("log")))


@pytest.mark.parametrize("n", [[[1, -1], [2, 3]], [[0, 0], [2, 3]], [[0, 1], [0, 3]], [1, 2], [[np.nan, 1], [2, 3]]])
def test_invalid_tables_are_refused(n):
    with pytest.raises(ValueError, match="counts"):
        t.prior(n)


@pytest.mark.parametrize(("x", "n", "y", "m"), [(12, 68, 2, 85), (56, 68, 83, 85), (5, 9, 40, 4000)])
def test_limits_of_a_likelihood_ratio_are_those_of_a_relative_risk(x, n, y, m):
    from scipy.stats.contingency import relative_risk

    limits = relative_risk(x, n, y, m).confidence_interval(0.9)
    assert intervals.ratio_limits(x, n, y, m, 0.9) == pytest.approx(tuple(limits), rel=1e-12)
    assert all(np.isnan(intervals.ratio_limits(0, n, y, m, 0.9)))
