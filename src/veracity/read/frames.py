"""Frames of other libraries as polars frames: pandas, pyarrow, duckdb and whatever narwhals knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from veracity.inputs.arguments import declared_order

from .paths import extension


def polars_frame(data: Any) -> pl.DataFrame:
    """Return a pandas, polars, pyarrow or duckdb frame as a polars one; an order of categories is kept as an Enum."""
    if isinstance(data, pl.DataFrame):
        return data
    if isinstance(data, (str, Path)):
        reader = {".parquet": "read_parquet", ".jsonl": "read_ndjson", ".ndjson": "read_ndjson"}
        raise ValueError(
            f"'{data}' is a path: what it holds is needed\n"
            f"  read it:  polars.{reader.get(extension(Path(data)), 'read_csv')}('{data}')   "
            "(the command line reads files itself)"
        )
    import narwhals as nw  # files do not need it

    try:
        native = nw.from_native(data)
    except TypeError:
        raise ValueError(
            f"a {type(data).__name__} is no frame\n"
            "  give outcomes and probabilities (y_true, y_proba), or a pandas, polars, pyarrow or duckdb frame"
        ) from None
    except nw.exceptions.DuplicateError:
        names = [str(c) for c in data.columns]
        twice = next((c for c in names if names.count(c) > 1), "the same name")
        raise ValueError(f"two columns of the frame are called `{twice}`\n  give every column its own name") from None
    eager = native.collect("polars") if isinstance(native, nw.LazyFrame) else native
    try:
        frame: pl.DataFrame = eager.to_polars()
    except (ImportError, TypeError, ValueError):
        # polars converts text, categories and nullable numbers of pandas by pyarrow alone, and no mixed values
        if not eager.implementation.is_pandas():
            raise
        pandas_frame = eager.to_native()
        frame = pl.DataFrame([_of_pandas(str(name), pandas_frame[name]) for name in pandas_frame.columns])
    categories = [name for name, kind in eager.schema.items() if kind in (nw.Categorical, nw.Enum)]
    orders = {str(name): declared_order(eager.get_column(name).to_native()) for name in categories}
    words = {name: order for name, order in orders.items() if order and all(isinstance(v, str) for v in order)}
    return frame.with_columns(pl.col(name).cast(pl.String).cast(pl.Enum(order)) for name, order in words.items())


def _of_pandas(name: str, column: Any) -> pl.Series:
    """Return a column of pandas as one of polars, without pyarrow; NaN and NA are null."""
    zone = getattr(column.dtype, "tz", None)
    if zone is not None:
        plain = _of_pandas(name, column.dt.tz_convert("UTC").dt.tz_localize(None))
        return plain.dt.replace_time_zone("UTC").dt.convert_time_zone(str(zone))
    if column.dtype.kind in "iufbmM" and not hasattr(column.dtype, "numpy_dtype"):
        values = column.to_numpy()
        if values.dtype.str[1:] in ("M8[s]", "m8[s]"):  # polars does not count in seconds
            values = values.astype(values.dtype.str.replace("[s]", "[ms]"))
        return pl.Series(name, values, nan_to_null=True)
    objects = zip(column.astype(object).tolist(), column.isna().tolist(), strict=True)
    cells = [None if missing else value for value, missing in objects]
    series = pl.Series(name, cells, strict=False)
    if series.dtype == pl.Object:  # periods and intervals
        return pl.Series(name, [None if cell is None else str(cell) for cell in cells], dtype=pl.String)
    return series
