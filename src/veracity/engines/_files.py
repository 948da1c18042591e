"""Rows of several files: their numbers say which file they are of, from the count to the document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from veracity.data import Forecasts
from veracity.data.places import coded, decoded
from veracity.state.tally import Tally


def coded_rows(f: Forecasts, files: Sequence[str]) -> Forecasts:
    """Forecasts of one of these files, whose rows have numbers among all."""
    file = files.index(f.names.file) if f.names.file in files else 0
    if not file:  # numbers of the first file are what they are
        return f
    return replace(
        f,
        first_row=coded(f.first_row, file),
        rows=None if f.rows is None else coded(f.rows, file),
        findings=tuple(replace(g, rows=tuple(coded(row, file) for row in g.rows)) for g in f.findings),
    )


def with_files(tally: Tally, files: Sequence[str]) -> Tally:
    """The tally with rows that know their file."""
    return replace(
        tally,
        lowest=tuple((p, decoded(row, files), y) for p, row, y in tally.lowest),
        findings=tuple(replace(f, rows=tuple(decoded(row, files) for row in f.rows)) for f in tally.findings),
    )
