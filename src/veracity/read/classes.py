"""Sets of columns that hold one probability per class."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from unicodedata import normalize

import numpy as np
import polars as pl

from ..options import canonical
from . import column_meaning as meaning
from .column_meaning import Column
from .free_columns import Columns

STEMS = re.compile(
    r"^(\.pred_|\.prob_|y_proba_|y_prob_|proba_|prob_|probability_|probabilities_|p_|pred_|logits?_|log_?probs?_|log_?p_)(.+)$",
    re.IGNORECASE,
)
DIGITS = re.compile(r"^(.*?)(\d+)$")
NEARLY = 0.02  # rounded rows are no further from one on average

Members = list[tuple[Column, str]]  # columns with their classes


@dataclass(frozen=True)
class ClassSet:
    """Columns of one model with their classes."""

    columns: tuple[str, ...]
    classes: tuple[str, ...]
    stem: str = ""
    model: str | None = None
    basis: str = ""
    scale: str = "probability"

    def ordered(self, classes: Iterable[str]) -> tuple[str, ...]:
        """Return the columns of these classes."""
        column = dict(zip(self.classes, self.columns, strict=True))
        return tuple(column[c] for c in classes)


def class_sets(
    columns: Columns, loose: bool = False, any_values: bool = False, known: tuple[str, ...] = ()
) -> list[ClassSet]:
    """Return every set of at least two columns with a common stem, or named like labels, that sums to one.

    loose: the sums may be off where a column holds exactly these classes (to say so, or to rescale the rows);
    any_values: and the values may lie outside [0, 1];
    known: classes, if no column holds outcomes.
    """
    options, scale = columns.options, columns.options.scale
    numeric = columns.where(lambda c: c.numeric and c.present.len() > 0 and c.name != options.label)
    possible = [c for c in columns.all.values() if c.name in columns.free or c.name == options.label]
    outcomes = [c for c in possible if 2 <= len(c.labels) <= meaning.MANY]
    if known:
        outcomes = [Column("\0known", pl.Series(known))]
    by_columns: dict[tuple[str, ...], ClassSet] = {}
    for stem, members, clear in _candidates(columns, numeric, outcomes):
        names, classes = tuple(c.name for c, _ in members), tuple(k for _, k in members)
        if len(members) < 2 or len(set(classes)) != len(classes) or names in by_columns:
            continue
        own = scale or _scale_of(stem)
        sums = _sums(columns.table.sample, members, own)
        if scale == "percent" and _meant(members, outcomes, True, columns):
            sums = sums or "nearly 100"
        votes = all(c.labels and c.low >= 0 for c, _ in members)  # whole numbers, none below zero
        outside = (clear or votes) and (any_values or options.normalise)
        loosely = (loose or options.normalise) and own == "probability"
        if not sums and not (loosely and _meant(members, outcomes, outside, columns)):
            continue
        named = "columns named like the classes" if clear and not stem else f"columns {stem}<class>"
        basis = f"{named} (rule 5)" + (f"; rows sum to {sums}" if sums else "")
        by_columns[names] = ClassSet(names, classes, stem, None, basis, own)
    sets = list(by_columns.values())
    return [s for s in sets if not any(set(s.columns) < set(o.columns) for o in sets)]


def _named_like_labels(columns: Columns, numeric: list[Column], outcomes: list[Column]) -> list[Members]:
    """Return the columns whose names are the labels of an outcome, all of them."""
    sets, sample = [], columns.table.sample
    for outcome in outcomes:
        labels = set(outcome.labels)
        members = [(c, canonical(c.name)) for c in numeric if c is not outcome and canonical(c.name) in labels]
        names = [c.name for c, _ in members]
        if not members or labels - {k for _, k in members}:
            continue
        # all other probabilities belong to them, if there are classes without a case
        others = [c for c in numeric if c.within and c.name not in (*names, outcome.name)]
        if others and not meaning.sum_to_one(sample, names):
            everyone = [*members, *((c, canonical(c.name)) for c in others)]
            if meaning.sum_to_one(sample, [c.name for c, _ in everyone]):
                members = everyone
        sets.append(members)
    return sets


def _candidates(columns: Columns, numeric: list[Column], outcomes: list[Column]) -> list[tuple[str, Members, bool]]:
    """Return stem and columns of every set that may be one, and whether its names are clear."""
    alike = [("", members, True) for members in _named_like_labels(columns, numeric, outcomes)]
    ending = [(stem, members, False) for stem, members in _ending_in_labels(numeric, outcomes)]
    stems = [(stem, members, True) for stem, members in with_stem(numeric, STEMS)]
    return [*alike, *ending, *stems, *((stem, members, False) for stem, members in with_stem(numeric, DIGITS))]


def _ending_in_labels(numeric: list[Column], outcomes: list[Column]) -> list[tuple[str, Members]]:
    groups: dict[tuple[str, str], Members] = {}
    for outcome in outcomes:
        labels = set(outcome.labels)
        lengths = {len(label) for label in labels}
        for c in numeric:
            name = normalize("NFC", c.name)
            for label in {name[-n:] for n in lengths if n < len(name)} & labels:
                if c is not outcome:
                    groups.setdefault((outcome.name, name[: -len(label)]), []).append((c, label))
    return [(stem, members) for (_, stem), members in groups.items()]


def with_stem(numeric: list[Column], regex: re.Pattern[str]) -> list[tuple[str, Members]]:
    """Return the columns of each stem with their classes."""
    groups: dict[str, Members] = {}
    for c in numeric:
        if match := regex.match(c.name):
            groups.setdefault(match[1], []).append((c, canonical(match[2])))
    return list(groups.items())


def given_sets(matched: list[tuple[str | None, str | None, str]], columns: Columns) -> list[ClassSet]:
    """Return the sets that --proba matches: one per model."""
    models: dict[str | None, list[tuple[str | None, str]]] = {}
    for model, klass, column in matched:
        models.setdefault(model, []).append((klass, column))
    sets = []
    for model, members in models.items():
        names = tuple(c for _, c in members)
        classes = tuple(canonical(k) if k is not None else "" for k, _ in members)
        if not all(classes):
            classes = _classes_of(names, columns)
        if len(set(classes)) != len(classes):
            raise columns.error(
                f"{columns.option('proba', columns.options.proba)} gives two columns the class "
                f"{next(c for c in classes if classes.count(c) > 1)}.",
                "let * stand for the class and {model} for the model",
            )
        scale = columns.options.scale or _scale_of(names[0])
        sets.append(ClassSet(names, classes, names[0], model, "as given", scale))
    return sets


def _classes_of(names: tuple[str, ...], columns: Columns) -> tuple[str, ...]:
    """Return the classes of listed columns: their names, with or without the common stem."""
    classes = tuple(canonical(c) for c in names)
    label = columns.options.label
    seen = [columns.all[label]] if label in columns.all else list(columns.free.values())
    if any(c.labels and set(c.labels) <= set(classes) for c in seen):
        return classes
    for regex in (STEMS, DIGITS):
        matches = [regex.match(c) for c in names]
        if all(matches) and len({m[1] for m in matches if m}) == 1:
            return tuple(canonical(m[2]) for m in matches if m)
    return classes


def _scale_of(stem: str) -> str:
    """Return the scale that a written logit or logprob in the stem gives."""
    word = meaning.key_of(stem)
    if word.startswith("logit"):
        return "logit"
    return "log" if re.match(r"log_?p", word) else "probability"


def _meant(members: Members, outcomes: list[Column], outside: bool, columns: Columns) -> bool:
    """Whether these are numbers (within [0, 1]) for the very classes of another column.

    Classes without a case may be among them if they bring the sums of the rows nearer to one.
    """
    classes, names = {k for _, k in members}, [c.name for c, _ in members]
    sample, total = columns.table.sample, 100.0 if columns.options.scale == "percent" else 1.0
    if not columns.options.labelled and meaning.off_one(sample, names, total) < NEARLY:
        return True  # no outcomes tell which classes there are
    if not (outside or all(c.within for c, _ in members)):
        return False
    label_sets = [set(c.labels) for c in outcomes if c.name not in names and set(c.labels) <= classes]
    if classes in label_sets:
        return True
    off = meaning.off_one(sample, names, total) if label_sets else np.inf
    observed = [[c.name for c, k in members if k in labels] for labels in label_sets]
    return off < NEARLY and any(off < meaning.off_one(sample, few, total) for few in observed)


def _sums(sample: pl.DataFrame, members: Members, scale: str) -> str:
    """Return what the rows sum to, in words; empty if they do not."""
    names = [c.name for c, _ in members]
    if scale == "logit":
        return "anything: logits"
    if scale == "log":
        logs = np.exp(sample.select(pl.col(names).cast(pl.Float64)).to_numpy())
        return "one" if np.mean(np.abs(np.nansum(logs, axis=1) - 1) < 1e-3) >= 0.99 else ""
    if any(c.low < 0 or c.high > 100 for c, _ in members):
        return ""
    if all(c.high <= 1 for c, _ in members) and scale == "probability":
        return "one" if meaning.sum_to_one(sample, names) else ""
    return "100" if meaning.share_of_sums(sample, names, 100.0) >= 0.99 else ""
