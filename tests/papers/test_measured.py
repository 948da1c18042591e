"""Measured means (N17 eqs 15–19, CQ): the binning rule by hand, population values, and the bias of each estimator."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.special import digamma, gammaln

import veracity as vc
from papers._population import Population
from veracity.estimate.means import curves
from veracity.inputs import Forecasts
from veracity.simulate import EXAMPLES, simulate
from veracity.state.plan import Plan
from veracity.state.tally import Tally

MEANS = ("decisiveness", "geometric_accuracy", "robustness")
R = np.array([1.0, 0.0, -2.0 / 3.0])
HUNDREDTHS = tuple(i / 100 for i in range(1, 100))


def mean(values: np.ndarray, weights: np.ndarray, r: float) -> float:
    share = weights / weights.sum()
    return float(np.exp(share @ np.log(values)) if r == 0.0 else (share @ values**r) ** (1.0 / r))


# ---- the rule of equal true counts, by hand and by plain code on raw values -----------------------------------------


def test_bins_equal_those_by_hand() -> None:
    """B = 2 and ends of width 0.1: of nine true entries seven lie between the ends, in parts of four and three."""
    p = np.array([0.05, 0.2, 0.3, 0.4, 0.4, 0.6, 0.7, 0.8, 0.95])
    a = vc.assess(np.ones(9, dtype=int), p, labels=[0, 1], bins=2, end_width=0.1)
    bins = a.bins
    assert [(b.low, b.high) for b in bins] == [(0.0, 0.1), (0.1, 0.5), (0.5, 0.9), (0.9, 1.0)]
    # The other column holds 1 − p, none of it true.
    assert [b.count for b in bins] == [2, 7, 7, 2]
    assert [b.true for b in bins] == [1, 4, 3, 1]
    assert [b.source for b in bins] == pytest.approx([1 / 2, 4 / 7, 3 / 7, 1 / 2], rel=1e-12)
    assert bins[1].model == pytest.approx((0.2 * 0.3 * 0.4 * 0.4) ** 0.25, rel=1e-12)
    assert bins[1].contribution == pytest.approx(-math.log(0.2 * 0.3 * 0.4 * 0.4) / 9, rel=1e-12)
    # N17 eq 17: weight P_k / Σ P, here (4/7) / 2.
    assert bins[1].contribution_eq17 == pytest.approx(-(2 / 7) * math.log(0.0096) / 4, rel=1e-12)
    assert a.papers.published.measured.decisiveness == pytest.approx((1 / 2 + 16 / 7 + 9 / 7 + 1 / 2) / 9, rel=1e-12)
    in_logs = (2 * math.log(1 / 2) + 4 * math.log(4 / 7) + 3 * math.log(3 / 7)) / 9
    assert a.papers.published.measured.geometric_accuracy == pytest.approx(math.exp(in_logs), rel=1e-12)


def test_corrected_means_equal_those_by_hand() -> None:
    """S_m^m = (1/N) Σ [N*_k c_k^m − m(m+1)/2 c_k^m (1−c_k)], ln S_0 = (1/N) Σ [N*_k ln c_k − (1−c_k)/2]."""
    p = np.repeat([0.2, 0.7], [5, 10])
    y = np.repeat([1, 0, 1, 0], [1, 4, 8, 2])
    a = vc.assess(y, p, bins=20)  # more than 15/20 of an entry in each cell: every value is a bin
    assert [b.source for b in a.bins] == pytest.approx([1 / 5, 2 / 10, 8 / 10, 4 / 5])
    assert [b.true for b in a.bins] == [1, 2, 8, 4]  # 0.2, 0.3, 0.7, 0.8
    c, true = np.array([0.2, 0.2, 0.8, 0.8]), np.array([1, 2, 8, 4])
    found = a.papers.by_curve("bins")
    assert found["geometric_accuracy"] == pytest.approx(np.exp((true @ np.log(c) - np.sum(1 - c) / 2) / 15), rel=1e-12)
    assert found["decisiveness"] == pytest.approx(np.sum(true * c - c * (1 - c)) / 15, rel=1e-12)
    power = np.sum((true + (1 - c) / 9) * c ** (-2 / 3)) / 15  # m(m+1)/2 = −1/9 at m = −2/3
    assert found["robustness"] == pytest.approx(power**-1.5, rel=1e-12)


def test_a_crowded_value_is_a_bin_of_its_own() -> None:
    p = np.array([0.12, 0.2, 0.3, 0.3, 0.3, 0.3, 0.3, 0.6, 0.8])
    a = vc.assess(np.ones(9, dtype=int), p, labels=[0, 1], bins=2, end_width=0.1)
    crowded = next(b for b in a.bins if b.low == b.high == 0.3)  # percents are cells of their own
    assert (crowded.count, crowded.true) == (5, 5)  # five of nine are more than 9/2
    # Two stretches of two of the four others: max(1, round(2 · 2/4)) = 1 bin each.
    assert [b.true for b in a.bins] == [2, 5, 2]


def by_plain_code(t: Tally, p: np.ndarray, y: np.ndarray, bins: int, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Counts of all and of true entries in the bins of theory section 3 step 3, entry by entry from the raw values."""
    edges, atoms = [*t.grid.edges.tolist(), 1.0], {t.grid.atom(cut) for cut in t.grid.cuts}

    def cell(u: float) -> int:
        return bisect_right(edges[:-1], u) - 1

    true = sorted(float(u) for u in p[np.arange(len(y)), y])
    held: dict[int, list[float]] = {}
    for u in true:
        held.setdefault(cell(u), []).append(u)
    left, right = cell(width), cell(1 - width)
    singular = [c for c, inside in held.items() if left <= c < right and len(inside) > len(true) / bins]
    rest = [u for u in true if left <= cell(u) < right and cell(u) not in singular]
    starts = {0, left, right, *singular, *(c + 1 for c in singular)}
    for low, high in zip([left, *(c + 1 for c in singular)], [*singular, right], strict=True):
        part = [u for u in rest if low <= cell(u) < high]
        if not part:
            continue
        shares = np.array_split(part, max(1, round(bins * len(part) / len(rest))))
        for i in np.cumsum([len(share) for share in shares])[:-1]:
            a, b = cell(part[i - 1]), cell(part[i])
            if a == b:
                start = a  # ties go up
            else:
                middle = (np.mean(held[a]) + np.mean(held[b])) / 2
                at = cell(middle)
                nearer_above = edges[at + 1] - middle <= middle - edges[at] and at not in atoms
                start = min(max(at + nearer_above, a + 1), b)
            if low < start < high:
                starts.add(start)
    lower = np.array([edges[c] for c in sorted(starts)])
    every = np.bincount(np.searchsorted(lower, p.ravel(), side="right") - 1, minlength=len(lower))
    own = np.bincount(np.searchsorted(lower, true, side="right") - 1, minlength=len(lower))
    return every[every > 0], own[every > 0]


