"""Bounds from printed means: moment problems over every distribution of probabilities, as linear programmes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
FLOOR = 0.005
HALF_UNIT = 0.0005  # printed numbers have three decimals


def feasible(
    r: float, d: float, *, floor: float = FLOOR, half_unit: float = HALF_UNIT, want: str = "geometric"
) -> tuple[float, float]:
    """Return the range of a third mean over distributions on [floor, 1] whose other two means round to these numbers.

    A moment problem, solved as a linear programme on a fine grid. want = "geometric": r and d are robustness and
    decisiveness; want = "robustness": r is the geometric mean.
    """
    from scipy.optimize import linprog

    p = np.concatenate([np.geomspace(floor, 1.0, 3000), np.linspace(floor, 1.0, 1500)])
    powers = {"robustness": p ** (-2 / 3), "geometric": np.log(p)}
    given = "robustness" if want == "geometric" else "geometric"
    low, high = r - half_unit, r + half_unit
    if given == "robustness":
        limits = high ** (-2 / 3), max(low, floor) ** (-2 / 3)
    else:
        limits = math.log(low), math.log(high)
    matrix = np.array([powers[given], -powers[given], p, -p])
    bounds = np.array([limits[1], -limits[0], d + half_unit, half_unit - d])
    ends = []
    for sign in (1.0, -1.0):
        found = linprog(
            sign * powers[want], A_ub=matrix, b_ub=bounds, A_eq=np.ones((1, len(p))), b_eq=[1.0], method="highs"
        )
        if not found.success:
            return math.nan, math.nan
        value = sign * found.fun
        ends.append(math.exp(value) if want == "geometric" else value ** (-1.5))
    return min(ends), max(ends)


def rise(floors: dict[float, tuple[float, float]]) -> tuple[float, float]:
    """Return the range of the rise of decisiveness from the smallest floor to the largest.

    floors: {γ: (robustness, geometric accuracy)} of one set of probabilities, as printed.
    """
    p = _feasibility(floors)
    difference = np.maximum(p, max(floors)) - np.maximum(p, min(floors))
    ends = [_solve(sign * difference, p, floors) for sign in (1.0, -1.0)]
    return ends[0], -ends[1]


def meets(floors: dict[float, tuple[float, float]], floor: float, robustness: float, geometric: float) -> bool:
    """Return whether one set of probabilities can have the means of `floors` and these two at another floor."""
    both = floors | {float(floor): (robustness, geometric)}
    p = _feasibility(both)
    return not math.isnan(_solve(np.zeros_like(p), p, both))


def _feasibility(floors: dict[float, tuple[float, float]]) -> Array:
    """Return points of support, dense near the floors."""
    fine = np.geomspace(min(floors) / 2.0, 1.2 * max(floors), 600)
    return np.unique(np.concatenate([np.geomspace(1e-8, 1.0, 600), fine, np.linspace(0.01, 1.0, 300), [*floors]]))


def _solve(objective: Array, p: Array, floors: dict[float, tuple[float, float]]) -> float:
    """Return the least mean of the objective over distributions on p with these rounded floored means, or nan."""
    from scipy.optimize import linprog

    matrix, bounds = [], []
    for floor, (robustness, geometric) in floors.items():
        raised = np.maximum(p, floor)
        for powers, least, most in (
            (raised ** (-2 / 3), (robustness + HALF_UNIT) ** (-2 / 3), (robustness - HALF_UNIT) ** (-2 / 3)),
            (np.log(raised), math.log(geometric - HALF_UNIT), math.log(geometric + HALF_UNIT)),
        ):
            matrix += [powers, -powers]
            bounds += [most, -least]
    found = linprog(
        objective, A_ub=np.array(matrix), b_ub=bounds, A_eq=np.ones((1, len(p))), b_eq=[1.0], method="highs"
    )
    return float(found.fun) if found.success else math.nan
