"""N17's source probability: what wrong weights cost, how bins bias it, and the reading of Fig 7."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import digamma
from sklearn.isotonic import IsotonicRegression

from papers._population import Population
from veracity.estimate.means import curves
from veracity.inputs import Forecasts
from veracity.simulate import EXAMPLES, simulate
from veracity.state.plan import Plan
from veracity.state.tally import Tally

HUNDREDTHS = tuple(i / 100 for i in range(1, 100))
POPULATION = cache(lambda name: Population(EXAMPLES[name][1]))


def entries(f: Forecasts) -> tuple[np.ndarray, np.ndarray]:
    """Every column entry, clipped at 0.01 on both sides, and which of them came true."""
    happened = np.zeros(f.matrix.shape, dtype=bool)
    happened[np.arange(len(f)), f.outcomes] = True
    return np.clip(f.matrix, 0.01, 0.99).ravel(), happened.ravel()


def unweighted(fractions: np.ndarray) -> float:
    """(19) as it is printed, m = 0: every bin counts the same."""
    return float(np.exp(np.log(fractions[fractions > 0]).mean()))


# ---- weights --------------------------------------------------------------------------------------------------------

# Bias of equal numbers of ALL entries, unweighted.
EQUAL_ALL = {
    ("matched", 200): -0.235,
    ("matched", 1000): -0.231,
    ("matched", 5000): -0.228,
    ("mean-1", 1000): -0.193,
    ("tail-0", 1000): -0.223,
}


@pytest.mark.parametrize(("example", "n"), EQUAL_ALL)
def test_equal_numbers_of_all_entries_without_weights_are_wrong(example, n):
    found = []
    for seed in range(40):
        u, happened = entries(simulate(f"n17-{example}", n, seed=seed))
        parts = np.array_split(np.argsort(u, kind="stable"), 20)
        found.append(unweighted(np.array([happened[part].mean() for part in parts])))
    bias = np.mean(found) - POPULATION(example).pooled[1]
    # Three standard errors of the difference from 200 draws; 0.002: the number of bins is not given.
    allowed = 3 * np.std(found, ddof=1) * math.sqrt(1 / 40 + 1 / 200) + 0.002 + 5e-4
    assert bias == pytest.approx(EQUAL_ALL[example, n], abs=allowed)
    if (example, n) == ("matched", 1000):
        assert np.mean(found) == pytest.approx(0.383, abs=allowed)


def test_the_literal_unweighted_form_of_19_is_off():
    found = []
    for seed in range(40):
        u, happened = entries(simulate("n17-matched", 1000, seed=seed))
        k = np.floor(u * 100 + 1e-9).astype(int)
        every, hits = np.bincount(k, minlength=100), np.bincount(k[happened], minlength=100)
        found.append(unweighted(hits[every > 0] / every[every > 0]))
    assert np.mean(found) - POPULATION("matched").true[1] == pytest.approx(-0.19, abs=5e-3)


# Calibrated Dirichlet(0.8) of three classes, N = 1003, one draw: decisiveness, geometric accuracy, robustness.
ONE_DRAW = (0.53485, 0.46160, 0.38578)
UNWEIGHTED_HUNDREDTHS = (0.50521, 0.38532, 0.27014)
OF_GEOMETRIC_MEANS = (0.53261, 0.46157, 0.40184)  # ten bins


def test_wrong_means_of_bins_in_one_draw():
    """The quoted draw beside 60: the mean itself, and how far the wrong forms move from it."""
    powers = (1.0, 0.0, -2 / 3)

    def mean(of: list[np.ndarray], m: float) -> float:
        """Unweighted over bins; within a bin the m-th powers are averaged, as (18) has it."""
        inner = np.array([np.mean(x**m if m else np.log(x)) for x in of])
        return float(np.mean(inner) ** (1 / m) if m else np.exp(np.mean(inner)))

    drawn = []
    for seed in range(60):
        p = np.sort(simulate("dirichlet-3-calibrated", 1003, seed=seed).realised)
        k = np.floor(100 * p).astype(int)
        hundredths = [p[k == j] for j in np.unique(k)]
        geometric = [np.exp(np.log(x).mean()) for x in np.array_split(p, 10)]
        rows = [mean([p], m) for m in powers]
        wrong = [[mean(hundredths, m) for m in powers], [mean([np.array(geometric)], m) for m in powers]]
        drawn.append([rows, *(np.subtract(one, rows) for one in wrong)])
    quoted = [ONE_DRAW, *(np.subtract(one, ONE_DRAW) for one in (UNWEIGHTED_HUNDREDTHS, OF_GEOMETRIC_MEANS))]
    values = np.array(drawn)
    # 1e-3: where the three larger of ten bins lie is not given.
    allowed = 3 * values.std(axis=0, ddof=1) * math.sqrt(1 + 1 / 60) + [[5e-6], [5e-6], [1e-3]]
    assert np.all(np.abs(values.mean(axis=0) - quoted) < allowed)


# ---- bias and spread ------------------------------------------------------------------------------------------------


def test_predicted_bias_of_hundredths():
    """ln of the source is inflated by B/(4N): 76 bins hold the posteriors of Fig 2, so by 0.0117 at N = 1000."""
    both = POPULATION("matched")._columns[0] + POPULATION("matched")._columns[1]
    filled = int((both[1] > 0).sum())
    assert filled == 76
    assert POPULATION("matched").true[1] * filled / 4000 == pytest.approx(0.0117, abs=5e-5)


def test_sampling_floor_in_closed_form():
    """Geometric accuracy times sd(ln p)/√N: 0.011 at N = 1000."""
    case = EXAMPLES["matched"][1]

    def moment(power: int) -> float:
        def integrand(x: float) -> float:
            return float(case.source[1].pdf(x)) * float(-np.logaddexp(0.0, -case.true_log_odds(x))) ** power

        ends = (-math.inf, -5.0, 0.0, 2.0, 7.0, math.inf)
        return sum(quad(integrand, a, b, limit=200)[0] for a, b in itertools.pairwise(ends))

    assert math.exp(moment(1)) == pytest.approx(POPULATION("matched").true[1], abs=1e-9)
    spread = math.exp(moment(1)) * math.sqrt(moment(2) - moment(1) ** 2)
    assert spread / math.sqrt(1000) == pytest.approx(0.011, abs=5e-4)
    assert spread / math.sqrt(5000) == pytest.approx(0.0046, abs=0.0046 * 3 / math.sqrt(2 * 200))  # an sd of 200 draws


# Bias and RMSE of isotonic regression on its own sample, against the per-class truth.
ISOTONIC = {
    ("matched", 200): (0.031, 0.041),
    ("matched", 1000): (0.009, 0.014),
    ("matched", 5000): (0.0030, 0.0055),
    ("mean-1", 1000): (0.008, 0.014),
    ("tail-0", 1000): (0.004, 0.012),
    ("tail-0-orange", 1000): (0.004, 0.011),
}


@pytest.mark.parametrize(("example", "n"), ISOTONIC)
def test_isotonic_regression_in_sample_flatters(example, n):
    errors = []
    for seed in range(60):
        f = simulate(f"n17-{example}", n, seed=seed)
        u, y = np.clip(f.matrix[:, 1], 0.01, 0.99), np.asarray(f.outcomes)
        fitted = IsotonicRegression().fit_transform(u, y)
        errors.append(np.exp(np.log(np.where(y == 1, fitted, 1 - fitted)).mean()) - POPULATION(example).calibrated[1])
    bias, rmse = ISOTONIC[example, n]
    half = 5e-5 if n == 5000 else 5e-4
    assert np.mean(errors) == pytest.approx(bias, abs=3 * rmse * math.sqrt(1 / 60 + 1 / 200) + half)
    assert math.sqrt(np.mean(np.square(errors))) == pytest.approx(rmse, rel=3 * math.sqrt(1 / 120 + 1 / 400), abs=half)
    assert np.mean(errors) > 0


def test_halving_wide_bins_removes_the_bias_of_coarse_ones():
    """Two classes, N = 10⁴, 50 bins: −0.0056 → −0.0005 for a source that is not named; here Dirichlet(½), 30 draws."""
    truth = math.exp(digamma(1.5) - digamma(2.0))
    errors: dict[bool, list[float]] = {False: [], True: []}
    for seed in range(30):
        rng = np.random.default_rng(seed)
        p = rng.beta(0.5, 0.5, 10_000)
        f = Forecasts(np.column_stack([1 - p, p]), (rng.random(10_000) < p).astype(int), (0, 1))
        t = Tally.of(f, plan=Plan())
        for split, found in errors.items():
            curve = curves.fit("bins", t.pooled, t.grid, bins=50, end_width=0.0, split=split)
            found.append(float(curve.corrected(np.zeros(1))[0]) - truth)
    for split, bias in ((False, -0.0056), (True, -0.0005)):
        assert np.mean(errors[split]) == pytest.approx(bias, abs=3 * np.std(errors[split], ddof=1) / math.sqrt(30))


def test_the_clipped_probability_is_not_the_lowest():
    """Fig 7: of forecasts at 0.01 a fifth come true, just above it fewer: no monotone curve fits heavy tails."""
    green, orange = EXAMPLES["tail-0"][1].source
    x = 1 - math.log(99) / 2  # the model's log odds are 2x − 2
    assert EXAMPLES["tail-0"][1].log_odds(x) == pytest.approx(-math.log(99), abs=1e-12)
    at_the_limit = orange.cdf(x) / (orange.cdf(x) + green.cdf(x))
    just_inside = orange.pdf(x) / (orange.pdf(x) + green.pdf(x))
    assert at_the_limit == pytest.approx(0.200, abs=5e-4)
    assert just_inside < 0.14


# ---- Figure 7 -------------------------------------------------------------------------------------------------------


def rounded(model: float, source: float) -> bool:
    return (round(model, 2), round(source, 2), round(model / source, 2)) == (0.56, 0.62, 0.90)


@pytest.mark.parametrize(
    ("example", "centre", "first", "last"),
    [("tail-0", 1, 7.75, 9.0), ("tail-0", 0, 8.0, 9.25), ("tail-0-orange", 1, 8.25, 9.0)],
)
def test_which_plotted_ranges_give_the_three_roundings(example, centre, first, last):
    hits = []
    for half_width in np.arange(first - 0.5, last + 0.51, 0.25):
        p = Population(EXAMPLES[example][1], low=centre - half_width, high=centre + half_width)
        if rounded(p.model[1], p.true[1]):
            hits.append(half_width)
        assert not rounded(p.model[1], p.calibrated[1])  # the binned source never hits
    assert (min(hits), max(hits)) == (first, last)
    assert len(hits) == (last - first) / 0.25 + 1


# N: means of the source and of the divergence probability, share of draws that hit all three roundings.
SIMULATED = {
    500: (0.648, 0.843, 0.00),
    1000: (0.629, 0.870, 0.00),
    2000: (0.620, 0.882, 0.05),
    5000: (0.615, 0.889, 0.12),
    10000: (0.6135, 0.891, 0.07),
}


@pytest.mark.parametrize("n", SIMULATED)
def test_simulated_figure_7_has_the_published_means(n):
    drawn = []
    for seed in range(100):
        f = simulate("n17-tail-0", n, seed=seed)
        f = replace(f, probabilities=np.clip(f.matrix, 0.01, 0.99))
        t = Tally.of(f, plan=Plan(preset="N17"))
        source = float(curves.fit("width", t.pooled, t.grid, cuts=HUNDREDTHS).means(np.zeros(1))[0])
        drawn.append((float(np.exp(np.log(f.realised).mean())), source))
    model, source = np.array(drawn).T
    expected, divergence, share = SIMULATED[n]
    for values, value, half in ((source, expected, 5e-5 if n == 10000 else 5e-4), (model / source, divergence, 5e-4)):
        # Their number of draws is not given; ours is 100, theirs is taken as no fewer.
        assert values.mean() == pytest.approx(value, abs=3 * values.std(ddof=1) * math.sqrt(2 / 100) + half)
    hits = np.mean([rounded(*pair) for pair in drawn])
    assert abs(hits - share) < 3 * math.sqrt(2 * max(share, 0.01) * (1 - share) / 100) + 0.005


def test_without_a_limit_the_geometric_accuracy_of_the_orange_model_is_0():
    """ln q falls as −x²/2 and the source as x^−3: the integral grows with the logarithm of its end, without bound."""
    case = EXAMPLES["tail-0-orange"][1]

    def part(a: float, b: float) -> float:
        def integrand(x: float) -> float:
            return float(case.source[1].pdf(x)) * float(-np.logaddexp(0.0, -case.log_odds(x)))

        return quad(integrand, a, b, limit=200)[0]

    decades = [part(10.0**k, 10.0 ** (k + 1)) for k in (2, 3, 4)]
    assert decades == pytest.approx([decades[-1]] * 3, rel=0.02)
    # x^−3 has the factor 1 at ν = 2 (density (2 + x²)^(−3/2)): −∫ x²/2 · x^−3 = −ln(10)/2 a decade.
    assert decades[-1] == pytest.approx(-math.log(10) / 2, rel=1e-3)
