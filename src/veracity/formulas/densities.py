"""The average of a density: the generalized mean of RP section 2.2 for any density, by quadrature."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from veracity.formulas import domain

WHOLE = 1e-6  # how far the integral of a density may be from one
PRECISE = 1e-11  # of the quadrature


def generalized_mean_of(density: Any, r: float, *, support: tuple[float, float] | None = None) -> float:
    """Average density (∫ f^(1−r) dx)^(−1/r); r = 0: exp ∫ f ln f dx, the inverse of the perplexity.

    `density` is a callable with its `support`, or a frozen distribution of `scipy.stats`, which knows its own. As in
    (2.8) the mean of power r has the escort density f^(1−r)/∫ f^(1−r) as its weight; 0 where the integral diverges.
    RP (2.2), (2.9).

    >>> round(generalized_mean_of(lambda x: math.exp(-x / 2) / 2, 0, support=(0, math.inf)), 9)  # (2.3): 1/(σ e)
    0.183939721
    >>> generalized_mean_of(math.cos, 0, support=(0, 1))
    Traceback (most recent call last):
        ...
    ValueError: density: its integral over (0, 1) is 0.841470985, not 1
      give the density divided by it, or its whole support
    """
    power = float(domain.power("r", r))
    if not math.isfinite(power):
        raise ValueError(f"r: {power:g} is not finite\n  give a number such as -0.5")
    f, low, high = _function(density, support)
    total = _integral(f, low, high)
    if not abs(total - 1.0) <= WHOLE:
        raise ValueError(
            f"density: its integral over ({low:g}, {high:g}) is {total:.9g}, not 1\n"
            "  give the density divided by it, or its whole support"
        )
    if power == 0.0:
        return math.exp(_integral(lambda x: _times_log(f(x)), low, high))
    whole = _integral(lambda x: f(x) ** (1.0 - power) if f(x) > 0.0 else 0.0, low, high)
    return whole ** (-1.0 / power) if math.isfinite(whole) else 0.0 if power < 0.0 else math.inf


def _function(density: Any, support: tuple[float, float] | None) -> tuple[Callable[[float], float], float, float]:
    """Return the density as a function of one number, and the ends of its support."""
    pdf = getattr(density, "pdf", density)
    if not callable(pdf):
        raise ValueError(
            f"density: a {type(density).__name__} is neither a function nor a frozen distribution\n"
            "  give a function with its support, or a continuous distribution such as scipy.stats.norm(0, 1)"
        )
    if support is None:
        if pdf is density:
            raise ValueError("support: a function does not tell where it is positive\n  give support=(low, high)")
        support = density.support()
    low, high = (float(end) for end in support)
    if not low < high:
        raise ValueError(f"support: ({low:g}, {high:g}) is empty\n  give support=(low, high) with low < high")

    def f(x: float) -> float:
        value = float(pdf(x))
        if not value >= 0.0:
            raise ValueError(
                f"density: {value:g} at x = {x:g}\n  give one that is a number from 0 on all over its support"
            )
        return value

    return f, low, high


def _times_log(value: float) -> float:
    return value * math.log(value) if value > 0.0 else 0.0


def _integral(f: Callable[[float], float], low: float, high: float) -> float:
    """Return the integral, in pieces about where most densities are wide or narrow."""
    import warnings

    from scipy.integrate import quad

    inner = [x for x in (*(-(10.0 ** np.arange(3, -3, -1))), 0.0, *(10.0 ** np.arange(-2, 4))) if low < x < high]
    total = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for a, b in itertools.pairwise([low, *inner, high]):
            try:
                total += quad(f, a, b, epsabs=1e-13, epsrel=PRECISE, limit=500)[0]
            except Warning:  # it diverges, or nothing shows that it converges
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    value, error = quad(f, a, b, epsabs=1e-13, epsrel=PRECISE, limit=500)[:2]
                if not error <= 1e-9 * max(1.0, abs(value)):
                    return math.inf
                total += value
    return total
