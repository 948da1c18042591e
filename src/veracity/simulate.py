"""The papers' sources as forecasts, drawn with a seed.

>>> f = simulate("n17-matched", 4, seed=1)
>>> len(f), f.classes
(4, (0, 1))
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veracity.formulas.coupled import coupling_from_risk
from veracity.formulas.distributions import CoupledNormal
from veracity.formulas.rules import log
from veracity.inputs import Forecasts
from veracity.types import Array


@dataclass(frozen=True)
class Simulation:
    """A named source: `draw(n, generator)` returns forecasts; `n` is the default number of rows."""

    about: str
    n: int
    draw: Callable[[int, Generator], Forecasts]
    fixed: bool = False  # a table of the paper, always the same n rows


OWN = "n17"  # the source that takes parameters


def simulate(name: str, n: int | None = None, *, seed: int = 0, **parameters: Any) -> Forecasts:
    """Return n rows drawn from the source `name`; equal seeds give equal rows.

    "n17" takes the parameters of `OwnSource`, and its forecasts have the known posterior as `ideal`.

    >>> f = simulate("n17", 3, kappa=0.2, dimension=4, training=25)
    >>> f.matrix.shape, f.ideal.shape
    ((3, 2), (3, 2))
    """
    if name not in SIMULATIONS:
        from difflib import get_close_matches

        near = get_close_matches(name, SIMULATIONS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "`veracity simulate --list` prints all names"
        raise ValueError(f"name: no simulation {name!r}; {hint}")
    if parameters and name != OWN:
        raise ValueError(f"{next(iter(parameters))}: {name} has its own\n  only {OWN} takes parameters")
    source = SIMULATIONS[name]
    rows = source.n if n is None else n
    if rows < 1:
        raise ValueError(f"n: {n!r} rows; give at least 1")
    if source.fixed and rows != source.n:
        raise ValueError(f"n: {name} is a table of {source.n} rows, not {n}; leave n out")
    draw = OwnSource(**parameters).draw if name == OWN else source.draw
    return draw(rows, np.random.default_rng(seed))


# ---- N17 Figs 2–7: two classes on a line ----------------------------------------------------------------------------


@dataclass(frozen=True)
class TwoClasses:
    """Green (class 0) and orange (class 1) with equal priors: the true densities and the model's."""

    source: tuple[CoupledNormal, CoupledNormal]
    model: tuple[CoupledNormal, CoupledNormal]
    amplitude: float = 1.0  # factor on the model's orange density: a wrong prior

    def log_odds(self, x: Any) -> Any:
        """ln of the model's odds for orange."""
        return self.model[1].logpdf(x) - self.model[0].logpdf(x) + math.log(self.amplitude)

    def true_log_odds(self, x: Any) -> Any:
        return self.source[1].logpdf(x) - self.source[0].logpdf(x)

    def draw(self, n: int, generator: Generator) -> Forecasts:
        y = generator.integers(0, 2, n)
        green, orange = (density.rvs(n, generator) for density in self.source)
        return _from_log_odds(self.log_odds(np.where(y == 1, orange, green)), y)


def _from_log_odds(log_odds: Array, y: NDArray[np.int64]) -> Forecasts:
    """Return forecasts with both probabilities from the log odds: 1 - p would lose the small one."""
    p = np.exp(np.column_stack([-np.logaddexp(0.0, log_odds), -np.logaddexp(0.0, -log_odds)]))
    return Forecasts(probabilities=p, outcomes=y, classes=(0, 1))


def _on_line(*, kappa: float = 0.5, mean: float = 2.0, variance: float = 1.0, tail: float | None = None) -> TwoClasses:
    """N17's source with one error in the orange model."""
    source = (CoupledNormal(0.0, 1.0, kappa), CoupledNormal(2.0, 1.0, kappa))
    orange = CoupledNormal(mean, math.sqrt(variance), kappa if tail is None else tail)
    return TwoClasses(source, (source[0], orange))


def _both_tails(source: float, model: float) -> TwoClasses:
    return TwoClasses(
        (CoupledNormal(0.0, 1.0, source), CoupledNormal(2.0, 1.0, source)),
        (CoupledNormal(0.0, 1.0, model), CoupledNormal(2.0, 1.0, model)),
    )


