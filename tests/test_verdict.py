"""The verdict: calibrated models are left alone, sharp and flat ones are recognised, a wrong level is neither."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest

import veracity as vc
from veracity.data import Forecasts
from veracity.data.reading import Reading
from veracity.estimate.verdict import Verdict, rows_needed, verdict, word_for
from veracity.simulate import simulate
from veracity.state.plan import Plan
from veracity.state.tally import Tally

CALLED = ("over-confident", "under-confident")
MOST_CALLED = 0.08  # of calibrated draws; the interval is nominally wrong in 5 %


def judged(f: Forecasts) -> Verdict:
    return verdict(Tally.of(f, plan=Plan()))


def calibrated(k: int, n: int, seed: int) -> Forecasts:
    return simulate(f"dirichlet-{k}-calibrated", n, seed=seed)


def powered(f: Forecasts, s: float) -> Forecasts:
    """Log-odds between classes multiplied by s: above 1 is sharper than true, below 1 flatter."""
    p = f.matrix**s
    return replace(f, probabilities=p / p.sum(axis=1, keepdims=True))


def rare_with_odds(factor: float, n: int, seed: int) -> Forecasts:
    """Events of about one in twenty, forecast with the right odds times `factor`."""
    rng = np.random.default_rng(seed)
    q = rng.beta(0.5, 9.5, n)
    odds = factor * q / (1.0 - q)
    return Forecasts(odds / (1.0 + odds), (rng.random(n) < q).astype(np.int64), ("no", "yes"))


def words(draw: Callable[[int], Forecasts], seeds: Iterable[int]) -> Counter[str]:
    return Counter(judged(draw(seed)).word for seed in seeds)


def called(counted: Counter[str]) -> int:
    return sum(counted[word] for word in CALLED)


# ---- the claims, at full size ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("n", [300, 2000])
def test_calibrated_models_are_rarely_called(n: int, k: int) -> None:
    assert called(words(lambda seed: calibrated(k, n, seed), range(300))) <= MOST_CALLED * 300


@pytest.mark.slow
@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_wrong_odds_of_rare_events_are_rarely_called(factor: float) -> None:
    # After the frequencies are matched these forecasts are calibrated, so they may be called as often as those are.
    assert called(words(lambda seed: rare_with_odds(factor, 2000, seed), range(100))) <= MOST_CALLED * 100


@pytest.mark.slow
@pytest.mark.parametrize(("s", "word"), [(1.5, "over-confident"), (0.6, "under-confident")])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_sharpened_and_flattened_models_are_recognised(k: int, s: float, word: str) -> None:
    counted = words(lambda seed: powered(calibrated(k, 2000, seed), s), range(1000, 1020))
    assert counted == {word: 20}


# ---- the same, quickly ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 10])
def test_few_draws_of_calibrated_models(k: int) -> None:
    # At 8 % a draw, 4 or more of 12 would be seen once in 100 times.
    assert called(words(lambda seed: calibrated(k, 300, seed), range(12))) <= 3


@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_wrong_odds_are_a_level_and_not_a_confidence(factor: float) -> None:
    a = vc.assess(rare_with_odds(factor, 2000, 1))
    assert a.verdict not in CALLED
    # The papers' own slope takes the wrong odds for a lack (×2) or an excess (÷2) of confidence.
    assert a.slope > 1.2 if factor > 1.0 else a.slope < 0.85
    level = a.verdict_detail["level"]
    assert set(level) == {"no", "yes"}
    assert (level["yes"]["forecast"] > level["yes"]["observed"]) == (factor > 1.0)
    assert any("overall" in sentence for sentence in a.verdict_detail["sentences"])


@pytest.mark.parametrize(("s", "word"), [(1.5, "over-confident"), (0.6, "under-confident")])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_one_draw_of_each_kind(k: int, s: float, word: str) -> None:
    found = judged(powered(calibrated(k, 2000, 7), s))
    assert found.word == word
    assert found.slope_adjusted.method == "999 null draws"
    assert found.reason is None


@pytest.mark.parametrize("n", [400, 30_000])  # intervals from null draws, and by the delta method
@pytest.mark.parametrize("k", [2, 4])
def test_sure_forecasts_that_know_nothing_are_over_confident(k: int, n: int) -> None:
    """The spread that is borne out lies about zero, on either side of it."""
    slopes = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        found = judged(Forecasts(rng.dirichlet([0.5] * k, n), rng.integers(0, k, n), tuple(range(k))))
        assert found.word == "over-confident"
        assert found.slope_adjusted.low <= found.slope_adjusted <= found.slope_adjusted.high
        slopes.append(float(found.slope_adjusted))
    assert min(slopes) < 0.0 < max(slopes)


def test_a_slope_of_one_needs_many_rows_to_be_called_matched() -> None:
    """Beyond 20,000 rows the interval comes from the influences of rows, and becomes narrow enough for `matched`."""
    found = judged(calibrated(3, 200_000, 3))
    assert found.slope_adjusted.method == "delta method"
    assert found.word == "matched"
    assert judged(powered(calibrated(2, 25_000, 3), 1.2)).word == "over-confident"
    assert judged(powered(calibrated(2, 25_000, 3), 0.8)).word == "under-confident"


@pytest.mark.parametrize("k", [2, 3])
def test_both_intervals_agree_where_both_can_be_had(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    f = powered(calibrated(k, 5000, 5), 1.2)
    null = judged(f).slope_adjusted
    monkeypatch.setattr("veracity.estimate.verdict.NULL_ROWS", 0)
    delta = judged(f).slope_adjusted
    assert float(null) == pytest.approx(float(delta), rel=1e-12)  # the rows are summed in another order
    # Widths on the log scale; theory finds intervals from independent cells 10–18 % too short, which this would show.
    widths = [np.log(reading.high / reading.low) for reading in (null, delta)]
    assert widths[0] == pytest.approx(widths[1], rel=0.25)


# ---- the rule -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.96, 1.04, "matched"),
        (0.951, 0.979, "matched"),  # clearly below one, and too little to act on
        (0.95, 1.05, "matched"),
        (0.90, 0.979, "over-confident"),
        (0.90, 0.981, "undetermined"),
        (1.021, 1.30, "under-confident"),
        (1.019, 1.30, "undetermined"),
        (0.80, 1.20, "undetermined"),
    ],
)
def test_words_of_intervals(low: float, high: float, word: str) -> None:
    assert word_for(low, high) == word


def test_rows_that_would_settle_it() -> None:
    # Half-width ln 1.2 where the difference is ln 1.1: (ln 1.2 / ln 1.1)² = 3.66 times as many rows.
    assert rows_needed(Reading(1.1, 1.1 / 1.2, 1.1 * 1.2), 1000) == 3700
    assert rows_needed(Reading(1.001, 0.9, 1.1), 1000) is None


@pytest.mark.parametrize(
    ("f", "reason"),
    [
        (calibrated(3, 99, 1), "99 rows; at least 100 are needed"),
        (Forecasts(np.tile([0.3, 0.6], 100), np.tile([0, 1, 1, 0], 50), (0, 1)), "different levels"),
        (
            Forecasts(np.linspace(0.495, 0.505, 400), np.tile([0, 1], 200), (0, 1)),
            "the stated probabilities of what happened hardly differ",
        ),
    ],
)
def test_too_little_to_judge(f: Forecasts, reason: str) -> None:
    found = judged(f)
    assert found.word == "undetermined"
    assert found.reason is not None
    assert reason in found.reason


def test_frequencies_that_cannot_be_matched() -> None:
    # The last third happened though nothing was ever forecast for it.
    p = np.column_stack([np.linspace(0.2, 0.8, 300), np.linspace(0.8, 0.2, 300), np.zeros(300)])
    found = judged(Forecasts(p, np.repeat([0, 1, 2], 100), (0, 1, 2)))
    assert found.word == "undetermined"
    assert found.reason is not None
    assert "cannot be matched" in found.reason


def test_ruled_out_outcomes_are_said_first() -> None:
    f = powered(calibrated(3, 2000, 9), 1.5)
    p = f.matrix.copy()
    assert f.outcomes is not None
    p[5] = np.eye(3)[(f.outcomes[5] + 1) % 3]
    a = vc.assess(f.outcomes, p)
    assert a.verdict_detail["zero_rows"] == 1
    assert a.verdict_detail["sentences"][0].startswith("1 of 2,000 outcomes had been ruled out")
    assert a.verdict == "over-confident"


def test_weights_and_counts_are_rows() -> None:
    """A row with count 2 is the row twice, also for the draws behind the interval."""
    f = powered(calibrated(2, 600, 11), 1.4)
    counts = np.random.default_rng(1).integers(1, 3, 600)
    twice = np.repeat(np.arange(600), counts)
    assert f.outcomes is not None
    counted = judged(replace(f, counts=counts))
    plain = judged(replace(f, probabilities=f.matrix[twice], outcomes=f.outcomes[twice]))
    assert counted.word == plain.word
    for end in ("low", "high"):
        assert getattr(counted.slope_adjusted, end) == pytest.approx(getattr(plain.slope_adjusted, end), rel=1e-9)


def flat(seed: int) -> Forecasts:
    """Calibrated forecasts that hardly differ: by chance, drawn outcomes often show no spread at all."""
    rng = np.random.default_rng(seed)
    p = 1.0 / (1.0 + np.exp(-rng.normal(0.0, 0.3, 300)))
    return Forecasts(p, (rng.random(300) < p).astype(np.int64), (0, 1))


def test_forecasts_that_hardly_differ_are_not_called() -> None:
    found = [judged(flat(seed)) for seed in range(12)]
    open_ended = [v for v in found if v.slope_adjusted.high == np.inf]
    assert open_ended  # a null quantile below zero bounds nothing
    for v in open_ended:
        assert v.slope_adjusted.low is not None
        assert 0.0 < v.slope_adjusted.low < v.slope_adjusted
        assert v.word == "undetermined"
        assert v.rows_needed is None
    assert called(Counter(v.word for v in found)) <= 3
    a = vc.assess(flat(0))
    again = vc.Assessment.from_json(a.to_json())
    assert again.verdict_detail["slope_adjusted"].high == np.inf
    assert "and up, once the class frequencies are matched" in a.verdict_detail["sentences"][0]


def test_merged_tallies_have_the_verdict_of_all_rows() -> None:
    f = powered(calibrated(2, 1500, 4), 1.15)
    whole = vc.assess(f.outcomes, f.positive)
    parts = [vc.Tally.of(f.outcomes[i::7], f.positive[i::7]) for i in range(7)]
    for order in (parts, parts[::-1]):
        merged = vc.assess(sum(order[1:], order[0]))
        a, b = (one.verdict_detail["slope_adjusted"] for one in (whole, merged))
        assert (merged.verdict, b.low, b.high) == (whole.verdict, a.low, a.high)
        assert (merged.scores.auc, merged.scores.auc.low) == (whole.scores.auc, whole.scores.auc.low)
