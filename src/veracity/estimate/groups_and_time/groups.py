"""Groups: the readings of every level, a test that levels differ, means drawn towards each other, and gains."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from veracity.estimate.calibration.calibration_tests import ALPHA, signs
from veracity.estimate.calibration.per_class import residual
from veracity.estimate.calibration.verdict import FEWEST_ROWS
from veracity.estimate.calibration.verdict_of_tally import alpha_of, verdict
from veracity.estimate.comparison.compare import FEWEST_CLUSTERS
from veracity.estimate.comparison.components import Judge, Judged
from veracity.estimate.comparison.dependent import Widening
from veracity.estimate.groups_and_time.group_calibration import GroupScores, group_scores
from veracity.estimate.groups_and_time.stability import LEVEL, SLOPE, aligned
from veracity.estimate.intervals import around
from veracity.estimate.loss.folds import BLOCKS, blocks
from veracity.estimate.loss.losses import ONE_FOLD, error_of
from veracity.estimate.loss.recalibration import Recalibration
from veracity.estimate.means.expected import Expected
from veracity.estimate.means.measured import Measured, spread_ratio, unmeasured
from veracity.estimate.means.reported import NOT_MEASURABLE, Profile
from veracity.estimate.means.scores import mean_and_error, scores
from veracity.formulas.differences import between_groups, holm, influences, shrunk_means
from veracity.inputs import Forecasts
from veracity.inputs.content import Hashes
from veracity.kernels.hashes import SEED, mix
from veracity.measures import BRIER, LOG_LOSS
from veracity.records.reading import Reading, unknown
from veracity.records.sections import NOT_JUDGED, ClassLevel, Level
from veracity.records.stability import Difference, Group, GroupCalibration, GroupShift, PValue
from veracity.records.verdict import Reason
from veracity.state.clusters import CLUSTER
from veracity.state.plan import Plan
from veracity.state.tally import Tally
from veracity.types import Array, Floats, Ints
from veracity.words.verdict import why_not

MOST_CASES = 20_000  # whose labels are permuted
DRAWS = 999
MOST_UNITS = 4096  # clusters with a label or sign of their own
AT_ONCE = 1 << 21  # permuted values held together
DIGITS = 7  # decimals of losses to which equal ones are equal, whatever their sums were rounded to
SHRUNK = "empirical Bayes (DerSimonian–Laird)"
MOST_ROWS, MOST_ENTRIES = 20_000, 1_000_000
MOST_TESTED = 1 << 17  # rows whose calibration is compared between levels
MOST_JUDGED = 50  # levels with a verdict and means of their own, beside the worst and those whose calibration is off
MOST_STEPS = 5  # groups that are taken out one by one
MOST_GROUPS = 1_000  # levels that are compared one by one; smaller ones as one
SLOPES = ("too cautious", "too extreme")  # of residuals that rise, or fall, with the forecast
NOT_COMPARABLE = "forecasts cannot be compared with outcomes"
WIDENED = ("scores", "reported")  # by clusters or times
BRIEF = f"only of the {MOST_JUDGED} largest groups, the worst one and those whose calibration is off"


def group(
    levels: Mapping[str, Tally],
    recalibration: Recalibration | None = None,
    measured: Measured | None = None,
    untested: Reason | None = None,
) -> Group:
    """Return the readings of each level, tests that levels differ in difficulty and calibration, and the worst one.

    `measured` are the measured means of all cases, whose C is that of every level. `untested` says why nothing can be
    tested. The worst level has the largest log loss, shrunk towards the common mean unless the plan says otherwise;
    of those with an infinite one the largest Brier score.
    """
    plan = next(iter(levels.values())).plan if levels else Plan()
    drawn = shrunk(levels, plan.level) if plan.shrink == "auto" else {}
    judge = None if recalibration is None else Judge(recalibration)
    tests = calibration(levels, plan.random_state, untested)
    readings = {name: brief(tally) for name, tally in levels.items()}
    plain = {name: float(one.scores.log_loss) for name, one in readings.items()}
    hardest = _largest({**plain, **{name: float(one) for name, one in drawn.items()}})
    hardest = _largest({name: plain[name] for name in hardest})  # where all are shrunk to one
    hardest = _largest({name: float(readings[name].scores.brier or 0.0) for name in hardest})  # infinite losses
    worst = max(hardest, default=None)
    largest = sorted(levels, key=lambda name: (-levels[name].cases, name))[:MOST_JUDGED]
    off = tests.names if tests is not None else ()
    for name in dict.fromkeys([*largest, *off, *([] if worst is None else [worst])]):
        readings[name] = level(levels[name], len(levels), judge, measured, untested)
    readings = {name: replace(one, shrunk=drawn.get(name)) for name, one in readings.items()}
    harder = None if untested else differ(levels, plan.random_state)
    return Group(readings, harder, tests, worst if len(readings) > 1 else None, alpha_of(len(levels)))


def _largest(losses: Mapping[str, float]) -> list[str]:
    """Return the names of the largest losses; those that differ by rounding are equal."""
    most = max(losses.values(), default=0.0) * (1.0 - 1e-12)
    return [name for name, loss in losses.items() if loss >= most]


def judged_by(judge: Judge | None, tally: Tally) -> Judged | None:
    """Return the rows of a level as the recalibration of all cases judges them; None without anything to judge."""
    if judge is None or not tally.measurable or not tally.sums.rows:
        return None
    return judge.of(tally.few_rows(MOST_ROWS, MOST_ENTRIES))


def brief(tally: Tally) -> Level:
    """Return the scores and the shares of one level, without means and verdict."""
    none, own = unmeasured(BRIEF), scores(tally)
    if tally.by_key is not None and tally.sums.rows:
        own = Widening(tally).section(own, "scores")
    return Level(tally.cases, own, none, none, none, unknown(BRIEF), NOT_JUDGED, event_level(tally))


def whole_level(
    levels: Mapping[str, Tally],
    name: str,
    recalibration: Recalibration | None = None,
    measured: Measured | None = None,
    untested: Reason | None = None,
) -> Level:
    """Return all readings of one level, as `group` gives them of the largest."""
    tally = levels[name]
    drawn = shrunk(levels, tally.plan.level) if tally.plan.shrink == "auto" else {}
    judge = None if recalibration is None else Judge(recalibration)
    return replace(level(tally, len(levels), judge, measured, untested), shrunk=drawn.get(name))


def level(
    tally: Tally,
    among: int = 1,
    judge: Judge | None = None,
    measured: Measured | None = None,
    untested: Reason | None = None,
) -> Level:
    """Return the readings of one level of so many; `untested` says why it has no verdict."""
    profile, judged = Profile(tally), judged_by(judge, tally)
    unmeasurable = why_not(untested) if untested else ONE_FOLD
    means = unmeasured(unmeasurable if tally.measurable else NOT_MEASURABLE)
    if measured is not None and judged is not None:
        means = measured.of_part(tally, judged)
    found_verdict = verdict(tally, among=among, untested=untested)
    readings = Level(
        n=tally.cases,
        scores=scores(tally),
        reported=profile.means(),
        expected=Expected(tally).means(),
        measured=means,
        spread_ratio=spread_ratio(tally, profile, means),
        verdict=found_verdict.word,
        level=event_level(tally),
        gain=gain(tally, judged, tally.plan.level),
        p=found_verdict.p,
    )
    if tally.by_key is None or not tally.sums.rows:
        return readings
    wider = Widening(tally)
    changed = {name: wider.section(getattr(readings, name), name) for name in WIDENED}
    return replace(readings, **changed, measured=wider.by_sums(means))


def event_level(tally: Tally) -> ClassLevel | None:
    """Return predicted and observed share of the event, with its z; None beyond two classes."""
    if tally.k != 2 or not (tally.measurable and tally.sums.rows):
        return None
    return ClassLevel(float(tally.mean_forecast[1]), float(tally.frequencies[1]), residual(tally.classwise[1]))


def calibration(levels: Mapping[str, Tally], seed: int, untested: Reason | None = None) -> GroupCalibration | None:
    """Return the test that calibration differs by level; None where there is one level."""
    used = {name: tally for name, tally in levels.items() if tally.sums.rows}
    if len(used) < 2:
        return None
    if not all(tally.measurable and not tally.shares_only for tally in used.values()):
        return _no_calibration(NOT_COMPARABLE)
    if untested:
        return _no_calibration(why_not(untested))
    ordered = sorted(used, key=lambda name: _held(used[name]), reverse=True)  # the largest first
    rows, group = _together([used[name] for name in ordered])
    if int(rows.copies.sum()) < FEWEST_ROWS:
        return _no_calibration(f"{int(rows.copies.sum())} cases: too few to test, at least {FEWEST_ROWS} needed")
    clusters = Tally.dependent(rows)
    block = blocks(clusters, rows.time, rows.copies, None if clusters is None else rows.row_hashes)
    if block is not None and (number := len(np.unique(block))) < BLOCKS:
        return _no_calibration(f"{number} clusters: too few to test, at least {BLOCKS} needed")
    first = _Tested.of(rows, group, block, seed)
    off = _step_down(first, ordered, rows, group, block, seed)
    off.sort(key=lambda one: (-abs(one.z), one.what))
    shift, shifts = first.scores[LEVEL].shift, None
    if shift is not None and len(ordered) <= MOST_GROUPS:
        sign = -1.0 if first.flipped else 1.0
        shifts = {name: sign * float(shift[ordered.index(name)]) for name in levels if name in used}
    return GroupCalibration(
        PValue(first.scores[LEVEL].p),
        PValue(first.scores[SLOPE].p),
        min(first.adjusted.values()),
        tuple(dict.fromkeys(one.group for one in off)),
        first.scores[LEVEL].method,
        tuple(off),
        shifts,
    )


@dataclass(frozen=True, eq=False)
class _Tested:
    """Scores of groups with the p of level and slope (Holm); `flipped`: the event is the first of two classes."""

    scores: dict[str, GroupScores]
    adjusted: dict[str, float]
    two: bool
    flipped: bool

    @classmethod
    def of(cls, rows: Forecasts, group: Ints, block: Array | None, seed: int) -> _Tested:
        aligned_rows = aligned(rows, group, block)
        scores = group_scores(aligned_rows.cases, aligned_rows.p, aligned_rows.beside, seed)
        adjusted = holm([one.p for one in scores.values()]).tolist()
        return cls(scores, dict(zip(scores, adjusted, strict=True)), aligned_rows.p.ndim == 1, aligned_rows.flipped)

    def off(self, names: Sequence[str]) -> list[GroupShift]:
        """Return the groups that are off by more than chance explains, the farthest first."""
        shifts = []
        for what, one in self.scores.items():
            for g in one.named if self.adjusted[what] <= ALPHA else ():
                if g < len(names) and (g < MOST_GROUPS - 1 or len(names) <= MOST_GROUPS):
                    z = float(one.z[g]) * (-1.0 if what == LEVEL and self.flipped else 1.0)
                    words = (("too low", "too high") if self.two else (None, None)) if what == LEVEL else SLOPES
                    shifts.append(GroupShift(names[g], what, z, words[0] if z > 0.0 else words[1]))
        return sorted(shifts, key=lambda one: (-abs(one.z), one.what))


def _step_down(
    tested: _Tested, ordered: Sequence[str], rows: Forecasts, group: Ints, block: Array | None, seed: int
) -> list[GroupShift]:
    """Return the groups that are off, the others than the farthest as far as they are off without it too.

    One group that is off moves the calibration of all cases together, beside which the others would be off.
    """
    shifts, names = list[GroupShift](), list(ordered)
    named = {one.group for one in tested.off(names)}
    for step in range(MOST_STEPS):
        off = [one for one in tested.off(names) if one.group in named]
        if step == MOST_STEPS - 1 or len(ordered) > MOST_GROUPS:
            return [*shifts, *off]
        shifts += [one for one in off if one.group == off[0].group]
        if not off or len(names) == 2:
            break
        g = names.index(off[0].group)
        kept = np.flatnonzero(group != g)
        names.pop(g)
        rows, group, block = rows.take(kept), group[kept], None if block is None else block[kept]
        group = group - (group > g)
        if int(rows.copies.sum()) < FEWEST_ROWS:
            break
        tested = _Tested.of(rows, group, block, seed)
    return shifts


def _no_calibration(reason: str) -> GroupCalibration:
    return GroupCalibration(PValue(None), PValue(None), None, (), "", reason=reason)


def _together(levels: Sequence[Tally]) -> tuple[Forecasts, Ints]:
    """Return the analysis rows of levels, the largest first, and the number of each row's level.

    Levels beyond the most are one. Of too many rows, every level has the same share of its own.
    """
    k, sizes = levels[0].k, [len(tally.rows) for tally in levels]
    share = min(1.0, MOST_TESTED / sum(sizes), MOST_ENTRIES / (k * sum(sizes)))
    parts = [tally.few_rows(max(1, int(share * n)), MOST_ENTRIES) for tally, n in zip(levels, sizes, strict=True)]
    number = np.minimum(np.repeat(np.arange(len(parts)), [len(part) for part in parts]), MOST_GROUPS - 1)
    return Forecasts.concat([part.precise() for part in parts]), number


def differ(levels: Mapping[str, Tally], seed: int) -> Difference | None:
    """Return the test that levels have the same log loss (Brier score where that is infinite)."""
    used = {name: tally for name, tally in levels.items() if tally.sums.rows}
    used = dict(sorted(used.items(), key=lambda level: _held(level[1])))
    if len(used) < 2:
        return None
    infinite = any(tally.sums.zeros for tally in used.values())
    if infinite and not all(tally.measurable for tally in used.values()):
        return Difference(None, "infinite log losses cannot be compared")
    what = ", Brier score" if infinite else ""
    if all(tally.by_key is not None for tally in used.values()):
        return _dependent(used, 1 if infinite else 0, what, seed)
    if sum(tally.cases for tally in used.values()) <= MOST_CASES and all(t.complete for t in used.values()):
        return _permuted(used, infinite, what, seed)
    return _by_sums(used, infinite, what)


def _held(tally: Tally) -> tuple[float, ...]:
    """Return what a level holds, but for rounding: levels are in an order that does not depend on their names."""
    sums = tally.sums
    return tally.cases, *(float(f"{x:.9g}") for x in (sums.weight, *sums.score.ravel()))


def _by_sums(levels: Mapping[str, Tally], infinite: bool, what: str) -> Difference:
    """Return the χ² test from the sums of the levels."""
    from scipy.special import chdtrc

    estimates = [mean_and_error(tally.sums, 1 if infinite else 0) for tally in levels.values()]
    mean, error = np.array([m for m, _ in estimates]), np.array([e for _, e in estimates])
    weight = np.array([tally.sums.n_eff for tally in levels.values()])
    centre = float(weight @ mean / weight.sum())
    variance = float(weight @ (error**2 * weight + (mean - centre) ** 2) / weight.sum())
    if not variance > 0.0:
        return Difference(1.0, f"χ² test{what}")
    return Difference(float(chdtrc(len(mean) - 1.0, between_groups(mean, weight, variance))), f"χ² test{what}")


def _permuted(levels: Mapping[str, Tally], infinite: bool, what: str, seed: int) -> Difference:
    """Return the test by permuted labels of independent cases."""
    rows = [tally.rows for tally in levels.values()]
    values = [(BRIER if infinite else LOG_LOSS).rows(f)[:, 0] for f in rows]  # type: ignore[misc]
    counts = [f.copies for f in rows]
    x = np.concatenate([np.repeat(v, c) for v, c in zip(values, counts, strict=True)])
    w = np.concatenate([np.repeat(f.mass / np.maximum(c, 1), c) for f, c in zip(rows, counts, strict=True)])
    level = np.repeat(np.arange(len(rows)), [int(c.sum()) for c in counts])
    order = np.lexsort((np.round(w, DIGITS), np.round(x, DIGITS), level))  # whatever the rows are called
    x, w = x[order], w[order]
    return Difference(_by_labels(x, w, level, seed), f"{DRAWS} permutations of labels{what}")


def _dependent(levels: Mapping[str, Tally], score: int, what: str, seed: int) -> Difference:
    """Return the test of clusters or of contiguous blocks of time, from their sums.

    Labels of whole clusters are permuted where nearly every cluster is in one level. Otherwise the deviations of each
    cluster from the common mean change their signs together (Cameron, Gelbach & Miller 2008, the null imposed).
    """
    parts = [tally.by_key.sums for tally in levels.values() if tally.by_key is not None]
    keys, cases, weight = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("keys", "cases", "weight")
    )
    x = np.concatenate([part.values[:, score] for part in parts])
    level = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    of_time = parts[0].kind != CLUSTER
    unit = blocks(None if of_time else keys, keys, cases, None if of_time else _keys(level, cases, weight, x))
    assert unit is not None
    name = "blocks of time" if of_time else "clusters"
    unit = np.unique(unit % MOST_UNITS, return_inverse=True)[1].ravel()  # of very many clusters, groups of clusters
    number = int(unit.max()) + 1
    both, place = np.unique(unit * len(parts) + level, return_inverse=True)
    x, weight = (np.bincount(place.ravel(), values).astype(np.float64) for values in (x, weight))
    if len(both) < 2 * number:
        p = _by_labels(x / weight, weight, both % len(parts), seed)
        return Difference(p, f"{DRAWS} permutations of labels of {name}{what}")
    deviation = np.zeros((number, len(parts)))
    own = x - weight * (x.sum() / weight.sum())
    deviation[both // len(parts), both % len(parts)] = np.where(np.abs(own) > 1e-13 * np.abs(x), own, 0.0)  # rounding
    total = np.bincount(both % len(parts), weight)
    sums = signs(number, DRAWS, np.random.default_rng(seed)) @ deviation
    drawn = (total * (sums / total - sums.sum(axis=1, keepdims=True) / total.sum()) ** 2).sum(axis=1)
    statistic = float(deviation.sum(axis=0) ** 2 @ (1.0 / total))
    reached = float((drawn >= statistic * (1.0 - 1e-9)).sum())
    p = reached / len(drawn) if len(drawn) == 2.0**number else (1.0 + reached) / (1.0 + len(drawn))
    return Difference(p, f"signs of {number:,} {name}{what}")


def _keys(*columns: Array) -> Hashes:
    """Return (n,) 64 bits of what the sums of clusters hold, but for rounding."""
    hashes = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        hashes = mix(mix(hashes * SEED ^ (np.round(column.astype(np.float64), DIGITS) + 0.0).view(np.uint64)))
    return hashes


def _by_labels(x: Floats, w: Floats, level: Ints, seed: int) -> float:
    """Return the p-value of Σ_g W_g (mean_g − mean)² among permuted labels."""
    rng, number = np.random.default_rng(seed), int(level.max()) + 1
    statistic = _statistic(x[None], w[None], level, number)[0]
    if statistic <= 1e-24 * (w @ x**2):  # rounding
        return 1.0
    reached, step = 0, max(1, AT_ONCE // len(x))
    for start in range(0, DRAWS, step):
        size = min(step, DRAWS - start)
        place = rng.permuted(np.broadcast_to(np.arange(len(x)), (size, len(x))), axis=1)
        reached += int((_statistic(x[place], w[place], level, number) >= statistic * (1.0 - 1e-9)).sum())
    return (1.0 + reached) / (1.0 + DRAWS)


def _statistic(x: Floats, w: Floats, level: Ints, number: int) -> Floats:
    """(draws,) Σ_g W_g (mean_g − mean)² of values (draws, n) whose labels are fixed."""
    order = np.argsort(level, kind="stable")
    first = np.searchsorted(level[order], np.arange(number))
    weights = np.add.reduceat(w[:, order], first, axis=1)
    sums = np.add.reduceat((x * w)[:, order], first, axis=1)
    centre = sums.sum(axis=1) / weights.sum(axis=1)
    return np.asarray((weights * (sums / weights - centre[:, None]) ** 2).sum(axis=1))


def shrunk(levels: Mapping[str, Tally], level: float) -> dict[str, Reading]:
    """Return the log loss of each level drawn towards the common mean; none where fewer than three are known."""
    known = {name: tally for name, tally in levels.items() if tally.sums.rows and not tally.sums.zeros}
    losses = {name: mean_and_error(tally.sums, 0) for name, tally in known.items()}
    n = {name: tally.sums.n_eff for name, tally in known.items()}
    enough = [name for name, (_, error) in losses.items() if math.isfinite(error)]
    spread = sum(n[name] * (n[name] - 1.0) * losses[name][1] ** 2 for name in enough)
    pooled = spread / max(sum(n[name] - 1.0 for name in enough), 1.0)  # variance within: that of few cases is unsure
    estimates = {}
    for name, tally in known.items():
        error = math.sqrt(pooled / n[name])
        if tally.by_key is not None and len(tally.by_key.sums) >= FEWEST_CLUSTERS:
            error = Widening(tally).error(0)
        if math.isfinite(error) and error > 0.0:
            estimates[name] = losses[name][0], error
    if len(estimates) < 3:
        return {}
    means, errors = shrunk_means(*(np.array(column) for column in zip(*estimates.values(), strict=True)))
    ends = zip(estimates, means.tolist(), errors.tolist(), strict=True)
    return {name: around(mean, error, level, (0.0, np.inf), SHRUNK) for name, mean, error in ends}


def gain(tally: Tally, judged: Judged | None, level: float) -> Reading | None:
    """Return what the recalibration of all cases saves in a level: mean of its rows' gains, without refits."""
    if judged is None or tally.sums.zeros:
        return None
    rows = judged.rows
    before, after = judged.before_and_after("log")
    with np.errstate(invalid="ignore"):
        values = before - after
    if not np.isfinite(values).all():
        return None
    u = influences(values, rows.mass)
    mean = float(rows.mass @ values / rows.mass.sum())
    return around(mean, error_of(rows, u), level, method="gains of the recalibration of all cases")