@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("bins", [1, 5, 20, 50])
@pytest.mark.parametrize("width", [0.005, 0.05])
def test_bins_equal_plain_code(k: int, bins: int, width: float) -> None:
    rng = np.random.default_rng(k * bins)
    p = rng.dirichlet(np.full(k, 0.6), 700)
    p[:100] = [0.3, 0.7, *[0.0] * (k - 2)]  # crowded cells
    p[100:130] = [1.0, *[0.0] * (k - 1)]
    y = np.minimum((p.cumsum(axis=1) < rng.random((700, 1))).sum(axis=1), k - 1)
    t = Tally.of(Forecasts(p, y, tuple(range(k))), plan=Plan(bins=bins, end_width=width))
    curve = curves.fit("bins", t.pooled, t.grid, bins=bins, end_width=width, split=False)
    count, true = by_plain_code(t, p, y, bins, width)
    np.testing.assert_array_equal(curve.count, count)
    np.testing.assert_array_equal(curve.true, true)
    a = vc.assess(y, p, bins=bins, end_width=width)
    some = true > 0
    for name, r in zip(MEANS, R, strict=True):
        assert a.papers.published.measured.reading(name) == pytest.approx(
            mean(true[some] / count[some], true[some], r), rel=1e-12
        )


def test_wide_bins_are_halved_until_few_entries_are_left() -> None:
    """Upper ÷ lower edge above 2 and 8 or more true entries: halved, both halves with 4 or more; never for `plain`."""
    f = simulate("dirichlet-10-calibrated", 2000, seed=4)
    t = Tally.of(f, plan=Plan())
    plain, split = (
        curves.fit("bins", t.pooled, t.grid, bins=20, end_width=0.005, split=halve) for halve in (False, True)
    )
    assert set(plain.start) < set(split.start)
    assert split.true.sum() == plain.true.sum() == 2000
    new = ~np.isin(split.start, plain.start)
    assert np.all(split.true[new] >= 4)
    with np.errstate(divide="ignore"):
        wide = split.high / split.low > 2.0
    assert np.all(split.true[wide] < 2 * 8)  # 8 … 15 stay together only where ties do not let them be halved


