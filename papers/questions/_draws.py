"""What the studies share: means and shares over draws with intervals, as JSON values and as text."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import ArrayLike

from veracity.types import Array

Z = 1.959964  # 95 %


def over_draws(values: ArrayLike, digits: int = 5) -> dict[str, float]:
    """Return mean and 95 % interval over draws."""
    held = np.asarray(values, dtype=np.float64)
    centre = float(held.mean())
    half = Z * float(held.std(ddof=1)) / math.sqrt(len(held)) if len(held) > 1 else 0.0
    return {
        "mean": round(centre, digits), "low": round(centre - half, digits), "high": round(centre + half, digits)
    }  # fmt: skip


def share(hits: ArrayLike, digits: int = 4) -> dict[str, float]:
    """Return the share of draws that hit, with Wilson's 95 % interval."""
    held = np.asarray(hits, dtype=np.float64)
    n, p = len(held), float(held.mean())
    middle = (p + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z * math.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
    return {
        "mean": round(p, digits), "low": round(middle - half, digits), "high": round(middle + half, digits)
    }  # fmt: skip


def text_of(value: dict[str, float], digits: int = 3, scale: float = 1.0) -> str:
    """Return a mean with its interval as text."""
    mean, low, high = (scale * value[key] for key in ("mean", "low", "high"))
    return f"{mean:.{digits}f} ({low:.{digits}f} … {high:.{digits}f})"


def percents(value: dict[str, float]) -> str:
    """Return a share with its interval in percent."""
    return f"{100 * value['mean']:.0f} % ({100 * value['low']:.0f}–{100 * value['high']:.0f})"


def softmax(z: Array) -> Array:
    """Return rows of probabilities in proportion to e^z."""
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def outcomes_of(q: Array, generator: np.random.Generator, draws: int | None = None) -> Any:
    """Return one outcome per row of q, (n,) or (draws, n)."""
    shape = (len(q),) if draws is None else (draws, len(q))
    cuts = q.cumsum(axis=1)[:, :-1]
    return (generator.random(shape)[..., None] > cuts).sum(axis=-1)


def panels(*charts: Any, columns: int = 3) -> Any:
    """Return charts with the same lines beside one another, with one legend."""
    return alt.concat(*charts, columns=columns).resolve_scale(color="shared", strokeDash="shared")
