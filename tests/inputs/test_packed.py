"""Compressed, zipped and workbook files and tables of databases are read like the file that they hold."""

from __future__ import annotations

import lzma
import sqlite3
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import veracity as vc
from veracity.cli import run
from veracity.options import ReadOptions
from veracity.read import read

RNG = np.random.default_rng(0)
P = RNG.random(120).round(3)
Y = (RNG.random(120) < P).astype(int)
FRAME = pl.DataFrame({"happened": Y, "risk": P})
LOSS = vc.assess(Y, P).scores.log_loss


def loss_of(path: Path | str, **options: str) -> float:
    (forecasts,) = read(path, ReadOptions(**options)).values()
    return float(vc.assess(forecasts).scores.log_loss)


def workbook(path: Path, sheets: dict[str, pl.DataFrame], header: bool = True) -> Path:
    """Write a workbook by hand: no library of ours does."""
    from xml.sax.saxutils import escape

    def cell(value: object) -> str:
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
        return f"<c><v>{value}</v></c>"

    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    numbered = list(enumerate(sheets, 1))
    with zipfile.ZipFile(path, "w") as book:
        kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
        parts = "".join(
            f'<Override PartName="/xl/worksheets/sheet{i}.xml" ContentType="{kind}.worksheet+xml"/>'
            for i, _ in numbered
        )
        book.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType="application/'
            f'vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" '
            f'ContentType="{kind}.sheet.main+xml"/>{parts}</Types>',
        )
        start = f'<Relationships xmlns="{package}/relationships">'
        book.writestr(
            "_rels/.rels",
            f'{start}<Relationship Id="r1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        links = "".join(
            f'<Relationship Id="s{i}" Type="{office}/worksheet" Target="worksheets/sheet{i}.xml"/>' for i, _ in numbered
        )
        book.writestr("xl/_rels/workbook.xml.rels", f"{start}{links}</Relationships>")
        listed = "".join(f'<sheet name="{name}" sheetId="{i}" r:id="s{i}"/>' for i, name in numbered)
        book.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{listed}</sheets></workbook>'
        )
        for i, name in numbered:
            rows = [sheets[name].columns] * header + [list(row) for row in sheets[name].rows()]
            body = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
            book.writestr(
                f"xl/worksheets/sheet{i}.xml", f'<worksheet xmlns="{main}"><sheetData>{body}</sheetData></worksheet>'
            )
    return path


def test_xz_and_zip_hold_the_same_forecasts(tmp_path: Path) -> None:
    text = FRAME.write_csv()
    (tmp_path / "a.csv.xz").write_bytes(lzma.compress(text.encode()))
    with zipfile.ZipFile(tmp_path / "b.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/b.csv", text)
    assert loss_of(tmp_path / "a.csv.xz") == loss_of(tmp_path / "b.zip") == pytest.approx(LOSS, rel=1e-14)
    assert run(["assess", str(tmp_path / "a.csv.xz"), "--json", str(tmp_path / "a.json")]) == 0
    assert vc.Assessment.from_json((tmp_path / "a.json").read_text()).n == 120


def test_a_table_of_a_database_is_read(tmp_path: Path) -> None:
    import duckdb

    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute('create table "my rows" (happened integer, risk real)')
        connection.executemany('insert into "my rows" values (?, ?)', FRAME.rows())
    connection.close()
    with duckdb.connect(str(tmp_path / "b.duckdb")) as other:
        other.execute("create table forecasts (happened integer, risk double)")
        other.executemany("insert into forecasts values (?, ?)", FRAME.rows())
    assert loss_of(f"{tmp_path}/a.db::my rows") == loss_of(f"{tmp_path}/b.duckdb::forecasts") == pytest.approx(LOSS)
    with pytest.raises(ValueError, match=r"a.db: a database\n  name its table:  a.db::my rows"):
        loss_of(tmp_path / "a.db")
    with pytest.raises(ValueError, match=r"b.duckdb: no table `forecast`; did you mean `forecasts`"):
        loss_of(f"{tmp_path}/b.duckdb::forecast")
    (tmp_path / "c.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="neither a SQLite nor a DuckDB file"):
        loss_of(f"{tmp_path}/c.csv::rows")


def test_a_sheet_of_a_workbook_is_read(tmp_path: Path) -> None:
    one = workbook(tmp_path / "one.xlsx", {"rows": FRAME})
    two = workbook(tmp_path / "two.xlsx", {"notes": pl.DataFrame({"note": ["a"]}), "rows": FRAME})
    assert loss_of(one) == loss_of(two, sheet="rows") == pytest.approx(LOSS, rel=1e-14)
    with pytest.raises(ValueError, match=r"two.xlsx: 2 sheets: notes, rows\n  choose one:  --sheet 'notes'"):
        loss_of(two)
    with pytest.raises(ValueError, match=r"no sheet `row`; did you mean `rows`"):
        loss_of(two, sheet="row")
    bare = workbook(tmp_path / "bare.xlsx", {"rows": FRAME}, header=False)
    with pytest.raises(ValueError, match="the first row holds numbers, not the names of columns"):
        loss_of(bare)
    (tmp_path / "a.csv").write_text(FRAME.write_csv())
    with pytest.raises(ValueError, match="--sheet has no effect"):
        loss_of(tmp_path / "a.csv", sheet="rows")


def test_archives_that_hold_no_single_file_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.csv", "x")
        archive.writestr("b.csv", "x")
    with pytest.raises(ValueError, match=r"two.zip: a zip archive of 2 files \(a.csv, b.csv\)\n  unpack it"):
        loss_of(tmp_path / "two.zip")
    (tmp_path / "cut.csv.xz").write_bytes(lzma.compress(FRAME.write_csv().encode())[:-30])
    with pytest.raises(ValueError, match=r"cut\.csv\.xz: damaged, cut short"):
        loss_of(tmp_path / "cut.csv.xz")
    (tmp_path / "bomb.csv.xz").write_bytes(lzma.compress(bytes(1 << 27)))
    with pytest.raises(ValueError, match="expands to more than 200 times"):
        loss_of(tmp_path / "bomb.csv.xz")