def test_automatic_number_of_bins() -> None:
    for n, expected in ((30, 5), (123, 12), (499, 49), (5000, 50)):
        y, p = simulate("n17-matched", n, seed=n).outcomes, simulate("n17-matched", n, seed=n).matrix
        auto, given = vc.assess(y, p), vc.assess(y, p, bins=expected)
        assert auto.bins == given.bins


# ---- presets --------------------------------------------------------------------------------------------------------


def test_preset_n17_by_plain_code() -> None:
    """Clipped at 0.01 on both sides, bins of width 0.01 weighted by true counts, the limits in bins of their own."""
    f = simulate("n17-tail-0", 3000, seed=1)
    u = np.clip(f.matrix, 0.01, 0.99)
    edges = np.array([0.0, *HUNDREDTHS, 0.99])
    edges = np.sort(np.append(edges[:-1], [np.nextafter(0.01, 1)]))
    which = np.searchsorted(edges, u, side="right") - 1
    own = which[np.arange(3000), f.outcomes]
    count, true = np.bincount(which.ravel(), minlength=len(edges)), np.bincount(own, minlength=len(edges))
    held = true > 0
    a = vc.assess(f, preset="N17")
    for name, r in zip(MEANS, R, strict=True):
        source = np.maximum(true[held] / count[held], 0.01)
        assert a.papers.published.measured.reading(name) == pytest.approx(mean(source, true[held], r), rel=1e-12)
        assert a.reported.reading(name) == pytest.approx(
            mean(u[np.arange(3000), f.outcomes], np.ones(3000), r), rel=1e-12
        )
    assert a.bins[0].count == count[edges == 0.01].sum()


def test_preset_cq_by_plain_code() -> None:
    """γ = 0.005: floor under both, and the width of the end bins."""
    f = simulate("cq-densenet-gtsrb-sharp", 1000, seed=2)
    a = vc.assess(f, preset="CQ", bins=20)
    realised = np.maximum(f.realised, 0.005)
    bins = [(b.count, b.true) for b in a.bins if b.true]
    count, true = np.array(bins).T
    for name, r in zip(MEANS, R, strict=True):
        assert a.reported.reading(name) == pytest.approx(mean(realised, np.ones(1000), r), rel=1e-12)
        expected = mean(np.maximum(true / count, 0.005), true.astype(float), r)
        assert a.papers.published.measured.reading(name) == pytest.approx(expected, rel=1e-12)
    assert (a.bins[0].low, a.bins[0].high) == (0.0, 0.005)
    assert (a.bins[-1].low, a.bins[-1].high) == (0.995, 1.0)
    assert a.bins[0].true == np.sum(f.realised < 0.005)
    assert a.bins[-1].true == np.sum(f.realised >= 0.995)


# ---- population values ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["matched", "mean-1", "tail-0", "tail-0-orange", "variance-2"])
def test_a_large_sample_meets_the_population(name: str) -> None:
    """Preset N17 on 200,000 rows against quadrature: within 3.5 standard errors, those of other draws for its bins."""
    f, population = simulate(f"n17-{name}", 200_000, seed=11), Population(EXAMPLES[name][1])
    a = vc.assess(f, preset="N17")
    published = a.papers.N17
    small = [vc.assess(simulate(f"n17-{name}", 20_000, seed=seed), preset="N17").papers.N17 for seed in range(20)]

    def error(of: Callable[[Any], float]) -> float:
        """That of 200,000 rows, from 20 draws of 20,000, which know it to a sixth."""
        return float(np.std([of(one) for one in small], ddof=1)) / math.sqrt(10)

    for i, mean_ in enumerate(MEANS):
        reported, truth = a.reported.reading(mean_), population.model[i]
        assert abs(reported - truth) < 3.5 * (reported.high - reported.low) / 2 / 1.959964 + 1e-5
        # Bins of width 0.01 hold up to 1e-4 more than the population's because edges are closed on one side.
        of_measured = error(lambda one, mean_=mean_: one.measured.reading(mean_))
        assert abs(published.measured.reading(mean_) - population.pooled[i]) < 3.5 * 1.2 * of_measured + 1e-5
        of_ratio = error(lambda one, mean_=mean_: one.divergence.reading(mean_))
        assert abs(published.divergence.reading(mean_) - truth / population.pooled[i]) < 3.5 * 1.2 * of_ratio + 1e-5
    of_spread = error(lambda one: one.spread_ratio)
    assert abs(published.spread_ratio - 1.0 / population.slope(population.pooled)) < 3.5 * 1.2 * of_spread


