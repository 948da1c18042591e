"""The picked label (or whether it was correct) and the confidence in it: only the pick can be judged."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl

from veracity.inputs import Forecasts
from veracity.inputs.names import listed
from veracity.records.layout import Event, Layout

from .. import column_meaning as meaning
from ..build import ModelRows, prepared
from ..column_meaning import Column
from ..free_columns import Columns
from ..picks import PICK_WAS_RIGHT, of_picks
from ..proposals import Proposal
from ..refused_columns import named, not_picks, ranked

RULE = 6
ROW_SUM, NEARLY_ALL = 1e-3, 0.99  # how near to one, in what share of the cases
RARELY = 0.02  # share of confidences below ½, written by mistake, from which they are none in a pick of two
ANSWERS = ("answer", "response", "prediction", "choice", "model_answer", "predicted_answer", "pick", "output")


def match(columns: Columns) -> Layout | None:
    """A label, a picked label with the same values and one probability, whatever their names; or `correct` with one."""
    confidence = _confidence(columns)
    if confidence is None:
        return None
    correct = _correct(columns)
    if correct:
        if meaning.is_probability_of(confidence, correct):
            return None  # p_correct is the probability of `correct`, as of any other event
        _refuse_rows_of_classes(columns, confidence, correct)
        _refuse_below_half(columns, confidence, correct)
        labels = meaning.event_of(columns.all[correct].labels) or ("0", "1")
        return _match(columns, confidence, correct, PICK_WAS_RIGHT, labels=labels)
    pair = _label_and_pick(columns, confidence)
    if pair is None:
        return None
    label, pick = pair
    return _match(columns, confidence, label, Event((f"{label} is {pick}",)), roles={"pick": pick})


def _correct(columns: Columns) -> str | None:
    """Return the column that tells whether the pick was right, unless another column is given as the outcome."""
    options = columns.options
    if options.pick:
        return None
    return columns.with_label().first(meaning.RIGHT, lambda c: c.outcome_like and options.label in (None, c.name))


def _refuse_rows_of_classes(columns: Columns, confidence: str, correct: str) -> None:
    """Refuse a row for every class of a case, only one of them right, whose probabilities sum to one: no picks."""
    p = columns.all[confidence].values.cast(pl.Float64, strict=False)
    for case in columns.where(lambda c: meaning.is_id(c.name) or c.key in meaning.CASE_IDS, (confidence, correct)):
        sums = pl.DataFrame({"case": case.text, "p": p}).group_by("case").agg(pl.col("p").sum(), pl.len())
        whole = (sums["p"] - 1.0).abs() < ROW_SUM
        if (sums["len"] > 1).all() and int(whole.sum()) > NEARLY_ALL * sums.height:
            raise columns.error(
                f"one row per case and class: `{confidence}` sums to one over the rows of each `{case.name}`.",
                "name the class `predicted_label`, its probability `predicted`, and give the right class of the case "
                "in each of its rows as `observed`",
            )


def _match(columns: Columns, confidence: str, outcome: str, event: Event, **more: object) -> Layout:
    given = {"scale": columns.options.scale or "probability", "basis": "confidence of the pick (rule 6)"} | more
    return of_picks(columns.model, confidence, outcome, meaning=event, **given)


def _confidence(columns: Columns) -> str | None:
    """Return the column given, the one that is called a confidence, or the only probability."""
    given = columns.options.positive_proba
    if given:
        names = [c for _, _, c in columns.matched("positive_proba", given)]
        return names[0] if len(names) == 1 and (columns.options.pick or columns.forced) else None
    called = columns.first(meaning.CONFIDENCES, lambda c: c.numeric)
    if called:
        return called
    inside = columns.where(lambda c: c.on_scale(columns.scale) and c.distinct > 2)
    probable = [c for c in inside if meaning.named_probability(c.name)] if len(inside) > 1 else inside
    return probable[0].name if len(probable) == 1 else None


def _label_and_pick(columns: Columns, confidence: str) -> tuple[str, str] | None:
    """Return the label and the picked label; None if there is no such pair, or if the probability is the event's."""
    options = columns.options
    if options.pick:
        pick = columns.all[columns.table.column(options.pick)]
        label = options.label and columns.all[columns.table.column(options.label)]
        fits = [label] if label else columns.candidates(lambda c: _comparable(c, pick), (confidence,))
        fits = [c for c in fits if c.key in meaning.OUTCOMES] or fits
        if len(fits) != 1:
            raise columns.error(
                f"no single column holds the labels that `{pick.name}` picks.",
                f"name it:  {columns.option('label', 'COL')}",
            )
        if not set(fits[0].text.drop_nulls()) & set(pick.text.drop_nulls()):
            raise columns.error(
                f"the outcome `{fits[0].name}` and the pick `{pick.name}` have no value in common: no pick could be "
                "right.",
                f"name another:  {columns.option('label', 'COL')}   or   {columns.option('pick', 'COL')}",
            )
        return fits[0].name, pick.name
    possible = columns.candidates(lambda c: bool(c.labels) or c.values.dtype == pl.String, (confidence,))
    known = columns.where(lambda c: c.key in meaning.OUTCOMES)
    if options.label:
        labels = [columns.all[columns.table.column(options.label)]]
    else:  # `answer` and `status` say what is true only where nothing else does
        labels = [c for c in possible if c.key in (meaning.OUTCOMES if known else meaning.WEAK_OUTCOMES)]
    names = (*meaning.OUTCOMES, *meaning.WEAK_OUTCOMES)
    picks = [c for c in possible if columns.is_pick(c) or c.key in ANSWERS]
    for label in sorted(
        not_picks(columns, labels, [confidence]), key=lambda c: names.index(c.key) if c.key in names else -1
    ):
        pairs = [pick for pick in picks if pick.name != label.name and _comparable(label, pick)]
        pairs = [pick for pick in pairs if columns.is_pick(pick)] or pairs
        if pairs:
            picked = _is_confidence(columns, confidence, label, pairs[0])
            return (label.name, _only_pick(columns, label, pairs)) if picked else None
    return _by_values(columns, possible, labels if known or options.label else None)


