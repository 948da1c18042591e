"""A classifier whose classes are coupled Gaussians, with the weight of their tails chosen by the data (N17, RP)."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.covariance import ledoit_wolf_shrinkage, shrunk_covariance
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from veracity.formulas.distributions import CoupledNormal
from veracity.types import Array

# None below 0: compact densities that win the cross-validation give some later case probability 0 (measured in
# papers/questions/kappa.py). Beyond 2 the loss is flat.
KAPPAS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 1.0, 2.0)


class CoupledGaussianClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Class densities are coupled Gaussians: Student's t (kappa > 0), Gaussian (0) or of compact support (below 0).

    f_k(x) ∝ (1 + κ Q_k)_+^{−(1/κ + d)/2}, Q_k = (x − mean_k)' scale_k⁻¹ (x − mean_k), with the mean and covariance of
    the class as location and scale (N17 eq. 14; RP 3.6). Means and covariances that were estimated from few cases
    report too much confidence far from the means; heavier tails take it back.

    Parameters
    ----------
    kappa : "cv" or float, default "cv"
        Coupling, above −1/d for d features; "cv" takes the one of `kappas` with the least cross-validated log loss.
    kappas : array-like, default None
        Candidates of "cv"; by default nine from 0 to 2. Compact ones, below 0, can give an outcome probability 0.
    covariance : "own" or "shared", default "own"
        One covariance for each class, or one for all.
    shrinkage : "auto", None or float, default "auto"
        Shrinkage of covariances towards the variances of all classes together: by Ledoit and Wolf, none (the papers'
        plain covariance), or from 0 to 1.
    priors : array-like of shape (n_classes,), default None
        Class probabilities; by default the class frequencies.
    cv : int, default 5
        Folds that choose kappa, drawn with `random_state`.
    random_state : int or RandomState, default 0

    Attributes
    ----------
    classes_, priors_ : arrays of shape (n_classes,)
    kappa_ : float
    kappas_, losses_ : arrays
        The candidates and their cross-validated log losses; empty where kappa was given.
    densities_ : list of CoupledNormal

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_t(2, (400, 2)) + np.repeat([[0.0], [2.0]], 200, axis=0)
    >>> fitted = CoupledGaussianClassifier().fit(x, np.repeat(["green", "orange"], 200))
    >>> fitted.kappa_ > 0, fitted.predict([[2.0, 2.0]]).tolist()
    (True, ['orange'])
    """

    def __init__(
        self,
        *,
        kappa: str | float = "cv",
        kappas: ArrayLike | None = None,
        covariance: str = "own",
        shrinkage: str | float | None = "auto",
        priors: ArrayLike | None = None,
        cv: int = 5,
        random_state: Any = 0,
    ) -> None:
        self.kappa = kappa
        self.kappas = kappas
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.priors = priors
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Estimate means and covariances of the classes, and choose kappa."""
        rows, outcomes = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(outcomes)
        self.classes_, labels = np.unique(outcomes, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y: one class only, {self.classes_.tolist()[0]!r}; give cases of at least two classes")
        self.priors_ = self._checked_priors(labels)
        candidates = self._checked_candidates(rows.shape[1])
        parameters = self._estimates(rows, labels, "")
        if self.kappa == "cv":
            self.kappas_ = candidates
            self.losses_ = self._cross_validated(rows, labels, candidates)
            best = np.flatnonzero(self.losses_ == self.losses_.min())
            self.kappa_ = float(candidates[best[np.argmin(np.abs(candidates[best]))]])
        else:
            self.kappas_, self.losses_ = np.empty(0), np.empty(0)
            self.kappa_ = float(candidates[0])
        self.densities_ = [CoupledNormal(mean, scale, self.kappa_) for mean, scale in parameters]
        return self

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Return (n, n_classes) logarithms of the class probabilities."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        logs = [density.logpdf_at(density.squared_distance(_points(rows, density))) for density in self.densities_]
        return _log_posterior(logs, self.priors_)

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return (n, n_classes) class probabilities; the priors where every density is 0."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: ArrayLike) -> Array:
        """Return the most probable class of each row."""
        picks = self.predict_log_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[picks])

    def _cross_validated(self, X: Array, labels: Array, candidates: Array) -> Array:
        """Return the mean log loss of held-out cases for each candidate; infinite where one had probability 0."""
        smallest = int(np.bincount(labels).min())
        folds = min(self.cv, smallest)
        split = StratifiedKFold(folds, shuffle=True, random_state=self.random_state)
        total = np.zeros(len(candidates))
        for train, held_out in split.split(X, labels):
            shapes = [
                (CoupledNormal(mean, scale), mean, scale)
                for mean, scale in self._estimates(X[train], labels[train], f" in {folds} folds")
            ]
            distances = [shape.squared_distance(_points(X[held_out], shape)) for shape, _, _ in shapes]
            outcomes = labels[held_out]
            for at, kappa in enumerate(candidates):
                logs = [
                    CoupledNormal(mean, scale, kappa).logpdf_at(distance)
                    for (_, mean, scale), distance in zip(shapes, distances, strict=True)
                ]
                total[at] -= _log_posterior(logs, self.priors_)[np.arange(len(outcomes)), outcomes].sum()
        return total / len(labels)

    def _estimates(self, X: Array, labels: Array, where: str) -> list[tuple[Array, Array]]:
        """Return mean and scale of each class; refuse covariances that cannot be inverted."""
        parts = [X[labels == k] for k in range(len(self.classes_))]
        means = [part.mean(axis=0) for part in parts]
        centred = [part - mean for part, mean in zip(parts, means, strict=True)]
        together = np.concatenate(centred)
        spread = np.sqrt((together**2).mean(axis=0))
        constant = np.flatnonzero(np.ptp(together, axis=0) == 0.0)
        if constant.size:
            raise ValueError(f"X: feature {constant[0]} is constant within every class{where}; leave it out")
        if self.covariance == "shared":
            scale = self._scale(together, spread, len(together) - len(parts), f"all {len(together)} cases{where}")
            return [(mean, scale) for mean in means]
        return [
            (mean, self._scale(rows, spread, len(rows) - 1, f"class {name!r} ({len(rows)} cases{where})"))
            for rows, mean, name in zip(centred, means, self.classes_.tolist(), strict=True)
        ]

    def _scale(self, centred: Array, spread: Array, freedom: int, of: str) -> Array:
        """Return the covariance of centred rows, shrunk as asked in units of `spread`."""
        if freedom < 1:
            raise ValueError(f"X: the covariance of {of} needs 2 cases or more; give more, or covariance='shared'")
        rows = centred / spread
        covariance = rows.T @ rows / freedom
        if self.shrinkage == "auto":
            covariance = shrunk_covariance(covariance, ledoit_wolf_shrinkage(rows, assume_centered=True))
        elif self.shrinkage is not None:
            covariance = shrunk_covariance(covariance, float(self.shrinkage))
        values = np.linalg.eigvalsh(covariance)
        if not values[0] > len(spread) * np.finfo(float).eps * values[-1]:
            raise ValueError(
                f"X: the covariance of {of} in {len(spread)} features is singular; give shrinkage='auto', "
                "covariance='shared' or fewer features"
            )
        return np.asarray(covariance * np.outer(spread, spread))

    def _checked_candidates(self, d: int) -> Array:
        """Return the couplings to try, each above −1/d."""
        if self.covariance not in ("own", "shared"):
            raise ValueError(f"covariance: {self.covariance!r} is neither 'own' nor 'shared'")
        shrinkage = self.shrinkage
        if not (shrinkage in (None, "auto") or (isinstance(shrinkage, int | float) and 0.0 <= shrinkage <= 1.0)):
            raise ValueError(f"shrinkage: {shrinkage!r}; give None, 'auto' or a number from 0 to 1")
        if not (isinstance(self.cv, int | np.integer) and self.cv >= 2):
            raise ValueError(f"cv: {self.cv!r}; give 2 folds or more, or a number as kappa")
        if self.kappa != "cv":
            wanted, name = np.atleast_1d(np.asarray(self.kappa)), "kappa"
        elif self.kappas is not None:
            wanted, name = np.atleast_1d(np.asarray(self.kappas)), "kappas"
        else:
            return np.array(KAPPAS)
        if wanted.ndim != 1 or wanted.size == 0 or wanted.dtype.kind not in "fiu":
            raise ValueError(f"{name}: {wanted.tolist()!r:.80}; give 'cv' or numbers above -1/{d}")
        bad = wanted[~(np.isfinite(wanted) & (wanted > -1.0 / d))]
        if bad.size:
            raise ValueError(
                f"{name}: {bad[0]:g} with {d} features; no density exists at or below -1/{d}: give more than "
                f"{-1.0 / d:.4g}"
            )
        return np.asarray(wanted, dtype=np.float64)

    def _checked_priors(self, labels: Array) -> Array:
        """Return the class probabilities given, or the class frequencies."""
        counts = np.bincount(labels)
        if self.priors is None:
            return np.asarray(counts / counts.sum())
        given = np.asarray(self.priors, dtype=np.float64)
        if given.shape != counts.shape or not (given > 0.0).all() or not math.isclose(given.sum(), 1.0, abs_tol=1e-8):
            raise ValueError(f"priors: {given.tolist()}; give {len(counts)} positive probabilities that sum to 1")
        return given


def _points(rows: Array, density: CoupledNormal) -> Array:
    return rows[:, 0] if density.d == 1 else rows


def _log_posterior(log_densities: list[Array], priors: Array) -> Array:
    """Return ln of prior times density over their sum; the priors where every density is 0."""
    joint = np.column_stack(log_densities) + np.log(priors)
    nowhere = np.isneginf(joint).all(axis=1)
    joint[nowhere] = np.log(priors)
    top = joint.max(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.asarray(joint - top - np.log(np.exp(joint - top).sum(axis=1, keepdims=True)))
