"""Scores and reported means of a tally: what was stated, against what happened."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.data import Finding, Forecasts
from veracity.data.reading import DELTA, HALL, WILSON, Reading, around, exponential, hall, quantile, undefined, wilson
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid
from veracity.kernels.statistics import power_moments, true_cells
from veracity.state.plan import FLOORS
from veracity.state.sums import R, Sums
from veracity.state.tally import LOWEST, Tally

Floats = NDArray[np.float64]

MEANS = {"decisiveness": 1.0, "accuracy": 0.0, "robustness": -2.0 / 3.0}
AT = {name: int(np.argmin(np.abs(R - r))) for name, r in MEANS.items()}
ZERO = AT["accuracy"]  # r = 0, where formulas take logarithms; r < 0 before, r > 0 after
DIVISOR = np.where(R == 0.0, 1.0, R)
SIZE = np.abs(DIVISOR)
EXACT_AUC_ROWS = 1 << 20  # rows in memory that are sorted for the area under the ROC curve; beyond, cells serve
SHORT, NONE = 1, 2  # how an interval of a mean with r < 0 can fail: too short, or not to be had
COARSE_ABOVE = 2000  # cells of entries, before they are brought together for spread and skewness
NAMED = 5  # of the lowest rows, where more decide a mean
MOSTLY = 0.5  # rows decide a mean when they make up half of its power sum


def mean_and_error(sums: Sums, score: int) -> tuple[float, float]:
    """Weighted mean of a score and its standard error."""
    total, total2, square2 = sums.score[score].tolist()
    mean = total / sums.weight
    variance = square2 - 2.0 * mean * total2 + mean * mean * sums.weight2
    small = sums.n_eff / (sums.n_eff - 1.0) if sums.n_eff > 1.0 + 1e-9 else math.nan
    return mean, math.sqrt(max(variance, 0.0) * small) / sums.weight


def scores(tally: Tally) -> dict[str, Reading]:
    """Log loss, Brier, spherical, correct picks, perplexity and, for two classes, half Brier and AUC."""
    s, level = tally.sums, tally.plan.level
    loss, loss_error = mean_and_error(s, 0)
    log_loss = around(max(loss, 0.0), loss_error, level, (0.0, np.inf))
    if s.zeros:
        log_loss = Reading(np.inf, reason=_zeros(s))
    low, high = (None if x is None else exponential(x) for x in (log_loss.low, log_loss.high))
    perplexity = Reading(exponential(log_loss), low, high, log_loss.method, log_loss.reason)
    found = {"log_loss": log_loss}
    if tally.measurable:
        brier, brier_error = mean_and_error(s, 1)
        found["brier"] = around(brier, brier_error, level, (0.0, 2.0))
        if tally.k == 2:
            found["half_brier"] = around(brier / 2.0, brier_error / 2.0, level, (0.0, 1.0))
        spherical, spherical_error = mean_and_error(s, 2)
        found["spherical"] = around(spherical, spherical_error, level, (0.0, 1.0))
        correct = float(frequencies(tally)[1]) if tally.picks_given else mean_and_error(s, 3)[0]
        found["prediction_accuracy"] = Reading(correct, *wilson(correct, s.n_eff, level), WILSON)
    found["perplexity"] = perplexity
    if tally.measurable and tally.k == 2:
        found["auc"] = auc(tally)
    return found


def baseline(tally: Tally) -> dict[str, float]:
    """The scores of always forecasting the observed class frequencies."""
    if not tally.measurable:
        return {}
    prior = frequencies(tally)
    entropy = -float(prior @ np.log(np.where(prior > 0.0, prior, 1.0)))
    square = float(prior @ prior)
    scores = {"log_loss": entropy + 0.0, "brier": 1.0 - square, "spherical": 1.0 - math.sqrt(square)}
    if tally.k == 2:
        scores["half_brier"] = scores["brier"] / 2.0
    return {**scores, "prediction_accuracy": float(prior[1] if tally.picks_given else prior.max())}


def frequencies(tally: Tally) -> Floats:
    """Weighted class frequencies of the outcomes."""
    by_class = tally.sums.by_class[:, 0]
    share: Floats = by_class / by_class.sum()
    return share


def skill(tally: Tally, reference: Mapping[str, float]) -> dict[str, Reading]:
    """1 − loss ÷ loss of the base rate, `reference`: 0 is no better than the base rate, 1 is perfect."""
    if not tally.measurable:
        return {}
    s, prior, level = tally.sums, frequencies(tally), tally.plan.level
    # How one outcome of each class moves the loss of the base rate, up to a constant.
    moves = {
        "log": -np.log(np.where(prior > 0.0, prior, 1.0)),
        "brier": np.where(prior > 0.0, 2.0 * (1.0 - reference["brier"]) - 2.0 * prior + reference["brier"], 0.0),
    }
    found = {}
    for name, score, column, base in (("log", 0, 3, reference["log_loss"]), ("brier", 1, 5, reference["brier"])):
        if base < 1e-100:
            found[name] = undefined("one outcome only: the base rate has no loss to compare with")
            continue
        if name == "log" and s.zeros:
            found[name] = Reading(-np.inf, reason="infinite: no interval")
            continue
        # 1 − L/U varies as −(x − L)/U + (L/U²)(u − U).
        total, total2, square2 = s.score[score].tolist()
        loss, u = total / s.weight, moves[name]
        a, b = -1.0 / base, loss / base**2
        by_class, squares = (u @ s.by_class).tolist(), float(u * u @ s.by_class[:, 1])
        constant = -a * loss - b * base
        linear = a * total2 + b * by_class[1]
        square = a * a * square2 + 2.0 * a * b * by_class[column] + b * b * squares
        variance = square + 2.0 * constant * linear + constant * constant * s.weight2
        found[name] = around(1.0 - loss / base, math.sqrt(max(variance, 0.0)) / s.weight, level, (-np.inf, 1.0))
    return found


def auc(tally: Tally) -> Reading:
    """Area under the ROC curve with DeLong's interval; ties count half."""
    rows = tally.every_row
    if rows is not None and len(rows) <= EXACT_AUC_ROWS and rows.outcomes is not None:
        score, y, mass = _ranked(rows)
        first = np.flatnonzero(np.concatenate([[True], score[1:] != score[:-1]])[: len(score)])
        events = np.add.reduceat(mass * y, first) if len(first) else mass
        others = np.add.reduceat(mass - mass * y, first) if len(first) else mass
    else:
        h = tally.classwise[1]
        events = h.true.astype(float) if h.true_weight is None else h.true_weight
        others = (h.all if h.all_weight is None else h.all_weight) - events
    return _auc(events, others, tally)


