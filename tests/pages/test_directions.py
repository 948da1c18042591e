"""Sentences name the right side: worse or better, higher or lower, who beats whom, and by how much."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import veracity as vc
from veracity import PredictionTable, show, words
from veracity.records.comparison import ComparisonRecord, PairDifference
from veracity.records.reading import Reading
from veracity.records.sections import Baseline, Gain, Scores, Skill
from veracity.show.blocks import Sentence, walk
from veracity.show.cells import Table


def drawn(n: int, seed: int, power: float = 1.0, shift: float = 0.0) -> tuple[Any, Any]:
    """Two classes: forecasts with slope `power` and so much more log odds than the outcomes have."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0.0, 1.5, n)
    return (rng.random(n) < 1 / (1 + np.exp(-x))).astype(int), 1 / (1 + np.exp(-power * x - shift))


def notes(result: Any, title: str) -> str:
    tables = [block for block in walk(show.blocks(result)) if isinstance(block, Table)]
    return " ".join(next(one.notes for one in tables if one.title == title))


def lead(result: Any) -> Sentence:
    return next(block for block in show.first_screen(result) if isinstance(block, Sentence) and block.lead)


# -- one set of forecasts ---------------------------------------------------------------------------------------------


def useful(low: float | None, high: float | None, value: float = 0.01) -> words.Said:
    loss, gain = Reading(0.600, 0.59, 0.61), Reading(value, low, high, reason=None if low is not None else "few cases")
    held = words.usefulness(Scores(log_loss=loss), Skill(log=gain), Baseline(log_loss=0.62))
    assert held is not None
    return held


@pytest.mark.parametrize(
    ("low", "high", "between"),
    [
        (-0.09, 0.40, "between 9 % worse and 40 % better"),
        (-0.02, 0.04, "between 2 % worse and 4 % better"),
        (0.0, 0.04, "between no better and 4 % better"),
    ],
)
def test_an_unclear_skill_is_told_by_both_ends_of_its_interval(low: float, high: float, between: str) -> None:
    said = useful(low, high)
    assert (said.mark, said.title) == (words.NOTICE, "Not clearly useful")
    assert said.text == f"Log loss 0.600 against 0.620 for the baseline: {between}."


def test_a_clear_skill_is_useful_above_zero_and_worse_than_the_baseline_below() -> None:
    good, bad = useful(0.05, 0.15, 0.1), useful(-0.15, -0.05, -0.1)
    assert (good.mark, good.title) == (words.GOOD, "Useful")
    assert good.text.endswith("(10 % better).")
    assert (bad.mark, bad.title) == (words.BAD, "Worse than the baseline")


@pytest.mark.parametrize(("value", "word"), [(0.1, "10 % better"), (-0.1, "10 % worse")])
def test_a_skill_without_interval_names_its_side_and_claims_nothing(value: float, word: str) -> None:
    said = useful(None, None, value)
    assert said.mark == words.NOTICE
    assert f", {word}; chance may explain it (few cases)." in said.text


@pytest.mark.parametrize(("power", "word"), [(2.2, "Worse"), (0.45, "Better")])
def test_too_sure_forecasts_do_worse_than_they_expect_and_too_cautious_ones_better(power: float, word: str) -> None:
    a = vc.assess(*drawn(1500, 1, power))
    said = notes(a, "Score expected by the model itself")
    assert said.startswith(f"{word} than it expected of itself: log loss ")
    found = re.search(r"log loss ([\d.]+), expected ([\d.]+), a difference of ([\d.]+)\.", said)
    assert found is not None
    observed, expected, difference = map(float, found.groups())
    assert (observed > expected) == (word == "Worse")
    assert difference == pytest.approx(abs(observed - expected), abs=0.0011)


def test_calibrated_forecasts_are_about_as_good_as_they_expect() -> None:
    said = notes(vc.assess(*drawn(1500, 2)), "Score expected by the model itself")
    assert said.startswith("About as good as it expected of itself: log loss ")


@pytest.mark.parametrize(("shift", "word"), [(0.9, "high"), (-0.9, "low")])
def test_a_wrong_level_is_called_too_high_where_more_is_predicted_than_happens(shift: float, word: str) -> None:
    a = vc.assess(*drawn(900, 3, 1.0, shift))
    said = lead(a)
    assert said.title == f"Too {word} overall"
    found = re.search(r"predicts ([\d.]+) % on average; ([\d.]+) % happened", said.text)
    assert found is not None
    assert (float(found[1]) > float(found[2])) == (word == "high")