@pytest.mark.slow
def test_draws_have_the_published_means_of_the_population() -> None:
    """The three means of every κ = 0.5 source, and of the model with κ = 0 (theory section 11), from 10⁶ draws."""
    matched = vc.assess(simulate("n17-matched", 1_000_000, seed=5))
    for section in (matched.reported, matched.measured):
        found = [section.reading(name) for name in MEANS]
        assert found == pytest.approx((0.687288, 0.614452, 0.541814), abs=0.0015)  # sd of a mean: 0.0004 at most
    assert [matched.divergence.reading(name) for name in MEANS] == pytest.approx((1, 1, 1), abs=0.001)
    assert matched.spread_ratio == pytest.approx(1.0, abs=0.01)
    assert matched.scores.accuracy == pytest.approx(0.788675, abs=0.0015)
    assert matched.scores.auc == pytest.approx(0.841648, abs=0.0015)
    tail = vc.assess(simulate("n17-tail-0", 1_000_000, seed=5), preset="N17")
    assert [tail.reported.reading(name) for name in MEANS] == pytest.approx((0.734392, 0.546804, 0.255884), abs=0.002)
    published = tail.papers.N17
    assert published.measured.geometric_accuracy == pytest.approx(0.612145, abs=0.0015)
    assert published.divergence.geometric_accuracy == pytest.approx(0.893258, abs=0.002)
    assert 1.0 / published.spread_ratio == pytest.approx(3.316, abs=0.03)
    assert tail.scores.accuracy == pytest.approx(0.788675, abs=0.0015)
    assert tail.scores.auc == pytest.approx(0.825254, abs=0.0015)


def test_without_a_limit_the_tail_decides() -> None:
    """Figs 6c and 7 with q_lim = 0: the mean of q^(−2/3) diverges, so robustness falls with n and has no interval."""
    small, large = (vc.assess(simulate("n17-tail-0", n, seed=1)) for n in (2_000, 200_000))
    assert large.reported.robustness < small.reported.robustness < 0.2
    assert large.reported.robustness.low is None
    assert {"rows_decide", "zero_probability"} & {finding.code for finding in large.findings}


# ---- bias of the estimators (theory section 3) ----------------------------------------------------------------------

WIDTH: dict[str, Any] = {"name": "width", "cuts": HUNDREDTHS}
EQUAL_20: dict[str, Any] = {"name": "bins", "bins": 20, "end_width": 0.0, "split": False}
EQUAL_50: dict[str, Any] = {"name": "bins", "bins": 50, "end_width": 0.0, "split": False}
SPLIT_50: dict[str, Any] = EQUAL_50 | {"split": True}


def estimate(t: Tally, options: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Plain and corrected means."""
    curve = curves.fit(histogram=t.pooled, grid=t.grid, **options)
    return curve.means(R), curve.corrected(R)


@cache
def drawn(example: str, n: int, draws: int) -> tuple[Tally, ...]:
    """Tallies of N17's examples, clipped at q_lim = 0.01 as in the table."""
    found = []
    for seed in range(draws):
        f = simulate(f"n17-{example}", n, seed=seed)
        found.append(Tally.of(replace(f, probabilities=np.clip(f.matrix, 0.01, 0.99)), plan=Plan(preset="N17")))
    return tuple(found)


# Bias and RMSE of the source's geometric accuracy: 0.01 bins, corrected, B = 20, B = 50, B = 50 corrected.
TABLE = {
    ("matched", 200): ((0.074, 0.080), (0.041, 0.052), (0.011, 0.027), (0.024, 0.035), (0.003, 0.026)),
    ("matched", 1000): ((0.012, 0.017), (0.001, 0.012), (0.001, 0.011), (0.004, 0.012), (-0.001, 0.011)),
    ("matched", 5000): ((0.0023, 0.0052), (0.0, 0.0046), (-0.0004, 0.0046), (0.0008, 0.0046), (-0.0002, 0.0045)),
    ("mean-1", 1000): ((0.007, 0.013), (0.0, 0.010), (0.002, 0.010), (0.005, 0.011), (-0.0, 0.010)),
    ("tail-0", 1000): ((0.016, 0.020), (0.001, 0.012), (-0.0, 0.011), (0.003, 0.012), (-0.001, 0.011)),
    ("tail-0-orange", 1000): ((0.015, 0.019), (0.001, 0.011), (-0.001, 0.010), (0.003, 0.011), (-0.001, 0.010)),
}


def biases(example: str, n: int, draws: int) -> list[tuple[float, float]]:
    truth = Population(EXAMPLES[example][1]).pooled[1]
    found = []
    for options, which in ((WIDTH, 0), (WIDTH, 1), (EQUAL_20, 0), (EQUAL_50, 0), (SPLIT_50, 1)):
        errors = np.array([estimate(t, options)[which][1] for t in drawn(example, n, draws)]) - truth
        found.append((float(errors.mean()), float(np.sqrt(np.mean(errors**2)))))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("example", "n"), TABLE)