def _ranked(f: Forecasts) -> tuple[NDArray[Any], NDArray[Any], Floats]:
    """Something that grows with the forecast of the event, whether the event happened, and the mass, in that order."""
    yes = np.equal(f.outcomes, 1)  # type: ignore[arg-type]
    if f.weights is None and f.counts is None:
        # Bits of floats that are not negative grow with them, so they can be sorted with the outcome in one number.
        keys = np.asarray(f.positive + 0.0, dtype=np.float64).view(np.uint64) << np.uint64(1)
        keys |= yes
        keys.sort()
        return keys >> np.uint64(1), (keys & np.uint64(1)).astype(np.float64), np.ones(len(keys))
    order = np.argsort(f.positive, kind="stable")
    return f.positive[order], yes[order], f.mass[order]


def _auc(events: Floats, others: Floats, tally: Tally) -> Reading:
    p, n = events.sum(), others.sum()
    if not (p > 0.0 and n > 0.0):
        return undefined("one outcome only: nothing to rank")
    below = (np.cumsum(others) - others / 2.0) / n
    above = 1.0 - (np.cumsum(events) - events / 2.0) / p
    # Sums of products and not @: threads of a BLAS cost more here than they save.
    area = float((events * below).sum() / p)
    by_class = tally.sums.by_class
    eff = by_class[:, 0] ** 2 / np.maximum(by_class[:, 1], np.finfo(float).tiny)
    of_events = float((events * below**2).sum() / p) - area**2
    of_others = float((others * above**2).sum() / n) - area**2
    variance = of_events / max(eff[1] - 1.0, 1.0) + of_others / max(eff[0] - 1.0, 1.0)
    if variance <= 1e-15 and (area < 1e-9 or area > 1.0 - 1e-9):  # no pair is in the other order: nothing varies
        return Reading(area, *wilson(area, float(eff.min()), tally.plan.level), f"{WILSON}, of the rarer outcome")
    return around(area, float(np.sqrt(max(variance, 0.0))), tally.plan.level, (0.0, 1.0), "DeLong")


