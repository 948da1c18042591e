"""The analysis rows of a stream do not depend on how the rows were cut, nor on their order."""

from __future__ import annotations

import numpy as np
import pytest

from veracity.inputs import Forecasts
from veracity.state.analysis_rows import AnalysisRows, RunningRows, analysis_rows, hashes

K = 3  # two classes beyond the limit are counted in cells of the grid instead


def same(a: AnalysisRows, b: AnalysisRows) -> None:
    assert a.complete == b.complete
    for name in ("probabilities", "outcomes", "counts"):
        np.testing.assert_array_equal(getattr(a.rows, name), getattr(b.rows, name))


def forecasts(values: int, rng: np.random.Generator, n: int = 8000) -> Forecasts:
    p = np.full((n, K), 0.25)
    p[:, 0] = 0.5 * rng.integers(0, values, n) / values
    p[:, 1] = 0.75 - p[:, 0]
    return Forecasts(p, rng.integers(0, K, n), tuple(range(K)))


@pytest.mark.parametrize("values", [100, 3000, 10**9])  # all fit; many repeated; hardly any repeated
@pytest.mark.parametrize("seed", range(5))
def test_analysis_rows_are_equal_for_any_cuts_and_order(
    values: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("veracity.state.analysis_rows.MOST_ROWS", 500)
    rng = np.random.default_rng(seed)
    f = forecasts(values, rng)
    whole = analysis_rows(f)
    assert whole.complete == (values == 100)
    assert len(whole.rows) <= 500
    cuts = np.sort(rng.integers(0, len(f), rng.integers(1, 9)))
    parts = [f.take(chosen) for chosen in np.split(rng.permutation(len(f)), cuts) if len(chosen)]
    growing, merged = RunningRows(), RunningRows()
    for part in parts:
        growing.add(part)
        held = analysis_rows(part)
        merged.add(held.rows, held.complete)
    same(growing.rows(), whole)
    same(merged.rows(), whole)


def test_a_forecast_is_kept_with_all_its_outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veracity.state.analysis_rows.MOST_ROWS", 500)
    f = forecasts(3000, np.random.default_rng(0))
    kept = analysis_rows(f).rows
    for p in np.unique(kept.matrix[:, 0]):
        of_all = np.bincount(f.outcomes[f.matrix[:, 0] == p], minlength=K)
        chosen = kept.matrix[:, 0] == p
        np.testing.assert_array_equal(
            np.bincount(kept.outcomes[chosen], kept.counts[chosen], minlength=K), of_all, err_msg=str(p)
        )


def test_every_forecast_is_as_likely() -> None:
    """The hash is even over decimals, float32 and numbers near the ends."""
    rng = np.random.default_rng(0)
    for p in (np.arange(1_000_001) / 1e6, rng.random(200_000, dtype=np.float32), 1e-3 * rng.random(200_000)):
        p = np.unique(p)
        found = [hashes(Forecasts(p, np.full(len(p), outcome, np.int8), (0, 1))) for outcome in (0, 1)]
        np.testing.assert_array_equal(*found)  # of the forecast alone, never of the outcome
        counts = np.bincount((found[0] >> np.uint64(58)).astype(int), minlength=64)
        # Chi-square with 63 degrees of freedom: 130 has a probability of 1e-6.
        assert ((counts - len(p) / 64) ** 2).sum() / (len(p) / 64) < 130