_MATCHED = _on_line()
EXAMPLES: dict[str, tuple[str, TwoClasses]] = {
    "matched": ("Figs 2, 3: model = source", _MATCHED),
    "mean-1": ("Figs 4, 5a: orange mean 1 instead of 2", _on_line(mean=1.0)),
    "mean-3": ("Fig 5b: orange mean 3 instead of 2", _on_line(mean=3.0)),
    "variance-0.5": ("Fig 6a: orange variance 0.5 instead of 1", _on_line(variance=0.5)),
    "variance-2": ("Fig 6b: orange variance 2 instead of 1", _on_line(variance=2.0)),
    "tail-0": ("Figs 6c, 7: both models Gaussian, source kappa 0.5", _both_tails(0.5, 0.0)),
    "tail-0-orange": ("Fig 6c read literally: only the orange model Gaussian", _on_line(tail=0.0)),
    "tail-0.5": ("Fig 6d: Gaussian source, both models kappa 0.5", _both_tails(0.0, 0.5)),
    "tail-0.5-orange": ("Fig 6d read literally: only the orange model kappa 0.5", _on_line(kappa=0.0, tail=0.5)),
    "amplitude-0.5": ("orange density halved in the model", TwoClasses(_MATCHED.source, _MATCHED.model, 0.5)),
    "amplitude-2": ("orange density doubled in the model", TwoClasses(_MATCHED.source, _MATCHED.model, 2.0)),
}


# ---- N17 Fig 1, RP Figs 3–5: ten dimensions, few training points ----------------------------------------------------

TAILS = {"gaussian": 0.0, "heavy": -0.15, "compact": 0.6}  # r_D, the same in every dimension


@dataclass(frozen=True)
class Fitted:
    """Two coupled Gaussians with estimated parameters; the model of d dimensions uses the first d features."""

    means: tuple[Array, Array]
    scales: tuple[Array, Array]

    def distances(self, x: Array) -> tuple[Array, Array]:
        """(n, 10) squared distances from each class in the first 1, …, 10 features."""
        whitened = (
            (x - mean) @ np.linalg.inv(np.linalg.cholesky(scale)).T
            for mean, scale in zip(self.means, self.scales, strict=True)
        )
        green, orange = ((part**2).cumsum(axis=1) for part in whitened)  # the factor of a leading block leads too
        return green, orange

    def log_odds(self, distances: tuple[Array, Array], tail: str, d: int) -> Array:
        """ln of the odds for class 1 in d dimensions; even odds where both densities are zero."""
        kappa = coupling_from_risk(TAILS[tail], d=d)
        green, orange = (
            CoupledNormal(mean[:d], scale[:d, :d], kappa).logpdf_at(distance[:, d - 1])
            for mean, scale, distance in zip(self.means, self.scales, distances, strict=True)
        )
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(green) & np.isneginf(orange), 0.0, orange - green)


def ten_dimensions(
    generator: Generator, reading: str = "A", test: int = 1000
) -> tuple[Fitted, Array, NDArray[np.int64]]:
    """Return one draw of the experiment: the fitted models, the test points (2 × test, 10) and their classes.

    Reading A: 25 training points and a full covariance per class. B: 25 points in total (13 + 12) and one pooled
    covariance. Means 0 and 1 in every coordinate, unit variances (the papers leave these open; found by fit). C, to the
    letter: 25 points per class, and the variance of each dimension by itself.
    """
    if reading not in ("A", "B", "C"):
        raise ValueError(f"reading: {reading!r} is none of 'A', 'B' and 'C'")
    sizes = (13, 12) if reading == "B" else (25, 25)
    train = [generator.standard_normal((size, 10)) + label for label, size in enumerate(sizes)]
    means = tuple(part.mean(axis=0) for part in train)
    squares = [(part - mean).T @ (part - mean) for part, mean in zip(train, means, strict=True)]
    if reading == "A":
        scales = tuple(square / (size - 1) for square, size in zip(squares, sizes, strict=True))
    elif reading == "C":
        scales = tuple(np.diag(np.diag(square)) / (size - 1) for square, size in zip(squares, sizes, strict=True))
    else:
        scales = (sum(squares) / (sum(sizes) - 2),) * 2
    y = np.repeat([0, 1], test)
    x = generator.standard_normal((2 * test, 10)) + y[:, None]
    return Fitted(means, scales), x, y


