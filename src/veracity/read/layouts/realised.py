"""Only the probability or log-probability of the outcome, such as token log-probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from veracity.inputs import Forecasts, prepare_realised
from veracity.records.layout import Layout

from .. import column_meaning as meaning
from ..build import ModelRows, numbers_in
from ..free_columns import Columns
from ..nested_rows import Rows, likelihood_key, likelihoods, token_key, tokens
from ..patterns import items_of
from ..table import Table
from . import binary

RULE = 8


def match(columns: Columns) -> Layout | None:
    """A column named for the realised probability, and no outcome."""
    column = columns.first(meaning.REALISED, lambda c: c.numeric)
    if columns.forced and column is None:
        given = columns.options.positive_proba or columns.options.proba
        names = columns.table.columns
        column = columns.table.column(items_of(given, names)[0]) if given else columns.one_probability()
    if column is None:
        return None
    binary.refuse_realised(columns, binary.named_outcome(columns), [column])
    return Layout(
        ((columns.model, (column,)),),
        scale=columns.options.scale or ("log" if "log" in meaning.key_of(column) else "probability"),
        basis="probability of what happened only (rule 8): it cannot be compared with frequencies",
    )


def flatten(rows: Callable[[], Rows], name: str, first: dict[str, Any], label: str | None = None) -> Table | None:
    """Return one row per answer or per token of JSON lines with log-probabilities."""
    for key_of, table_of in ((likelihood_key, likelihoods), (token_key, tokens)):
        key = key_of(first)
        if key:
            return table_of(rows(), name, key)
    return None


def build(rows: ModelRows) -> Forecasts:
    if rows.options.feature or rows.options.ideal:
        raise rows.table.error(
            "only the probability of what happened is known: an ideal or features cannot be compared with it.",
            "leave them out",
        )
    given, numbers = rows.common_arguments(), rows.numbers
    if numbers is not None and (numbers[1:] == numbers[:-1]).any():  # tokens of one answer depend on each other
        given["case"] = numbers if given["case"] is None else given["case"]
        given["clusters"] = numbers if given["clusters"] is None else given["clusters"]
    return prepare_realised(numbers_in(rows.frame[rows.columns[0]]), scale=rows.match.scale, **given)
