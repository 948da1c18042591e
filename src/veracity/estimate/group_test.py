"""Do the levels of a group differ in log loss? A test, means drawn towards each other, and gains level by level."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from veracity.data import Forecasts
from veracity.data.reading import Reading, around
from veracity.data.records import Difference
from veracity.estimate.compare import FEWEST_CLUSTERS
from veracity.estimate.components import judged_by
from veracity.estimate.dependent import Widening
from veracity.estimate.recalibration import Recalibration
from veracity.estimate.scores import mean_and_error
from veracity.estimate.verdict import blocks
from veracity.formulas.differences import cluster_error, influences
from veracity.formulas.heterogeneity import between_groups, shrunk_means
from veracity.measures import BRIER, LOG_LOSS
from veracity.state.tally import Tally

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_CASES = 20_000  # whose labels are permuted
DRAWS = 999
AT_ONCE = 1 << 21  # permuted values held together
SHRUNK = "empirical Bayes (DerSimonian–Laird)"
MOST_ROWS, MOST_ENTRIES = 20_000, 1_000_000


def differ(levels: Mapping[str, Tally], seed: int) -> Difference | None:
    """Return the test that levels have the same log loss (Brier score where that is infinite)."""
    used = {name: tally for name, tally in levels.items() if tally.sums.rows}
    if len(used) < 2:
        return None
    infinite = any(tally.sums.zeros for tally in used.values())
    if infinite and not all(tally.measurable for tally in used.values()):
        return Difference(None, "infinite log losses cannot be compared")
    what = ", Brier score" if infinite else ""
    if sum(tally.cases for tally in used.values()) <= MOST_CASES and all(t.complete for t in used.values()):
        return _permuted(used, infinite, what, seed)
    return _by_sums(used, infinite, what)


def _by_sums(levels: Mapping[str, Tally], infinite: bool, what: str) -> Difference:
    """Return the χ² test from the sums of the levels; of clusters or times, a Wald test of their influences."""
    from scipy.special import chdtrc

    held = [mean_and_error(tally.sums, 1 if infinite else 0) for tally in levels.values()]
    mean, error = np.array([m for m, _ in held]), np.array([e for _, e in held])
    if all(tally.by_key is not None for tally in levels.values()):
        wider = np.array([Widening(tally).error(1 if infinite else 0) for tally in levels.values()])
        w = 1.0 / np.maximum(wider, 1e-300) ** 2
        wald = float(w @ (mean - w @ mean / w.sum()) ** 2)
        return Difference(
            float(chdtrc(len(mean) - 1.0, wald)), f"Wald test of the {what}, clusters or times of each level"
        )
    weight = np.array([tally.sums.n_eff for tally in levels.values()])
    centre = float(weight @ mean / weight.sum())
    variance = float(weight @ (error**2 * weight + (mean - centre) ** 2) / weight.sum())
    if not variance > 0.0:
        return Difference(1.0, f"χ² test{what}")
    return Difference(float(chdtrc(len(mean) - 1.0, between_groups(mean, weight, variance))), f"χ² test{what}")


def _permuted(levels: Mapping[str, Tally], infinite: bool, what: str, seed: int) -> Difference:
    """Return the test by permuted labels: of rows, of whole clusters, or of rows within clusters or blocks of time."""
    rows = [tally.rows for tally in levels.values()]
    values = [(BRIER if infinite else LOG_LOSS).rows(f)[:, 0] for f in rows]  # type: ignore[misc]
    counts = [np.ones(len(f), np.int64) if f.counts is None else f.counts for f in rows]
    x = np.concatenate([np.repeat(v, c) for v, c in zip(values, counts, strict=True)])
    w = np.concatenate([np.repeat(f.mass / np.maximum(c, 1), c) for f, c in zip(rows, counts, strict=True)])
    level = np.repeat(np.arange(len(rows)), [int(c.sum()) for c in counts])
    unit = _units(rows, counts)
    rng = np.random.default_rng(seed)
    if unit is None:
        drawn, how = _draws(x, w, level, np.zeros(len(x), np.int64), rng), "labels"
    elif _nested(unit, level):
        sums, weights = np.bincount(unit, x * w), np.bincount(unit, w).astype(np.float64)
        own = np.zeros(len(sums), np.int64)
        own[unit] = level
        drawn, how = _draws(sums / weights, weights, own, np.zeros(len(own), np.int64), rng), "labels of clusters"
        x, w, level = sums / weights, weights, own
    else:
        drawn, how = _draws(x, w, level, unit, rng), "labels within clusters or blocks of time"
    found = _statistic(x[None], w[None], level, len(rows))[0]
    p = (1.0 + float((drawn >= found * (1.0 - 1e-9)).sum())) / (1.0 + DRAWS)
    return Difference(p, f"{DRAWS} permutations of {how}{what}")


def _units(rows: list[Forecasts], counts: list[Ints]) -> Ints | None:
    """Return the cluster or block of time of each case; None where cases are independent."""
    if rows[0].clusters is not None:
        keys = np.concatenate([np.repeat(np.asarray(f.clusters), c) for f, c in zip(rows, counts, strict=True)])
        return np.asarray(np.unique(keys, return_inverse=True)[1]).ravel()
    if rows[0].time is not None:
        time = np.concatenate([np.repeat(np.asarray(f.time), c) for f, c in zip(rows, counts, strict=True)])
        return blocks(None, time, np.ones(len(time)))
    return None


def _nested(unit: Ints, level: Ints) -> bool:
    """Return whether every cluster is in one level only."""
    return len(np.unique(unit)) == len(np.unique(unit * (int(level.max()) + 1) + level))


def _statistic(x: Floats, w: Floats, level: Ints, number: int) -> Floats:
    """(draws,) Σ_g W_g (mean_g − mean)² of values (draws, n) whose labels are fixed."""
    order = np.argsort(level, kind="stable")
    first = np.searchsorted(level[order], np.arange(number))
    weights = np.add.reduceat(w[:, order], first, axis=1)
    sums = np.add.reduceat((x * w)[:, order], first, axis=1)
    centre = sums.sum(axis=1) / weights.sum(axis=1)
    found: Floats = (weights * (sums / weights - centre[:, None]) ** 2).sum(axis=1)
    return found


def _draws(x: Floats, w: Floats, level: Ints, unit: Ints, rng: np.random.Generator) -> Floats:
    """(999,) the statistic with values permuted within units."""
    n, number = len(x), int(level.max()) + 1
    order = np.argsort(unit, kind="stable")
    found = []
    step = max(1, AT_ONCE // n)
    for start in range(0, DRAWS, step):
        size = min(step, DRAWS - start)
        if unit[order[0]] == unit[order[-1]]:
            place = rng.permuted(np.broadcast_to(np.arange(n), (size, n)), axis=1)
        else:  # a random order of units' own rows
            mixed = np.argsort(rng.random((size, n)) + unit[order], axis=1)
            place = np.empty((size, n), np.int64)
            place[:, order] = order[mixed]
        found.append(_statistic(x[place], w[place], level, number))
    return np.concatenate(found)


def shrunk(levels: Mapping[str, Tally], level: float) -> dict[str, Reading]:
    """Return the log loss of each level drawn towards the common mean; none where fewer than three are known."""
    known = {name: tally for name, tally in levels.items() if tally.sums.rows and not tally.sums.zeros}
    found = {name: mean_and_error(tally.sums, 0) for name, tally in known.items()}
    n = {name: tally.sums.n_eff for name, tally in known.items()}
    enough = [name for name, (_, error) in found.items() if math.isfinite(error)]
    spread = sum(n[name] * (n[name] - 1.0) * found[name][1] ** 2 for name in enough)
    pooled = spread / max(sum(n[name] - 1.0 for name in enough), 1.0)  # variance within: that of few cases is unsure
    held = {}
    for name, tally in known.items():
        error = math.sqrt(pooled / n[name])
        if tally.by_key is not None and len(tally.by_key.sums) >= FEWEST_CLUSTERS:
            error = Widening(tally).error(0)
        if math.isfinite(error) and error > 0.0:
            held[name] = found[name][0], error
    if len(held) < 3:
        return {}
    means, errors = shrunk_means(*(np.array(column) for column in zip(*held.values(), strict=True)))
    ends = zip(held, means.tolist(), errors.tolist(), strict=True)
    return {name: around(mean, error, level, (0.0, np.inf), SHRUNK) for name, mean, error in ends}


def gain(tally: Tally, found: Recalibration | None, level: float) -> Reading | None:
    """Return what the recalibration of all cases saves in a level: mean of its rows' gains, without refits."""
    if found is None or not tally.measurable or not tally.sums.rows or tally.sums.zeros:
        return None
    rows = tally.few_rows(MOST_ROWS, MOST_ENTRIES)
    before, after = judged_by(rows, found)
    with np.errstate(invalid="ignore"):
        values = before - after
    if not np.isfinite(values).all():
        return None
    u = influences(values, rows.mass)
    mean = float(rows.mass @ values / rows.mass.sum())
    if rows.clusters is not None:
        place = np.unique(rows.clusters, return_inverse=True)[1].ravel()
        error = float(cluster_error(np.bincount(place, weights=u))[0])
    else:
        copies = np.ones(len(rows)) if rows.counts is None else rows.counts
        error = float(np.sqrt((u**2 / np.maximum(copies, 1)).sum()))
    return around(mean, error, level, method="gains of the recalibration of all cases")
