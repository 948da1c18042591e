"""The registry: every quantity that people read, and the measures that make a score out of rows.

A measure maps every row to numbers (`rows`), averages them with the rows' weights and counts, and turns the averages
into the value people read (`value`). The fused pass computes the same sums at memory speed; tests hold both together.
`MEASURES` is live: scores, schema, terminal, report, Markdown, CSV, bootstrap and comparison iterate it, so that a
measure registered from outside appears in all of them. Only measures marked `proper` may choose between models.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from veracity.formulas.rules import ScoringRule, half_brier, power, rule
from veracity.inputs import Forecasts
from veracity.records.reading import Reading
from veracity.types import Floats

LOWER, HIGHER, NEITHER = "lower", "higher", "neither"


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A number that people read: its name in the JSON document, label, the papers' name, gloss, formula, source."""

    name: str
    section: str
    label: str
    part: str = ""  # the label behind that of the whole
    gloss: str = ""
    paper: str = ""
    formula: str = ""
    cite: str = ""
    better: str = NEITHER
    percent: bool = False
    bounds: tuple[float, float] = (-np.inf, np.inf)  # that the number has by definition, and so has its interval
    digits: int | None = None  # decimals; None: as many as the interval supports
    unit: str = ""

    @property
    def path(self) -> str:
        return f"{self.section}.{self.name}" if self.section else self.name

    @property
    def titled(self) -> str:
        """The label with its unit or range in brackets."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    def within(self, whole: Quantity) -> str:
        """Return the label of a part, behind that of the whole where it needs it."""
        return f"{whole.label}, {self.part}" if self.part else self.label


@dataclass(frozen=True, kw_only=True)
class Measure(Quantity):
    """A quantity computed from forecasts and outcomes; `main` ones are in the first table of every answer."""

    section: str = "scores"
    proper: bool = False
    main: bool = True
    needs: str = "forecasts"  # "realised": the probabilities of the outcomes suffice; "two classes"
    rows: Callable[[Forecasts], Floats] | None = None
    value: Callable[[Floats], float] = lambda means: float(means[0])
    whole: Callable[[Forecasts], float] | None = None  # for measures that are no function of means of rows
    of: Callable[[Any], Reading] | None = None  # from a tally, where its sums give it

    @property
    def first(self) -> bool:
        """Whether the first table of an assessment has it: main measures, and those of two classes."""
        return self.main or self.needs == "two classes"

    def __call__(self, forecasts: Forecasts) -> float:
        """Return the measure of these forecasts.

        >>> f = Forecasts.of([0, 1, 1], [0.2, 0.7, 0.9])
        >>> round(GEOMETRIC_ACCURACY(f), 6), round(DECISIVENESS(f), 6)
        (0.795811, 0.8)
        """
        if self.whole is not None:
            return self.whole(forecasts)
        assert self.rows is not None, f"measure {self.name}: give rows or whole"
        rows, mass = self.rows(forecasts), forecasts.mass
        counted = mass > 0.0  # a row without weight is left out, even where it is infinite
        share = mass[counted] / mass[counted].sum()
        return float(self.value(share @ rows[counted]))


def _log_realised(f: Forecasts) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(f.realised) if f.log_realised is None else np.asarray(f.log_realised, dtype=np.float64)


def _score(of: ScoringRule) -> Callable[[Forecasts], Floats]:
    def rows(f: Forecasts) -> Floats:
        assert f.outcomes is not None
        return np.asarray(of.score(f.matrix, f.outcomes))[:, None]

    return rows


def _correct(f: Forecasts) -> Floats:
    if f.picks_only:
        return np.equal(f.outcomes, 1).astype(np.float64)[:, None]  # type: ignore[arg-type]
    p = f.matrix
    pick = np.argmax(p, axis=1) if f.probabilities is not None and f.probabilities.ndim == 2 else p[:, 1] > 0.5
    correct: Floats = (pick == f.outcomes).astype(np.float64)[:, None]
    return correct


def _area(f: Forecasts) -> float:
    """Return the share of pairs of event and non-event in which the event had the higher probability, ties ½."""
    assert f.outcomes is not None
    p = f.matrix[:, 1]
    order = np.argsort(p, kind="stable")
    p, event, mass = p[order], (f.outcomes == 1)[order], f.mass[order]
    starts = np.flatnonzero(np.r_[True, p[1:] != p[:-1]])
    events, others = (np.add.reduceat(np.where(kind, mass, 0.0), starts) for kind in (event, ~event))
    below = np.cumsum(others) - others
    with np.errstate(invalid="ignore"):
        return float(events @ (below + others / 2.0) / (events.sum() * others.sum()))


def mean_of_power(r: float, name: str, **described: Any) -> Measure:
    """Return the measure P_r, the generalized mean of the probability given to the outcome."""

    def rows(f: Forecasts) -> Floats:
        log = _log_realised(f)
        with np.errstate(over="ignore"):
            return (log if r == 0.0 else np.exp(r * log))[:, None]

    def value(means: Floats) -> float:
        with np.errstate(divide="ignore"):
            return float(np.exp(means[0]) if r == 0.0 else means[0] ** (1.0 / r))

    described = {"label": f"Mean of power {r:.3g}", "formula": "((1/n) Σ pᵢ^r)^(1/r)", "cite": "RP eq 3.5"} | described
    return Measure(
        name=name, section="reported", better=HIGHER if r == 0.0 else NEITHER, bounds=(0.0, 1.0), proper=r == 0.0,
        percent=True, needs="realised", rows=rows, value=value, **described,
    )  # fmt: skip


def power_score(r: float) -> Measure:
    """Return the proper score of the power family at r: 0 is the log loss, 1 the Brier score."""
    return Measure(
        name=f"power({r:.3g})", label=f"Power score at r = {r:.3g}", better=LOWER, proper=True,
        bounds=(0.0, (1.0 + r) / r if r > 0.0 else np.inf), gloss="Lower is better; rewards honest probabilities.",
        cite="theory of the power family; Gneiting & Raftery 2007 eq 25", rows=_score(power(r)),
    )  # fmt: skip


HONEST = "Lower is better; rewards honest probabilities."

LOG_LOSS = Measure(
    name="log_loss", label="Log loss", gloss=HONEST, formula="−(1/n) Σ ln pᵢ", cite="HB17 eq 2; KF15 section 2",
    better=LOWER, bounds=(0.0, np.inf), proper=True, needs="realised", rows=lambda f: -_log_realised(f)[:, None],
)  # fmt: skip
BRIER = Measure(
    name="brier", label="Brier score", unit="0–2", gloss=HONEST, formula="(1/n) Σᵢ Σⱼ (pᵢⱼ − yᵢⱼ)²",
    cite="KF15 section 2", better=LOWER, bounds=(0.0, 2.0), proper=True, rows=_score(rule("brier")),
)  # fmt: skip
HALF_BRIER = Measure(
    name="half_brier", label="Half Brier score", unit="0–1", better=LOWER, bounds=(0.0, 1.0), proper=True, main=False,
    gloss="Half of the Brier score: what many libraries call the Brier score of two classes.",
    formula="(1/n) Σ (pᵢ − yᵢ)²", cite="HB17 eq 1", needs="two classes", rows=_score(half_brier),
)  # fmt: skip
SPHERICAL = Measure(
    name="spherical", label="Spherical loss", gloss=HONEST, formula="(1/n) Σ (1 − pᵢ ÷ ‖pᵢ‖₂)", main=False,
    cite="Good 1971; Gneiting & Raftery 2007", better=LOWER, bounds=(0.0, 1.0), proper=True,
    rows=_score(rule("spherical")),
)  # fmt: skip
ACCURACY = Measure(
    name="accuracy", label="Accuracy", formula="(1/n) #{i : argmaxⱼ pᵢⱼ = yᵢ}", cite="CQ section 2",
    gloss="Share of cases in which the class with the highest probability happened.",
    better=HIGHER, bounds=(0.0, 1.0), percent=True, rows=_correct,
)  # fmt: skip
PERPLEXITY = Measure(
    name="perplexity", label="Perplexity", better=LOWER, bounds=(1.0, np.inf), proper=True, main=False,
    gloss="The number of equally likely outcomes that would be as surprising: exp(log loss).",
    formula="exp(log loss)", cite="RP table 1", needs="realised",
    rows=lambda f: -_log_realised(f)[:, None], value=lambda means: float(np.exp(means[0])),
)  # fmt: skip
AUC = Measure(
    name="auc", label="Area under the ROC curve", paper="AUC", better=HIGHER, bounds=(0.0, 1.0), main=False,
    gloss="Share of pairs in which the case with the event had the higher probability; ignores calibration.",
    formula="P(p of an event > p of a non-event), ties ½", cite="Mann–Whitney", needs="two classes", whole=_area,
)  # fmt: skip
DECISIVENESS = mean_of_power(
    1.0, "decisiveness", label="Average probability of the outcome", paper="decisiveness",
    gloss="Forgives misses; a description, not a score to optimise.",
    formula="(1/n) Σ pᵢ", cite="CQ eq 2 with ρ = 1; RP eq 2.6",
)  # fmt: skip
GEOMETRIC_ACCURACY = mean_of_power(
    0.0, "geometric_accuracy", label="Typical probability of the outcome", paper="geometric mean; geometric accuracy",
    gloss="exp(−log loss): the probability it typically gave to the outcome.",
    formula="(∏ pᵢ)^(1/n) = exp(−log loss)", cite="CQ eq 2 with ρ = 0; N17 eq 6; RP eq 2.6",
)  # fmt: skip
ROBUSTNESS = mean_of_power(
    -2.0 / 3.0, "robustness", label="Pessimistic average", paper="−2/3 mean; robustness",
    gloss="Dominated by the worst misses; a description, not a score. Not adversarial robustness.",
    formula="((1/n) Σ pᵢ^(−2/3))^(−3/2)", cite="CQ eq 2 with ρ = −2/3; RP eq 2.6",
)  # fmt: skip

MEASURES: list[Measure] = [
    LOG_LOSS, BRIER, HALF_BRIER, SPHERICAL, ACCURACY, PERPLEXITY, AUC, DECISIVENESS, GEOMETRIC_ACCURACY, ROBUSTNESS,
]  # fmt: skip


def register(measure: Measure) -> Measure:
    """Add a measure to the registry and return it; a name can be taken only once."""
    if any(known.name == measure.name for known in MEASURES):
        raise ValueError(f"measure: {measure.name!r} is registered already")
    MEASURES.append(measure)
    return measure


def scores() -> list[Measure]:
    """Return the registered scores, in order."""
    return [measure for measure in MEASURES if measure.section == "scores"]


# The three means in the order in which they are always shown, with the words of narrow columns.
MEANS = {
    "geometric_accuracy": "typical (geometric mean)",
    "decisiveness": "average (decisiveness)",
    "robustness": "pessimistic (−2/3 mean)",
}
SHORT_MEANS = {"geometric_accuracy": "typical", "decisiveness": "average", "robustness": "pessimistic"}


PARTS = {"AL": "by correcting class frequencies", "PCL": "the rest"}  # of the miscalibration


def _described(section: str, **named: tuple[str, str, str, str, str]) -> list[Quantity]:
    """Return the quantities of a section from name=(label, paper, gloss, formula, source)."""
    return [
        Quantity(
            name=name,
            section=section,
            label=label,
            part=PARTS.get(name, ""),
            paper=paper,
            gloss=gloss,
            formula=formula,
            cite=cite,
        )
        for name, (label, paper, gloss, formula, cite) in named.items()
    ]


OTHERS: list[Quantity] = [
    Quantity(
        name="baseline", section="", label="Baseline", gloss="Always predicting the overall class frequencies.",
    ),
    Quantity(
        name="log", section="skill", label="Skill in log loss", gloss="Share of the baseline's log loss that is saved.",
        formula="1 − log loss ÷ log loss of the baseline", cite="HB17 (McFadden R²)", better=HIGHER, percent=True,
        bounds=(-np.inf, 1.0),
    ),
    Quantity(
        name="brier", section="skill", label="Skill in Brier score", percent=True, better=HIGHER,
        bounds=(-np.inf, 1.0),
        gloss="Share of the baseline's Brier score that is saved.",
        formula="1 − Brier ÷ Brier of the baseline", cite="Brier skill score",
    ),
    Quantity(
        name="expected", section="", label="Expected by the model itself",
        gloss="What calibrated forecasts with these probabilities would reach.",
        formula="((1/n) Σᵢ Σⱼ pᵢⱼ^(1+r))^(1/r)", cite="Spiegelhalter 1986 at r = 1", percent=True,
        bounds=(0.0, 1.0),
    ),
    Quantity(
        name="scores", section="expected", label="Score expected by the model itself",
        gloss="The mean score that calibrated forecasts with these probabilities would have.",
        formula="(1/n) Σᵢ e_r(pᵢ); observed − expected = ((1+r)/r) (1/n) Σᵢ (Σⱼ pᵢⱼ^(1+r) − p_y^r)",
        cite="Spiegelhalter 1986 at r = 1",
    ),
    Quantity(
        name="measured", section="", label="After recalibration", paper="measured", percent=True,
        bounds=(0.0, 1.0),
        gloss="The same mean after the best recalibration, on cases it was not fitted to.",
        formula="(1 − r·RL)^(1/r), RL the refinement loss at r; exp(−RL) at r = 0", cite="N17 eq 9; KF15 Table 2",
    ),
    Quantity(
        name="calibration_slope", section="", label="Calibration slope", digits=2,
        gloss="Below 1: too extreme; above 1: too cautious.", formula="b of ln p' = a + b ln p", cite="Cox 1958",
    ),
    Quantity(
        name="intercept", section="verdict_detail", label="Calibration in the large", digits=2,
        gloss="Log odds to add to every forecast; 0 is best.", formula="a at b = 1", cite="Cox 1958",
    ),
    Quantity(
        name="ratio", section="verdict_detail", label="Expected ÷ observed events", digits=2,
        gloss="Above 1: predicts too many events; below 1: too few.", formula="Σ pᵢ ÷ Σ yᵢ", cite="E/O ratio",
    ),
    Quantity(
        name="spread_ratio", section="", label="Spread ratio", paper="N17, CQ", digits=2,
        gloss="Measured spread of the three means ÷ reported spread.", cite="CQ eq 3; N17 prints the reciprocal",
        formula="(decisiveness − robustness) measured ÷ (decisiveness − robustness) reported",
    ),
    Quantity(
        name="divergence", section="", label="Reported ÷ measured", paper="divergence probability",
        gloss="1: nothing is gained by recalibration. At r ≠ 0 chance can lift it above 1.",
        formula="reported ÷ measured; exp(−CL) at r = 0", cite="N17 eq 9", bounds=(0.0, np.inf),
    ),
    Quantity(
        name="top_label", section="calibration_error", label="Calibration error of the pick", unit="ECE", better=LOWER,
        gloss="Mean gap between predicted and observed shares in 15 bins; chance alone makes one too.",
        formula="Σ_b (n_b/n) |mean probability − observed share|, bins (a, b] of width 1/15",
        cite="Guo and others 2017",
    ),
    Quantity(
        name="classwise", section="calibration_error", label="Calibration error by class", better=LOWER,
        unit="ECE", gloss="Mean gap of each class's probability in 15 bins, averaged.", cite="Kull and others 2019",
    ),
    Quantity(
        name="pooled", section="calibration_error", label="Calibration error, all probabilities", better=LOWER,
        unit="ECE", gloss="Mean gap over every probability at once.", cite="Kumar and others 2019 (debiased)",
    ),
    Quantity(
        name="ici", section="decisions.clinical", label="ICI", percent=True, better=LOWER, bounds=(0.0, 1.0),
        gloss="Mean distance between forecast and smooth calibration curve, cross-fitted.",
        formula="(1/n) Σ |C(pᵢ) − pᵢ|, C fitted to other cases", cite="Austin & Steyerberg 2019",
    ),
    Quantity(
        name="e90", section="decisions.clinical", label="E90", percent=True, better=LOWER, bounds=(0.0, 1.0),
        gloss="Nine of ten forecasts are nearer to the smooth calibration curve.",
        formula="90 % quantile of |C(pᵢ) − pᵢ|", cite="Harrell 2015",
    ),
    Quantity(
        name="net_benefit", section="decisions", label="Net benefit", better=HIGHER,
        gloss="True positives per case, less false ones at the odds of the threshold c.",
        formula="hits/n − false alarms/n · c/(1 − c)", cite="Vickers & Elkin 2006",
    ),
    Quantity(
        name="murphy", section="decisions", label="Murphy curve", better=LOWER,
        gloss="Mean elementary loss: (1 − c)(frequency − net benefit). Proper scores are weighted areas under it.",
        formula="(1/n) Σ |yᵢ − c|·1[min(pᵢ, yᵢ) ≤ c < max(pᵢ, yᵢ)]", cite="Ehm and others 2016",
    ),
    *_described(
        "losses",
        L=("Loss", "L", "All of it: the mean score.", "E d(S, Y)", "KF15"),
        CL=("Miscalibration", "CL", "What recalibration saves on cases it was not fitted to (at least).",
            "E d(S, Y) − E d(C, Y), C fitted to other cases", "KF15 section 3"),
        AL=(f"… {PARTS['AL']}", "AL", "Needs the true class frequencies, not labels case by case.",
            "E d(S, Y) − E d(A, Y)", "KF15 section 4"),
        PCL=(f"… {PARTS['PCL']}", "PCL", "Needs labelled cases.", "CL − AL", "KF15 section 4"),
        RL=("Refinement", "RL", "Needs a better model, or is chance.", "E d(C, Y) = GL + IL", "KF15 section 3"),
        GL=("Grouping", "GL", "The same forecast for different cases: needs a better model.", "E d(C, Q)",
            "KF15 section 3"),
        IL=("Chance", "IL", "No forecast from these inputs can avoid it.", "E d(Q, Y)", "KF15 section 3"),
        EL=("Miscalibration and grouping", "EL", "What a perfect model would save.", "E d(S, Q)", "KF15"),
        PEL=("The same after prior correction", "PEL", "", "E d(A, Q)", "KF15"),
        PL=("Loss after prior correction", "PL", "", "E d(A, Y)", "KF15"),
        remainder=("Remainder", "", "What the sum of the parts leaves over where C was fitted in the same rows.",
                   "L − AL − PCL − GL − IL", "KF15 section 5"),
    ),
    *_described(
        "decomposition",
        uncertainty=("Uncertainty", "", "The loss of the baseline. Not an error bar.", "e(π)", "HB17 eq 7"),
        resolution=("Resolution", "", "What telling cases apart saves; higher is better.", "E d(π, C)", "HB17 eq 8"),
        reliability=("Reliability term", "", "Distance between forecasts and observed frequencies; 0 is best.",
                     "E d(S̄, C) over the bins", "HB17 eq 9"),
        within=("Within bins", "", "What differing forecasts inside one bin add or save.",
                "loss − (uncertainty − resolution + reliability)", "Stephenson and others 2008"),
    ),
    *_described(
        "corp",
        miscalibration=("Miscalibration", "CORP", "What the best monotone recalibration of the same rows saves.",
                        "L(S) − L(PAV)", "DGJ21"),
        discrimination=("Discrimination", "CORP", "Higher is better.", "L(baseline) − L(PAV)", "DGJ21"),
        uncertainty=("Uncertainty", "CORP", "The loss of the baseline.", "L(baseline)", "DGJ21"),
    ),
    Quantity(
        name="risk_profile", section="", label="Risk profile", formula="P_r = ((1/n) Σ pᵢ^r)^(1/r)",
        gloss="The mean probability of the outcome for every risk parameter r: right forgives misses, left punishes "
        "them.", cite="RP eq 2.6 and section 3",
    ),
    Quantity(
        name="floors", section="", label="Minimum probability", formula="pᵢ replaced by max(pᵢ, γ)", cite="CQ table 2",
        gloss="The three means when no probability may be lower: how much of a bad mean is due to a few misses.",
    ),
]  # fmt: skip


def quantities() -> dict[str, Quantity]:
    """Return everything that people read, by its path in the JSON document."""
    return {quantity.path: quantity for quantity in (*MEASURES, *OTHERS)}


def quantity(path: str) -> Quantity:
    """Return the description of a number by its path in the JSON document."""
    return quantities()[path]
