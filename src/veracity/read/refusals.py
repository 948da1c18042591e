"""Errors for columns that leave more than one reading, or none: what, where, and a ready command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl

from ..data import Forecasts, check
from . import roles
from .classes import DIGITS, ClassSet, class_sets
from .columns import Columns
from .match import run_of, short
from .roles import Column

NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}


def two_outcomes(columns: Columns, fits: list[Column]) -> ValueError:
    """Return the error for several columns that could be the outcome."""

    def rank(column: Column) -> tuple[bool, bool, int]:
        named = column.key in roles.OUTCOMES or column.key in roles.WEAK_OUTCOMES
        unknown_event = len(column.labels) == 2 and roles.event_of(column.labels) is None
        return not named, unknown_event, -len(column.labels)

    likely, differ = min(fits, key=rank).name, ""
    if len(fits) == 2:
        a, b = (c.name for c in fits)
        _, both = columns.table.read([a, b])
        apart = int((both[a].cast(str) != both[b].cast(str)).fill_null(True).sum())
        differ = f" (they differ in {apart:,} of {both.height:,} rows)"
    number = "two" if len(fits) == 2 else len(fits)
    names = ", ".join(f"`{c.name}`" for c in fits[:4])
    return columns.error(
        f"{number} columns could be the outcome: {names}{differ}.", f"choose:  {columns.option('label', likely)}"
    )


def more_than_two(columns: Columns, column: Column, forecast: str) -> ValueError:
    """Return the error for an outcome of one probability that has more than two values."""
    number = NUMBERS.get(column.distinct, f"{column.distinct:,}")
    values = f" ({short(column.labels, ', ')})" if column.labels else ""
    what = f"one probability column `{forecast}`, but `{column.name}` has {number} values{values}."
    what += " An outcome for one probability has two values."
    label = columns.option("label", column.name)
    if not column.labels:
        middle = f"{float(column.present.median() or 0):g}" if column.numeric else "X"  # type: ignore[arg-type]
        name = "" if column.key in roles.OUTCOMES else label + " "
        return columns.error(what, f"if it is a measurement, cut it:  {name}{columns.option('cut', middle)}")
    remedy = f"if one value is the event:  {label} " + columns.option("versus_rest", _likely_event(column, forecast))
    two = columns.where(lambda c: c.two_valued and not columns.is_pick(c))
    if two:
        remedy += f"      if another is the outcome:  {columns.option('label', two[0].name)}"
    words = {word.lower(): word for word in column.labels}
    pairs = [{event, other} for event, other in roles.EVENT_WORDS.items() if {event, other} <= set(words)]
    odd = set(words) - pairs[0] if pairs else set()
    if len(odd) == 1 and not (odd_label := words[odd.pop()]).isdigit():  # "unknown", -9999
        remedy += f"      without these rows:  {columns.option('where', f'{column.name}!={odd_label}')}"
    return columns.error(what, remedy)


def _likely_event(column: Column, forecast: str) -> str:
    """Return the label that the forecast's name ends in, words for events, or the second label."""
    labels, name = column.labels, roles.key_of(forecast)
    named = [label for label in labels if roles.key_of(label) and name.endswith(roles.key_of(label))]
    words = [label for label in labels if label.lower() in roles.EVENT_WORDS]
    return ",".join(named[-1:] or words or [labels[min(1, len(labels) - 1)]])


def called_otherwise(columns: Columns, outcome: Column, names: Sequence[str]) -> ValueError:
    """Return the error for labels that are no names of columns: 0, 1, 2 for setosa, versicolor, virginica."""
    return columns.error(
        f"outcome `{outcome.name}` holds {short(outcome.labels, ', ')}, the columns are called {run_of(names)}.",
        f"give both the same names: columns {short(outcome.labels)}, or the names of the columns in `{outcome.name}`",
    )


def sums_off(columns: Columns, chosen: ClassSet) -> ValueError:
    """Return the error for class columns whose rows do not sum to one, or that have no outcome."""
    table, names = columns.table, list(chosen.columns)
    sums = table.sample.select(pl.sum_horizontal(pl.col(names).cast(pl.Float64))).to_series()
    off = (sums - 1).abs() > 1e-3
    if not off.any():
        return columns.error(
            f"class columns {run_of(names)}, but no column holds outcomes of these classes.",
            f"name it:  {columns.option('label', 'COL')}   (adjust and calibrate apply do without)",
        )
    index, source = int(off.arg_max() or 0), "file" if table.style == "file" else "frame"
    return columns.error(
        f"class columns {run_of(names)}, but {int(off.sum()):,} of {sums.len():,} rows do not sum to one "
        f"(first: row {index + table.first_row}, sum {float(sums[index]):.6g}).",
        f"fix the {source}, or rescale these rows:  {columns.option('normalise')}",
    )


# -------------------------------------------------------------------- no layout fits


