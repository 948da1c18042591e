"""A verdict of confidence and a calibration slope that point in opposite directions never stand side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import veracity as vc
from veracity import show
from veracity.records.reading import Reading
from veracity.records.verdict import ConfidenceTest, LevelTest, ShapeTest, Verdict
from veracity.words.verdict import sentences


def picks(level: float, slope: float, n: int = 20_000) -> vc.Assessment:
    """Confidences of picks that are right with log-odds level + slope·(log-odds of the confidence)."""
    rng = np.random.default_rng(4)
    said = np.round(rng.beta(3.0, 1.5, n), 4) * 0.98 + 0.01
    right = rng.random(n) < 1 / (1 + np.exp(-level - slope * np.log(said / (1 - said))))
    kinds = np.array(["cat", "dog", "owl"])
    pick = rng.integers(0, 3, n)
    truth = np.where(right, pick, (pick + rng.integers(1, 3, n)) % 3)
    frame = pl.DataFrame({"truth": kinds[truth], "pick": kinds[pick], "confidence": said})
    found: Any = vc.assess(frame, label="truth", layout="top")
    return found  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("level", "slope", "title", "side"), [(0.35, 0.86, "Under", "below"), (-0.5, 1.15, "Over", "above")]
)
def test_picks_whose_slope_says_the_opposite_are_told_by_their_averages(
    level: float, slope: float, title: str, side: str
) -> None:
    a = picks(level, slope)
    detail = a.verdict_detail
    assert detail.confidence.direction == f"{title.lower()}-confident"
    assert detail.slope.low is not None
    assert detail.slope.high is not None
    assert detail.slope.high < 1.0 if side == "below" else detail.slope.low > 1.0
    expected, realised = 100 * detail.confidence.expected, 100 * detail.confidence.realised
    said = str(sentences(detail)[0])
    assert said.startswith(f"**{title}-confident.** It says {expected:.0f} % on average; {realised:.0f} % of its picks")
    assert said.endswith(f"where it is least sure, so the calibration slope is {side} 1.")
    first = str(a)
    assert "Calibration slope" not in first
    assert f"{float(detail.slope):.2f}" not in first.partition("Fix")[0]
    assert "here they point in opposite directions" in repr(show.blocks(a))


def test_a_slope_that_agrees_is_shown_beside_the_verdict() -> None:
    a = picks(0.0, 0.7)
    assert a.verdict_detail.confidence.direction == "over-confident"
    assert not a.verdict_detail.slope_differs
    assert "Calibration slope" in str(a)
    assert "opposite directions" not in repr(show.blocks(a))


FOUND = Verdict(
    word="over-confident",
    state="found",
    p=0.001,
    level=LevelTest(0.4),
    confidence=ConfidenceTest(0.001, "over-confident", 0.62, 0.33),
    shape=ShapeTest(0.5),
    slope=Reading(1.2, 1.1, 1.3),
    intercept=None,
    ratio=None,
    gain=Reading(0.1, 0.05, 0.2),
    detectable=0.01,
    zero_rows=0,
)


def test_a_slope_differs_by_its_interval_or_else_by_its_value() -> None:
    assert FOUND.slope_differs
    for slope, differs in ((Reading(1.2, 0.9, 1.5), False), (Reading(0.8, 0.7, 0.9), False), (Reading(1.2), True)):
        assert replace(FOUND, slope=slope).slope_differs == differs
    cautious = replace(FOUND, confidence=replace(FOUND.confidence, direction="under-confident"))
    assert not cautious.slope_differs
    assert replace(cautious, slope=Reading(0.86, 0.84, 0.88)).slope_differs
    assert not replace(FOUND, confidence=ConfidenceTest(0.3)).slope_differs
    assert not replace(FOUND, slope=Reading(float("nan"), reason="none")).slope_differs