def test_bias_of_measured_means_is_that_of_the_table(example: str, n: int) -> None:
    half = 5e-5 if n == 5000 else 5e-4  # of the last printed digit
    for (bias, rmse), (printed, printed_rmse) in zip(biases(example, n, 200), TABLE[example, n], strict=True):
        # Both are means of 200 draws: three standard errors of their difference. All columns share the draws.
        assert abs(bias - printed) < 3 * math.sqrt(2 / 200) * printed_rmse + half
        # An RMSE of 200 draws is known to 5 %: three standard errors of the difference of two.
        assert rmse == pytest.approx(printed_rmse, rel=0.21, abs=half)
    corrected_bias, error = biases(example, n, 200)[-1]
    assert abs(corrected_bias) < abs(TABLE[example, n][-1][0]) + 3 * error / math.sqrt(200) + half


def test_bias_in_few_draws() -> None:
    """Forty draws know a bias to 0.0017: enough to see 0.012 of the paper's bins and that the correction removes it."""
    plain, corrected, *_, headline = biases("matched", 1000, 40)
    assert plain[0] == pytest.approx(0.012, abs=3 * 0.011 / math.sqrt(40))
    for bias, rmse in (corrected, headline):
        assert abs(bias) < 0.001 + 3 * rmse / math.sqrt(40)
    assert plain[0] - corrected[0] == pytest.approx(0.011, abs=0.0015)  # the same draws: only the correction differs


def test_count_bias_of_mirrored_bins() -> None:
    """M = 2: bins pair up with frequencies c and 1 − c, so ln of the source is inflated by B/(4N)."""
    f = simulate("n17-matched", 1000, seed=3)
    plain, corrected = estimate(Tally.of(f, plan=Plan(preset="N17")), WIDTH)
    t = Tally.of(f, plan=Plan(preset="N17"))
    curve = curves.fit("width", t.pooled, t.grid, cuts=HUNDREDTHS)
    filled = np.sum((curve.source > 0.0) & (curve.source < 1.0))
    assert math.log(plain[1] / corrected[1]) == pytest.approx(filled / (4 * 1000), rel=1e-9)


def dirichlet_truth(k: int, a: float) -> np.ndarray:
    """Means of the probability of what happens, for calibrated Dirichlet(a) rows: Σ_j E p_j^(1+m) in closed form."""
    found = []
    for m in R:
        if m == 0.0:
            found.append(math.exp(digamma(a + 1) - digamma(k * a + 1)))
        else:
            log = math.log(k) + gammaln(a + 1 + m) - gammaln(a) + gammaln(k * a) - gammaln(k * a + 1 + m)
            found.append(math.exp(log / m))
    return np.array(found)


# Bias of (decisiveness, geometric accuracy, robustness) at N = 1000, q_lim = 0, 150 draws.
DIRICHLET = {
    3: ((0.017, 0.013, 0.011), (0.002, 0.001, 0.005), (0.010, 0.003, -0.003), (0.000, -0.002, -0.004)),
    10: ((0.016, 0.004, -0.006), (0.002, -0.002, -0.008), (0.008, 0.000, -0.010), (-0.001, -0.004, -0.011)),
}


