"""Every kind of input that allows less than a full answer has a defined state, with its reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import veracity as vc
from bench._truth import draw, truth
from veracity.records.verdict import Reason

RNG = np.random.default_rng(35)
Q = truth("bin", 200, RNG)
Y = draw(Q, RNG)
HARD = np.where(RNG.random(200) < 0.8, Y, 1 - Y).astype(float)
FEW, CLUSTERS, TIMES = Reason.TOO_FEW_CASES, Reason.TOO_FEW_CLUSTERS, Reason.TOO_FEW_TIMES
CASES = [
    ("fewer than 20 rows", (Y[:19], Q[:19]), {}, "not measurable", FEW, "none", "19 cases: too few to judge"),
    ("one class observed", (Y * 0, Q), {"labels": [0, 1]}, "found", Reason.ONE_CLASS, "none", "only one class was obs"),
    ("constant and right", (Y, np.full(200, Y.mean())), {}, "none found", Reason.CONSTANT, "none", "only its level"),
    ("constant and wrong", (Y, np.full(200, 0.9)), {}, "found", Reason.CONSTANT, "base rate", "Too high overall"),
    ("0 and 1, all right", (Y, Y.astype(float)), {}, "none found", Reason.ONLY_CERTAIN_FORECASTS, "none", "decisions"),
    ("0 and 1, some wrong", (Y, HARD), {}, "found", Reason.ONLY_CERTAIN_FORECASTS, "floor", "ruled out what happened"),
    ("one cluster", (Y, Q), {"clusters": Y * 0}, "not measurable", CLUSTERS, "none", "1 cluster: too few"),
    ("equal times", (Y, Q), {"time": Y * 0}, "not measurable", TIMES, "none", "fewer than 8 different times"),
    ("groups of one case", (Y, Q), {"groups": np.arange(200)}, "none found", None, "none", "Not measurable: too few"),
    ("weights of zero", (Y, Q), {"sample_weight": np.arange(200) < 40}, "too few", None, "none", "160 of 200 rows"),
]


@pytest.mark.parametrize(
    ("given", "options", "state", "reason", "advice", "said"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_input_that_allows_less_has_a_state_and_its_reason(given, options, state, reason, advice, said):
    y, p = given
    a = vc.assess(y, p, **options)
    assert (a.verdict_detail.state, a.verdict_detail.reason, a.advice.advice) == (state, reason, advice)
    assert said.lower() in " ".join(str(a).split()).lower()


def test_weights_that_are_all_zero_are_refused():
    with pytest.raises(ValueError, match="all 200 weights are zero"):
        vc.assess(Y, Q, sample_weight=np.zeros(200))


def test_realised_probabilities_alone_cannot_be_compared_with_frequencies():
    a = vc.assess(vc.Forecasts(None, None, (), log_realised=np.log(Q[np.arange(200), Y])))
    assert (a.verdict_detail.state, a.verdict_detail.reason) == ("not measurable", Reason.ONLY_REALISED)
    assert "Only the probability of the outcome is given" in " ".join(str(a).split())


def test_a_pick_whose_confidence_does_not_tell_right_from_wrong_is_said_to_carry_no_information():
    rng = np.random.default_rng(36)
    confidence, said = rng.choice([0.7, 0.8, 0.9, 0.95], 800), []
    for right in (rng.random(800) < 0.6, rng.random(800) < 2.0 * (confidence - 0.5)):
        picks = vc.Forecasts.of(right.astype(int), confidence)
        a = vc.assess(replace(picks, picks_only=True))
        said.append("its confidence carries hardly any information" in " ".join(str(a).lower().split()))
    assert said == [True, False]
