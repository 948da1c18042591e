"""Count where the data are: one GROUP BY in a database gives everything that an assessment of two classes needs.

>>> import sqlite3, veracity as vc
>>> db = sqlite3.connect(":memory:")
>>> _ = db.execute("CREATE TABLE predictions (died INTEGER, risk REAL)")
>>> _ = db.executemany("INSERT INTO predictions VALUES (?, ?)", [(0, 0.2), (1, 0.7), (1, 0.9), (0, 0.4)])
>>> tally = vc.sql.tally(db, "predictions", label="died", positive_proba="risk")
>>> round(vc.assess(tally).scores.log_loss, 4)
0.299
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veracity.inputs.events import event_of
from veracity.inputs.names import first_line
from veracity.kernels.grid import FINE, grid
from veracity.options import canonical
from veracity.state.from_cells import CellCounts
from veracity.state.plan import Plan
from veracity.state.tally import Tally, grid_of

DIALECTS = ("duckdb", "postgres", "spark", "sqlite")
FLOAT = {"duckdb": "DOUBLE", "postgres": "DOUBLE PRECISION", "spark": "DOUBLE", "sqlite": "REAL"}
TEXT = {"duckdb": "VARCHAR", "postgres": "TEXT", "spark": "STRING", "sqlite": "TEXT"}
BIG = {"duckdb": "BIGINT", "postgres": "BIGINT", "spark": "BIGINT", "sqlite": "INTEGER"}
MISSING, OUTSIDE = 1, 2
OFFSET = 1 << 20  # apart: codes below one half and those of 1 − p
MOST_CELLS = 2_000_000


def query(table: str, *, label: str, positive_proba: str, dialect: str = "duckdb", plan: Plan | None = None) -> str:
    """Return the query that counts the cells of a table of labels and probabilities of the event.

    Each row of its answer is a label and a cell of the grid (that of p and that of 1 − p), with the number of cases,
    the sums of p, p², ln p and ln(1 − p), and the smallest and largest p. `problem` is 1 where a value is missing, and
    2 where p is no probability.

    >>> text = query("predictions", label="died", positive_proba="risk", dialect="sqlite")
    >>> print(text.splitlines()[3].strip())
    FROM "predictions"
    """
    if dialect not in DIALECTS:
        raise ValueError(f"dialect: {dialect!r} is not one of {', '.join(DIALECTS)}")
    number, text, big = FLOAT[dialect], TEXT[dialect], BIG[dialect]
    log2 = "(ln({v}) / ln(CAST(2 AS {number})))" if dialect == "postgres" else "log2({v})"

    def code(v: str, rounded: str) -> str:
        """Return the code of v > 0, its leading bits, which a wrong last bit of log2 leaves as it is."""
        exponent = f"floor({log2.format(v=v, number=number)})"
        digits = f"{rounded}({v} / power(CAST(2 AS {number}), {exponent}) * {1 << FINE})"
        return f"CAST({exponent} * {1 << FINE} + {digits} AS {big})"

    edges = [f"CAST('{edge!r}' AS {number})" for edge in _cut_edges(plan or Plan())]
    passed, mirrored = (
        " + ".join(f"CASE WHEN {value} >= {edge} THEN 1 ELSE 0 END" for edge in edges) for value in ("p", "1 - p")
    )
    return f"""WITH stated AS (
  SELECT CAST({_quoted(label, dialect)} AS {text}) AS label,
         CAST({_quoted(positive_proba, dialect)} AS {number}) AS p
  FROM {_table(table, dialect)}
), checked AS (
  SELECT label, p,
         CASE WHEN label IS NULL OR p IS NULL THEN {MISSING}
              WHEN p >= 0 AND p <= 1 THEN 0 ELSE {OUTSIDE} END AS problem
  FROM stated
), folded AS (
  SELECT label, p, problem,
         CASE WHEN problem <> 0 THEN NULL WHEN p < 0.5 THEN p ELSE 1 - p END AS v,
         CASE WHEN problem <> 0 THEN NULL WHEN p < 0.5 THEN 1 - (1 - p) ELSE 1 - p END AS u
  FROM checked
), placed AS (
  SELECT label, p, problem,
         CASE WHEN problem <> 0 THEN 0
              WHEN v <= 0 THEN CASE WHEN p < 0.5 THEN {-2 * OFFSET} ELSE {2 * OFFSET} END
              WHEN p < 0.5 THEN {code("v", "floor")}
              ELSE {OFFSET} - {code("v", "ceil")} END AS code,
         CASE WHEN problem <> 0 OR u <= 0 THEN 0
              WHEN p < 0.5 THEN {code("u", "ceil")}
              ELSE {code("u", "floor")} END AS other,
         CASE WHEN problem <> 0 THEN 0 ELSE {passed} END AS cut,
         CASE WHEN problem <> 0 THEN 0 ELSE {mirrored} END AS other_cut
  FROM folded
)
SELECT problem, code, other, cut, other_cut, CASE WHEN problem = {MISSING} THEN NULL ELSE label END AS label,
       COUNT(*) AS n,
       SUM(CASE WHEN problem = 0 THEN p END) AS sum_p,
       SUM(CASE WHEN problem = 0 THEN p * p END) AS sum_p2,
       SUM(CASE WHEN problem = 0 AND p > 0 THEN ln(p) ELSE 0 END) AS sum_ln_p,
       SUM(CASE WHEN problem = 0 AND p < 1 THEN ln(1 - p) ELSE 0 END) AS sum_ln_q,
       MIN(p) AS low, MAX(p) AS high
