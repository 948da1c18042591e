"""Does calibration hold in every group? Level and slope of the outcomes after recalibration, group by group.

As over time (`stability.py`), outcomes are compared with C, the forecasts recalibrated on average. The score of a group
is E′u, E its level or slope direction less what the fit of C explains; z = E′u/(V + 1)^½. Σz² and max z² are compared
with those of outcomes drawn from C, or of clusters with random signs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from veracity.estimate.calibration.calibration_tests import ALL_SIGNS, ALPHA, p_values, signs
from veracity.estimate.calibration.joint import MOST
from veracity.estimate.calibration.residuals import CELL, DRAWS, FEW, Many, Two, poisson_margin
from veracity.estimate.groups_and_time.stability import LEVEL, SLOPE, Recalibrated, Residuals
from veracity.types import Floats, Ints

MOST_CELLS = 20_000  # of equal forecasts in a group whose outcomes are drawn; beyond, the scores of groups are normal
MOST_ROWS = 5_000  # of more classes whose outcomes are drawn
MOST_SCORES = 8_000  # groups times classes with a level of their own
MOST_UNITS = 4096  # clusters with a sign of their own
AT_ONCE = 1 << 22  # drawn outcomes held together


@dataclass(frozen=True, eq=False)
class GroupScores:
    """How far one direction is off in every group: z, that of drawn outcomes, and a size.

    z         (groups,) score over (its variance under C + 1)^½; of the levels of several classes its length
    drawn     (draws, groups) the same of outcomes that follow C
    method    how z is judged
    complete  whether the draws are all that there can be, the outcomes themselves first
    shift     (groups,) log-odds by which the group is off, shrunk by what chance explains; None of several classes
    """

    z: Floats
    drawn: Floats
    method: str
    complete: bool = False
    shift: Floats | None = None

    @cached_property
    def p(self) -> float:
        """Of Σz² and max z² together, the smaller of the two among the same draws."""
        both = (self.drawn if self.complete else np.vstack([self.z, self.drawn])) ** 2
        ranks = [p_values(both.sum(axis=1)), p_values(both.max(axis=1))]
        return float(p_values(-np.minimum(*ranks))[0])

    @property
    def named(self) -> Ints:
        """Numbers of the groups beyond the 95 % quantile of the largest |z| of the draws."""
        limit = float(np.quantile(np.abs(self.drawn).max(axis=1), 1.0 - ALPHA)) * (1.0 + 1e-9)
        return np.flatnonzero(np.abs(self.z) > limit)


def shrunk(score: Floats, variance: Floats) -> Floats:
    """Return score/variance of each group, drawn towards 0 as far as chance explains it (DerSimonian–Laird)."""
    known = variance > 1e-9
    v = np.where(known, variance, 1.0)
    d, weights = np.where(known, score / v, 0.0), np.where(known, v, 0.0)
    total = max(float(weights.sum()), 1e-300)
    excess = float(weights @ (d - weights @ d / total) ** 2) - (known.sum() - 1)
    free = total - float((weights**2).sum()) / total
    between = max(0.0, excess / free) if free > 0.0 else 0.0
    return np.asarray(d * between / (between + 1.0 / v) if between > 0.0 else 0.0 * d)


def group_scores(cases: Two | Many, p: Floats, group: Ints, seed: int = 0) -> dict[str, GroupScores]:
    """Return the scores of level and slope in every group; `group` numbers those of the cases, in order, from 0."""
    rng = np.random.default_rng(seed)
    return _of_two(cases, p, group, rng) if isinstance(cases, Two) else _of_many(cases, p, group, rng)


OUTCOMES = f"{DRAWS} draws of outcomes from the recalibrated forecasts"
NORMAL = f"{DRAWS} normal draws"


def _by_signs(cases: Two | Many) -> tuple[str, bool]:
    """Return the method of clusters or blocks of time, and whether all their signs are taken."""
    assert cases.block is not None
    number = min(len(np.unique(cases.block)), MOST_UNITS)
    return f"signs of {number:,} clusters or blocks of time", number <= ALL_SIGNS


def _starts(group: Ints) -> Ints:
    return np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))


def _signed(cases: Two | Many, group: Ints, values: Floats, rng: np.random.Generator) -> Floats:
    """Return (draws, groups, columns) sums of (n, columns) values whose clusters have random signs."""
    assert cases.block is not None
    unit = np.unique(cases.block, return_inverse=True)[1].ravel() % MOST_UNITS
    units, groups = int(unit.max()) + 1, int(group.max()) + 1
    sums = [np.bincount(unit * groups + group, column, units * groups) for column in values.T]
    draws = signs(units, DRAWS, rng) @ np.stack(sums, axis=1).reshape(units, -1)
    return draws.reshape(len(draws), groups, values.shape[1])


# -- two classes ------------------------------------------------------------------------------------------------------


def _of_two(cases: Two, p: Floats, group: Ints, rng: np.random.Generator) -> dict[str, GroupScores]:
    recalibrated, first = Recalibrated.of(cases, p), _starts(group)
    along, score, variance = {}, {}, {}
    for name in (LEVEL, SLOPE):
        z = recalibrated.direction(name)
        common = np.add.reduceat(recalibrated.nuisance * (recalibrated.w * z)[:, None], first, axis=0)
        along[name] = common @ recalibrated.inverse
        score[name] = np.add.reduceat(recalibrated.u * z, first) - along[name] @ recalibrated.left
        whole = np.add.reduceat(recalibrated.w * z**2, first)
        variance[name] = np.maximum(whole - np.einsum("ij,ij->i", along[name], common), 0.0)
    drawn, exact = _drawn_of_two(cases, recalibrated, group, along, rng)
    how, complete = (OUTCOMES if exact else NORMAL, False) if cases.block is None else _by_signs(cases)
    by_name = {}
    for name in (LEVEL, SLOPE):
        scale = np.sqrt(variance[name] + 1.0)
        shift = shrunk(score[name], variance[name])
        by_name[name] = GroupScores(score[name] / scale, drawn[name] / scale, how, complete, shift)
    return by_name


def _drawn_of_two(
    cases: Two, recalibrated: Recalibrated, group: Ints, along: dict[str, Floats], rng: np.random.Generator
) -> tuple[dict[str, Floats], bool]:
    """Return (draws, groups) scores of level and slope of outcomes that follow C, and whether these were drawn."""
    z, m = recalibrated.direction(SLOPE), recalibrated.nuisance.shape[1]
    features = np.column_stack([np.ones(len(z)), z, recalibrated.nuisance])
    if cases.block is not None:
        raw = _signed(cases, group, features * recalibrated.u[:, None], rng)
        total, own = raw[:, :, 2:].sum(axis=1), {LEVEL: raw[:, :, 0], SLOPE: raw[:, :, 1]}
        return {name: own[name] - total @ along[name].T for name in own}, False
    cell, of_cell = _cells(cases, group, recalibrated)
    size: Floats = np.bincount(cell, cases.count).astype(np.float64)
    c = np.clip(np.bincount(cell, cases.count * recalibrated.c) / size, 0.0, 1.0)
    weight = np.sqrt(np.bincount(cell, cases.mass2) / size)
    mean = np.column_stack([np.bincount(cell, cases.count * f) / size for f in features.T]) * weight[:, None]
    first = _starts(of_cell)
    if len(size) > MOST_CELLS:
        return _normal_of_two(mean, size, c, first, along, rng), False
    scores = {name: np.empty((DRAWS, len(first))) for name in (LEVEL, SLOPE)}
    step = max(1, AT_ONCE // len(size))
    for start in range(0, DRAWS, step):
        part = slice(start, min(start + step, DRAWS))
        events: Floats = rng.binomial(size.astype(np.int64), c, (part.stop - start, len(size))).astype(np.float64)
        rest = events - size * c
        total = rest @ mean[:, 2 : 2 + m]
        for place, name in enumerate((LEVEL, SLOPE)):
            sums = np.add.reduceat(rest * mean[:, place], first, axis=1)
            scores[name][part] = sums - total @ along[name].T
    return scores, True


def _cells(cases: Two, group: Ints, of: Recalibrated) -> tuple[Ints, Ints]:
    """Return (n,) number of each row's cell of group and nearly equal forecast and weight, and the group of each."""
    key = (group * 8 + of.ranges) * 4096 + np.clip(np.rint(of.x / CELL), -2047, 2047).astype(np.int64) + 2048
    key = key * 4096 + np.clip(np.rint(np.log(cases.weight) / CELL), -2047, 2047).astype(np.int64) + 2048
    cells, place = np.unique(key, return_inverse=True)
    return place.ravel(), cells // (8 * 4096 * 4096)