def test_a_gain_is_told_with_both_ends_and_never_below_zero() -> None:
    assert words.saved(Gain(0.02, -0.01, 0.05, 0.04)) == "4.0 % (0 to 10.0 %)"
    assert words.saved(Gain(0.2, 0.1, 0.3, 0.25)) == "25 % (12 to 38 %)"
    assert words.saved(Gain(-0.02, -0.03, -0.01, -0.04)) == "−0.020 (−0.030 to −0.010)"


# -- several models ---------------------------------------------------------------------------------------------------


def models(n: int = 1500, seed: int = 4) -> tuple[Any, dict[str, Any]]:
    """A model that knows the probabilities, one that is too extreme, and one that knows nothing."""
    y, p = drawn(n, seed)
    return y, {"sharp": p**2.5 / (p**2.5 + (1 - p) ** 2.5), "true": p, "half": 0.5 + 0.0 * p}


def test_the_reference_is_beaten_by_the_better_and_beats_the_worse() -> None:
    y, held = models()
    against = lead(vc.compare(y, held, reference="sharp"))
    assert against.mark == words.GOOD
    assert re.match(r"true beats sharp by 0\.\d+ \(0\.\d+–0\.\d+\)", against.text)
    worse = lead(vc.compare(y, {name: held[name] for name in ("half", "true")}, reference="true"))
    assert worse.mark == words.BAD
    assert re.match(r"true beats half by 0\.\d+ \(0\.\d+–0\.\d+\) \(log loss\)\.", worse.text)


def test_a_model_that_ties_with_the_reference_beats_nobody() -> None:
    y, held = models()
    rng = np.random.default_rng(5)
    near = np.clip(held["true"] + rng.normal(0.0, 1e-4, len(y)), 0.001, 0.999)
    said = lead(vc.compare(y, {"near": near, "true": held["true"]}, reference="true"))
    assert (said.mark, said.text) == (words.NOTICE, "near ties with true (log loss).")


def test_the_best_model_beats_the_others_by_their_loss_less_its_own() -> None:
    y, held = models()
    c = vc.compare(y, held)
    said = lead(c)
    assert (said.mark, said.title) == (words.GOOD, "Best")
    assert said.text.startswith("true beats ")
    for name, size in re.findall(r"(sharp|half) by (0\.\d+)", said.text):
        more = float(c.models[name].scores.log_loss) - float(c.models["true"].scores.log_loss)
        assert float(size) == pytest.approx(more, abs=0.0006)


def test_each_group_is_won_by_the_model_with_the_lower_loss_in_it() -> None:
    y, held = models(2400)
    site = np.repeat(["a", "b", "c", "d"], 600)
    mixed = np.where(site == "a", held["half"], held["true"])
    other = np.where(site == "a", held["true"], held["half"])
    c = vc.compare(y, {"mixed": mixed, "other": other}, groups={"site": site})
    assert lead(c).text.startswith("mixed beats other")
    said = notes(c, "By site")
    assert said.startswith("mixed is better in 3 of 4 groups and other is better in 1 of 4 groups (")


def test_differences_turn_round_with_their_interval_and_z() -> None:
    d = PairDifference("a", "b", 0.2, 0.1, 0.4, 2.0, 0.03, 0.06)
    back = words.comparison.among([d], "b", "a")
    assert back == PairDifference("b", "a", -0.2, -0.4, -0.1, -2.0, 0.03, 0.06)
    assert words.comparison.among([d], "a", "b") is d


@pytest.mark.parametrize(("adjusted", "claimed"), [(0.049, True), (0.051, False), (None, False)])
def test_a_difference_is_claimed_by_the_adjusted_p_alone(adjusted: float | None, claimed: bool) -> None:
    d = PairDifference("a", "b", -0.2, -0.3, -0.1, -2.0, 0.001, adjusted)
    record = ComparisonRecord(100, "position", "t", None, {"log": (d,)}, {}, {"log": (("a",), ("b",))}, (), ())
    assert words.comparison.claimed(record, "a", "b", 0.95) == claimed
    assert words.comparison.claimed(record, "b", "a", 0.95) == claimed


# -- tables of counts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "first", "second"),
    [([[83, 56], [2, 12]], "raises", "lowers"), ([[2, 12], [83, 56]], "lowers", "raises")],
)
def test_a_positive_test_raises_the_probability_where_more_events_follow_it(
    counts: list[list[int]], first: str, second: str
) -> None:
    table = PredictionTable(counts, rows=["negative", "positive"], columns=["no", "yes"])
    said = words.tables.informative(table).text
    prior, after, otherwise = (68 / 153, counts[1][1] / sum(counts[1]), counts[0][1] / sum(counts[0]))
    assert (after > prior) == (first == "raises")
    shares = [f"{100 * share:.1f} %" for share in (prior, after, otherwise)]
    assert f" {first} the probability of the event from {shares[0]} to {shares[1]}, " in said
    assert f"a negative one {second} it to {shares[2]}." in said
