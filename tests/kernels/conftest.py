"""Forecasts that visit every corner of the grid, shared by the tests of the kernels."""

import numpy as np
import pytest

from veracity import kernels
from veracity.kernels.grid import grid
from veracity.state.plan import Plan

CUTS = Plan().cuts


def cells_for(k, cuts=CUTS):
    return grid(cuts, coarse=bool(k and k > 50))


def example(k, n, seed, dtype=np.float64, sharp=4.0):
    """Forecasts with zeros, ones, halves, ties, values on the cuts, and some smaller than the smallest float32."""
    rng = np.random.default_rng(seed)
    z = (
        sharp
        * rng.normal(size=(n, k or 2))
        * rng.choice([0.0, 0.1, 1.0, 4.0, 40.0], size=(n, 1), p=[0.1, 0.2, 0.4, 0.2, 0.1])
    )
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    certain = rng.random(n) < 0.1
    p[certain] = np.eye(k or 2)[rng.integers(0, k or 2, n)][certain]
    cut = rng.random(n) < 0.2
    at = rng.choice(CUTS, n)
    p[cut, :] = 0.0
    p[cut, 0], p[cut, 1] = at[cut], 1.0 - at[cut]
    y = rng.integers(0, k or 2, n)
    likely = rng.random(n) < 0.7
    y[likely] = p.argmax(axis=1)[likely]
    p = p.astype(dtype)
    return (np.ascontiguousarray(p[:, 1]) if k is None else p), y


def masses(n, weighted, counted, seed=5):
    rng = np.random.default_rng(seed)
    weights = rng.gamma(2.0, 1.0, n) if weighted else None
    counts = rng.integers(1, 5, n) if counted else None
    return {"weights": weights, "counts": counts}


def close(a, b, tolerance=1e-12):
    """Equal to a relative tolerance, or to rounding where both are next to zero."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * 1e-2)


class Tools:
    """The helpers above under one name."""

    cells_for = staticmethod(cells_for)
    example = staticmethod(example)
    masses = staticmethod(masses)
    close = staticmethod(close)


@pytest.fixture(scope="session")
def tools():
    return Tools


@pytest.fixture(scope="session")
def compiled():
    """The module in C."""
    if kernels.native is None:
        pytest.skip("the C kernel is not compiled")
    return kernels.native._native


def with_vectors(compiled, size):
    """The module with vectors of so many bytes, then as it was."""
    found = compiled.use_vectors(size)
    if found != size:
        compiled.use_vectors(32)
        pytest.skip(f"this processor has no vectors of {size} bytes")
    yield
    compiled.use_vectors(32)


@pytest.fixture(params=[32, 16], ids=["avx2", "plain"])
def vectors(request, compiled):
    """The kernel in C with each width of vectors."""
    yield from with_vectors(compiled, request.param)


@pytest.fixture(params=["numpy", 32, 16], ids=["numpy", "avx2", "plain"])
def each(request):
    """The name of each kernel, that in C with each width of vectors."""
    if request.param == "numpy":
        yield "numpy"
    else:
        for _ in with_vectors(request.getfixturevalue("compiled"), request.param):
            yield "native"
