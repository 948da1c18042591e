"""The sample of a stream does not depend on how the rows were cut, nor on their order."""

from __future__ import annotations

import numpy as np
import pytest
from veracity.state.sampling import Growing, Sample, join, sample, take

from veracity.data import Forecasts
from veracity.state import sampling


def same(a: Sample, b: Sample) -> None:
    assert a.complete == b.complete
    for name in ("probabilities", "outcomes", "counts"):
        np.testing.assert_array_equal(getattr(a.rows, name), getattr(b.rows, name))


@pytest.mark.parametrize("values", [100, 3000, 10**9])  # all fit; many repeated; hardly any repeated
@pytest.mark.parametrize("seed", range(5))
def test_parts(values: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "MOST_ROWS_OF_TWO", 500)
    monkeypatch.setattr(sampling, "WAITING", 3000)
    rng = np.random.default_rng(seed)
    n = 8000
    forecasts = Forecasts(rng.integers(0, values, n) / values, rng.integers(0, 2, n), (0, 1))
    whole = sample(forecasts)
    assert whole.complete == (values == 100)
    cuts = np.sort(rng.integers(0, n, rng.integers(1, 9)))
    parts = [take(forecasts, rows) for rows in np.split(rng.permutation(n), cuts) if len(rows)]
    growing = Growing()
    for part in parts:
        growing.add(part)
    same(growing.sample(), whole)
    same(join(*map(sample, parts)), whole)


def test_every_row_is_as_likely() -> None:
    """The hash is even over decimals, float32 and numbers near the ends."""
    rng = np.random.default_rng(0)
    for p in (np.arange(1_000_001) / 1e6, rng.random(200_000, dtype=np.float32), 1e-3 * rng.random(200_000)):
        p = np.unique(p)
        for outcome in (0, 1):
            h = sampling.hash_rows(Forecasts(p, np.full(len(p), outcome, np.int8), (0, 1)))
            counts = np.bincount((h >> np.uint64(58)).astype(int), minlength=64)
            # Chi-square with 63 degrees of freedom: 130 has a probability of 1e-6.
            assert ((counts - len(p) / 64) ** 2).sum() / (len(p) / 64) < 130
