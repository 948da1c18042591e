"""The decision curve and the Murphy curve of one event, with what follows from them at given thresholds and costs."""

from __future__ import annotations

import numpy as np

from veracity.estimate.decisions.actions import FEWEST_ACTING, Actions
from veracity.estimate.decisions.spread import Dependence, deviations, errors, half, largest_deviation
from veracity.formulas import decisions as formulas
from veracity.formulas.intervals import wilson
from veracity.inputs import Forecasts
from veracity.options.deciding import Costs
from veracity.records.decisions import AtThreshold, Span, User
from veracity.records.reading import DELTA, WILSON, Reading, undefined
from veracity.state.tally import Tally
from veracity.types import Array, Floats

HALVES = (-0.5, 0.0, 1.0, 2.0)  # r whose half scores are told
MARGIN = 1e-12  # what sums leave of 0


def odds(c: Floats) -> Floats:
    """(thresholds, 1) c ÷ (1 − c): true positives that a false positive costs."""
    return np.asarray(c / (1.0 - c))[:, None]


def net_benefits(a: Actions) -> tuple[Floats, Floats, Floats]:
    """Return net benefit at every threshold with the ends of its intervals by itself."""
    acting = a.acting()
    value, covariance = a.means(acting, -acting * odds(a.thresholds))
    reach = 0.0 if a.reason else half(a.level, a.df) * errors(covariance)
    return value, value - reach, value + reach


def murphy_band(a: Actions) -> float | None:
    """Return the half-width of the band around mean elementary losses that holds at all thresholds; not studentised."""
    if a.reason:
        return None
    acting, c = a.acting(above=True), a.thresholds[:, None]
    covariance = a.means((1.0 - c) * (1.0 - acting), c * acting)[1]
    return largest_deviation(covariance, a.df, a.level, a.seed)


def useful(a: Actions) -> tuple[Span, ...]:
    """Return the thresholds at which the forecasts beat both acting in all cases and in none, all at once.

    A one-sided band in units of elementary loss, (1 − c) times net benefit, around both differences.
    """
    if a.reason:
        return ()
    acting, c = a.acting(), a.thresholds[:, None]
    every = np.ones((1, acting.shape[1]))
    value, covariance = a.means(np.concatenate([(1.0 - c) * acting, every]), np.concatenate([-c * acting, 0.0 * every]))
    over_none, frequency = value[:-1], value[-1]
    over_all = over_none - (frequency - a.thresholds)  # what acting in all cases is worth errs alike at every threshold
    drawn = deviations(covariance, a.df, a.seed)
    band = float(np.quantile(drawn[:, :-1].max(axis=1) + np.maximum(-drawn[:, -1], 0.0), a.level))
    return ranges(a.thresholds, np.minimum(over_none, over_all) > band + MARGIN)


