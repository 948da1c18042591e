"""Labels, marks and sources that every page shares; those of single quantities are in `measures.py`."""

from __future__ import annotations

from typing import NamedTuple

PAPERS = {
    "N17": "K. P. Nelson (2017), Assessing probabilistic inference by comparing the generalized mean of the model and "
    "source probabilities, Entropy 19(6), 286",
    "RP": "K. P. Nelson, Reduced perplexity: a simplified perspective on assessing probabilistic forecasts",
    "CQ": "K. P. Nelson and others, Use of the geometric mean, decisiveness and robustness to assess the quality of "
    "large-scale probabilistic classifiers",
    "HB17": "G. Hughes and F. J. Burnett (2017), Evaluation of probabilistic disease forecasts, Phytopathology 107(10)",
    "KF15": "M. Kull and P. Flach (2015), Novel decompositions of proper scoring rules for classification, ECML PKDD",
    "DGJ21": "T. Dimitriadis, T. Gneiting and A. I. Jordan (2021), Stable reliability diagrams for probabilistic "
    "classifiers, PNAS 118(8)",
}

FIXABLE = {"none": "no recalibration is called for", "floor": "a minimum probability", "base rate": "class frequencies"}
RULES = {"log": "log loss", "brier": "Brier score"}
SCORE_OF = {"log": "log_loss", "brier": "brier"}
GOOD, BAD, ACTION, NOTICE, NEUTRAL, UNKNOWN = "✓", "✗", "→", "!", "·", "?"
MARK_OF_STATE = {"found": BAD, "slight": NOTICE, "calibrated": GOOD, "none found": GOOD, "too few": UNKNOWN}
PUBLISHED = (
    "All by the procedure published in {paper}: one curve, without a correction for bins of few cases; least "
    "probability γ = {floor}."
)
CURVES = {
    "bins": "bins of equal counts",
    "width": "bins of equal width",
    "isotonic": "isotonic regression",
    "knn": "nearest forecasts",
    "kernel": "kernel regression",
}
BY_CURVE = (
    "One curve for {groups}, fitted and read on the same cases: no interval. The recalibrated means are cross-fitted."
)
AT_R = "The probability of the outcome averaged as (mean of p^r)^(1/r): the lower r, the more misses count."
BOTH_SIDES = (
    "Means over the cases in which the class was the outcome. Model: of the probability given to it. Source: of how "
    "often such forecasts of the class came true."
)
RECALIBRATED = "Recalibrated: what the best recalibration leaves, on cases it was not fitted to."
WITHIN_CHANCE = "Given and recalibrated are the same within chance: no miscalibration was found."
CLASS_P = "p: of the test that a class happens as often as predicted (Holm)."
CLASS_COLUMNS = f"Share: of the miscalibration. {CLASS_P}"
APPLY = "A fitted map is applied by: veracity calibrate apply map.json NEW.csv -o OUT.csv"


class Said(NamedTuple):
    """A sentence with its mark and title, and the command, or the lines of Python, that do what it proposes."""

    mark: str
    title: str
    text: str
    command: str = ""
    python: str = ""
