"""Intervals: how often they cover, against direct computations, and where there is none."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

import veracity as vc
from veracity import words
from veracity.estimate.intervals import around, around_log
from veracity.estimate.means.reported import Profile
from veracity.estimate.means.scores import scores
from veracity.formulas.intervals import consistency_band, hall, quantile, wilson
from veracity.inputs import Forecasts
from veracity.records.reading import Reading
from veracity.simulate import simulate
from veracity.state.plan import Plan
from veracity.state.tally import Tally

Z = 1.959963984540054


def standard_error(reading: Reading, log: bool = False) -> float:
    assert reading.low is not None
    assert reading.high is not None
    if log:
        return math.log(reading.high / reading.low) / 2 / Z
    return (reading.high - reading.low) / 2 / Z


# ---- coverage -------------------------------------------------------------------------------------------------------


def dirichlet_mean(k: int, a: float, m: float) -> float:
    """P_m of what happens when rows are Dirichlet(a) and calibrated."""
    if m == 0.0:
        return float(np.exp(digamma(a + 1) - digamma(k * a + 1)))
    log = math.log(k) + gammaln(a + 1 + m) - gammaln(a) + gammaln(k * a) - gammaln(k * a + 1 + m)
    return float(np.exp(log / m))


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
def test_delta_intervals_cover(k: int) -> None:
    """500 draws of 1000 calibrated rows; a coverage of 0.95 is then known to 0.0097, and 3.5 times that is allowed."""
    truth = {m: dirichlet_mean(k, 0.8, m) for m in (1.0, 0.0)}
    wanted = {
        "log loss": -math.log(truth[0.0]),
        "decisiveness": truth[1.0],
        "reported": truth[0.0],
    }
    covered = dict.fromkeys(wanted, 0)
    for seed in range(500):
        t = Tally.of(simulate(f"dirichlet-{k}-calibrated", 1000, seed=seed), plan=Plan())
        profile = Profile(t)
        found = {
            "log loss": scores(t).log_loss,
            "decisiveness": profile.reading("decisiveness"),
            "reported": profile.reading("geometric_accuracy"),
        }
        for name, reading in found.items():
            covered[name] += reading.low <= wanted[name] <= reading.high
    for name, times in covered.items():
        assert abs(times / 500 - 0.95) < 3.5 * math.sqrt(0.95 * 0.05 / 500), (name, times)


def coverage(draw: Callable[[np.random.Generator], np.ndarray], truth: float, draws: int) -> tuple[float, float]:
    """Share of intervals for a mean that hold the truth: mean ± z·error, and Hall's."""
    rng = np.random.default_rng(0)
    x = np.array([draw(rng) for _ in range(draws)])
    n = x.shape[1]
    mean, error = x.mean(axis=1), x.std(axis=1, ddof=1) / math.sqrt(n)
    skewness = np.mean((x - mean[:, None]) ** 3, axis=1) / x.std(axis=1) ** 3
    below, above = hall(error, skewness, n, 0.95)
    plain = np.abs(mean - truth) <= Z * error
    halls = (mean - below <= truth) & (truth <= mean + above)
    return float(plain.mean()), float(halls.mean())


def test_hall_covers_better_where_skewed() -> None:
    """p = √U: p^(−2/3) has a tail index of 3. 4000 draws know a coverage to 0.004."""
    plain, halls = coverage(lambda rng: np.sqrt(rng.random(60)) ** (-2 / 3), 1.5, 4000)
    assert halls > plain + 0.015
    assert abs(halls - 0.95) < abs(plain - 0.95)
    # Both tails of the lognormal distribution are finite, and its skewness is 6.
    plain, halls = coverage(lambda rng: np.exp(rng.standard_normal(60)), math.exp(0.5), 4000)
    assert plain < 0.90
    assert halls > plain + 0.02


def test_hall_without_skewness_is_the_plain_interval() -> None:
    below, above = hall(np.array([0.1]), np.array([0.0]), 50, 0.95)
    np.testing.assert_allclose([below[0], above[0]], [0.1 * Z, 0.1 * Z], rtol=1e-6)
    below, above = hall(np.array([0.1]), np.array([2.0]), 50, 0.95)
    assert above[0] > 0.1 * Z > below[0]  # the long side of a skewed mean is above


