"""Row numbers across several files: one integer for file and row, printed as "17 of part03.csv"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

BITS = 40  # for the row, a trillion; the 23 above hold the file
ROW = (1 << BITS) - 1


def coded(rows: Any, file: int) -> Any:
    """Return row numbers of one file as numbers among all files."""
    return (rows.astype(np.int64) if isinstance(rows, np.ndarray) else rows) + (file << BITS)


class Row(int):
    """The number of a row in its file.

    >>> f"row {Row(17, 'part03.csv')}"
    'row 17 of part03.csv'
    """

    file: str

    def __new__(cls, row: int, file: str) -> Row:
        number = super().__new__(cls, row)
        number.file = file
        return number

    def __getnewargs__(self) -> tuple[int, str]:  # type: ignore[override]
        return int(self), self.file

    def __str__(self) -> str:
        return f"{int(self)} of {self.file}"

    def __format__(self, spec: str) -> str:
        return str(self)


def decoded(row: int, files: Sequence[str]) -> int:
    """Return the row with its file; without files, the row alone."""
    return Row(row & ROW, files[row >> BITS]) if files else row & ROW


def file_of(row: int) -> str | None:
    """Return the file of a row, or None where there is only one."""
    return row.file if isinstance(row, Row) else None
