"""Files inside others, each as a file of its own: compressed by xz, alone in a zip archive, a table of a database."""

from __future__ import annotations

import lzma
import sqlite3
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any

from . import limits
from .paths import TABLE, File, Scratch, extension
from .patterns import nearest

XZ, ZIP, SQLITE, DUCKDB = b"\xfd7zXZ\x00", b"PK\x03\x04", b"SQLite format 3\x00", b"DUCK"


def opened(path: Path, name: str) -> File:
    """Return the file itself, or a copy of what it holds that lives as long as the result."""
    file, named, table = str(path).partition(TABLE)
    if named and not path.exists():
        return _table(Path(file), table, name)
    with path.open("rb") as stream:
        magic = stream.read(16)
    if magic[:6] == XZ:
        with lzma.open(path) as content:
            return _copy(content, path, name, extension(path))
    if magic[:4] == ZIP and path.suffix.lower() == ".zip":
        with zipfile.ZipFile(path) as archive:
            inside = [entry for entry in archive.namelist() if not entry.endswith("/") and "__MACOSX" not in entry]
            if len(inside) != 1:
                named = ", ".join(inside[:6])
                raise ValueError(f"{name}: a zip archive of {len(inside)} files ({named})\n  unpack it, and name one")
            with archive.open(inside[0]) as content:
                return _copy(content, path, name, extension(Path(inside[0])))
    if magic == SQLITE or magic[8:12] == DUCKDB:
        raise ValueError(f"{name}: a database\n  name its table:  {name}{TABLE}{(_tables(path) or ['TABLE'])[0]}")
    return File(path, name)


def _copy(content: IO[bytes], path: Path, name: str, ending: str) -> File:
    keep, spent, size = Scratch(ending), path.stat().st_size, 0
    try:
        with keep.path.open("wb") as copy:
            while part := content.read(1 << 20):
                size += len(part)
                limits.refuse_expansion(size, spent, name)
                copy.write(part)
    except (lzma.LZMAError, zipfile.BadZipFile, EOFError, RuntimeError, NotImplementedError) as problem:
        raise ValueError(f"{name}: damaged, cut short, or encrypted\n  unpack it first") from problem
    return File(keep.path, name, keep)


@contextmanager
def _connected(path: Path) -> Iterator[Any]:
    """Connect to a database that is only read."""
    with path.open("rb") as stream:
        magic = stream.read(16)
    if magic == SQLITE:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            yield connection
    elif magic[8:12] == DUCKDB:
        try:
            import duckdb
        except ModuleNotFoundError as missing:
            raise ModuleNotFoundError("duckdb is not installed\n  pip install duckdb", name="duckdb") from missing
        with closing(duckdb.connect(str(path), read_only=True)) as connection:
            yield connection
    else:
        raise ValueError(f"{path.name}: neither a SQLite nor a DuckDB file, so it has no tables\n  leave out {TABLE}…")


def _tables(path: Path) -> list[str]:
    with _connected(path) as connection:
        catalogue = "sqlite_master where type in ('table', 'view')"
        if not isinstance(connection, sqlite3.Connection):
            catalogue = "(select table_name as name from information_schema.tables)"
        return [str(name) for (name,) in connection.execute(f"select name from {catalogue}").fetchall()]


def _table(path: Path, table: str, name: str) -> File:
    """Return the rows of a table, all columns, as a Parquet file."""
    import polars as pl

    known = _tables(path)
    if table not in known:
        listed = ", ".join(known) or "none"
        raise ValueError(f"{path.name}: no table `{table}`{nearest(table, known)}\n  there are: {listed}")
    with _connected(path) as connection:
        quoted = table.replace('"', '""')
        cursor = connection.execute(f'select * from "{quoted}"')
        columns: Sequence[str] = [str(column[0]) for column in cursor.description]
        rows = cursor.fetchall()
    keep = Scratch(".parquet")
    schema = list(columns)
    pl.DataFrame(rows, schema=schema, orient="row", infer_schema_length=None, strict=False).write_parquet(keep.path)
    return File(keep.path, name, keep)
