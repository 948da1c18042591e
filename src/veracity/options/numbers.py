"""Numbers that options of an assessment hold, as they are kept: from text of the command line, or from Python."""

from __future__ import annotations

import math
import re
from numbers import Integral
from typing import Any

from veracity.options import Option, OptionError, as_number

MOST_R = 20.0  # of a score: beyond, p^(1 - r) of unlikely outcomes is too large for a computer


def as_share(option: Option, value: Any) -> float:
    """Return a number from 0 to below one half."""
    share = as_number(option, value)
    if not 0.0 <= share < 0.5:
        raise OptionError(option.name, f"{value!r} is outside [0, 0.5){option.hint}")
    return share


def as_width(option: Option, value: Any) -> float:
    """Return a share as the width of a bin; one so small that 1 minus it is 1 leaves no bin at the upper end."""
    width = as_share(option, value)
    if width and 1.0 - width == 1.0:
        raise OptionError(option.name, f"{value!r} is too small{option.hint}")
    return width


def as_confidence(option: Option, value: Any) -> float:
    """Return a number between 0 and 1."""
    confidence = as_number(option, value)
    if not 0.0 < confidence < 1.0:
        raise OptionError(option.name, f"{value!r} is outside (0, 1); 0.95 is usual")
    return confidence


def as_whole(option: Option, value: Any, least: int = 0, most: float = math.inf, what: str = "") -> Any:
    """Return a whole number within limits, or None."""
    if value is not None and not (_is_whole(value) and least <= int(value) <= most):
        what = what or f" is not a whole number from {least}"
        raise OptionError(option.name, f"{value!r}{what}{option.hint}")
    return value


def as_bins(option: Option, value: Any) -> Any:
    """Return "auto" or a whole number, also from its text."""
    if value == "auto":
        return value
    bins = int(value) if isinstance(value, str) and value.isdecimal() else value
    if isinstance(bins, (str, bool)) or bins < 1 or bins % 1:
        raise OptionError(option.name, f"{value!r} is neither auto nor a whole number from 1")
    return bins


def as_risk_parameters(option: Option, value: Any) -> tuple[float, ...]:
    """Return one number or several; scores exist for those above −1, means for all."""
    one = isinstance(value, (str, bytes)) or not hasattr(value, "__iter__") or getattr(value, "ndim", 1) == 0
    parameters = tuple(as_number(option, each) for each in ([value] if one else value))
    for r in parameters:
        if not -MOST_R <= r <= MOST_R:
            raise OptionError(option.name, f"{r:g}; means and scores are computed from {-MOST_R:g} to {MOST_R:g}")
    return tuple(dict.fromkeys(parameters))


def as_window(option: Option, value: Any) -> str | None:
    """Return a length of time, or a number of cases."""
    if value is not None and not re.fullmatch(r"[1-9]\d{0,8}[dm]?", str(value)):
        raise OptionError(option.name, f"{str(value)!r:.40} is none of 30d (days), 12m (months), 100 (cases)")
    return None if value is None else str(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