def test_robustness_uses_hall_on_the_power_sum() -> None:
    f = simulate("dirichlet-3-calibrated", 4000, seed=3)
    x = f.realised ** (-2 / 3)
    skewness = np.mean((x - x.mean()) ** 3) / x.std() ** 3
    below, above = hall(np.array(x.std(ddof=1) / math.sqrt(4000)), np.array(skewness), 4000, 0.95)
    reading = vc.assess(f).reported.robustness
    assert reading.method == "Hall's skewness-corrected t"
    # Spread and skewness come from cells of the grid: intervals to a per cent.
    assert reading.low == pytest.approx((x.mean() + above) ** -1.5, abs=0.01 * (reading.high - reading.low))
    assert reading.high == pytest.approx((x.mean() - below) ** -1.5, abs=0.01 * (reading.high - reading.low))


# ---- errors against the infinitesimal jackknife ---------------------------------------------------------------------

PATHS: dict[str, tuple[Callable[[vc.Assessment], Reading], bool, float]] = {
    # reading, on the log scale, allowed difference. Scores divide by n − 1 (half of 1/300).
    "log_loss": (lambda a: a.scores.log_loss, False, 0.003),
    "brier": (lambda a: a.scores.brier, False, 0.003),
    "spherical": (lambda a: a.scores.spherical, False, 0.003),
    "skill.log": (lambda a: a.skill.log, False, 0.003),
    "skill.brier": (lambda a: a.skill.brier, False, 0.003),
    "decisiveness": (lambda a: a.reported.decisiveness, False, 0.003),
    "accuracy": (lambda a: a.reported.geometric_accuracy, True, 0.003),
}


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_errors_equal_the_infinitesimal_jackknife(k: int, weighted: bool) -> None:
    """√Σ (dθ/dw_i)²: how each reading moves when one row weighs a little more (edges do not depend on weights)."""
    n, step = 300, 1e-4
    f = simulate(f"dirichlet-{k}-sharp", n, seed=k)
    w = np.random.default_rng(1).gamma(4.0, size=n) if weighted else np.ones(n)

    def readings(weights: np.ndarray) -> dict[str, Reading]:
        a = vc.assess(f.outcomes, f.matrix, sample_weight=weights, bins=12, floor=0.01)
        return {name: get(a) for name, (get, _, _) in PATHS.items()}

    point = readings(w)
    moved = np.empty((n, len(PATHS)))
    for i in range(n):
        heavier = w.copy()
        heavier[i] *= 1.0 + step
        for j, (name, value) in enumerate(readings(heavier).items()):
            log = PATHS[name][1]
            moved[i, j] = math.log(value / point[name]) if log else value - point[name]
    for j, (name, (_, log, allowed)) in enumerate(PATHS.items()):
        jackknife = math.sqrt(np.sum((moved[:, j] / step) ** 2))
        if weighted and name in ("decisiveness", "accuracy"):
            allowed = 0.10  # n_eff takes weights as unrelated to the values; these are related by chance
        assert standard_error(point[name], log) == pytest.approx(jackknife, rel=allowed), name


# ---- shares and areas -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "n"), [(0.0, 10), (0.3, 10), (0.5, 7), (0.97, 200), (1.0, 5)])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_wilson_inverts_the_score_test(share: float, n: int, level: float) -> None:
    """Its ends are the shares π with |share − π| = z √(π(1 − π)/n)."""
    for end in wilson(share, n, level):
        assert (share - end) ** 2 == pytest.approx(quantile(level) ** 2 * end * (1 - end) / n, abs=1e-15)


def test_wilson_is_the_interval_of_correct_picks() -> None:
    f = simulate("dirichlet-3-calibrated", 200, seed=1)
    reading = vc.assess(f).scores.accuracy
    assert reading.method == "Wilson"
    assert (reading.low, reading.high) == wilson(float(reading), 200, 0.95)


