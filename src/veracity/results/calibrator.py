"""`calibrate`: a map from stated to better probabilities, fitted on labelled forecasts and ready for new ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import fill
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from veracity import calibrators
from veracity.calibrators import Fitted
from veracity.estimate.calibration.careful_correction import CAUTION
from veracity.estimate.calibration.remedies import best_map
from veracity.estimate.loss.one_map import gain_of, others
from veracity.estimate.loss.recalibration import fit_member
from veracity.inputs import without_outcomes
from veracity.kernels.blas import one_blas_thread, section
from veracity.progress import tracked, working
from veracity.records.fix import Fix
from veracity.records.reading import Reading, unknown
from veracity.records.sections import Gain
from veracity.results.assess import Assessments, assess, assessment
from veracity.results.assessment import Assessment
from veracity.state.plan import Plan
from veracity.state.tally import Tally
from veracity.types import Array
from veracity.words import calibrator as described
from veracity.words import few_for_a_map, nearly_ruled_out

WIDE = 100  # columns of what is printed
ADVISED, BEST, IDENTITY = "advised", "best", "identity"
CAREFUL, CROSS_FITTED = "likelihood of a careful step, on new cases", "paired differences, cross-fitted"
NO_GAIN = "no gain in log loss can be stated"
FROM_JSON = (
    "this calibrator was read from a map, which does not hold this\n  fit it again:  vc.calibrate(y_true, y_proba)"
)


@dataclass(frozen=True, eq=False, repr=False)
class Calibrator:
    """A fitted map from probabilities to better ones.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> log_odds = rng.normal(0, 1.2, 2000)
    >>> y, p = rng.random(2000) < 1 / (1 + np.exp(-log_odds)), 1 / (1 + np.exp(-2 * log_odds))
    >>> k = calibrate(y, p)
    >>> k.method, k.predict([0.1, 0.9]).round(2).tolist()
    ('platt', [0.26, 0.76])
    """

    fitted: Fitted
    fix: Fix | None = None  # the advice, where the map is the advised one
    source: Assessment | None = None  # of the forecasts that it was fitted on; None where it was read from JSON
    caution: float = CAUTION

    @property
    def method(self) -> str:
        """Name of the map; "identity" where no correction is advised."""
        return self.fitted.name

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes, in the order of the columns of `predict`."""
        return self.fitted.classes

    @property
    def reason(self) -> str | None:
        """Why no correction, or one without a stated gain, is advised."""
        return None if self.fix is None else self.fix.reason

    @property
    def gain(self) -> Reading:
        """What the map takes off the log loss of new cases, with its interval: the gain of the answer."""
        gain = self._gain
        if self.source is None or gain is None or gain.gain is None:
            return unknown(FROM_JSON.partition("\n")[0] if self.source is None else self.reason or NO_GAIN)
        return Reading(gain.gain, gain.low, gain.high, CROSS_FITTED if self.fix is None else CAREFUL)

    @section
    def _gain(self) -> Gain | None:
        if self.fix is not None:
            return self.fix.log
        if self.source is None:
            return None
        return gain_of(self.source._shared.recalibration, self.method, self.source.level)

    @one_blas_thread
    def predict(self, y_proba: ArrayLike, *, labels: Sequence[Any] | None = None) -> Array:
        """Return better probabilities for new forecasts, in the shape of `y_proba`.

        Parameters
        ----------
        y_proba : array-like of shape (n,) or (n, k)
            Probability of the second of two classes, or of each class, in the order of `classes`.
        labels : sequence of length k, optional
            Class of each column, where their order is another; the columns of the result have the same order.
        """
        named = None if labels is None else tuple(labels)
        if named is not None and sorted(map(str, named)) != sorted(map(str, self.classes)):
            ours, theirs = (", ".join(map(str, names)) for names in (self.classes, named))
            raise ValueError(f"labels: {theirs}; this calibrator was fitted for the classes {ours}")
        forecasts = without_outcomes(y_proba, self.classes if named is None else named, "this calibrator")
        mapped = calibrators.mapped_rows(self.fitted, forecasts)
        return np.asarray(mapped[:, 1]) if forecasts.scores.ndim == 1 else mapped

    @section
    def assessment(self) -> Assessment:
        """The assessment of mapped forecasts, each by a map that was chosen and fitted without its fold."""
        if self.source is None:
            raise AttributeError(FROM_JSON)
        recalibration = self.source._shared.recalibration
        if recalibration is None:
            raise ValueError("all cases belong together: none are left to judge a map that was fitted on the others")
        rows, split, plan = recalibration.rows, recalibration.folds, self._plan
        mapped, parts = np.empty((len(split.row), rows.k)), rows.take(split.row)
        for fold in tracked("assessing out of fold", split.used, len(split.used)):
            rest, here = others(recalibration, fold), np.flatnonzero(split.fold == fold)
            if self.fix is None:
                fitted = fit_member(self.method, rest)
            else:
                fitted = _advised(assessment(Tally.of(rest, plan=plan)), self.caution)[0]
            try:
                mapped[here] = calibrators.mapped_rows(fitted, parts.take(here))
            except ValueError as problem:
                raise ValueError(f"{self.method} cannot be judged on cases it was not fitted to: {problem}") from None
        calibrated = replace(parts, probabilities=mapped, log_realised=None, counts=split.copies)
        return assessment(Tally.of(calibrated, plan=plan))

    @property
    def _plan(self) -> Plan:
        assert self.source is not None
        return Plan(level=self.source.level)

    def to_json(self) -> str:
        """Return the map as JSON: the file of `veracity calibrate fit` that `veracity calibrate apply` reads."""
        return self.fitted.to_json()

    @classmethod
    def from_json(cls, text: str) -> Calibrator:
        """Return the calibrator of a map that `to_json` or `veracity calibrate fit` wrote."""
        return cls(calibrators.from_json(text))

    def __repr__(self) -> str:
        cases = None if self.source is None else self.source.n
        known = [] if self.source is None else warnings(self.fitted, self.source._counted)
        lines = [described(self.fitted.text, self.fix, self._gain, cases), *(f"  {text}." for text in known)]
        return "\n".join(fill(line, WIDE, subsequent_indent="  ") for line in lines)


