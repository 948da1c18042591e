"""What people read: one label, one gloss and one formula per number, the same in terminal, report and Markdown.

The API and the JSON keep the papers' names; on screen the quantity comes first and the paper's name after it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True)
class Word:
    """A number as people meet it: label, the papers' name, one sentence, formula, reference."""

    label: str
    paper: str = ""
    gloss: str = ""
    formula: str = ""
    cite: str = ""

    @property
    def full(self) -> str:
        return f"{self.label} ({self.paper})" if self.paper else self.label


MEANS = ("decisiveness", "accuracy", "robustness")  # in the order in which they are always shown
MEANS_HEADING = "Probability given to what happened"
SHORT = {
    "decisiveness": Word("average", "decisiveness"),
    "accuracy": Word("typical", "geometric accuracy"),
    "robustness": Word("worst-leaning", "robustness"),
}
STATED, BORNE_OUT, RATIO = "stated", "borne out", "stated ÷ borne out"

WORDS: dict[str, Word] = {
    "reported.decisiveness": Word(
        "Average probability of what happened",
        "decisiveness",
        "The plain average of the probability given to what happened. It forgives surprises, and always picking one "
        "outcome with certainty raises it: a description, not a score to optimise.",
        "(1/n) Σ pᵢ,  pᵢ the probability given to what happened in case i",
        "CQ eq 2 with ρ = 1; RP eq 2.6",
    ),
    "reported.accuracy": Word(
        "Typical probability of what happened",
        "geometric accuracy",
        "The geometric mean: the log score turned back into a probability (exp(−log loss)). The one of the three that "
        "rewards honest probabilities. Not the share of correct picks.",
        "(∏ pᵢ)^(1/n) = exp(−log loss)",
        "CQ eq 2 with ρ = 0; RP eq 2.6",
    ),
    "reported.robustness": Word(
        "Worst-case-leaning probability of what happened",
        "robustness",
        "A mean in which bad surprises weigh most; a few rows can decide it, so the rows are named. A description, not "
        "a score to optimise (a forecaster who maximised it would report 0.70 where 0.80 is true). Not adversarial "
        "robustness.",
        "((1/n) Σ pᵢ^(−2/3))^(−3/2)",
        "CQ eq 2 with ρ = −2/3; RP eq 2.6",
    ),
    "measured": Word(
        "… as the outcomes bear out",
        "measured",
        "The same three means, with each probability replaced by how often such forecasts came true.",
        "pᵢ replaced by c(pᵢ), the observed frequency in the bin of pᵢ, corrected for the bias of few cases per bin",
        "N17 eqs 15–19; CQ section 4",
    ),
    "divergence": Word(
        "Stated ÷ borne out",
        "divergence probability",
        "1: stated and observed agree. Below 1: the statement costs something. In small samples it can exceed 1.",
        "reported ÷ measured",
        "N17 eq 9",
    ),
    "slope": Word(
        "Spread borne out ÷ spread stated",
        "slope",
        "Below 1 over-confident, above 1 under-confident. (CQ's orientation; N17 prints the reciprocal.)",
        "(decisiveness − robustness) measured ÷ (decisiveness − robustness) reported",
        "CQ eq 3",
    ),
    "scores.log_loss": Word(
        "Log loss (nats)",
        "",
        "The mean of −ln of the probability given to what happened: lower is better, and only honest probabilities "
        "make it small. Infinite when something happened that had been ruled out.",
        "−(1/n) Σ ln pᵢ",
        "HB17 eq 2 (divergence score); KF15 section 2",
    ),
    "scores.brier": Word(
        "Brier score (0 to 2)",
        "",
        "The squared distance between forecast and outcome, summed over the classes: lower is better, and only honest "
        "probabilities make it small.",
        "(1/n) Σᵢ Σⱼ (pᵢⱼ − yᵢⱼ)²",
        "KF15 section 2; half of it is HB17 eq 1",
    ),
    "scores.half_brier": Word(
        "Brier score, one component (0 to 1)",
        "",
        "Half of the Brier score: what many libraries call the Brier score for two classes.",
        "(1/n) Σ (pᵢ − yᵢ)²",
        "HB17 eq 1",
    ),
    "scores.spherical": Word(
        "Spherical loss",
        "",
        "One minus the probability of what happened divided by the length of the forecast vector: lower is better.",
        "(1/n) Σ (1 − pᵢ ÷ ‖pᵢ‖₂)",
        "Gneiting & Raftery 2007",
    ),
    "scores.prediction_accuracy": Word(
        "Correct picks",
        "",
        "How often the class with the highest probability happened. Ignores how sure the forecast was.",
        "(1/n) #{i : argmaxⱼ pᵢⱼ = yᵢ}",
        "CQ section 2 (prediction accuracy)",
    ),
    "scores.perplexity": Word(
        "Perplexity",
        "",
        "The number of equally likely outcomes that would be as surprising: 1 ÷ the typical probability.",
        "exp(log loss)",
        "RP table 1",
    ),
    "scores.auc": Word(
        "Ranking",
        "AUC",
        "How often a case with the event got a higher probability than one without. Says nothing about whether the "
        "probabilities are right.",
        "P(p of an event > p of a non-event), ties ½",
        "Mann–Whitney",
    ),
    "skill.log": Word(
        "Skill in log loss",
        "",
        "The share of the base-rate loss that the forecasts save: 1 is perfect, 0 no better than the base rate.",
        "1 − log loss ÷ log loss of the base rate",
        "HB17 (McFadden R²)",
    ),
    "skill.brier": Word(
        "Skill in Brier score",
        "",
        "The share of the base-rate Brier score that the forecasts save.",
        "1 − Brier ÷ Brier of the base rate",
        "Brier skill score",
    ),
    "losses.L": Word("Loss", "L", "All of it: the mean score of the stated probabilities.", "E d(S, Y)", "KF15"),
    "losses.CL": Word(
        "Calibration loss",
        "CL",
        "What would be saved if each stated probability were replaced by the frequency with which it came true. "
        "Recalibration removes it.",
        "E d(S, C)",
        "KF15 section 3",
    ),
    "losses.AL": Word(
        "Adjustment loss",
        "AL",
        "The part of it that goes away by matching the overall class frequencies; needs no labels case by case, only "
        "the frequencies.",
        "E d(S, A)",
        "KF15 section 4",
    ),
    "losses.PCL": Word(
        "Remaining calibration loss",
        "PCL",
        "The rest: needs labelled cases to repair.",
        "E d(A, C)",
        "KF15 section 4",
    ),
    "losses.GL": Word(
        "Grouping loss",
        "GL",
        "Cases that got the same forecast though they differ: only a better model repairs it.",
        "E d(C, Q)",
        "KF15 section 3",
    ),
    "losses.IL": Word(
        "Irreducible loss",
        "IL",
        "Chance: no forecast from these inputs can avoid it.",
        "E d(Q, Y)",
        "KF15 section 3",
    ),
    "losses.RL": Word(
        "Refinement loss",
        "RL",
        "Better model or pure chance: these data cannot tell (give `--ideal`, `--feature` or repeated outcomes).",
        "E d(C, Y) = GL + IL",
        "KF15 section 3",
    ),
    "losses.EL": Word("Loss a perfect model would save", "EL", "Calibration and grouping.", "E d(S, Q)", "KF15"),
    "losses.PEL": Word("The same after matching frequencies", "PEL", "", "E d(A, Q)", "KF15"),
    "losses.PL": Word("Loss after matching frequencies", "PL", "", "E d(A, Y)", "KF15"),
    "losses.remainder": Word(
        "Remainder",
        "",
        "What the sum of the parts leaves over when the forecasts are grouped in bins; never hidden.",
        "L − AL − PCL − GL − IL",
        "KF15 section 5: none where C is exact",
    ),
    "decomposition.uncertainty": Word(
        "Base-rate loss",
        "uncertainty",
        "The loss of always forecasting the overall frequencies. Not an error bar.",
        "e(π), the score of the base rate",
        "HB17 eq 7",
    ),
    "decomposition.resolution": Word(
        "Gain from telling cases apart", "resolution", "Higher is better.", "E d(π, C)", "HB17 eq 8"
    ),
    "decomposition.reliability": Word(
        "Miscalibration",
        "reliability term; 0 is best",
        "The distance between what was stated and what happened, bin by bin.",
        "E d(S̄, C) over the bins",
        "HB17 eq 9",
    ),
    "decomposition.within": Word(
        "Spread inside the bins",
        "",
        "What differing forecasts inside one bin add or save; zero when each bin holds one forecast.",
        "loss − (uncertainty − resolution + reliability)",
        "Stephenson and others 2008",
    ),
    "corp.miscalibration": Word(
        "Miscalibration",
        "CORP",
        "What the best monotone recalibration would save.",
        "L(S) − L(PAV)",
        "DGJ21",
    ),
    "corp.discrimination": Word("Discrimination", "CORP", "Higher is better.", "L(base rate) − L(PAV)", "DGJ21"),
    "corp.uncertainty": Word("Base-rate loss", "CORP", "", "L(base rate)", "DGJ21"),
    "calibration_error.top_label": Word(
        "Calibration error (15 bins, top pick)",
        "",
        "Depends on the bins, is not a proper score, and is 0 for a useless constant forecast; shown because others "
        "report it.",
        "Σ_b (n_b/n) |mean stated − share correct|, bins (a, b] of width 1/15",
        "Guo and others 2017; debiased: Kumar and others 2019",
    ),
    "calibration_error.classwise": Word(
        "Calibration error (15 bins, class by class)", "", "The same for each class's probability, averaged.", "", ""
    ),
    "calibration_error.pooled": Word(
        "Calibration error (15 bins, all probabilities)", "", "The same over every stated probability at once.", "", ""
    ),
    "risk_profile": Word(
        "Risk profile",
        "",
        "The mean probability of what happened for every attitude to risk r: right forgives surprises, left punishes "
        "them.",
        "P_r = ((1/n) Σ pᵢ^r)^(1/r)",
        "RP eq 2.6 and section 3",
    ),
    "floors": Word(
        "Floor",
        "",
        "The three means when no probability is allowed below the floor: how much of a bad mean is due to a few "
        "surprises.",
        "pᵢ replaced by max(pᵢ, γ)",
        "CQ table 2",
    ),
}

