"""What would help: the cross-fitted gain of every adjustment and calibrator against doing nothing."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from veracity.data import Forecasts
from veracity.formulas.rules import rule as rule_of

from ._fitted import Fitted
from ._grouping import copies
from ._support import InfeasibleTarget
from ._target import scores_of

Array = NDArray[Any]

REMEDIES = ("multiplicative", "additive", "temperature", "vector", "platt", "beta", "isotonic", "bins")
RULES = ("log", "brier")
MOST_ROWS = 100_000  # beyond, gains are estimated from so many rows, drawn by the seed


def remedies(forecasts: Forecasts, *, folds: int = 5, seed: int = 0, level: float = 0.95) -> list[dict[str, Any]]:
    """Gain in log loss and Brier of each map, best first.

    Each map is fitted without a fold and applied to it; the gain is the mean of the paired row differences, with a
    normal interval from them. `share` is the share of the loss that remains. Rows of one case stay in one fold;
    with fewer cases than folds each case is one.
    Adjustments need no labels, only the class frequencies: those of the other folds are used.
    """
    each = copies(forecasts)  # a row that counts twice may be in two folds, as two rows may
    whole, sampled = forecasts, len(each) > MOST_ROWS
    rows = np.sort(np.random.default_rng(seed).permutation(len(each))[:MOST_ROWS]) if sampled else slice(None)
    if sampled or forecasts.counts is not None:
        forecasts = replace(take(forecasts, each[rows]), counts=None)
    fold = folds_of(forecasts, folds, seed)
    if fold.max() == 0:
        return []  # one case: nothing to learn from it about itself
    before = {name: losses(forecasts, forecasts.matrix, name, stated=True) for name in RULES}
    out = []
    for name in REMEDIES:
        fitted, mapped = fitted_to(name, whole if not sampled else forecasts), crossfitted(name, forecasts, fold)
        if fitted is None or mapped is None:
            continue
        entry: dict[str, Any] = {"map": name, "needs_labels": fitted.needs_labels, "parameters": fitted.text}
        for rule in RULES:
            entry[rule] = gain(forecasts, before[rule], losses(forecasts, mapped, rule), level)
        out.append(entry | {"rows": len(forecasts), "folds": int(fold.max()) + 1})
    return sorted(out, key=lambda entry: np.inf if entry["log"]["gain"] is None else -entry["log"]["gain"])


def winner(forecasts: Forecasts, found: list[dict[str, Any]], rule: str = "log") -> Fitted | None:
    """The map with the largest gain, fitted on all rows; None when nothing gains."""
    gains = [(entry[rule]["gain"], entry["map"]) for entry in found if entry[rule]["gain"] is not None]
    best = max(gains, default=(0.0, ""))
    return fitted_to(best[1], forecasts) if best[0] > 0.0 else None


def fitted_to(name: str, forecasts: Forecasts) -> Fitted | None:
    try:
        fitted: Fitted = importlib.import_module(f"veracity.maps.{name}").fit(forecasts)
    except InfeasibleTarget:
        return None
    return fitted


def take(forecasts: Forecasts, rows: Array) -> Forecasts:
    """Some of the rows, with what maps need."""

    def pick(values: Array | None) -> Array | None:
        return None if values is None else values[rows]

    return Forecasts(
        pick(forecasts.probabilities),
        pick(forecasts.outcomes),
        forecasts.classes,
        weights=pick(forecasts.weights),
        counts=pick(forecasts.counts),
        log_realised=pick(forecasts.log_realised),
        case=pick(forecasts.case),
    )


def folds_of(forecasts: Forecasts, folds: int, seed: int) -> Array:
    """(n,) fold of each row: cases whole, classes spread evenly."""
    scores_of(forecasts)
    assert forecasts.outcomes is not None
    if forecasts.case is None:
        first, label = np.arange(len(forecasts)), np.arange(len(forecasts))
    else:
        _, first, label = np.unique(forecasts.case, return_index=True, return_inverse=True)
    if folds < 2:
        raise ValueError(f"folds: {folds}; cross-fitting needs 2 or more")
    shuffled = np.random.default_rng(seed).permutation(len(first))
    order = shuffled[np.argsort(forecasts.outcomes[first][shuffled], kind="stable")]
    fold = np.empty(len(first), np.int64)
    fold[order] = np.arange(len(order)) % min(folds, len(order))
    return np.asarray(fold[label.ravel()])


def crossfit(name: str, forecasts: Forecasts, *, folds: int = 5, seed: int = 0) -> Array | None:
    """(n, k) rows, each mapped by what was fitted without its fold; None where no adjustment exists."""
    return crossfitted(name, forecasts, folds_of(forecasts, folds, seed))


def crossfitted(name: str, forecasts: Forecasts, fold: Array) -> Array | None:
    """(n, k) rows of each fold mapped by what was fitted on the others."""
    matrix = forecasts.matrix
    out = np.empty_like(matrix)
    module = importlib.import_module(f"veracity.maps.{name}")
    for number in range(int(fold.max()) + 1):
        inside = np.flatnonzero(fold == number)
        rest = take(forecasts, np.flatnonzero(fold != number))
        adjustment = name in ("multiplicative", "additive")
        # A class that is missing from the other folds is not ruled out by that.
        target = {"target": forecasts.prior} if adjustment and (rest.prior == 0.0).any() else {}
        try:
            out[inside] = module.fit(rest, **target)(matrix[inside])
        except ValueError:  # no adjustment exists, or none that these rows can follow
            return None
    return out


def losses(forecasts: Forecasts, rows: Array, name: str, *, stated: bool = False) -> Array | None:
    """(n,) loss of each row; None where values outside [0, 1] have none."""
    if name == "log":
        if stated and forecasts.log_realised is not None:
            return -forecasts.log_realised
        if rows.min() < 0.0 or rows.max() > 1.0:
            return None
    assert forecasts.outcomes is not None
    return np.asarray(rule_of(name).score(rows, forecasts.outcomes))


def gain(forecasts: Forecasts, before: Array | None, after: Array | None, level: float) -> dict[str, float | None]:
    """Mean of the paired differences with its interval; none where a row's loss is infinite."""
    nothing: dict[str, float | None] = {"gain": None, "low": None, "high": None, "share": None}
    if before is None or after is None:
        return nothing
    shares = forecasts.mass / forecasts.mass.sum()
    same = np.isinf(before) & np.isinf(after)
    with np.errstate(invalid="ignore"):
        difference = np.where(same, 0.0, before - after)
    if np.isinf(difference).any() and np.isposinf(difference).any() and np.isneginf(difference).any():
        return nothing
    value, loss = float(shares @ difference), float(shares @ before)
    if not np.isfinite(value):
        return nothing | {"gain": value}
    influence = shares * (difference - value)
    if forecasts.case is not None:
        influence = np.bincount(np.unique(forecasts.case, return_inverse=True)[1].ravel(), weights=influence)
        variance = float((influence**2).sum())
    else:
        counts = 1.0 if forecasts.counts is None else np.maximum(forecasts.counts, 1)
        variance = float((influence**2 / counts).sum())
    reach = float(ndtri(0.5 + level / 2.0) * np.sqrt(variance))
    share = None if not np.isfinite(loss) or loss == 0.0 else 1.0 - value / loss
    return {"gain": value, "low": value - reach, "high": value + reach, "share": share}