@dataclass(frozen=True)
class Entries:
    """Realised probabilities by cell, floored as the plan says: weights, and sums of p, ln p and p^(−2/3)."""

    cells: NDArray[np.int64]
    rows: NDArray[np.int64]
    weight: Floats
    log: Floats  # the mean logarithm
    sums: Floats  # (3, cells) Σw p, Σw ln p, Σw p^(−2/3)

    @classmethod
    def of(cls, h: Histogram, grid: Grid, floor: float = 0.0, ceiling: float = 1.0) -> Entries:
        (cells, rows), sums = true_cells(h)
        weight, sums = sums[0], sums[1:]
        if len(cells) and cells[0] == 0:
            sums[1:, 0] = -np.inf, np.inf
        if floor > 0.0:
            beyond = cells.searchsorted(_cell(grid, floor))
            sums[:, :beyond] = _floored((floor,)) * weight[:beyond]
        if ceiling < 1.0:
            beyond = cells.searchsorted(_cell(grid, ceiling), "right")
            sums[:, beyond:] = _floored((ceiling,)) * weight[beyond:]
        return cls(cells, rows, weight, sums[1] / weight, sums)

    def means(self) -> dict[str, float]:
        means = _means(self.sums.sum(axis=1) / self.weight.sum())
        return dict(zip(MEANS, map(float, means), strict=True))

    def profile(self) -> Floats:
        """ln P_r for all r, from cell means (to about 1e-7; exact sums are used where there is no floor)."""
        total = self.weight.sum()
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            terms = np.log(self.weight / total)[:, None] + np.where(R == 0.0, 0.0, self.log[:, None] * R)
            peak = np.max(np.where(np.isfinite(terms), terms, -np.inf), axis=0)
            powers = (peak + np.log(np.exp(terms - peak).sum(axis=0))) / DIVISOR
            powers = np.where((R < 0.0) & np.isinf(self.log).any(), -np.inf, powers)
            found: Floats = np.where(R == 0.0, self.weight @ self.log / total, powers)
        found[list(AT.values())] = np.log(np.maximum(list(self.means().values()), 0.0) + 0.0)
        return found


def _zeros(s: Sums) -> str:
    return f"{s.zeros:,} {'outcome' if s.zeros == 1 else 'outcomes'} had probability 0: no interval"


def coarse_places(log: Floats) -> Floats:
    """A number for each of ascending logarithms, the same for those that may be taken together: none below −10."""
    return np.where(log < -10.0, np.arange(len(log)) - len(log), np.floor(log * 64.0) + 1000.0)


@lru_cache(maxsize=64)
def _cell(grid: Grid, limit: float) -> int:
    return grid.atom(limit) if 0.0 < limit < 1.0 else (0 if limit <= 0.0 else len(grid.edges))


