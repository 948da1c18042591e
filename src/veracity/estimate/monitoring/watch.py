"""From forecasts in time to the state of a monitor, one update after another; the state continues where it ended."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veracity.estimate.monitoring.alternatives import MoreClasses, TwoClasses
from veracity.estimate.monitoring.detector import Detector, with_centre
from veracity.estimate.monitoring.reference import (
    Alternatives,
    Days,
    Reference,
    event_variance,
    most_frequent,
    residuals,
)
from veracity.inputs.names import first_line
from veracity.records.monitoring import WEEK, Delay
from veracity.state.plain_bytes import Damaged, dumps_checked, loads_checked
from veracity.types import Array, Floats, Ints

KIND = b"veracity monitor 2\n"
MONDAY = 3  # 1 January 1970, day 0, was a Thursday


@dataclass(frozen=True, eq=False)
class Update:
    """Sums over the cases of one update, and where the evidence stood after it.

    Of two classes predicted, expected and observed are sums of shares of the event, and `variance` that of the last.
    Of more they are sums of ln p of the outcome: as the forecasts expect it of themselves, as the reference does, and
    as it came. `slope` is (Σ u z, Σ w z², Σ w z), u the residuals, z the centred log-odds, of two classes.
    """

    key: int
    n: int
    zeros: int
    predicted: float
    expected: float
    observed: float
    variance: float
    log_loss: float
    expected_log_loss: float
    slope: tuple[float, float, float]
    phi: float
    e_value: float
    evidence: float
    by_class: Floats  # (2, classes with a level of their own): expected and observed numbers


@dataclass(frozen=True, eq=False)
class State:
    """Everything that a monitor knows: `dumps` and `loads` carry it from day to day, bit by bit."""

    classes: tuple[str, ...]
    updates: str
    dates: bool
    reference: Reference | None
    alternatives: Alternatives | None = None
    detector: Detector | None = None
    history: tuple[Update, ...] = ()
    centre: tuple[float, float] = (0.0, 0.0)  # Σwx and Σw of all forecasts so far, where there is no reference

    @property
    def last(self) -> int | None:
        return self.history[-1].key if self.history else None

    def after(self, days: Days) -> State:
        """Return the state after further updates, all of them later than the last."""
        state = self
        for number in range(len(days)):
            state = state._after_one(days.part(number))
        return state

    def _after_one(self, day: Days) -> State:
        count = day.count.astype(np.float64)
        state = self if self.alternatives is not None else replace(self, alternatives=self._first(day, count))
        state = state._centred(day, count)
        alternatives, detector = state.alternatives, state.detector
        assert alternatives is not None
        reference = self.reference
        if detector is None:
            weights = np.ones(1) if reference is None else reference.weights
            detector = Detector.new(alternatives, weights, self.updates)
        expected = alternatives.expected(day.x)
        phi, likelihood = np.ones(1), np.zeros(1)
        if reference is not None:
            phi, likelihood = (x[0] for x in reference.of_day(*residuals(day, expected)))
        ratios = alternatives.log_ratios(day.x, day.y, day.count)
        detector = detector.after(ratios, phi, likelihood, len(self.history))
        sums = _sums_of_two(day, count, expected, alternatives) if day.k == 2 else _sums_of_more(day, count, expected)
        frequent: Array = np.arange(2) if isinstance(alternatives, TwoClasses) else alternatives.frequent
        by_class = np.zeros((2, 0))
        if day.k > 2:
            by_class = np.array([count @ expected[:, frequent], count @ (day.y[:, None] == frequent)])
        update = Update(
            key=int(day.keys[0]),
            n=int(day.count.sum()),
            phi=float(phi @ (np.ones(1) if reference is None else reference.weights)),
            e_value=float(detector.e_value(alternatives)),
            evidence=float(detector.evidence(alternatives)),
            by_class=by_class,
            **sums,
        )
        return replace(state, detector=detector, history=(*self.history, update))

    def _first(self, day: Days, count: Floats) -> Alternatives:
        """Return the alternatives to the forecasts themselves, or those of the reference."""
        if self.reference is not None:
            return self.reference.alternatives
        if day.k == 2:
            return TwoClasses(np.array([[0.0, 1.0]]), np.zeros(1))
        null = np.append(np.zeros(day.k), 1.0)[None]
        return MoreClasses(null, most_frequent(count @ np.exp(day.x)))

    def _centred(self, day: Days, count: Floats) -> State:
        """Return the state with slopes about the mean of the forecasts so far, which no outcome decides."""
        if self.reference is not None or day.k > 2:
            return self
        c = np.exp(-np.logaddexp(0.0, -day.x))
        w = count * c * (1.0 - c)
        sums = self.centre[0] + float(w @ day.x), self.centre[1] + float(w.sum())
        assert self.alternatives is not None
        centred = with_centre(self.alternatives, sums[0] / max(sums[1], 1e-300))
        return replace(self, centre=sums, alternatives=centred)


def keys_of(time: Floats, updates: str) -> Ints:
    """Return the number of the day, or of the week from Monday, of times in days."""
    days = np.floor(time)
    return np.asarray(np.floor((days + MONDAY) / 7.0) if updates == WEEK else days).astype(np.int64)


def _sums_of_two(day: Days, count: Floats, expected: Floats, alternatives: Alternatives) -> dict[str, Any]:
    assert isinstance(alternatives, TwoClasses)
    y, p = day.y.astype(np.float64), day.p
    a, b = alternatives.nulls[0]
    z = a + b * day.x - alternatives.centre[0]
    u, w = count * (y - expected), count * expected * (1.0 - expected)
    realised = np.where(day.y == 1, p, 1.0 - p)
    return _losses(count, realised) | {
        "predicted": float(count @ p),
        "expected": float(count @ expected),
        "observed": float(count @ y),
        "variance": event_variance(expected, day.count),
        "expected_log_loss": float(count @ (_cost(expected, p) + _cost(1.0 - expected, 1.0 - p))),
        "slope": (float(u @ z), float(w @ z**2), float(w @ z)),
    }


def _sums_of_more(day: Days, count: Floats, expected: Floats) -> dict[str, Any]:
    p = day.p
    realised = p[np.arange(len(day.y)), day.y]
    logs = np.log(np.where(p > 0.0, p, 1.0))
    mean = np.einsum("ij,ij->i", expected, logs)
    spread = np.einsum("ij,ij,ij->i", expected, logs, logs) - mean**2
    losses = _losses(count, realised)
    return losses | {
        "predicted": float(count @ np.einsum("ij,ij->i", p, logs)),
        "expected": float(count @ mean),
        "observed": -losses["log_loss"],
        "variance": float(count @ spread),
        "expected_log_loss": float(count @ _cost(expected, p).sum(axis=1)),
        "slope": (0.0, 0.0, 0.0),
    }


def _losses(count: Floats, realised: Floats) -> dict[str, Any]:
    zero = realised <= 0.0
    loss = math.inf if zero.any() else -float(count @ np.log(realised))
    return {"zeros": int(count[zero].sum()), "log_loss": loss}


def _cost(c: Floats, p: Floats) -> Floats:
    """Return −c ln p; what is expected never to happen costs nothing, not even where p is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(c > 0.0, -c * np.log(p), 0.0)


