"""The domain checks that formulas call, one line each; all raise ValueError with the argument and the value."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from veracity.types import Array

ROW_SUM_TOLERANCE = 1e-3  # enough to catch a wrong scale or axis; `Forecasts` decides how exact rows must be


def first(array: Array, bad: Array) -> str:
    """Return the first bad value with its place, for a message."""
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    place = "" if not index else f" at index {index[0] if len(index) == 1 else index}"
    return f"{np.asarray(array)[index]!s}{place}"


def refuse(name: str, array: Array, bad: Array, rule: str) -> None:
    if np.any(bad):
        raise ValueError(f"{name}: {first(array, np.asarray(bad))} {rule}")


def numbers(name: str, x: ArrayLike) -> Array:
    """Return a float64 array; text and ragged rows are refused."""
    try:
        return np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError, ArithmeticError, RuntimeError):
        raise ValueError(f"{name}: {x!r:.80} is not an array of numbers") from None


def known(name: str, x: ArrayLike) -> Array:
    """Return numbers without NaN; infinities are allowed."""
    a = numbers(name, x)
    refuse(name, a, np.isnan(a), "is not a number")
    return a


def finite(name: str, x: ArrayLike) -> Array:
    a = numbers(name, x)
    with np.errstate(over="ignore", invalid="ignore"):
        total = a.sum()  # cheaper than a mask, and any NaN or infinity survives it
    if not np.isfinite(total):
        refuse(name, a, ~np.isfinite(a), "is not a finite number")
    return a


def nonnegative(name: str, x: ArrayLike) -> Array:
    a = finite(name, x)
    if a.size and a.min() < 0.0:
        refuse(name, a, a < 0.0, "is negative")
    return a


def probabilities(name: str, x: ArrayLike) -> Array:
    a = nonnegative(name, x)
    if a.size and a.max() > 1.0:
        refuse(name, a, a > 1.0, "is above 1, so no probability")
    return a


def log_values(name: str, x: ArrayLike) -> Array:
    a = numbers(name, x)
    refuse(name, a, np.isnan(a) | np.isposinf(a), "is not a logarithm of a finite non-negative number")
    return a


def filled(name: str, a: Array) -> Array:
    if a.ndim == 0 or a.shape[-1] == 0:
        raise ValueError(f"{name}: shape {a.shape} has no values to average; give at least one")
    return a


def shares(name: str, weights: ArrayLike | None, n: int) -> Array:
    """Return weights that sum to one; equal ones for None."""
    if weights is None:
        return np.full(n, 1.0 / n)
    w = nonnegative(name, weights)
    if w.shape != (n,):
        raise ValueError(f"{name}: shape {w.shape} does not fit {n} values; give one weight a value")
    if not w.any():
        raise ValueError(f"{name}: all {n} are 0; give at least one positive weight")
    w = w / w.max()  # before the sum, which could overflow
    return np.asarray(w / w.sum())


def power(name: str, r: ArrayLike) -> Array:
    """Return powers of a mean: any real numbers and both infinities."""
    a = numbers(name, r)
    refuse(name, a, np.isnan(a), "is not a power of a mean")
    return a


def above(name: str, x: float, bound: float = -np.inf) -> float:
    """Return one finite number above a bound."""
    try:
        value = float(x)
    except (TypeError, ValueError, ArithmeticError):
        raise ValueError(f"{name}: {x!r:.80} is not a number") from None
    if not bound < value < np.inf:
        raise ValueError(f"{name}: {x!r} is outside ({bound:g}, inf)")
    return value


def broadcast(**shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the broadcast shape of the arguments."""
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        listing = " and ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"shapes do not fit: {listing}; one row, or as many rows as the other") from None


def affine_rows(name: str, x: ArrayLike) -> Array:
    """Return rows on the last axis that sum to one, inside the simplex or not."""
    a = finite(name, x)
    if a.ndim == 0 or a.shape[-1] == 0:
        raise ValueError(f"{name}: shape {a.shape} has no classes on its last axis; give rows of probabilities")
    total = a.sum(axis=-1)
    refuse(
        f"{name}: row sum", total, np.abs(total - 1.0) > ROW_SUM_TOLERANCE, "is not one; classes go on the last axis"
    )
    return a


def simplex_rows(name: str, x: ArrayLike) -> Array:
    """Return probability rows on the last axis."""
    return affine_rows(name, nonnegative(name, x))


def classes(name: str, y: ArrayLike, k: int) -> Array:
    """Return column numbers 0 … k−1."""
    a = np.asarray(y)
    if a.dtype.kind not in "iu":
        raise ValueError(f"{name}: {a.dtype} values are not column numbers; give integers 0 to {k - 1}")
    refuse(name, a, (a < 0) | (a >= k), f"is no column number; the rows have {k} classes")
    return a


def table(n: ArrayLike) -> Array:
    """Return counts or shares of cases, forecast categories by outcomes, none of them empty."""
    a = nonnegative("counts", n)
    if a.ndim != 2 or a.shape[0] < 1 or a.shape[1] < 2:
        raise ValueError(f"counts: shape {a.shape} is not a table of forecast categories by two or more outcomes")
    for axis, what in ((1, "row"), (0, "column")):
        empty = np.flatnonzero(a.sum(axis=axis) == 0.0)
        if empty.size:
            raise ValueError(f"counts: {what} {empty[0]} has no cases; leave it out")
    return a


def whole_number(name: str, value: int, least: int, most: int) -> int:
    """A whole number between two limits, both allowed."""
    if isinstance(value, bool) or value != int(value) or not least <= value <= most:
        raise ValueError(f"{name}: {value!r} is not a whole number from {least} to {most}")
    return int(value)