VERDICTS = ("over-confident", "under-confident", "matched", "undetermined")

HONEST = "rewards honest probabilities"
NOT_HONEST = "does not reward them by itself"
BASE_RATE = "always saying the base rate"
CAPTION_TOP = "On the line: the pick is right as often as it says. Below: too sure."


def remedy(entry: Mapping[str, Any]) -> tuple[str, str]:
    """The name of a remedy and what it needs."""
    said = str(entry.get("parameters") or entry.get("map")).replace(" -", " −")
    return said, "needs labels" if entry.get("needs_labels", True) else "needs no labels"


def gain(entry: Mapping[str, Any], rule: str) -> dict[str, Any] | None:
    """What a remedy saves under a rule, as a reading; None where it cannot be scored."""
    held = entry.get(rule) or {}
    if held.get("gain") is None:
        return None
    return {"value": held["gain"], "low": held.get("low"), "high": held.get("high"), "reason": None}


def helpful(document: Mapping[str, Any], rule: str = "log") -> list[Mapping[str, Any]]:
    """The remedies that can be scored under a rule, the largest gain first."""
    known = [(gain(entry, rule), entry) for entry in document.get("remedies") or []]
    finite = [(held["value"], entry) for held, entry in known if held and math.isfinite(held["value"])]
    return [entry for _, entry in sorted(finite, key=lambda pair: -pair[0])]