def _few_points(n: int, generator: Generator, *, reading: str, tail: str, d: int) -> Forecasts:
    fitted, x, y = ten_dimensions(generator, reading, (n + 1) // 2)
    return _from_log_odds(fitted.log_odds(fitted.distances(x), tail, d)[:n], y[:n])


# ---- the same with own parameters -----------------------------------------------------------------------------------

DISTANCE = 2.0  # between the classes of the source, in every dimension


@dataclass(frozen=True)
class OwnSource:
    """Two coupled Gaussians at 0 and 2 with unit scale, and a model of them that errs as it is told to.

    kappa        coupling of the source; model_kappa that of the model, by default the same
    mean         of the model's second class, in every dimension; the source has 2
    variance     of the model's second class, the square of its scale; the source has 1
    amplitude    factor on the model's density of the second class
    training     points of each class from which the model takes its means and covariances instead
    """

    kappa: float = 0.5
    model_kappa: float | None = None
    mean: float = DISTANCE
    variance: float = 1.0
    amplitude: float = 1.0
    dimension: int = 1
    training: int | None = None

    def __post_init__(self) -> None:
        for name in ("variance", "amplitude"):
            if not 0.0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name}: {getattr(self, name):g} is not above 0\n  give a number such as 2")
        if self.dimension < 1:
            raise ValueError(f"dimension: {self.dimension} is not a whole number from 1")
        for name, kappa in (("kappa", self.kappa), ("model_kappa", self._kappa)):
            if not -1.0 / self.dimension < kappa < math.inf:
                least = f"{-1.0 / self.dimension:.4g}"
                what = f"{name}: {kappa:g} has no density in {self.dimension} dimension{'s' * (self.dimension > 1)}"
                raise ValueError(f"{what}\n  give a number above {least}")
        if self.training is None:
            return
        if (self.mean, self.variance) != (DISTANCE, 1.0):
            raise ValueError("training: mean and variance are estimated from it\n  leave them out, or training")
        if self.training < self.dimension + 2:
            what = f"training: {self.training} points have no covariance of {self.dimension} dimensions"
            raise ValueError(f"{what}\n  give at least {self.dimension + 2}")
        for name, kappa in (("kappa", self.kappa), ("model_kappa", self._kappa)):
            if kappa >= 0.5:
                what = f"{name}: {kappa:g} is without covariance, from which training takes the scale"
                raise ValueError(f"{what}\n  give a number below 0.5, or leave training out")

    @property
    def _kappa(self) -> float:
        return self.kappa if self.model_kappa is None else self.model_kappa

    def draw(self, n: int, generator: Generator) -> Forecasts:
        """Return the model's forecasts, with the posterior of the source as the ideal."""
        source = [CoupledNormal(np.full(self.dimension, centre), 1.0, self.kappa) for centre in (0.0, DISTANCE)]
        model = self._model(source, generator)
        y = generator.integers(0, 2, n)
        first, second = (np.asarray(density.rvs(n, generator)) for density in source)
        x = np.where(y == 1, second, first) if self.dimension == 1 else np.where((y == 1)[:, None], second, first)
        forecasts = _from_log_odds(_log_odds(model, x) + math.log(self.amplitude), y)
        return replace(forecasts, ideal=_from_log_odds(_log_odds(source, x), y).matrix)

    def _model(self, source: list[CoupledNormal], generator: Generator) -> list[CoupledNormal]:
        centres, scales = (
            (np.zeros(self.dimension), np.full(self.dimension, self.mean)),
            (1.0, math.sqrt(self.variance)),
        )
        if self.training is None:
            pairs: Any = zip(centres, scales, strict=True)
        else:
            drawn = [np.reshape(one.rvs(self.training, generator), (self.training, -1)) for one in source]
            covariances = [np.atleast_2d(np.cov(points, rowvar=False)) for points in drawn]
            # the covariance of a coupled Gaussian is its scale over 1 − 2κ
            pairs = [(x.mean(axis=0), c * (1.0 - 2.0 * self._kappa)) for x, c in zip(drawn, covariances, strict=True)]
        return [CoupledNormal(centre, scale, self._kappa) for centre, scale in pairs]


