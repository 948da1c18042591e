"""Which of two models is better, and for whom: paired differences over thresholds and over r, with their bands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veracity.estimate.decisions.curves import MARGIN, ranges
from veracity.estimate.decisions.paired import Differences, How
from veracity.estimate.decisions.prevalence import winners
from veracity.formulas.decisions import elementary_loss, half_score
from veracity.formulas.rules import rule
from veracity.inputs import Forecasts
from veracity.records.decisions import Dominance
from veracity.state.tally import PERCENTS
from veracity.types import Array, Floats

R = np.arange(-4, 17) / 8  # −½ … 2: below, a few misses decide
MOST_DISTINCT = 50  # forecasts of two models, up to which all thresholds are looked at


def dominance(
    names: tuple[str, str], a: Forecasts, b: Forecasts, event: int | None, thresholds: tuple[float, ...], how: How
) -> Dominance:
    """Return where one of two models on the same cases is better; `event` is the number of the class to act on.

    Without an event there are no thresholds, and r is that of the whole score.
    """
    c = np.array(sorted({*PERCENTS, *thresholds})) if event is not None else np.zeros(0)
    scored = [_scores(f, event, c) for f in (a, b)]
    known = np.asarray(np.isfinite(np.concatenate(scored)).all(axis=0))
    of_r = known[len(c) :].reshape(-1, len(R))
    known[len(c) :] = np.tile(of_r.all(axis=0), len(of_r))  # r at which half and whole scores are finite
    safe = [np.where(known, x, 0.0) for x in scored]
    differences = Differences.of(a, b, safe[0], safe[1], how)
    reason = differences.dependence.reason
    label = None if event is None else str(a.classes[event])
    parts = np.split(np.arange(len(known)), [len(c), len(c) + (len(R) if event is not None else 0)])
    at, half, whole = (_Curve.of(differences, part[known[part]], i > 0, reason) for i, part in enumerate(parts))
    r = R[known[parts[2]]]
    everywhere = None
    if event is not None and len(a.classes) == 2 and reason is None:
        everywhere = _everywhere(a, b, event, names, how)
    nothing = tuple(np.zeros(0).tolist())
    ends = half.ends() if event is not None else (nothing, nothing, nothing)
    return Dominance(
        a=names[0],
        b=names[1],
        event=label,
        cases=int(differences.dependence.copies.sum()),
        thresholds=tuple(c.tolist()),
        difference=tuple(at.mean.tolist()),
        band=None if reason or event is None else float(at.reach.max(initial=0.0)),
        a_better=ranges(c, at.below),
        b_better=ranges(c, at.above),
        everywhere=everywhere,
        r=tuple(r.tolist()),
        half=ends[0],
        half_low=ends[1],
        half_high=ends[2],
        whole=whole.ends()[0],
        whole_low=whole.ends()[1],
        whole_high=whole.ends()[2],
        r_a_better=ranges(r, half.below) if event is not None else (),
        r_b_better=ranges(r, half.above) if event is not None else (),
        whole_a_better=ranges(r, whole.below),
        whole_b_better=ranges(r, whole.above),
        level=how.level,
        method=differences.dependence.method,
        prevalences=() if event is None else winners(names, a, b, event, how),
        reason=reason,
    )


@dataclass(frozen=True, eq=False)
class _Curve:
    mean: Floats
    reach: Floats

    @classmethod
    def of(cls, whole: Differences, part: Array, studentised: bool, reason: str | None) -> _Curve:
        if not len(part):
            return cls(np.zeros(0), np.zeros(0))
        own = Differences(whole.d[:, part], whole.share, whole.dependence, whole.level, whole.seed)
        if reason:
            mean = own.share @ own.d
            return cls(mean, np.full(len(mean), np.inf))
        return cls(*own.band(studentised=studentised))

    @property
    def below(self) -> Array:
        return np.asarray(self.mean < -self.reach - MARGIN)

    @property
    def above(self) -> Array:
        return np.asarray(self.mean > self.reach + MARGIN)

    def ends(self) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(x.tolist()) for x in (self.mean, self.mean - self.reach, self.mean + self.reach))


def _scores(f: Forecasts, event: int | None, c: Floats) -> Floats:
    """Return (rows, …) elementary losses at c and half scores of the event, where there is one, and whole scores."""
    p, y = f.matrix, f.observed
    columns = []
    if event is not None:
        own, happened = p[:, event], y == event
        columns.append(elementary_loss(own[:, None], happened[:, None], c))
        columns += [half_score(own, happened, float(r))[:, None] for r in R]
    with np.errstate(over="ignore", divide="ignore"):
        columns += [np.asarray(rule(float(r)).score(p, y))[:, None] for r in R]
    return np.concatenate(columns, axis=1)


def _everywhere(a: Forecasts, b: Forecasts, event: int, names: tuple[str, str], how: How) -> str | None:
    """Return the model that is better at every threshold at which the two act differently, of few distinct forecasts.

    Between neighbouring forecasts the difference is linear in the threshold, so that both ends of each stretch tell.
    """
    p, q = a.matrix[:, event], b.matrix[:, event]
    distinct = np.unique(np.concatenate([p, q]))
    distinct = distinct[(distinct > 0.0) & (distinct < 1.0)]
    if len(distinct) > MOST_DISTINCT or not len(distinct):
        return None
    sides = []
    for own, f in ((p, a), (q, b)):
        y = (f.observed == event)[:, None]
        before = np.where(y, (1.0 - distinct) * (own[:, None] < distinct), distinct * (own[:, None] >= distinct))
        sides.append(np.concatenate([elementary_loss(own[:, None], y, distinct), before], axis=1))
    differences = Differences.of(a, b, sides[0], sides[1], how)
    differ = (differences.d != 0.0).any(axis=0)
    if not differ.any():
        return None
    mean, reach = differences.band()
    below, above = (mean < -reach - MARGIN)[differ], (mean > reach + MARGIN)[differ]
    return names[0] if below.all() else names[1] if above.all() else None