@pytest.mark.slow
@pytest.mark.parametrize("k", [3, 10])
def test_bias_of_many_classes(k: int) -> None:
    truth = dirichlet_truth(k, {3: 0.8, 10: 0.3}[k])
    tallies = [
        Tally.of(simulate(f"dirichlet-{k}-calibrated", 1000, seed=seed), plan=Plan(preset="N17")) for seed in range(150)
    ]
    ways = ((WIDTH, 0), (WIDTH, 1), (EQUAL_50, 0), (EQUAL_50, 1), (SPLIT_50, 1))
    found = [np.array([estimate(t, options)[which] for t in tallies]) - truth for options, which in ways]
    for errors, printed in zip(found, DIRICHLET[k], strict=False):
        # Three standard errors of the difference of two means of 150 draws, and half a unit of the last digit.
        allowed = 3 * math.sqrt(2 / 150) * errors.std(axis=0) + 5e-4
        assert np.all(np.abs(errors.mean(axis=0) - printed) < allowed)
    # Halving wide bins removes most of the resolution bias of equal true counts.
    before, after = (np.abs(found[i].mean(axis=0))[1:] for i in (3, 4))
    assert np.all(after < 0.62 * before)
    assert after[0] < 0.0015 + 3 * found[4][:, 1].std() / math.sqrt(150)


@pytest.mark.slow
@pytest.mark.parametrize("k", [43, 1000])
def test_floored_robustness_of_many_classes(k: int) -> None:
    """Floor 0.005 and 1000 rows: the bias of binned robustness is 0.0005 at most (theory section 4.1b)."""
    name = {43: "cq-densenet-gtsrb-calibrated", 1000: "cq-alexnet-imagenet-calibrated"}[k]
    differences = []
    for seed in range(8):
        a = vc.assess(simulate(name, 1000, seed=seed), floor=0.005)
        differences.append(a.papers.by_curve("bins")["robustness"] - a.reported.robustness)
    # The model is calibrated, so both estimate one number.
    assert abs(np.mean(differences)) < 0.0005 + 3 * np.std(differences, ddof=1) / math.sqrt(8)


# ---- sensitivity to B (theory section 4.3), on scikit-learn's digits ------------------------------------------------


@cache
def digits(model: str) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes and three-fold predictions."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.naive_bayes import GaussianNB

    x, y = load_digits(return_X_y=True)
    fitted = GaussianNB() if model == "bayes" else LogisticRegression(max_iter=2000)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    p = cross_val_predict(fitted, x / 16, y, cv=folds, method="predict_proba")
    return y, p / p.sum(axis=1, keepdims=True)


def test_digits_by_naive_bayes() -> None:
    y, p = digits("bayes")
    for bins in (10, 20, 50):
        a = vc.assess(y, p, preset="CQ", bins=bins)
        reported = [a.reported.reading(name) for name in reversed(MEANS)]
        assert reported == pytest.approx((0.082, 0.477, 0.845), abs=5e-4)
        robustness, accuracy, decisiveness = (
            float(a.papers.published.measured.reading(name)) for name in reversed(MEANS)
        )
        assert robustness == pytest.approx(0.181, abs=5e-4)
        assert 0.5035 < accuracy < 0.5075
        assert 0.7415 < decisiveness < 0.7475
        assert (decisiveness - robustness) / (reported[2] - reported[0]) == pytest.approx(0.74, abs=5e-3)


def test_digits_by_logistic_regression() -> None:
    """Without end bins the lowest bin swallows most wrong-class entries: measured robustness depends on B."""
    y, p = digits("logistic")
    a = vc.assess(y, p, preset="CQ")
    assert [a.reported.reading(name) for name in reversed(MEANS)] == pytest.approx((0.781, 0.848, 0.885), abs=5e-4)
    each = [vc.assess(y, p, floor=0.005, end_width=0.0, bins=b) for b in (10, 20, 50)]
    plain = [float(one.papers.published.measured.robustness) for one in each]
    halved = [float(one.papers.by_curve("bins")["robustness"]) for one in each]
    assert plain[0] == pytest.approx(0.200, abs=5e-4)
    assert plain[-1] == pytest.approx(0.45, abs=0.01)  # 0.454 with edges at exact midpoints and not on the grid
    t = Tally.of(Forecasts.of(y, p), plan=Plan(preset="CQ"))
    isotonic = curves.fit("isotonic", t.pooled, t.grid).means(R, 0.005)[2]
    assert isotonic == pytest.approx(0.723, abs=5e-4)
    # Halving wide bins makes it almost free of B, and close to the curve that has none.
    assert max(halved) - min(halved) < 0.02
    assert max(abs(value - isotonic) for value in halved) < 0.045
