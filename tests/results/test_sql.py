"""Cases counted in a database are those counted from rows: the same cells, and the same assessment."""

from __future__ import annotations

import glob
import os
import pwd
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import veracity as vc
from veracity import sql
from veracity.cli import run

TABLE = "CREATE TABLE predictions (died INTEGER, risk DOUBLE PRECISION)"


def cases() -> tuple[Any, Any]:
    """Forecasts of every kind: continuous, rounded, at cuts, next to 0 and 1, and exactly there."""
    rng = np.random.default_rng(0)
    special = [0.0, 1.0, 0.5, 0.25, 0.75, 1e-5, 1e-8, 1 - 1e-7, 2.0**-14, 2.0**-15, 1 / 3, np.nextafter(0.5, 0), 0.05]
    parts = [rng.beta(0.8, 1.6, 3000), rng.uniform(size=800).round(2), special * 3, rng.beta(0.02, 0.02, 500)]
    p = np.concatenate(parts)
    p = np.concatenate([p, np.float32(p[:300]).astype(float)])
    y = (rng.uniform(size=len(p)) < p).astype(int)
    return y, p


Y, P = cases()


@pytest.fixture(scope="module")
def duckdb_connection() -> Any:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.execute(TABLE)
    connection.executemany("INSERT INTO predictions VALUES (?, ?)", list(zip(Y.tolist(), P.tolist(), strict=True)))
    return connection


@pytest.fixture(scope="module")
def sqlite_connection() -> Any:
    connection = sqlite3.connect(":memory:")
    connection.execute(TABLE)
    connection.executemany("INSERT INTO predictions VALUES (?, ?)", list(zip(Y.tolist(), P.tolist(), strict=True)))
    return connection


