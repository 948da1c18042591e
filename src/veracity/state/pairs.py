"""The mergeable state of a comparison: sums of paired differences, and the same sample of cases of every model.

Cases are known by 64-bit keys. Whatever order the models come in, a case is added as soon as all models have given its
scores; models in columns of one set never wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np

from veracity.inputs import Forecasts
from veracity.state.case_sample import SAMPLED, Sample
from veracity.state.clusters import CLUSTER, TIME, ClusterSums
from veracity.state.plain_bytes import dumps, loads
from veracity.state.sums import plus
from veracity.types import Array, Floats

Scorer = Any  # Forecasts → (n, scores); a function at the top of a module, so that it travels to workers

AT_ONCE = 1 << 22  # differences computed together
WAIT = 1 << 18  # cases that wait before those of other models are looked for
EXTREMES = 20  # cases with the largest differences, either way
MOST_LEVELS = 1_000  # of a group
STORED = (*SAMPLED, "classes", "picks_only", "groups")  # of forecasts


@dataclass(frozen=True, eq=False)
class CaseScores:
    """Scores of cases of one model. Rows that share a case (split outcomes, tokens of an answer) are one."""

    keys: Array
    cases: Array  # number of equal cases
    weight: Floats  # of all of them
    scores: Floats  # (n, scores)
    rows: Array  # numbers that people know
    outcomes: Array
    by: Array | None  # cluster, else time
    groups: Mapping[str, Array] = field(default_factory=dict)

    @classmethod
    def of(cls, f: Forecasts, scores: Floats, by: Array | None) -> CaseScores:
        assert f.case is not None
        keys = f.case
        starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)])
        outcomes = np.full(len(f), -1, np.int64) if f.outcomes is None else f.outcomes.astype(np.int64)
        weight = f.mass
        if len(starts) < len(keys):
            whole = np.add.reduceat(weight, starts)
            scores = np.add.reduceat(scores * weight[:, None], starts, axis=0) / whole[:, None]
            weight = whole
        groups = {name: np.asarray(values)[starts].astype(str) for name, values in f.groups.items()}
        by = None if by is None else by[starts]
        return cls(keys[starts], f.copies[starts], weight, scores, f.numbers[starts], outcomes[starts], by, groups)

    def take(self, index: Any) -> CaseScores:
        arrays = {name: values[index] for name, values in vars(self).items() if name != "groups" and values is not None}
        return replace(self, **arrays, groups={name: values[index] for name, values in self.groups.items()})

    @classmethod
    def concat(cls, parts: Sequence[CaseScores]) -> CaseScores:
        first = parts[0]
        if len(parts) == 1:
            return first
        names = [name for name, values in vars(first).items() if name != "groups" and values is not None]
        groups = {name: np.concatenate([part.groups[name] for part in parts]) for name in first.groups}
        return replace(first, **_joined(parts, names), groups=groups)

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over paired cases.

    total     (scores, models) Σw x over finite x; infinite: how many are not
    pairs     (scores, pairs, 3) Σw d, Σw² d, Σw² d² of differences that are finite; w² is the number of cases times
              the squared weight of one
    """

    cases: int
    weight: float
    weight2: float
    total: Floats
    infinite: Array
    pairs: Floats
    keyed: ClusterSums | None = None

    def __add__(self, other: Moments) -> Moments:
        sums = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self) if f.name != "keyed"}
        return Moments(**sums, keyed=plus(self.keyed, other.keyed))

    @classmethod
    def of(cls, x: Floats, cases: Array, weight: Floats, by: tuple[str, Array] | None) -> Moments:
        """Return the sums of scores x (scores, models, cases)."""
        scores, models, n = x.shape
        first, second = pairs_of(models)
        w2 = weight**2 / np.maximum(cases, 1)
        finite = np.isfinite(x)
        safe = np.where(finite, x, 0.0)
        pairs = np.zeros((scores, len(first), 3))
        step = max(1, AT_ONCE // max(len(first), 1))
        for start in range(0, n, step):
            part = slice(start, start + step)
            w, square = weight[part], w2[part]
            for s in range(scores):
                d = safe[s, first, part] - safe[s, second, part]
                if not finite[s, :, part].all():
                    d[~(finite[s, first, part] & finite[s, second, part])] = 0.0
                pairs[s, :, 0] += d @ w
                pairs[s, :, 1] += d @ square
                pairs[s, :, 2] += np.square(d) @ square
        keyed = None
        if by is not None:
            columns = (safe * weight).reshape(scores * models, n).T
            keyed = ClusterSums.of(*by, cases, weight, columns)
        return cls(
            int(cases.sum()),
            float(weight.sum()),
            float(w2.sum()),
            safe @ weight,
            (~finite * cases).sum(axis=2),
            pairs,
            keyed,
        )


def pairs_of(models: int) -> tuple[Array, Array]:
    """Return the first and the second model of every pair, in order."""
    pairs = np.array(list(combinations(range(models), 2)), dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


@dataclass(frozen=True, eq=False)
class Extremes:
    """Cases with the largest and smallest weighted differences of the first score, pair by pair."""

    pair: Array
    difference: Floats  # of one case
    weight: Floats
    row: Array
    outcome: Array

    @classmethod
    def of(cls, x: Floats, case: CaseScores) -> Extremes:
        """Return those of scores x (models, cases)."""
        parts = []
        for pair, (a, b) in enumerate(zip(*pairs_of(len(x)), strict=True)):
            with np.errstate(invalid="ignore"):
                d = x[a] - x[b]
            known = np.flatnonzero(np.isfinite(d) & (d != 0.0))
            pull = d[known] * case.weight[known]
            if len(known) > 4 * EXTREMES:
                edge = np.argpartition(pull, (EXTREMES, len(pull) - EXTREMES - 1))
                known = known[np.concatenate([edge[: EXTREMES + 1], edge[-EXTREMES - 1 :]])]
            parts.append(
                (np.full(len(known), pair), d[known], case.weight[known], case.rows[known], case.outcomes[known])
            )
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))._fewest()

    def _fewest(self) -> Extremes:
        pull = self.difference * self.weight
        order = np.lexsort([self.row, pull, self.pair])
        pair = self.pair[order]
        first = np.searchsorted(pair, pair, "left")
        last = np.searchsorted(pair, pair, "right")
        place = np.arange(len(pair))
        kept = order[(place - first < EXTREMES) | (last - place <= EXTREMES)]
        return self._take(kept)

    def _take(self, index: Array) -> Extremes:
        return Extremes(**{name: values[index] for name, values in vars(self).items()})

    def __add__(self, other: Extremes) -> Extremes:
        return Extremes(**_joined((self, other), vars(self)))._fewest()

    def of_pair(self, pair: int) -> Extremes:
        """Return those of one pair, the smallest difference first."""
        return self._take(np.flatnonzero(self.pair == pair))


