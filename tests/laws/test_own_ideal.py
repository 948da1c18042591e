"""With ideal probabilities of the user's own, repeated forecasts have the losses of the exact chain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import veracity as vc
from veracity.estimate.loss.folds import FOLDS, folds
from veracity.estimate.loss.recalibration import soft_rows
from veracity.inputs import Forecasts

Floats = NDArray[np.float64]


def repeated(seed: int, k: int, n: int = 20_000, levels: int = 6, per: int = 4) -> tuple[Any, Floats, Floats, Any]:
    """Outcomes, few distinct forecasts, several ideal probabilities for each of them, and the cell of each case."""
    rng = np.random.default_rng(seed)
    stated = rng.dirichlet(np.full(k, 1.5), levels)
    softer = stated**0.6 / (stated**0.6).sum(axis=1, keepdims=True)
    q = np.array([[rng.dirichlet(8.0 * (0.15 / k + 0.85 * x) + 0.3) for _ in range(per)] for x in softer])
    i, j = rng.integers(0, levels, n), rng.integers(0, per, n)
    ideal = q[i, j]
    y = (rng.random(n)[:, None] > ideal.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return y, stated[i], ideal, i * per + j


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_default_losses_with_an_own_ideal_are_the_exact_ones_where_forecasts_repeat(seed: int, k: int) -> None:
    y, p, q, _ = repeated(seed, k)
    default, exact = (vc.assess(y, p, ideal=q, map=map) for map in ("auto", "grouped"))
    for rule in ("log", "brier"):
        found, true = default.losses(rule), exact.losses(rule)
        for name in ("CL", "GL"):
            assert float(getattr(found, name)) == pytest.approx(float(getattr(true, name)), rel=0.01), (rule, name)
        assert pytest.approx(float(true.EL), rel=1e-9) == found.EL
        # The ideal is given, so sampling moves the loss little: the interval is short, and holds the exact one.
        assert 0.95 * true.CL < found.CL.low < true.CL


def test_default_losses_with_features_are_near_the_exact_ones_where_forecasts_repeat() -> None:
    y, p, _, cell = repeated(1, 2)
    default, exact = (vc.assess(y, p, features=cell[:, None], map=map).losses("log") for map in ("auto", "grouped"))
    for name in ("CL", "GL"):
        assert float(getattr(default, name)) == pytest.approx(float(getattr(exact, name)), rel=0.05), name


def test_copies_of_a_case_are_spread_over_the_folds_with_all_their_classes() -> None:
    y, p, q, _ = repeated(2, 3, n=4000)
    tally = vc.Tally.of(Forecasts.of(y, p, ideal=q))
    soft = soft_rows(tally.rows)
    assert len(soft) == 24 * 3
    split = folds(soft)
    assert split.repeats
    for case in range(24):
        mine = np.flatnonzero(soft.case[split.row] == case)
        assert set(split.fold[mine]) == set(range(FOLDS))
        by_class = np.zeros((3, FOLDS))
        np.add.at(by_class, (soft.observed[split.row[mine]], split.fold[mine]), split.copies[mine])
        assert (by_class == by_class[0]).all()
        assert by_class[0].sum() == soft.copies[soft.case == case][0]
    assert soft.copies[np.unique(soft.case, return_index=True)[1]].sum() == 4000


def test_losses_with_an_own_ideal_depend_on_no_order_of_rows_nor_on_parts() -> None:
    y, p, q, _ = repeated(3, 3, n=3000)
    whole = Forecasts.of(y, p, ideal=q)
    mixed = whole.take(np.random.default_rng(0).permutation(len(y)))
    parts = [vc.Tally.of(replace(mixed.take(slice(i, None, 7)), rows=None)) for i in range(7)]
    total = parts[3]
    for part in (*parts[:3], *parts[4:]):
        total = total + part
    one, other = vc.assess(vc.Tally.of(whole)), vc.assess(total)
    for rule in ("log", "brier"):
        for name in ("CL", "GL", "AL", "EL", "IL", "RL"):
            assert float(other.losses(rule).readings()[name]) == pytest.approx(
                float(one.losses(rule).readings()[name]), rel=1e-9
            ), name
        assert other.losses(rule).CL.low == pytest.approx(one.losses(rule).CL.low, rel=1e-9)