@pytest.fixture(scope="module")
def postgres_connection() -> Iterator[Any]:
    """A server of our own: Debian's package, without a network, in a folder that its user can reach."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/pg_ctl"))
    if not found:
        pytest.skip("postgresql absent")
    psycopg = pytest.importorskip("psycopg")
    programs = Path(found[-1]).parent
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    as_user: list[str] = []
    if os.getuid() == 0:  # the server refuses to run as root
        user = pwd.getpwnam("postgres")
        as_user = ["setpriv", "--reuid", str(user.pw_uid), "--regid", str(user.pw_gid), "--clear-groups"]
        os.chown(folder, user.pw_uid, user.pw_gid)
    data = folder / "data"
    how: dict[str, Any] = {"check": True, "capture_output": True, "cwd": folder}
    subprocess.run([*as_user, str(programs / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust"], **how)
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    start = [
        *as_user,
        str(programs / "pg_ctl"),
        "-D",
        str(data),
        "-w",
        "-l",
        str(folder / "log"),
        "-o",
        options,
        "start",
    ]
    subprocess.run(start, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
    try:
        with psycopg.connect(host=str(folder), user="postgres", dbname="postgres") as connection:
            connection.execute(TABLE)
            with connection.cursor().copy("COPY predictions FROM STDIN") as copy:
                for row in zip(Y.tolist(), P.tolist(), strict=True):
                    copy.write_row(row)
            yield connection
    finally:
        stop = [*as_user, str(programs / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop"]
        subprocess.run(stop, check=False, capture_output=True, cwd=folder)
        shutil.rmtree(folder, ignore_errors=True)


REAL = {  # label, forecast, event
    "tidymodels_probably/segment_logistic.csv": ("Class", ".pred_good", "good"),
    "yardstick/two_class_example.csv": ("truth", "Class1", "Class1"),
    "presence_absence/spdata.txt": ("OBSERVED", "GAM", "1"),
    "recession_spf_probit/recession.csv": ("recession", "probit", "1"),
    "fivethirtyeight_checking/nba_games.csv": ("prob1_outcome", "prob1", "1"),
}
NUMBER = re.compile(r"(?<![\w.])[−<>]?\d[\d,]*(?:\.\d+)?")


def real(shared: Path, file: str) -> tuple[list[tuple[str, float]], Any, Any]:
    """Return the rows of a table of labels and forecasts, and outcomes and forecasts as arrays."""
    label, forecast, event = REAL[file]
    separator = "\t" if file.endswith("txt") else ","
    frame = pl.read_csv(shared / file, separator=separator, infer_schema_length=None)
    frame = frame.select(pl.col(label).cast(str).alias("died"), pl.col(forecast).alias("risk")).drop_nulls()
    return frame.rows(), (frame["died"] == event).to_numpy().astype(int), frame["risk"].to_numpy()


def assert_same_answer(found: vc.Tally, wanted: vc.Tally) -> None:
    """Verdict equal, and every printed score and mean within one unit of the last digit."""
    assert_same_cells(found, wanted)
    cells, rows = vc.assess(found), vc.assess(wanted)
    assert cells.verdict == rows.verdict
    assert "cells of the grid" in str(cells.verdict_detail)
    tables = [
        [x for x in a.to_markdown().partition("| Recalibration")[0].splitlines() if "|" in x] for a in (cells, rows)
    ]
    assert len(tables[0]) == len(tables[1]) > 8
    for mine, theirs in zip(*tables, strict=True):
        assert NUMBER.sub("#", mine) == NUMBER.sub("#", theirs)
        for a, b in zip(NUMBER.findall(mine), NUMBER.findall(theirs), strict=True):
            ours, known = (float(x.replace(",", "").replace("−", "-").lstrip("<>")) for x in (a, b))
            assert abs(ours - known) <= 1.001 * 10.0 ** -len(a.partition(".")[2]), mine


def assert_same_cells(found: vc.Tally, wanted: vc.Tally) -> None:
    pairs = zip(
        (found.pooled, found.top, *found.classwise), (wanted.pooled, wanted.top, *wanted.classwise), strict=True
    )
    for mine, rows in pairs:
        assert np.array_equal(mine.cells, rows.cells)
        assert np.array_equal(mine.all, rows.all)
        assert np.array_equal(mine.true, rows.true)
        assert np.allclose(mine.all_sum, rows.all_sum, rtol=1e-12, atol=1e-300)
    mine, rows = found.sums, wanted.sums
    assert (mine.rows, mine.zeros) == (rows.rows, rows.zeros)
    assert np.allclose(mine.score[:2, 0], rows.score[:2, 0], rtol=1e-12)  # log loss and Brier score
    assert np.allclose(mine.column, rows.column, rtol=1e-12)
    assert np.allclose(mine.by_class, rows.by_class, rtol=1e-12)
    assert np.allclose(mine.score, rows.score, rtol=1e-6)  # squares, for intervals: from the means of cells
    assert vc.Tally.from_bytes(found.to_bytes()) == found


@pytest.mark.parametrize("database", ["duckdb", "sqlite", "postgres"])
def test_cells_of_a_database_are_those_of_the_rows(database: str, request: pytest.FixtureRequest) -> None:
    connection = request.getfixturevalue(f"{database}_connection")
    found = sql.tally(connection, "predictions", label="died", positive_proba="risk")
    assert_same_cells(found, vc.Tally.of(Y, P))


@pytest.mark.shared
@pytest.mark.parametrize("file", REAL)
@pytest.mark.parametrize("database", ["duckdb", "postgres"])
def test_real_tables_are_answered_as_their_rows(
    database: str, file: str, shared: Path, request: pytest.FixtureRequest
) -> None:
    connection = request.getfixturevalue(f"{database}_connection")
    rows, y, p = real(shared, file)
    connection.execute("DROP TABLE IF EXISTS real_forecasts")
    connection.execute("CREATE TABLE real_forecasts (died VARCHAR, risk DOUBLE PRECISION)")
    mark = "%s" if database == "postgres" else "?"
    connection.cursor().executemany(f"INSERT INTO real_forecasts VALUES ({mark}, {mark})", rows)
    found = sql.tally(connection, "real_forecasts", label="died", positive_proba="risk", positive=REAL[file][2])
    assert_same_answer(found, vc.Tally.of(y, p))


@pytest.mark.spark
@pytest.mark.slow
def test_cells_of_spark_are_those_of_the_rows(java: str, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)  # of the session, which later tests of this process take over
    pyspark = pytest.importorskip("pyspark.sql")
    builder = pyspark.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()
    rows = list(zip(Y.tolist(), P.tolist(), strict=True))
    session.createDataFrame(rows, "died INT, risk DOUBLE").createOrReplaceTempView("predictions")
    found = sql.tally(session, "predictions", label="died", positive_proba="risk")
    assert_same_cells(found, vc.Tally.of(Y, P))
    for file in REAL:
        held, y, p = real(shared, file)
        session.createDataFrame(held, "died STRING, risk DOUBLE").createOrReplaceTempView("real_forecasts")
        found = sql.tally(session, "real_forecasts", label="died", positive_proba="risk", positive=REAL[file][2])
        assert_same_answer(found, vc.Tally.of(y, p))


def test_assessment_from_cells_says_the_same_and_that_it_is_from_cells(duckdb_connection: Any) -> None:
    shifted = P.clip(1e-6, 1 - 1e-6)
    rng = np.random.default_rng(1)
    y = (rng.uniform(size=len(P)) < 1 / (1 + np.exp(-0.7 * np.log(shifted / (1 - shifted))))).astype(int)
    duckdb_connection.execute("CREATE OR REPLACE TABLE other (died VARCHAR, risk DOUBLE)")
    named = ["yes" if event else "no" for event in y.tolist()]
    rows = list(zip(named, shifted.tolist(), strict=True))
    duckdb_connection.executemany("INSERT INTO other VALUES (?, ?)", rows)
    cells = vc.assess(sql.tally(duckdb_connection, "other", label="died", positive_proba="risk"))
    whole = vc.assess(y, shifted)
    assert cells.classes == ("no", "yes")
    assert cells.verdict == whole.verdict
    assert float(cells.scores.log_loss) == pytest.approx(float(whole.scores.log_loss), rel=1e-12)
    assert float(cells.scores.auc) == pytest.approx(float(whole.scores.auc), abs=1e-4)
    assert float(cells.calibration_slope) == pytest.approx(float(whole.calibration_slope), abs=1e-3)
    assert "cells of the grid" in str(cells.verdict_detail)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(1, 0.5), (0, None)], "1 of 2 rows have no `died` or no `risk`"),
        ([(1, 80.0), (0, 20.0)], "risk / 100.0"),
        ([(1, -0.5), (0, 0.2)], "1 of 2 values of `risk` are no probabilities"),
        ([(1, 0.5), (2, 0.5), (0, 0.2)], "`died` has 3 values"),
        ([(1, 0.5), (2, 0.5)], "which one does the probability forecast"),
        ([], "no rows"),
    ],
)
def test_tables_that_hold_no_two_classes_are_refused(rows: list[Any], message: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute(TABLE)
    connection.executemany("INSERT INTO predictions VALUES (?, ?)", rows)
    with pytest.raises(ValueError, match=message):
        sql.tally(connection, "predictions", label="died", positive_proba="risk")


def test_absent_tables_and_columns_are_named(sqlite_connection: Any) -> None:
    with pytest.raises(ValueError, match="did you mean `risk`"):
        sql.tally(sqlite_connection, "predictions", label="died", positive_proba="risks")
    with pytest.raises(ValueError, match="absent: cannot be read"):
        sql.tally(sqlite_connection, "absent", label="died", positive_proba="risk")
    with pytest.raises(TypeError, match="tally_of_answer"):
        sql.tally(object(), "predictions", label="died", positive_proba="risk")
    with pytest.raises(ValueError, match="oracle"):
        sql.query("predictions", label="died", positive_proba="risk", dialect="oracle")


def test_assess_counts_a_table_in_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "warehouse.sqlite"
    connection = sqlite3.connect(path)
    connection.execute(TABLE)
    connection.executemany("INSERT INTO predictions VALUES (?, ?)", list(zip(Y.tolist(), P.tolist(), strict=True)))
    connection.commit()
    before = path.read_bytes()
    assert run(["assess", f"{path}::predictions", "--quiet", "--tally", str(tmp_path / "out.tally")]) == 0
    assert_same_cells(vc.Tally.from_bytes((tmp_path / "out.tally").read_bytes()), vc.Tally.of(Y, P))
    assert path.read_bytes() == before
    connection.execute("CREATE TABLE percents AS SELECT died, 100.0 * risk AS risk FROM predictions")
    connection.execute("CREATE TABLE numbers AS SELECT 7 * died AS a, 100.0 * risk + 3 AS b FROM predictions")
    connection.commit()
    before = path.read_bytes()
    assert run(["assess", f"{path}::numbers"]) == 2
    said = capsys.readouterr().err
    assert "columns:  a, b" in said
    assert "warehouse.sqlite::numbers --label COL --positive-proba COL" in said
    assert run(["assess", f"{path}::percents", "--label", "died", "--positive-proba", "risk"]) == 2
    assert "divide them in a view:  risk / 100.0" in capsys.readouterr().err
    assert run(["assess", f"{path}::absent"]) == 2
    assert "absent: cannot be read" in capsys.readouterr().err
    assert run(["assess", f"{path}::predictions", "--force", "--json", str(path)]) == 2
    assert path.read_bytes() == before


def test_query_is_printed_in_every_dialect(capsys: pytest.CaptureFixture[str]) -> None:
    for dialect in sql.DIALECTS:
        given = ["--table", "a.b", "--label", "died", "--positive-proba", 'ri"sk', "--dialect", dialect]
        assert run(["sql", *given]) == 0
        printed = capsys.readouterr().out
        assert printed.strip() == sql.query("a.b", label="died", positive_proba='ri"sk', dialect=dialect)
        assert printed.count("GROUP BY") == 1
