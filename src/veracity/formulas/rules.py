"""Strictly proper scoring rules, each built from a convex generator (theory: Savage, Gneiting & Raftery 2007).

Symbols: p forecast, q truth, y column of the outcome, g generator (negative entropy), b a shift of the gradient.
The power family g_r(p) = (Σ p^(1+r) − 1)/r, r > −1, joins the log score (r = 0) and the Brier score (r = 1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from veracity.formulas import domain
from veracity.formulas.means import power_log
from veracity.types import Array

Rows = Callable[[Array], Array]
Pairs = Callable[[Array, Array], Array]

ROUNDING = 1e-14  # of a total of many entries; the last step restores the sum of one
COLUMN_BY_COLUMN = 32  # columns up to which that is quicker than along rows
MOST_STEPS = 200  # Newton needs about 10, halving alone 60


@dataclass(frozen=True, eq=False)
class ScoringRule:
    """A strictly proper score, lower is better, zero for a certain and correct forecast. Classes on the last axis.

    key         the name or number that `rule` finds it by
    generator   g(p), one number a row, 0 at the corners
    gradient    (x, p) → ∇g at the entries x of the rows p
    offset      ⟨∇g(p), p⟩ − g(p), one number a row
    bregman     (p, q) → g(q) − g(p) − ⟨∇g(p), q − p⟩, written so that no term cancels
    inverse     u → the row with sum one whose gradient is u + c·1 (or the nearest row of the simplex)
    unit        change of the gradient for a shift of one: b adds to ln p at r = 0 and to p at r = 1
    rows        the domain check of its rows

    >>> float(rule("brier").score([0.2, 0.8], 1).round(6))  # 0.2² + 0.2²
    0.08
    """

    key: str | float
    generator: Rows
    gradient: Pairs
    offset: Rows
    bregman: Pairs
    inverse: Rows
    unit: float = 1.0
    rows: Callable[[str, ArrayLike], Array] = domain.simplex_rows
    bounds: tuple[float, float] = (0.0, np.inf)
    cite: str = ""

    @classmethod
    def of(
        cls,
        key: str,
        generator: Rows,
        gradient: Pairs,
        *,
        inverse: Rows | None = None,
        bounds: tuple[float, float] = (0.0, np.inf),
        cite: str = "",
    ) -> ScoringRule:
        """Return a rule from its generator and gradient; with the inverse gradient its rows can be shifted too.

        >>> square = ScoringRule.of("square", lambda p: (p**2).sum(-1) - 1, lambda x, p: 2 * x)
        >>> round(float(square.score([0.1, 0.9], 1)), 12)
        0.02
        """

        def offset(p: Array) -> Array:
            return _sum(_times(p, gradient(p, p))) - generator(p)

        def no_inverse(u: Array) -> Array:
            raise ValueError(f"rule: {key!r} was given without inverse gradient; its rows cannot be shifted")

        return cls(
            key=key,
            generator=generator,
            gradient=gradient,
            offset=offset,
            bregman=lambda p, q: generator(q) + offset(p) - _sum(_times(q, gradient(p, p))),
            inverse=inverse or no_inverse,
            bounds=bounds,
            cite=cite,
        )

    @property
    def name(self) -> str:
        return self.key if isinstance(self.key, str) else f"power({self.key:.6g})"

    def __repr__(self) -> str:
        return f"<ScoringRule {self.name}>"

    def __reduce__(self) -> Any:  # functions cannot be pickled: send the name or number
        return rule, (self.key,)

    def score(self, p: ArrayLike, y: ArrayLike) -> Array:
        """Loss of forecast p when class y (column number) is the outcome: d(p, e_y)."""
        p = self.rows("p", p)
        y = domain.classes("y", y, p.shape[-1])
        shape = domain.broadcast(p=p.shape[:-1], y=y.shape)
        happened = np.take_along_axis(
            np.broadcast_to(p, (*shape, p.shape[-1])), np.broadcast_to(y, shape)[..., None], axis=-1
        )
        return (self.offset(p) - self.gradient(happened, p)[..., 0])[()]

    def entropy(self, q: ArrayLike) -> Array:
        """Expected loss of the forecast q when q is the truth: −g(q)."""
        return (0.0 - self.generator(self.rows("q", q)))[()]

    def divergence(self, forecast: ArrayLike, truth: ArrayLike) -> Array:
        """Expected loss beyond the entropy when the truth is q: d(p, q), zero only where the rows are equal."""
        p, q = self.rows("forecast", forecast), self.rows("truth", truth)
        if p.shape[-1] != q.shape[-1]:
            raise ValueError(f"truth: {q.shape[-1]} classes, but forecast has {p.shape[-1]}; give both the same")
        domain.broadcast(forecast=p.shape, truth=q.shape)
        return self.bregman(p, q)[()]

    def shift(self, p: ArrayLike, b: ArrayLike) -> Array:
        """The row A with ∇g(A) = ∇g(p) + unit·b + c·1 and sum one: KF15's condition for coherent adjustment."""
        p, b = self.rows("p", p), domain.finite("b", b)
        domain.broadcast(p=p.shape, b=b.shape)
        return self.inverse(self.gradient(p, p) + self.unit * b)