def _log_odds(densities: list[CoupledNormal], x: Array) -> Array:
    """Return ln of the odds for the second class; even odds where both densities are zero."""
    first, second = (np.asarray(density.logpdf(x)) for density in densities)
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(first) & np.isneginf(second), 0.0, second - first)


# ---- calibrated classifiers, and sharper ones -----------------------------------------------------------------------


def _outcomes(p: Array, generator: Generator) -> NDArray[np.int64]:
    """Return one class per row, drawn with the row's probabilities."""
    below = p.cumsum(axis=1) < generator.random((len(p), 1))
    return np.asarray(np.minimum(below.sum(axis=1), p.shape[1] - 1))


def _dirichlet(n: int, generator: Generator, *, k: int, concentration: float, sharpness: float) -> Forecasts:
    """Return Dirichlet rows with outcomes drawn from them; forecasts are rows to the power `sharpness`."""
    p = generator.dirichlet(np.full(k, concentration), n)
    y = _outcomes(p, generator)
    if sharpness != 1.0:
        p = log.inverse(sharpness * np.log(np.maximum(p, 1e-300)))  # a Dirichlet row may underflow to 0
    return Forecasts(probabilities=p, outcomes=y, classes=tuple(range(k)))


DISPERSION = 0.7  # spread of the log strength from image to image
ROWS_AT_ONCE = 2000


def _network(n: int, generator: Generator, *, k: int, strength: float, sharpness: float) -> Forecasts:
    """Return forecasts like those of a softmax network: normal logits times a strength that varies between images.

    Outcomes are drawn from the softmax. `strength` sets the share of correct picks; the reported softmax takes
    `sharpness` times the logits, so 1 is calibrated and 2 over-confident (temperature 1/2).
    """
    p, y = np.empty((n, k)), np.empty(n, dtype=np.int64)
    for start in range(0, n, ROWS_AT_ONCE):
        rows = slice(start, min(start + ROWS_AT_ONCE, n))
        size = rows.stop - start
        strengths = np.exp(strength + DISPERSION * generator.standard_normal((size, 1)))
        z = strengths * generator.standard_normal((size, k))
        y[rows] = _outcomes(log.inverse(z), generator)
        p[rows] = log.inverse(sharpness * z)
    return Forecasts(probabilities=p, outcomes=y, classes=tuple(range(k)))


@dataclass(frozen=True)
class Network:
    """A column of CQ Table 1: classes, accuracy, and the strength of the simulation that has it."""

    title: str
    k: int
    accuracy: float
    strength: float


NETWORKS = {
    "alexnet-gtsrb": Network("AlexNet, GTSRB", 43, 0.974, 4.33),
    "densenet-gtsrb": Network("DenseNet, GTSRB", 43, 0.948, 3.64),
    "alexnet-imagenet": Network("AlexNet, ImageNet", 1000, 0.568, 1.807),
    "densenet-imagenet": Network("DenseNet, ImageNet", 1000, 0.687, 2.194),
}


# ---- tables of HB17 and KF15 ----------------------------------------------------------------------------------------

# forecast categories from best to worst, outcomes no event and event
SCENARIOS = {
    "a": [[83, 56], [2, 12]],
    "b": [[64, 7], [2, 27]],
    "c1": [[98, 6], [18, 28]],
    "c2": [[9, 3], [3, 14]],
}


def _scenario(n: int, generator: Generator, *, name: str, trained_on: str) -> Forecasts:
    """Return the outcomes of a scenario with forecasts from the frequencies of one."""
    cells = np.array(SCENARIOS[name]).ravel()
    p = [events / (others + events) for others, events in SCENARIOS[trained_on]]
    return Forecasts(np.repeat(np.repeat(p, 2), cells), np.repeat([0, 1, 0, 1], cells), (0, 1))