def _only_pick(columns: Columns, label: Column, picks: list[Column]) -> str:
    if len(picks) > 1:
        raise columns.refuse(
            f"{len(picks)} columns could be the pick beside `{label.name}`: "
            f"{listed([f'`{c.name}`' for c in picks], 12)}.",
            *(Proposal("choose", {"label": label.name, "pick": c.name}) for c in picks[:2]),
        )
    return picks[0].name


def _by_values(columns: Columns, possible: list[Column], labels: list[Column] | None) -> tuple[str, str] | None:
    """Return two columns that hold the same three or more labels and agree more often than by chance.

    labels: one of the two is among these; None: they are the only two such columns, the truth by its name first.
    """
    several = [c for c in possible if 3 <= len(c.labels) <= 100][:20]
    if labels is None:
        pairs = [pair for pair in combinations(several, 2) if _agree_beyond_chance(*pair)]
        if len(pairs) != 1:
            return None
        label, pick = sorted(pairs[0], key=lambda c: meaning.rank_of_name(c.name))
        return label.name, pick.name
    for label in (c for c in labels if 3 <= len(c.labels) <= 100):
        picks = [c for c in several if c is not label and _agree_beyond_chance(label, c)]
        if picks:
            return label.name, _only_pick(columns, label, picks)
    return None


def _agree_beyond_chance(a: Column, b: Column) -> bool:
    """Whether two columns hold the same labels, and more often in the same row than without relation."""
    if not (set(a.labels) & set(b.labels) and _comparable(a, b)):
        return False
    n = a.text.len()
    expected = sum(a.times.get(v, 0) / n * b.times.get(v, 0) / n for v in a.labels)
    error = float(np.sqrt(expected * (1 - expected) / n))
    return _agree(a, b) > expected + 3 * error