def _sum(terms: Array) -> Array:
    return np.asarray(terms.sum(axis=-1))


def _times(q: Array, x: Array) -> Array:
    """q·x with 0·∞ = 0."""
    with np.errstate(invalid="ignore"):
        return np.where(q == 0.0, 0.0, q * x)


def _softmax(u: Array) -> Array:
    top = u.max(axis=-1, keepdims=True)
    a = np.exp(u - np.where(np.isneginf(top), 0.0, top))
    return _share(a)


def _kullback_leibler(p: Array, q: Array) -> Array:
    """Σ q ln(q/p); below 0 only where the rows' totals differ by more than rounding."""
    with np.errstate(invalid="ignore"):
        sums = _sum(_times(q, power_log(q, 0.0) - power_log(p, 0.0)))
    return np.where(np.abs(_sum(q - p)) > ROUNDING, sums, np.maximum(sums, 0.0))


log = ScoringRule(
    key="log",
    generator=lambda p: _sum(_times(p, power_log(p, 0.0))),
    gradient=lambda x, p: power_log(x, 0.0),
    offset=lambda p: np.zeros(p.shape[:-1]),
    bregman=_kullback_leibler,
    inverse=_softmax,
    cite="Good 1952; HB17 eq 2 (divergence score), KF15 section 2.2 (log-loss), N17 eq 5",
)

brier = ScoringRule(
    key="brier",
    generator=lambda p: _sum(p * p) - 1.0,
    gradient=lambda x, p: 2.0 * x,
    offset=lambda p: _sum(p * p) + 1.0,
    bregman=lambda p, q: _sum((p - q) ** 2),
    inverse=lambda u: (u - u.mean(axis=-1, keepdims=True)) / 2.0 + 1.0 / u.shape[-1],
    unit=2.0,
    rows=domain.affine_rows,
    bounds=(0.0, 2.0),
    cite="Brier 1950, sum over classes; KF15 section 2.2",
)

half_brier = ScoringRule(
    key="half_brier",
    generator=lambda p: (_sum(p * p) - 1.0) / 2.0,
    gradient=lambda x, p: x,
    offset=lambda p: (_sum(p * p) + 1.0) / 2.0,
    bregman=lambda p, q: _sum((p - q) ** 2) / 2.0,
    inverse=lambda u: u - u.mean(axis=-1, keepdims=True) + 1.0 / u.shape[-1],
    rows=domain.affine_rows,
    bounds=(0.0, 1.0),
    cite="HB17 eq 1: half of `brier`; with two classes the one-component Brier score",
)

spherical = ScoringRule(
    key="spherical",
    generator=lambda p: _length(p)[..., 0] - 1.0,
    gradient=lambda x, p: x / _length(p),
    offset=lambda p: np.ones(p.shape[:-1]),
    bregman=lambda p, q: _length(q)[..., 0] * _sum((p / _length(p) - q / _length(q)) ** 2) / 2.0,
    inverse=lambda u: _share(_meet_total(u, _sphere, 1.0 / np.sqrt(u.shape[-1]) - 1.0)),
    bounds=(0.0, 1.0),
    cite="Roby 1965; Gneiting & Raftery 2007 example 2, as a loss 1 − p_y/‖p‖",
)


