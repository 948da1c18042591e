"""The fixed grid of probabilities: fine near 0 and near 1, the same for all data, found by shifting float bits.

A *code* is made of float bits: below 1/2 the exponent and leading mantissa bits of p, from 1/2 up those of 1 - p,
which is exact there. A *cell* is a code, or a part of one where a given cut divides it, or (on the coarse grid) a
run of them. Cells are half-open, [edges[i], edges[i + 1]), so histograms on them add in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

import numpy as np

from veracity.types import Array

FINE = 10  # mantissa bits from 2^-14 up
TINY = 6  # mantissa bits below
SHIFT, TINY_SHIFT = 52 - FINE, 52 - TINY
SPLIT = 2.0**-14
LEAST = 2.0**-149  # smallest float32; everything smaller but above zero is one cell
COARSE = 2.0**-22  # from here up the coarse grid has every code
# Its only edge between 0 and COARSE. Over-confident models give next to nothing to many outcomes: without it
# their measured accuracy would be off by up to 2 % (log-odds doubled) or 15 % (tripled), with it by 1 % or 4 %.
WIDE = (2.0**-30,)
CHUNK = 1 << 13  # values located at a time: their temporary arrays stay in the cache
# The nested grid has one cell below the first number and so many mantissa bits above it. That of the coarse grid is for
# the class-wise histograms of many classes: few entries reach 2^-5, and those below are in the first bin of any error.
NESTED, COARSE_NESTED = (2.0**-10, 6), (2.0**-5, 5)
NEAR_ONE = tuple(1.0 - 2.0**-e for e in (30, 24, 20, 17, 14, 12))  # its edges beyond those


def _bits(value: float) -> int:
    return int(np.float64(value).view(np.int64))


SPLIT_BITS, LEAST_BITS = _bits(SPLIT), _bits(LEAST)
MINUS_ZERO = _bits(-0.0)
SPLIT_CODE = 2 + (SPLIT_BITS - LEAST_BITS >> TINY_SHIFT)
COARSE_CODE = 2 + (_bits(COARSE) - LEAST_BITS >> TINY_SHIFT)
HALF_CODE = SPLIT_CODE + (_bits(0.5) - SPLIT_BITS >> SHIFT)  # codes below 1/2; as many are kept for those above
CODES = 2 * HALF_CODE


def codes(u: Array) -> Array:
    """Return the code of each float64 probability: p below 1/2 counted up from 0, 1 - p down from the end."""
    above = u >= 0.5
    bits = np.where(above, 1.0 - u, u).view(np.int64)
    bits -= above  # turns (a, b] of 1 - p into the codes of [a, b)
    code = bits >> SHIFT
    code -= (SPLIT_BITS >> SHIFT) - SPLIT_CODE
    tiny = np.flatnonzero(bits < SPLIT_BITS)
    if len(tiny):
        small = bits[tiny]
        part = np.maximum((small >> TINY_SHIFT) - ((LEAST_BITS >> TINY_SHIFT) - 2), 1)
        # Minus zero is zero; 1 itself (bits -1) keeps code 1 and so comes last after the flip.
        part[(small == 0) | (small == MINUS_ZERO)] = 0
        code[tiny] = part
    return np.where(above, CODES - 1 - code, code)


@cache
def lower_edges() -> Array:
    """Return the smallest float of each code; codes near 1 without any float share the edge of the next one."""
    lines = np.concatenate(
        [
            np.arange(LEAST_BITS, SPLIT_BITS, 1 << TINY_SHIFT),
            np.arange(SPLIT_BITS, _bits(0.5) + (1 << SHIFT), 1 << SHIFT),
        ]
    ).view(np.float64)
    low = np.concatenate([[0.0, 5e-324], lines[:-1]])
    upper_ends = np.concatenate([[0.0, LEAST], lines[1:]])[::-1]  # largest 1 - p of each code above 1/2
    high = 1.0 - np.floor(upper_ends * 2.0**53) * 2.0**-53
    return np.concatenate([low, high])


def _spread(cut: float, mirrors: Array) -> tuple[float, float]:
    """Return the ends of a cut's atom: its float32 neighbour, unless that is 0 or 1, and its equal among the mirrors.

    `mirrors` has 1 − p of every cut p, ascending.

    1 − 0.8 is a little less than 0.2. (The same of float32 would be so far from it that others lie between.)
    """
    first, last = np.searchsorted(mirrors, [cut - 2.0**-49, cut + 2.0**-49])
    mirrored = [float(other) for other in mirrors[first:last] if abs(other - cut) < 2.0**-50]
    forms = [cut, *(form for form in (float(np.float32(cut)), *mirrored) if 0.0 < form < 1.0)]
    return min(forms), max(forms)


def _cut_edges(cuts: tuple[float, ...]) -> Array:
    """Return edges that make every cut an atom; cuts so close that their atoms would overlap share one."""
    atoms: list[tuple[float, float]] = []
    mirrors = np.sort(1.0 - np.array(cuts, dtype=np.float64))
    for low, high in sorted(_spread(cut, mirrors) for cut in cuts):
        if atoms and low <= atoms[-1][1]:
            atoms[-1] = (atoms[-1][0], max(high, atoms[-1][1]))
        else:
            atoms.append((low, high))
    return np.array([edge for low, high in atoms for edge in (low, np.nextafter(high, 2.0))], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Grid:
    """Cells on [0, 1]: the first is exactly {0}, the last exactly {1}, every cut is an atom. Build with `grid`."""

    edges: Array
    cuts: tuple[float, ...]
    coarse: bool
    nested_edges: Array
    nested: Array  # nested cell of each cell

    def __len__(self) -> int:
        return len(self.edges)

    @cached_property
    def cell_of_code(self) -> Array:
        """Cell of each code; -1 - (first cell) where a cut divides the code and the edges must be asked."""
        lower = lower_edges()
        first = np.searchsorted(self.edges, lower, side="right") - 1
        upper = np.append(np.nextafter(lower[1:], 0.0), 1.0)
        last = np.searchsorted(self.edges, upper, side="right") - 1
        return np.where(last > first, -1 - first, first).astype(np.int32)

    @cached_property
    def ends(self) -> Array:
        """Lower edges of the cells, and the upper edge of the last."""
        return np.append(self.edges, 1.0)

    @cached_property
    def is_atom(self) -> Array:
        """Whether each cell is the atom of a cut."""
        return np.isin(np.arange(len(self)), [self.atom(cut) for cut in self.cuts])

    def is_wide(self, cell: int) -> bool:
        """Return whether a cell covers several cells of the full grid."""
        return self.coarse and cell > 0 and bool(self.edges[cell] < COARSE)

    def locate(self, u: Array) -> Array:
        """Return the cell of each probability: np.searchsorted(edges, u, side="right") - 1, but fast.

        >>> fine = grid((0.2,))
        >>> bool(fine.locate(np.float32(0.2)) == fine.locate(0.2) == fine.atom(0.2))
        True
        """
        u = np.asarray(u)
        flat = np.ravel(u)
        cells = np.empty(len(flat), dtype=np.int32)
        for start in range(0, len(flat), CHUNK):
            part = flat[start : start + CHUNK].astype(np.float64, copy=False)
            part_cells = self.cell_of_code[codes(part)]
            divided = np.flatnonzero(part_cells < 0)
            if len(divided):
                part_cells[divided] = np.searchsorted(self.edges, part[divided], side="right") - 1
            cells[start : start + CHUNK] = part_cells
        return cells.reshape(u.shape)

    def atom(self, cut: float) -> int:
        """Return the cell of a cut, with only the cut, its float32 neighbour, and 1 − p of a mirrored cut."""
        if cut not in self.cuts:
            raise ValueError(f"cut: {cut!r} is not one of the grid's cuts {self.cuts}")
        return int(np.searchsorted(self.edges, cut, side="right")) - 1


def _containing(wide: Array, edges: Array) -> Array:
    """Return the wide cell in which each cell begins."""
    return (np.searchsorted(wide, edges, side="right") - 1).astype(np.int32)


@lru_cache(maxsize=64)
def grid(cuts: tuple[float, ...] = (), coarse: bool = False) -> Grid:
    """Return the grid with these cuts; `coarse` has only a few wide cells below 2^-22 (for very many classes)."""
    if not all(0.0 < cut < 1.0 for cut in cuts):
        raise ValueError(f"cuts: {cuts!r} must lie between 0 and 1; 0 and 1 are atoms already")
    lower, given = lower_edges(), _cut_edges(cuts)
    if coarse:
        lower = np.concatenate([lower[:2], WIDE, lower[COARSE_CODE:]])
    edges = np.unique(np.concatenate([lower, given]))
    least, bits = COARSE_NESTED if coarse else NESTED
    lines = np.arange(_bits(least), _bits(0.5), 1 << 52 - bits).view(np.float64)
    kept = given[given >= least] if coarse else given
    nested_edges = np.unique(np.concatenate([[0.0, 0.5, 1.0], lines, 1.0 - lines, NEAR_ONE, kept]))
    nested = _containing(nested_edges, edges)
    for array in (edges, nested_edges, nested):
        array.setflags(write=False)
    return Grid(edges, cuts, coarse, nested_edges, nested)


def round_significant(x: Array) -> Array:
    """Return x rounded to 40 significant bits."""
    mantissa, exponent = np.frexp(x)
    rounded: Array = np.ldexp(np.round(mantissa * 2.0**40), exponent - 40)
    return rounded
