"""Every column of a table, every card and every line of a CSV holds the number that its title names."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import veracity as vc
from veracity import PredictionTable, metrics, show, words
from veracity.formulas.intervals import clopper_pearson
from veracity.results.assess import Assessments
from veracity.show.blocks import Card, Cards, walk
from veracity.show.cells import Interval, Table, Value


def drawn(n: int, seed: int, power: float = 1.0, shift: float = 0.0) -> tuple[Any, Any]:
    """Two classes: forecasts with slope `power` and so much more log odds than the outcomes have."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0.0, 1.5, n)
    return (rng.random(n) < 1 / (1 + np.exp(-x))).astype(int), 1 / (1 + np.exp(-power * x - shift))


def three_classes(n: int, seed: int, power: float = 1.0, favour: float = 1.0) -> tuple[Any, Any]:
    """Three classes: forecasts with this power, the last class favoured by this factor."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.ones(3), n)
    p = truth**power * np.array([1.0, 1.0, favour])
    return (rng.random((n, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1), p / p.sum(axis=1, keepdims=True)


@cache
def over_confident() -> Any:
    return vc.assess(*drawn(1500, 1, 1.8))


@cache
def too_high() -> Any:
    y, p = drawn(900, 2, 1.0, 0.9)
    return vc.assess(y, p, groups={"site": np.repeat(["north", "south", "west"], 300)})


@cache
def favoured() -> Any:
    y, p = three_classes(900, 3, 1.6, 2.5)
    return vc.assess(y, p, labels=range(3), groups={"site": np.repeat(["north", "south"], 450)})


@cache
def compared(level: float = 0.95) -> Any:
    y, p = three_classes(1200, 4)
    rng = np.random.default_rng(5)
    noisy = p * np.exp(rng.normal(0.0, 0.6, p.shape))
    sharp = p**2.0
    models = {name: q / q.sum(axis=1, keepdims=True) for name, q in (("sharp", sharp), ("noisy", noisy), ("true", p))}
    return vc.compare(y, models, level=level)


def table(result: Any, title: str) -> Table:
    return next(block for block in walk(show.blocks(result)) if isinstance(block, Table) and block.title == title)


def column(found: Table, title: str) -> list[Any]:
    """The cells under a title."""
    (at,) = [i for i, one in enumerate(found.columns) if one.title == title]
    return [row[at] for row in found.rows]


def names(found: Table) -> list[str]:
    return [cell if isinstance(cell, str) else cell.text for cell in (row[0] for row in found.rows)]


def readings(cells: list[Any]) -> list[Any]:
    return [cell.reading for cell in cells]


def cards(result: Any) -> Iterator[Card]:
    for block in show.first_screen(result):
        if isinstance(block, Cards):
            yield from block.cards


def card(result: Any, question: str) -> Card:
    return next(one for one in cards(result) if one.question == question)


def test_the_card_of_usefulness_states_the_skill_of_the_log_loss() -> None:
    a = over_confident()
    by_log, by_brier = (round(100 * float(gain)) for gain in (a.skill.log, a.skill.brier))
    assert by_log != by_brier
    found = card(a, "Better than the baseline?")
    assert found.answer == f"Yes, {by_log} %"
    assert found.detail == f"log loss {a.scores.log_loss:.3f} vs {a.baseline.log_loss:.3f}"


def test_the_card_of_forecasts_worse_than_the_baseline_says_by_how_much() -> None:
    y, p = drawn(600, 6)
    a = vc.assess(1 - y, p)
    found = card(a, "Better than the baseline?")
    assert found.answer == f"No, {round(-100 * float(a.skill.log))} % worse"
    assert found.mark == words.BAD


def test_the_card_of_sureness_states_what_was_given_and_what_was_expected() -> None:
    a = over_confident()
    gave, expected = (round(100 * float(side.geometric_accuracy)) for side in (a.reported, a.expected))
    assert gave < expected
    found = card(a, "How sure, typically?")
    assert (found.answer, found.detail) == (f"gave {gave} %", f"to the outcome; expected {expected} %")


def test_the_card_of_a_wrong_level_states_predicted_before_observed() -> None:
    a = too_high()
    found = card(a, "Calibrated?")
    predicted, observed = float(a.per_class["1"].predicted), float(a.per_class["1"].observed)
    assert predicted > observed + 0.05
    assert (found.answer, found.mark) == ("No", words.BAD)
    assert found.detail == f"{100 * predicted:.0f} % predicted, {100 * observed:.0f} % observed"


def test_the_table_of_scores_has_value_interval_and_baseline() -> None:
    a = over_confident()
    found = table(a, "Scores")
    cells = zip(*(column(found, title) for title in ("value", "95 % interval", "baseline")), strict=True)
    by_name = dict(zip(names(found), cells, strict=True))
    for label, name in (("Log loss", "log_loss"), ("Brier score (0–2)", "brier"), ("Accuracy", "accuracy")):
        value, interval, base = by_name[label]
        score = a.scores.readings()[name]
        assert value.reading == score
        assert (interval.reading.low, interval.reading.high) == (score.low, score.high)
        assert base.reading == a.baseline.score(name)
    error = a.calibration_error.classwise
    assert error is not None
    value, interval, chance = next(held for label, held in by_name.items() if label.startswith("Calibration error"))
    assert (value.reading, interval.reading.low, interval.reading.high) == (error.value, error.low, error.high)
    assert chance == f"{error.by_chance:.3f} by chance"
    assert by_name["Calibration slope"][0].reading == a.calibration_slope


def test_the_table_of_means_has_those_given_expected_and_recalibrated() -> None:
    a = over_confident()
    found = table(a, "Probability of the outcome")
    for title, side in (("it gave", a.reported), ("it expected", a.expected), ("recalibrated", a.measured)):
        assert readings(column(found, title)) == [side.reading(name) for name in vc.measures.MEANS]


def test_the_latest_windows_are_shown_with_their_own_readings() -> None:
    y, p = drawn(1500, 7, 1.5)
    a = vc.assess(y, p, time=np.datetime64("2024-01-01") + np.arange(len(y)), window="50")
    found, latest = table(a, "In time"), a.windows[-24:]
    assert len(a.windows) == 30
    assert names(found) == [window.start for window in latest]
    assert column(found, "to") == [window.end for window in latest]
    assert readings(column(found, "cases")) == [window.n for window in latest]
    for title, name in (("log loss", "log_loss"), ("observed − expected", "excess"), ("accuracy", "accuracy")):
        assert readings(column(found, title)) == [getattr(window, name) for window in latest]
    assert "6 earlier windows not shown." in found.notes


def test_the_table_of_groups_has_predicted_and_observed_shares_of_the_event() -> None:
    a = too_high()
    levels, found = a.groups["site"].levels, table(a, "By site")
    assert names(found) == ["north", "south", "west"]
    parts = list(levels.values())
    assert readings(column(found, "cases")) == [300] * 3
    assert readings(column(found, "log loss")) == [part.scores.log_loss for part in parts]
    assert readings(column(found, "predicted")) == [part.level.predicted for part in parts]
    assert readings(column(found, "observed")) == [part.level.observed for part in parts]
    assert all(part.level.predicted > part.level.observed and part.level.z < 0.0 for part in parts)
    assert column(found, "p") == [words.p_value(part.p) for part in parts]
    assert column(found, "verdict") == [part.verdict for part in parts]


def test_the_table_of_groups_of_three_classes_has_what_was_given_and_expected() -> None:
    a = favoured()
    parts, found = list(a.groups["site"].levels.values()), table(a, "By site")
    assert readings(column(found, "gave")) == [part.reported.geometric_accuracy for part in parts]
    assert readings(column(found, "expected")) == [part.expected.geometric_accuracy for part in parts]


def test_the_table_of_classes_has_predicted_and_observed_shares_and_the_share_of_the_miscalibration() -> None:
    a = favoured()
    held, found = list(a.per_class.values()), table(a, "Classes")
    assert names(found) == list(a.per_class)
    assert readings(column(found, "cases")) == [one.n for one in held]
    assert readings(column(found, "predicted")) == [one.predicted for one in held]
    assert readings(column(found, "observed")) == [one.observed for one in held]
    assert readings(column(found, "slope")) == [one.slope for one in held]
    assert readings(column(found, "share")) == [one.share for one in held]
    assert held[2].predicted > held[2].observed


def test_the_table_of_recalibrations_has_gains_in_both_scores_best_first() -> None:
    a = over_confident()
    found = table(a, "Recalibration")
    gains = {words.remedy_name(remedy): remedy for remedy in a.remedies}
    shown = [gains[name] for name in names(found)]
    assert readings(column(found, "gain in log loss")) == [remedy.log.gain for remedy in shown]
    assert readings(column(found, "gain in Brier score")) == [remedy.brier.gain for remedy in shown]
    by_log = [remedy.log.gain for remedy in shown]
    assert by_log == sorted(by_log, reverse=True)
    assert column(found, "needs") == [remedy.needs for remedy in shown]


def test_the_table_of_expected_scores_has_observed_expected_and_their_difference() -> None:
    a = over_confident()
    found = table(a, "Score expected by the model itself")
    held = [a.expected.scores[rule] for rule in ("log", "brier")]
    assert readings(column(found, "observed")) == [a.scores.log_loss, a.scores.brier]
    assert readings(column(found, "expected")) == [one.expected for one in held]
    assert readings(column(found, "difference")) == [one.excess for one in held]
    assert column(found, "p") == [words.p_value(one.p) for one in held]


def test_the_table_of_calibration_errors_has_chance_debiased_and_largest_gap() -> None:
    a = over_confident()
    found, errors = table(a, "Calibration errors"), [error for _, error in a.calibration_error.stated()]
    for title, name in (("by chance", "by_chance"), ("debiased", "debiased"), ("largest gap", "max")):
        assert readings(column(found, title)) == [getattr(error, name) for error in errors]


@pytest.mark.parametrize("k", [2, 3])
def test_the_calibration_error_of_the_first_screen_is_one_of_the_details_under_the_same_name(k: int) -> None:
    rng = np.random.default_rng(k)
    q = rng.dirichlet(np.ones(k), 600)
    a = vc.assess((q.cumsum(axis=1) < rng.random((600, 1))).sum(axis=1), q**2 / (q**2).sum(axis=1, keepdims=True))
    first, details = table(a, "Scores"), table(a, "Calibration errors")
    shown = dict(zip(names(first), readings(column(first, "value")), strict=True))
    (label,) = [name for name in shown if name.startswith("Calibration error")]
    assert dict(zip(names(details), readings(column(details, "value")), strict=True))[label] == shown[label]
    assert metrics.calibration_error(a._state.rows.observed, a._state.rows.matrix) == pytest.approx(shown[label])


def test_models_side_by_side_have_what_they_gave_and_expected() -> None:
    y, p = drawn(700, 8)
    sharp = p**2 / (p**2 + (1 - p) ** 2)
    a = Assessments({"sharp": vc.assess(y, sharp), "true": vc.assess(y, p)})
    found = table(a, "Models")
    assert names(found) == ["true", "sharp"]
    shown = [a.models[name] for name in names(found)]
    for title, side in (("gave", "reported"), ("expected", "expected")):
        assert readings(column(found, title)) == [getattr(one, side).geometric_accuracy for one in shown]
    assert readings(column(found, "log loss ↓")) == [one.scores.log_loss for one in shown]
    assert readings(column(found, "Brier ↓")) == [one.scores.brier for one in shown]


def differences(c: Any, rule: str = "log") -> dict[tuple[str, str], Any]:
    return {(d.a, d.b): d for d in c.differences(rule)}


def turned(held: dict[tuple[str, str], Any], a: str, b: str) -> tuple[float, float, float]:
    """Difference a − b with its ends."""
    if (a, b) in held:
        return held[a, b].value, held[a, b].low, held[a, b].high
    return -held[b, a].value, -held[b, a].high, -held[b, a].low


def test_compared_models_differ_from_the_best_by_their_loss_less_its_loss() -> None:
    c = compared()
    found, held = table(c, "Models"), differences(c)
    assert names(found)[0] == "true"
    rows = zip(names(found), column(found, "from best"), column(found, "95 %"), strict=True)
    for name, cell, interval in list(rows)[1:]:
        wanted = turned(held, name, "true")
        assert (cell.reading, interval.reading.low, interval.reading.high) == wanted
        assert cell.text.startswith("+")


def test_components_of_a_difference_have_the_sign_of_the_other_model() -> None:
    c = compared()
    found = table(c, "Why they differ")
    label, wanted = "", {part: {(d.a, d.b): d for d in held} for part, held in c.record.components.items()}
    titles = {"Miscalibration": "CL", "Refinement": "RL", "Expected minus realised log loss": "expected_minus_realised"}
    seen = 0
    for name, part, cell in zip(names(found), column(found, "component"), column(found, "difference"), strict=True):
        label = name or label
        if part.name in titles:
            seen += 1
            assert cell.reading == turned(wanted[titles[part.name]], label, "true")[0]
    assert seen == 6
    assert turned(wanted["CL"], "sharp", "true")[0] > 0.0


def test_the_table_of_pairs_has_first_minus_second_and_the_cases_it_needs() -> None:
    c = compared()
    found, held = table(c, "All pairs"), c.differences("log")
    titles = ("pair", "difference", "p", "cases for 80 % power")
    first = list(zip(*(column(found, title) for title in titles), strict=True))[: len(held)]
    needed = {(one.a, one.b): one.cases for one in c.cases_needed()}
    for d, (pair, cell, p, cases) in zip(held, first, strict=True):
        assert pair == f"{d.a} − {d.b}"
        assert cell.reading == d.value
        assert p == words.p_value(d.p_adjusted)
        assert cases.reading == needed[d.a, d.b]


def test_the_csv_of_a_comparison_has_p_and_adjusted_p() -> None:
    c = compared()
    lines = {(row["model"], row["name"]): row for row in csv.DictReader(io.StringIO(show.to_csv(c)))}
    differing = 0
    for d in c.differences("log"):
        pair, name = f"{d.a} − {d.b}", "comparison.differences.log"
        assert float(lines[pair, name]["value"]) == d.value
        assert (float(lines[pair, name]["low"]), float(lines[pair, name]["high"])) == (d.low, d.high)
        assert float(lines[pair, f"{name}.p"]["value"]) == d.p
        assert float(lines[pair, f"{name}.p_adjusted"]["value"]) == d.p_adjusted
        differing += d.p != d.p_adjusted
    assert differing


def test_the_csv_has_the_ends_of_every_score_in_order() -> None:
    a = over_confident()
    lines = {row["name"]: row for row in csv.DictReader(io.StringIO(show.to_csv(a)))}
    for name in ("log_loss", "brier", "accuracy"):
        line, held = lines[f"scores.{name}"], a.scores.readings()[name]
        assert (float(line["value"]), float(line["low"]), float(line["high"])) == (held, held.low, held.high)


@pytest.mark.parametrize("counts", [[[83, 56], [2, 12]], [[64, 7], [2, 27]]])
def test_every_clinical_measure_lies_inside_its_exact_interval(counts: list[list[int]]) -> None:
    (a, b), (c, d) = counts
    found = table(PredictionTable(counts), "As a diagnostic test")
    limits = dict(zip(names(found), column(found, "95 % interval"), strict=True))
    values = dict(zip(names(found), column(found, "value"), strict=True))
    shares = {"Sensitivity": (d, b + d), "Specificity": (a, a + c), "PPV": (d, c + d), "NPV": (a, a + b)}
    shares["Prevalence"] = (b + d, a + b + c + d)
    for name, (x, n) in shares.items():
        low, high = (float(end) for end in clopper_pearson(x, n, 0.95))
        assert float(values[name].reading) == pytest.approx(x / n)
        assert (limits[name].reading.low, limits[name].reading.high) == pytest.approx((low, high))
    for name, ratio in (("LR+", (d / (b + d)) / (c / (a + c))), ("LR−", (b / (b + d)) / (a / (a + c)))):
        assert float(values[name].reading) == pytest.approx(ratio)
        assert limits[name].reading.low < ratio < limits[name].reading.high


def test_no_row_of_a_table_shows_a_value_outside_its_own_interval() -> None:
    for a in (over_confident(), too_high(), favoured()):
        for block in walk(show.blocks(a)):
            for row in block.rows if isinstance(block, Table) else ():
                for value, beside in pairwise(row):
                    if type(value) is Value and isinstance(beside, Interval) and words.ends(beside.reading):
                        low, high = words.ends(beside.reading)
                        assert low <= float(value.reading) <= high, (block.title, row[0])
