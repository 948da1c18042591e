"""The careful correction: a simple map whose step is as long as the evidence for it.

A map θ̂ fitted in the same cases has likelihood ratio LR = 2[ℓ(θ̂) − ℓ(0)] on df parameters. A step s·θ̂ gains on new
cases (2s(LR − df) − s²LR)/2n in expectation, so a full step hurts as soon as the true effect is below half of the
fitted one; s = max(0, 1 − df/LR − 1.5/√LR) is safe much earlier. From √LR = 5 on, which chance does not make, the last
term is multiplied by 25/LR.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from veracity import calibrators
from veracity.calibrators import beta, platt, temperature, temperature_levels, vector
from veracity.estimate.calibration.residuals import LEAST_IN_FIT, Many, Two
from veracity.estimate.calibration.slope import CONVERGED, HALVINGS, RIDGE, STEPS, dependence, fit, gains
from veracity.formulas.intervals import quantile
from veracity.types import Floats, Ints

BETA_FROM, BETTER = 1000, 6.63  # cases, and likelihood ratio beyond Platt's (1 % of χ² with 1 df), for a third number
PER_NUMBER = 3.0  # likelihood ratio that each number of a map of more classes must add
LEAST_SLOPE = -0.99  # of a temperature: beyond, it would turn forecasts round
CAUTION = 1.5  # standard errors of √LR by which the step is shortened; 0 gains most in expectation
CERTAIN = 25.0  # likelihood ratio from which on less caution will do
POSSIBLE, CLEAR = 0.05, 0.01  # p-values of verdict and correction below which it is a possible fix, and a fix


@dataclass(frozen=True, eq=False)
class Correction:
    """A simple map fitted in the same cases, and how far it may be trusted.

    fitted  the map with its careful step, None where no step is
    ratio   likelihood ratio of the full step, of effectively independent cases
    df      number of parameters
    n       effective number of cases
    spread  standard deviation of what a case gains by the full step
    loss    log loss of the forecasts, none below the smallest that maps know
    caution standard errors of √LR by which the step is shortened
    """

    map: str
    fitted: calibrators.Fitted | None
    ratio: float
    df: int
    n: float
    spread: float
    loss: float
    caution: float = CAUTION

    @property
    def strength(self) -> float:
        """The share s of the fitted step that is taken."""
        return strength(self.ratio, self.df, self.caution)

    @property
    def p(self) -> float:
        """Of the likelihood ratio under χ²."""
        from scipy.special import chdtrc

        return float(chdtrc(self.df, self.ratio))

    def gain(self, level: float) -> tuple[float, float, float]:
        """Return the expected gain in log loss on new cases, with the ends of its interval."""
        s = self.strength
        gain = (2.0 * s * (self.ratio - self.df) - s**2 * self.ratio) / (2.0 * self.n)
        error = 2.0 * s * max(math.sqrt(self.ratio), self.spread * math.sqrt(self.n)) / (2.0 * self.n)
        reach = quantile(level) * error
        return gain, gain - reach, gain + reach


def strength(ratio: float, df: int, caution: float = CAUTION) -> float:
    """
    >>> round(strength(25.0, 2), 6), round(strength(100.0, 2), 6), strength(3.0, 2)
    (0.62, 0.9425, 0.0)
    """
    if ratio <= 0.0:
        return 0.0
    shorter = caution / math.sqrt(ratio) * min(1.0, CERTAIN / ratio)
    return max(0.0, 1.0 - df / ratio - shorter)


def stepped(slope: float, s: float) -> float:
    """Return the slope a share s of the way from 1, below 1 by powers.

    Half a step for forecasts that are ten times too sure leaves them three times too sure, not five times.

    >>> round(stepped(0.1, 0.5), 3), stepped(3.0, 0.5)
    (0.316, 2.0)
    """
    return slope**s if 0.0 < slope < 1.0 else 1.0 + s * (slope - 1.0)


def correction(
    cases: Two | Many, p: Floats, classes: tuple[Any, ...], order: Ints, caution: float = CAUTION
) -> Correction:
    """Return the simple map that the evidence favours, with its careful step.

    p are the forecasts of the cases (`cases.prepared`), its columns those of `classes` in this order; of two classes
    p is that of the second.
    """
    p = np.clip(p, LEAST_IN_FIT, 1.0 - LEAST_IN_FIT)
    cases = cases.for_fit(p)
    excess = dependence(cases, p)
    loss = -float(cases.mass @ np.log(cases.realised(p))) / cases.n
    if isinstance(cases, Two):
        tried = _of_two(cases, p, classes, flipped=bool(order[0] == 1))
    else:
        tried = _of_many(cases, p, classes, order)
    corrections = []
    for name, df, better, make in tried:
        gained = gains(cases, p, better)
        mean = float(cases.mass @ gained) / cases.n
        ratio = max(2.0 * cases.n * mean, 0.0) / excess
        spread = math.sqrt(max(float(cases.mass2 @ (gained - mean) ** 2) / cases.n * excess, 0.0))
        step = strength(ratio, df, caution)
        fitted = make(step) if step > 0.0 else None
        corrections.append(Correction(name, fitted, ratio, df, cases.n / excess, spread, loss, caution))
    if not corrections:
        return Correction("temperature", None, 0.0, 1, cases.n / excess, 0.0, loss)
    if isinstance(cases, Two):
        line, *more = corrections
        return more[0] if more and cases.n >= BETA_FROM and more[0].ratio > line.ratio + BETTER else line
    return max(corrections, key=lambda one: one.ratio - PER_NUMBER * one.df)


Tried = list[tuple[str, int, Floats, Callable[[float], calibrators.Fitted]]]


def _of_two(cases: Two, p: Floats, classes: tuple[Any, ...], flipped: bool) -> Tried:
    line = fit(cases, p, level=True, scalar=True)
    a, b = line.theta[0], line.theta[1]
    sign = -1.0 if flipped else 1.0

    def of_platt(s: float) -> calibrators.Fitted:
        return platt.Platt(classes, coefficients=np.array([[stepped(1.0 + b, s), sign * s * a]]))

    tried: Tried = [("platt", 2, line.p, of_platt)]
    if cases.n >= BETA_FROM:
        features = np.column_stack([_logs(p), -_logs(1.0 - p), np.ones(len(p))])
        theta, bent = _tilted(cases, p, features)

        def of_beta(s: float) -> calibrators.Fitted:
            low, high, shift = s * theta
            one = (1.0 + high, 1.0 + low, -shift) if flipped else (1.0 + low, 1.0 + high, shift)
            return beta.Beta(classes, coefficients=np.array([one]))

        tried.append(("beta", 3, bent, of_beta))
    return tried


def _tilted(cases: Two, p: Floats, features: Floats) -> tuple[Floats, Floats]:
    """Return θ of logit p' = logit p + features·θ with the largest likelihood less ¼|θ|², and p'."""
    from scipy.special import expit

    x, theta, q, best = Two.scalar(p, LEAST_IN_FIT), np.zeros(features.shape[1]), p, 0.0
    for _ in range(STEPS):
        gradient = features.T @ (cases.mass * (cases.y - q)) - RIDGE * theta
        bend = features.T @ (features * (cases.mass * q * (1.0 - q))[:, None]) + RIDGE * np.eye(len(theta))
        step = np.linalg.solve(bend, gradient)
        last = gradient @ step < CONVERGED
        for _ in range(HALVINGS):
            moved = np.asarray(expit(x + features @ (theta + step)))
            value = float(cases.mass @ gains(cases, p, moved) - RIDGE / 2 * ((theta + step) @ (theta + step)))
            if value > best:
                theta, q, best = theta + step, moved, value
                break
            step = step / 2.0
        else:
            break
        if last:
            break
    return theta, q


def _logs(p: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(p, LEAST_IN_FIT)))


def _of_many(cases: Many, p: Floats, classes: tuple[Any, ...], order: Ints) -> Tried:
    k, back = cases.levels, np.argsort(order)  # the place of each class in that order
    one = fit(cases, p, scalar=True)
    slope = float(one.theta[k])
    tried: Tried = [
        ("temperature", 1, one.p, lambda s: temperature.Temperature(classes, temperature=1.0 / stepped(1.0 + slope, s)))
    ]
    if slope <= LEAST_SLOPE:  # forecasts that are worse than none
        tried = []
    if cases.n >= 20 * k:
        both = fit(cases, p, level=True, scalar=True)
        b, levels = float(both.theta[k]), both.theta[:k]

        def of_levels(s: float) -> calibrators.Fitted:
            return temperature_levels.TemperatureLevels(classes, slope=stepped(1.0 + b, s), intercepts=s * levels[back])

        tried.append(("temperature_levels", k, both.p, of_levels))
    if cases.n >= 40 * k and k <= 100:
        fitted = vector.slopes_and_intercepts(p, cases.y, cases.mass, RIDGE)

        def of_vector(s: float) -> calibrators.Fitted:
            return vector.Vector(classes, slopes=1.0 + s * (fitted[:k][back] - 1.0), intercepts=s * fitted[k:][back])

        tried.append(("vector", 2 * k - 1, of_vector(1.0)(p[:, back])[:, order], of_vector))
    return tried
