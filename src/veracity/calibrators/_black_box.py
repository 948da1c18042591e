"""Class frequencies under label shift from scores of any calibration (Lipton, Wang & Smola 2018)."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtrc

from veracity.inputs import Forecasts
from veracity.records import findings_of_results as of_results
from veracity.types import Array

SINGULAR = 1e-9  # of the largest singular value: below it float64 cannot tell classes apart
SAME = 0.8  # of the largest part in the directions that cannot be seen: the classes that are named


def by_outcome(rows: Array, outcomes: Array, shares: Array) -> Array:
    """Return (k, k) sums of the rows' shares: probability i by outcome j."""
    total = np.zeros((rows.shape[1], rows.shape[1]))
    np.add.at(total, outcomes, rows * shares[:, None])
    return total.T


def black_box(
    forecasts: Forecasts, reference: Forecasts, mean: Array | None = None, joint: Array | None = None
) -> tuple[Array, of_results.LabelShift]:
    """Return class frequencies here, given forecasts with outcomes from before the shift, and what they assume.

    Under label shift E[p_i here] = Σ_j π_j/π_ref,j E[p_i; y = j before], whatever p says: k equations for π. `mean` is
    E[p_i here] and `joint` E[p_i; y = j before] of all rows, where `forecasts` and `reference` are some of them. Mean
    probabilities need fewer cases than shares of picks (papers/questions/prior.py). An estimate with a negative
    frequency raises ValueError.

    >>> p, y = np.repeat([0.2, 0.8], 10), [0] * 8 + [1] * 2 + [1] * 8 + [0] * 2
    >>> before = Forecasts(p, np.array(y), (0, 1))
    >>> black_box(Forecasts(np.array([0.2] * 6 + [0.8] * 4), None, (0, 1)), before)[0].round(3).tolist()
    [0.667, 0.333]
    """
    classes, k = forecasts.classes, forecasts.k
    rows, scores, y = forecasts.matrix, reference.matrix, np.asarray(reference.observed)
    share, share_before = (f.mass / f.mass.sum() for f in (forecasts, reference))
    joint = by_outcome(scores, y, share_before) if joint is None else joint
    before = joint.sum(axis=0)
    if not before.all():
        raise ValueError(
            f"bbse: class {classes[int(np.argmin(before))]} never happens in the reference; give one with cases of it, "
            "or the target itself"
        )
    _, values, directions = np.linalg.svd(joint / before)
    seen = values > SINGULAR * values[0]
    if not seen.all():
        unseen = np.sqrt((directions[~seen] ** 2).sum(axis=0))
        names = ", ".join(str(c) for c, part in zip(classes, unseen, strict=True) if part > SAME * unseen.max())
        raise ValueError(
            f"bbse: the confusion matrix of the reference is singular: its mean forecasts do not tell {names} apart; "
            "give the target itself, or forecasts that treat these classes as one"
        )
    inverse = np.linalg.inv(joint)
    here = share @ rows if mean is None else mean
    ratio = inverse @ here
    frequencies = ratio * before
    if frequencies.min() < 0.0:
        worst = int(np.argmin(frequencies))
        raise ValueError(
            f"bbse: the estimate for class {classes[worst]} is {frequencies[worst]:.3g}: too few cases, or more than "
            "the class frequencies changed; give more cases, or the target itself"
        )
    # Influence of each row on frequencies − before: the mean here, and the matrix and the frequencies of the reference.
    moved = ((rows - share @ rows) @ inverse.T) * before
    moved_before = ((here - scores * ratio[y][:, None]) @ inverse.T) * before
    moved_before += (ratio - 1.0) * (np.eye(k)[y] - before)
    covariance = np.zeros((k, k))
    for f, influence in ((forecasts, moved), (reference, moved_before)):
        covariance += influence.T @ (influence * f.squared_mass[:, None]) / f.mass.sum() ** 2
    change = (frequencies - before)[:-1]
    statistic = float(change @ np.linalg.pinv(covariance[:-1, :-1], hermitian=True) @ change)
    finding = of_results.LabelShift(
        classes=tuple(map(str, classes)),
        frequencies=tuple(frequencies.tolist()),
        p=float(chdtrc(k - 1, statistic)),
        cases=min(f.mass.sum() ** 2 / f.squared_mass.sum() for f in (forecasts, reference)),
        needs_calibration=False,
    )
    return frequencies, finding
