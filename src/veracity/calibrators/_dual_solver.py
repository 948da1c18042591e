"""Column means by a shift of the gradient: the convex problem behind every coherent adjustment.

Minimise F(b) = mean g*(∇g(S) + b) − ⟨π, b⟩. Its gradient is mean A − π, its Hessian the Laplacian with the couplings
mean[h_j h_l / Σh], h = A^(1−r): no entry of it is a difference, so nothing cancels for confident scores.
Each Newton step is one pass of weighted means over the rows, so it runs on streams as on arrays. SciPy's optimisers
also ask for F, and for the gradient of points that they reject: more passes over the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, cast

import numpy as np

from veracity.calibrators._fitted import as_rows, blocks
from veracity.inputs import Forecasts
from veracity.types import Array

from ._feasibility import InfeasibleTarget

Chunks = Callable[[], Iterable[tuple[Array, Array]]]  # a pass: rows (m, k) with their shares of the whole mass
Sums = tuple[Any, ...]  # of arrays, or of anything that adds
Work = Callable[[Array, Array], Sums]  # (rows, shares) → their part of the sums
Place = Callable[[Array, Array], tuple[Array, Array, Array | float]]  # (rows, b) → A, h, Σh
Rows = Callable[[Array], Array]
Moments = Callable[[Array], tuple[Array, Array]]  # b → mean A, couplings

TOLERANCE = 1e-12
RESOLUTION = 1e-14  # share of the largest of a direction below which the others are rounding
MOST_STEPS = 500
PATIENCE, ROUNDING = 8, 1e-6  # after so many steps without progress, a gap this small is rounding of large shifts
DENSE = 200  # classes up to which a matrix of couplings is cheaper than conjugate gradients
MOST_DENSE = 4000  # classes up to which the matrix, 128 MB, serves where conjugate gradients fail
MOST_HELD = 16_000_000  # entries of adjusted rows kept for one Newton step: 128 MB


class Unsolved(InfeasibleTarget):
    """The solver found no adjustment, though one may exist."""

    def __init__(self, steps: int, gap: float) -> None:
        self.classes, self.need, self.have = (), np.nan, np.nan
        ValueError.__init__(
            self,
            f"target: no adjustment found in {steps} steps, class means still differ by {gap:.1g}; the target lies at "
            "the edge of what these scores allow: choose one nearer to the mean score, or rule='log'",
        )


class _Stuck(Exception):
    """Conjugate gradients found no direction from the shift that it holds."""


def in_memory(forecasts: Forecasts) -> Chunks:
    """Return chunks of arrays in memory, converted to (m, k) float64 block by block."""
    scores, shares, k = forecasts.scores, forecasts.mass / forecasts.mass.sum(), forecasts.k
    if scores.ndim == 2 and scores.dtype == np.float64 and scores.size <= 1 << 17:
        return lambda: ((scores, shares),)
    return lambda: ((as_rows(scores[part], k), shares[part]) for part in blocks(len(scores), k))


def summed(chunks: Chunks, work: Work, zero: Sums) -> Sums:
    """Return zero + Σ work(rows, shares) over all chunks; those of a cluster are added where the rows are."""
    if hasattr(chunks, "summed"):
        return cast(Sums, chunks.summed(work, zero))
    for rows, shares in chunks():
        zero = tuple(a + b for a, b in zip(zero, work(rows, shares), strict=True))
    return zero


def narrowed(chunks: Chunks, kept: Array) -> Chunks:
    """Return the chunks with these columns alone."""
    if hasattr(chunks, "narrowed"):
        return cast(Chunks, chunks.narrowed(kept))
    return lambda: ((rows[:, kept], shares) for rows, shares in chunks())


def mean_of(chunks: Chunks, k: int) -> Array:
    mean: Array
    (mean,) = summed(chunks, lambda rows, shares: (shares @ rows,), (np.zeros(k),))
    return mean


def moments(chunks: Chunks, place: Place, b: Array, *, couplings: bool = True) -> tuple[Array, Array]:
    """Return, from one pass, mean A and the couplings if wanted."""
    k = len(b)

    def work(rows: Array, shares: Array) -> Sums:
        a, h, total = place(rows, b)
        return shares @ a, (h * (shares / total)[:, None]).T @ h if couplings else np.zeros(0)

    mean, coupling = summed(chunks, work, (np.zeros(k), np.zeros((k, k) if couplings else 0)))
    return mean, coupling


def hessian_of(chunks: Chunks, place: Place, b: Array) -> Rows:
    """Return v → the Hessian at b times v, without a k × k matrix.

    Rows in memory are placed once; those of a cluster, or too many, anew for every product.
    """

    def product(shares: Array, h: Array, total: Array | float, v: Array) -> Array:
        return np.asarray(shares @ h * v - (shares * (h @ v) / total) @ h)

    def anew(v: Array) -> Array:
        sums = summed(chunks, lambda rows, shares: (product(shares, *place(rows, b)[1:], v),), (zero,))
        return cast(Array, sums[0])

    zero, entries = np.zeros(len(b)), 0
    if hasattr(chunks, "summed"):
        return anew
    parts: list[tuple[Array, Array, Array | float]] = []
    for rows, shares in chunks():
        parts.append((shares, *place(rows, b)[1:]))
        entries += parts[-1][1].size
        if entries > MOST_HELD:
            return anew
    return lambda v: np.asarray(sum((product(*part, v) for part in parts), zero))


def laplacian_direction(coupling: Array, gap: Array, members: list[Array]) -> Array | None:
    """Return −H⁻¹ gap with the class of the largest diagonal pinned in every block; None where couplings vanish."""
    off = coupling.copy()
    np.fill_diagonal(off, 0.0)
    degree = off.sum(axis=1)
    free = np.ones(len(gap), bool)
    free[[block[np.argmax(degree[block])] for block in members]] = False
    out = np.zeros(len(gap))
    root = np.sqrt(degree[free])
    if not (root > 0.0).all():
        return None
    scaled = -off[free][:, free] / root[:, None] / root
    np.fill_diagonal(scaled, 1.0)
    try:
        with np.errstate(over="ignore"):  # of couplings next to nothing: the step is shortened afterwards
            out[free] = np.linalg.solve(scaled, -gap[free] / root) / root
    except np.linalg.LinAlgError:
        return None
    unit = RESOLUTION * float(np.abs(out).max())
    if np.isfinite(unit) and unit > 0.0:  # differences that are rounding beside the largest are none
        out = np.round(out / unit) * unit
    return out if np.isfinite(out).all() else None


def line_search(
    measure: Moments, target: Array, b: Array, d: Array, slope: float, far: bool
) -> tuple[float, tuple[Array, Array]]:
    """Return a step from b along d after which the slope up is not much steeper than it was down, and its moments.

    `far`: where the links of small scores have no common scale, go on while it is still steep downhill.
    """
    low, high, t = 0.0, np.inf, 1.0
    while True:
        averages = measure(b + t * d)
        ahead = float((averages[0] - target) @ d)
        if ahead > -0.9 * slope and t > 1e-9:
            high = t
        elif far and ahead < 0.5 * slope and t < 1e30 and high > 1.001 * t:
            low = t
        else:
            return t, averages
        if high == np.inf:
            t *= 4.0
        elif low == 0.0:
            t *= float(np.clip(slope / (slope - ahead), 0.1, 0.5))
        else:
            t = float(np.sqrt(low * high))


def newton(
    measure: Moments,
    target: Array,
    b: Array,
    members: list[Array],
    *,
    cap: float,
    far: bool,
    direction: Callable[[Array, Array, Array], Array | None],
    fallback: Rows,
) -> tuple[Array, int]:
    """Return the shift b with |mean A − target| < 1e-12, and the number of steps.

    members    the class numbers of each block
    cap        of the range of one step
    far        go on along a direction while it is steep
    direction  (couplings, gap, b) → a Newton direction, or None where it does not exist
    fallback   mean A → a safe descent direction
    """
    mean, coupling = measure(b)
    best, closest, since = b, np.inf, 0
    for step in range(MOST_STEPS):
        gap = mean - target
        best, closest, since = (
            (b, float(np.abs(gap).max()), 0) if np.abs(gap).max() < closest else (best, closest, since + 1)
        )
        d = direction(coupling, gap, b)
        if np.abs(gap).max() < TOLERANCE:
            # One more step with the known couplings costs no pass and takes the gap to rounding.
            return (b + d if d is not None and np.ptp(d) < 1e-4 else b), step
        if far and since >= PATIENCE and closest < ROUNDING:
            break
        if d is None or not gap @ d < 0.0:
            d = fallback(mean)
        spread = max(float(np.ptp(d[block])) for block in members)
        d = d * min(1.0, cap / spread) if spread > 0.0 else d
        before = mean
        t, (mean, coupling) = line_search(measure, target, b, d, float(gap @ d), far)
        if far and np.array_equal(mean, before):  # though it went as far as it is steep
            break
        b = b + t * d
    if far and closest < ROUNDING:
        return best, step  # shifts of this size have no closer float
    raise Unsolved(step + 1, closest)


def solve(
    chunks: Chunks,
    place: Place,
    target: Array,
    b: Array,
    block: Array,
    *,
    cap: float,
    far: bool = False,
    fallback: Rows,
) -> tuple[Array, int]:
    """Return shift and steps by Newton with the matrix of couplings, or beyond 200 classes with conjugate gradients.

    Each step of conjugate gradients is a pass: chunks that are read anew each time have a higher limit, `dense`. Where
    scores of very different sizes make them fail, the matrix serves after all.
    """
    k = len(target)
    members = [np.flatnonzero(block == label) for label in range(block.max() + 1)]
    members = [block for block in members if block.size]

    options: dict[str, Any] = {"cap": cap, "far": far, "fallback": fallback}

    def with_matrix(b: Array) -> tuple[Array, int]:
        direction = lambda coupling, gap, b: laplacian_direction(coupling, gap, members)  # noqa: E731
        return newton(lambda b: moments(chunks, place, b), target, b, members, direction=direction, **options)

    if k <= getattr(chunks, "dense", DENSE):
        return with_matrix(b)

    from scipy.sparse.linalg import LinearOperator, cg  # slow to import, and needed for many classes only

    def direction(coupling: Array, gap: Array, b: Array) -> Array | None:
        if np.abs(gap).max() < TOLERANCE:
            return None
        times = hessian_of(chunks, place, b)
        hessian = LinearOperator((k, k), matvec=lambda v: times(np.ravel(v)), dtype=np.float64)
        scale = LinearOperator((k, k), matvec=lambda v: np.ravel(v) / target, dtype=np.float64)
        forcing = min(0.1, float(np.abs(gap).max() / target.max()))
        d, left = cg(hessian, -gap, rtol=forcing, maxiter=50, M=scale)
        if left and k <= MOST_DENSE:
            raise _Stuck(b)
        return np.asarray(d)

    try:
        measure = partial(moments, chunks, place, couplings=False)
        return newton(measure, target, b, members, direction=direction, **options)
    except _Stuck as stuck:
        return with_matrix(stuck.args[0])
