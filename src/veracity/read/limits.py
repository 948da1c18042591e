"""Sizes beyond which a file is no table of forecasts: refused before memory is taken."""

from __future__ import annotations

import gzip
from pathlib import Path

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
MOST_COLUMNS = 1 << 16  # every column is looked at, about a millisecond for each
LOOKED_AT, MOST_EXPANSION = 1 << 26, 200  # bytes of a compressed file; forecasts expand to about ten times their size


def require_modest_size(path: Path, shown: str) -> None:
    """Refuse a compressed file that expands so much that it holds next to nothing, and would fill the memory."""
    with path.open("rb") as file:
        start = file.read(18)
        if start[:4] == ZSTD:
            return refuse_expansion(_declared_size(start), path.stat().st_size, shown)
        file.seek(0)
        size = 0
        with gzip.open(file, "rb") as text:
            while size < LOOKED_AT and (part := text.read(1 << 20)):
                size += len(part)
        return refuse_expansion(size, file.tell(), shown)


def refuse_expansion(size: int, spent: int, shown: str) -> None:
    if size >= LOOKED_AT and size > MOST_EXPANSION * spent:
        raise ValueError(
            f"{shown}: expands to more than {MOST_EXPANSION} times its size\n"
            "  no table of forecasts does; if it is one, unpack it first"
        )


def _declared_size(start: bytes) -> int:
    """Return the size that the header of a Zstandard file declares; 0 if it does not."""
    flags = start[4] if len(start) > 4 else 0
    single = bool(flags & 32)
    length = (int(single), 2, 4, 8)[flags >> 6]
    place = 5 + (not single) + (0, 1, 2, 4)[flags & 3]
    return int.from_bytes(start[place : place + length], "little")


def require_few_columns(columns: int, shown: str) -> None:
    if columns > MOST_COLUMNS:
        raise ValueError(
            f"{shown}: {columns:,} columns; at most {MOST_COLUMNS:,} are read\n  keep the columns that are needed"
        )
