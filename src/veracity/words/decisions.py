"""Sentences about decisions: for whom forecasts are worth acting on, what errors cost, which model is better."""

from __future__ import annotations

from collections.abc import Sequence

from veracity.records.decisions import AtPrior, AtThreshold, Clinical, Decisions, Dominance, Picks, Span, User

from .labels import ACTION, GOOD, NOTICE, Said
from .numbers import ends, finite, in_full, interval, number, percent, rounded, share
from .text import listing

RULE = "Net benefit acts where the probability is at least the threshold; the Murphy curve where it is above it."
WORTH = "Net benefit: true positives per case, less false ones at the odds of the threshold."
AVOIDED = (
    "Avoided: interventions spared in 100 cases beside acting in all, less (1 − c)/c of them for each event missed, c "
    "the threshold."
)
AT_ONCE = "Worth acting on: by a band for all thresholds at once, which is wider than each of these intervals."
BEYOND = "A miss costs the loss beyond the cost of acting: where acting for 60 prevents a loss of 250, it costs 190."
MODEST = "A band for all thresholds at once is wide: small differences need many cases."
BAND = (
    "The band holds for the whole curve at once where frequencies rise with the forecast; it is conservative "
    "(Dimitriadis and others 2023)."
)
AS_IS = "As they are: the forecasts unchanged. Updated: by Bayes' rule, p ∝ p·new ÷ old frequency."


def threshold(c: float) -> str:
    """Return a threshold in percent.

    >>> threshold(0.05), threshold(1 / 9), threshold(0.005)
    ('5 %', '11.1 %', '0.5 %')
    """
    return f"{in_full(float(f'{100.0 * c:.3g}'))} %"


def span(range_: Span) -> str:
    """Return a range of thresholds."""
    if range_.low == range_.high:
        return f"at {threshold(range_.low)}"
    low = threshold(range_.low).removesuffix(" %")
    return f"from {low} to {threshold(range_.high)}"


def spans(ranges: Sequence[Span]) -> str:
    return listing([span(one) for one in ranges])


def useful(d: Decisions) -> Said | None:
    """Return the thresholds at which it pays to act on the forecasts; None where there is no curve."""
    if not d.thresholds or d.reason:
        return None
    if d.net_benefit_low is None:
        return Said(NOTICE, "Worth acting on?", f"Not known: {d.method}.")
    if not d.useful:
        text = "At no threshold is acting on it proven better than acting in all cases and in none."
        return Said(NOTICE, "Not proven", text)
    whose = "Better" if d.picks is None else f"On {d.event}: better"
    where = f"for thresholds {spans(d.useful)}"
    return Said(GOOD, "Worth acting on", f"{whose} than acting in all cases and in none {where}.")


def caption(d: Decisions) -> str:
    """Return where acting on the forecasts pays, as the picture of their decision curve shows it."""
    sentence = useful(d)
    event = f"Event: {d.event}, {percent(d.prevalence, 0)} of the cases. " if d.event is not None else ""
    return f"{event}{'' if sentence is None else f'{sentence.text} '}{RULE}"


def cost(user: User) -> Said:
    """Return from which probability to act with these costs, and what acting on the forecasts costs and saves."""
    alarm, miss = in_full(user.false_alarm), in_full(user.miss)
    without = "all cases" if user.default == "all" else "none"
    saved = user.saved
    limits = ends(saved)
    text = f"False alarm {alarm}, miss {miss}: act from {threshold(user.threshold)}. "
    text += f"{number(user.cost)} per case by the forecasts, {number(user.without)} acting in {without}"
    if limits is None:
        return Said(NOTICE, "Costs", f"{text}.")
    if limits[0] > 0.0:
        return Said(ACTION, "Costs", f"{text}: saves {number(saved)} ({interval(saved)}).")
    if limits[1] < 0.0:
        return Said(NOTICE, "Costs", f"{text}, which is better.")
    return Said(NOTICE, "Costs", f"{text}; chance may explain the difference ({interval(saved)}).")


def regret(user: User) -> str:
    """Return which threshold is cheapest in these cases, and whether that is more than chance."""
    limits = ends(user.regret)
    value = finite(user.regret) or 0.0
    if value <= 0.0:
        return "No other threshold is cheaper in these cases."
    text = f"{threshold(user.best)} would be cheapest in these cases, by {number(value)} per case"
    if limits is not None and limits[0] > 0.0:
        return f"{text} (at least {number(limits[0])}): the probabilities mislead there."
    return f"{text}, which chance explains."


def prior(at: AtPrior) -> str:
    """Return the frequencies, new and old."""
    names = list(at.frequencies)
    shown = names[1:] if len(names) == 2 else names[:5]
    changes = [f"“{name}”: {share(at.frequencies[name])} instead of {share(at.observed[name])}" for name in shown]
    return f"Frequency of {listing(changes)}{' …' if len(names) > 5 else ''}."


