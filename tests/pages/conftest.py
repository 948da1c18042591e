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
from veracity.data.reading import Reading
from veracity.formulas.intervals import consistency_band, wilson

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


def scored(y: Any, p: Any) -> tuple[r.Scores, r.Skill, r.Baseline]:
    """Scores with intervals, beside those of the class frequencies."""
    n, k = p.shape
    realised, hot = p[np.arange(n), y], np.eye(k)[y]
    with np.errstate(divide="ignore"):
        log = -np.log(realised)
    brier, right = ((p - hot) ** 2).sum(1), float((p.argmax(1) == y).mean())
    scores = r.Scores(
        mean_reading(log),
        mean_reading(brier),
        half_brier=mean_reading(brier / 2) if k == 2 else None,
        spherical=mean_reading(1 - realised / np.sqrt((p**2).sum(1))),
        accuracy=Reading(right, *wilson(right, n, 0.95), "Wilson"),
        perplexity=mean_reading(log, np.exp),
        auc=Reading(0.8, 0.75, 0.85, "DeLong") if k == 2 else None,
    )
    prior = hot.mean(0)
    seen = prior[prior > 0]
    base = r.Baseline(
        float(-(seen * np.log(seen)).sum()),
        float(1 - (prior**2).sum()),
        half_brier=float(1 - (prior**2).sum()) / 2 if k == 2 else None,
        accuracy=float(prior.max()),
    )

    def saved(loss: Any, base: Any) -> Reading:
        if not math.isfinite(loss):
            return Reading(-math.inf, reason="infinite: no interval")
        return Reading(1 - loss / base, 1 - loss.high / base, 1 - loss.low / base, "delta method")

    return scores, r.Skill(saved(scores.log_loss, base.log_loss), saved(scores.brier, base.brier)), base


def judged(y: Any, p: Any, points: tuple[r.CurvePoint, ...]) -> r.Verdict:
    """Over- or under-confident by the sign of realised minus expected ln p, where it exceeds 2.5 standard errors."""
    n, rows = len(y), np.arange(len(y))
    g = np.log(np.maximum(p, 1e-4))
    excess = g[rows, y] - (p * g).sum(1)
    z = float(excess.mean() / (excess.std() / math.sqrt(n)))
    direction, found = "over-confident" if z < 0 else "under-confident", abs(z) > 2.5
    zeros, slope = int((p[rows, y] == 0).sum()), float(np.clip(1 + z / 20, 0.2, 3))
    gap = max(points, key=lambda q: q.count * abs(q.forecast - q.observed))
    said = "**No miscalibration found.** With these cases, errors above 4 % of the loss would show."
    if found:
        where = f"When it says {gap.low:.0%}–{gap.high:.0%}, it happens {gap.observed:.0%} of the time."
        said = f"**{direction.capitalize()}.** {where.replace('%', ' %')}"
    ruled = [f"**It ruled out what happened in {zeros} of {n} cases**, so its log loss is infinite."] if zeros else []
    return r.Verdict(
        direction if found else "no miscalibration found",
        "found" if found else "none found",
        r.LevelTest(0.4),
        r.ConfidenceTest(0.001 if found else 0.4, direction),
        r.ShapeTest(0.3),
        Reading(slope, slope - 0.06, slope + 0.06),
        None,
        None,
        Reading(0.1, 0.05, 0.2),
        0.02,
        zeros,
        method="999 draws from the forecasts",
        sentences=(*ruled, said),
    )


def lost(whole: Reading, part: float) -> r.Losses:
    unknown = Reading(math.nan, reason="needs the ideal probabilities", known=False)
    missing = dict.fromkeys(("GL", "IL", "EL", "PEL"), unknown)
    cl = Reading(part, part * 0.8, part * 1.3, "cross-fitted pool")
    zero, rest = Reading(0.0), Reading(float(whole) - part)
    return r.Losses(L=whole, AL=zero, PCL=Reading(part), CL=cl, RL=rest, PL=whole, remainder=zero, **missing)


def remedied(n: int, gain: float) -> tuple[r.Remedy, ...]:
    command = "veracity calibrate fit FILE --map temperature -o map.json"
    best = r.Gain(gain, gain * 0.8, gain * 1.2, 0.15) if gain else r.Gain(-0.002, -0.004, 0.001, 0.0)
    flat = r.Gain(-0.01, -0.02, -0.005, -0.01)
    return (
        r.Remedy("temperature", "temperature 1.9", "labels", best, best, command, n, 5),
        r.Remedy("isotonic", "isotonic", "labels", flat, flat, None, n, 5),
    )


