"""Standard errors of differences: equal to statsmodels, SciPy and the published formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy import stats

from veracity.formulas import differences as formulas

Floats = NDArray[np.float64]


def series(seed: int, n: int, rho: float) -> Floats:
    rng = np.random.default_rng(seed)
    d = rng.standard_normal(n)
    for t in range(1, n):
        d[t] += rho * d[t - 1]
    return d + 0.1


def equals_other_libraries(d: Floats) -> None:
    n, u = len(d), formulas.influences(d)
    ones = np.ones(n)
    for lags in (0, 1, 4, 12):
        fit = sm.OLS(d, ones).fit(cov_type="HAC", cov_kwds={"maxlags": lags, "use_correction": False})
        assert formulas.bartlett_error(u, lags)[0] == pytest.approx(fit.bse[0], rel=1e-9)
    groups = np.arange(n) // 7
    sums = np.bincount(groups, weights=u)
    fit = sm.OLS(d, ones).fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False})
    number = len(sums)
    assert formulas.cluster_error(sums)[0] == pytest.approx(fit.bse[0] * math.sqrt(number / (number - 1)), rel=1e-9)
    # The divisor of SciPy is n − 1 where ours is n.
    t, p = stats.ttest_1samp(d, 0.0)
    z = d.mean() / formulas.independent_error(u)[0]
    assert z * math.sqrt((n - 1) / n) == pytest.approx(t, rel=1e-9)
    assert float(formulas.two_sided(t, n - 1)) == pytest.approx(p, rel=1e-9)
    for horizon in (1, 2, 5):
        assert_horizon(d, u, horizon)
    assert_cosines(d, u)


def assert_horizon(d: Floats, u: Floats, h: int) -> None:
    """Harvey, Leybourne & Newbold 1997 eqs 5 to 9, written out."""
    n, centred = len(d), d - d.mean()
    gamma = [float(centred[k:] @ centred[: n - k]) / n for k in range(h)]
    variance = (gamma[0] + 2.0 * sum(gamma[1:])) / n
    error = formulas.horizon_error(u, h)[0]
    if variance <= 0.0:
        assert math.isnan(error)
        return
    modified = d.mean() / math.sqrt(variance) * math.sqrt((n + 1 - 2 * h + h * (h - 1) / n) / n)
    assert d.mean() / error == pytest.approx(modified, rel=1e-9)


def assert_cosines(d: Floats, u: Floats) -> None:
    n = len(d)
    b = max(4, math.floor(0.41 * n ** (2 / 3)))
    t = np.arange(1, n + 1)
    sums = [math.sqrt(2 / n) * float(d @ np.cos(math.pi * j * (t - 0.5) / n)) for j in range(1, b + 1)]
    error, df = formulas.cosine_error(u)
    assert df == b
    assert error[0] == pytest.approx(math.sqrt(np.mean(np.square(sums)) / n), rel=1e-9)


@pytest.mark.parametrize(("n", "rho"), [(40, 0.0), (92, 0.5), (500, 0.9), (300, -0.5)])
def test_errors_equal_those_of_other_libraries(n: int, rho: float) -> None:
    equals_other_libraries(series(n, n, rho))


def test_columns_and_weights_are_those_of_single_means() -> None:
    rng = np.random.default_rng(4)
    d, w = rng.standard_normal((50, 3)), rng.random(50)
    both = formulas.influences(d, w)
    for j in range(3):
        one = formulas.influences(d[:, j], w)
        assert both[:, j] == pytest.approx(one, abs=1e-15)
        assert formulas.cosine_error(both)[0][j] == pytest.approx(formulas.cosine_error(one)[0][0], rel=1e-12)
    doubled = formulas.influences(np.repeat(d[:, 0], 2), np.repeat(w, 2))
    assert doubled[::2] * 2 == pytest.approx(formulas.influences(d[:, 0], w), abs=1e-15)


@pytest.mark.parametrize("call", [lambda u: formulas.bartlett_error(u, 5), lambda u: formulas.horizon_error(u, 0)])
def test_lags_and_horizons_outside_the_series_are_refused(call: Any) -> None:
    with pytest.raises(ValueError, match="is not a whole number from"):
        call([0.5, -0.5, 0.0])


def test_holm_equals_statsmodels() -> None:
    from statsmodels.stats.multitest import multipletests

    p = np.random.default_rng(8).random(12) ** 3
    assert formulas.holm(p) == pytest.approx(multipletests(p, method="holm")[1], abs=1e-15)
    assert np.isnan(formulas.holm([math.nan, 0.2])[0])
    assert formulas.holm([math.nan, 0.2])[1] == 0.2
