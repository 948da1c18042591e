"""Coupled distributions, with the names and behaviour of scipy.stats' frozen distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from veracity.formulas import domain
from veracity.formulas.coupled import checked_coupling, log_ratio, power_ratio, risk_from_coupling
from veracity.types import Array

Draws = np.random.Generator | np.random.RandomState | int | None


class _Coupled:
    """What distributions give once they have their log-density, distribution function and quantiles."""

    kappa: float
    logpdf: Callable[..., Array]
    cdf: Callable[..., Array]
    ppf: Callable[..., Array]

    def pdf(self, x: ArrayLike) -> Array:
        return np.exp(self.logpdf(x))

    def logcdf(self, x: ArrayLike) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.cdf(x))

    def interval(self, confidence: float) -> tuple[Array, Array]:
        """Central interval of the given confidence; one dimension."""
        return self.ppf((1.0 - confidence) / 2.0), self.ppf((1.0 + confidence) / 2.0)


class CoupledNormal(_Coupled):
    """Coupled Gaussian (Student's t with nu = 1/kappa, Gaussian, or compact support), any dimension (N17 eq 14).

    f(x) = (1 + kappa Q)_+^{-(1/kappa + d)/2} / Z with Q = (x - loc)' scale^-1 (x - loc). `scale` is sigma, or the
    scale *matrix* Sigma (variances on its diagonal), which is a covariance only at kappa = 0.

    >>> t = CoupledNormal(0, 1, 0.5)
    >>> round(float(t.pdf(1.0)), 6), round(t.generalized_mean(), 6)
    (0.19245, 0.19245)
    """

    def __init__(self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, kappa: float = 0.0) -> None:
        self.loc = domain.finite("loc", loc)
        matrix = domain.finite("scale", scale)
        if self.loc.ndim > 1 or matrix.ndim not in (0, 2) or (matrix.ndim and matrix.shape[0] != matrix.shape[1]):
            raise ValueError(
                f"scale: shape {matrix.shape} with loc of shape {self.loc.shape}; give sigma (a number) or a square "
                "scale matrix, and loc as a number or a vector"
            )
        self.d = max(self.loc.size, matrix.shape[0] if matrix.ndim else 1)
        if self.loc.size not in (1, self.d) or matrix.shape not in ((), (self.d, self.d)):
            raise ValueError(f"scale: matrix of shape {matrix.shape} does not fit loc of length {self.loc.size}")
        if matrix.ndim == 0:
            matrix = domain.above("scale", float(matrix), 0.0) ** 2 * np.eye(self.d)
        self.scale = matrix
        self.kappa = checked_coupling(kappa, self.d)
        self._root = _cholesky(matrix)
        self._log_det = 2.0 * float(np.log(np.diagonal(self._root)).sum())
        self._log_normaliser = self._log_power_integral(1.0)

    def __repr__(self) -> str:
        return f"CoupledNormal(loc={self.loc.tolist()}, scale={self.scale.tolist()}, kappa={self.kappa!r})"

    @property
    def risk(self) -> float:
        """r_D = -2 kappa / (1 + d kappa), the risk parameter of the distribution."""
        return risk_from_coupling(self.kappa, 2.0, self.d)

    @property
    def normaliser(self) -> float:
        """Z, the integral of (1 + kappa Q)_+^{-(1/kappa + d)/2}."""
        return math.exp(self._log_normaliser)

    def squared_distance(self, x: ArrayLike) -> Array:
        """Q(x) = (x - loc)' scale^-1 (x - loc); the last axis of x holds the d coordinates when d > 1."""
        x = np.asarray(x, dtype=np.float64)
        if self.d == 1:
            centred = x - self.loc.reshape(())
            return np.asarray((centred / self._root[0, 0]) ** 2)
        if x.shape[-1:] != (self.d,):
            raise ValueError(f"x: shape {x.shape}; the last axis must hold the {self.d} coordinates")
        from scipy.linalg import solve_triangular

        rows = (x - self.loc).reshape(-1, self.d)
        distances = (solve_triangular(self._root, rows.T, lower=True) ** 2).sum(axis=0)
        return np.asarray(distances.reshape(x.shape[:-1]))

    def logpdf(self, x: ArrayLike) -> Array:
        return self.logpdf_at(self.squared_distance(x))

    def logpdf_at(self, squared_distance: ArrayLike) -> Array:
        """Log-density at the squared distance Q from loc."""
        half = (1.0 + self.d * self.kappa) / 2.0
        return -half * log_ratio(np.asarray(squared_distance, dtype=np.float64), self.kappa) - self._log_normaliser

    def cdf(self, x: ArrayLike) -> Array:
        """Distribution function; one dimension."""
        from scipy import special

        z = self._standard(x)
        if self.kappa > 0:
            return special.stdtr(1.0 / self.kappa, z)
        if self.kappa == 0:
            return special.ndtr(z)
        half = (1.0 / -self.kappa - 1.0) / 2.0 + 1.0
        return special.betainc(half, half, np.clip((1.0 + z * math.sqrt(-self.kappa)) / 2.0, 0.0, 1.0))

    def sf(self, x: ArrayLike) -> Array:
        """1 - cdf, by symmetry without cancellation; one dimension."""
        return self.cdf(2.0 * self.loc.reshape(()) - np.asarray(x, dtype=np.float64))

    def logsf(self, x: ArrayLike) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.sf(x))

    def ppf(self, q: ArrayLike) -> Array:
        """Quantile; one dimension."""
        from scipy import special

        self._standard(0.0)
        q = np.asarray(q, dtype=np.float64)
        if self.kappa > 0:
            # stdtrit gives +inf at 0
            z = np.where(q == 0.0, -np.inf, special.stdtrit(1.0 / self.kappa, q))[()]
        elif self.kappa == 0:
            z = special.ndtri(q)
        else:
            half = (1.0 / -self.kappa - 1.0) / 2.0 + 1.0
            z = (2.0 * special.betaincinv(half, half, q) - 1.0) / math.sqrt(-self.kappa)
        return self.loc.reshape(()) + self._root[0, 0] * z

    def isf(self, q: ArrayLike) -> Array:
        """Inverse of sf, by symmetry; one dimension."""
        return 2.0 * self.loc.reshape(()) - self.ppf(q)

    def support(self) -> tuple[float, float]:
        """Where the density is positive; one dimension."""
        self._standard(0.0)
        reach = self._root[0, 0] / math.sqrt(-self.kappa) if self.kappa < 0 else math.inf
        centre = float(self.loc.reshape(()))
        return centre - reach, centre + reach

    def rvs(self, size: int | tuple[int, ...] | None = None, random_state: Draws = None) -> float | Array:
        """Draws of shape `size` (with a last axis of d coordinates when d > 1)."""
        draw = _generator(random_state)
        shape = () if size is None else tuple(np.atleast_1d(size))
        z = draw.standard_normal((*shape, self.d))
        if self.kappa > 0:
            z /= np.sqrt(self.kappa * draw.chisquare(1.0 / self.kappa, shape))[..., None]
        elif self.kappa < 0:
            radius = np.sqrt(draw.beta(self.d / 2.0, (1.0 / -self.kappa - self.d) / 2.0 + 1.0, shape) / -self.kappa)
            z *= (radius / np.sqrt((z**2).sum(axis=-1)))[..., None]
        x = self.loc + z @ self._root.T
        return (x[..., 0] if x.ndim > 1 else float(x[0])) if self.d == 1 else x

    def mean(self) -> float | Array:
        """loc; NaN where the mean does not exist (kappa >= 1)."""
        centre = np.broadcast_to(self.loc, (self.d,)) if self.kappa < 1 else np.full(self.d, np.nan)
        return float(centre[0]) if self.d == 1 else centre.copy()

    def median(self) -> float | Array:
        return float(self.loc.reshape(())) if self.d == 1 else np.broadcast_to(self.loc, (self.d,)).copy()

    def cov(self) -> Array:
        """scale / (1 - 2 kappa) for kappa < 1/2; beyond, infinite on the diagonal (NaN for kappa >= 1)."""
        if self.kappa < 0.5:
            return np.asarray(self.scale / (1.0 - 2.0 * self.kappa))
        return np.where(np.eye(self.d, dtype=bool) & (self.kappa < 1), np.inf, np.nan)

    def var(self) -> float | Array:
        variances = np.diagonal(self.cov())
        return float(variances[0]) if self.d == 1 else variances.copy()

    def std(self) -> float | Array:
        return np.sqrt(self.var())

    def entropy(self) -> float:
        """Differential (Shannon) entropy in nats."""
        shape = self._gamma_argument(1.0)
        half = (1.0 + self.d * self.kappa) / 2.0
        # E ln(1 + kappa Q) is a difference of digamma functions; over kappa it tends to d.
        if self.kappa > 0:
            mean_log = _digamma_step(shape, self.d) / self.kappa
        else:
            mean_log = -_digamma_step(shape, self.d) / self.kappa if self.kappa else float(self.d)
        return self._log_normaliser + half * mean_log

    def generalized_mean(self, r: float | None = None) -> float:
        """Average density (integral f^{1-r})^{-1/r}; by default at the matching r_D, where it is the density at Q = d.

        RP 2.9: in one dimension that is f(loc + sigma). r = 0: exp(-entropy). 0 where the integral diverges.
        """
        r = self.risk if r is None else domain.above("r", r)
        if r == 0:
            return math.exp(-self.entropy())
        if r == self.risk:  # the closed form, continuous through kappa = 0
            return math.exp(self.logpdf_at(self.d))
        return math.exp(-(self._log_power_integral(1.0 - r) - (1.0 - r) * self._log_normaliser) / r)

    def _gamma_argument(self, power: float) -> float:
        """a of: integral (1 + kappa Q)_+^{-power (1/kappa + d)/2} = (pi/|kappa|)^{d/2} G(a)/G(a + d/2) sqrt det S."""
        k, d = self.kappa, self.d
        if k == 0:
            return math.inf
        scaled = (power * (1.0 + d * k) - d * k) / 2.0 if k > 0 else power * (1.0 + d * k) / 2.0 - k
        return scaled / abs(k)

    def _log_power_integral(self, power: float) -> float:
        k, d = self.kappa, self.d
        scaled = (power * (1.0 + d * k) - max(d * k, 0.0)) / 2.0 + max(-k, 0.0)  # |kappa| a, finite at kappa = 0
        if scaled <= 0:
            return math.inf
        return (
            d / 2.0 * math.log(math.pi / scaled)
            - _log_gamma_excess(self._gamma_argument(power), d)
            + (self._log_det / 2.0)
        )

    def _standard(self, x: ArrayLike) -> Array:
        if self.d > 1:
            raise ValueError(f"distribution functions and quantiles need one dimension; this has d = {self.d}")
        return np.asarray((np.asarray(x, dtype=np.float64) - self.loc.reshape(())) / self._root[0, 0])


