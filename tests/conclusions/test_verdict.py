"""The verdict of tallies: states, words and sentences of forecasts whose truth is known, and of awkward input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import veracity as vc
from veracity.estimate.calibration.verdict import judge, state_of
from veracity.estimate.calibration.verdict_of_tally import verdict
from veracity.inputs import Forecasts
from veracity.records.verdict import Reason, Verdict
from veracity.simulate import simulate
from veracity.words.verdict import VERDICTS, sentences, word_of

CALLED = ("over-confident", "under-confident")


def judged(f: Forecasts) -> Verdict:
    return verdict(vc.Tally.of(f))


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


def pair(p: Any, y: Any, classes: tuple[str, str] = ("no", "yes")) -> Forecasts:
    return Forecasts(np.asarray(p, dtype=np.float64), np.asarray(y, dtype=np.int64), classes)


# -- known truths ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("s", "word"), [(1.5, "over-confident"), (0.6, "under-confident")])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_sharpened_and_flattened_models_are_recognised(k: int, s: float, word: str) -> None:
    counted = words(lambda seed: powered(calibrated(k, 2000, seed), s), range(1000, 1012))
    # One test in twenty may add a false word about the level.
    assert sum(number for said, number in counted.items() if word in said) == 12
    assert counted[word] >= 9


@pytest.mark.parametrize("k", [2, 3, 10])
def test_few_draws_of_calibrated_models(k: int) -> None:
    counted = words(lambda seed: calibrated(k, 300, seed), range(12))
    # At 5 % a draw, 4 or more of 12 would be seen twice in 1,000 times.
    assert counted["calibrated"] + counted["no miscalibration found"] >= 9


@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_wrong_odds_are_a_level_and_not_a_confidence(factor: float) -> None:
    found = judged(rare_with_odds(factor, 2000, 1))
    assert found.word == "biased"
    assert found.confidence.direction is None
    (level,) = found.level.classes.values()
    assert list(found.level.classes) == ["yes"]
    assert (level.predicted > level.observed) == (factor > 1.0)
    assert found.intercept is not None
    assert found.ratio is not None
    assert float(found.intercept) == pytest.approx(-np.log(factor), abs=0.35)
    assert (float(found.ratio) > 1.0) == (factor > 1.0)
    assert str(sentences(found)[0]).startswith(f"**Too {'high' if factor > 1.0 else 'low'} overall.** It predicts ")


@pytest.mark.parametrize(("s", "word"), [(1.5, "over-confident"), (0.6, "under-confident")])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_one_draw_of_each_kind(k: int, s: float, word: str) -> None:
    found = judged(powered(calibrated(k, 2000, 7), s))
    assert (found.word, found.state, found.reason) == (word, "found", None)
    assert found.method == "999 draws of outcomes from the forecasts"
    assert found.slope.low is not None
    assert found.slope.high is not None
    assert found.slope.low < 1 / s < found.slope.high
    assert found.gain.high is not None
    assert found.gain.high >= float(found.gain) >= 0.01
    assert found.confidence.where is not None
    assert str(sentences(found)[0]).startswith(f"**{word.capitalize()}.** When it says ")


@pytest.mark.parametrize("n", [400, 30_000])  # outcomes are drawn, and sums of residuals are normal
@pytest.mark.parametrize("k", [2, 4])
def test_sure_forecasts_that_know_nothing_are_over_confident(k: int, n: int) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        found = judged(Forecasts(rng.dirichlet([0.5] * k, n), rng.integers(0, k, n), tuple(range(k))))
        assert "over-confident" in found.word
        assert abs(float(found.slope)) < 0.2


def test_calibrated_is_said_only_of_enough_cases() -> None:
    few, many = judged(calibrated(3, 300, 3)), judged(calibrated(3, 60_000, 4))
    assert (few.word, few.state) == ("no miscalibration found", "none found")
    assert (many.word, many.state) == ("calibrated", "calibrated")
    assert few.detectable is not None
    assert many.detectable is not None
    assert many.detectable < 0.01 < few.detectable
    assert str(sentences(many)[0]).startswith(
        "**Calibrated.** Correcting level, slope and ranges would save at most 0."
    )


def test_detectable_share_is_a_likelihood_ratio_of_twelve() -> None:
    f = calibrated(3, 400, 5)
    loss = min(-np.log(f.realised).mean(), -(f.matrix * np.log(f.matrix)).sum(axis=1).mean())
    assert judged(f).detectable == pytest.approx(12 / (2 * 400 * loss), rel=1e-9)


def test_small_errors_of_many_cases_are_slight() -> None:
    found = judged(powered(calibrated(2, 120_000, 3), 1.08))
    assert found.word == "slightly over-confident"
    assert found.state == "slight"
    assert [said.title for said in sentences(found)] == ["Slightly over-confident"]
    assert str(sentences(found)[0]).endswith("of the log loss.")


def flat(seed: int) -> Forecasts:
    """Calibrated forecasts that hardly differ."""
    rng = np.random.default_rng(seed)
    p = 1.0 / (1.0 + np.exp(-rng.normal(0.0, 0.3, 300)))
    return pair(p, rng.random(300) < p)


def test_forecasts_that_hardly_differ_are_not_called() -> None:
    found = [judged(flat(seed)) for seed in range(12)]
    assert sum(v.state != "none found" for v in found) <= 3
    for v in found:
        assert v.slope.low is not None
        assert v.slope.high is not None
        assert v.slope.high - v.slope.low > 1.0


def test_picks_that_are_right_more_often_than_they_say_are_under_confident() -> None:
    rng = np.random.default_rng(0)
    confidence = np.clip(rng.normal(0.70, 0.1, 5000), 0.5, 0.99)
    right = rng.random(5000) < np.minimum(confidence + 0.07, 1.0)
    found = verdict(vc.Tally.of(replace(pair(confidence, right, ("wrong", "right")), picks_only=True)))
    assert found.word == "under-confident"
    assert found.level.p is None
    assert found.confidence.expected == pytest.approx(confidence.mean(), abs=1e-12)
    assert found.confidence.realised == pytest.approx(right.mean(), abs=1e-12)


# -- the rule ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rejected", "upper", "detectable", "zeros", "state"),
    [
        (True, 0.2, 0.001, 0, "found"),
        (True, 0.0099, 0.001, 0, "slight"),
        (True, 0.0099, 0.001, 1, "found"),  # an infinite loss is not slight
        (False, 0.0099, 0.0099, 0, "calibrated"),
        (False, 0.0099, 0.0099, 1, "none found"),
        (False, 0.0101, 0.001, 0, "none found"),
        (False, 0.001, 0.0101, 0, "none found"),
        (False, 0.0, None, 0, "none found"),
    ],
)
def test_state_follows_from_rejection_and_size(
    rejected: bool, upper: float, detectable: float | None, zeros: int, state: str
) -> None:
    assert state_of(rejected, upper, detectable, zeros) == state


@pytest.mark.parametrize(
    ("state", "direction", "biased", "word"),
    [
        ("found", "over-confident", False, "over-confident"),
        ("found", "over-confident", True, "over-confident and biased"),
        ("found", None, True, "biased"),
        ("found", None, False, "miscalibrated"),
        ("slight", "under-confident", False, "slightly under-confident"),
        ("calibrated", None, False, "calibrated"),
        ("none found", None, False, "no miscalibration found"),
    ],
)
def test_word_names_what_was_found(state: str, direction: str | None, biased: bool, word: str) -> None:
    assert word_of(state, direction, biased) == word
    assert word in VERDICTS


# -- awkward input -----------------------------------------------------------------------------------------------------

UNIFORM = np.linspace(0.02, 0.98, 200)


@pytest.mark.parametrize(
    ("f", "state", "reason"),
    [
        (calibrated(3, 19, 1), "not measurable", Reason.TOO_FEW_CASES),
        (pair(UNIFORM, np.zeros(200)), "found", Reason.ONE_CLASS),
        (pair(UNIFORM / 100, np.zeros(200)), "too few", Reason.ONE_CLASS),
        (pair(np.full(200, 0.25), np.tile([0, 0, 0, 1], 50)), "none found", Reason.CONSTANT),
        (pair(np.full(200, 0.25), np.tile([0, 1], 100)), "found", Reason.CONSTANT),
        (pair(np.tile([0, 1], 100), np.tile([0, 1], 100)), "none found", Reason.ONLY_CERTAIN_FORECASTS),
        (pair(np.tile([0, 1], 100), np.repeat([0, 1], 100)), "found", Reason.ONLY_CERTAIN_FORECASTS),
        (Forecasts(None, None, (), log_realised=np.log(UNIFORM)), "not measurable", Reason.ONLY_REALISED),
        (replace(pair(UNIFORM, np.tile([0, 1], 100)), shares_only=True), "not measurable", Reason.ONLY_SHARES),
    ],
)
def test_awkward_input_has_a_state_and_a_reason(f: Forecasts, state: str, reason: Reason) -> None:
    found = judged(f)
    assert found.state == state
    assert found.reason is reason
    assert sentences(found)
    assert all("nan" not in str(said) and "inf " not in str(said) for said in sentences(found))


def test_certain_forecasts_that_were_all_right_say_how_rare_misses_are() -> None:
    found = judged(pair(np.tile([0, 1], 100), np.tile([0, 1], 100)))
    assert str(sentences(found)[0]) == (
        "**These are decisions, not probabilities.** Every forecast is 0 or 1, and all were right: "
        "misses are rarer than 1.5 %."
    )


def test_fewer_than_eight_clusters_are_too_few() -> None:
    p = np.random.default_rng(0).random(200)
    found = judge(p, (p > 0.5).astype(int), ["a", "b"], clusters=np.arange(200) % 7)
    assert found.state == "not measurable"
    assert (found.reason, found.number, found.needed) == (Reason.TOO_FEW_CLUSTERS, 7, 8)
    assert sentences(found)[0].text == "7 clusters: too few to judge, at least 8 needed."


def test_frequencies_that_cannot_be_matched_are_judged_all_the_same() -> None:
    # The last third happened though nothing was ever forecast for it.
    p = np.column_stack([np.linspace(0.2, 0.8, 300), np.linspace(0.8, 0.2, 300), np.zeros(300)])
    found = judged(Forecasts(p, np.repeat([0, 1, 2], 100), (0, 1, 2)))
    assert found.zero_rows == 100
    assert found.word == "over-confident and biased"
    assert str(sentences(found)[0]).startswith("**It ruled out what happened in 100 of 300 cases** (rows 200, 201, ")


def test_ruled_out_outcomes_are_said_first() -> None:
    f = powered(calibrated(3, 2000, 9), 1.5)
    p = f.matrix.copy()
    assert f.outcomes is not None
    p[5] = np.eye(3)[(f.outcomes[5] + 1) % 3]
    found = judged(replace(f, probabilities=p))
    assert found.zero_rows == 1
    assert str(sentences(found)[0]).startswith(
        "**It ruled out what happened in 1 of 2,000 cases** (row 5), so its log loss is "
    )
    assert "With a minimum probability of 0.1 % it would be " in str(sentences(found)[0])
    assert found.word == "over-confident"


def test_one_ruled_out_outcome_of_calibrated_forecasts_is_no_miscalibration_but_never_calibrated() -> None:
    f = calibrated(3, 60_000, 4)
    p = f.matrix.copy()
    assert f.outcomes is not None
    p[5] = np.eye(3)[(f.outcomes[5] + 1) % 3]
    found = judged(replace(f, probabilities=p))
    assert (found.word, found.zero_rows) == ("no miscalibration found", 1)


# -- parts -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 10])
def test_merged_tallies_have_the_verdict_of_all_rows(k: int) -> None:
    f = powered(calibrated(k, 1500, 4), 1.15)
    assert f.outcomes is not None
    whole = verdict(vc.Tally.of(f.outcomes, f.matrix))
    parts = [vc.Tally.of(f.outcomes[i::7], f.matrix[i::7]) for i in range(7)]
    for order in (parts, parts[::-1]):
        assert verdict(sum(order[1:], order[0])) == whole