# -- as bytes ---------------------------------------------------------------------------------------------------------


def dumps(state: State) -> bytes:
    """Return the state as bytes that hold no code, with a checksum."""
    fields = {
        "classes": state.classes,
        "updates": state.updates,
        "dates": state.dates,
        "reference": state.reference,
        "alternatives": state.alternatives,
        "detector": state.detector,
        "history": state.history,
        "centre": state.centre,
    }
    return dumps_checked(KIND, fields)


def loads(data: bytes) -> State:
    """Return the state of these bytes; whatever else is given is a ValueError."""
    if not data.startswith(KIND):
        raise ValueError("this is no state of a monitor of this version\n  give another name")
    try:
        fields = loads_checked(KIND, data)
        reference, detector = fields["reference"], fields["detector"]
        if reference is not None:
            own: dict[str, Any] = {"alternatives": _alternatives(reference["alternatives"])}
            own["delays"] = tuple(Delay(**one) for one in reference["delays"])
            reference = Reference(**{**reference, **own})
        return State(
            classes=tuple(fields["classes"]),
            updates=fields["updates"],
            dates=fields["dates"],
            reference=reference,
            alternatives=_alternatives(fields["alternatives"]),
            detector=None if detector is None else Detector(**detector),
            history=tuple(Update(**{**one, "slope": tuple(one["slope"])}) for one in fields["history"]),
            centre=tuple(fields["centre"]),
        )
    except (Damaged, LookupError, TypeError, AttributeError, ValueError) as problem:
        raise ValueError(f"the state is damaged ({first_line(problem)})\n  delete it to begin again") from None


def _alternatives(fields: Any) -> Any:
    if fields is None:
        return None
    return TwoClasses(**fields) if "centre" in fields else MoreClasses(**fields)
