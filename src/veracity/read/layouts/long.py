"""One row per case and class."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from veracity.inputs import Forecasts
from veracity.inputs.names import short
from veracity.records.layout import Classes, Layout

from ...options import canonical
from .. import column_meaning as meaning
from ..build import PIVOTED, ModelRows, prepared
from ..free_columns import Columns
from ..patterns import labels_of
from ..proposals import Proposal
from ..refused_columns import two_outcomes

RULE = 3
NAMES = (("predicted_label", "predicted"), ("output_type_id", "value"))  # class and probability; the second of hubs
ROW, CLASS, OUTCOMES, CLASSES, WEIGHT = "\0row", "\0class", "\0outcomes", "\0classes", "\0weight"


def match(columns: Columns) -> Layout | None:
    """The class and its probability by their names, with an outcome; all other columns identify the case."""
    named = {c.key: name for name, c in columns.with_label().free.items()}
    names = next((pair for pair in NAMES if set(pair) <= set(named)), None)
    if names is None:
        return None
    klass, value = (named[name] for name in names)
    outcome = _outcome(columns, [named[key] for key in meaning.OUTCOMES if key in named], klass)
    if klass == outcome or value == outcome or not columns.all[value].numeric:
        return None
    if names == NAMES[1]:
        _require_classes(columns, klass, outcome)
    if outcome is None:
        return None
    model = columns.model_column()
    labels = columns.ordered(columns.all[klass].labels)
    return Layout(
        tuple((name, (value,)) for name in (columns.model_names(model) if model else (columns.model,))),
        labels_of(labels),
        outcome,
        labels=labels,
        roles={"class": klass, "value": value},
        case=columns.case_columns([klass, value, outcome, model]),
        model_column=model,
        certain=True,
        undivided=True,
        may_have_models=False,
        meaning=Classes(labels),
        basis=f"one row per case and class in {klass} (rule 3)",
    )


def _outcome(columns: Columns, named: list[str], klass: str) -> str | None:
    """Return the outcome that is given, or the only one by name that holds the classes, or the first by name."""
    if columns.options.label:
        return columns.table.column(columns.options.label)
    classes = set(columns.all[klass].labels)
    fits = [columns.all[name] for name in named if 0 < len(columns.all[name].labels) <= len(classes)]
    fits = [c for c in fits if set(c.labels) <= classes]
    if len(fits) > 1:
        raise two_outcomes(columns, fits)
    return fits[0].name if fits else next(iter(named), None)


def _require_classes(columns: Columns, klass: str, outcome: str | None) -> None:
    """Refuse hub files that hold quantiles or means, or no outcomes."""
    if outcome is None:
        raise columns.error(
            f"one row per case and class in `{klass}`, but no column of what happened.",
            f"add one called observed, or name it:  {columns.option('label', 'COL')}",
        )
    labels = columns.all[klass].labels
    if not set(columns.all[outcome].labels) <= set(labels) or not labels:
        raise columns.refuse(
            f"`{klass}` does not hold the classes of `{outcome}` ({short(labels) or 'fractions'}).",
            Proposal("keep the rows of class probabilities", {"where": ("output_type=pmf",)}),
            otherwise="quantiles and means are no probabilities of classes: give the rows of output_type pmf",
        )


def build(rows: ModelRows) -> Forecasts:
    pivoted = _pivoted(rows)
    return prepared(pivoted, pivoted.outcomes())


def _pivoted(rows: ModelRows) -> ModelRows:
    """Return one row per case with a column per class."""
    layout, table = rows.match, rows.table
    klass, value, outcome = layout.roles["class"], layout.roles["value"], str(layout.outcome)
    case = [c for c in (layout.model_column, *layout.case) if c]
    seen = [v for v in rows.frame[klass].unique().to_list() if v is not None]
    names = pl.col(klass).replace_strict(seen, [canonical(v) for v in seen], return_dtype=pl.String).alias(CLASS)
    frame = rows.frame.with_columns(pl.Series(ROW, rows.row_numbers), names)
    if rows.weight is not None:
        frame = frame.with_columns(pl.Series(WEIGHT, rows.weight))
    name_the_case = f"name the columns of a case:  {table.option('id', 'COL,COL')}"
    if not case:
        raise table.error("no column identifies the case.", name_the_case)
    twice = frame.select([*case, CLASS]).is_duplicated()
    if twice.any():
        first = int(twice.arg_max() or 0)
        raise table.error(
            f"row {frame[ROW][first]}: class {frame[CLASS][first]} occurs twice in one case.", name_the_case
        )
    columns = tuple(PIVOTED + label for label in layout.labels)
    extra = [c for c in frame.columns if c not in (*case, klass, value, CLASS)]
    cases = frame.group_by(case, maintain_order=True).agg(
        pl.col(extra).first(),
        pl.col(outcome).n_unique().alias(OUTCOMES),
        pl.len().alias(CLASSES),
        *[pl.col(value).filter(pl.col(CLASS) == c).first().alias(PIVOTED + c) for c in layout.labels],
    )
    odd = cases.filter(pl.col(OUTCOMES) > 1)
    if odd.height:
        raise table.error(f"row {odd[ROW][0]}: one case has several outcomes in `{outcome}`.", name_the_case)
    short = cases.filter(pl.col(CLASSES) != len(layout.labels))
    if short.height and not rows.options.absent and rows.options.missing == "error":
        raise table.error(
            f"row {short[ROW][0]}: a case with {short[CLASSES][0]} of {len(layout.labels)} classes "
            f"({short.height:,} of {cases.height:,} cases).",
            f"leave these cases out:  {table.option('missing', 'drop')}"
            f"      or, if an option was not offered:  {table.option('absent', 'nan')}",
        )
    weight = None if rows.weight is None else cases[WEIGHT].to_numpy()
    return replace(rows, frame=cases, columns=columns, numbers=cases[ROW].to_numpy(), weight=weight)