def listing(columns: Columns) -> str:
    """Return the columns with what each could be."""
    runs = _runs(columns)
    described = [
        f"`{first}`…`{last}` ({size} columns of numbers)" if size > 1 else f"`{first}` ({_kind(columns.all[first])})"
        for first, last, size in runs[:10]
    ]
    return ", ".join(described) + (f", … ({len(columns.all)} columns)" if len(runs) > 10 else "")


def _kind(column: Column) -> str:
    if column.probability:
        return "a probability"
    if column.two_valued:
        return "two values"
    return "numbers" if column.numeric else f"{column.distinct:,} values"


def _runs(columns: Columns) -> list[tuple[str, str, int]]:
    """Return (first, last, number) of columns; long numbered runs, such as ensemble members, are one entry."""
    stems = {name: match[1] for name, c in columns.all.items() if c.numeric and (match := DIGITS.match(name))}
    sizes = Counter(stems.values())
    runs: list[tuple[str, str, int]] = []
    for name in columns.all:
        stem = stems.get(name)
        if runs and stem is not None and sizes[stem] > 5 and stems.get(runs[-1][0]) == stem:
            runs[-1] = (runs[-1][0], name, runs[-1][2] + 1)
        else:
            runs.append((name, name, 1))
    return runs


def unclear(columns: Columns) -> ValueError:
    """Return the error for columns that no layout fits, with the likeliest command."""
    table, command = columns.table, columns.command
    if len(columns.all) == 1:
        return _one_column(columns)
    for column in columns.free.values():
        _require_plain_numbers(columns, column)
    loose = class_sets(columns, loose=True)
    if len(loose) == 1:
        return sums_off(columns, loose[0])
    _check_range(columns)
    two = columns.where(lambda c: c.outcome_like and c.distinct == 2 and not columns.is_pick(c))
    one = columns.where(lambda c: c.probability)
    if table.style == "file" and len(one) == len(columns.where(lambda c: c.key not in roles.IDS)) == 1:
        return columns.error(
            f"`{one[0].name}` could be the forecast, but no column holds outcomes: {listing(columns)}",
            "add a column of what happened, such as 0 and 1, or give the file that holds it",
        )
    what = f"not clear which column is the outcome and which the forecast: {listing(columns)}"
    if not one:
        return columns.error(what, _no_probability(columns, two))
    forecast = ("positive_proba", one[0].name)
    if len(two) == 1 and len(one) > 1:
        label = columns.option("label", two[0].name)
        return columns.error(
            what,
            f"as {len(one)} models:  {command(('label', two[0].name), verb='compare')}      "
            f"one of them:  {label} {columns.option(*forecast)}",
        )
    if two:
        return columns.error(what, f"for example:  {command(('label', two[0].name), forecast)}")
    before = _classes_before(columns)
    if before:
        return columns.error(what, f"for example:  {command(*before)}")
    named = columns.where(lambda c: c.key in roles.OUTCOMES)
    labelled = [c for c in named if len(c.labels) == len(one) > 2]
    if len(labelled) == 1 and roles.sum_to_one(table.sample, [c.name for c in one]):
        return called_otherwise(columns, labelled[0], [c.name for c in one])
    single = [c for c in named if len(c.labels) == 1]
    if len(single) == len(one) == 1:
        name, value = single[0].name, single[0].labels[0]
        return columns.error(
            f"outcome `{name}` holds nothing but {value}.",
            f"if this is the event:  {columns.option('label', name)} {columns.option('positive', value)}",
        )
    soft = [c for c in one if c in named]
    if len(soft) == 1 and len(one) == 2:
        (other,) = (c.name for c in one if c is not soft[0])
        options = ("label", soft[0].name), ("positive_proba", other)
        return columns.error(what, "outcomes between 0 and 1:  " + command(*options))
    measured = columns.where(lambda c: c.numeric and c not in one and c.key not in roles.IDS)
    measured = [c for c in measured if c in named] or measured
    if len(measured) == len(one) == 1 and not measured[0].labels:
        return more_than_two(columns, measured[0], one[0].name)
    return columns.error(what, f"name both:  {command(('label', 'COL'), forecast)}")


def _one_column(columns: Columns) -> ValueError:
    table, (only,) = columns.table, columns.all.values()
    if table.nested:
        return columns.error(f"one column `{only.name}`, no outcome and no probability.", _no_probability(columns, []))
    no = "no outcome" if only.within else "no outcome and no probability"
    no = "no probability" if only.key in roles.OUTCOMES else no
    empty = next((f" ({fact})" for fact in table.facts if fact.startswith("empty")), "")
    what = f"nothing to assess in {table.name}: one column `{only.name}`, {no}{empty}."
    weights = table.style == "file" and only.key in roles.WEIGHTS
    if empty:
        what += "\n  fill the empty column, or give the file that holds its values"
    elif only.within:
        what += f"\n  if it is the probability of what happened:  {columns.option('layout', 'realised')}"
    elif not weights:
        what += "\n  a table needs a column of outcomes and one of probabilities, and a delimiter between them"
    if weights:
        data = table.companion(roles.WEIGHTS) or "FILE"
        what += f"   weights for another file:  veracity assess {data} --weight {table.name}"
    return ValueError(what)


