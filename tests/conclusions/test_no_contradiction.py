"""No two parts of one answer contradict each other, on simulated and on real forecasts."""

from __future__ import annotations

import math
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import veracity as vc
from bench._truth import draw, stated, truth
from veracity.read import ReadOptions, read
from veracity.show import first_screen
from veracity.show.blocks import Sentence
from veracity.words import ACTION, BAD, GOOD

KINDS = ("bin", "rare", "k3", "k5", "sat10")
ERRORS = [("cal", 0.0), ("T", 1.5), ("T", 0.7), ("bias", 0.6), ("cls", 1.4)]
REMEDY = ("Fix", "Possible fix", "Use the base rate", "No simple fix")


def contradictions(a: vc.Assessment) -> list[str]:
    """Return what the first screen says against itself or against the document."""
    said = [block for block in first_screen(a) if isinstance(block, Sentence)]
    verdict, found = a.verdict_detail, []
    wrong = [s for s in said if s.lead and s.mark == BAD and s.title != "Worse than the baseline"]
    advice = [s for s in said if s.title in REMEDY]
    if wrong and not advice:
        found.append(f"a fault ({wrong[0].title}) without a fix or the reason why there is none")
    if any(s.lead and s.mark == GOOD for s in said) and any(s.mark == ACTION for s in advice):
        found.append("a tick beside an advised fix")
    if any(s.title == "Nothing to fix" for s in said) and (wrong or advice):
        found.append("nothing to fix beside a fault")
    if verdict.zero_rows and any(s.lead and s.mark == GOOD for s in said):
        found.append("a tick beside an outcome that was ruled out")
    losses = a.losses("log")
    if a.measured.geometric_accuracy.known and math.isfinite(losses.RL):
        if not math.isclose(a.measured.geometric_accuracy, math.exp(-losses.RL), rel_tol=1e-12):
            found.append(f"measured {a.measured.geometric_accuracy} is not exp(−RL) {math.exp(-losses.RL)}")
        if not math.isclose(a.divergence.geometric_accuracy, math.exp(-losses.CL), rel_tol=1e-12):
            found.append("divergence is not exp(−CL)")
    gain = a.advice.log
    if gain is not None and losses.CL.high is not None and gain.gain > losses.CL.high * (1 + 1e-9):
        found.append(f"the fix gains {gain.gain}, the calibration loss is at most {losses.CL.high}")
    if a.calibration_slope != verdict.slope and not math.isnan(verdict.slope):
        found.append("two calibration slopes")
    words = {"over-confident": (1.0, math.inf), "under-confident": (0.0, 1.0)}
    for word, (low, high) in words.items():  # a slope clearly on the other side is not shown beside the word
        slope = a.calibration_slope
        against = slope.low is not None and slope.high is not None and low <= slope.low and slope.high <= high
        if verdict.confidence.direction == word and against and "Calibration slope" in str(a):
            found.append(f"{word} beside a slope of {slope!r}")
    return found


def groups_alone(y, p, groups) -> list[str]:
    """Return groups whose verdict differs from that of their cases alone at the same level."""
    a = vc.assess(y, p, groups=groups)
    found = []
    for name, level in a.groups["group"].levels.items():
        alone = vc.assess(y[groups == name], p[groups == name])
        if level.p is None or alone.verdict_detail.p is None:
            continue
        if level.p != pytest.approx(alone.verdict_detail.p, abs=1e-12):
            found.append(f"{name}: p {level.p} in the table, {alone.verdict_detail.p} alone")
    return found


@pytest.mark.parametrize("part", range(6))
def test_no_answer_about_simulated_forecasts_contradicts_itself(part):
    for number in range(50):
        rng = np.random.default_rng([19, part, number])
        kind, (error, size) = KINDS[number % len(KINDS)], ERRORS[(number // len(KINDS)) % len(ERRORS)]
        n = int(rng.integers(25, 500))
        q = truth(kind, n, rng)
        y, p = draw(q, rng), stated(q, error, size)
        if number % 10 == 3:
            p[0] = np.eye(p.shape[1])[(y[0] + 1) % p.shape[1]]  # an outcome is ruled out
        assert not contradictions(vc.assess(y, p)), (part, number, kind, error)


def test_groups_are_judged_as_their_cases_alone_would_be():
    for seed in range(6):
        rng = np.random.default_rng([23, seed])
        q = truth("bin", 600, rng)
        groups = np.array(["a", "b", "c"])[rng.integers(0, 3, 600)]
        p = np.where((groups == "a")[:, None], stated(q, "T", 2.0), q)
        assert not groups_alone(draw(q, rng), p, groups), seed


def sets():
    """How each shared set is read: the list that the tests of reading hold."""
    path = Path(__file__).parents[1] / "inputs" / "test_reference.py"
    spec = spec_from_file_location("reading_reference_again", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.SETS


@pytest.mark.shared
@pytest.mark.parametrize(("file", "options", "models"), sets(), ids=[f"{s[0]} {i}" for i, s in enumerate(sets())])
def test_no_answer_about_real_forecasts_contradicts_itself(shared, file, options, models):
    held = read(shared / file, ReadOptions(**options))
    for name in list(models)[:3]:
        assert not contradictions(vc.assess(held[name])), name
