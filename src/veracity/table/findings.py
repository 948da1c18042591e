"""The facts about a table that a reader must know before the numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from veracity.data import Finding
from veracity.data.names import listed
from veracity.formulas import tables as formula
from veracity.formulas.rules import rule
from veracity.words import percent

if TYPE_CHECKING:
    from .assessment import TableAssessment

FEW = 5  # expected cases in a cell, the usual limit for trusting a chi-square p


def findings_of(table: TableAssessment) -> Iterator[Finding]:
    """Yield the findings of a table, those that change its meaning first."""
    rows, columns, counts = table.rows, table.columns, table.counts
    for i, j in np.argwhere(np.isinf(formula.cell_divergences(table.stated, rule("log"))) & (counts > 0)):
        times = "A share of" if table.n is None else "Once" if counts[i, j] == 1 else f"{counts[i, j]:,.6g} times"
        yield Finding.of("ruled_out", int(counts[i, j]), times=times, outcome=columns[j], category=rows[i])
    if table.other_reading and _like_a_textbook(table):
        yield Finding.of("orientation", event=columns[1], positive=rows[1], command=table.other_reading)
    if table.psep < 0:
        yield Finding.of("reversed", event=columns[-1], best=rows[0], worst=rows[-1])
    if table.n is not None and formula.expected(counts).min() < FEW:
        yield Finding.of("few_cases", fewest=FEW)
    if len(empty := np.argwhere(counts == 0)):
        cells = listed([f"“{columns[j]}” after “{rows[i]}”" for i, j in empty], 3)
        yield Finding.of("empty_cell", len(empty), cells=cells)
    if len(rows) > 2:
        share, unused = percent(table.psep_unused / counts.sum(), 0), table.psep_unused
        few = f"{unused:,.6g} of {table.n:,.6g} cases" if table.n else f"{share} of the cases"
        yield Finding.of("psep_unused", int(unused), unused=few)


def _like_a_textbook(table: TableAssessment) -> bool:
    """Whether a 2 × 2 table would have the rarer outcome and the rarer forecast last if it were turned round."""
    (a, b), (c, d) = table.counts if table.diagnostic else ((0, 0), (0, 0))
    return bool(table.psep > 0.0 and b + d > a + c and c + d > a + b)
