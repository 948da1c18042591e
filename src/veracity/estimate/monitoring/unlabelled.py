"""What forecasts without outcomes would score: the expectation of each score under the map fitted on a reference.

Not under the forecasts themselves, which would make every over-confident model look good. Other cases than the
reference's are allowed for; that the same forecasts are followed by the same outcomes is assumed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from veracity.estimate.intervals import around
from veracity.estimate.monitoring.alternatives import log_odds, logs_of
from veracity.estimate.monitoring.reference import Days, fit_more, fit_two
from veracity.formulas.rules import rule
from veracity.records import findings_of_results as of_results
from veracity.records.findings import Finding
from veracity.records.monitoring import EstimateRecord, Shift
from veracity.records.reading import undefined
from veracity.types import Array, Floats

DRAWS, MOST_ROWS, SEED = 200, 4000, 40
THRESHOLDS = (0.1, 0.2, 0.3, 0.5)
BINS = 10  # of forecasts that are compared
ALARM = 0.01
EM_STEPS = 50


class New(NamedTuple):
    """New forecasts: (n, k) probabilities and the share of each row."""

    p: Floats
    share: Floats


def estimated(
    reference: Days, p: Floats, count: Floats, classes: tuple[str, ...], r: tuple[float, ...] = (), level: float = 0.95
) -> EstimateRecord:
    """Return the estimate for (n, k) forecasts with counts.

    Intervals come from draws of the map, as uncertain as the reference leaves it, and of the new cases.
    """
    new = New(p, count / count.sum())
    n = int(count.sum())
    curve = Curve.of(reference)
    rng = np.random.default_rng(SEED)
    some = _some(new, rng)
    measures, whole = (_measures(rows, r) for rows in (some.p, p))
    drawn = {name: np.empty(DRAWS) for name in measures}
    priors = np.empty((DRAWS, p.shape[1]))
    for draw, theta in enumerate(curve.drawn(rng, DRAWS)):
        weights = rng.multinomial(n, some.share) / n
        c = curve.apply(some.p, theta)
        for name, measure in measures.items():
            drawn[name][draw] = measure(c, weights)
        priors[draw] = _prior(c, weights, curve.prior)
    best = curve.apply(p, curve.theta)
    bounds = {"accuracy": (0.0, 1.0), "auc": (0.0, 1.0)}
    readings = {}
    for name, measure in whole.items():
        value, known = measure(best, new.share), drawn[name][np.isfinite(drawn[name])]
        error = float(known.std()) if len(known) == DRAWS else np.inf
        limits = bounds.get(name, (-np.inf, np.inf) if name.startswith("net") else (0.0, np.inf))
        how = f"{DRAWS} draws of map and cases"
        readings[name] = around(value, error, level, limits, how) if np.isfinite(value) else undefined(_why(name))
    prior = _prior(best, new.share, curve.prior)
    frequencies = {
        name: around(float(prior[j]), float(priors[:, j].std()), level, (0.0, 1.0), "EM on the recalibrated forecasts")
        for j, name in enumerate(classes)
    }
    labels = _label_shift(prior, priors, curve.prior, reference, classes)
    forecasts = _forecast_shift(reference, new, n)
    own = {name: measure(p, new.share) for name, measure in whole.items() if not name.startswith("net")}
    return EstimateRecord(
        n=n,
        reference_n=int(reference.count.sum()),
        classes=classes,
        scores={name: reading for name, reading in readings.items() if not name.startswith("net")},
        self_expected=own,
        net_benefit={name.removeprefix("net "): x for name, x in readings.items() if name.startswith("net")},
        frequencies=frequencies,
        reference_frequencies={name: float(x) for name, x in zip(classes, curve.prior, strict=True)},
        label_shift=labels,
        forecast_shift=forecasts,
        findings=_findings(labels, forecasts),
    )


class Curve(NamedTuple):
    """The map of a reference: level and slope, with the covariance of its parameters, and the class frequencies."""

    theta: Floats
    covariance: Floats
    prior: Floats

    @classmethod
    def of(cls, reference: Days) -> Curve:
        count = reference.count.astype(np.float64)
        fit = fit_two if reference.k == 2 else fit_more
        theta, covariance = fit(reference.x, reference.y, count)
        prior = np.bincount(reference.y, count, reference.k) / count.sum()
        return cls(theta, covariance, prior)

    def drawn(self, rng: np.random.Generator, number: int) -> Floats:
        """(number, parameters) draws from their normal distribution."""
        return rng.multivariate_normal(self.theta, self.covariance, number, method="eigh")

    def apply(self, p: Floats, theta: Floats) -> Floats:
        """(n, k) probabilities by the map."""
        from scipy.special import expit, softmax

        if p.shape[1] == 2:
            event = expit(theta[0] + theta[1] * log_odds(p[:, 1]))
            return np.column_stack([1.0 - event, event])
        return np.asarray(softmax(theta[:-1] + theta[-1] * logs_of(p), axis=1))


Measure = Callable[[Floats, Floats], float]


def _measures(p: Floats, r: tuple[float, ...]) -> dict[str, Measure]:
    """Return what is estimated of forecasts: (what they mean, weights) → number."""
    n, k = p.shape
    pick = np.arange(n), p.argmax(axis=1)

    def score(one: Any) -> Measure:
        each = np.column_stack([one.score(p, np.full(n, j)) for j in range(k)])
        finite = bool(np.isfinite(each).all())

        def expected(c: Floats, w: Floats) -> float:
            terms = c * each if finite else np.where(c > 0.0, c * np.where(c > 0.0, each, 0.0), 0.0)
            return float(w @ terms.sum(axis=1))

        return expected

    measures: dict[str, Measure] = {"log_loss": score(rule("log")), "brier": score(rule("brier"))}
    measures |= {"accuracy": lambda c, w: float(w @ c[pick])} | {f"r = {x:g}": score(rule(x)) for x in r}
    if k == 2:
        measures["auc"] = _auc(p[:, 1])
        measures |= {f"net {t:g}": _net_benefit(p[:, 1] >= t, t / (1.0 - t)) for t in THRESHOLDS}
    return measures


def _auc(p: Floats) -> Measure:
    """Return the probability that an event has a higher forecast than another case, ties half."""
    order = np.argsort(p, kind="stable")
    x = p[order]
    first = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))

    def auc(c: Floats, w: Floats) -> float:
        event, other = (np.add.reduceat((w * c[:, j])[order], first) for j in (1, 0))
        below = np.cumsum(other) - other / 2.0
        return float(event @ below / (event.sum() * other.sum()))

    return auc


def _net_benefit(acted: Array, odds: float) -> Measure:
    return lambda c, w: float(w[acted] @ (c[acted, 1] - c[acted, 0] * odds))


def _why(name: str) -> str:
    return (
        "infinite if what the forecasts rule out happens" if name == "log_loss" else "not defined for these forecasts"
    )


def _some(new: New, rng: np.random.Generator) -> New:
    """Return the rows that draws are made of: all, or a random part of them."""
    if len(new.p) <= MOST_ROWS:
        return new
    rows = rng.choice(len(new.p), MOST_ROWS, p=new.share)
    return New(new.p[rows], np.full(MOST_ROWS, 1.0 / MOST_ROWS))


def _prior(c: Floats, w: Floats, before: Floats) -> Floats:
    """Return class frequencies by EM, if only these changed since the reference (Saerens and others 2002)."""
    prior = before
    for _ in range(EM_STEPS):
        ratio = prior / np.maximum(before, 1e-12)
        prior, last = ratio * ((w / (c @ ratio)) @ c), prior
        if np.abs(prior - last).max() < 1e-6:
            break
    return np.asarray(prior)


def _label_shift(prior: Floats, draws: Floats, before: Floats, reference: Days, classes: tuple[str, ...]) -> Shift:
    """Return a Wald test that the frequencies are those of the reference."""
    from scipy.special import chdtrc

    n, k = int(reference.count.sum()), len(classes)
    sampling = (np.diag(before) - np.outer(before, before)) / n
    covariance = (np.cov(draws.T) + sampling)[: k - 1, : k - 1].reshape(k - 1, k - 1)
    gap = (prior - before)[: k - 1]
    statistic = float(gap @ np.linalg.pinv(covariance, hermitian=True) @ gap)
    named = {name: float(x) for name, x in zip(classes, before, strict=True)}
    after = {name: float(x) for name, x in zip(classes, prior, strict=True)}
    return Shift(float(chdtrc(k - 1, statistic)), "EM frequencies against the reference's, Wald", named, after)


def _forecast_shift(reference: Days, new: New, n: int) -> Shift:
    """Return a χ² test of two samples in ranges of the reference's forecasts: of the event, or of the pick."""
    from scipy.special import chdtrc

    old = reference.p if reference.k == 2 else reference.p.max(axis=1)
    value = new.p[:, 1] if reference.k == 2 else new.p.max(axis=1)
    count = reference.count.astype(np.float64)
    order = np.argsort(old, kind="stable")
    share = np.cumsum(count[order]) / count.sum()
    edges = np.unique(old[order][np.searchsorted(share, np.arange(1, BINS) / BINS)])
    cells = len(edges) + 1
    a = np.bincount(np.searchsorted(edges, old, side="right"), count, cells)
    b = np.bincount(np.searchsorted(edges, value, side="right"), new.share * n, cells)
    used = a + b > 0.0
    m, total = count.sum(), a[used] + b[used]
    scale = np.sqrt(n / m)
    statistic = float(((scale * a[used] - b[used] / scale) ** 2 / total).sum())
    return Shift(float(chdtrc(max(int(used.sum()) - 1, 1), statistic)), f"χ² of {int(used.sum())} ranges of forecasts")


def _findings(labels: Shift, forecasts: Shift) -> tuple[Finding, ...]:
    findings: list[Finding] = [of_results.AssumedRecalibration()]
    if forecasts.p is not None and forecasts.p <= ALARM:
        findings.append(of_results.ForecastsShifted(p=forecasts.p))
    if labels.p is not None and labels.p <= ALARM:
        findings.append(of_results.LabelsShifted(p=labels.p))
    return tuple(findings)