def _comparable(label: Column, pick: Column) -> bool:
    """Whether two columns hold the same labels: nearly all of one are among the other's, and they agree by row."""
    if label.name == pick.name or label.numeric != pick.numeric or label.fractions or pick.fractions:
        return False
    agree = _agree(label, pick)
    if label.labels and pick.labels and len(label.labels) <= 100:
        few, many = sorted((set(label.labels), set(pick.labels)), key=len)
        return len(few & many) >= 0.5 * len(few) and agree < 1.0
    return 0.05 <= agree < 1.0  # texts of answers: some are right word by word


def _agree(a: Column, b: Column) -> float:
    """Return the share of rows in which two columns hold the same label."""
    return int((a.text == b.text).fill_null(False).sum()) / max(1, a.text.len())


def _below_half(columns: Columns, confidence: str) -> tuple[int, int]:
    """Return the number of confidences below ½, and of all."""
    p = columns.all[confidence].values.cast(pl.Float64, strict=False).fill_nan(None).drop_nulls()
    return int((p < (50 if columns.scale == "percent" else 0.5)).sum()), p.len()


def _refuse_below_half(columns: Columns, confidence: str, correct: str) -> None:
    """Refuse the confidence in a pick of two labels that is often below ½: the other label would have been picked."""
    below, rows = _below_half(columns, confidence)
    if below <= RARELY * rows or columns.forced or columns.options.label:
        return
    two = columns.candidates(lambda c: c.two_valued, (confidence, correct))
    labels = ranked(columns, [c for c in two if not columns.is_pick(c)], [confidence])
    of_right = [Proposal("of being right", {"label": correct, "positive_proba": confidence})]
    if any(columns.is_pick(c) or named(c) for c in two):
        raise columns.refuse(
            f"`{confidence}` is below ½ in {below:,} of {rows:,} rows, and the pick is one of two labels: no "
            "confidence in a pick.",
            *(Proposal("of a label", {"label": c.name, "positive_proba": confidence}) for c in labels[:1]),
            *(of_right if meaning.key_of(confidence) in meaning.CONFIDENCES else []),
            otherwise=f"name the outcome:  {columns.option('label', 'COL')}",
        )


def _is_confidence(columns: Columns, confidence: str, label: Column, pick: Column) -> bool:
    """Whether the probability is the confidence in the pick and not the probability of one label."""
    called, (below, rows) = (
        meaning.key_of(confidence) in meaning.CONFIDENCES,
        _below_half(columns, confidence),
    )
    if not label.two_valued or (called and below <= RARELY * rows):
        return True
    p, picks = columns.all[confidence].values.cast(pl.Float64), pick.text
    sides = [p.filter((picks == value).fill_null(False)).drop_nulls().to_numpy() for value in label.labels]
    if any(len(side) == 0 for side in sides):
        return False
    first, second = sides
    if first.min() >= second.max() or second.min() >= first.max():
        return False  # one label is picked above a threshold: the probability of that label
    if not below:
        return True
    in_pick = [Proposal("in the pick", {"pick": pick.name})] if below <= RARELY * rows else []
    raise columns.refuse(
        f"`{confidence}` beside the label `{label.name}` and the pick `{pick.name}` is below ½ in {below:,} of "
        f"{rows:,} rows: the probability of one label, or the confidence in the pick?",
        *in_pick,
        Proposal("of a label", {"label": label.name, "positive_proba": confidence}),
    )


def build(rows: ModelRows) -> Forecasts:
    pick = rows.match.roles.get("pick")
    if pick is None:
        return prepared(rows, rows.outcomes())
    label, picked = Column("label", rows.frame[str(rows.match.outcome)]), Column("pick", rows.frame[pick])
    return prepared(rows, (label.text == picked.text).cast(pl.Float64).fill_null(np.nan).to_numpy())