@pytest.mark.parametrize("decimals", [1, 2, 12])
def test_delong_by_all_pairs(decimals: int) -> None:
    """DeLong et al. 1988: the variance from how often each event beats the others, and each other the events."""
    rng = np.random.default_rng(decimals)
    q = rng.random(120)
    y, p = (
        (rng.random(120) < q).astype(int),
        np.round(np.clip(q + 0.2 * rng.standard_normal(120), 0.01, 0.99), decimals),
    )
    difference = p[y == 1][:, None] - p[y == 0]
    wins = (difference > 0) + 0.5 * (difference == 0)
    by_event, by_other = wins.mean(axis=1), wins.mean(axis=0)
    variance = by_event.var(ddof=1) / len(by_event) + by_other.var(ddof=1) / len(by_other)
    reading = vc.assess(y, p).scores.auc
    assert reading == pytest.approx(wins.mean(), rel=1e-12)
    assert reading.method == "DeLong"
    assert reading.low == pytest.approx(wins.mean() - Z * math.sqrt(variance), rel=1e-9)
    assert reading.high == pytest.approx(min(wins.mean() + Z * math.sqrt(variance), 1.0), rel=1e-9)


def test_area_of_one_outcome_is_undefined() -> None:
    reading = vc.assess([1, 1, 1], [0.2, 0.5, 0.9]).scores.auc
    assert math.isnan(reading)
    assert reading.reason == "one outcome only: nothing to rank"


def test_consistency_band_holds_the_binomial() -> None:
    from scipy.stats import binom

    forecast, count = np.array([0.02, 0.3, 0.5, 0.9]), np.array([50.0, 20.0, 101.0, 1000.0])
    low, high = consistency_band(forecast, count, 0.9)
    np.testing.assert_allclose(low * count, binom.ppf(0.05, count, forecast))
    np.testing.assert_allclose(high * count, binom.ppf(0.95, count, forecast))
    low, high = consistency_band(np.array([1e-17, 0.5]), np.array([5.0, 20.0 - 1e-12]), 0.9)  # but for rounding
    np.testing.assert_allclose([*low, *high], [0.0, 0.3, 0.0, 0.7])


# ---- intervals that are too short, and that cannot be had -----------------------------------------------------------


def powers_of_uniform(power: float, n: int = 5000) -> Forecasts:
    """Realised p = u^power at even quantiles u: p^(−2/3) has the tail index 1.5/power."""
    p = ((np.arange(n) + 0.5) / n) ** power
    y = np.arange(n) % 2
    return Forecasts(np.where(y == 1, p, 1.0 - p), y, (0, 1))


@pytest.mark.parametrize(
    ("power", "interval", "code"),
    [
        (0.5, True, None),  # index 3, share 0.005
        (0.85, True, "short_interval"),  # index 1.76
        (1.2, False, "rows_decide"),  # index 1.25
    ],
)
def test_tail_decides_whether_there_is_an_interval(power: float, interval: bool, code: str | None) -> None:
    f = powers_of_uniform(power)
    a = vc.assess(f)
    reading = a.reported.robustness
    codes = {finding.code for finding in a.findings} & {"short_interval", "rows_decide"}
    assert (reading.low is not None) == interval
    if not interval:
        assert reading.reason == "a few rows decide it: no interval"
        assert "measured" not in (a.divergence.robustness.method or "")
        assert a.divergence.robustness.low is None
    if power != 1.2:
        assert codes == ({code} if code else set())
    assert a.reported.geometric_accuracy.low is not None  # r = 0 is not affected
    # The floored value stands beside it.
    floored = next(row for row in a.floors if row.floor == 0.005)
    assert floored.robustness == pytest.approx(vc.generalized_mean(np.maximum(f.realised, 0.005), -2 / 3), rel=1e-9)


@pytest.mark.parametrize("power", [0.5, 0.85, 1.2])
def test_hill_index_and_share_of_the_largest(power: float) -> None:
    f = powers_of_uniform(power)
    x = np.sort(f.realised ** (-2 / 3))[::-1]
    most = int(math.sqrt(len(x)))
    hill = 1.0 / np.mean(np.log(x[:most] / x[most]))
    share, index = Profile(Tally.of(f, plan=Plan())).tail
    at = 12  # r = −2/3 of −2, −17/9, …
    assert index[at] == pytest.approx(hill, rel=0.01)  # cells of the grid are 1.6 % wide below 2^-14
    assert share[at] == pytest.approx(x[0] / x.sum(), rel=1e-9)