def _require_plain_numbers(columns: Columns, column: Column) -> None:
    """Refuse a column of probabilities by name that holds a few words; the message names the first."""
    values, present = column.values, column.present
    if values.dtype != pl.String or not roles.named_probability(column.name):
        return

    def refuse(odd: pl.Series, what: str, remedy: str) -> None:
        index = int(odd.fill_null(False).arg_max() or 0)
        row = index + columns.table.first_row
        raise columns.error(f"row {row}, `{column.name}` = {values[index]!r}: {what}", remedy)

    percent = present.str.ends_with("%")
    if 0.5 < float(percent.sum()) / max(1, percent.len()) < 1:
        refuse(~values.str.ends_with("%"), "without the % sign of the other values.", "write it like the others")
    if 2 * present.str.contains(r"^\d+,\d+$").sum() > present.len():
        raise columns.error(
            f"`{column.name}` has decimal commas ({present[0]!r}) and the columns are separated by commas.",
            "save the file with another delimiter, such as ;",
        )
    numbers = values.cast(pl.Float64, strict=False)
    if present.len() and numbers.count() == present.len():
        raise columns.error(f"`{column.name}` holds numbers written as text ({present[0]!r}).", "write them as numbers")
    strange = not numbers.count() and bool(present.str.contains(r"\d").all())  # '0.5' in quotes, 0·5
    if numbers.count() * 2 >= present.len() > numbers.count() or strange:
        refuse(numbers.is_null() & values.is_not_null(), "not a number.", "correct the value, or leave it empty")


def _check_range(columns: Columns) -> None:
    """Check columns named after the classes of an outcome that hold no probabilities: the check says what is wrong."""
    sets = class_sets(columns, loose=True, any_values=True)
    if len(sets) == 1:
        table, (chosen,) = columns.table, sets
        p = table.sample.select(pl.col(chosen.columns).cast(pl.Float64)).to_numpy()
        names = table.names(columns=chosen.columns, whole=table.whole)
        check(Forecasts(p, np.zeros(len(p), int), chosen.classes, first_row=table.first_row, names=names))


def _classes_before(columns: Columns) -> tuple[tuple[str, str], ...]:
    """Return the options for columns that begin with the class: home_prob, draw_prob, away_prob."""
    names = [c.name for c in columns.where(lambda c: c.within)]
    for column in columns.free.values():
        ends = [{name[len(label) :] for name in names if name.startswith(label)} for label in column.labels[:20]]
        common = set.intersection(*ends) - {""} if len(ends) > 1 else set()
        if common:
            return ("label", column.name), ("proba", "*" + min(common))
    return ()


def _no_probability(columns: Columns, two: list[Column]) -> str:
    """Return the remedy where no column lies within [0, 1]."""
    table = columns.table
    members = max((size for _, _, size in _runs(columns)), default=0)
    if members > 5:
        return (
            f"{members} members of an ensemble are no probabilities: make them one first, such as the share of "
            "members above a limit"
        )
    numeric = columns.where(lambda c: c.numeric and c.distinct > 2 and c.key not in roles.IDS)
    counted = [c for c in columns.all.values() if c.numeric and c.labels and c.low >= 0]
    if len(columns.all) == len(counted) + 1 >= 3 and table.style == "file" and table.rows <= 50:
        return f"if these are numbers of cases by forecast and outcome:  veracity table {table.name}"
    if len(two) == len(numeric) == 1:
        only, label = numeric[0], ("label", two[0].name)
        scale = "log" if only.high <= 0 else "percent" if only.low >= 0 and only.high <= 100 else "logit"
        what = {"log": "log-probabilities", "percent": "percentages", "logit": "logits"}[scale]
        command = columns.command(label, ("positive_proba", only.name), ("scale", scale))
        return f"if `{only.name}` holds {what}:  {command}"
    percent = [c.name for c in numeric if c.low >= 0 and 1 < c.high <= 100]
    if len(two) == 1 and len(percent) > 1:
        verb, models = "compare" if table.style == "file" else "assess", ("positive_proba", ",".join(percent))
        command = columns.command(("label", two[0].name), models, ("scale", "percent"), verb=verb)
        return f"if {run_of(percent)} hold percentages of as many models:  {command}"
    if table.nested:
        return (
            f"nested values are not read ({run_of(table.nested)}): options are "
            '"options": {"A": -1.2, …} with "answer", tokens "token_logprobs": [-0.5, …] or '
            '"logprobs": {"content": [{"logprob": -0.5}, …]}'
        )
    taken = [name for name, c in columns.all.items() if name not in columns.free and c.probability]
    if taken:
        return f"`{taken[0]}` was given another role, and no other column holds probabilities"
    return "no column holds probabilities (numbers between 0 and 1); percentages need " + columns.option(
        "scale", "percent"
    )
