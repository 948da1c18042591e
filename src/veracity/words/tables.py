"""Sentences about a prediction table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veracity.table.assessment import TableAssessment

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