def value(reading: Any) -> float | None:
    """The number in a reading, or the number itself; None where there is none.

    >>> value({"value": 0.5, "low": None, "high": None, "method": "exact"})
    0.5
    """
    found = reading.get("value") if isinstance(reading, Mapping) else reading
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def known(reading: Any) -> bool:
    """Whether there is a finite number."""
    found = value(reading)
    return found is not None and math.isfinite(found)


def number(x: Any, digits: int = 3) -> str:
    """A number for people: three decimals, fewer when large, powers of ten when tiny, never a false zero.

    >>> [number(x) for x in (0.71138, 2.6e-14, 1.0, 12.345, 98765.4, float("inf"), None)]
    ['0.711', '3e-14', '1.000', '12.3', '98,765', '∞', '–']
    """
    x = value(x)
    if x is None:
        return "–"
    if math.isnan(x):
        return "undefined"
    if math.isinf(x):
        return "∞" if x > 0 else "−∞"
    size = abs(x)
    if 0 < size < 0.5 * 10**-digits:
        text = f"{size:.0e}"
    elif size < 10:
        text = f"{size:.{digits}f}"
    elif size < 1000:
        text = f"{size:.1f}"
    else:
        text = f"{size:,.0f}"
    return f"−{text}" if x < 0 else text


