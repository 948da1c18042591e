"""What carries an equation of the papers is reachable by name; the average of any density is RP section 2.2."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln

import veracity as vc
from veracity import formulas
from veracity.words import PAPERS


def test_about_sixty_functions_are_reachable_and_listed() -> None:
    assert len(formulas.CARRIES) >= 60
    page = Path("docs/formulas.md").read_text(encoding="utf-8")
    for name, one in formulas.CARRIES.items():
        assert getattr(formulas, name).__doc__, name
        assert one.paper in PAPERS
        assert f"| {one.paper} | {one.equation} | `{name}` |" in page, name
    assert formulas.table_entropy([[83, 56], [2, 12]]) != formulas.entropy([0.5, 0.5])
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        formulas.nothing  # noqa: B018


DENSITIES = {  # ln ∫ f^q dx in closed form
    stats.norm(1, 2): lambda q: (1 - q) / 2 * np.log(8 * np.pi) - np.log(q) / 2,
    stats.expon(0, 2): lambda q: (1 - q) * np.log(2) - np.log(q),
    stats.uniform(2, 3): lambda q: (1 - q) * np.log(3),
    stats.beta(2, 3): lambda q: betaln(q + 1, 2 * q + 1) - q * betaln(2, 3),
    stats.t(3): lambda q: (1 - q) / 2 * np.log(3) + betaln(0.5, 2 * q - 0.5) - q * betaln(0.5, 1.5),
}


@pytest.mark.parametrize("r", [-2 / 3, -0.3, 0.0, 0.4])
@pytest.mark.parametrize("frozen", DENSITIES)
def test_averages_of_densities_are_their_closed_forms(frozen: Any, r: float) -> None:
    """(∫ f^(1−r) dx)^(−1/r), by SciPy's beta function and entropy."""
    log_average = -frozen.entropy() if r == 0 else DENSITIES[frozen](1 - r) / -r
    assert vc.generalized_mean_of(frozen, r) == pytest.approx(math.exp(log_average), rel=1e-9)


@pytest.mark.parametrize("kappa", [-0.2, 0.0, 0.3])
@pytest.mark.parametrize("r", [-0.6, 0.0, 0.2, None])
def test_averages_of_coupled_densities_are_their_closed_forms(kappa: float, r: float | None) -> None:
    f = vc.CoupledNormal(0.0, 1.5, kappa)
    r = f.risk if r is None else r
    low, high = f.support()
    found = vc.generalized_mean_of(lambda x: float(f.pdf(x)), r, support=(low, high))
    assert found == pytest.approx(f.generalized_mean(r), rel=1e-9)


def test_the_uniform_density_is_its_own_average() -> None:
    for r in (-3.0, -1.0, 0.0, 0.5, 2.0):
        assert vc.generalized_mean_of(stats.uniform(0, 4), r) == pytest.approx(0.25, rel=1e-12)


@pytest.mark.parametrize(
    ("density", "support", "message"),
    [
        (math.exp, None, "support: a function does not tell where it is positive\n  give support=(low, high)"),
        (math.exp, (0, 2), "density: its integral over (0, 2) is 6.3890561, not 1\n  give the density divided by it"),
        (math.exp, (2, 0), "support: (2, 0) is empty"),
        (lambda x: 1.000002, (0, 1), "density: its integral over (0, 1) is 1.000002, not 1"),
        (lambda x: 2 - 2 * x - 1, (0, 1), "  give one that is a number from 0 on all over its support"),
        (0.5, (0, 2), "a float is neither a function nor a frozen distribution\n  give a function with its support"),
        (stats.poisson(3), None, "or a continuous distribution such as scipy.stats.norm(0, 1)"),
    ],
)
def test_bad_densities_are_refused_with_a_remedy(density: Any, support: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        vc.generalized_mean_of(density, 0.5, support=support)
