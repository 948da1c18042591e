"""`veracity sql`: the query with which a database counts forecasts of two classes."""

from __future__ import annotations

import click

from veracity.cli._click import INPUT, Command, Option
from veracity.cli._output_files import to_stdout

DIALECTS = ("duckdb", "postgres", "spark", "sqlite")
TABLE = Option(INPUT, "--table NAME", "Table or view with a row for each case.", required=True)
LABEL = Option(INPUT, "--label COL", "Column of the observed outcome.", required=True)
PROBA = Option(INPUT, "--positive-proba COL", "Column with the probability of the event.", required=True)
DIALECT = Option(INPUT, "--dialect", "Database that will run it.", type=click.Choice(DIALECTS), required=True)


@click.command(cls=Command, params=[TABLE, LABEL, PROBA, DIALECT])
def command(table: str, label: str, positive_proba: str, dialect: str) -> None:
    """Print the query that counts forecasts of two classes in their database.

    Its answer, some thousand cells without a row of the table, is all that an assessment needs: in Python
    `veracity.sql.tally_of_answer(rows)`.

    \b
    Examples:
      veracity sql --table predictions --label died --positive-proba risk --dialect postgres
      veracity assess warehouse.duckdb::predictions
    """
    from veracity import sql

    to_stdout(sql.query(table, label=label, positive_proba=positive_proba, dialect=dialect) + "\n")