def warnings(fitted: Fitted, tally: Tally) -> list[str]:
    """Return what to know about a map beside its parameters: few cases, and outcomes that it nearly rules out again."""
    texts = [few_for_a_map(tally.cases)] if fitted.needs_labels else []
    zero = np.flatnonzero(tally.rows.realised == 0.0) if tally.sums.zeros else ()
    if len(zero):
        rows = tally.rows.take(zero)
        given = calibrators.mapped_rows(fitted, rows)[np.arange(len(zero)), rows.observed]
        low = given * tally.cases < 1.0  # so that none was to be expected
        texts.append(nearly_ruled_out(int(rows.copies[low].sum()), float(given.max(where=low, initial=0.0))))
    return [text for text in texts if text]


def calibrate(
    y_true: Any,
    y_proba: Any = None,
    *,
    method: str = ADVISED,
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    labels: Sequence[Any] | None = None,
    pos_label: object = None,
    clusters: ArrayLike | None = None,
    time: ArrayLike | None = None,
    level: float = 0.95,
    **reading: Any,
) -> Calibrator:
    """Fit a map from stated to better probabilities on labelled forecasts.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), `Forecasts`, `Tally` or data frame
        Outcomes, as in `assess`. A frame holds outcomes and forecasts, and takes the reading options of `assess`.
    y_proba : array-like of shape (n,) or (n, k)
        Probability of the second class (the event) in each case, or of each class, in the order of `labels`.
    method : str, default "advised"
        "advised" is the fix of the answer, with a careful step where that is safer; nothing is changed where none is
        advised, and `reason` says why. "best" is the map with the largest cross-validated gain, "platt", "isotonic",
        "temperature", "beta", … the map of that name; both are fitted in full.
    sample_weight : array-like of shape (n,), optional
        Importance of each case; only ratios matter.
    counts : array-like of int, shape (n,), optional
        Number of identical cases that each row stands for.
    labels : sequence of length k, optional
        Class of each column of `y_proba`. Default: the sorted distinct labels, or the order of an ordered categorical.
    pos_label : label, optional
        The event, where `y_proba` has one column.
    clusters : array-like of shape (n,), optional
        Cases with one value depend on each other. Excludes `time`.
    time : array-like of shape (n,), optional
        When each case took place. Excludes `clusters`.
    level : float, default 0.95
        Level of the interval of the gain.

    Returns
    -------
    Calibrator
        With `.predict(p)`, `.method`, `.gain`, `.assessment` (out of fold), `.to_json()`; it can be pickled.

    Examples
    --------
    >>> calibrate([0, 1, 1, 0] * 5, [0.2, 0.7, 0.9, 0.4] * 5)
    Identity, fitted on 20 cases: no correction is advised (no fault was found), so probabilities stay
      as they are.
    """
    check_method(method)
    columns = {"sample_weight": sample_weight, "counts": counts, "labels": labels, "pos_label": pos_label}
    columns |= {"clusters": clusters, "time": time}
    given: dict[str, Any] = {name: value for name, value in columns.items() if value is not None}
    a = assess(y_true, y_proba=y_proba, level=level, **given, **reading)
    if isinstance(a, Assessments):
        raise ValueError(
            f"{len(a)} models, {', '.join(map(str, a.models))}; a calibrator belongs to one\n"
            "  choose its columns:  positive_proba=…   or   proba=…   or its rows:  where=…"
        )
    return calibrator(a, method)


@one_blas_thread
@working("calibrating")
def calibrator(a: Assessment, method: str = ADVISED, caution: float = CAUTION) -> Calibrator:
    """Return the calibrator of the forecasts that were assessed.

    caution  standard errors by which the step of the advised correction is shortened
    """
    tally, unjudged = a._counted, a._shared.unmapped
    if unjudged:
        raise ValueError(f"no map can be fitted: {unjudged}")
    if method == ADVISED:
        return Calibrator(*_advised(a, caution), a, caution)
    return Calibrator(named(method, tally), None, a)


def named(method: str, tally: Tally) -> Fitted:
    """Return the map of that name, or "best", fitted in full."""
    if method != BEST:
        return calibrators.fit(method, tally.rows)
    best = best_map(tally.rows, clusters=tally.dependent(tally.rows), time=tally.rows.time)
    if best is None:
        raise ValueError("no map lowers the log loss of rows it was not fitted on; nothing was fitted")
    return best


def _advised(a: Assessment, caution: float) -> tuple[Fitted, Fix]:
    """Return the map that is advised with this caution, and the advice."""
    advice = a._advised if caution == CAUTION else a._advised_with(caution)
    fitted = calibrators.fit(IDENTITY, a._counted.rows) if advice.fitted is None else advice.fitted
    return fitted, advice.fix


def check_method(method: object) -> None:
    """Refuse a method that is none."""
    choices = [ADVISED, BEST, *calibrators.names()]
    if method not in choices:
        raise ValueError(f"method: {method!r:.80} is not one of {', '.join(choices)}")
