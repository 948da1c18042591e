"""The law of the grid: bits give the same cell as a binary search of the edges."""

import numpy as np
import pytest

from veracity.kernels.grid import COARSE, COARSE_NESTED, grid
from veracity.state.plan import Plan

CUTS = {
    "none": (),
    "plan": Plan().cuts,
    "N17": Plan(preset="N17").cuts,
    "tiny": (1e-50, 3e-8, 1e-5, 0.3, 1.0 - 1e-12),
    "close": (0.3, float(np.nextafter(0.3, 1.0)), float(np.float32(0.3)), 0.5),
}


@pytest.fixture(params=[(name, coarse) for name in CUTS for coarse in (False, True)], ids=str)
def cells(request):
    name, coarse = request.param
    return grid(CUTS[name], coarse)


def test_edges_rise_from_exactly_zero_to_exactly_one(cells):
    edges = cells.edges
    assert (np.diff(edges) > 0).all()
    assert edges[:2].tolist() == [0.0, 5e-324]
    assert edges[-2:].tolist() == [1.0 - 2.0**-53, 1.0]


def test_locate_is_searchsorted(cells):
    rng = np.random.default_rng(1)
    edges, n = cells.edges, 250_000
    many = [
        rng.random(n),
        10.0 ** -rng.uniform(0.0, 323.0, n),
        1.0 - 10.0 ** -rng.uniform(0.0, 16.0, n),
        rng.integers(0, 1001, n) / 1000,
    ]
    u = np.concatenate([edges, np.nextafter(edges, 0.0), np.nextafter(edges, 1.0), [-0.0], *many])
    assert np.array_equal(cells.locate(u), np.searchsorted(edges, u, side="right") - 1)
    u = u.astype(np.float32)
    assert np.array_equal(cells.locate(u), np.searchsorted(edges, u.astype(np.float64), side="right") - 1)


def test_cuts_are_atoms(cells):
    for cut in cells.cuts:
        atom = cells.atom(cut)
        near = np.float32(cut)
        assert cells.locate(np.array([cut]))[0] == atom
        forms = [cut, float(near)] if 0.0 < near < 1.0 else [cut]
        forms += [1.0 - other for other in cells.cuts if abs(1.0 - other - cut) < 2.0**-50 and 1.0 - other < 1.0]
        assert (cells.locate(np.array(forms)) == atom).all()
        if cells.cuts != CUTS["close"]:
            assert (cells.edges[atom], cells.edges[atom + 1]) == (min(forms), np.nextafter(max(forms), 1.0))
    with pytest.raises(ValueError, match="not one of"):
        cells.atom(0.123)


def test_a_probability_and_its_rest_meet_at_mirrored_cuts():
    cells = grid((0.2, 0.8))
    assert 1.0 - 0.8 < 0.2
    assert cells.locate(np.array([1.0 - 0.8])) == cells.atom(0.2)
    assert cells.locate(np.array([1.0 - 0.2])) == cells.atom(0.8)


def test_cuts_that_overlap_share_an_atom():
    cells = grid(CUTS["close"])
    assert cells.atom(0.3) == cells.atom(CUTS["close"][1]) == cells.atom(CUTS["close"][2]) != cells.atom(0.5)


def test_nested_cells_are_unions_and_keep_cuts(cells):
    assert np.isin(cells.nested_edges, cells.edges).all()
    assert np.array_equal(cells.nested_edges[cells.nested] <= cells.edges, np.ones(len(cells), bool))
    assert np.array_equal(np.unique(cells.nested), np.arange(len(cells.nested_edges)))
    least = COARSE_NESTED[0] if cells.coarse else 0.0  # below, the class-wise grid of many classes has one cell
    for cut in cells.cuts:
        assert (np.count_nonzero(cells.nested == cells.nested[cells.atom(cut)]) == 1) == (cut >= least)
    few, most = (250, 550) if cells.coarse else (1150, 1450)
    assert few < len(cells.nested_edges) < most


def test_coarse_is_the_same_from_two_to_the_minus_22_up():
    fine, coarse = grid(CUTS["plan"]), grid(CUTS["plan"], coarse=True)
    assert np.array_equal(fine.edges[fine.edges >= COARSE], coarse.edges[coarse.edges >= COARSE])
    assert np.count_nonzero(coarse.edges < COARSE) == 3
    assert grid(CUTS["plan"], coarse=True) is coarse


@pytest.mark.parametrize("cut", [0.0, 1.0, -0.1, np.nan])
def test_cut_outside_zero_and_one_is_refused(cut):
    with pytest.raises(ValueError, match="between 0 and 1"):
        grid((cut,))