def _normal_of_two(
    mean: Floats, size: Floats, c: Floats, first: Ints, along: dict[str, Floats], rng: np.random.Generator
) -> dict[str, Floats]:
    """Return normal scores with their exact covariance within groups; few events keep their Poisson margins."""
    ends, w = np.append(first[1:], len(c)), size * c * (1.0 - c)
    raw = np.empty((DRAWS, len(first), mean.shape[1]))
    for g, (a, b) in enumerate(zip(first, ends, strict=True)):
        part = mean[a:b]
        covariance = part.T @ (part * w[a:b, None])
        raw[:, g] = _root(covariance, rng)
        if 0.0 < covariance[0, 0] < FEW:
            sign = 1.0 if size[a:b] @ c[a:b] < size[a:b].sum() / 2.0 else -1.0  # −1: it is non-events that are few
            raw[:, g, 0] = sign * poisson_margin(sign * raw[:, g, 0], covariance[0, 0])
    total = raw[:, :, 2:].sum(axis=1)
    return {name: raw[:, :, i] - total @ along[name].T for i, name in enumerate((LEVEL, SLOPE))}


def _root(covariance: Floats, rng: np.random.Generator) -> Floats:
    """Return (draws, columns) normal draws with this covariance, which may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(rng.standard_normal((DRAWS, len(covariance))) @ root.T)


# -- more classes -----------------------------------------------------------------------------------------------------


def _of_many(cases: Many, p: Floats, group: Ints, rng: np.random.Generator) -> dict[str, GroupScores]:
    """Return the scores for more classes; the slope is projected on the levels."""
    number, first = int(group.max()) + 1, _starts(group)
    residuals = Residuals.of(cases, p, most=int(np.clip(MOST_SCORES // number, 3, MOST)))
    k, (how, complete) = residuals.levels, (NORMAL, False) if cases.block is None else _by_signs(cases)
    covariance = np.stack([np.add.reduceat(residuals.column(a), first, axis=0) for a in range(k + 1)], axis=1)
    along = covariance @ np.linalg.pinv(covariance.sum(axis=0), rcond=1e-10, hermitian=True)  # what the fit of C takes
    left = covariance - along @ covariance
    if cases.block is not None:
        drawn = _signed(cases, group, residuals.u, rng)
    elif cases.count.sum() <= MOST_ROWS:
        drawn, how = _outcomes(residuals, group, cases, rng), OUTCOMES
    else:
        drawn = np.stack([_root(one, rng) for one in covariance], axis=1)
    every = np.concatenate([np.add.reduceat(residuals.u, first, axis=0)[None], drawn])
    every -= np.einsum("gij,dj->dgi", along, every.sum(axis=1))
    levels, slopes = np.empty((2, len(every), number))
    for g in range(number):
        own = np.linalg.pinv(left[g][:k, :k] + np.eye(k), hermitian=True)
        levels[:, g] = np.sqrt(np.maximum(np.einsum("di,ij,dj->d", every[:, g, :k], own, every[:, g, :k]), 0.0))
        share = left[g][k, :k] @ own
        spread = left[g][k, k] - share @ left[g][:k, k]
        slopes[:, g] = (every[:, g, k] - every[:, g, :k] @ share) / math.sqrt(max(spread, 0.0) + 1.0)
    return {
        LEVEL: GroupScores(levels[0], levels[1:], how, complete),
        SLOPE: GroupScores(slopes[0], slopes[1:], how, complete),
    }


def _outcomes(residuals: Residuals, group: Ints, cases: Many, rng: np.random.Generator) -> Floats:
    """Return (draws, groups, levels and slope) sums of residuals of outcomes drawn from C."""
    number, k = int(group.max()) + 1, residuals.levels
    row = np.repeat(np.arange(len(group)), cases.count.astype(np.int64))
    ends = np.cumsum(residuals.whole, axis=1) / residuals.whole.sum(axis=1, keepdims=True)
    ends[:, -1] = 1.0
    sums = np.zeros((DRAWS, number, k + 1))
    step = max(1, AT_ONCE // len(row))
    for start in range(0, DRAWS, step):
        draws = min(step, DRAWS - start)
        at = np.tile(row, draws)
        place = np.searchsorted((ends + np.arange(len(ends))[:, None]).ravel(), at + rng.random(len(at)), "right")
        y = np.minimum(place - at * ends.shape[1], ends.shape[1] - 1)
        of_draw = np.repeat(np.arange(draws), len(row)) * number + group[at]
        weight = cases.weight[at]
        level = np.bincount(of_draw * k + residuals.of_class[y], weight, draws * number * k)
        slope = np.bincount(of_draw, weight * residuals.x[at, y], draws * number)
        sums[start : start + draws, :, :k] = level.reshape(draws, number, k)
        sums[start : start + draws, :, k] = slope.reshape(draws, number)
    mean = np.column_stack([residuals.c, np.einsum("ij,ij->i", residuals.whole, residuals.x)]) * cases.mass[:, None]
    return sums - np.add.reduceat(mean, _starts(group), axis=0)
