"""Refusals of columns that leave more than one reading, or none: what, where, and the options that may settle it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from veracity.inputs.names import listed, run_of, short

from . import column_meaning as meaning
from .classes import ClassSet
from .column_meaning import Column
from .free_columns import Columns
from .proposals import FEW, Agreement, Proposal, Refusal, agreement, placeholder, separation

NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}
LABELS = 20  # whole numbers of more values are measurements


# -- outcomes ---------------------------------------------------------------------------------------------------------


def ranked(
    columns: Columns, fits: Sequence[Column], forecasts: Sequence[str], classes: Sequence[str] = ()
) -> list[Column]:
    """Return the columns that may be the outcome, those that go best with the forecasts first."""
    fits = not_picks(columns, fits, forecasts, classes)
    agreements = {c.name: agreement_of(columns, c, forecasts, classes) for c in fits}
    related = [c for c in fits if named(c) or not agreements[c.name].chance or c.present.len() < FEW]

    def rank(column: Column) -> tuple[int, bool, bool, float, bool]:
        one = agreements[column.name]
        return meaning.rank_of_name(column.name), one.chance, one.beyond, -round(one.value, 2), not named(column)

    return sorted(related, key=rank)


def named(column: Column) -> bool:
    return column.key in meaning.OUTCOMES or column.key in meaning.WEAK_OUTCOMES


def related(columns: Columns, column: Column, forecasts: Sequence[str], classes: Sequence[str] = ()) -> bool:
    """Whether a column goes with the forecasts better than by chance; few rows do not tell."""
    return column.present.len() < FEW or not agreement_of(columns, column, forecasts, classes).chance


def agreement_of(columns: Columns, column: Column, forecasts: Sequence[str], classes: Sequence[str]) -> Agreement:
    return agreement(column, [columns.all[name] for name in forecasts], classes)


def is_decided(columns: Columns, column: Column, forecasts: Sequence[str], classes: Sequence[str] = ()) -> bool:
    """Whether the forecasts tell the values of a column apart in every row, as a decision made from them would be."""
    if classes and column.present.len() >= FEW and agreement_of(columns, column, forecasts, classes).value == 1.0:
        return True
    return len(classes) <= 2 and any(separation(column, columns.all[name]) is not None for name in forecasts)


def more_likely(
    columns: Columns, known: Column, fits: Sequence[Column], forecasts: Sequence[str], classes: Sequence[str] = ()
) -> list[Column]:
    """Return the columns that go with the forecasts in enough rows, and are not decided by them, beside a known one."""
    others = [c for c in fits if c.name != known.name and c.present.len() >= FEW]
    others = [c for c in others if not is_decided(columns, c, forecasts, classes)]
    return [c for c in others if related(columns, c, forecasts, classes)]


def not_picks(
    columns: Columns, fits: Sequence[Column], forecasts: Sequence[str], classes: Sequence[str] = ()
) -> list[Column]:
    """Return the columns without those that are decided by the forecasts in every row, unless all are."""
    return [c for c in fits if not is_decided(columns, c, forecasts, classes)] or list(fits)


def two_outcomes(
    columns: Columns, fits: list[Column], forecasts: Sequence[str] = (), classes: Sequence[str] = ()
) -> Refusal:
    """Return the refusal of several columns that could be the outcome."""
    differ = ""
    if len(fits) == 2:
        a, b = (c.name for c in fits)
        _, both = columns.table.read([a, b])
        apart = int((both[a].cast(str) != both[b].cast(str)).fill_null(True).sum())
        differ = f" (they differ in {apart:,} of {both.height:,} rows)"
    number = "two" if len(fits) == 2 else len(fits)
    names = listed([f"`{c.name}`" for c in fits], 12)
    best = ranked(columns, fits, forecasts, classes)
    decided = [c for c in fits if c not in not_picks(columns, fits, forecasts, classes)]
    if decided:
        differ += f"; the forecast separates `{decided[0].name}` perfectly: is it a prediction?"
    return columns.refuse(
        f"{number} columns could be the outcome: {names}{differ}" + ("" if decided else "."),
        *(Proposal("choose", {"label": c.name}) for c in best[:2]),
        otherwise=f"name it:  {columns.option('label', 'COL')}",
    )


def more_than_two(columns: Columns, column: Column, forecast: str) -> Refusal:
    """Return the refusal of an outcome of one probability that has more than two values."""
    number, name = NUMBERS.get(column.distinct, f"{column.distinct:,}"), column.name
    values = f" ({short(column.labels, ', ')})" if 0 < len(column.labels) <= LABELS else ""
    what = f"one probability column `{forecast}`, but `{name}` has {number} values{values}."
    what += " An outcome for one probability has two values."
    if not column.labels or (column.numeric and len(column.labels) > LABELS):
        middle = float(column.present.median() or 0) if column.numeric else 0.0  # type: ignore[arg-type]
        given: dict[str, Any] = {"cut": f"{middle:g}"} | ({} if column.key in meaning.OUTCOMES else {"label": name})
        when = "if it is a measurement, above which limit is the event?"
        return columns.refuse(what, Proposal(when, given, asked={"cut": placeholder(1)}))
    odd, void = _codes(column), [v for v in column.labels if v.lower() in meaning.VOID]
    without = {"label": name, "where": tuple(f"{name}!={v}" for v in odd or void)}
    strange = _strange(column)
    if odd:  # all other values are the event and its absence
        proposals = [Proposal(f"if {short(odd, ' and ')} is no outcome, without these rows", without, likely=2.0)]
    elif strange:
        given = {"label": name, "where": (f"{name}!={strange}",)}
        proposals = [Proposal("if a value is no outcome, which one?", given, asked={"where": f"{name}!=VALUE"})]
        proposals += [Proposal("if one value is the event", {"label": name, "versus_rest": _event(column)})]
    else:
        event = _likely_event(columns, column, forecast)
        proposals = [Proposal("if one value is the event", without | {"versus_rest": event})]
    two = columns.candidates(lambda c: c.two_valued and not columns.is_pick(c))
    others = [c for c in ranked(columns, two, [forecast]) if c.present.len() >= FEW or named(c)]
    proposals += [Proposal("if another is the outcome", {"label": c.name}) for c in others[:1]]
    return columns.refuse(what, *proposals, otherwise=f"name the outcome:  {columns.option('label', 'COL')}", most=3)


def _codes(column: Column) -> list[str]:
    """Return the labels that are no outcomes, such as unknown and -9999, if those left are an event and its absence."""
    odd = [v for v in column.labels if v.lower() in meaning.VOID or (v in meaning.SENTINELS and v != "-1")]  # -1, 0, 1
    left = [v for v in column.labels if v not in odd]
    return odd if len(left) == 2 and meaning.event_of(left) is not None else []


def _strange(column: Column) -> str:
    """Return the only label beside an event and its absence, such as draw or lost; empty if there is none."""
    words = {word.lower(): word for word in column.labels}
    pairs = [{event, other} for event, other in meaning.EVENT_WORDS.items() if {event, other} <= set(words)]
    rest = sorted(set(words) - pairs[0]) if pairs else []
    return words[rest[0]] if len(rest) == 1 and len(words) == len(column.labels) and not rest[0].isdigit() else ""


def _event(column: Column) -> str:
    """Return the labels that are words for events."""
    return ",".join(label for label in column.labels if label.lower() in meaning.EVENT_WORDS)


def _likely_event(columns: Columns, column: Column, forecast: str) -> str:
    """Return the label that the forecast's name ends in, words for events, or the label with the highest forecasts."""
    labels = [v for v in column.labels if v.lower() not in meaning.VOID] or list(column.labels)
    name = meaning.key_of(forecast)
    ends = [label for label in labels if meaning.key_of(label) and name.endswith(meaning.key_of(label))]
    if ends or _event(column):
        return ",".join(ends[-1:]) or _event(column)
    p = columns.all[forecast].values.cast(pl.Float64, strict=False)
    means = {label: p.filter((column.text == label).fill_null(False)).mean() for label in labels}
    return max(labels, key=lambda label: float(means[label] or 0.0))  # type: ignore[arg-type]