class CoupledExponential(_Coupled):
    """Coupled exponential (generalized Pareto with shape kappa > -1): (1/scale)(1 + kappa z)_+^{-(1 + kappa)/kappa}.

    >>> e = CoupledExponential(0, 1, 0.5)
    >>> round(float(e.pdf(1.0)), 6), round(e.generalized_mean(), 6)
    (0.296296, 0.296296)
    """

    def __init__(self, loc: float = 0.0, scale: float = 1.0, kappa: float = 0.0) -> None:
        self.loc = float(domain.finite("loc", loc))
        self.scale = domain.above("scale", scale, 0.0)
        self.kappa = checked_coupling(kappa, 1)

    def __repr__(self) -> str:
        return f"CoupledExponential(loc={self.loc!r}, scale={self.scale!r}, kappa={self.kappa!r})"

    @property
    def risk(self) -> float:
        """r_D = -kappa / (1 + kappa)."""
        return risk_from_coupling(self.kappa, 1.0)

    def _standard(self, x: ArrayLike) -> Array:
        return np.asarray((np.asarray(x, dtype=np.float64) - self.loc) / self.scale)

    def logpdf(self, x: ArrayLike) -> Array:
        z = self._standard(x)
        inside = -(1.0 + self.kappa) * log_ratio(np.maximum(z, 0.0), self.kappa) - math.log(self.scale)
        return np.where(z >= 0, inside, -np.inf)[()]

    def logsf(self, x: ArrayLike) -> Array:
        return -log_ratio(np.maximum(self._standard(x), 0.0), self.kappa)

    def sf(self, x: ArrayLike) -> Array:
        return np.exp(self.logsf(x))

    def cdf(self, x: ArrayLike) -> Array:
        return -np.expm1(self.logsf(x))

    def ppf(self, q: ArrayLike) -> Array:
        with np.errstate(divide="ignore"):
            return self.loc + self.scale * power_ratio(-np.log1p(-np.asarray(q, dtype=np.float64)), self.kappa)

    def isf(self, q: ArrayLike) -> Array:
        with np.errstate(divide="ignore"):
            return self.loc + self.scale * power_ratio(-np.log(np.asarray(q, dtype=np.float64)), self.kappa)

    def support(self) -> tuple[float, float]:
        return self.loc, self.loc + (self.scale / -self.kappa if self.kappa < 0 else math.inf)

    def rvs(self, size: int | tuple[int, ...] | None = None, random_state: Draws = None) -> float | Array:
        hazard = _generator(random_state).standard_exponential(size)  # -ln of the survival probability
        return self.loc + self.scale * power_ratio(hazard, self.kappa)

    def mean(self) -> float:
        return self.loc + self.scale / (1.0 - self.kappa) if self.kappa < 1 else math.inf

    def median(self) -> float:
        return float(self.ppf(0.5))

    def var(self) -> float:
        if self.kappa >= 0.5:
            return math.inf
        return self.scale**2 / ((1.0 - self.kappa) ** 2 * (1.0 - 2.0 * self.kappa))

    def std(self) -> float:
        return math.sqrt(self.var())

    def entropy(self) -> float:
        """Differential (Shannon) entropy in nats: ln scale + 1 + kappa."""
        return math.log(self.scale) + 1.0 + self.kappa

    def generalized_mean(self, r: float | None = None) -> float:
        """Average density (integral f^{1-r})^{-1/r}; by default at the matching r_D, where it is f(loc + scale)."""
        r = self.risk if r is None else domain.above("r", r)
        if r == 0:
            return math.exp(-self.entropy())
        if r == self.risk:
            return float(self.pdf(self.loc + self.scale))
        inverse = (1.0 + self.kappa) * (1.0 - r) - self.kappa  # 1 / integral of the standard density to the 1 - r
        return 0.0 if inverse <= 0 else math.exp(math.log(inverse) / r) / self.scale


