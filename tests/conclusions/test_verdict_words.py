"""Sentences of the verdict: said only where they are true, in percent, without scientific notation."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import veracity as vc
from bench._truth import draw, stated, truth
from bench.verdict import plain
from veracity.estimate.calibration.verdict_of_tally import verdict
from veracity.records.reading import Reading
from veracity.records.sections import Surprise
from veracity.records.verdict import ClassLevel, ConfidenceTest, LevelTest, Range, ShapeTest, Verdict
from veracity.words.verdict import percent, range_name, sentences

FOUND = Verdict(
    word="over-confident",
    state="found",
    p=0.001,
    level=LevelTest(0.4),
    confidence=ConfidenceTest(0.001, "over-confident", 0.62, 0.33),
    shape=ShapeTest(0.5),
    slope=Reading(0.52, 0.47, 0.58),
    intercept=None,
    ratio=None,
    gain=Reading(0.1, 0.05, 0.2),
    detectable=0.01,
    zero_rows=0,
)
SURE = Range(0.95, 1.0, 0.9712, 0.8795, 589.0, 518.0, 572.0, -12.0)
CAUTIOUS = Range(0.6, 0.8, 0.7, 0.86, 100.0, 86.0, 70.0, 3.5)


def said(found: Verdict, cases: int = 500, classes: int = 5) -> tuple[str, ...]:
    return tuple(map(str, sentences(replace(found, cases=cases, class_count=classes))))


def test_over_confidence_is_shown_where_it_is_clearest() -> None:
    found = replace(FOUND, confidence=replace(FOUND.confidence, where=SURE))
    assert said(found) == (
        "**Over-confident.** When it says 95 % or more (97 % on average), it is right 88 % of the time: "
        "71 misses where 17 were expected.",
    )


def test_events_happen_and_picks_are_right() -> None:
    under = ConfidenceTest(0.001, "under-confident", 0.5, 0.6, CAUTIOUS)
    found = replace(FOUND, word="under-confident", confidence=under)
    assert "60–80 % (70 % on average), it is right 86 % of the time" in said(found, classes=5)[0]
    assert "60–80 % (70 % on average), it happens 86 % of the time" in said(found, classes=2)[0]


def test_events_that_did_not_happen_are_exceptions_and_wrong_picks_are_misses() -> None:
    found = replace(FOUND, confidence=replace(FOUND.confidence, where=SURE))
    assert said(found, classes=2)[0].endswith("it happens 88 % of the time: 71 exceptions where 17 were expected.")
    none = replace(FOUND, confidence=replace(FOUND.confidence, where=replace(SURE, observed=1.0, events=589.0)))
    assert said(none, classes=2)[0].endswith("no exceptions where 17 were expected.")
    assert said(none, classes=5)[0].endswith("no misses where 17 were expected.")


def test_a_minimum_probability_that_leaves_the_base_rate_better_says_so() -> None:
    rng = np.random.default_rng(2)
    y, p = rng.random(400) < 0.3, rng.choice([0.0, 0.1, 0.3, 0.6, 0.9, 1.0], 400)
    a = vc.assess(y, p)
    assert a.advice.advice == "floor"
    text = " ".join(str(a).split())
    loss = a.verdict_detail.floored_loss
    assert (
        f"always predicting the class frequencies has a better log loss: {a.baseline.log_loss:.2f} against {loss:.2f}"
        in text
    )
    sound = rng.random(2000)
    hit = rng.random(2000) < sound
    sound[np.flatnonzero(hit)[0]] = 0.0
    assert "Even so" not in str(vc.assess(hit, sound))


def test_confidence_that_no_range_shows_is_told_by_typical_probabilities() -> None:
    assert said(FOUND) == (
        "**Over-confident.** Its probabilities are too extreme: "
        "it expects to give the outcome 62 % (typically); it gave 33 %.",
    )
    other = replace(FOUND, confidence=replace(FOUND.confidence, realised=0.7))  # the level hides the direction
    assert said(other) == ("**Over-confident.** Its probabilities are too extreme.",)


def test_level_of_two_and_of_more_classes() -> None:
    nothing = ConfidenceTest(0.4)
    two = replace(
        FOUND, word="biased", confidence=nothing, level=LevelTest(0.001, {"yes": ClassLevel(0.12, 0.07, 9.0)})
    )
    assert said(two, classes=2) == ("**Too high overall.** It predicts 12 % on average; 7 % happened.",)
    levels = {"cat": ClassLevel(0.14, 0.10, -5.0), "dog": ClassLevel(0.08, 0.10, 4.0)}
    more = replace(two, level=LevelTest(0.001, levels))
    assert said(more) == (
        "**Biased.** **Over-predicts** cat (14 %, was 10 %) and **under-predicts** dog (8 %, was 10 %).",
    )


def test_sizes_are_rounded_up() -> None:
    slight = replace(FOUND, word="slightly over-confident", state="slight", gain=Reading(0.001, 0.0, 0.00551))
    assert said(slight) == ("**Slightly over-confident.** Recalibrating saves at most 0.6 % of the log loss.",)
    fine = replace(slight, word="calibrated", state="calibrated", gain=Reading(0.0, 0.0, 0.001), detectable=0.0031)
    assert said(fine) == (
        "**Calibrated.** Correcting level, slope and ranges would save at most 0.4 % of the log loss.",
    )


def test_too_few_cases_are_called_that() -> None:
    found = replace(FOUND, word="no miscalibration found", state="none found", detectable=1.0)
    assert said(found, cases=25) == ("**No miscalibration found.** 25 cases are too few to judge.",)
    seen = replace(found, detectable=0.04)
    assert said(seen, classes=2) == (
        "**No miscalibration found.** With 500 cases, level or slope errors above 4.0 % of the loss would show.",
    )


def test_zeros_come_first_with_the_loss_of_a_minimum_probability() -> None:
    rows = tuple(Surprise(row, "yes", 0.0) for row in (136, 140, 150))
    found = replace(FOUND, zero_rows=3, ruled_out=rows, floor=0.001, floored_loss=0.2084)
    assert said(found, 569, 2)[0] == (
        "**It ruled out what happened in 3 of 569 cases** (rows 136, 140, 150), so its log loss is infinite. "
        "With a minimum probability of 0.1 % it would be 0.21."
    )


@pytest.mark.parametrize(
    ("low", "high", "name"),
    [
        (0.0, 0.001, "less than 0.1 %"),
        (0.001, 0.01, "0.1–1 %"),
        (0.2, 0.4, "20–40 %"),
        (0.99, 0.999, "99–99.9 %"),
        (0.999, 1.0, "99.9 % or more"),
    ],
)
def test_ranges_have_short_names(low: float, high: float, name: str) -> None:
    assert range_name(low, high) == name


def test_percentages_never_use_scientific_notation() -> None:
    for share in np.concatenate([10.0 ** np.arange(-12.0, 0.0), 1.0 - 10.0 ** np.arange(-12.0, 0.0), [0.0, 1.0]]):
        assert re.fullmatch(r"\d+(\.\d+)? %", percent(float(share)))


CASES = [
    (kind, n, error, size)
    for kind, n in (("bin", 600), ("rare", 1500), ("k5", 400), ("sat10", 600), ("k100", 200))
    for error, size in (("cal", 0.0), ("T", 1.6), ("T", 0.6), ("bias", 0.6), ("bias", -0.6))
]


@pytest.mark.parametrize(("kind", "n", "error", "size"), CASES)
def test_every_sentence_of_simulated_cases_is_true_of_its_numbers(kind: str, n: int, error: str, size: float) -> None:
    given = plain(kind, n, error, size)(np.random.default_rng(11))
    p, y = given["p"], given["y"]
    found = verdict(vc.Tally.of(y, p))
    text = " ".join(map(str, sentences(found)))
    assert not re.search(r"\de[-+]?\d|nan|\binf\b|None", text)
    assert text.startswith("**")
    if found.confidence.where is not None:
        where = found.confidence.where
        entries = p if p.shape[1] > 2 else p[:, 1:]
        true = np.eye(p.shape[1])[y][:, -entries.shape[1] :].astype(bool)
        inside = (entries >= where.low) & ((entries < where.high) | (where.high == 1.0))
        assert where.count == pytest.approx(inside.sum(), abs=1e-6)
        assert where.events == pytest.approx((inside & true).sum(), abs=1e-6)
        assert where.predicted == pytest.approx(entries[inside].mean(), rel=1e-9)
    for name, level in found.level.classes.items():
        assert level.predicted == pytest.approx(p[:, int(name)].mean(), rel=1e-9)
        assert level.observed == pytest.approx((y == int(name)).mean(), abs=1e-9)


def test_a_range_of_sure_forecasts_holds_most_misses_and_no_range_is_told_twice() -> None:
    q = truth("sat10", 1000, rng := np.random.default_rng(424242))
    found = vc.assess(draw(q, rng), stated(q, "T", 2.0)).verdict_detail
    where = found.confidence.where
    assert where is not None
    assert where.high == 1.0
    assert where.low <= 0.95
    assert len(sentences(found)) == 1


def test_shares_have_the_digits_of_their_difference_and_numbers_are_called_classes() -> None:
    levels = {"7": ClassLevel(0.1112, 0.1001, -5.0), "1": ClassLevel(0.0902, 0.1014, 4.0)}
    found = replace(FOUND, word="biased", confidence=ConfidenceTest(0.4), level=LevelTest(0.001, levels))
    assert said(found) == (
        "**Biased.** **Over-predicts** class 7 (11.1 %, was 10.0 %) and **under-predicts** class 1 "
        "(9.0 %, was 10.1 %).",
    )


def test_the_event_is_named_by_the_same_range_whatever_the_order_of_classes() -> None:
    q = truth("bin", 2000, rng := np.random.default_rng(7))
    y, p = draw(q, rng), stated(q, "T", 2.0)
    found = [
        vc.assess(np.array(names)[y], p, labels=list(names)).verdict_detail.confidence.where
        for names in (("a", "b"), ("b", "a"))
    ]
    assert found[0] is not None
    assert found[1] is not None
    assert (found[0].low, found[0].high, found[0].events) == (found[1].low, found[1].high, found[1].events)