def ranges(x: Floats, chosen: Array) -> tuple[Span, ...]:
    """Return the runs of chosen values.

    >>> ranges(np.array([0.1, 0.2, 0.3, 0.4]), np.array([True, True, False, True]))
    (Span(low=0.1, high=0.2), Span(low=0.4, high=0.4))
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], np.asarray(chosen, np.int8), [0]])))
    return tuple(Span(float(x[i]), float(x[j - 1])) for i, j in zip(edges[::2], edges[1::2], strict=True))


def at_thresholds(a: Actions, wanted: tuple[float, ...]) -> tuple[AtThreshold, ...]:
    """Return the readings at the given thresholds."""
    index = np.flatnonzero(np.isin(a.thresholds, wanted))
    acting, c = a.acting()[index], a.thresholds[index][:, None]
    per, pi = odds(a.thresholds[index]), a.prevalence
    acted = a.acted()[index]
    enough = (acted >= FEWEST_ACTING) & (a.cases.sum() - acted >= FEWEST_ACTING)
    hits, alarms = (x[index] for x in a.shares())
    benefit = formulas.net_benefit(hits, alarms, a.thresholds[index])
    with np.errstate(invalid="ignore", divide="ignore"):
        share = formulas.standardised(benefit, pi)
        if pi > 0.0:
            ratio = a.means((acting - share[:, None]) / pi, -acting * per / pi)[1]
        else:
            ratio = np.full((len(index), len(index)), np.nan)
    above = a.acting(above=True)[index]
    columns = (
        a.readings(acting, -acting * per, enough),
        a.around(share, errors(ratio), enough),
        a.readings(np.ones_like(acting), -np.broadcast_to(per, acting.shape)),
        a.readings(-(1.0 - acting) / per, 1.0 - acting, enough),
        a.readings((1.0 - c) * (1.0 - above), c * above),
    )
    sensitivity = _rates(a, acting, 0, a.effective * pi)
    specificity = _rates(a, 1.0 - acting, 1, a.effective * (1.0 - pi))
    return tuple(
        AtThreshold(float(t), float(acts), *rates, *readings)
        for t, acts, rates, readings in zip(
            a.thresholds[index], hits + alarms, zip(sensitivity, specificity, strict=True),
            zip(*columns, strict=True), strict=True,
        )
    )  # fmt: skip


def _rates(a: Actions, chosen: Floats, of: int, n: float) -> list[Reading]:
    """Return the share of the events (0) or of the others (1) in the chosen ranges."""
    own = a.sums[of]
    if not own.sum() > 0.0:
        return [undefined("no such cases")] * len(chosen)
    rate = chosen @ own / own.sum()
    if a.reason or a.df == np.inf:
        low, high = wilson(rate, n, a.level)
        return [
            Reading(x, reason=a.reason) if a.reason else Reading(x, float(b), float(t), WILSON)
            for x, b, t in zip(rate.tolist(), low, high, strict=True)
        ]
    worth = (chosen - rate[:, None]) * a.weight / own.sum()
    nothing = np.zeros_like(worth)
    error = errors(a.means(worth, nothing)[1] if of == 0 else a.means(nothing, worth)[1])
    reach = half(a.level, a.df) * error
    how = f"{DELTA}, {a.method}"
    return [Reading(x, max(x - e, 0.0), min(x + e, 1.0), how) for x, e in zip(rate.tolist(), reach, strict=True)]


def user(a: Actions, costs: Costs) -> User:
    """Return what a decision-maker with these costs pays per case.

    The regret of the threshold that the costs imply is its cost less the lowest at any threshold; the interval holds
    whatever that threshold is: a band around all differences of costs at once.
    """
    alarm, miss = costs.false_alarm, costs.miss
    acting = a.acting()
    events, others = miss * (1.0 - acting), alarm * acting
    at = int(np.flatnonzero(a.thresholds == costs.threshold)[0])
    every, none = alarm * (1.0 - a.prevalence), miss * a.prevalence
    default = "all" if every < none else "none"
    one = np.ones((1, a.sums.shape[1]))
    flat = (0.0 * one, alarm * one) if default == "all" else (miss * one, 0.0 * one)
    (cost,) = a.readings(events[[at]], others[[at]])
    (without,) = a.readings(*flat)
    (saved,) = a.readings(flat[0] - events[[at]], flat[1] - others[[at]])
    value, covariance = a.means(events[[at]] - events, others[[at]] - others)
    best = _middle(np.flatnonzero(value >= value.max() - MARGIN * (alarm + miss)), at)
    largest = float(max(value[best], 0.0))
    regret = Reading(largest, reason=a.reason)
    if not a.reason:
        band = largest_deviation(covariance, a.df, a.level, a.seed)
        regret = Reading(largest, max(largest - band, 0.0), largest + band, "simultaneous band over thresholds")
    perfect = Reading(0.0, 0.0, 0.0, "by definition")
    return User(alarm, miss, costs.threshold, cost, without, default, saved, perfect, float(a.thresholds[best]), regret)


def _middle(chosen: Array, near: int) -> int:
    """Return the chosen place that is nearest."""
    return int(chosen[np.argmin(np.abs(chosen - near))])


def halves(tally: Tally, label: int, further: tuple[float, ...] = ()) -> dict[str, Reading]:
    """Return the mean half score of a class by r, from the analysis rows."""
    rows = tally.rows
    p, event = rows.matrix[:, label], rows.observed == label
    wanted = tuple(dict.fromkeys((*HALVES, *further)))
    with np.errstate(over="ignore"):
        values = np.column_stack([formulas.half_score(p, event, r) for r in wanted])
    if rows.log_realised is not None:
        tiny = event & (p < np.finfo(np.float64).tiny)
        values[tiny, wanted.index(0.0)] = -rows.log_realised[tiny] - 1.0
    readings = mean_readings(tally, rows, values)
    return {f"{r:g}": reading for r, reading in zip(wanted, readings, strict=True)}


def mean_readings(tally: Tally, rows: Forecasts, values: Floats) -> list[Reading]:
    """Return the means of values (rows, means) with intervals for the dependence of the tally's rows."""
    dependence = Dependence.of(tally, rows)
    share = rows.mass / rows.mass.sum()
    finite = np.isfinite(values).all(axis=0)
    mean = np.where(finite, share @ np.where(np.isfinite(values), values, 0.0), np.inf)
    u = share[:, None] * np.where(finite, values - np.where(finite, mean, 0.0), 0.0)
    error = errors(dependence.covariance(u))
    reason = "the number of cases is unknown: no intervals" if tally.shares_only else dependence.reason
    z = 0.0 if reason else half(tally.plan.level, dependence.df)
    how = ", ".join(part for part in (DELTA, dependence.method, tally.basis) if part)
    readings = []
    for x, e in zip(mean.tolist(), error.tolist(), strict=True):
        if not np.isfinite(x):
            readings.append(Reading(x, reason="an outcome had probability 0"))
        else:
            readings.append(Reading(x, reason=reason) if reason else Reading(x, max(x - z * e, 0.0), x + z * e, how))
    return readings
