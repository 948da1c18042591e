"""Results filled by hand from forecasts and outcomes: pages are tested without the estimators behind them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from veracity.data import Finding
from veracity.data import records as r
from veracity.data.reading import Reading, consistency_band, wilson

FLOORS = (0.05, 0.01, 0.005, 0.001, 0.0)
GRID = tuple(float(x) for x in np.linspace(-2, 2, 37))


@dataclass(frozen=True)
class Result:
    """The attributes of an assessment."""

    n: int
    classes: tuple[str, ...]
    scores: Any = None
    skill: Any = None
    baseline: Any = None
    reported: Any = None
    expected: Any = None
    measured: Any = None
    divergence: Any = None
    slope: Any = None
    verdict: str | None = None
    verdict_detail: Any = None
    risk_profile: Any = None
    floors: tuple[Any, ...] = ()
    bins: tuple[Any, ...] = ()
    curves: Any = None
    by_rule: dict[str, Any] = field(default_factory=dict)
    terms: dict[str, Any] = field(default_factory=dict)
    decomposed_profile: Any = None
    corp: Any = None
    calibration_error: Any = None
    adjustment: Any = None
    remedies: tuple[Any, ...] = ()
    per_class: Any = None
    groups: dict[str, Any] = field(default_factory=dict)
    surprises: tuple[Any, ...] = ()
    findings: tuple[Finding, ...] = ()
    provenance: Any = None
    model: str | None = None
    level: float = 0.95
    floor: float = 0.0

    def losses(self, rule: str) -> Any:
        return self.by_rule.get(rule)

    def decomposition(self, rule: str) -> Any:
        return self.terms.get(rule)

    def document(self) -> dict[str, Any]:
        def plain(held: Any) -> Any:
            if isinstance(held, Reading):
                return held.to_dict()
            return {name: plain(one) for name, one in held.items()} if hasattr(held, "items") else held

        names = ("scores", "skill", "reported", "expected", "measured", "slope")
        return {"n": self.n, **{name: plain(getattr(self, name)) for name in names if getattr(self, name) is not None}}


@dataclass(frozen=True)
class Several:
    models: dict[str, Result]


def mean_reading(x: Any, scale: Callable[[float], float] = lambda m: m) -> Reading:
    x = np.asarray(x, dtype=float)
    m = float(x.mean())
    if not math.isfinite(m):
        return Reading(scale(m), reason="infinite: no interval")
    half = 1.96 * float(x.std()) / math.sqrt(len(x))
    low, high = sorted((scale(m - half), scale(m + half)))
    return Reading(scale(m), low, high, "delta method")


def power_mean(p: Any, e: float) -> float:
    with np.errstate(divide="ignore"):
        return float(np.exp(np.log(p).mean())) if e == 0 else float((p**e).mean() ** (1 / e))


def expected_mean(p: Any, e: float) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        if e == 0:
            return float(np.exp(np.where(p > 0, p * np.log(p), 0.0).sum(1).mean()))
        return float((np.where(p > 0, p ** (1 + e), 0.0).sum(1).mean()) ** (1 / e))


def means(value: Callable[[float], float], interval: bool = True) -> r.Means:
    def reading(e: float) -> Reading:
        v = value(e)
        return Reading(v, max(v - 0.02, 0), min(v + 0.02, 1), "delta method") if interval else Reading(v)

    return r.Means(reading(1.0), reading(0.0), reading(-2 / 3))


def curve(stated: Any, true: Any, bins: int = 10) -> tuple[r.CurvePoint, ...]:
    points = []
    cell = np.minimum((stated * bins).astype(int), bins - 1)
    for b in range(bins):
        inside = cell == b
        if inside.any():
            n, forecast, observed = int(inside.sum()), float(stated[inside].mean()), float(true[inside].mean())
            low, high = consistency_band(np.array([forecast]), np.array([float(n)]), 0.95)
            ends = wilson(observed, n, 0.95)
            true_count = int(true[inside].sum())
            point = (b / bins, (b + 1) / bins, n, true_count, forecast, observed, *ends, float(low[0]), float(high[0]))
            points.append(r.CurvePoint(*point))
    return tuple(points)


def calibrated_loss(stated: Any, true: Any, loss: Any) -> Any:
    """Realised probabilities after replacing each by the frequency in its bin."""
    points = curve(stated, true, 10)
    observed = {round(p.low * 10): p.observed for p in points}
    return np.array([observed[min(int(s * 10), 9)] for s in stated])


def make(y: Any, p: Any, classes: Any, *, groups: Any = None, model: str | None = None, **changes: Any) -> Result:
    """Fill a result from outcomes (codes) and probabilities (n, k)."""
    y, p = np.asarray(y), np.asarray(p, dtype=float)
    n, k = p.shape
    classes = tuple(map(str, classes))
    realised, hot = p[np.arange(n), y], np.eye(k)[y]
    with np.errstate(divide="ignore"):
        log = -np.log(realised)
    brier = ((p - hot) ** 2).sum(1)
    pick = p.argmax(1)
    prior = hot.mean(0)
    base_log, base_brier = float(-(prior[prior > 0] * np.log(prior[prior > 0])).sum()), float(1 - (prior**2).sum())
    accuracy = Reading(float((pick == y).mean()), *wilson(float((pick == y).mean()), n, 0.95), "Wilson")
    two = {"half_brier": mean_reading(brier / 2), "auc": Reading(0.8, 0.75, 0.85, "DeLong")} if k == 2 else {}
    spherical = mean_reading(1 - realised / np.sqrt((p**2).sum(1)))
    scores = r.Scores(
        mean_reading(log), mean_reading(brier), spherical=spherical, accuracy=accuracy,
        perplexity=mean_reading(log, np.exp), **two,
    )  # fmt: skip

    def saved(loss: Reading, base: float) -> Reading:
        if not math.isfinite(loss):
            return Reading(-math.inf, reason="infinite: no interval")
        return Reading(1 - loss / base, 1 - loss.high / base, 1 - loss.low / base, "delta method")

    top, right = p.max(1), pick == y
    stated, happened = (p[:, 1], y == 1) if k == 2 else (top, right)
    expected, reported = means(lambda e: expected_mean(p, e)), means(lambda e: power_mean(realised, e))
    entries, truth = p.ravel(), hot.ravel()
    cell = np.minimum((entries * 20).astype(int), 19)
    share = np.array([truth[cell == b].mean() if (cell == b).any() else 0.0 for b in range(20)])
    source = np.maximum(share[cell].reshape(n, k)[np.arange(n), y], 1e-3)
    measured = means(lambda e: power_mean(source, e))
    g = np.log(np.maximum(p, 1e-4))
    excess = g[np.arange(n), y] - (p * g).sum(1)
    z = float(excess.mean() / (excess.std() / math.sqrt(n)))
    direction = "over-confident" if z < 0 else "under-confident"
    state = "found" if abs(z) > 2.5 else "none found"
    word = direction if state == "found" else "no miscalibration found"
    zeros = int((realised == 0).sum())
    points = curve(stated, happened)
    said = max(points, key=lambda q: q.count * abs(q.forecast - q.observed))
    sentence = (
        f"**{direction.capitalize()}.** When it says {said.low:.0%}–{said.high:.0%}, it happens {said.observed:.0%} of the time."
        if state == "found"
        else "**No miscalibration found.** With these cases, errors above 4 % of the loss would show."
    )
    ruled = [f"**It ruled out what happened in {zeros} of {n} cases**, so its log loss is infinite."] if zeros else []
    slope = Reading(
        float(np.clip(1 + z / 20, 0.2, 3)),
        float(np.clip(1 + z / 20, 0.2, 3)) - 0.06,
        float(np.clip(1 + z / 20, 0.2, 3)) + 0.06,
    )
    detail = r.Verdict(
        word, state, r.LevelTest(0.4), r.ConfidenceTest(0.001 if state == "found" else 0.4, direction),
        r.ShapeTest(0.3), slope, None, None, Reading(0.1, 0.05, 0.2), 0.02, zeros,
        method="999 draws from the forecasts", sentences=(*ruled, sentence),
    )  # fmt: skip
    total = float(log.mean())
    cl = max(0.0, 0.15 * total) if state == "found" and math.isfinite(total) else 0.0
    gain = r.Gain(cl, cl * 0.8, cl * 1.2, 0.15) if cl else r.Gain(-0.002, -0.004, 0.001, 0.0)
    flat = r.Gain(-0.01, -0.02, -0.005, -0.01)
    remedies = (
        r.Remedy(
            "temperature",
            "temperature 1.9",
            "labels",
            gain,
            gain,
            "veracity calibrate fit FILE --map temperature -o map.json",
            n,
            5,
        ),
        r.Remedy("isotonic", "isotonic", "labels", flat, flat, None, n, 5),
    )

    def losses(whole: Reading, part: float) -> r.Losses:
        unknown = Reading(math.nan, reason="needs the ideal probabilities", known=False)
        zero, rest = Reading(0.0), Reading(float(whole) - part)
        return r.Losses(
            whole,
            zero,
            Reading(part, part * 0.8, None),
            Reading(part, part * 0.8, part * 1.3, "cross-fitted pool"),
            unknown,
            unknown,
            unknown,
            unknown,
            rest,
            whole,
            zero,
        )

    profile = np.array(GRID)
    shares = r.DecomposedProfile(
        tuple(float(x) for x in np.linspace(-2 / 3, 2, 25)),
        adjustment=(0.02,) * 25, post_calibration=(0.08,) * 25, refinement=(0.6,) * 25,
    )  # fmt: skip
    with np.errstate(divide="ignore"):
        given = tuple(power_mean(realised, e) for e in profile)
    calibration = float(np.mean(np.abs(stated - happened.mean())))
    error = r.CalibrationError(0.05 + 0 * calibration, 0.04, 0.06, "bootstrap", 0.018, 0.03, 0.2, 15)
    order = np.argsort(realised, kind="stable")[:10]
    unc, res, rel = Reading(base_log), Reading(0.3), Reading(0.05)
    made = Result(
        n, classes, scores, r.Skill(saved(scores.log_loss, base_log), saved(scores.brier, base_brier)),
        r.Baseline(base_log, base_brier, base_brier / 2 if k == 2 else None, None, float(prior.max())),
        reported, expected, measured, None, Reading(0.7, 0.6, 0.8), word, detail,
        r.RiskProfile(
            GRID, tuple(expected_mean(p, e) if e > -1 else math.nan for e in GRID), None, None, given,
            tuple(x * 0.95 for x in given), tuple(min(x * 1.05, 1) for x in given),
            tuple(power_mean(source, e) for e in GRID), None, None,
        ),
        tuple(r.FloorMeans(f, *(power_mean(np.maximum(realised, f), e) for e in (1.0, 0.0, -2 / 3))) for f in FLOORS),
        tuple(
            r.Bin(b / 20, (b + 1) / 20, int((cell == b).sum()), int(truth[cell == b].sum()), float(entries[cell == b].mean()),
                  float(share[b]), 0.01 * b, 0.02)
            for b in range(20) if (cell == b).any()
        ),
        r.Curves(
            curve(entries, truth), curve(top, right), {c: curve(p[:, j], y == j) for j, c in enumerate(classes[:50])},
            tuple(r.HistogramBar(b / 20, (b + 1) / 20, int(((stated * 20).astype(int) == b).sum())) for b in range(20)),
            (r.RocPoint(math.inf, 0, 0), r.RocPoint(0.5, 0.2, 0.7), r.RocPoint(0.0, 1, 1)) if k == 2 else (),
        ),
        {"log": losses(scores.log_loss, cl), "brier": losses(scores.brier, 0.0)},
        {"log": r.Decomposition(unc, res, rel, Reading(0.0), "bins"), "brier": r.Decomposition(unc, res, rel, Reading(0.0), "bins")},
        shares, None,
        r.CalibrationErrors(error, error if k > 2 else None, error), None, remedies,
        {c: r.ClassReading(int(hot[:, j].sum()), float(p[:, j].mean()), float(prior[j]), Reading(0.9), 0.1, 0.5) for j, c in enumerate(classes)},
        {}, tuple(r.Surprise(int(i) + 1, classes[y[i]], float(realised[i])) for i in order),
        (), r.Provenance("veracity assess x.csv", "2026-11-17T10:00:00", "2.0.0", "native", "local",
                         ({"path": "x.csv", "rows": n},), {"outcome": "label", "forecast": "p_*"}, {"map": "auto"}, 0.2),
        model,
    )  # fmt: skip
    for column, values in (groups or {}).items():
        values = np.asarray(values)
        levels = {}
        for level in dict.fromkeys(values.tolist()):
            part = make(y[values == level], p[values == level], classes)
            own = (
                r.ClassLevel(float(p[values == level][:, 1].mean()), float((y[values == level] == 1).mean()), 0.3)
                if k == 2
                else None
            )
            levels[str(level)] = r.Level(
                part.n, part.scores, part.reported, part.expected, part.measured, part.slope, part.verdict, own
            )
        worst = max(levels, key=lambda name: float(levels[name].scores.log_loss))
        made.groups[column] = r.Group(levels, r.Difference(0.004, "permuted labels"), worst)
    return replace(made, **changes)


def forecasts(kind: str = "over", n: int = 600, k: int = 2, seed: int = 3) -> tuple[Any, Any]:
    """Outcomes and probabilities: over- or under-confident, biased or calibrated."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(k, 0.9), n)
    y = (rng.random((n, 1)) > truth.cumsum(1)[:, :-1]).sum(1)
    power = {"over": 2.2, "under": 0.5}.get(kind, 1.0)
    p = truth**power
    if kind == "biased":
        p = p * np.linspace(1, 4, k)
    return y, p / p.sum(1, keepdims=True)


@pytest.fixture(scope="session")
def filled() -> Callable[..., Result]:
    """A function that fills a result: filled("over", k=3, groups=True, classes=…)."""

    def fill(
        kind: str = "over",
        n: int = 600,
        k: int = 2,
        seed: int = 3,
        classes: Any = None,
        groups: Any = None,
        **changes: Any,
    ) -> Result:
        y, p = forecasts(kind, n, k, seed)
        named = classes or (("no", "yes") if k == 2 else [f"class {i}" for i in range(k)])
        sites = {"site": np.array(["north", "south", "west"])[np.arange(n) % 3]} if groups is True else groups
        return make(y, p, named, groups=sites, **changes)

    return fill