FROM placed
GROUP BY problem, code, other, cut, other_cut, CASE WHEN problem = {MISSING} THEN NULL ELSE label END"""


@dataclass(frozen=True)
class Cell:
    """One row of the answer of a query."""

    problem: int
    code: int
    other: int
    cut: int
    other_cut: int
    label: str | None
    n: int
    sum_p: float
    sum_p2: float
    sum_ln_p: float
    sum_ln_q: float
    low: float | None
    high: float | None


def tally(
    connection: Any,
    table: str,
    *,
    label: str,
    positive_proba: str,
    positive: object = None,
    dialect: str | None = None,
    plan: Plan | None = None,
) -> Tally:
    """Return the tally of a table, counted in its database.

    connection  of duckdb, sqlite3 or psycopg, or a SparkSession
    positive    the label that is the event, where yes, true, 1 and their like do not say it

    >>> import duckdb
    >>> db = duckdb.connect()
    >>> _ = db.execute("CREATE TABLE predictions AS SELECT 1 AS died, 0.7::DOUBLE AS risk UNION ALL SELECT 0, 0.2")
    >>> tally(db, "predictions", label="died", positive_proba="risk").cases
    2
    """
    dialect = dialect or dialect_of(connection)
    _require_columns(connection, table, (label, positive_proba), dialect)
    text = query(table, label=label, positive_proba=positive_proba, dialect=dialect, plan=plan)
    return tally_of_answer(
        _rows(connection, text, dialect), table, positive=positive, proba=positive_proba, label=label, plan=plan
    )


def tally_of_answer(
    answer: Iterable[Sequence[Any]],
    table: str = "table",
    *,
    positive: object = None,
    label: str = "label",
    proba: str = "probability",
    plan: Plan | None = None,
) -> Tally:
    """Return the tally of the answer of a query, however it was run.

    >>> import duckdb
    >>> db = duckdb.connect()
    >>> _ = db.execute("CREATE TABLE predictions AS SELECT 1 AS died, 0.7::DOUBLE AS risk UNION ALL SELECT 0, 0.2")
    >>> answer = db.execute(query("predictions", label="died", positive_proba="risk")).fetchall()
    >>> tally_of_answer(answer).cases
    2
    """
    cells = [Cell(*row) for row in answer]
    _refuse(cells, table, label, proba)
    names = sorted({canonical(cell.label) for cell in cells})
    if not names:
        raise ValueError(f"{table}: no rows\n  there is nothing to assess")
    classes = _classes(names, table, label, positive)
    events = np.array([canonical(cell.label) == classes[1] for cell in cells], dtype=np.int64)
    logs = [cell.sum_ln_p if event else cell.sum_ln_q for cell, event in zip(cells, events, strict=True)]
    counts = CellCounts(
        event=events,
        count=np.array([cell.n for cell in cells], dtype=np.int64),
        total=np.array([cell.sum_p for cell in cells], dtype=np.float64),
        square=np.array([cell.sum_p2 for cell in cells], dtype=np.float64),
        log=np.array(logs, dtype=np.float64),
        low=np.array([cell.low for cell in cells], dtype=np.float64),
        high=np.array([cell.high for cell in cells], dtype=np.float64),
    )
    return Tally.of_cells(counts, classes, plan=plan or Plan())


def dialect_of(connection: Any) -> str:
    """Return the dialect of a connection by its package."""
    package = type(connection).__module__.partition(".")[0]
    known = {"duckdb": "duckdb", "_duckdb": "duckdb", "sqlite3": "sqlite", "psycopg": "postgres", "pyspark": "spark"}
    if package not in known:
        raise TypeError(
            f"connection: of {package}; duckdb, sqlite3, psycopg and pyspark are known\n"
            "  run sql.query(…, dialect=…) yourself and give its rows to sql.tally_of_answer(rows)"
        )
    return known[package]


def first_rows(table: str, dialect: str, number: int) -> str:
    """Return the query of the first rows of a table."""
    return f"SELECT * FROM {_table(table, dialect)} LIMIT {number}"


def columns(connection: Any, table: str, dialect: str) -> list[str]:
    """Return the columns of a table."""
    text = first_rows(table, dialect, 0)
    try:
        if dialect == "spark":
            return list(connection.sql(text).columns)
        return [column[0] for column in connection.execute(text).description]
    except Exception as problem:  # each package has errors of its own
        raise ValueError(
            f"{table}: cannot be read ({first_line(problem)})\n  give the name of a table or view"
        ) from None


def _require_columns(connection: Any, table: str, wanted: Sequence[str], dialect: str) -> None:
    from difflib import get_close_matches

    known = columns(connection, table, dialect)
    for name in wanted:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"columns: {', '.join(known)}"
            raise ValueError(f"{table}: no column `{name}`; {hint}")


def _rows(connection: Any, text: str, dialect: str) -> list[tuple[Any, ...]]:
    if dialect == "spark":
        return [tuple(row) for row in connection.sql(text).collect()]
    if dialect == "sqlite":
        _complete(connection)
    return list(connection.execute(text).fetchall())


def _complete(connection: Any) -> None:
    """Give SQLite the functions that some builds lack."""
    functions = {"ln": (1, math.log), "log2": (1, math.log2), "floor": (1, math.floor), "ceil": (1, math.ceil)}
    for name, (number, function) in {**functions, "power": (2, math.pow)}.items():
        connection.create_function(name, number, _nothing_of_nothing(function), deterministic=True)


def _nothing_of_nothing(function: Any) -> Any:
    return lambda *values: None if any(value is None for value in values) else function(*values)


def _refuse(cells: list[Cell], table: str, label: str, proba: str) -> None:
    """Refuse rows that are no forecasts with outcomes, and answers that were not grouped."""
    total = sum(cell.n for cell in cells)
    missing = sum(cell.n for cell in cells if cell.problem == MISSING)
    if missing:
        raise ValueError(
            f"{table}: {missing:,} of {total:,} rows have no `{label}` or no `{proba}`\n"
            f"  leave them out in a view:  WHERE {label} IS NOT NULL AND {proba} IS NOT NULL"
        )
    outside = [cell for cell in cells if cell.problem == OUTSIDE]
    if outside:
        low = min(cell.low for cell in cells if cell.low is not None)
        high = max(cell.high for cell in cells if cell.high is not None)
        number = sum(cell.n for cell in outside)
        percent = low >= 0.0 and high <= 100.0
        remedy = f"if these are percentages, divide them in a view:  {proba} / 100.0" if percent else "look at them"
        raise ValueError(
            f"{table}: {number:,} of {total:,} values of `{proba}` are no probabilities "
            f"({low:g} to {high:g})\n  {remedy}"
        )
    if len(cells) > MOST_CELLS:
        raise ValueError(f"{table}: {len(cells):,} labels by cells; `{label}` is no outcome of two classes")


def _classes(names: list[str], table: str, label: str, positive: object) -> tuple[str, str]:
    shown = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
    if len(names) > 2:
        raise ValueError(
            f"{table}: `{label}` has {len(names):,} values ({shown}); a database counts two classes\n"
            "  more classes need the rows: export them, or make a view of one class against the rest"
        )
    if positive is not None:
        event = canonical(positive)
        if event not in names and len(names) == 2:
            raise ValueError(f"{table}: `{label}` is {shown}, never {event}\n  choose one of them as positive")
        return next((name for name in names if name != event), f"not {event}"), event
    pair = event_of(names)
    if pair is None:
        raise ValueError(
            f"{table}: `{label}` holds {shown}; which one does the probability forecast?\n"
            f"  choose the event:  positive={names[-1]!r}"
        )
    return pair


def _cut_edges(plan: Plan) -> list[float]:
    """Return the edges that cuts of the plan add to the cells that float bits make."""
    return [float(edge) for edge in np.setdiff1d(grid_of(plan, 2).edges, grid(()).edges)]


def _quoted(name: str, dialect: str) -> str:
    mark = "`" if dialect == "spark" else '"'
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"


def _table(name: str, dialect: str) -> str:
    """Return a table's name, schema and catalogue apart."""
    return ".".join(_quoted(part, dialect) for part in name.split("."))
