"""One outcome with two values, and one probability column per model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from veracity.inputs import Forecasts
from veracity.inputs.names import run_of, short
from veracity.records.layout import Event, Layout

from ...options import canonical
from .. import column_meaning as meaning
from ..build import ModelRows, prepared
from ..column_meaning import Column
from ..free_columns import Columns
from ..patterns import labels_of
from ..proposals import Proposal
from ..refused_columns import (
    is_decided,
    more_likely,
    more_than_two,
    not_picks,
    refuse_codes,
    related,
    two_outcomes,
    void_outcomes,
)

RULE, OPTION = 7, "positive_proba"
OBVIOUS = ("1", "true")  # events that need no mention


def match(columns: Columns) -> Layout | None:
    """An outcome by name and probability columns; without a known name, the only two columns that can be these."""
    if columns.options.positive_proba:
        given = [c for _, _, c in columns.matched("positive_proba", columns.options.positive_proba)]
        return event_layout(columns, outcome_for(columns, given), given)
    own = _own_probability(columns)
    if own is not None:
        return event_layout(columns, own[0], [own[1]])
    outcome = named_outcome(columns)
    forecasts = _event_columns(columns, outcome)
    if outcome is not None:
        refuse_realised(columns, outcome, forecasts)
        return event_layout(columns, outcome, forecasts) if forecasts else None
    if len(forecasts) != 1 or len(columns.where(lambda c: c.probability)) > 1:
        return None
    _refuse_other_outcome(columns, forecasts)
    if meaning.key_of(forecasts[0]) in meaning.REALISED and not columns.forced:
        return None
    two = _two_valued(columns, forecasts)
    if len(two) == 1:
        _refuse_names_for_one_another(columns, two[0], forecasts[0])
        return event_layout(columns, two[0].name, forecasts) if related(columns, two[0], forecasts) else None
    if two:
        raise two_outcomes(columns, two, forecasts)
    several = columns.where(lambda c: _few_labels(columns, c), forecasts)
    if len(several) == 1:
        raise more_than_two(columns, several[0], forecasts[0])
    return None


def build(rows: ModelRows) -> Forecasts:
    return prepared(rows, rows.outcomes())


def event_layout(columns: Columns, outcome: str, forecasts: Sequence[str]) -> Layout:
    """Return the match of an outcome and its probability columns, one model per column."""
    options, column = columns.options, columns.all[outcome]
    labels: tuple[str, ...] = ("0", "1")
    classes: tuple[Any, ...] = (0, 1)
    if options.cut:
        if len(options.cut) != 1:
            raise columns.error(f"{len(options.cut)} limits for one probability column.", "one limit makes two classes")
        event = Event(above=options.cut[0])
    elif options.versus_rest:
        void = void_outcomes(columns, column)
        if void is not None:
            raise void
        if len(column.labels) > 1 and not {canonical(v) for v in options.versus_rest} & set(column.labels):
            shown, chosen = " ".join(column.labels[:6]), ", ".join(options.versus_rest)
            raise columns.error(f"outcome `{outcome}` holds {shown}, not {chosen}.", "name the value that is the event")
        event = Event(options.versus_rest)
    elif column.fractions or (column.numeric and set(column.labels) <= {"0", "1"} and options.positive is None):
        event = Event(("1",))
    else:
        labels = _event_last(columns, column, forecasts[0])
        classes, event = labels_of(labels), Event((labels[1],))
    event = replace(event, obvious=labels[1].lower() in OBVIOUS)
    if columns.table.whole and not column.fractions and not options.cut and not options.versus_rest:
        event = replace(event, count=column.times.get(labels[1], 0), total=column.present.len())
    one = len(forecasts) == 1
    words = set(meaning.key_of(forecasts[0]).split("_")) if one and not options.scale else set()
    scale = "logit" if "logit" in words else "log" if words & {"logprob", "logp"} else columns.scale
    if scale == "probability":
        refuse_codes(columns, forecasts)
    return Layout(
        tuple((columns.model if one else c, (c,)) for c in forecasts),
        classes,
        outcome,
        labels=labels,
        scale=scale,
        meaning=event,
        basis="" if one else "one model per column (rule 7)",
    )


def named_outcome(columns: Columns) -> str | None:
    """Return the outcome that is given, or the only one that is known by its name."""
    options = columns.options
    if options.label:
        return columns.table.column(options.label)
    known = columns.candidates(lambda c: c.key in meaning.OUTCOMES and (c.outcome_like or bool(options.cut)))
    if options.versus_rest:
        known = columns.candidates(lambda c: c.key in meaning.OUTCOMES and bool(c.labels))
    known = known or columns.candidates(lambda c: c.key in meaning.WEAK_OUTCOMES and c.two_valued)
    forecasts = [c.name for c in columns.where(lambda c: c.probability and c not in known)]
    if len(known) > 1:
        known = not_picks(columns, known, forecasts)
    if len(known) > 1:
        raise two_outcomes(columns, known, forecasts)
    return _unless_another(columns, known[0], forecasts) if known else None


def _unless_another(columns: Columns, known: Column, forecasts: Sequence[str]) -> str | None:
    """Return an outcome by name; None or a refusal if the name misleads and another column may be the outcome.

    It may mislead where the forecast decides the column in every row, and where the name alone says little.
    """
    decided, ambiguous = is_decided(columns, known, forecasts), known.key in meaning.AMBIGUOUS_OUTCOMES
    if not (decided or ambiguous):
        return known.name
    others = more_likely(columns, known, _two_valued(columns, forecasts), forecasts)
    if not others:
        return known.name
    if decided and ambiguous:
        return None
    raise two_outcomes(columns, [known, *others], forecasts)


def _two_valued(columns: Columns, forecasts: Sequence[str]) -> list[Column]:
    """Return the columns of two values that may be the outcome of these forecasts."""
    two = columns.candidates(lambda c: c.two_valued and not columns.is_pick(c), forecasts)
    return not_picks(columns, two, [name for name in forecasts if columns.all[name].numeric])


def _own_probability(columns: Columns) -> tuple[str, str] | None:
    """Return whether a pick was right, and the only column whose name says that it is the probability of this."""
    right = columns.with_label().first(meaning.RIGHT, lambda c: c.outcome_like)
    if right is None or columns.options.label not in (None, right):
        return None
    own = columns.where(lambda c: c.numeric and meaning.is_probability_of(c.name, right), [right])
    return (right, own[0].name) if len(own) == 1 else None


def outcome_for(columns: Columns, forecasts: Sequence[str]) -> str:
    """Return the outcome of given probability columns, or raise."""
    outcome = named_outcome(columns)
    if outcome is not None:
        return outcome
    _refuse_other_outcome(columns, forecasts)
    two = _two_valued(columns, forecasts)
    if len(two) > 1:
        raise two_outcomes(columns, two, forecasts)
    if not two:
        raise columns.error(
            "no column with two values for the outcome.",
            f"name it:  {columns.option('label', 'COL')}   columns: {run_of(list(columns.free))}",
        )
    return two[0].name


def refuse_realised(columns: Columns, outcome: str | None, forecasts: Sequence[str]) -> None:
    """Refuse an outcome with a column named for the realised probability: of which of the two is it?"""
    if outcome is None or len(forecasts) != 1 or columns.forced or meaning.key_of(forecasts[0]) not in meaning.REALISED:
        return
    raise columns.refuse(
        f"`{forecasts[0]}` beside the outcome `{outcome}`: the probability of the event, or of what happened?",
        Proposal("of the event", {"positive_proba": forecasts[0]}),
        Proposal("of what happened", {"layout": "realised"}),
    )


def _refuse_names_for_one_another(columns: Columns, outcome: Column, forecast: str) -> None:
    """Refuse a forecast that is named as outcomes are, with an outcome that is named as probabilities are."""
    if meaning.key_of(forecast) in meaning.OUTCOMES and meaning.named_probability(outcome.name):
        raise columns.refuse(
            f"`{forecast}` holds probabilities and `{outcome.name}` {' and '.join(outcome.labels)}: "
            "their names say the opposite.",
            Proposal("if the names are wrong", {"label": outcome.name, "positive_proba": forecast}, "assess"),
        )


def _refuse_other_outcome(columns: Columns, forecasts: Sequence[str]) -> None:
    """Refuse an outcome by name with three values or more: no other column may take its place unasked."""
    named = columns.candidates(lambda c: c.key in meaning.OUTCOMES and _few_labels(columns, c))
    if named and named[0].name not in forecasts:
        raise more_than_two(columns, named[0], forecasts[0])


def _few_labels(columns: Columns, column: Column) -> bool:
    return 3 <= len(column.labels) <= 20 and not columns.is_pick(column) and not column.no_label


def _event_columns(columns: Columns, outcome: str | None) -> list[str]:
    """Return the columns that could be the probability of the event, by name if there are such."""
    numeric = columns.where(lambda c: c.numeric and c.key not in meaning.WEIGHTS, [outcome] if outcome else [])
    scale = columns.scale
    fits = [c for c in numeric if c.distinct > 2 and c.on_scale(scale)]
    if scale == "probability" and not fits:
        logits = [c.name for c in numeric if "logit" in c.key.split("_")]
        if len(logits) == 1:
            return logits
        # a forecast by name that is out of range is still the forecast: the check says what is wrong
        named = [c for c in numeric if meaning.named_probability(c.name)]
        return [c.name for c in named] if len(named) == 1 else []
    named = [c for c in fits if meaning.named_probability(c.name) or (scale in ("logit", "log") and scale in c.key)]
    return [c.name for c in meaning.without_bounds(named or fits)]


def _event_last(columns: Columns, column: Column, forecast: str) -> tuple[str, str]:
    """Return the two labels of an outcome, the event last."""
    labels, positive = column.labels, columns.options.positive
    if positive is not None:
        if positive not in labels:
            raise columns.error(
                f"outcome `{column.name}` holds {short(labels)}, not {positive}.", "name the value that is the event"
            )
        others = [v for v in labels if v != positive]
        if len(others) > 1:
            raise more_than_two(columns, column, forecast)
        return (others[0] if others else "other"), positive
    if len(labels) > 2 or not labels:
        raise more_than_two(columns, column, forecast)
    pair = meaning.event_of(labels)
    if pair is None and len(column.declared) == 2:
        return column.declared[0], column.declared[1]
    if pair is None:
        p, proposals = columns.all[forecast].values, []
        for label in labels:
            mean = p.filter((column.text == label).fill_null(False)).mean() if p.dtype.is_numeric() else None
            proposals.append(Proposal("", {"positive": label}, likely=float(mean or 0.0)))  # type: ignore[arg-type]
        raise columns.refuse(
            f"outcome `{column.name}` holds {' and '.join(labels)}; which one does `{forecast}` forecast?", *proposals
        )
    return pair