def power(r: float) -> ScoringRule:
    """The member r > −1 of the power family: positive r forgives surprises, negative r punishes them.

    Gneiting & Raftery's power score with α = 1 + r, rescaled so that r = 0 is `log` and r = 1 is `brier`, the one
    member whose rows and shifts may leave [0, 1].

    >>> power(0.0), power(-2/3)
    (<ScoringRule log>, <ScoringRule power(-0.666667)>)
    >>> round(float(power(1).score([0.1, 0.9], 1)), 12)
    0.02
    """
    return _power(domain.above("r", r, -1.0))


@lru_cache(maxsize=256)
def _power(r: float) -> ScoringRule:
    if r == 0.0:
        return log
    if r == 1.0:
        return brier
    return ScoringRule(
        key=r,
        generator=lambda p: _sum(_times(p, power_log(p, r))),
        gradient=lambda x, p: (1.0 + r) * power_log(x, r),
        offset=lambda p: _sum(p ** (1.0 + r)) - 1.0,
        bregman=lambda p, q: _sum(_power_terms(p, q, r)),
        inverse=lambda u: _power_inverse(u / (1.0 + r), r),
        unit=1.0 + r,
        bounds=(0.0, (1.0 + r) / r if r > 0.0 else np.inf),
        cite="Gneiting & Raftery 2007 example 3 (power score); Basu et al. 1998 (density power divergence)",
    )


def _power_terms(p: Array, q: Array, r: float) -> Array:
    """p^(1+r) + q^(1+r)/r − ((1 + r)/r) p^r q = p^r (p − q) + q (x_q − x_p) with x = (p^r − 1)/r: each at least 0."""
    x = power_log(p, r)
    with np.errstate(invalid="ignore"):
        terms = (1.0 + r * x) * (p - q) + _times(q, power_log(q, r) - x)
    if r < 0.0:  # p^r is infinite there: excluded is infinitely bad if it can happen, and right if it cannot
        terms = np.where(p == 0.0, np.where(q == 0.0, 0.0, np.inf), terms)
    return np.asarray(np.maximum(terms, 0.0))


def largest(rows: Array) -> Array:
    """Return (n, 1) the largest entry of each row: of few columns one after another, quicker than along rows."""
    if rows.shape[1] > COLUMN_BY_COLUMN:
        return np.asarray(rows.max(axis=1, keepdims=True))
    most = rows[:, 0].copy()
    for column in rows.T[1:]:
        np.maximum(most, column, out=most)
    return most[:, None]


def _length(p: Array) -> Array:
    return np.asarray(np.sqrt((p * p).sum(axis=-1, keepdims=True)))


def _power_inverse(u: Array, r: float) -> Array:
    return _steep_inverse(u, r) if r > 1.0 else near_power_inverse(u, r)


def near_power_inverse(u: Array, r: float, near: Array | None = None) -> Array:
    """Return rows with links u + c that sum to one, r at most 1; (n, 1) `near` is c or somewhat more."""
    smallest = float(power_log(1.0 / u.shape[-1], r))
    return _share(_meet_total(u, lambda v: _power_total(v, r), smallest, near))


