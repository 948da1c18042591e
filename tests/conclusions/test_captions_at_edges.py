"""Captions stay true where an outcome had probability 0, or where there is one forecast."""

from __future__ import annotations

import numpy as np

import veracity as vc
from bench._truth import draw, truth
from veracity import show
from veracity.plots import decomposed_profile, reliability, risk_profile


def ruled_out() -> vc.Assessment:
    rng = np.random.default_rng(1)
    p = truth("bin", 400, rng)
    y = draw(p, rng)
    p[3] = np.eye(2)[1 - y[3]]
    return vc.assess(y, p)


def test_an_infinite_log_loss_is_no_share_of_the_baselines():
    said = decomposed_profile.caption(ruled_out())
    assert "The Brier score is" in said
    assert "The log loss is" not in said


def test_a_typical_probability_of_zero_is_said_to_come_from_outcomes_that_were_ruled_out():
    said = risk_profile.caption(ruled_out())
    assert "it gave 0 %, as 1 outcome had probability 0, where" in said
    assert "about" not in said


def test_the_card_of_the_typical_probability_says_why_it_is_zero():
    assert "to the outcome, as 1 outcome had probability 0; expected" in show.to_html(ruled_out())


def test_one_point_is_not_several():
    rng = np.random.default_rng(2)
    a = vc.assess((rng.random(300) < 0.3).astype(int), np.full(300, 0.3))
    assert "All 1 points" not in reliability.caption(a)
    assert "The point lies inside the grey band" in reliability.caption(a)
