"""Paired differences between models: which is better, by how much, and which cannot be told apart."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.formulas import differences as formulas
from veracity.inputs.row_numbers import decoded, file_of
from veracity.records import findings_of_results as of_results
from veracity.records.comparison import CasesNeeded, Deciding, DecidingRow, Differences, PairDifference
from veracity.records.findings import Finding
from veracity.state.clusters import CLUSTER, ClusterSums
from veracity.state.pairs import EXTREMES, Extremes, Moments, pairs_of
from veracity.state.sums import squared_deviations
from veracity.types import Floats

FEWEST_CLUSTERS = 10
FEWEST_TIMES = 10
PERSISTENT = 0.7  # autocorrelation above which an interval in time is too short
GAP = 1.5  # times the usual step from which neighbours in time have a gap between them
NORMAL = 1.96  # half-width at 95 % in standard errors
SAME = "the two give every case the same"
FEW = "one case: no interval"
SHORT = "no more than fits to so many cases fall short by, so nothing is left to test"


@dataclass(frozen=True)
class Dependence:
    """How cases depend on each other: not at all, within clusters, or in time.

    lags     Bartlett weights of so many lags instead of cosines
    horizon  forecasts are made so many steps ahead: Diebold–Mariano
    """

    kind: str | None = None
    lags: int | None = None
    horizon: int | None = None
    name: str = ""  # of the column
    dashes: str = ""  # "--" where options were typed

    @property
    def called(self) -> str:
        """How messages call the column that was given."""
        return f"{self.dashes}{self.kind} {self.name}".strip()

    def option(self, name: str, value: str) -> str:
        """Return an option as it is written: --time COL, or time="COL"."""
        return f"--{name} {shlex.quote(value)}" if self.dashes else f'{name}="{value}"'

    def error(self, u: Floats) -> tuple[Floats, float]:
        """Return standard errors from influences by key, in the order of keys, and degrees of freedom."""
        if self.kind == CLUSTER:
            return formulas.cluster_error(u), len(u) - 1.0
        if self.horizon is not None:
            plain = formulas.horizon_error(u, self.horizon)
            return np.where(np.isnan(plain), formulas.bartlett_error(u, self.horizon - 1), plain), len(u) - 1.0
        if self.lags is not None:
            return formulas.bartlett_error(u, self.lags), math.inf
        return formulas.cosine_error(u)

    def check(self, keyed: ClusterSums | None) -> None:
        """Refuse too few clusters or times."""
        if keyed is None:
            return
        clustered = self.kind == CLUSTER
        n, least = len(keyed), FEWEST_CLUSTERS if clustered else FEWEST_TIMES
        if n < least:
            what = "clusters; intervals need" if clustered else "different times; intervals in time need"
            leave = f"leave {self.dashes}{'cluster' if clustered else 'time'} out, or name a finer column"
            raise ValueError(f"{self.called}: {n} {what} at least {least}\n  {leave}")

    def method(self, keyed: ClusterSums | None, paired: str = "paired ") -> str:
        """Return how intervals are made, in words; of means that are no differences, `paired` is empty."""
        if keyed is None:
            return f"{paired}t, independent cases"
        n = len(keyed)
        if self.kind == CLUSTER:
            return f"{paired}t, {n:,} clusters"
        if self.horizon is not None:
            return f"Diebold–Mariano, horizon {self.horizon}, corrected by Harvey, Leybourne and Newbold"
        if self.lags is not None:
            return f"{paired}z in time, Bartlett weights of {self.lags} lags"
        return f"{paired}t in time, {formulas.number_of_cosines(n)} equally weighted cosines"


def findings_of_time(keyed: ClusterSums | None, dependence: Dependence, u: Floats | None) -> tuple[Finding, ...]:
    """Return findings about repeated times, gaps, and differences that persist; u: influences by time."""
    if keyed is None or dependence.kind == CLUSTER:
        return ()
    findings: list[Finding] = []
    time = dependence.name or "time"
    shared = int(keyed.cases[keyed.cases > 1].sum())
    if shared:
        findings.append(of_results.RepeatedTimes(shared, int(keyed.cases.sum()), time=time))
    steps = np.diff(keyed.keys.astype(np.float64))
    gaps = int((steps > GAP * np.median(steps)).sum()) if len(steps) else 0
    if gaps:
        findings.append(of_results.GapsInTime(gaps, len(steps), time=time))
    if u is not None and u.size:
        largest = float(np.max(formulas.first_autocorrelation(u)))
        if largest > PERSISTENT:
            findings.append(of_results.PersistentDifferences(autocorrelation=largest))
    return tuple(findings)


@dataclass(frozen=True, eq=False)
class Test:
    """Mean differences of pairs with their errors."""

    value: Floats
    error: Floats
    df: float
    infinite: NDArray[Any]  # (2, pairs) infinite scores of either model


def tested(moments: Moments, score: int, dependence: Dependence) -> Test:
    """Return the differences of one score, all pairs in order."""
    models = moments.total.shape[1]
    first, second = pairs_of(models)
    sums, weight = moments.pairs[score], moments.weight
    value = sums[:, 0] / weight
    if moments.keyed is None:
        error = np.sqrt(squared_deviations(value, sums[:, 1], sums[:, 2], moments.weight2)) / weight
        df = weight**2 / moments.weight2 - 1.0
    else:
        error, df = dependence.error(influences(moments, score))
        error = np.where(error > 1e-13 * np.abs(value), error, 0.0)
    infinite = moments.infinite[score]
    return Test(value, error, df, np.stack([infinite[first], infinite[second]]))


def influences(moments: Moments, score: int) -> Floats:
    """Return (keys, pairs) influences of clusters or times on the differences of a score."""
    assert moments.keyed is not None
    models = moments.total.shape[1]
    first, second = pairs_of(models)
    combine = np.zeros((models, len(first)))
    combine[first, np.arange(len(first))] += 1.0
    combine[second, np.arange(len(first))] -= 1.0
    return moments.keyed.influences(slice(score * models, (score + 1) * models), combine)


def differences(
    moments: Moments,
    score: int,
    models: Sequence[str],
    dependence: Dependence,
    level: float,
    *,
    reference: str | None = None,
    reason: str = "",
    short: Sequence[tuple[float, float]] | None = None,
) -> Differences:
    """Return the differences of one score with intervals and tests: all pairs, or all against the reference.

    `short` says of each model by how much its mean falls short of the truth, and by how much more it may at 95 %:
    intervals reach so much further.
    """
    missing, unsure = np.zeros((2, len(models))) if short is None else np.array(short).T
    test = tested(moments, score, dependence)
    pairs = [(a, b, i, 1.0) for i, (a, b) in enumerate(zip(*(x.tolist() for x in pairs_of(len(models))), strict=True))]
    if reference is not None:
        at = list(models).index(reference)
        pairs = [(a, b, i, s) if b == at else (b, a, i, -s) for a, b, i, s in pairs if at in (a, b)]
    z, p = np.full(len(pairs), np.nan), np.full(len(pairs), np.nan)
    why = [reason] * len(pairs)
    for row, (a, b, i, sign) in enumerate(pairs):
        why[row] = why[row] or _reason(test, i)
        if why[row]:
            continue
        if test.error[i] > 0.0:
            value = sign * test.value[i]
            left = max(value - missing[b], 0.0) + min(value + missing[a], 0.0) if short else value
            z[row] = left / math.hypot(test.error[i], unsure[b if value > 0.0 else a] / NORMAL)
        elif test.value[i] != 0.0:
            z[row] = sign * math.copysign(math.inf, test.value[i])
        p[row] = 1.0 if np.isnan(z[row]) else float(formulas.two_sided(z[row], test.df))
    adjusted = formulas.holm(p)
    half = formulas.half_width(level, test.df) if test.df > 0.0 else math.nan
    entries = []
    for row, (a, b, i, sign) in enumerate(pairs):
        value, error = sign * float(test.value[i]) + 0.0, float(test.error[i])
        if why[row]:
            value = math.nan if reason else _infinite(test, i, sign, value)
            entries.append(PairDifference(models[a], models[b], value, None, None, None, None, None, why[row]))
            continue
        note = SAME if math.isnan(z[row]) else SHORT if z[row] == 0.0 and value != 0.0 else None
        low = value - math.hypot(half * error, unsure[b]) - float(missing[b])
        high = value + math.hypot(half * error, unsure[a]) + float(missing[a])
        tests = _known(z[row]), float(p[row]), float(adjusted[row])
        entries.append(PairDifference(models[a], models[b], value, low, high, *tests, note))
    return tuple(entries)


def _known(z: float) -> float | None:
    return None if math.isnan(z) else float(z)


def _reason(test: Test, pair: int) -> str:
    if test.infinite[:, pair].any():
        counts = test.infinite[:, pair]
        return f"infinite in {int(counts.max()):,} {'case' if counts.max() == 1 else 'cases'}: not tested"
    if not test.df > 0.0 or not math.isfinite(float(test.error[pair])):
        return FEW
    return ""


def _infinite(test: Test, pair: int, sign: float, value: float) -> float:
    a, b = test.infinite[:, pair].tolist()
    if not (a or b):
        return value
    return math.nan if a and b else sign * (math.inf if a else -math.inf)


def ranking(
    moments: Moments, score: int, models: Sequence[str], dependence: Dependence, level: float, *, better: str = "lower"
) -> tuple[tuple[str, ...], ...]:
    """Return tiers of models, best first; models of one tier cannot be told from its best (Holm over all pairs).

    Models with infinite scores are last, together: they are not tested.
    """
    means = moments.total[score] / moments.weight * (1.0 if better == "lower" else -1.0)
    infinite = moments.infinite[score] > 0
    order = sorted(np.flatnonzero(~infinite).tolist(), key=lambda i: (means[i], models[i]))
    beaten = {
        frozenset((d.a, d.b))
        for d in differences(moments, score, models, dependence, level)
        if d.p_adjusted is not None and d.p_adjusted < 1.0 - level
    }
    tiers: list[list[str]] = []
    for i in order:
        if tiers and frozenset((tiers[-1][0], models[i])) not in beaten:
            tiers[-1].append(models[i])
        else:
            tiers.append([models[i]])
    last = [models[i] for i in np.flatnonzero(infinite).tolist()]
    return tuple(map(tuple, [*tiers, *([last] if last else [])]))


def cases_needed(
    pairs: Differences, moments: Moments, level: float, difference: float | None = None
) -> tuple[CasesNeeded, ...]:
    """Return for each pair the cases at which its difference, or the given one, is seen with 80 % power."""
    counts = []
    for d in pairs:
        needed: int | None = None
        sought = d.value if difference is None else difference
        if d.z is not None and math.isfinite(d.z) and d.z != 0.0 and sought != 0.0:
            error = d.value / d.z
            needed = math.ceil(formulas.cases_for_power(sought, error, moments.cases, level))
        counts.append(CasesNeeded(d.a, d.b, needed))
    return tuple(counts)


def deciding(
    extremes: Extremes | None,
    pairs: Differences,
    models: Sequence[str],
    moments: Moments,
    classes: Sequence[Any],
    files: Sequence[str] = (),
) -> tuple[Deciding, ...]:
    """Return for each pair the cases that favour the better model most, with the share of the difference so far."""
    first, second = pairs_of(len(models))
    place: Mapping[frozenset[str], int] = {
        frozenset((models[a], models[b])): i for i, (a, b) in enumerate(zip(first, second, strict=True))
    }
    entries = []
    for d in pairs:
        pair = place[frozenset((d.a, d.b))]
        rows: tuple[DecidingRow, ...] = ()
        if extremes is not None and d.value and math.isfinite(d.value):
            sign = 1.0 if models[first[pair]] == d.a else -1.0
            own = extremes.of_pair(pair)
            pull = sign * own.difference * own.weight
            towards = np.argsort(pull if d.value < 0.0 else -pull, kind="stable")
            order = [int(i) for i in towards if pull[i] * d.value > 0.0][:EXTREMES]
            share = np.cumsum(pull[order]) / (d.value * moments.weight)
            rows = tuple(
                DecidingRow(
                    int(decoded(int(own.row[i]), files)),
                    str(classes[own.outcome[i]]) if 0 <= own.outcome[i] < len(classes) else None,
                    sign * float(own.difference[i]),
                    float(so_far),
                    file_of(decoded(int(own.row[i]), files)),
                )
                for i, so_far in zip(order, share.tolist(), strict=True)
            )
        half = next((i + 1 for i, row in enumerate(rows) if row.share >= 0.5), None)
        entries.append(Deciding(d.a, d.b, rows, half))
    return tuple(entries)