def void_outcomes(columns: Columns, column: Column) -> Refusal | None:
    """Return the refusal of outcomes that are neither the event nor its absence, such as annulled, if there are any."""
    chosen = {v.lower() for v in columns.options.versus_rest}
    void = [v for v in column.labels if v.lower() in meaning.VOID and v.lower() not in chosen]
    if not void:
        return None
    rows = sum(column.times.get(v, 0) for v in void)
    return columns.refuse(
        f"outcome `{column.name}` also holds {short(void, ', ')} ({rows:,} of {column.present.len():,} rows): neither "
        "the event nor its absence.",
        Proposal("without these rows", {"where": tuple(f"{column.name}!={v}" for v in void)}),
    )


def called_otherwise(columns: Columns, outcome: Column, names: Sequence[str]) -> ValueError:
    """Return the error for labels that are no names of columns: 0, 1, 2 for setosa, versicolor, virginica."""
    return columns.error(
        f"outcome `{outcome.name}` holds {short(outcome.labels, ', ')}, the columns are called {run_of(names)}.",
        f"give both the same names: columns {short(outcome.labels)}, or the names of the columns in `{outcome.name}`",
    )


def outcomes_beside(columns: Columns) -> list[Proposal]:
    """Return the proposal of a file in the same folder that is named for the outcomes: y_true.npy for y_prob.npy."""
    beside = columns.table.companion(meaning.FORECAST_FILES, meaning.OUTCOME_FILES)
    path = columns.table.path
    if beside is None or path is None or columns.options.label_file:
        return []
    file, here = path.resolve().with_name(beside), Path.cwd()
    shown = file.relative_to(here) if file.is_relative_to(here) else file
    return [Proposal(f"if {beside} holds the outcomes", {"label_file": str(shown)})]


