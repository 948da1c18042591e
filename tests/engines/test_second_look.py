"""The Newton steps of an adjustment are passes of the engine, and end where those in memory end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veracity import calibrators
from veracity.engines import Engine
from veracity.read import read


def test_adjustment_by_passes_equals_that_in_memory(
    engine: Any, folder: Callable[[str], Path], by_passes: Callable[[], None]
) -> None:
    files = [f for f in sorted(folder("grouped").iterdir()) if "03" not in f.name]
    (forecasts,) = read(files).values()
    expected = calibrators.fit("multiplicative", forecasts)
    by_passes()
    fitted = Engine(engine.name).recalibration(files).adjustment()
    # Both solve to |mean A − π| < 1e-12.
    np.testing.assert_allclose(fitted.weights, expected.weights, rtol=1e-9)
    adjusted = fitted(forecasts.matrix)
    np.testing.assert_allclose(adjusted.mean(axis=0), forecasts.prior, atol=1e-11)


def test_adjustment_to_a_class_ruled_out(folder: Callable[[str], Path], by_passes: Callable[[], None]) -> None:
    files = [f for f in sorted(folder("grouped").iterdir()) if "03" not in f.name]
    (forecasts,) = read(files).values()
    target = [0.7, 0.3, 0.0]
    by_passes()
    fitted = Engine().recalibration(files).adjustment(target)
    np.testing.assert_allclose(
        fitted.weights, calibrators.fit("multiplicative", forecasts, target=target).weights, rtol=1e-9
    )


def test_adjustment_needs_every_class(folder: Callable[[str], Path]) -> None:
    with pytest.raises(ValueError, match="only the probability of the outcome is known"):
        Engine().recalibration(folder("logs")).adjustment()