def two(x: Any) -> str:
    """A number with two decimals, for slopes."""
    return number(x, 2)


def percent(x: Any) -> str:
    """
    >>> percent(0.838)
    '83.8 %'
    """
    x = value(x)
    return "–" if x is None else "undefined" if math.isnan(x) else f"{100 * x:.1f} %"


def interval(reading: Any, show: Any = number) -> str:
    """
    >>> interval({"value": 0.8, "low": 0.7911, "high": 0.841, "method": "delta"})
    '0.791 … 0.841'
    """
    if not isinstance(reading, Mapping):
        return ""
    low, high = reading.get("low"), reading.get("high")
    if low is None or high is None:
        return ""
    return f"{show(low)} … {show(high)}".replace(" % …", " …")


def why(reading: Any) -> str:
    """Why a reading has no number or no interval, if it says so."""
    return str(reading.get("reason") or "") if isinstance(reading, Mapping) else ""


def count(n: int, noun: str, many: str = "") -> str:
    """
    >>> count(1, "finding"), count(1889, "row")
    ('1 finding', '1,889 rows')
    """
    return f"{n:,} {noun if n == 1 else many or noun + 's'}"


def plain(text: str) -> str:
    """A sentence without its marks of emphasis.

    >>> plain("**Matched.** It agrees.")
    'Matched. It agrees.'
    """
    return text.replace("**", "")


def sentences(document: Mapping[str, Any]) -> list[str]:
    """The verdict in plain language, in the order in which it is said, its word emphasised.

    >>> sentences({"verdict_detail": {"sentences": ["Matched. Stated probabilities agree."]}})
    ['**Matched.** Stated probabilities agree.']
    """
    said = (document.get("verdict_detail") or {}).get("sentences")
    if not said:
        return [f"**{str(document.get('verdict') or 'undetermined').capitalize()}.**"]
    return [_VERDICT_WORD.sub(r"**\1**", str(sentence)) for sentence in said]


_VERDICT_WORD = re.compile(r"^((?:Over-confident|Under-confident|Matched|Undetermined|Not measurable here)[.:])")


def grave(document: Mapping[str, Any]) -> list[str]:
    """Findings that change what every number below them means, as sentences; they stand with the verdict."""
    said = [str(f["message"]) for f in unsaid(document) if f.get("severity") == "changes the meaning"]
    return [f"{message[:1].upper()}{message[1:].removesuffix('.')}." for message in said]


def floor_note(document: Mapping[str, Any]) -> str:
    """What a floor does to the means, if there is one."""
    floor = document.get("floor") or 0.0
    return f"In these means no probability counts below the floor {floor:g}; the scores have no floor." if floor else ""


def other_findings(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The findings that stand at the end."""
    return [f for f in unsaid(document) if f.get("severity") != "changes the meaning"]


def unsaid(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Findings that the sentences of the verdict have not told already."""
    detail = document.get("verdict_detail") or {}
    said = " ".join(map(str, detail.get("sentences") or [])).lower()
    told = {"zero_probability"} if detail.get("zero_rows") and said else set()
    found = document.get("findings") or []
    return [f for f in found if f.get("code") not in told and str(f.get("message", "")).lower().rstrip(".") not in said]


def rank(document: Mapping[str, Any]) -> tuple[float, float]:
    """What puts models in order: log loss, then Brier score; unknown last."""
    held = document.get("scores") or {}
    losses = [value(held.get(name)) for name in ("log_loss", "brier")]
    first, second = (math.inf if loss is None or math.isnan(loss) else loss for loss in losses)
    return first, second


def level(document: Mapping[str, Any]) -> str:
    """
    >>> level({"level": 0.95})
    '95 %'
    """
    return f"{100 * float(document.get('level') or 0.95):g} %"
