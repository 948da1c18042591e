"""Assessments whose sections a test may replace, and forecasts with known faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import veracity as vc
from veracity.records.findings import Finding
from veracity.results.assessment import Assessment


@dataclass(frozen=True, eq=False, repr=False)
class Result(Assessment):
    """An assessment whose sections are plain fields, so that `replace` can change one of them."""

    n: int = 0
    classes: tuple[str, ...] = ()
    scores: Any = None
    skill: Any = None
    baseline: Any = None
    reported: Any = None
    expected: Any = None
    measured: Any = None
    divergence: Any = None
    papers: Any = None
    source: Any = None
    source_divergence: Any = None
    calibration_slope: Any = None
    spread_ratio: Any = None
    verdict: str = ""
    verdict_detail: Any = None
    risk_profile: Any = None
    floors: tuple[Any, ...] = ()
    bins: tuple[Any, ...] = ()
    curves: Any = None
    _losses_by_rule: Any = None
    _decompositions: Any = None
    decomposed_profile: Any = None
    corp: Any = None
    calibration_error: Any = None
    adjustment: Any = None
    remedies: tuple[Any, ...] = ()
    advice: Any = None
    per_class: Any = None
    groups: Any = None
    windows: tuple[Any, ...] = ()
    drift: Any = None
    decisions: Any = None
    surprises: tuple[Any, ...] = ()
    findings: tuple[Finding, ...] = ()
    level: float = 0.95
    floor: float = 0.0


def sections_of(a: vc.Assessment) -> Result:
    """Return the sections of an assessment, each computed."""
    return Result(**{field.name: getattr(a, field.name) for field in fields(Result)})


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


@lru_cache(maxsize=64)
def _assessed(
    kind: str, n: int, k: int, seed: int, classes: tuple[str, ...], groups: tuple[str, tuple[str, ...]] | None
) -> Result:
    y, p = forecasts(kind, n, k, seed)
    held = None if groups is None else {groups[0]: np.array(groups[1])}
    return sections_of(vc.assess(np.array(classes, dtype=object)[y], p, labels=list(classes), groups=held))


@pytest.fixture(scope="session")
def filled() -> Callable[..., Result]:
    """A function that assesses forecasts with a known fault: filled("over", k=3, groups=True, classes=…)."""

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
        named = tuple(classes or (("no", "yes") if k == 2 else [f"class {i}" for i in range(k)]))
        if given is not None:
            y, p = given
            return replace(sections_of(vc.assess(np.array(named, dtype=object)[y], p, labels=list(named))), **changes)
        if groups is True:
            groups = {"site": np.array(["north", "south", "west"])[np.arange(n) % 3]}
        held = next(((str(name), tuple(map(str, values))) for name, values in (groups or {}).items()), None)
        return replace(_assessed(kind, n, k, seed, named, held), **changes)

    return fill


@pytest.fixture(scope="session")
def in_time() -> dict[str, Any]:
    """The sections of forecasts in windows of time."""
    y, p = forecasts("over")
    a = vc.assess(y, p, time=np.datetime64("2024-01-01") + np.arange(len(y)), window="100")
    return {"windows": a.windows, "drift": a.drift}