@dataclass(frozen=True)
class Profile:
    """The reported risk profile with intervals (theory section 4.1b)."""

    tally: Tally

    @cached_property
    def entries(self) -> Entries:
        floor, ceiling = self.tally.plan.limits
        return Entries.of(self.tally.binned, self.tally.grid, floor, ceiling)

    @cached_property
    def log_values(self) -> Floats:
        """ln P_r."""
        s = self.tally.sums
        if self.tally.plan.limits != (0.0, 1.0):
            return self.entries.profile()
        values: Floats = (s.log_powers - math.log(s.weight)) / DIVISOR
        values[ZERO] = -s.score[0, 0] / s.weight
        if s.zeros:
            values[: ZERO + 1] = -np.inf
        return np.minimum(values, 0.0) if values.max() < 1e-9 else values

    @cached_property
    def values(self) -> Floats:
        return np.exp(self.log_values)

    @cached_property
    def coarse(self) -> tuple[Floats, Floats]:
        """Weights and mean logarithms of entries by cell, cells above 2^-14 brought together in larger ones.

        Spread and skewness do not need the fine cells; the lowest entries, which decide them, keep theirs.
        """
        e = self.entries
        if len(e.log) < COARSE_ABOVE:
            return e.weight, e.log
        weight, log = e.weight, e.log  # entries ascend
        place = coarse_places(log)
        first = np.flatnonzero(np.concatenate([[True], place[1:] != place[:-1]]))
        total = np.add.reduceat(weight, first)
        with np.errstate(invalid="ignore"):
            return total, np.add.reduceat(weight * log, first) / total

    @cached_property
    def relative_moments(self) -> tuple[Floats, Floats]:
        """Standard error ÷ mean, and skewness, of p^r (of ln p, not divided, for r = 0)."""
        weight, log = self.coarse
        share, n = weight / weight.sum(), self.tally.sums.n_eff
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            # The powers of p^(1/9), and of its inverse: the largest p^r, r < 0, becomes 1.
            down, up = (power_moments(np.exp(x / 9.0), share, ZERO) for x in (log.min() - log, log))
            of_log = power_moments(log, share, 1)
            mean, variance, cube = np.concatenate([down[:, ::-1], of_log, up], axis=1)
            skewness = cube / variance**1.5
            mean[ZERO] = 1.0
            error = np.sqrt(variance / (n - 1.0)) / mean if n > 1.0 + 1e-9 else np.full(len(R), np.nan)
        if self.tally.plan.limits == (0.0, 1.0):
            error[ZERO] = mean_and_error(self.tally.sums, 0)[1]  # that of the log loss, whose exponential it is
        return error, np.where(variance > 0.0, skewness, 0.0)

    @cached_property
    def tail(self) -> tuple[Floats, Floats]:
        """Share of Σ p^r that the lowest row holds, and the Hill index of p^r from the √n lowest, for r < 0."""
        e, s, r = self.entries, self.tally.sums, R[:ZERO]
        lowest = math.isqrt(s.rows)
        rows, logs = e.rows[: lowest + 1], e.log[: lowest + 1]  # entries ascend
        before = rows.cumsum() - rows
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            next_log = logs[before.searchsorted(lowest, side="right") - 1]
            held = slice(before.searchsorted(lowest))  # cells that hold the lowest
            last, grid = held.stop - 1, self.tally.grid
            if grid.is_wide(int(e.cells[last])):  # entries that cannot be told apart: take all below its end
                lowest = int(before[last] + rows[last])
                next_log = np.log(grid.edges[e.cells[last] + 1])
            within = np.minimum(lowest - before[held], rows[held])
            spacing = next_log - float((within * logs[held]).sum()) / max(lowest, 1)
            index = -1.0 / (r * spacing) if spacing > 0.0 else np.full(ZERO, np.inf)
            # The row that weighs most is among the lowest cells; with weights it need not be the lowest.
            log = e.log[:LOWEST].copy()
            if self.tally.plan.limits[0] == 0.0 and grid.is_wide(int(e.cells[0])):
                log[0] = np.log(self.tally.lowest[0][0])  # far below the mean of its cell
            row = np.log(e.weight[:LOWEST] / e.rows[:LOWEST])[:, None] + r * log[:, None]
            share = np.exp(row - r * self.log_values[:ZERO]).max(axis=0) / s.weight
        return share, index

    @cached_property
    def failures(self) -> NDArray[np.int64]:
        """For each r: 0, SHORT or NONE."""
        share, index = self.tail
        found = np.zeros(len(R), dtype=np.int64)
        found[:ZERO][(index <= 2.0) | (share >= 0.02)] = SHORT
        found[:ZERO][(index <= 1.5) | (share > 0.05)] = NONE
        return found

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of the intervals; NaN where there is none."""
        level, n = self.tally.plan.level, self.tally.sums.n_eff
        error, skewness = self.relative_moments
        nothing = (self.failures == NONE) | ~np.isfinite(error) | (self.values == 0.0)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            half = quantile(level) * error
            reach = half / SIZE
            spread = np.array([1.0 - reach, 1.0 + reach])
            spread[:, ZERO] = np.exp(-half[ZERO]), np.exp(half[ZERO])
            # For r < 0 the mean of p^r lies above one, and a larger mean is a smaller P.
            below, above = hall(error[:ZERO], skewness[:ZERO], n, level)
            mean = np.exp(R[:ZERO] * self.log_values[:ZERO])
            ends = np.array([mean * (1.0 + above), np.maximum(mean * (1.0 - below), 1.0)])
            limits = self.values * spread
            limits[:, :ZERO] = ends ** (1.0 / R[:ZERO])
        low, high = np.where(nothing, np.nan, np.minimum(np.maximum(limits, 0.0), 1.0))
        return low, high

    def reading(self, name: str) -> Reading:
        at = AT[name]
        value, low, high = float(self.values[at]), float(self.limits[0][at]), float(self.limits[1][at])
        if math.isfinite(low) and math.isfinite(high):
            return Reading(value, low, high, HALL if R[at] < 0.0 else DELTA)
        if self.tally.sums.zeros and value == 0.0:
            return Reading(value, reason=_zeros(self.tally.sums))
        few = self.tally.sums.n_eff <= 1.0 + 1e-9
        return Reading(value, reason="too few rows for an interval" if few else "a few rows decide it: no interval")

    def findings(self) -> tuple[Finding, ...]:
        """Which rows decide robustness, and whether its interval can be trusted."""
        at, found = AT["robustness"], []
        if self.values[at] > 0.0 and self.failures[at] == SHORT:
            message = "a few surprises weigh so much that the interval of the worst-leaning mean is too short"
            found.append(Finding("short_interval", "note", message))
        none = self.values[at] > 0.0 and self.failures[at] == NONE
        decides = self.deciding_rows() if none else None
        if none and decides is None and len(self.tally.lowest) > 1:
            rows = tuple(row for _, row, _ in self.tally.lowest[:NAMED])
            floored = self.floors[FLOORS.index(0.005)]["robustness"]
            message = "a few rows with very low probabilities decide the worst-leaning mean, so it has no interval"
            if f"{floored:.3g}" != f"{self.values[at]:.3g}":
                message += f"; with a floor of 0.005 it is {floored:.3g}, not {self.values[at]:.3g}"
            found.append(Finding("heavy_tail", "warning", message, len(rows), rows))
        if decides is not None and f"{decides[1]:.3g}" != f"{self.values[at]:.3g}":
            rows, without = decides
            one = len(rows) == 1
            message = (
                f"{'one row decides' if one else f'{len(rows)} rows decide'} the worst-leaning mean: without "
                f"{'that row' if one else f'the {len(rows)} worst'} it is {without:.3g}, not {self.values[at]:.3g}"
            )
            found.append(Finding("rows_decide", "warning", message, len(rows), rows))
        return tuple(found)

    @cached_property
    def floors(self) -> list[dict[str, float]]:
        return floors(self, FLOORS)

    @property
    def _alike(self) -> bool:
        """Whether every row is known to be one case of weight one."""
        f = self.tally.held
        return f is not None and f.counts is None and f.weights is None

    def _cells_of_lowest(self) -> NDArray[np.int64]:
        """Of each of the lowest rows, the place of its cell among those with entries."""
        cells, few = self.entries.cells, len(self.tally.lowest)
        if self._alike:  # rows follow one another
            return np.repeat(np.arange(min(few, len(cells))), self.entries.rows[:few])[:few]
        lowest = np.array([p for p, *_ in self.tally.lowest])
        return cells.searchsorted(self.tally.grid.locate(lowest))

    def deciding_rows(self) -> tuple[tuple[int, ...], float] | None:
        """The fewest rows that make up half of Σ p^(−2/3), and robustness without them; None if more than are kept."""
        e, lowest = self.entries, self.tally.lowest
        if not lowest or lowest[0][0] == 0.0 or self.tally.plan.limits[0] > 0.0:
            return None
        power, named = e.sums[2], self._cells_of_lowest()
        cases = e.rows[: named[-1] + 1]
        if self._alike:  # each row is a case; the last cell may hold more of them
            share, unit = 1.0 / cases[named], np.arange(len(lowest))
        else:  # rows of one cell may differ in count and weight: they are taken together, if all of them are named
            cells = named[-1] + (len(lowest) < LOWEST)
            share, unit = np.ones(cells), named
            if not cells:
                return None
        place = named if self._alike else np.arange(len(share))
        part = share * power[place]
        order = np.argsort(-part, kind="stable")  # with weights, the lowest need not be the heaviest
        held, half = np.cumsum(part[order]), MOSTLY * power.sum()
        if held[-1] < half:
            return None
        heaviest = order[: int(np.argmax(held >= half)) + 1]
        # What is left is summed anew: one row may be so large that nothing would be left of a difference.
        left = np.ones(len(power))
        np.subtract.at(left, place[heaviest], share[heaviest])
        left[left < 1e-9] = 0.0
        if not left.any():
            return None
        without = float(((left * power).sum() / (left * e.weight).sum()) ** -1.5)
        rank = {number: i for i, number in enumerate(heaviest.tolist())}
        rows = sorted((rank[u], i) for i, u in enumerate(unit.tolist()) if u in rank)
        return tuple(lowest[i][1] for _, i in rows), min(without, 1.0)


def floors(profile: Profile, levels: tuple[float, ...]) -> list[dict[str, float]]:
    """The three means at each floor (CQ Table 2)."""
    tally = profile.tally
    e = profile.entries if tally.plan.limits == (0.0, 1.0) else Entries.of(tally.binned, tally.grid)
    first = e.cells.searchsorted(_cells(tally.grid, levels)).tolist()
    above = np.array([e.sums[:, i:].sum(axis=1) for i in first]).T
    below = np.array([e.weight[:i].sum() for i in first])
    with np.errstate(invalid="ignore"):
        held = above + np.where(below > 0.0, below * _floored(levels), 0.0)
    means = dict(zip(MEANS, _means(held / e.weight.sum()), strict=True))
    if 0.0 in levels and e is profile.entries:
        for name, at in AT.items():
            means[name][levels.index(0.0)] = profile.values[at]
    rows = zip(levels, *(values.tolist() for values in means.values()), strict=True)
    return [dict(zip(("floor", *MEANS), row, strict=True)) for row in rows]


@lru_cache(maxsize=64)
def _cells(grid: Grid, levels: tuple[float, ...]) -> NDArray[np.int64]:
    return np.array([_cell(grid, level) for level in levels])


@lru_cache(maxsize=16)
def _floored(levels: tuple[float, ...]) -> Floats:
    """(3, levels): what an entry at the floor adds to the sums."""
    with np.errstate(divide="ignore"):
        return np.array([levels, np.log(levels), np.power(levels, -2.0 / 3.0)])


def _means(averages: Floats) -> tuple[Floats, Floats, Floats]:
    """Decisiveness, accuracy and robustness from the averages of p, ln p and p^(−2/3)."""
    arithmetic, log, power = averages
    with np.errstate(divide="ignore"):
        return arithmetic, np.exp(log), power**-1.5