def make(y: Any, p: Any, classes: Any, *, groups: Any = None, **changes: Any) -> Result:
    """Fill a result from outcomes (codes) and probabilities (n, k)."""
    y, p = np.asarray(y), np.asarray(p, dtype=float)
    n, k = p.shape
    classes = tuple(map(str, classes))
    realised, hot = p[np.arange(n), y], np.eye(k)[y]
    stated, happened = (p[:, 1], y == 1) if k == 2 else (p.max(1), p.argmax(1) == y)
    entries, truth = p.ravel(), hot.ravel()
    cell = np.minimum((entries * 20).astype(int), 19)
    share = np.array([truth[cell == b].mean() if (cell == b).any() else 0.0 for b in range(20)])
    source = np.maximum(share[cell].reshape(n, k)[np.arange(n), y], 1e-3)
    scores, skill, baseline = scored(y, p)
    detail = judged(y, p, curve(stated, happened))
    gain = 0.15 * float(scores.log_loss) if detail.state == "found" and math.isfinite(scores.log_loss) else 0.0
    given = tuple(power_mean(realised, e) for e in GRID)
    terms = r.Decomposition(Reading(baseline.log_loss or 0.0), Reading(0.3), Reading(0.05), Reading(0.0), "bins")
    error = r.CalibrationError(0.05, 0.04, 0.06, "bootstrap", 0.018, 0.03, 0.2, 15)
    made = Result(
        n,
        classes,
        scores,
        skill,
        baseline,
        reported=means(lambda e: power_mean(realised, e)),
        expected=means(lambda e: expected_mean(p, e)),
        measured=means(lambda e: power_mean(source, e)),
        slope=Reading(0.7, 0.6, 0.8),
        verdict=detail.word,
        verdict_detail=detail,
        risk_profile=r.RiskProfile(
            GRID,
            expected=tuple(expected_mean(p, e) if e > -1 else math.nan for e in GRID),
            expected_low=None,
            expected_high=None,
            reported=given,
            reported_low=tuple(x * 0.95 for x in given),
            reported_high=tuple(min(x * 1.05, 1) for x in given),
            measured=tuple(power_mean(source, e) for e in GRID),
            measured_low=None,
            measured_high=None,
        ),
        floors=tuple(
            r.FloorMeans(f, *(power_mean(np.maximum(realised, f), e) for e in (1.0, 0.0, -2 / 3))) for f in FLOORS
        ),
        bins=tuple(binned(b, entries[cell == b], truth[cell == b]) for b in range(20) if (cell == b).any()),
        curves=r.Curves(
            curve(entries, truth),
            curve(p.max(1), p.argmax(1) == y),
            {name: curve(p[:, j], y == j) for j, name in enumerate(classes[:50])},
            tuple(r.HistogramBar(b / 20, (b + 1) / 20, int(((stated * 20).astype(int) == b).sum())) for b in range(20)),
            (r.RocPoint(math.inf, 0, 0), r.RocPoint(0.5, 0.2, 0.7), r.RocPoint(0.0, 1, 1)) if k == 2 else (),
        ),
        by_rule={"log": lost(scores.log_loss, gain), "brier": lost(scores.brier or Reading(0.0), 0.0)},
        terms={"log": terms, "brier": terms},
        decomposed_profile=r.DecomposedProfile(
            tuple(float(x) for x in np.linspace(-2 / 3, 2, 25)),
            adjustment=(0.02,) * 25,
            post_calibration=(0.08,) * 25,
            refinement=(0.6,) * 25,
        ),
        calibration_error=r.CalibrationErrors(error, error if k > 2 else None, error),
        remedies=remedied(n, gain),
        per_class={
            name: r.ClassReading(
                int(hot[:, j].sum()), float(p[:, j].mean()), float(hot[:, j].mean()), Reading(0.9), 0.1, 0.5
            )
            for j, name in enumerate(classes)
        },
        surprises=tuple(
            r.Surprise(int(i) + 1, classes[y[i]], float(realised[i])) for i in np.argsort(realised, kind="stable")[:10]
        ),
        provenance=r.Provenance(
            command="veracity assess x.csv",
            date="2026-11-17T10:00:00",
            version="2.0.0",
            kernel="native",
            engine="local",
            inputs=({"path": "x.csv", "rows": n},),
            reading={"outcome": "label", "forecast": "p_*"},
            plan={"map": "auto"},
            seconds=0.2,
        ),
    )
    held = {str(column): grouped(y, p, classes, np.asarray(values)) for column, values in (groups or {}).items()}
    return replace(made, groups=held, **changes)


def binned(b: int, entries: Any, truth: Any) -> r.Bin:
    edges = b / 20, (b + 1) / 20
    model, source = float(entries.mean()), float(truth.mean())
    return r.Bin(*edges, len(truth), int(truth.sum()), model, source, 0.01 * b, 0.02, model, model)


def grouped(y: Any, p: Any, classes: Any, values: Any) -> r.Group:
    levels = {}
    for level in dict.fromkeys(values.tolist()):
        inside = values == level
        a = make(y[inside], p[inside], classes)
        event = r.ClassLevel(float(p[inside][:, 1].mean()), float((y[inside] == 1).mean()), 0.3)
        means_of = (a.reported, a.expected, a.measured)
        levels[str(level)] = r.Level(
            a.n, a.scores, *means_of, a.slope, str(a.verdict), event if len(classes) == 2 else None
        )
    worst = max(levels, key=lambda name: float(levels[name].scores.log_loss))
    return r.Group(levels, r.Difference(0.004, "permuted labels"), worst)


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
        given: Any = None,
        **changes: Any,
    ) -> Result:
        y, p = given or forecasts(kind, n, k, seed)
        named = classes or (("no", "yes") if k == 2 else [f"class {i}" for i in range(k)])
        sites = {"site": np.array(["north", "south", "west"])[np.arange(n) % 3]} if groups is True else groups
        return make(y, p, named, groups=sites, **changes)

    return fill