def picks(picked: Picks) -> str:
    """Return the accuracy of all picks and of the surest."""
    if not picked.curve:
        return ""
    parts = [
        f"{share(finite(reading) or 0.0)} of the surest {percent(float(coverage), 0)}"
        for coverage, reading in sorted(picked.accuracy.items(), reverse=True)
    ]
    return f"Right: {share(picked.curve[-1].accuracy)} of all picks, {listing(parts)}."


def clinical(numbers: Clinical) -> str:
    """Return whether the whole reliability curve may be the diagonal, and how wide its band is."""
    if numbers.inside is None or numbers.width is None:
        return "" if numbers.reason is None else f"No band: {numbers.reason}."
    width = f"±{rounded(50.0 * numbers.width, 0)} points at the median forecast"
    if numbers.inside:
        return f"The band of the reliability curve ({width}) holds the diagonal everywhere. {BAND}"
    return f"The forecasts leave the band of the reliability curve ({width}): they cannot all be right. {BAND}"


def smooth(numbers: Clinical) -> str:
    """Return how far forecasts are from the smooth curve, and what the band says."""
    distance = finite(numbers.ici)
    sentence = "" if distance is None else f"The forecasts are {percent(distance, 1)} from the curve on average (ICI), "
    sentence += "" if distance is None else f"nine of ten within {percent(numbers.e90, 1)} (E90). "
    return f"{sentence}{clinical(numbers)}".strip()


def few(at: AtThreshold) -> str | None:
    """Return why a threshold has no interval."""
    return at.net_benefit.reason


# -- two models -------------------------------------------------------------------------------------------------------


def dominance(d: Dominance) -> Said | None:
    """Return for which decision-makers one of two models is better; None without thresholds and without r."""
    if d.reason is not None:
        return None
    a, b = d.a, d.b
    if d.everywhere is not None:
        other = b if d.everywhere == a else a
        return Said(GOOD, "For everybody", f"{d.everywhere} beats {other} under every proper score.")
    if not d.thresholds:
        return _by_r(d)
    if not (d.a_better or d.b_better):
        beside = _r_beside(d)
        if beside:
            return Said(NOTICE, "For whom?", f"{beside}; at no single threshold is either proven better.")
        return Said(NOTICE, "For whom?", f"No difference between {a} and {b} is proven at any threshold.")
    if d.a_better and d.b_better:
        return Said(GOOD, "For whom?", _both(d))
    better, other, where = (a, b, d.a_better) if d.a_better else (b, a, d.b_better)
    if len(where) == 1 and where[0].low < where[0].high:
        return Said(GOOD, "For whom?", f"{better} is better than {other} for every threshold {span(where[0])}.")
    return Said(GOOD, "For whom?", f"{better} is better than {other} for thresholds {spans(where)}.")


def _both(d: Dominance) -> str:
    """Return who is better for whom where each model is for some."""
    a, b = d.a, d.b
    last_a, first_a = d.a_better[-1].high, d.a_better[0].low
    last_b, first_b = d.b_better[-1].high, d.b_better[0].low
    if last_a < first_b or last_b < first_a:
        low, high, limit, start = (a, b, last_a, first_b) if last_a < first_b else (b, a, last_b, first_a)
        return (
            f"{low} for those who fear misses (thresholds up to {threshold(limit)}), {high} for those who fear false "
            f"alarms (from {threshold(start)})."
        )
    return f"{a} is better for thresholds {spans(d.a_better)}, {b} {spans(d.b_better)}."


def prevalences(d: Dominance) -> str:
    """Return at how many combinations of prevalence and threshold each model is better."""
    total = len(d.prevalences)
    wins = {name: sum(w.better == name for w in d.prevalences) for name in (d.a, d.b)}
    parts = [f"{name} is better at {n} of {total} combinations" for name, n in wins.items() if n]
    return f"{listing(parts)}." if parts else f"Neither is proven better at any of {total} combinations."


def _r_beside(d: Dominance) -> str:
    """Return which model is better by scores, at every r or at some."""
    for better, other, where in (
        (d.a, d.b, d.whole_a_better),
        (d.b, d.a, d.whole_b_better),
    ):
        if where:
            known = [name for r, name in ((0.0, "log loss"), (1.0, "Brier score")) if _inside(where, r)]
            among = f" ({listing(known)} among them)" if known else ""
            return f"{better} beats {other} by scores with {_r_spans(where)}{among}"
    return ""


def _inside(where: Sequence[Span], r: float) -> bool:
    return any(one.low <= r <= one.high for one in where)


def _by_r(d: Dominance) -> Said:
    beside = _r_beside(d)
    if not beside:
        return Said(NOTICE, "For whom?", f"No difference between {d.a} and {d.b} is proven at any r.")
    return Said(GOOD, "For whom?", f"{beside}.")


def _r_spans(where: Sequence[Span]) -> str:
    shown = [f"r = {one.low:g}" if one.low == one.high else f"r from {one.low:g} to {one.high:g}" for one in where]
    return listing([text.replace("-", "−") for text in shown])
