"""Sentences about a prediction table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .assessment import SIGNIFICANT
from .decisions import threshold
from .labels import ACTION, BAD, GOOD, NOTICE, Said
from .numbers import ends, in_full, interval, number, p_equals, percent
from .text import event_name, listing

if TYPE_CHECKING:
    from veracity.table.assessment import TableAssessment
    from veracity.table.records import TableCosts

MEASURED = "Miscalibration (REL) is measured: "
NO_NUMBER = "the table holds shares and the number of cases is not known"
INFERENTIAL = ("n", "g2", "g2_p", "x2", "x2_p", "exact_p", "intervals", "logit.standard_errors")


def reliability_note(table: TableAssessment) -> str:
    """Return a sentence on whether REL was measured or taken as zero, which HB17 asks to state."""
    if table.train is not None:
        return f"{MEASURED}the forecasts are the shares observed in the training table."
    if table.forecasts is not None:
        return f"{MEASURED}forecast probabilities were given."
    return (
        "Miscalibration (REL) was taken as zero, not measured: no forecast probabilities were given, "
        "so each category's own observed share is taken as its forecast."
    )


def reasons(table: TableAssessment) -> dict[str, str]:
    """Return the reason for each number that is null."""
    reasons = {}
    if not table.binary:
        reasons["half_brier"] = "needs two outcomes; brier is the score for more"
        reasons["likelihood_ratios"] = "needs two outcomes"
    if not table.diagnostic:
        reasons["sensitivity"] = reasons["specificity"] = "needs two categories and two outcomes; see thresholds"
    if table.n is None:
        reasons |= dict.fromkeys(INFERENTIAL, NO_NUMBER)
    elif table.exact_p is None:
        reasons["exact_p"] = "needs whole counts" if table.unit == "weights" else "needless with so many cases"
    return reasons


def informative(table: TableAssessment) -> Said:
    """Return how the forecast changes the probability of the event, and whether that could be chance."""
    event, shares, prior = event_name(table.columns[-1]), table.predictive_values[:, -1], table.prior[-1]
    best, worst = f"“{table.rows[0]}”", f"“{table.rows[-1]}”"
    p = table.g2_p if table.exact_p is None else table.exact_p.value
    if table.sensitivity is not None:
        verbs = ("raises", "lowers") if shares[1] >= shares[0] else ("lowers", "raises")
        text = f"A positive test ({worst}) {verbs[0]} the probability of {event} from {percent(prior)} to "
        text += f"{percent(shares[1])}, a negative one {verbs[1]} it to {percent(shares[0])}."
        text += f" The test finds {percent(table.sensitivity)} of the cases with {event}."
    else:
        text = f"The probability of {event} is {percent(shares[-1])} after {worst}, {percent(shares[0])} after {best}, "
        text += f"{percent(prior)} overall."
    removed = percent(table.normalized_mutual_information)
    text += f" Knowing the forecast removes {removed} of the uncertainty about the outcome"
    text += f" ({p_equals(p)})." if p is not None else "."
    if p is not None and p >= SIGNIFICANT:
        return Said(NOTICE, "Not clearly informative", text)
    return Said(GOOD if shares[-1] > shares[0] else NOTICE, "Informative", text)


def costs(table: TableAssessment, paid: TableCosts) -> Said:
    """Return after which forecasts acting pays with these costs, and what that saves."""
    text = f"False alarm {in_full(paid.false_alarm)}, miss {in_full(paid.miss)}: act from {threshold(paid.threshold)}, "
    text += f"so {acting(table, paid)}. {number(paid.cost)} per case, "
    without = "acting in all cases" if paid.always <= paid.never else "acting in none"
    if len({*paid.acts}) == 1:  # the forecast changes nothing
        return Said(NOTICE, "Costs", f"{text}as much as {without}.")
    text += f"{number(min(paid.always, paid.never))} {without}"
    limits = ends(paid.saved)
    if limits is None:
        return Said(NOTICE, "Costs", f"{text}.")
    if limits[0] > 0.0:
        return Said(ACTION, "Costs", f"{text}: saves {number(paid.saved)} ({interval(paid.saved)}).")
    return Said(NOTICE, "Costs", f"{text}; chance may explain the difference ({interval(paid.saved)}).")


def acting(table: TableAssessment, paid: TableCosts) -> str:
    """Return after which forecasts acting pays."""
    if len(set(paid.acts)) == 1:
        return "act after every forecast" if paid.acts[0] else "never act"
    return f"act after {listing([f'“{row}”' for row, act in zip(table.rows, paid.acts, strict=True) if act])}"


def miscalibration(table: TableAssessment) -> Said | None:
    """Return how much of the log loss is miscalibration, where it was measured."""
    log = table.log_terms
    if table.reliability_taken_as_zero or not math.isfinite(log.score):
        return None
    text = f"{number(log.reliability)} of the log loss of {number(log.score)} is miscalibration (reliability)."
    text += " Always predicting the prevalence would be better." * (log.skill < 0)
    return Said(BAD if log.skill < 0 else NOTICE, "Calibration", text)
