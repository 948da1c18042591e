"""Refusal of columns that no layout fits: all columns by kind, and the likeliest commands."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import numpy as np
import polars as pl

from veracity.inputs import Forecasts, check
from veracity.inputs.names import run_of
from veracity.words.layout import empty_columns

from . import column_meaning as meaning
from .classes import DIGITS, class_sets, with_stem
from .column_meaning import Column
from .free_columns import Columns
from .proposals import Proposal, agreement, command, placeholder, quoted
from .refused_columns import (
    LABELS,
    agreement_of,
    called_otherwise,
    more_than_two,
    outcomes_beside,
    ranked,
    related,
    sums_off,
)

MEMBERS = 6  # fewer numbered columns are not taken for the members of an ensemble
LISTED = 200  # columns that a message names


def listing(columns: Columns) -> str:
    """Return all columns by kind."""
    kinds: dict[str, list[str]] = {}
    for run in _runs(columns)[:LISTED]:
        shown = f"`{run[0]}`…`{run[-1]}` ({len(run)} columns)" if len(run) > 1 else f"`{run[0]}`"
        kinds.setdefault(_kind(columns.all[run[0]]), []).append(shown)
    kinds["empty"] = [f"`{name}`" for name in columns.table.empty[:LISTED]]
    kinds["nested"] = [f"`{name}`" for name in columns.table.nested[:LISTED]]
    order = ("probabilities", "two values", "numbers", "text", "empty", "nested")
    more = ", …" if len(columns.all) > LISTED else ""
    return "columns:  " + "; ".join(f"{kind} {', '.join(kinds[kind])}" for kind in order if kinds.get(kind)) + more


def _kind(column: Column) -> str:
    if column.probability:
        return "probabilities"
    if column.two_valued:
        return "two values"
    return "numbers" if column.numeric else "text" if column.present.len() else "empty"


def _runs(columns: Columns) -> list[list[str]]:
    """Return the names of all columns; long numbered runs, such as ensemble members, are one entry."""
    numbered = with_stem([c for c in columns.all.values() if c.numeric], DIGITS)
    stems = {c.name: stem for stem, members in numbered for c, _ in members if len(members) >= MEMBERS}
    runs = groupby(columns.all, key=lambda name: (stems.get(name), "" if name in stems else name))
    return [list(run) for _, run in runs]


def unclear(columns: Columns) -> ValueError:
    """Return the refusal of columns that no layout fits, with the likeliest commands."""
    if len(columns.all) == 1:
        return _one_column(columns)
    for column in columns.free.values():
        _require_plain_numbers(columns, column)
    loose = class_sets(columns, loose=True)
    if len(loose) == 1:
        return sums_off(columns, loose[0])
    _check_range(columns)
    if not columns.where(lambda c: c.two_valued):
        for name in columns.table.empty:
            if meaning.key_of(name) in meaning.OUTCOMES:
                columns.table.column(name)  # refuses: it is empty
    one = meaning.without_bounds(columns.where(lambda c: c.probability))
    possible = columns.where(lambda c: c.key not in meaning.IDS)
    if columns.table.style == "file" and len(one) == len(possible) == 1 and not columns.table.empty:
        return columns.refuse(
            f"`{one[0].name}` could be the forecast, but no column holds outcomes.",
            *outcomes_beside(columns),
            otherwise="add a column of what happened, such as 0 and 1, or give the file that holds it:  "
            + columns.option("label_file", "FILE"),
            listing=listing(columns),
        )
    if not one:
        proposals, otherwise = _without_probability(columns)
    else:
        special = _special(columns, one)
        if special is not None:
            return special
        proposals = _with_probability(columns, one)
        both = replace(columns.options, label="COL", positive_proba=one[0].name)
        otherwise = f"name both:  {command(columns.table.names(), both)}"
    return columns.refuse(
        "not clear which column is the outcome and which the forecast.",
        *proposals,
        otherwise=otherwise,
        listing=listing(columns),
    )


def _special(columns: Columns, one: list[Column]) -> ValueError | None:
    """Return the refusal of an outcome that is known by its name and does not suit the probabilities."""
    outcomes = columns.candidates(lambda c: c.key in meaning.OUTCOMES)
    labelled = [c for c in outcomes if len(c.labels) == len(one) > 2]
    names = [c.name for c in one]
    if len(labelled) == 1 and meaning.sum_to_one(columns.table.sample, names) and not _with_pattern(columns):
        return called_otherwise(columns, labelled[0], names)
    single = [c for c in outcomes if len(c.labels) == 1]
    if len(single) == len(one) == 1:
        name, value = single[0].name, single[0].labels[0]
        return columns.refuse(
            f"outcome `{name}` holds nothing but {value}.",
            Proposal("if this is the event", {"label": name, "positive": value}),
        )
    measured = columns.candidates(lambda c: c.numeric and c not in one)
    measured = [c for c in measured if c in outcomes] or measured
    if len(measured) == len(one) == 1 and related(columns, measured[0], [one[0].name]):
        return more_than_two(columns, measured[0], one[0].name)
    return None


def _with_probability(columns: Columns, one: list[Column]) -> list[Proposal]:
    """Return proposals for columns of which some lie within [0, 1], the likeliest first."""
    two = columns.candidates(lambda c: c.two_valued and not columns.is_pick(c))
    own = [(y.name, p.name) for y in two for p in one if set(y.key.split("_")) < set(p.key.split("_"))]
    if len(own) == len(dict(own)) == len(one) > 1:  # several events: rain with rain_prob, wind with wind_prob
        return [Proposal("one of them", {"label": y, "positive_proba": p}, "assess") for y, p in own]
    proposals, best = _with_pattern(columns), ranked(columns, two, [c.name for c in one])
    if best:
        return proposals or _with_outcome(columns, best[0].name, one)
    soft = [c for c in one if c.key in meaning.OUTCOMES]
    if len(soft) == 1 and len(one) == 2:
        (other,) = (c.name for c in one if c is not soft[0])
        given = {"label": soft[0].name, "positive_proba": other}
        proposals.append(Proposal("outcomes between 0 and 1", given, "assess"))
    if len(one) == len(two) == 1:
        (label,), (p,) = two, one
        pair = meaning.event_of(label.labels)
        if pair and agreement_of(columns, label, [p.name], ()).opposite:
            given = {"label": label.name, "positive": pair[0]}
            return [Proposal(f"if `{p.name}` is the probability of {pair[0]}", given, "assess"), *proposals]
        when = f"if `{label.name}` is the outcome, though the forecasts show no relation to it"
        proposals.append(Proposal(when, {"label": label.name, "positive_proba": p.name}, "assess"))
    return proposals


def _with_outcome(columns: Columns, label: str, one: list[Column]) -> list[Proposal]:
    """Return proposals for an outcome and the probabilities that go with it, as models and the best of them."""
    one = [c for c in one if meaning.named_probability(c.name)] or one
    agreements = {c.name: agreement_of(columns, columns.all[label], [c.name], ()) for c in one}
    likely = [name for name, each in agreements.items() if not each.chance] or list(agreements)
    first = max(likely, key=lambda name: agreements[name].value)
    if len(likely) == 1 or meaning.sum_to_one(columns.table.sample, list(agreements)):  # not models: one is the event's
        return [Proposal("for example", {"label": label, "positive_proba": first}, "assess")]
    models = {"label": label} | ({"positive_proba": ",".join(likely)} if len(likely) < len(one) else {})
    return [
        Proposal(f"as {len(likely)} models", models, "compare"),
        Proposal("one of them", {"label": label, "positive_proba": first}),
    ]


def _with_pattern(columns: Columns) -> list[Proposal]:
    """Return the proposal for columns that hold the class before or within their names: home_prob, P(home)."""
    names = [c.name for c in columns.where(lambda c: c.within)]
    for column in columns.free.values():
        labels = column.labels if 2 <= len(column.labels) <= LABELS else ()
        around = [{tuple(name.split(label, 1)) for name in names if label in name} for label in labels]
        common = {ends for ends in set.intersection(*around) if ends[1]} if around else set()
        if common:
            pattern = "*".join(min(common))
            return [Proposal("for example", {"label": column.name, "proba": pattern}, "assess")]
    return []


def _without_probability(columns: Columns) -> tuple[list[Proposal], str]:
    """Return proposals, and a remedy if none works, for columns of which none lies within [0, 1]."""
    table = columns.table
    two = columns.candidates(lambda c: c.outcome_like and c.distinct == 2 and not columns.is_pick(c))
    counted = [c for c in columns.all.values() if c.numeric and c.labels and c.low >= 0]
    if len(columns.all) == len(counted) + 1 >= 3 and table.style == "file" and table.rows <= 50:
        return [], f"if these are numbers of cases by forecast and outcome:  veracity table {table.in_commands}"
    if (of_pairs := _counted_pairs(columns)) and table.style == "file":
        command = f"veracity table {table.in_commands} --count {of_pairs}"
        return [], f"if `{of_pairs}` counts the cases of each pair:  {command}"
    proposals = [*_counts_of_annotators(columns), *_members(columns)]
    numeric = columns.candidates(lambda c: c.numeric and c.distinct > 2)
    coarse = columns.where(lambda c: c.fractions)
    if len(coarse) == 1 and len(two) == 1:
        return [Proposal("for example", {"label": two[0].name, "positive_proba": coarse[0].name}, "assess")], ""
    for outcome in ranked(columns, two, [c.name for c in numeric])[:1] if numeric else ():
        percent = [c.name for c in numeric if _may_be_percent(c)]
        if len(numeric) == 1:
            only = numeric[0]
            scale = "log" if only.high <= 0 else "percent" if percent else "logit"
            if scale == "logit" and only.low >= 0:
                continue  # odds, or a score of its own
            kind = {"log": "log-probabilities", "percent": "percentages", "logit": "logits"}[scale]
            given = {"label": outcome.name, "positive_proba": only.name, "scale": scale}
            proposals.append(Proposal(f"if `{only.name}` holds {kind}", given, "assess"))
        elif len(percent) > 1:
            given = {"label": outcome.name, "positive_proba": ",".join(percent), "scale": "percent"}
            when = f"if {run_of(percent)} hold percentages of as many models"
            proposals.append(Proposal(when, given, "compare"))
    if table.nested:
        return proposals, (
            f"nested values are not read ({run_of(table.nested)}): options are "
            '"options": {"A": -1.2, …} with "answer", tokens "token_logprobs": [-0.5, …] or '
            '"logprobs": {"content": [{"logprob": -0.5}, …]}'
        )
    taken = [name for name, c in columns.all.items() if name not in columns.free and c.probability]
    if taken:
        return proposals, f"`{taken[0]}` was given another role, and no other column holds probabilities"
    option = columns.option("scale", "percent")
    return proposals, f"no column holds probabilities (numbers between 0 and 1); percentages need {option}"


def _counted_pairs(columns: Columns) -> str:
    """Return the only column of whole numbers beside two of text whose pairs are all distinct, else ""."""
    text = [c.name for c in columns.all.values() if not c.numeric]
    counts = [c.name for c in columns.all.values() if c.numeric and c.labels and c.low >= 0]
    if len(text) != 2 or len(counts) != 1 or len(columns.all) != 3:
        return ""
    pairs = columns.table.sample.select(text)
    return counts[0] if pairs.n_unique() == pairs.height else ""


def _may_be_percent(column: Column) -> bool:
    """Whether numbers up to 100 may be percentages: few of them are fractions of one, and they count nothing."""
    inside = column.present.is_between(0, 1, closed="none").mean() or 0.0
    within = column.low >= 0 and 1 < column.high <= 100 and not column.counter
    return within and float(inside) < 0.2  # type: ignore[arg-type]


def _counts_of_annotators(columns: Columns) -> list[Proposal]:
    """Return the proposal for whole numbers of votes per class with a column of these classes."""
    sets = class_sets(columns, loose=True, any_values=True)
    proposals = []
    for chosen in sets:
        votes = [columns.all[name] for name in chosen.columns]
        if all(c.labels and c.low >= 0 for c in votes):
            when = f"if {run_of(chosen.columns)} count the votes for each class"
            pattern = f"{chosen.stem}*" if chosen.stem else ",".join(chosen.columns)
            proposals.append(Proposal(when, {"proba": pattern, "normalise": True}, "assess"))
    return proposals


def _members(columns: Columns) -> list[Proposal]:
    """Return the proposal for the members of an ensemble with a measured outcome and a limit to exceed."""
    proposals = []
    for stem, numbered in with_stem(columns.where(lambda c: c.numeric), DIGITS):
        members = [c for c, _ in numbered]
        if len(members) < MEMBERS:
            continue
        mean = columns.table.sample.select(pl.mean_horizontal([c.name for c in members])).to_series()
        others = columns.candidates(lambda c: c.numeric and c.distinct > 2, [c.name for c in members])
        copies = [c.name for c in others if any(c.values.equals(m.values) for m in members)]
        average = Column("mean", mean)
        ranks = [(c.key in meaning.OUTCOMES, agreement(c, [average]).value, c) for c in others if c.name not in copies]
        likely = [c for _, value, c in sorted(ranks, key=lambda item: item[:2], reverse=True) if value > 0.5]
        for outcome in likely[:1]:
            middle = float(outcome.present.median() or 0.0)  # type: ignore[arg-type]
            given = {"label": outcome.name, "members": f"{stem}*", "exceeds": f"{middle:g}"}
            when = f"if {len(members)} members forecast `{outcome.name}`, above which limit is the event?"
            proposals.append(Proposal(when, given, "assess", asked={"exceeds": placeholder(1)}))
    return proposals


def _one_column(columns: Columns) -> ValueError:
    table, (only,) = columns.table, columns.all.values()
    if table.nested:
        remedy = _without_probability(columns)[1]
        return columns.error(f"one column `{only.name}`, no outcome and no probability.", remedy)
    beside = outcomes_beside(columns)
    weights = table.style == "file" and only.key in meaning.WEIGHTS
    no = "no outcome" if only.within and not weights else "no outcome and no probability"
    no = "no probability" if only.key in meaning.OUTCOMES else no
    empty = f" ({empty_columns(table.format)})" if table.format.empty else ""
    if beside and only.within and not weights:
        return columns.refuse(f"one column `{only.name}`, {no}.", *beside)
    what = f"nothing to assess in {table.name}: one column `{only.name}`, {no}{empty}."
    if empty:
        what += "\n  fill the empty column, or give the file that holds its values"
    elif only.within and not weights and only.fractions:
        what += f"\n  if it is the probability of what happened:  {columns.option('layout', 'realised')}"
    elif not weights:
        what += "\n  a table needs a column of outcomes and one of probabilities, and a delimiter between them"
    if weights:
        data = quoted(table.companion(meaning.WEIGHTS) or "FILE")
        what += f"   weights for another file:  veracity assess {data} --weight {table.in_commands}"
    return ValueError(what)


def _first_odd(columns: Columns, column: Column, odd: pl.Series, what: str, remedy: str) -> ValueError:
    index = int(odd.fill_null(False).arg_max() or 0)
    row = index + columns.table.first_row
    return columns.error(f"row {row}, `{column.name}` = {column.values[index]!r}: {what}", remedy)


def require_every_sign(columns: Columns, column: Column) -> None:
    """Refuse a column with % signs in most values but not in all; the message names the first without."""
    values, present = column.values, column.present
    if values.dtype != pl.String or not 0.5 < float(present.str.ends_with("%").sum()) / max(1, present.len()) < 1:
        return
    without = "without the % sign of the other values."
    raise _first_odd(columns, column, ~values.str.ends_with("%"), without, "write it like the others")


def _require_plain_numbers(columns: Columns, column: Column) -> None:
    """Refuse a column of probabilities by name that holds a few words; the message names the first."""
    values, present = column.values, column.present
    if values.dtype != pl.String or not meaning.named_probability(column.name):
        return
    require_every_sign(columns, column)
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
        odd = numbers.is_null() & values.is_not_null()
        raise _first_odd(columns, column, odd, "not a number.", "correct the value, or leave it empty")


def _check_range(columns: Columns) -> None:
    """Check columns named after the classes of an outcome that hold no probabilities: the check says what is wrong."""
    sets = class_sets(columns, loose=True, any_values=True)
    if len(sets) == 1 and not _counts_of_annotators(columns):
        table, (chosen,) = columns.table, sets
        p = table.sample.select(pl.col(chosen.columns).cast(pl.Float64)).to_numpy()
        names = table.names(columns=chosen.columns, whole=table.whole)
        check(Forecasts(p, np.zeros(len(p), int), chosen.classes, first_row=table.first_row, names=names))