@pytest.mark.parametrize("sharpened", [1.0, 2.0, 3.0])
def test_wide_cells_hide_no_tail(sharpened: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """With very many classes, entries below 2^-22 share two cells: seen as equal, hundreds of them had no tail."""
    rng = np.random.default_rng(0)
    p = np.exp(6.0 * rng.normal(size=(4000, 200)))
    p /= p.sum(axis=1, keepdims=True)
    y = np.minimum((p.cumsum(axis=1) < rng.random((4000, 1))).sum(axis=1), 199)
    p **= sharpened
    p /= p.sum(axis=1, keepdims=True)

    def found() -> tuple[bool, NDArray[np.int64], NDArray[np.float64]]:
        profile = Profile(Tally.of(y, p))
        return profile.tally.grid.coarse, profile.failures, profile.tail[0]

    wide, failures, shares = found()
    monkeypatch.setattr("veracity.state.tally.VERY_MANY_CLASSES", 1000)
    full, failures_of_full, shares_of_full = found()
    assert (wide, full) == (True, False)
    assert np.array_equal(failures, failures_of_full)
    assert shares == pytest.approx(shares_of_full, rel=0.02)


def test_one_row_that_decides_is_named() -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(0.3, 0.9, 500)
    p[123] = 1e-12
    a = vc.assess(np.ones(500, dtype=int), p, labels=[0, 1])
    finding = next(finding for finding in a.findings if finding.code == "rows_decide")
    assert finding.rows == (123,)
    without = vc.generalized_mean(np.delete(p, 123), -2 / 3)
    assert finding.message.endswith(f"but {100 * without:.1f} % without it")
    assert a.reported.robustness.low is None


@pytest.mark.parametrize("tiny", [1e-40, 1e-200])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_mean_without_the_deciding_row_survives_its_size(tiny: float, weighted: bool) -> None:
    """One power so large that nothing would be left of a difference."""
    rng = np.random.default_rng(1)
    p = np.column_stack([1.0 - (q := rng.uniform(0.3, 0.9, 400)), q])
    p[7] = [1.0, tiny]
    w = rng.gamma(2.0, size=400) if weighted else np.ones(400)
    a = vc.assess(np.ones(400, dtype=int), p, sample_weight=w if weighted else None)
    without = vc.generalized_mean(np.delete(p[:, 1], 7), -2 / 3, weights=np.delete(w, 7))
    finding = next(finding for finding in a.findings if finding.code == "rows_decide")
    assert finding.message.endswith(f"it is less than one in a million, but {100 * without:.1f} % without it")


def test_zeros_have_no_interval() -> None:
    y, p = np.array([1] * 60), np.array([0.0] + [0.5] * 59)
    a = vc.assess(y, p, labels=[0, 1])
    assert a.scores.log_loss == math.inf
    for reading in (a.scores.log_loss, a.reported.geometric_accuracy, a.reported.robustness):
        assert reading.low is None
        assert "1 outcome had probability 0" in (reading.reason or "")
    assert a.reported.decisiveness.low is not None
    assert "zero_probability" in {finding.code for finding in a.findings}


def test_level_changes_the_width() -> None:
    f = simulate("dirichlet-3-calibrated", 500, seed=2)
    wide, narrow = vc.assess(f, level=0.99), vc.assess(f, level=0.5)
    ratio = quantile(0.99) / quantile(0.5)
    for get in (lambda a: a.scores.log_loss, lambda a: a.scores.brier, lambda a: a.reported.decisiveness):
        w, n = get(wide), get(narrow)
        assert (w.high - w.low) / (n.high - n.low) == pytest.approx(ratio, rel=1e-9)


# ---- readings -------------------------------------------------------------------------------------------------------


def test_readings_that_have_no_interval_say_why() -> None:
    assert around(math.inf, 1.0, 0.95).reason == "infinite: no interval"
    assert around(0.5, math.nan, 0.95).reason == "too few rows for an interval"
    assert around_log(0.0, 0.1, 0.95).low is None
    assert around(0.99, 0.1, 0.95, (0.0, 1.0)).high == 1.0
    up, down = around_log(2.0, 0.1, 0.95), around_log(0.5, 0.1, 0.95)
    assert up.high == pytest.approx(1.0 / down.low)


def test_one_row_has_no_interval() -> None:
    a = vc.assess([1], [0.7])
    for reading in (a.scores.log_loss, a.scores.brier, a.reported.geometric_accuracy):
        assert reading.low is None
        assert reading.reason


def findings(y, p, **options) -> dict[str, tuple[int, ...]]:
    return {f.code: f.rows for f in vc.assess(y, p, **options).findings}


def test_a_row_with_a_count_is_named_once() -> None:
    p, y, counts = np.full(60, 0.8), np.ones(60, int), np.ones(60, int)
    y[::5], p[3], counts[3] = 0, 1e-5, 3
    assert findings(y, p, counts=counts)["rows_decide"] == (3,)
    again = np.repeat(np.arange(60), counts)
    assert findings(y[again], p[again])["rows_decide"] == (3, 4)  # half of the sum


def test_with_weights_the_heaviest_row_decides() -> None:
    rng = np.random.default_rng(0)
    p, w = rng.uniform(0.3, 0.9, 200), np.ones(200)
    p[:3], w[7] = 0.01, 3000.0
    p[7] = 0.05
    assert findings(np.ones(200, int), p, sample_weight=w)["rows_decide"] == (7,)


def test_a_tail_of_many_rows_is_reported() -> None:
    rng = np.random.default_rng(0)
    q = rng.dirichlet([1, 1], 50_000)
    odds = (q[:, 1] / q[:, 0]) ** 2.5
    a = vc.assess((rng.random(50_000) < q[:, 1]).astype(int), odds / (1 + odds))
    assert a.reported.robustness.low is None
    (told,) = [f for f in a.findings if f.code == "heavy_tail"]
    assert len(told.rows) == 5
    floored = next(line.robustness for line in a.floors if line.floor == 0.005)
    given, raised = (f"{100 * mean:.1f} %" for mean in (a.reported.robustness, floored))
    assert told.message.endswith(f": it is {given}, but {raised} with a minimum probability of 0.5 %")


def test_a_perfect_ranking_has_an_interval() -> None:
    for turned in (False, True):
        p = np.array([0.1, 0.2, 0.3, 0.8, 0.9])
        auc = vc.assess([0, 0, 0, 1, 1], 1.0 - p if turned else p).scores.auc
        assert auc == (0.0 if turned else 1.0)
        assert auc.high - auc.low > 0.5  # two events say little
        assert auc.method == "Wilson, of the rarer outcome"


def test_bins_without_rows_are_reported() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(300)
    assert "many_bins" in findings(rng.integers(0, 2, 300), p, bins=1000)
    assert "many_bins" not in findings(rng.integers(0, 2, 300), p, bins=30)
    assert vc.assess([1], [0.3], bootstrap=50).scores.log_loss.low is None


def test_cases_that_decide_are_the_same_counted_or_repeated() -> None:
    p = np.r_[np.full(96, 0.6), [1e-6] * 4]
    y = np.r_[np.tile([1, 1, 1, 0, 0], 20)[:96], 1, 1, 1, 1]
    counts = np.r_[np.ones(96, int), 1, 1, 1, 9]
    a = vc.assess(y, p, counts=counts)
    (told,) = [f for f in a.findings if f.code == "rows_decide"]
    assert told.count == 7  # of the twelve cases at 1e-6, seven make up half of the power sum
    without = vc.assess(np.r_[y[:96], [1] * 5], np.r_[p[:96], [1e-6] * 5]).reported.robustness
    given, left = (words.chance(float(mean)) for mean in (a.reported.robustness, without))
    assert given != left
    assert told.message == f"7 cases decide the pessimistic average: it is {given}, but {left} without them"
    rows = np.repeat(np.arange(100), counts)
    (repeated,) = [f for f in vc.assess(y[rows], p[rows]).findings if f.code == "rows_decide"]
    assert (repeated.message, repeated.count) == (told.message, told.count)


def test_the_spread_ratio_has_no_interval_and_of_few_events_no_value() -> None:
    y, p = np.arange(200) % 2, np.linspace(0.02, 0.98, 200)
    enough = vc.assess(y, p).spread_ratio
    assert math.isfinite(enough)
    assert (enough.low, enough.high) == (None, None)
    assert "no interval" in enough.reason
    few = vc.assess((np.arange(200) < 49).astype(int), p).spread_ratio
    assert math.isnan(few)
    assert few.reason == "49 cases of the rarer class: too few for a spread ratio (from 50)"
