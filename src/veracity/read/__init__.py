"""Files and frames to forecasts: recognised once, then read in parts.

source = read.open("forecasts.csv", ReadOptions(label="y"))
source.layout            how the columns are understood
source.parts()           what can be read apart
source.batches(part)     forecasts whose values have not been looked at: the pass that counts them does that
source.read()            all forecasts by model, every value checked
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl

from veracity.inputs import Forecasts
from veracity.records.layout import Layout

from ..options import ReadOptions
from .parts import Part, Source, source_of_files, source_of_frame
from .paths import File

__all__ = ["Layout", "Part", "ReadOptions", "Source", "frame", "frame_of", "open", "read", "recognise"]


def open(data: Any, options: ReadOptions | None = None, **how: Any) -> Source:
    """Open files (paths, globs, folders; "-" is standard input) as parts of one set, or a frame, and recognise it."""
    options = options or ReadOptions()
    given = data if isinstance(data, (list, tuple)) else [data]
    if all(isinstance(item, (str, Path, File)) for item in given):
        return source_of_files(data, options, **how)
    return source_of_frame(data, options)


def recognise(data: Any, options: ReadOptions | None = None) -> Layout:
    """Return how the columns are understood; `.describe()` is the block that is printed."""
    return open(data, options).layout


def read(paths: Any, options: ReadOptions | None = None) -> dict[str, Forecasts]:
    """Return the forecasts of files by model, whole and checked."""
    return open(paths, options).read()


def frame(data: Any, options: ReadOptions | None = None) -> dict[str, Forecasts]:
    """Return the forecasts of a pandas, polars, pyarrow or duckdb frame by model, whole and checked."""
    return source_of_frame(data, options or ReadOptions()).read()


def frame_of(rows: Sequence[dict[str, Any]], library: str = "polars") -> Any:
    """Return rows of a result as a frame of that library: polars, pandas or pyarrow."""
    table = pl.DataFrame(list(rows), infer_schema_length=None)
    if library == "polars":
        return table
    import narwhals as nw

    return nw.from_dict(
        table.to_dict(as_series=False), backend=import_module(library)
    ).to_native()  # needs no other library
