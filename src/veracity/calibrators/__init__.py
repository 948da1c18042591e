"""Maps from rows to rows, one per file: adjustments (stage A), stage C, and calibrators as remedies.

A file here whose name does not start with `_` is a map: it defines `fit(forecasts, *, …) -> Fitted`. They are found by
listing the folder and imported when asked for.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from veracity.formulas.rules import ScoringRule
from veracity.formulas.rules import rule as rule_of
from veracity.inputs import Forecasts
from veracity.kernels.blas import one_blas_thread

from ._black_box import black_box as black_box
from ._feasibility import InfeasibleTarget as InfeasibleTarget
from ._fitted import SCHEMA as SCHEMA
from ._fitted import Fitted as Fitted
from ._grouping import class_means as class_means
from ._grouping import copies as copies
from ._grouping import effective_rows as effective_rows
from ._grouping import equal_rows as equal_rows
from ._label_shift import em as em
from ._mapped import mapped_rows as mapped_rows
from ._target import checked_scores as checked_scores


@cache
def names() -> list[str]:
    return sorted(name for _, name, _ in pkgutil.iter_modules(__path__) if not name.startswith("_"))


def _module(name: str) -> Any:
    if not isinstance(name, str) or name not in names():
        raise ValueError(f"map: {name!r} is not one of {', '.join(names())}")
    return importlib.import_module(f"{__name__}.{name}")


def label(name: str) -> str:
    """Return the label of the map of that name."""
    return str(getattr(_module(name), "LABEL", name.replace("_", " ")))


@one_blas_thread
def fit(name: str, forecasts: Forecasts, **options: Any) -> Fitted:
    """Return the map of that name, fitted."""
    fitted: Fitted = _module(name).fit(forecasts, **options)
    return fitted


def from_json(text: str) -> Fitted:
    """Return the fitted map that `to_json` wrote."""
    try:
        document = json.loads(text)
        schema, name, classes, parameters = (document[key] for key in ("schema", "map", "classes", "parameters"))
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ValueError(f"map: this is not a map in JSON ({error}); `veracity calibrate fit` writes one") from None
    if schema != SCHEMA:
        raise ValueError(f"map: schema {schema!r} is not {SCHEMA!r}; this version cannot read it")
    kinds = [kind for kind in vars(_module(name)).values() if isinstance(kind, type) and issubclass(kind, Fitted)]
    kind = next(kind for kind in kinds if kind.name == name)
    plain = isinstance(classes, list) and all(
        isinstance(c, (str, int)) or (isinstance(c, float) and np.isfinite(c)) for c in classes
    )
    if not plain or len(set(classes)) != len(classes) or len(classes) < 2:
        raise ValueError(f"map {name}: classes are not a list of different names")
    try:
        with np.errstate(all="ignore"):
            fitted: Fitted = kind.from_parameters(tuple(classes), parameters)
            fitted.check()
    except ValueError as error:
        raise ValueError(f"map {name}: {error}; fit it again") from None
    except (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"map {name}: parameters that do not fit ({error}); fit it again") from None
    return fitted


def adjustment(rule: str | float | ScoringRule) -> tuple[str, dict[str, float]]:
    """Return name and options of the adjustment that is coherent with a scoring rule."""
    key = rule_of(rule).key
    if isinstance(key, float):
        return "coherent", {"r": key}
    if key == "spherical":
        raise ValueError("rule: adjustment is defined for the power family; give 'log', 'brier' or a number r > -1")
    return ("multiplicative" if key == "log" else "additive"), {}


def adjust(y_proba: ArrayLike, target: ArrayLike, rule: str | float | ScoringRule = "log") -> Fitted:
    """Return the map that moves the mean score of every class to its target with the least loss (KF15 section 4).

    Parameters
    ----------
    y_proba : array-like of shape (n,) or (n, k)
        Probabilities whose means are moved.
    target : array-like of shape (k,)
        Share of each class that the means shall have; it sums to one.
    rule : "log", "brier", float or ScoringRule, default "log"
        Score whose loss is least: "log" or 0 multiplies and renormalises, "brier" or 1 adds, another r > −1 shifts the
        gradient of that score.

    Returns
    -------
    Fitted
        Callable on rows of probabilities, with `.shift`, `.weights` (r = 0), `.outside` and `.edge`.

    Examples
    --------
    >>> adjust([[.9, .1]] * 4 + [[.3, .7]] * 4, [.625, .375]).weights.round(2).tolist()
    [1.18, 1.0]
    """
    scores = checked_scores(y_proba)
    classes = tuple(range(2 if scores.ndim == 1 else scores.shape[1]))
    name, options = adjustment(rule)
    return fit(name, Forecasts(scores, None, classes), target=target, **options)
