"""NumPy arrays in files, and lists in columns."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.lib import format as npy
from polars.datatypes import DataTypeClass

from .limits import refuse_expansion
from .table import BROKEN, Table, of_frame

LISTED = 1000  # rows whose lists tell how many columns they make
MOST_LISTS = 0.9  # share of the cells from which the others are mistakes, which reading names


def table_of_arrays(path: Path, shown: str) -> Table:
    """Return an .npy or .npz of outcomes and probabilities as a table with one column per class."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                refuse_expansion(member.file_size, member.compress_size, shown)
    try:
        arrays = _loaded(path)
    except (ValueError, MemoryError, RuntimeError, *BROKEN) as problem:  # RuntimeError: of an encrypted member
        raise ValueError(f"{shown}: no plain arrays in it\n  save them with numpy.save or numpy.savez") from problem
    matrices = [name for name, values in arrays.items() if values.ndim == 2 and values.shape[1] > 1]
    if len(matrices) > 1:
        raise ValueError(
            f"{shown}: {len(matrices)} matrices, {', '.join(matrices)}; which one holds the forecasts?\n"
            "  save one matrix with the outcomes in a file, and each other model in a file of its own"
        )
    columns: dict[str, Any] = {}
    for name, values in arrays.items():
        if values.dtype.names:
            columns |= {field: values[field] for field in values.dtype.names}
        elif values.ndim == 1 or (values.ndim == 2 and values.shape[1] == 1):
            columns[name] = values.reshape(-1)
        elif values.ndim == 2:
            stem = "logit_" if "logit" in f"{name} {path.name}".lower() else "p"
            columns |= {f"{stem}{j}": values[:, j] for j in range(values.shape[1])}
        else:
            raise ValueError(
                f"{shown}: {name} has shape {values.shape}\n  an array of forecasts has one row for each case"
            )
    lengths = {len(v) for v in columns.values()}
    if len(lengths) != 1:
        shapes = ", ".join(f"{name} {v.shape}" for name, v in arrays.items())
        raise ValueError(
            f"{shown}: the arrays have different lengths: {shapes}\n  one row for each case in every array"
        )
    return of_frame(pl.DataFrame(columns), shown, "file")


def _loaded(path: Path) -> dict[str, Any]:
    """Return the arrays by name; a header that promises more than the file holds is refused before memory is taken."""
    if not zipfile.is_zipfile(path):
        with path.open("rb") as start:
            npy.read_magic(start)  # refuses other kinds of files
        values = np.load(path, allow_pickle=False, mmap_mode="r")
        return {"y" if values.ndim == 1 and values.dtype.kind in "iubUS" else "p": values}
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            with archive.open(member) as file:
                version = npy.read_magic(file)
                read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
                shape, _, dtype = read(file)
                if dtype.hasobject or int(np.prod(shape, dtype=object)) * dtype.itemsize > member.file_size:
                    raise ValueError(f"{member.filename} holds less than it promises")
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


# -- lists in columns -------------------------------------------------------------------------------------------------


def with_lists_as_columns(lazy: pl.LazyFrame) -> pl.LazyFrame:
    """Return a frame in which lists of numbers, as long in all of the first rows, are one column for each number.

    Objects are one column for each name: scores.NEG, metadata.market_prob.
    """
    schema = lazy.collect_schema()
    while objects := {
        n: kind.fields for n, kind in schema.items() if isinstance(kind, pl.Struct) and becomes_columns(kind)
    }:
        lazy = lazy.with_columns(_with_plain_fields(*each) for each in objects.items()).unnest(list(objects))
        schema = lazy.collect_schema()
    lists = [name for name, kind in schema.items() if becomes_columns(kind)]
    if not lists:
        return lazy
    lazy = lazy.with_columns(pl.col(c).arr.to_list() for c in lists if isinstance(schema[c], pl.Array))
    lengths = lazy.select(pl.col(lists).list.len()).head(LISTED).collect()
    width = {c: int(lengths[c].drop_nulls()[0]) for c in lists if lengths[c].drop_nulls().n_unique() == 1}
    chosen: list[pl.Expr] = []
    for name in schema:
        if name in width:
            every = range(width[name])
            chosen += [pl.col(name).list.get(i, null_on_oob=True).alias(f"{name}_{i}") for i in every]
        else:
            chosen.append(pl.col(name))
    return lazy.select(chosen)