# ---- terms that stay exact near kappa = 0 ---------------------------------------------------------------------------


def _log_gamma_excess(a: float, d: int) -> float:
    """ln G(a + d/2) - ln G(a) - (d/2) ln a without cancellation: tends to 0 as a grows."""
    whole = sum(math.log1p(i / a) for i in range(d // 2))
    if d % 2 == 0:
        return whole
    b = a + d // 2
    if b < 20:
        half = math.lgamma(b + 0.5) - math.lgamma(b) - math.log(b) / 2.0
    else:  # the asymptotic series of G(b + 1/2)/G(b); its next term is below 1e-16 from b = 20
        t = (1.0 / b) ** 2
        half = -(1 / 8 - t * (1 / 192 - t * (1 / 640 - t * (17 / 14336 - t * (31 / 18432 - t * 691 / 180224))))) / b
    return whole + math.log1p(d // 2 / a) / 2.0 + half


def _digamma_step(a: float, d: int) -> float:
    """psi(a + d/2) - psi(a) without cancellation: tends to d/(2a)."""
    whole = sum(1.0 / (a + i) for i in range(d // 2))
    if d % 2 == 0:
        return whole
    b = a + d // 2
    if b < 20:
        from scipy.special import digamma

        return whole + float(digamma(b + 0.5) - digamma(b))
    t = (1.0 / b) ** 2
    series = 1 / 8 - t * (1 / 64 - t * (1 / 128 - t * (17 / 2048 - t * (31 / 2048 - t * 691 / 16384))))
    return whole + 0.5 / b + series * t


def _cholesky(matrix: Array) -> Array:
    if not np.allclose(matrix, matrix.T, rtol=1e-10, atol=0.0):
        raise ValueError(f"scale: matrix is not symmetric: {matrix.tolist()}")
    try:
        return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        raise ValueError(
            f"scale: matrix is not positive definite (smallest eigenvalue {smallest:g}): {matrix.tolist()}"
        ) from None


def _generator(random_state: Draws) -> Any:
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        return random_state
    return np.random.default_rng(random_state)