class Pairs:
    """Sums of paired differences of several models, growing in place.

    models   names, in the order of the comparison
    scorer   scores of the rows of forecasts, the first of them the log loss: (n, scores)
    """

    def __init__(self, models: Sequence[str], scorer: Scorer) -> None:
        self.models, self.scorer = tuple(models), scorer
        self.moments: Moments | None = None
        self.groups: dict[str, dict[str, Moments]] = {}
        self.extremes: Extremes | None = None
        self.samples: dict[str, Sample] = {name: Sample() for name in self.models}
        self._waiting: dict[str, list[CaseScores]] = {name: [] for name in self.models}
        self._number = 0
        self.kind: str | None = None
        self.unequal_weights = False  # of a case in different models

    def take(self, forecasts: Iterable[Forecasts]) -> None:
        """Add rows, whose `case` is the key of their case, of any models."""
        for f in forecasts:
            if f.model not in self._waiting or not len(f):
                continue
            by = f.time if f.clusters is None else f.clusters
            self.kind = None if by is None else TIME if f.clusters is None else CLUSTER
            scores = CaseScores.of(f, self.scorer(f), by)
            self._waiting[f.model].append(scores)
            self._number += len(scores)
            self.samples[f.model].add(replace(f, findings=()))
        lengths = {sum(map(len, parts)) for parts in self._waiting.values()}
        if len(lengths) == 1 or self._number > WAIT:
            self.settle(only_equal=self._number <= WAIT)

    def settle(self, only_equal: bool = False) -> None:
        """Add the waiting cases that all models have given."""
        if not all(self._waiting.values()):
            return
        by_model = {name: CaseScores.concat(parts) for name, parts in self._waiting.items()}
        first = next(iter(by_model.values()))
        equal = all(np.array_equal(first.keys, one.keys) for one in by_model.values())
        if only_equal and not equal:
            return
        self._waiting, self._number = {name: [] for name in self.models}, 0
        if equal:
            self._fold(list(by_model.values()))
            return
        common = reduce(np.intersect1d, (one.keys for one in by_model.values()))
        chosen = []
        for name, one in by_model.items():
            order = np.argsort(one.keys, kind="stable")
            place = np.searchsorted(one.keys, common, sorter=order)
            chosen.append(one.take(order[place]))
            left = np.ones(len(one), bool)
            left[order[place]] = False
            if left.any():
                self._waiting[name].append(one.take(left))
        if len(common):
            self._fold(chosen)

    def _fold(self, per_model: list[CaseScores]) -> None:
        first = per_model[0]
        if any(not np.allclose(one.weight, first.weight, rtol=1e-9, atol=0.0) for one in per_model[1:]):
            self.unequal_weights = True
            return
        x = np.stack([one.scores.T for one in per_model], axis=1)  # (scores, models, cases)
        by = None if first.by is None or self.kind is None else (self.kind, first.by)
        self.moments = plus(self.moments, Moments.of(x, first.cases, first.weight, by))
        self.extremes = plus(self.extremes, Extremes.of(x[0], first))
        for column, values in first.groups.items():
            levels, place = np.unique(values, return_inverse=True)
            own = self.groups.setdefault(column, {})
            for i, level in enumerate(levels.tolist()):
                index = np.flatnonzero(place == i)
                keyed = None if by is None else (by[0], by[1][index])
                part = Moments.of(x[:, :, index], first.cases[index], first.weight[index], keyed)
                own[level] = plus(own.get(level), part)
            if len(own) > MOST_LEVELS:
                raise ValueError(f"group {column}: more than {MOST_LEVELS:,} values\n  give a column with fewer")

    def require_equal_weights(self) -> None:
        """Refuse models that give a case different weights."""
        if self.unequal_weights:
            raise ValueError(
                "models give the same cases different weights or counts\n"
                "  a paired comparison needs one weight per case: give the same column to all"
            )

    def merge(self, other: Pairs) -> None:
        """Add another state of the same models."""
        self.kind = self.kind or other.kind
        self.unequal_weights = self.unequal_weights or other.unequal_weights
        self.moments = plus(self.moments, other.moments)
        self.extremes = plus(self.extremes, other.extremes)
        for column, levels in other.groups.items():
            own = self.groups.setdefault(column, {})
            own |= {level: plus(own.get(level), part) for level, part in levels.items()}
        for name in self.models:
            rows = other.samples[name].rows()
            if rows is not None:
                self.samples[name].add(rows, other.samples[name].complete)
            self._waiting[name] += other._waiting[name]
        self._number = sum(len(part) for parts in self._waiting.values() for part in parts)
        self.settle()

    def to_bytes(self) -> bytes:
        """Return the state as bytes that hold no code."""
        rows = {name: sample.rows() for name, sample in self.samples.items()}
        stored = {name: {c: getattr(f, c) for c in STORED} for name, f in rows.items() if f is not None}
        return dumps(
            {
                "kind": self.kind,
                "unequal_weights": self.unequal_weights,
                "moments": self.moments,
                "groups": self.groups,
                "extremes": self.extremes,
                "samples": {name: (columns, self.samples[name].complete) for name, columns in stored.items()},
                "waiting": self._waiting,
            }
        )

    def add_bytes(self, data: bytes) -> None:
        """Add the state that `to_bytes` wrote."""
        content = loads(data)
        other = Pairs(self.models, self.scorer)
        other.kind, other.unequal_weights = content["kind"], content["unequal_weights"]
        other.moments = None if content["moments"] is None else _restored(content["moments"])
        other.groups = {c: {v: _restored(m) for v, m in levels.items()} for c, levels in content["groups"].items()}
        other.extremes = None if content["extremes"] is None else Extremes(**content["extremes"])
        for name, (rows, complete) in content["samples"].items():
            other.samples[name] = Sample(Forecasts(**rows | {"classes": tuple(rows["classes"])}), complete)
        other._waiting = {name: [CaseScores(**part) for part in parts] for name, parts in content["waiting"].items()}
        self.merge(other)


def _joined(parts: Sequence[Any], names: Iterable[str]) -> dict[str, Array]:
    return {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}


def _restored(content: dict[str, Any]) -> Moments:
    return Moments(**{**content, "keyed": None if content["keyed"] is None else ClusterSums(**content["keyed"])})