def _with_plain_fields(name: str, fields: Sequence[pl.Field]) -> pl.Expr:
    """Return an object with those of its fields that are columns or become some, named by their path."""
    plain = [field.name for field in fields if not field.dtype.is_nested() or becomes_columns(field.dtype)]
    return pl.struct(pl.col(name).struct.field(field).alias(f"{name}.{field}") for field in plain).alias(name)


def becomes_columns(kind: pl.DataType | DataTypeClass | None) -> bool:
    """Whether values are lists of numbers, or objects with something else than lists.

    A list of words beside one of numbers may name them, in another order in each row.
    """
    if isinstance(kind, pl.Struct):
        inner = [field.dtype for field in kind.fields]
        lists = any(isinstance(dtype, pl.List) and not dtype.inner.is_numeric() for dtype in inner)
        return not lists and any(not dtype.is_nested() or becomes_columns(dtype) for dtype in inner)
    return isinstance(kind, (pl.List, pl.Array)) and kind.inner.is_numeric()


# -- lists in cells of text -------------------------------------------------------------------------------------------

NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
WRITTEN_LIST = rf"^\s*\[\s*{NUMBER}(?:\s*[,;\s]\s*{NUMBER})+\s*\]\s*$"


def _numbers_of(column: pl.Expr) -> pl.Expr:
    return column.str.strip_chars("[] \t\n").str.replace_all(r"\s*[,;\s]\s*", " ").str.split(" ")


def widths_of_written_lists(sample: pl.DataFrame) -> dict[str, int]:
    """Return the columns of texts such as [0.1, 0.9], and how many numbers each cell of them holds."""
    widths: dict[str, int] = {}
    for name in (name for name, kind in sample.schema.items() if kind == pl.String):
        present = sample.lazy().select(pl.col(name).drop_nulls().head(LISTED)).collect()
        lists = present.filter(pl.col(name).str.contains(WRITTEN_LIST))
        if lists.height and lists.height >= MOST_LISTS * present.height:
            lengths = lists.select(_numbers_of(pl.col(name)).list.len()).to_series()
            usual = int(lengths.mode().sort()[0])
            widths |= {name: usual} if (lengths == usual).sum() >= MOST_LISTS * present.height else {}
    return widths


def with_written_lists(lazy: pl.LazyFrame, widths: Mapping[str, int]) -> pl.LazyFrame:
    """Return a frame with one column of text for each number of these lists; other cells are as they were."""
    names = lazy.collect_schema().names()
    chosen: list[pl.Expr] = []
    for name in names:
        parts, width = _numbers_of(pl.col(name)), widths.get(name, 0)
        cells = (pl.when(parts.list.len() == width).then(parts.list.get(i, null_on_oob=True)) for i in range(width))
        chosen += [cell.otherwise(pl.col(name)).alias(f"{name}_{i}") for i, cell in enumerate(cells)]
        chosen += [] if width else [pl.col(name)]
    return lazy.select(chosen)


# -- half precision ---------------------------------------------------------------------------------------------------


def are_half(frame: pl.DataFrame, names: Iterable[str]) -> bool:
    """Whether numbers in columns of higher precision were computed in half precision, as far as 2,000 values tell."""
    values = frame.select(pl.col(list(names)).cast(pl.Float64)).head(LISTED).to_numpy().reshape(-1)
    values = values[np.isfinite(values)][:2000]
    half = values.astype(np.float16)
    if not len(values) or (values == np.round(values, 3)).all():
        return False  # rounded by hand: every number of three decimals is the shortest of some half
    exact = half.astype(np.float64) == values
    # text holds the shortest number that gives the same half
    return all(exact[i] or float(str(half[i])) == values[i] for i in range(len(values)))
