"""Decisions as blocks: thresholds, costs, other frequencies, and the clinicians' table."""

from __future__ import annotations

from collections.abc import Iterator

from veracity import words
from veracity.formulas.decisions import treat_all
from veracity.measures import quantity
from veracity.records.reading import Reading
from veracity.results.assessment import Assessment
from veracity.show.cells import Cell, Interval, Label, Table, Value, described, table
from veracity.words import decisions as said
from veracity.words import finite

MOST_COSTS = 3  # decision-makers in a sentence; the table has them all


def sentences(a: Assessment) -> Iterator[words.Said]:
    """Yield what was asked about: thresholds, costs; nothing where nothing was."""
    if not asked(a):
        return
    useful = said.useful(a.decisions)
    if useful is not None:
        yield useful
    for one in a.decisions.costs[:MOST_COSTS]:
        yield said.cost(one)


def asked(a: Assessment) -> bool:
    """Return whether thresholds, costs or other frequencies were given."""
    plan = {} if a.provenance is None else a.provenance.plan
    return any(plan.get(name) for name in ("threshold", "costs", "prior"))


def tables(a: Assessment) -> Iterator[Table]:
    """Yield the tables of what was asked about."""
    if not asked(a):
        return
    yield from (one for one in (_thresholds(a), _costs(a), _prior(a)) if one is not None)


def _thresholds(a: Assessment) -> Table | None:
    """Return rates and net benefit at each threshold."""
    thresholds = a.decisions.at
    if not thresholds:
        return None
    rows: list[tuple[Cell, ...]] = []
    for one in thresholds:
        rates = [Value(x, percent=True, digits=0) for x in (one.acts, one.sensitivity, one.specificity)]
        benefit = (Value(one.net_benefit), Interval(one.net_benefit), Value(float(one.treat_all), digits=3))
        rows.append((Label(said.threshold(one.threshold)), *rates, *benefit, Value(100.0 * one.avoided, digits=0)))
    columns = (
        "acts", ("sensitivity", 2), ("specificity", 2), "net benefit", f"{words.level(a.level)} interval", "act in all",
        ("avoided in 100", 3),
    )  # fmt: skip
    reasons = {said.threshold(one.threshold): why for one in thresholds if (why := said.few(one))}
    notes = [said.WORTH, said.AT_ONCE, said.AVOIDED, *(f"{name}: {why}." for name, why in reasons.items())]
    return table("At thresholds", columns, rows, notes, first="Act from", empty=False)


def _costs(a: Assessment) -> Table | None:
    """Return what decision-makers pay per case, and the threshold that would have been cheapest."""
    users = a.decisions.costs
    if not users:
        return None
    rows: list[tuple[Cell, ...]] = []
    for one in users:
        name = f"{words.in_full(one.false_alarm)} : {words.in_full(one.miss)}"
        cells: list[Cell] = [said.threshold(one.threshold), Value(one.cost), Interval(one.cost), Value(one.without)]
        rows.append((Label(name), *cells, Value(one.saved), Interval(one.saved), said.threshold(one.best)))
    level = words.level(a.level)
    columns = (
        "act from",
        "by the forecasts",
        (level, 2),
        "without",
        "saved",
        (level, 1),
        ("cheapest", 3),
    )
    notes = [f"{name.name}: {said.regret(one)}" for (name, *_), one in zip(rows, users, strict=True)]  # type: ignore[union-attr]
    notes += ["Cost per case; without: acting in all cases or in none, which is better. Perfect knowledge costs 0."]
    notes += [said.BEYOND]
    return table("Costs", columns, rows, notes, first="False alarm : miss", empty=False)


def _prior(a: Assessment) -> Table | None:
    """Return scores and net benefit under other frequencies, the forecasts as they are and updated."""
    prior = a.decisions.prior
    if prior is None:
        return None
    as_is, updated = prior.as_is, prior.updated
    named: list[tuple[str, Reading, Reading, Cell]] = [
        ("Log loss", as_is.log_loss, updated.log_loss, ""),
        ("Brier score (0–2)", as_is.brier, updated.brier, ""),
    ]
    for c, reading in as_is.net_benefit.items():
        everywhere = float(treat_all(list(prior.frequencies.values())[-1], float(c)))
        name = f"Net benefit at {said.threshold(float(c))}"
        named.append((name, reading, updated.net_benefit[c], Value(everywhere, digits=3)))
    rows: list[tuple[Cell, ...]] = []
    for name, *sides, all_cases in named:
        rows.append((Label(name), *(cell for side in sides for cell in (Value(side), Interval(side))), all_cases))
    level = (words.level(a.level), 2)
    columns = ("as they are", level, "updated", level, "act in all")
    return table("At other frequencies", columns, rows, [said.prior(prior), said.AS_IS], first="", empty=False)


def clinical(a: Assessment) -> Table | None:
    """Return calibration as clinicians report it: in the large, ratio, slope, AUC, smooth curve, band; two classes."""
    numbers, detail = a.decisions.clinical, a.verdict_detail
    if numbers is None:
        return None
    named = {"verdict_detail.intercept": detail.intercept, "verdict_detail.ratio": detail.ratio}
    named |= {"calibration_slope": detail.slope, "scores.auc": a.scores.auc}
    rows: list[tuple[Cell, ...]] = [
        described(quantity(path), x) for path, x in named.items() if x is not None and finite(x) is not None
    ]
    rows += [described(quantity(f"decisions.clinical.{name}"), x) for name, x in numbers.readings().items()]
    rows += [
        (Label(f"Net benefit at {said.threshold(one.threshold)}"), Value(one.net_benefit), Interval(one.net_benefit))
        for one in a.decisions.at
    ]
    columns = ("value", f"{words.level(a.level)} interval")
    return table("For clinicians", columns, rows, [said.clinical(numbers)], first="")
