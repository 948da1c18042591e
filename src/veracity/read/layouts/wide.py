"""A label and one probability column per class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veracity.inputs import Forecasts
from veracity.inputs.names import many, run_of, short
from veracity.records.layout import Classes, Cuts, Event, Layout

from .. import column_meaning as meaning
from ..arrays import are_half
from ..build import ModelRows, prepared
from ..classes import ClassSet, class_sets, given_sets
from ..column_meaning import Column
from ..free_columns import Columns
from ..patterns import labels_of
from ..proposals import Proposal, placeholder
from ..refused_columns import (
    called_otherwise,
    is_decided,
    more_likely,
    not_picks,
    refuse_codes,
    related,
    sums_off,
    two_outcomes,
)
from . import binary

RULE, OPTION = 5, "proba"


def match(columns: Columns) -> Layout | None:
    """Columns with a common stem, or named like the labels of another column, that sum to one."""
    proba = columns.options.proba
    sets = given_sets(columns.matched("proba", proba), columns) if proba else class_sets(columns)
    if proba and len(sets) == 1 and len(sets[0].columns) == 1:
        only = sets[0].columns
        return binary.event_layout(columns, binary.outcome_for(columns, only), only)
    if not sets:
        meant = [s for s in class_sets(columns, loose=True) if len(s.classes) > 2]
        if len(meant) == 1:
            raise sums_off(columns, meant[0])
        return None
    chosen, *others = sets
    if others and not proba:
        where = " and ".join(f"{s.columns[0]}…{s.columns[-1]}" for s in sets[:2])
        stem, other = chosen.stem, others[0].stem
        common = next(end for i in range(len(stem) + 1) if other.endswith(end := stem[i:]))
        raise columns.refuse(
            f"two sets of class columns: {where}.",
            Proposal("as two models", {"proba": f"{{model}}{common}*"}, "assess"),
            Proposal("one of them", {"proba": chosen.stem + "*"}),
            otherwise=f"name the columns of one of them:  {columns.option('proba', 'PATTERN')}",
        )
    if any(set(s.classes) != set(chosen.classes) for s in others):
        raise columns.error(
            f"the models have different classes: {' '.join(chosen.classes)} and {' '.join(others[0].classes)}.",
            "name the columns of one of them",
        )
    sets = [_with_declared(columns, s) for s in sets]
    outcome = _outcome(columns, sets[0])
    return _match(columns, sets, outcome) if outcome is not None else None


def _with_declared(columns: Columns, numbered: ClassSet) -> ClassSet:
    """Return numbered columns with the classes that the outcome declares, in its order."""
    label, numbers = columns.options.label, sorted(numbered.classes, key=lambda c: (len(c), c))
    named = [columns.all[label]] if label in columns.all else columns.where(lambda c: c.key in meaning.OUTCOMES)
    orders = {c.declared for c in named if len(c.declared) == len(numbers) and not set(c.declared) & set(numbers)}
    if len(orders) != 1 or numbers not in ([str(i + first) for i in range(len(numbers))] for first in (0, 1)):
        return numbered
    place = dict(zip(numbers, orders.pop(), strict=True))
    return replace(numbered, classes=tuple(place[c] for c in numbered.classes))


def build(rows: ModelRows) -> Forecasts:
    return prepared(rows, rows.outcomes())


def _match(columns: Columns, sets: list[ClassSet], outcome: str) -> Layout:
    options = columns.options
    order = _event_last(columns, columns.ordered(sets[0].classes))
    if (options.scale or sets[0].scale) == "probability":
        refuse_codes(columns, [name for s in sets for name in s.columns])
    meaning: Classes | Cuts
    if options.cut:
        meaning = _cuts(columns, order)
    else:
        seen = columns.all[outcome].labels
        never = tuple(c for c in order if c not in seen) if seen else ()
        meaning = Classes(order if never else tuple(seen) or order, never)
        if options.versus_rest:
            meaning = replace(meaning, event=Event(options.versus_rest, obvious=True, against_rest=True))
        elif len(order) == 2:
            other = "" if options.positive else columns.option("positive", order[0])
            meaning = replace(meaning, event=Event((order[1],), other=other))
    return Layout(
        tuple((s.model or columns.model, s.ordered(order)) for s in sets),
        labels_of(order),
        outcome,
        labels=order,
        scale=options.scale or sets[0].scale,
        half=any(are_half(columns.table.sample, s.columns) for s in sets),
        meaning=meaning,
        basis=sets[0].basis,
    )


def _event_last(columns: Columns, order: tuple[str, ...]) -> tuple[str, ...]:
    """Return two classes with the event last, more classes as they are."""
    positive = columns.options.positive
    if len(order) != 2 or columns.options.order:
        return order
    if positive is not None and positive not in order:
        raise columns.error(f"no class {positive}: the classes are {' '.join(order)}.", "name one of them")
    pair = meaning.event_of(order)
    event = positive if positive is not None else pair[1] if pair else order[1]
    return tuple(sorted(order, key=lambda c: c == event))


def _outcome(columns: Columns, chosen: ClassSet) -> str | None:
    """Return the column that is given, or the only one that holds no other values than the classes."""
    options, classes, taken = columns.options, set(chosen.classes), chosen.columns
    if options.label:
        column = columns.all[columns.table.column(options.label)]
        if not options.cut and column.numeric and not column.labels:
            raise _needs_cut(columns, column, chosen)
        if column.labels and not set(column.labels) & classes and not (options.cut or options.where):
            raise called_otherwise(columns, column, taken)
        return column.name
    named = columns.candidates(lambda c: c.key in meaning.OUTCOMES, taken)
    fits = columns.candidates(lambda c: bool(c.labels) and set(c.labels) <= classes and not columns.is_pick(c), taken)
    if options.cut:
        fits = [c for c in named if c.numeric]
    known = [c for c in fits if c in named]
    if len(known) == 1:
        fits = [*known, *_beside(columns, known[0], fits, chosen)]
    elif len(fits) > 1:
        left = not_picks(columns, fits, taken, chosen.classes)
        fits = left if len(left) > 1 or related(columns, left[0], taken, chosen.classes) else fits
    if len(fits) > 1:
        raise two_outcomes(columns, fits, taken, chosen.classes)
    if fits:
        return fits[0].name
    if len(named) == 1 and (_mostly(named[0], chosen.classes) or (named[0].numeric and classes < {*named[0].labels})):
        return named[0].name  # the rows with other labels are refused when they are read
    if len(named) == 1:
        raise _other_labels(columns, named[0], chosen)
    if options.proba:
        raise columns.error(
            f"class columns {run_of(taken)}, but no column holds only {short(chosen.classes)}.",
            f"name the outcome:  {columns.option('label', 'COL')}   columns: {run_of(list(columns.free))}",
        )
    return None


def _beside(columns: Columns, known: Column, fits: list[Column], chosen: ClassSet) -> list[Column]:
    """Return what may be the outcome instead of a column known by its name that the forecasts decide."""
    if columns.options.cut or not is_decided(columns, known, chosen.columns, chosen.classes):
        return []
    return more_likely(columns, known, fits, chosen.columns, chosen.classes)


def _mostly(column: Column, classes: tuple[str, ...]) -> bool:
    """Whether nearly all values of a column are classes."""
    inside = sum(times for label, times in column.times.items() if label in classes) if column.labels else 0
    # Words of which most are classes are not a class renamed: numbers may be, counted from 0 and from 1.
    renamed = column.numeric or len(column.labels) != len(classes)
    return inside > (0.9 if renamed else 0.5) * column.present.len()


def _other_labels(columns: Columns, column: Column, chosen: ClassSet) -> ValueError:
    """Return the error for an outcome by name whose values are not the classes of the columns."""
    labels, classes = column.labels, chosen.classes
    if column.numeric and len(labels) != 2 and len(labels) != len(classes):
        return _needs_cut(columns, column, chosen)
    what = f"outcome `{column.name}` holds {short(labels, ', ')}, the classes are {short(classes, ', ')}."
    pair = meaning.event_of(labels) if len(labels) == 2 else None
    if len(classes) == 2 and pair:
        event = (column.text == pair[1]).fill_null(False)
        means = [columns.all[c].values.filter(event).mean() for c in chosen.columns]
        when = f"name the probability of {pair[1]}"
        return columns.refuse(
            what,
            *(
                Proposal(when, {"positive_proba": c}, likely=float(mean or 0.0))  # type: ignore[arg-type]
                for c, mean in zip(chosen.columns, means, strict=True)
            ),
        )
    if len(labels) == len(classes) and chosen.stem:
        alike = run_of([chosen.stem + label for label in labels])
        return columns.error(what, f"name each column after its class: {alike}")
    return columns.error(
        what, "name the columns like the outcomes, or the outcome column:  " + columns.option("label", "COL")
    )


def _needs_cut(columns: Columns, column: Column, chosen: ClassSet) -> ValueError:
    """Return the error for a measured outcome, which asks for the limits between the classes.

    Limits that give each class its mean forecast probability stand in for them while the rest is tried.
    """
    classes = chosen.classes
    means = [columns.table.sample[c].mean() or 0.0 for c in chosen.columns]
    shares = np.cumsum(np.array(means, dtype=float))[:-1]
    ranked = np.sort(column.present.to_numpy())
    places = np.minimum((shares * len(ranked)).astype(int), len(ranked) - 1)
    limits = sorted({float(x) for x in ranked[places]})
    limits += [limits[-1] + i for i in range(1, len(classes) - len(limits))]  # any that rise: only the user knows them
    asked = placeholder(len(limits))
    arrows = ", ".join(f"≤ {x} → {c}" for x, c in zip(asked.split(","), classes, strict=False))
    return columns.refuse(
        f"outcome `{column.name}` is a number ({column.low:g} to {column.high:g}, {column.distinct} values), "
        f"the classes are {', '.join(classes)}.",
        Proposal(
            "which limits are between the classes?",
            {"cut": tuple(limits)},
            note=f"{arrows}, above → {classes[-1]}",
            asked={"cut": asked},
        ),
        otherwise=f"which limits are between the classes?  {columns.option('cut', asked)}",
    )


def _cuts(columns: Columns, order: tuple[str, ...]) -> Cuts:
    cut = columns.options.cut
    if len(cut) != len(order) - 1:
        raise columns.error(
            f"{many(len(cut), 'limit')} cut {len(cut) + 1} classes, the forecast has {len(order)}: {' '.join(order)}.",
            f"give {many(len(order) - 1, 'limit')}, from low to high",
        )
    return Cuts(cut, order)
