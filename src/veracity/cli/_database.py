"""`file.db::table`: two classes are counted in their database, which sends cells and no rows."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veracity.cli._click import Request

if TYPE_CHECKING:
    from veracity.state.tally import Tally

BETWEEN = "::"  # a file and a table in it
SEEN = 2000  # rows that the columns are recognised by
SQLITE, DUCKDB = b"SQLite format 3\x00", b"DUCK"
# Options of input under which a database can still count.
COUNTABLE = ("label", "positive_proba", "positive", "layout")


def table_of(name: str) -> tuple[Path, str] | None:
    """Return database file and table; None where the name is another one."""
    path, between, table = name.rpartition(BETWEEN)
    return (Path(path), table) if between and table and Path(path).is_file() else None


def counted_in_database(request: Request) -> tuple[Tally, str] | None:
    """Return the tally of a table and how it was read; None where it is no table, or rows are needed."""
    from veracity.options import READING, ReadOptions

    place = table_of(request.files[0]) if len(request.files) == 1 else None
    usual = ReadOptions()
    asked = [name for name in READING if getattr(request.reading, name) != getattr(usual, name)]
    if place is None or set(asked) - set(COUNTABLE):
        return None
    from veracity import read, sql
    from veracity.inputs.names import first_line
    from veracity.state.plan import Plan

    path, table = place
    connection = connected(path)
    dialect = sql.dialect_of(connection)
    rows = _first_rows(connection, sql, table, dialect)
    try:
        layout = read.open(rows, request.reading).layout
    except ValueError as problem:
        named = f"veracity assess {shlex.quote(request.files[0])} --label COL --positive-proba COL"
        raise ValueError(
            f"{table}: {first_line(problem)}\n  columns:  {', '.join(rows.columns)}\n  name both:  {named}"
        ) from None
    plain = layout.scale == "probability" and not (layout.derived or layout.picks_only or layout.shares_only)
    one = len(layout.models) == 1 and len(layout.forecasts) == 1 and len(layout.classes) == 2
    if not (plain and one and layout.outcome is not None and layout.holds_its_forecasts):
        return None
    names: dict[str, Any] = {"label": layout.outcome, "positive_proba": layout.forecasts[0]}
    plan = request.plan or Plan()
    tally = sql.tally(connection, table, **names, positive=layout.classes[1], dialect=dialect, plan=plan)
    how = f"counted in {path.name}, table {table}: {tally.cases:,} rows · outcome {layout.outcome} · "
    return tally, f"{how}forecast {layout.forecasts[0]} · from cells"


def connected(path: Path) -> Any:
    """Return a connection that only reads."""
    with path.open("rb") as file:
        start = file.read(16)
    if start == SQLITE:
        import sqlite3

        return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    if start[8:12] != DUCKDB:
        raise ValueError(f"{path}: this is no database of SQLite or DuckDB\n  export the table as Parquet or CSV")
    try:
        import duckdb
    except ModuleNotFoundError:
        raise ValueError(f"{path} is a database of DuckDB, which needs its package\n  pip install duckdb") from None
    return duckdb.connect(str(path), read_only=True)


def _first_rows(connection: Any, sql: Any, table: str, dialect: str) -> Any:
    import polars as pl

    names = sql.columns(connection, table, dialect)
    rows = connection.execute(sql.first_rows(table, dialect, SEEN)).fetchall()
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)
