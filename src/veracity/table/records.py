"""The sections of a table's document: frozen records that JSON, pages and pictures read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from veracity.records.reading import Reading
from veracity.records.sections import Numbers, Section

Rows = list[dict[str, Any]]  # the data of a picture: one dict per mark


@dataclass(frozen=True)
class Category(Section):
    """The contribution of one forecast category (HB17 eqs 3 and 7)."""

    category: str
    cases: float
    forecast: Numbers
    observed: Numbers
    resolution: float
    reliability: float
    entropy: float
    divergences: Numbers  # D_B(o_j ‖ f_i): the score when outcome j follows
    tangent: Mapping[str, float] | None  # two outcomes: to the rule's curve at the forecast


@dataclass(frozen=True)
class Terms(Section):
    """score = uncertainty − resolution + reliability, whole and per forecast category.

    skill is 1 − score / uncertainty: 0 is always forecasting the prior, 1 is perfect.
    """

    rule: str
    score: float
    uncertainty: float
    resolution: float
    reliability: float
    skill: float
    per_category: tuple[Category, ...]


@dataclass(frozen=True)
class Limits(Section):
    """Low and high end of an interval, by each method that applies."""

    exact: Numbers | None = None  # Clopper–Pearson
    wilson: Numbers | None = None
    log: Numbers | None = None  # normal, of the logarithm
    newcombe: Numbers | None = None  # of a difference of two shares

    @property
    def ends(self) -> Numbers | None:
        """Low and high by the method that is shown first."""
        return self.exact or self.log or self.newcombe


@dataclass(frozen=True)
class TableIntervals(Section):
    """Intervals at one level; those of likelihood ratios are None where a cell is empty."""

    level: float
    predictive_values: tuple[Limits, ...]  # of the last outcome
    prior: Limits
    psep: Limits
    sensitivity: Limits | None = None  # 2 × 2
    specificity: Limits | None = None
    likelihood_ratios: tuple[Limits | None, ...] | None = None  # two outcomes


@dataclass(frozen=True)
class ExactP(Section):
    """A p-value without the chi-square approximation."""

    value: float
    method: str


@dataclass(frozen=True)
class Logit(Section):
    """The saturated logistic model against the first outcome; beyond two outcomes one list per category."""

    coefficients: list[Any]
    standard_errors: list[Any] | None
    log_likelihood: float | None
    null_log_likelihood: float | None


@dataclass(frozen=True)
class AtPrevalence(Section):
    """Predictive values, their separation and information at another prevalence of the event.

    limits       of the predictive values of the event, from those of the likelihood ratios; None where a cell is empty
    psep_limits  from these two intervals and their correlation
    """

    prevalence: float
    predictive_values: list[list[float]]
    psep: float
    mutual_information: float
    limits: tuple[Limits | None, ...] | None = None
    psep_limits: Limits | None = None


@dataclass(frozen=True)
class TableCosts(Section):
    """What a decision-maker pays per case who acts after the forecasts whose probability of the event is high enough.

    prevalence     of the event: observed, or asked for
    acts           whether acting pays, for each forecast
    always, never  cost of acting in all cases, and in none
    saved          the lower of these two less `cost`, for this way to act; positive: the forecasts are worth it
    """

    false_alarm: float
    miss: float
    threshold: float
    prevalence: float
    acts: tuple[bool, ...]
    cost: float
    always: float
    never: float
    saved: Reading


@dataclass(frozen=True)
class Tangents(Section):
    """Curve, tangents and Bregman divergences of HB17 Figs 1–4.

    forecasts  the tangent at each forecast (Figs 1, 2, 4)
    gaps       between tangent and curve at 0 and 1: the scores of the two outcomes
    prior      the tangent at the prior (Fig 3); its gap to the curve at an observed frequency is RES_i
    observed   the observed frequencies, on the curve and on both tangents
    """

    rule: str
    curve: Rows
    forecasts: Rows
    gaps: Rows
    prior: dict[str, float]
    observed: Rows


@dataclass(frozen=True)
class TableCurves(Section):
    """The data of the pictures."""

    mosaic: Rows
    mosaic_prior: Numbers  # borders without association
    attributes: Rows
    attributes_skill: Rows
    updating: Rows | None = None  # two outcomes
    tangents: Mapping[str, Tangents] | None = None  # two outcomes
