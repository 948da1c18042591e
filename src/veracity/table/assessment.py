"""Everything that can be said about a table of counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from veracity.formulas import tables as formula
from veracity.formulas.intervals import clopper_pearson, difference_limits, quantile, ratio_limits, wilson
from veracity.formulas.rules import ScoringRule, rule
from veracity.options.deciding import Costs
from veracity.records import findings_of_results as of_results
from veracity.records.findings import Finding
from veracity.records.reading import Reading
from veracity.results.document import plain
from veracity.results.presented import Presented
from veracity.types import Array
from veracity.words import tables as words

from . import check, records

if TYPE_CHECKING:
    from .types import PredictionTable

Rule = str | float | ScoringRule

SCHEMA = "veracity/table/1"
DRAWS = 9_999  # random tables of a permutation p: an error of at most 0.005
MOST_CASES = 10_000_000  # above this the chi-square p is as good as any
NARROW = 0.04  # share of a category below which its name would overlap the next in the mosaic
FEW = 5  # expected cases in a cell, the usual limit for trusting a chi-square p
PROFILE = tuple(-2 + i / 9 for i in range(12, 37))  # r from −2/3 to 2

# Names of the document that make the table again, and those of tables inside the document.
CORE = ("n", "rows", "columns", "counts", "unit", "forecasts", "level", "notes")
TERMS = ("half_brier_terms", "brier_terms", "log_terms")  # half Brier for two outcomes, Brier for more
PARTS = {
    "reliability_as_zero": TERMS,
    "train": (*CORE, *TERMS, "psep"),
    "strata": (*CORE, "prior", "psep", "half_brier", "brier", "divergence_score", "mutual_information", "g2", "g2_p"),
}
COUNTED = ("n", "counts", "psep_unused")  # whole numbers where cases are


@dataclass(frozen=True, eq=False, repr=False)
class TableAssessment(Presented):
    """The numbers of a table of forecast categories (rows) against outcomes (columns).

    Every cached property is part of the document, under its name.
    """

    counts: Array
    forecasts: Array | None = None
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    unit: str = "counts"
    cases: float | None = None
    train: PredictionTable | None = None
    level: float = 0.95
    prevalences: tuple[float, ...] = ()
    errors: tuple[Costs, ...] = ()  # what they cost each decision-maker
    strata: Mapping[str, PredictionTable | str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    other_reading: str = ""

    def __post_init__(self) -> None:
        counts = check.grid(self.counts)
        rows = check.names("rows", self.rows, len(counts)) or tuple(f"forecast {i + 1}" for i in range(len(counts)))
        k = counts.shape[1]
        outcomes = ("no event", "event") if k == 2 else tuple(f"outcome {j + 1}" for j in range(k))
        columns = check.names("columns", self.columns, k) or outcomes
        if self.unit not in ("counts", "weights"):
            raise ValueError(f"unit: {self.unit!r} is neither 'counts' nor 'weights'")
        if problem := check.problem(counts, rows, columns, self.unit):
            raise ValueError(f"counts: {problem}")
        if self.cases is not None:
            if self.unit == "counts" or not 0 < self.cases < math.inf:
                raise ValueError(f"cases: {self.cases!r}; it is the number of cases behind weights, above 0")
            counts = counts * (self.cases / counts.sum())
        if not 0.0 < self.level < 1.0:
            raise ValueError(f"level: {self.level!r} is outside (0, 1); 0.95 is usual")
        for name in ("prevalence",) * bool(self.prevalences) + ("costs",) * bool(self.errors):
            check.two_outcomes(name, columns)
        counts.flags.writeable = False
        forecasts = None if self.forecasts is None else check.forecasts(self.forecasts, rows, columns)
        prevalences = tuple(check.rate("prevalence", p) for p in self.prevalences)
        checked = {"counts": counts, "forecasts": forecasts, "rows": rows, "columns": columns}
        for name, value in (checked | {"prevalences": prevalences, "notes": tuple(self.notes)}).items():
            object.__setattr__(self, name, value)

    @property
    def n(self) -> float | None:
        """Number of cases; None for weights of an unknown number."""
        return float(self.counts.sum()) if self.unit == "counts" else self.cases

    @property
    def binary(self) -> bool:
        return len(self.columns) == 2

    @property
    def diagnostic(self) -> bool:
        """Whether the table is one of a test: two categories, two outcomes."""
        return self.counts.shape == (2, 2)

    @property
    def stated(self) -> Array:
        """(k, K) the probabilities that are scored: the forecasts, or the observed frequencies in their place."""
        return self.predictive_values if self.forecasts is None else self.forecasts

    prior = cached_property(lambda t: _frozen(formula.prior(t.counts)))
    # (k, K) Pr(outcome | forecast)
    predictive_values = cached_property(lambda t: _frozen(formula.predictive_values(t.counts)))
    sensitivity = cached_property(lambda t: float(formula.sensitivity(t.counts)[0]) if t.diagnostic else None)
    specificity = cached_property(lambda t: float(formula.specificity(t.counts)[0]) if t.diagnostic else None)
    likelihood_ratios = cached_property(lambda t: _frozen(formula.likelihood_ratios(t.counts)) if t.binary else None)
    # separation of the shares of the last outcome, worst category minus best; cases in between are not used
    psep = cached_property(lambda t: formula.psep(t.predictive_values))
    psep_forecasts = cached_property(lambda t: formula.psep(t.stated))
    psep_unused = cached_property(lambda t: float(t.counts[1:-1].sum()))
    half_brier = cached_property(lambda t: formula.score(t.counts, t.stated, rule("half_brier")) if t.binary else None)
    brier = cached_property(lambda t: formula.score(t.counts, t.stated, rule("brier")))
    divergence_score = cached_property(lambda t: formula.score(t.counts, t.stated, rule("log")))
    entropy = cached_property(lambda t: formula.entropy(t.counts))
    conditional_entropy = cached_property(lambda t: formula.conditional_entropy(t.counts))
    conditional_entropies = cached_property(lambda t: _frozen(formula.conditional_entropies(t.counts)))
    information_inaccuracy = cached_property(lambda t: formula.conditional_entropy(t.counts))  # its other name in HB17
    mutual_information = cached_property(lambda t: formula.mutual_information(t.counts))
    normalized_mutual_information = cached_property(lambda t: formula.normalized_mutual_information(t.counts))
    mcfadden_r2 = cached_property(lambda t: formula.mcfadden_r2(t.counts))
    df = cached_property(lambda t: formula.degrees_of_freedom(t.counts))
    g2 = cached_property(lambda t: None if t.n is None else formula.g2(t.counts))
    g2_p = cached_property(lambda t: None if t.n is None else formula.chi_square_tail(t.g2, t.df))
    x2 = cached_property(lambda t: None if t.n is None else formula.x2(t.counts))
    x2_p = cached_property(lambda t: None if t.n is None else formula.chi_square_tail(t.x2, t.df))
    log_terms = cached_property(lambda t: TableAssessment.terms(t, "log"))
    half_brier_terms = cached_property(lambda t: TableAssessment.terms(t, "half_brier") if t.binary else None)
    brier_terms = cached_property(lambda t: None if t.binary else TableAssessment.terms(t, "brier"))
    reliability_taken_as_zero = cached_property(lambda t: bool(t.forecasts is None))
    reliability_note = cached_property(words.reliability_note)
    findings = cached_property(lambda t: tuple(TableAssessment._findings(t)))
    reasons = cached_property(words.reasons)  # for each number that is None

    @cached_property
    def exact_p(self) -> records.ExactP | None:
        """p without the chi-square approximation: Fisher's for 2 × 2, random tables beyond."""
        if self.unit != "counts" or self.counts.sum() > MOST_CASES:
            return None
        if self.diagnostic:
            return records.ExactP(formula.fisher_p(self.counts), "Fisher's exact test, two-sided")
        by = f"{DRAWS:,} random tables with the same totals, seed 0"
        return records.ExactP(formula.permutation_p(self.counts, DRAWS, 0), by)

    @cached_property
    def logit(self) -> records.Logit:
        b, errors = (a[:, 0] if self.binary else a for a in formula.saturated_logit(self.counts))
        if self.n is None:
            return records.Logit(b.tolist(), None, None, None)
        return records.Logit(b.tolist(), errors.tolist(), *formula.log_likelihoods(self.counts))

    @cached_property
    def thresholds(self) -> records.Rows:
        """Sensitivity and specificity when every category from one on counts as a forecast of the event."""
        if not self.binary:
            return []
        rates = zip(self.rows[1:], formula.sensitivity(self.counts), formula.specificity(self.counts), strict=True)
        return [{"from": row, "sensitivity": float(sens), "specificity": float(spec)} for row, sens, spec in rates]

    def at_prevalence(self, prevalence: float) -> Array:
        """Return (k, 2) predictive values at another prevalence of the event, with the same Pr(forecast | outcome).

        >>> from veracity import PredictionTable
        >>> PredictionTable.from_rates(0.833, 0.844, 0.36).at_prevalence(0.85)[1, 1].round(2)
        np.float64(0.97)
        """
        check.two_outcomes("prevalence", self.columns)
        event = check.rate("prevalence", prevalence)
        return formula.posterior(formula.likelihoods(self.counts), [1.0 - event, event])

    @cached_property
    def prevalence(self) -> tuple[records.AtPrevalence, ...]:
        """Predictive values, their separation and information at the prevalences that were asked for."""
        return tuple(map(self._at, self.prevalences))

    def _at(self, p: float) -> records.AtPrevalence:
        d, joint = self.at_prevalence(p), formula.likelihoods(self.counts) * [1.0 - p, p]
        information = formula.mutual_information(joint) if 0.0 < p < 1.0 else 0.0
        there = records.AtPrevalence(p, d.tolist(), formula.psep(d), information)
        ratios = None if self.intervals is None else self.intervals.likelihood_ratios
        if ratios is None:
            return there
        ends = [
            None if one is None or one.log is None else [x * p / (1.0 - p + x * p) for x in one.log] for one in ratios
        ]
        limits = tuple(None if pair is None else records.Limits(log=tuple(pair)) for pair in ends)
        best, worst, psep = ends[0], ends[-1], None
        if best is not None and worst is not None:
            each = 1.0 / self.counts.sum(0)  # likelihoods of one outcome add up to 1, so they are correlated
            variance = (1.0 / self.counts[[0, -1]] - each).sum(1)
            correlation = max(-float(each.sum() / math.sqrt(variance.prod())), -1.0)
            psep = records.Limits(newcombe=difference_limits([d[-1, -1], *worst], [d[0, -1], *best], correlation))
        return replace(there, limits=limits, psep_limits=psep)

    @cached_property
    def costs(self) -> tuple[records.TableCosts, ...]:
        """What each decision-maker pays per case, here and at the prevalences that were asked for."""
        return tuple(self._paid(errors, p) for errors in self.errors for p in (None, *self.prevalences))

    def _paid(self, errors: Costs, prevalence: float | None) -> records.TableCosts:
        prior = self.prior if prevalence is None else np.array([1.0 - prevalence, prevalence])
        given = formula.likelihoods(self.counts)
        acts = formula.posterior(given, prior)[:, 1] >= errors.threshold
        mistakes = np.where(acts[:, None], [errors.false_alarm, 0.0], [0.0, errors.miss])
        cost, (always, never) = float(prior @ (given * mistakes).sum(0)), prior * errors
        spared = ([errors.false_alarm, 0.0] if always <= never else [0.0, errors.miss]) - mistakes
        each = (given * spared).sum(0)  # saved per case of each outcome
        saved, reach = float(prior @ each), math.nan
        if self.n is not None:
            within = prior**2 / self.prior @ ((given * spared**2).sum(0) - each**2)
            between = prior @ each**2 - saved**2 if prevalence is None else 0.0  # the prevalence is not known either
            reach = quantile(self.level) * math.sqrt(max(float(within + between), 0.0) / self.n)
        ends = (None, None) if self.n is None else (saved - reach, saved + reach)
        saving, acting = Reading(saved, *ends), tuple(acts.tolist())
        at = errors.threshold, float(prior[1])
        return records.TableCosts(*errors, *at, acting, cost, float(always), float(never), saving)

    # -- terms of a score -------------------------------------------------------------------------------------------

    def terms(self, name: Rule = "log") -> records.Terms:
        """Return UNC, RES, REL and their parts for 'log', 'half_brier', 'brier' or any r > −1 of the risk axis.

        >>> from veracity import PredictionTable
        >>> round(PredictionTable([[83, 56], [2, 12]]).terms("log").resolution, 3)
        0.037
        """
        chosen, n, f = rule(name), self.counts, self.stated
        resolutions, reliabilities = formula.resolutions(n, chosen), formula.reliabilities(n, f, chosen)
        per_category = map(
            records.Category,
            self.rows,
            n.sum(1).tolist(),
            f.tolist(),
            self.predictive_values.tolist(),
            resolutions.tolist(),
            reliabilities.tolist(),
            chosen.entropy(self.predictive_values).tolist(),
            formula.cell_divergences(f, chosen).tolist(),
            [_tangent(float(p), chosen) if self.binary else None for p in f[:, -1]],
        )
        share, score, unc = formula.category_shares(n), formula.score(n, f, chosen), formula.uncertainty(n, chosen)
        means = float(share @ resolutions), float(share @ reliabilities)
        skill = 1.0 - score / unc if unc else math.nan
        return records.Terms(chosen.name, score, unc, *means, skill, tuple(per_category))

    @cached_property
    def decomposed_profile(self) -> dict[str, list[float]]:
        """The terms for each r of the risk axis."""
        terms = [self.terms(r) for r in PROFILE]
        names = ("score", "uncertainty", "resolution", "reliability")
        return {"r": list(PROFILE)} | {name: [getattr(t, name) for t in terms] for name in names}

    @cached_property
    def reliability_as_zero(self) -> TableAssessment | None:
        """The same table with its own observed shares as forecasts, where others are scored."""
        return None if self.forecasts is None else replace(self, forecasts=None, train=None)

    def _findings(self) -> Iterator[Finding]:
        """Yield the facts that a reader must know before the numbers, those that change their meaning first."""
        rows, columns, counts = self.rows, self.columns, self.counts
        for i, j in np.argwhere(np.isinf(formula.cell_divergences(self.stated, rule("log"))) & (counts > 0)):
            times = None if self.n is None else float(counts[i, j])
            yield of_results.RuledOut(int(counts[i, j]), times=times, outcome=columns[j], category=rows[i])
        if self.other_reading and _like_a_textbook(self.counts, self.psep):
            yield of_results.Orientation(event=columns[1], positive=rows[1], command=self.other_reading)
        if self.psep < 0:
            yield of_results.Reversed(event=columns[-1], best=rows[0], worst=rows[-1])
        if self.n is not None and formula.expected(counts).min() < FEW:
            yield of_results.FewCases(fewest=FEW)
        if len(empty := np.argwhere(counts == 0)):
            yield of_results.EmptyCell(len(empty), cells=tuple((columns[j], rows[i]) for i, j in empty))
        if len(rows) > 2:
            unused, share = float(self.psep_unused), float(self.psep_unused / counts.sum())
            yield of_results.PsepUnused(int(unused), unused=unused, cases=self.n or None, share=share)

    def tangents(self, name: Rule = "log") -> records.Tangents:
        """Return curve, tangents and Bregman divergences of HB17 Figs 1–4 for any rule of the risk axis."""
        check.two_outcomes("tangents", self.columns)
        chosen = rule(name)

        def point(p: float) -> dict[str, Any]:
            return {"p": p, "g": float(formula.curve(p, chosen)), **_tangent(p, chosen)}

        grid, ends = np.linspace(0.0, 1.0, 101), formula.curve([0.0, 1.0], chosen).tolist()
        prior = point(float(self.prior[-1]))
        forecasts = [{"category": row, **point(float(p))} for row, p in zip(self.rows, self.stated[:, -1], strict=True)]
        gaps = [
            {"category": at["category"], "outcome": self.columns[j], "p": j, "curve": curve, "tangent": at[end]}
            | {"gap": curve - at[end], "slope": at["slope"]}
            for at in forecasts
            for j, (curve, end) in enumerate(zip(ends, ("at_0", "at_1"), strict=True))
        ]
        observed = []
        for row, d, at in zip(self.rows, self.predictive_values[:, -1], forecasts, strict=True):
            heights = {"on_prior": _height(prior, float(d)), "on_forecast": _height(at, float(d))}
            observed.append({"category": row, "p": float(d), "g": float(formula.curve(d, chosen)), **heights})
        curve = [{"p": float(p), "g": float(g)} for p, g in zip(grid, formula.curve(grid, chosen), strict=True)]
        return records.Tangents(chosen.name, curve, forecasts, gaps, prior, observed)

    @cached_property
    def intervals(self) -> records.TableIntervals | None:
        """Clopper–Pearson ('exact') and Wilson limits of prior, predictive values, sensitivity and specificity, limits
        of likelihood ratios by their logarithm, Newcombe's of PSEP; None without a number of cases.
        """
        if self.n is None:
            return None
        event, total, k = self.counts[:, -1], self.counts.sum(1), len(self.rows)
        x, n = [*event, event.sum()], [*total, total.sum()]
        if self.diagnostic:
            x, n = [*x, self.counts[1, 1], self.counts[0, 0]], [*n, *self.counts.sum(0)[::-1]]
        exact, score = clopper_pearson(x, n, self.level), wilson(np.array(x) / np.array(n), n, self.level)
        both = [records.Limits((a, b), (c, d)) for a, b, c, d in np.stack([*exact, *score], 1).tolist()]
        best, worst = self.predictive_values[[0, -1], -1]
        (best_low, best_high), (worst_low, worst_high) = np.stack(score, 1)[[0, k - 1]]
        newcombe = (  # Newcombe 1998, method 10: the two Wilson intervals combined
            self.psep - math.hypot(worst - worst_low, best_high - best),
            self.psep + math.hypot(worst_high - worst, best - best_low),
        )
        rates: dict[str, Any] = dict(zip(("sensitivity", "specificity"), both[k + 1 :], strict=False))
        if self.binary:
            ends = ratio_limits(event, event.sum(), total - event, n[k] - event.sum(), self.level)
            pairs = [None if np.isnan(pair).any() else tuple(pair.tolist()) for pair in np.stack(ends, 1)]
            rates["likelihood_ratios"] = tuple(pair and records.Limits(log=pair) for pair in pairs)
        return records.TableIntervals(self.level, tuple(both[:k]), both[k], records.Limits(newcombe=newcombe), **rates)

    # -- pictures ---------------------------------------------------------------------------------------------------

    @cached_property
    def curves(self) -> records.TableCurves:
        areas = (self._mosaic(), tuple(self.prior[::-1].cumsum()[:-1].tolist()), *self._attributes())
        if not self.binary:
            return records.TableCurves(*areas)
        updating = [
            {"prevalence": float(q), "category": row, "predictive_value": float(d[-1])}
            for q in np.linspace(0.0, 1.0, 51)
            for row, d in zip(self.rows, self.at_prevalence(float(q)), strict=True)
        ]
        return records.TableCurves(*areas, updating, {name: self.tangents(name) for name in ("log", "half_brier")})

    def _mosaic(self) -> records.Rows:
        """Return the table as areas of the unit square, the event at the bottom."""
        share, d = formula.category_shares(self.counts), self.predictive_values[:, ::-1]
        right, high = share.cumsum(), d.cumsum(1)
        return [
            {
                "category": row,
                "outcome": column,
                "cases": float(self.counts[i, -1 - j]),
                "share": float(d[i, j]),
                "left": float(right[i] - share[i]),
                "middle": float(right[i] - share[i] / 2),
                "right": float(right[i]),
                "low": float(high[i, j] - d[i, j]) if j else 0.0,
                "high": float(high[i, j]),
                "labelled": bool(share[i] >= NARROW),
            }
            for i, row in enumerate(self.rows)
            for j, column in enumerate(self.columns[::-1])
        ]

    def _attributes(self) -> tuple[records.Rows, records.Rows]:
        """Return stated and observed probabilities, and the area of skill: nearer to the diagonal than the prior."""
        if self.forecasts is None or not self.binary:
            return [], []
        limits = self.intervals.predictive_values if self.intervals else (records.Limits(),) * len(self.rows)
        ends = [limit.wilson or (None, None) for limit in limits]
        names = ("category", "stated", "observed", "low", "high", "cases")
        observed, cases = self.predictive_values[:, 1].tolist(), self.counts.sum(1).tolist()
        points = zip(self.rows, self.forecasts[:, 1].tolist(), observed, *zip(*ends, strict=True), cases, strict=True)
        base = float(self.prior[1])
        skill = [
            {"stated": x, "low": 0.0 if x < base else (x + base) / 2, "high": (x + base) / 2 if x < base else 1.0}
            for x in (0.0, base - 1e-9, base + 1e-9, 1.0)
        ]
        return [dict(zip(names, point, strict=True)) for point in points], skill

    # -- ways out ---------------------------------------------------------------------------------------------------

    def document(self) -> dict[str, Any]:
        """Return everything as plain data, for JSON and CSV."""
        numbers = [name for name, attribute in vars(TableAssessment).items() if isinstance(attribute, cached_property)]
        return {"schema": SCHEMA, **self._values((*CORE, *numbers, "train", "strata"))}

    def _values(self, names: Sequence[str]) -> dict[str, Any]:
        values = {name: self._value(name, getattr(self, name)) for name in names}
        return {name: value for name, value in values.items() if value is not None or name not in TERMS}

    def _value(self, name: str, value: Any) -> Any:
        """Return a value as plain data; tables inside a table by some of their names."""
        if isinstance(value, TableAssessment):
            return value._values(PARTS[name])
        if name == "strata" and isinstance(value, Mapping):
            return {part: self._value(name, stratum) for part, stratum in value.items()}
        return _whole(plain(value)) if name in COUNTED else plain(value)


def _frozen(values: Array) -> Array:
    """Return an array that cannot be changed: a table keeps it."""
    values.flags.writeable = False
    return values


def _whole(value: Any) -> Any:
    """Return numbers of cases without a decimal point."""
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _tangent(p: float, rule: ScoringRule) -> dict[str, float]:
    slope, at_0, at_1 = (float(t) for t in formula.tangents(p, rule))
    return {"slope": slope, "at_0": at_0, "at_1": at_1}


def _height(at: Mapping[str, Any], p: float) -> float:
    """Return the height of a tangent at p; NaN for a vertical one."""
    return float(at["at_0"] + p * at["slope"]) if math.isfinite(at["slope"]) else math.nan


def _like_a_textbook(counts: Array, psep: float) -> bool:
    """Whether a 2 × 2 table would have the rarer outcome and the rarer forecast last if it were turned round."""
    (a, b), (c, d) = counts if counts.shape == (2, 2) else np.zeros((2, 2))
    return bool(psep > 0.0 and b + d > a + c and c + d > a + b)