# -- forecasts --------------------------------------------------------------------------------------------------------


def sums_off(columns: Columns, chosen: ClassSet) -> ValueError:
    """Return the refusal of class columns whose rows do not sum to one, or that have no outcome."""
    table, names = columns.table, list(chosen.columns)
    sums = table.sample.select(pl.sum_horizontal(pl.col(names).cast(pl.Float64))).to_series()
    off = (sums - 1).abs() > 1e-3
    if not off.any():
        return columns.refuse(
            f"class columns {run_of(names)}, but no column holds outcomes of these classes.",
            *outcomes_beside(columns),
            otherwise=f"name it:  {columns.option('label', 'COL')}   another file holds it:  "
            f"{columns.option('label_file', 'FILE')}   (adjust and calibrate apply do without)",
        )
    index, source = int(off.arg_max() or 0), "file" if table.style == "file" else "frame"
    return columns.refuse(
        f"class columns {run_of(names)}, but {int(off.sum()):,} of {sums.len():,} rows do not sum to one "
        f"(first: row {index + table.first_row}, sum {float(sums[index]):.6g}).",
        Proposal(f"fix the {source}, or rescale these rows", {"normalise": True}),
        otherwise=f"fix the {source}",
    )


def refuse_codes(columns: Columns, forecasts: Sequence[str]) -> None:
    """Refuse probabilities with one value outside [0, 1] that codes missing ones, such as -999."""
    for column in (columns.all[name] for name in forecasts):
        if column.within or column.present.len() < 2:
            continue
        outside = column.present.filter((column.present < 0) | (column.present > 1))
        codes = outside.unique().sort().to_list()
        few = 0 < outside.len() < 0.5 * column.present.len() and len(codes) <= 2
        often = outside.filter(outside.is_duplicated() & (outside < 0)).to_list()
        if few and all(f"{code:g}" in meaning.SENTINELS or code in often for code in codes):
            shown = [f"{code:.12g}" for code in codes]
            where = tuple(f"{column.name}!={code}" for code in shown)
            raise columns.refuse(
                f"`{column.name}` = {' or '.join(shown)} in {outside.len():,} of {column.present.len():,} rows: no "
                "probability, and the only such value: a code for missing?",
                Proposal("without these rows", {"where": where}),
            )


def refuse_missing(columns: Columns, models: Sequence[tuple[str, tuple[str, ...]]]) -> None:
    """Refuse missing values in the columns of several models with the number of each."""
    forecasts = [columns.all[name] for _, own in models for name in own]
    gaps = {c.name: c.values.len() - c.present.len() for c in forecasts if c.values.len() > c.present.len()}
    if len(models) > 1 and gaps and columns.table.whole and columns.options.missing == "error":
        rows = columns.table.sample.select(pl.any_horizontal(pl.col(list(gaps)).cast(pl.Float64).is_null())).to_series()
        first, shown = int(rows.arg_max() or 0), [f"`{name}` {count:,}" for name, count in gaps.items()]
        raise columns.refuse(
            f"{listed(shown, 12)} of {rows.len():,} values are missing"
            + (f" (first: row {first + columns.table.first_row})." if not columns.table.numbered else "."),
            Proposal("leave these rows out, each model its own", {"missing": "drop"}),
        )