def _steep_inverse(u: Array, r: float) -> Array:
    """Return rows (1 + r(u + c))₊^{1/r} with sum one for r > 1, where each entry rises infinitely steeply from zero.

    Sorted, the number m of positive entries is found by halving; then the smallest one, a, is the unknown: the
    others are r-norms of a and their excess over it, so their sum is convex in a and Newton comes down from a = 1/m.
    (SciPy's `newton` takes arrays too, but goes on with every row until the last one has converged.)
    """
    v = u.reshape(-1, u.shape[-1])
    order = np.argsort(-v, axis=1)
    s = r * np.take_along_axis(v, order, axis=1)
    n, k = s.shape
    here = np.arange(n)
    over = np.empty((n, k))

    def entries(rows: Array, m: Array, a: Array) -> Array:
        """Return the m largest entries when the smallest of these is a."""
        lowest = s[rows, m - 1][:, None]
        with np.errstate(invalid="ignore"):
            over = s[rows] - lowest + (a**r)[:, None]
        return np.where(np.arange(k) < m[:, None], np.maximum(over, 0.0), 0.0) ** (1.0 / r)

    # The sum when entry m is just zero rises with m: keep the largest m at which it is below one.
    low, high = np.ones(n, np.int64), np.maximum(np.isfinite(s).sum(axis=1), 1)
    while (low < high).any():
        middle = (low + high + 1) // 2
        fits = entries(here, middle, np.zeros(n)).sum(axis=1) < 1.0
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    a, left = 1.0 / low, here
    for _ in range(60):
        largest = entries(left, low[left], a[left])
        over[left] = largest
        excess = largest.sum(axis=1) - 1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            rises = np.where(largest > 0.0, (a[left][:, None] / largest) ** (r - 1.0), 0.0).sum(axis=1)
        going = np.abs(excess) > 2e-15
        left, step = left[going], (excess / np.maximum(rises, 1.0))[going]  # the smallest entry itself rises by one
        if not left.size:
            break
        a[left] = np.maximum(a[left] - step, 0.0)
    out = np.empty_like(over)
    np.put_along_axis(out, order, over / over.sum(axis=1, keepdims=True), axis=1)
    return out.reshape(u.shape)


def _share(a: Array) -> Array:
    return np.asarray(a / a.sum(axis=-1, keepdims=True))


def _power_total(v: Array, r: float) -> tuple[Array, Array, Array]:
    """Return entries A of link v, the distance of their total from one on the link's scale, and its derivative."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        above = np.maximum(r * v, -1.0)  # a^r less 1
        a = np.exp(np.log1p(above) / r)
        ones = np.ones((a.shape[-1], 1))
        total = a @ ones  # quicker than a sum along rows
        slope = np.where(a > 0.0, a / (1.0 + above), 0.0) @ ones  # a^(1 − r)
        return a, power_log(total, r), total ** (r - 1.0) * slope


def _sphere(v: Array) -> tuple[Array, Array, Array]:
    a = np.maximum(1.0 + v, 0.0)
    length = _length(a)
    return a, length - 1.0, a.sum(axis=-1, keepdims=True) / length


def _meet_total(
    u: Array, total: Callable[[Array], tuple[Array, Array, Array]], smallest: float, near: Array | None = None
) -> Array:
    """Return the entries A(u + c) with the c at which they sum to one: Newton from above, inside a bracket.

    The link of a sure class is 0, so c = −max u makes the largest entry one and the total at least one;
    `smallest` is the largest entry's link when all share equally. The total is convex in c, so Newton cannot overshoot.
    `near` is another c to begin from.
    """
    rows = u.reshape(-1, u.shape[-1])
    top = largest(rows)
    rows = rows - top
    out = np.empty_like(rows)
    left = np.arange(len(rows))
    high = np.zeros((len(rows), 1))
    low, c = high + smallest, high if near is None else np.clip(near + top, smallest, 0.0)
    for _ in range(MOST_STEPS):
        a, excess, slope = total(rows[left] + c)
        high, low = np.where(excess > 0.0, c, high), np.where(excess < 0.0, c, low)
        newton, middle = c - excess / slope, (low + high) / 2.0
        inside = (newton > low) & (newton < high)
        after = np.where(inside, newton, middle)
        going = ((np.abs(excess) > ROUNDING) & (after != c))[:, 0]
        out[left] = a
        left, c, low, high = left[going], after[going], low[going], high[going]
        if not left.size:
            break
    return np.asarray(out.reshape(u.shape))


def rule(which: str | float | ScoringRule) -> ScoringRule:
    """Return a scoring rule by name ("log", "brier", "half_brier", "spherical"), by its number r, or itself.

    >>> rule("log") is rule(0)
    True
    """
    if isinstance(which, ScoringRule):
        return which
    if isinstance(which, str):
        named = {known.key: known for known in RULES}
        if which not in named:
            raise ValueError(f"rule: {which!r} is not one of {', '.join(NAMES)}; or give the number r > -1")
        return named[which]
    return power(which)


NAMES = ("log", "brier", "half_brier", "spherical")
RULES = (log, brier, half_brier, spherical, power(-2 / 3), power(-1 / 3), power(0.5), power(2.0))
