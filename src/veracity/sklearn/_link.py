"""What a classifier says as probabilities above 0: scores by Platt scaling or a softmax, certainties less certain.

One-versus-one classifiers (SVC, OneVsOneClassifier) give votes, plus squashed sums of their margins that break ties. A
softmax of votes cannot tell a narrow decision from a clear one; that of the margins can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from veracity import calibrators
from veracity.calibrators import Fitted
from veracity.calibrators.floor import Floor
from veracity.inputs import Forecasts
from veracity.types import Array, Floats, Ints

Link = Callable[[Array], Array]
LEAST, MOST = 1e-16, 0.1  # minimum probability, the second times the number of classes
MOST_TIE, UNSEEN = 1.0 / 3.0 + 1e-9, 1e-9  # of a vote and of its distance from that, both with rounding
PSEUDO = 1.0  # cases, of all classes alike, that keep few cases from making scores certain, as Platt's targets do


@dataclass(frozen=True)
class SoftScores:
    """Softmax of scores, or of the margins in votes, in units of `scale`, mapped by `fitted`."""

    scale: float
    fitted: Fitted
    of_votes: bool

    def __call__(self, scores: Array) -> Array:
        return self.fitted(softmax((margins(scores) if self.of_votes else scores) / self.scale, axis=1))


def are_votes(scores: Array) -> bool:
    """Whether these are votes of one class against each other, plus less than 1/3 to break ties."""
    k, votes = scores.shape[1], np.rint(scores)
    return k > 2 and bool((np.abs(scores - votes) <= MOST_TIE).all() and (votes.sum(axis=1) == k * (k - 1) / 2).all())


def margins(votes: Array) -> Array:
    """Return the sums of margins s from which scikit-learn makes votes + s / (3 (|s| + 1)).

    >>> margins(np.array([[2.0 + 4.0 / 15.0, 0.75, 0.0]])).round(9).tolist()
    [[4.0, -3.0, 0.0]]
    """
    ties = votes - np.rint(votes)
    return np.asarray(3.0 * ties / np.maximum(1.0 - 3.0 * np.abs(ties), UNSEEN))


def of_scores(name: str, scores: Array, codes: Ints, weight: Floats | None, classes: tuple[Any, ...]) -> SoftScores:
    """Return the probabilities of decision scores: a softmax, and the map of this name."""
    of_votes = are_votes(scores)
    scores = margins(scores) if of_votes else scores
    scale = float(np.std(scores)) or 1.0
    rows = Forecasts(softmax(scores / scale, axis=1), codes, classes, weights=weight)
    return SoftScores(scale, calibrators.fit(name, rows, **({} if name == "platt" else {"pseudo": PSEUDO})), of_votes)


@dataclass(frozen=True)
class Lifted:
    """Probabilities, those of rows with a 0 not below the floor."""

    floor: Floor

    def __call__(self, p: Array) -> Array:
        certain = (p == 0.0).any(axis=1, keepdims=True)
        return np.where(certain, self.floor(p), p) if certain.any() else p


def of_certainties(p: Array, classes: tuple[Any, ...]) -> Lifted:
    """Return the map that lifts 0 to half of the smallest share that was given, within limits.

    Trees and votes say 0 where they have seen no case, which is not evidence that there is none.
    """
    least = min(max(float(p[p > 0.0].min()) / 2.0, LEAST), MOST / len(classes))
    return Lifted(Floor(classes, minimum=least))


def linked(
    scores: Array,
    codes: Ints,
    weight: Floats | None,
    classes: tuple[Any, ...],
    parts: Sequence[slice],
    *,
    probabilities: bool,
) -> tuple[Link, Array]:
    """Return the link for new scores, and the probabilities of these, each by a link fitted to the other parts.

    Decision scores of two classes go through Platt scaling, of more through a temperature, or through matrix scaling
    where that is clearly better on the other parts. Probabilities are lifted from 0, which new ones may be.
    """
    if probabilities:
        lifted = of_certainties(scores, classes)
        return lifted, lifted(scores)
    k, names = len(classes), ["platt"] if len(classes) == 2 else ["temperature"]
    if k > 2 and len(parts) > 1 and k * (k + 1) <= len(scores):
        names.append("matrix")
    tried = [_out_of_fold(name, scores, codes, weight, classes, parts) for name in names]
    chosen = int(len(names) > 1 and _clearly_better(tried[1], tried[0], codes, weight))
    return of_scores(names[chosen], scores, codes, weight, classes), tried[chosen]


def _out_of_fold(
    name: str, scores: Array, codes: Ints, weight: Floats | None, classes: tuple[Any, ...], parts: Sequence[slice]
) -> Array:
    """Return probabilities of the scores, each by a link fitted to the other parts."""
    p = np.empty(scores.shape)
    for part in parts:
        kept = np.ones(len(scores), bool)
        kept[part] = len(parts) == 1
        link = of_scores(name, scores[kept], codes[kept], None if weight is None else weight[kept], classes)
        p[part] = link(scores[part])
    return p


def _clearly_better(more: Array, fewer: Array, codes: Ints, weight: Floats | None) -> bool:
    """Whether the probabilities of a link with more numbers have a log loss lower by more than its standard error."""
    rows, share = np.arange(len(codes)), np.full(len(codes), 1.0) if weight is None else weight
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.log(more[rows, codes]) - np.log(fewer[rows, codes])
    share = share / share.sum()
    mean = float(share @ gain)
    return bool(mean > np.sqrt(share**2 @ (gain - mean) ** 2))