KF15_FEATURES = np.array([[3, 2], [3, 2], [3, 1], [3, 1], [1, 1], [1, 1], [1, 1], [1, 1]])
KF15_OUTCOMES = np.array([0, 0, 0, 1, 0, 0, 1, 1])  # column numbers: class 1 is column 0
KF15_MODELS = {1: (0.3, 0.0), 2: (0.25, 0.15)}  # slope and intercept of S_1 in the first feature


def _kf15_model(n: int, generator: Generator, *, number: int) -> Forecasts:
    slope, intercept = KF15_MODELS[number]
    s = np.round(slope * KF15_FEATURES[:, 0] + intercept, 12)  # 0.9, not the float product 0.8999…
    p, q = np.column_stack([s, np.round(1.0 - s, 12)]), 0.5 * KF15_FEATURES[:, 1]
    ideal = np.column_stack([q, 1.0 - q])
    return Forecasts(p, KF15_OUTCOMES, ("first", "second"), ideal=ideal, features=KF15_FEATURES)


def random_task(generator: Generator, n: int, k: int) -> tuple[Array, Array]:
    """Return scores (n, k) and target (k,) of KF15 Table 4: uniform numbers, rows divided by their sum."""
    scores, target = generator.random((n, k)), generator.random(k)
    return scores / scores.sum(axis=1, keepdims=True), target / target.sum()


def _task(n: int, generator: Generator, *, k: int) -> Forecasts:
    scores, target = random_task(generator, n, k)
    y = _outcomes(np.broadcast_to(target, (n, k)), generator)
    return Forecasts(probabilities=scores, outcomes=y, classes=tuple(range(k)))


# ---- the registry ---------------------------------------------------------------------------------------------------


def _all() -> dict[str, Simulation]:
    named = {
        OWN: Simulation("N17's two classes with own --kappa, --mean, …; the posterior as ideal", 1000, OwnSource().draw)
    }
    named |= {f"n17-{name}": Simulation(f"N17 {about}", 1000, case.draw) for name, (about, case) in EXAMPLES.items()}
    for reading in ("A", "B"):
        for tail, r in TAILS.items():
            for d in (2, 4, 6, 8, 10):
                about = f"N17 Fig 1, {tail} model (r_D = {r:g}), {d} dimensions, reading {reading}"
                draw = partial(_few_points, reading=reading, tail=tail, d=d)
                named[f"n17-fig1-{reading.lower()}-{tail}-{d}"] = Simulation(about, 2000, draw)
    for k, concentration in ((2, 0.8), (3, 0.8), (10, 0.3)):
        for word, sharpness in (("calibrated", 1.0), ("sharp", 2.0), ("flat", 0.5)):
            about = f"Dirichlet({concentration:g}) forecasts of {k} classes, {word} (power {sharpness:g})"
            draw = partial(_dirichlet, k=k, concentration=concentration, sharpness=sharpness)
            named[f"dirichlet-{k}-{word}"] = Simulation(about, 1000, draw)
    for name, net in NETWORKS.items():
        for word, sharpness in (("calibrated", 1.0), ("sharp", 2.0)):
            about = f"softmax of {net.k} classes with the correct picks of CQ's {net.title}, {word}"
            draw = partial(_network, k=net.k, strength=net.strength, sharpness=sharpness)
            named[f"cq-{name}-{word}"] = Simulation(about, 5000, draw)
    tables = {f"hb17-{name}": (name, name, f"HB17 Table 1, scenario {name.upper()}") for name in SCENARIOS}
    tables["hb17-c2-from-c1"] = ("c2", "c1", "HB17 Fig 4: outcomes of C2, forecasts of C1")
    for key, (name, trained_on, about) in tables.items():
        draw = partial(_scenario, name=name, trained_on=trained_on)
        named[key] = Simulation(about, int(np.sum(SCENARIOS[name])), draw, fixed=True)
    for number in KF15_MODELS:
        draw = partial(_kf15_model, number=number)
        named[f"kf15-model-{number}"] = Simulation(f"KF15 Table 1, Model {number}", 8, draw, fixed=True)
    for k in (2, 10, 50):
        named[f"kf15-task-{k}"] = Simulation(f"KF15 Table 4: a random task of {k} classes", 1000, partial(_task, k=k))
    return named


SIMULATIONS = _all()
