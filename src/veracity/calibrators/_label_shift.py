"""Class frequencies estimated from unlabelled scores under label shift (Saerens, Latinne & Decaestecker 2002)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc

from veracity.inputs import Forecasts
from veracity.records import findings_of_results as of_results
from veracity.types import Array

from ._dual_solver import Chunks, in_memory, moments
from ._target import checked_target
from .multiplicative import tilt

CHANGE = 1e-10  # of a frequency in one round, below which the rounds have converged
MOST_ROUNDS = 5000
ABSENT = 1e-6  # a frequency below this is on its way to zero


def em(forecasts: Forecasts, trained_on: ArrayLike) -> tuple[Array, of_results.LabelShift]:
    """Return class frequencies here, given those the model was `trained_on`, and a warning about the assumptions.

    Rounds of π ← mean over rows of S·π/trained_on, normalised (EM), or Newton steps where they are short: both climb
    the likelihood of π. Labels are not used. Each is one pass over rows that may be on a cluster, which SciPy's
    optimisers would repeat for the loss alone.
    A maximum at the edge of the simplex means that label shift does not describe the scores: ValueError.
    """
    return em_chunks(in_memory(forecasts), trained_on, forecasts.classes, cases=effective_cases(forecasts))


def em_chunks(
    chunks: Chunks, trained_on: ArrayLike, classes: tuple[Any, ...], *, cases: float, start: Array | None = None
) -> tuple[Array, of_results.LabelShift]:
    """Return the same from passes over rows (m, k) with their shares of the mass, beginning at `start`.

    `cases` is their effective number: it sizes Wald's test with the information n Σ A_i A_j/(π_i π_j) of π.
    """
    before = checked_target(trained_on, classes)
    if (before == 0.0).any():
        name = classes[int(np.argmin(before))]
        raise ValueError(f"trained_on: class {name} has frequency 0; a model cannot have learned it: leave it out")
    pi = before if start is None else start

    def place(rows: Array, u: Array) -> tuple[Array, Array, float]:
        a = tilt(rows, u)
        return a, a, 1.0

    for _ in range(MOST_ROUNDS):
        means, coupling = moments(chunks, place, np.log(pi / before))
        change = np.abs(means - pi).max()
        gone = (means < ABSENT) & (means < pi)
        if gone.any():
            names = ", ".join(str(c) for c, out in zip(classes, gone, strict=True) if out)
            raise ValueError(
                f"em: the estimate leaves the simplex at {names}: the scores ask for fewer than no cases of it; label "
                "shift does not describe these scores, or the training frequencies are wrong: give the target instead"
            )
        pi = _newton(pi, means, coupling)
        if change < CHANGE:
            break
    else:
        raise ValueError(f"em: no estimate in {MOST_ROUNDS} rounds; the scores say too little about the frequencies")
    change = (pi - before) / pi
    finding = of_results.LabelShift(
        classes=tuple(map(str, classes)),
        frequencies=tuple(pi.tolist()),
        p=float(chdtrc(len(pi) - 1, cases * float(change @ coupling @ change))),
        cases=cases,
        needs_calibration=True,
    )
    return pi / pi.sum(), finding


def effective_cases(forecasts: Forecasts) -> float:
    """Return (Σw)²/Σw², counting copies."""
    return float(forecasts.mass.sum() ** 2 / forecasts.squared_mass.sum())


def _newton(pi: Array, means: Array, coupling: Array) -> Array:
    """Return the frequencies after a Newton step on ln π (M = mean A Aᵀ) if it is short, else after a round of EM."""
    step, _, rank, _ = np.linalg.lstsq(coupling, means - pi)
    return np.asarray(pi * np.exp(step) if rank == len(pi) and np.abs(step).max() < 0.5 else means)
