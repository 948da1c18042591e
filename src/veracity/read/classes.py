"""Sets of columns that hold one probability per class."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from . import roles
from .reading import canonical
from .roles import Column

if TYPE_CHECKING:
    from .pool import Pool

STEMS = re.compile(
    r"^(\.pred_|\.prob_|y_proba_|y_prob_|proba_|prob_|probability_|probabilities_|p_|pred_|logits?_|log_?probs?_|log_?p_)(.+)$",
    re.IGNORECASE,
)
DIGITS = re.compile(r"^(.*?)(\d+)$")
NEARLY = 0.02  # how far rounded rows may be from one on average


@dataclass(frozen=True)
class ClassSet:
    """Columns of one model with the class that each is for."""

    columns: tuple[str, ...]
    classes: tuple[str, ...]
    stem: str = ""
    model: str | None = None
    why: str = ""
    scale: str = "probability"


def class_sets(search: Pool, loose: bool = False, any_values: bool = False) -> list[ClassSet]:
    """Every set of at least two columns with a common stem, or named like labels, that sums to one.

    loose: the sums may be off where a column holds just these classes (to say so, or to rescale the rows);
    any_values: and the values may lie outside [0, 1].
    """
    loose = loose or search.reading.normalise
    scale = search.reading.scale
    pool = [c for c in search.pool.values() if c.numeric and c.present.len() and c.name != search.reading.label]
    labelled = [
        c
        for c in search.all.values()
        if 2 <= len(c.labels) <= roles.MANY and (c.name in search.pool or c.name == search.reading.label)
    ]
    groups: dict[tuple[str, str], list[tuple[Column, str]]] = {}
    for column in labelled:
        values = set(column.labels)
        lengths = sorted({len(value) for value in values})
        for c in pool:
            if c is column:
                continue
            if canonical(c.name) in values:
                groups.setdefault(("like " + column.name, ""), []).append((c, canonical(c.name)))
            for value in {c.name[-n:] for n in lengths if n < len(c.name)} & values:
                groups.setdefault(("ends " + column.name, c.name[: -len(value)]), []).append((c, value))
    for (kind, _), members in list(groups.items()):
        # all the other probabilities belong to them, where a class of that name never happened
        like = {c.name for c, _ in members}
        if kind.startswith("like") and set(search.all[kind[5:]].labels) == {k for _, k in members}:
            others = [c for c in pool if c.within and c.name not in (*like, kind[5:])]
            if others and not roles.sum_to_one(search.table.sample, [*like]):
                everyone = [*members, *((c, canonical(c.name)) for c in others)]
                if roles.sum_to_one(search.table.sample, [c.name for c, _ in everyone]):
                    members += everyone[len(members) :]
    for c in pool:
        for kind, regex in (("stem", STEMS), ("digits", DIGITS)):
            match = regex.match(c.name)
            if match:
                groups.setdefault((kind, match[1]), []).append((c, canonical(match[2])))
    found: dict[tuple[str, ...], ClassSet] = {}
    for (kind, stem), members in groups.items():
        if len(members) < 2 or len({k for _, k in members}) != len(members):
            continue
        columns = tuple(c.name for c, _ in members)
        own = scale or _scale_of(stem)
        if columns in found:
            continue
        sums = _sums(search.table.sample, members, own)
        outside = kind.startswith(("stem", "like")) and (any_values or search.reading.normalise)
        if scale == "percent" and _meant(members, labelled, True, search):
            sums = sums or "nearly 100"
        if not sums and not (loose and own == "probability" and _meant(members, labelled, outside, search)):
            continue
        if kind.startswith("like") and set(search.all[kind[5:]].labels) - {k for _, k in members}:
            continue
        named = "columns named like the classes" if kind.startswith("like") else f"columns {stem}<class>"
        why = f"{named} (rule 5)" + (f"; rows sum to {sums}" if sums else "")
        found[columns] = ClassSet(columns, tuple(k for _, k in members), stem, None, why, own)
    sets = list(found.values())
    return [s for s in sets if not any(set(s.columns) < set(o.columns) for o in sets)]


def given_sets(matched: list[tuple[str | None, str | None, str]], search: Pool) -> list[ClassSet]:
    """The sets that --proba means: one per model."""
    models: dict[str | None, list[tuple[str | None, str]]] = {}
    for model, klass, column in matched:
        models.setdefault(model, []).append((klass, column))
    sets = []
    for model, members in models.items():
        columns = tuple(c for _, c in members)
        classes = tuple(canonical(k) if k is not None else "" for k, _ in members)
        if not all(classes):
            classes = _named(columns, search)
        if len(set(classes)) != len(classes):
            raise search.table.error(
                f"{search.table.option('proba', search.reading.proba)} gives two columns the class "
                f"{next(c for c in classes if classes.count(c) > 1)}.",
                "let * stand for the class and {model} for the model",
            )
        stem = search.reading.scale or _scale_of(columns[0])
        sets.append(ClassSet(columns, classes, columns[0], model, "as given", stem))
    return sets


def _named(columns: tuple[str, ...], search: Pool) -> tuple[str, ...]:
    """Classes of listed columns: their names, or what is left without the common stem."""
    names = tuple(canonical(c) for c in columns)
    label = search.reading.label
    seen = [search.all[label]] if label in search.all else list(search.pool.values())
    if any(c.labels and set(c.labels) <= set(names) for c in seen):
        return names
    for regex in (STEMS, DIGITS):
        matches = [regex.match(c) for c in columns]
        if all(matches) and len({m[1] for m in matches if m}) == 1:
            return tuple(canonical(m[2]) for m in matches if m)
    return names


def _scale_of(stem: str) -> str:
    """A written logit or logprob in the stem says the scale."""
    word = roles.plain(stem)
    if word.startswith("logit"):
        return "logit"
    return "log" if re.match(r"log_?p", word) else "probability"


def _meant(members: list[tuple[Column, str]], labelled: list[Column], outside: bool, search: Pool) -> bool:
    """Numbers (within [0, 1]) for the very classes that one other column holds, or for some that never happened, too:
    with these the rows come nearer to one."""
    classes = {k for _, k in members}
    names = [c.name for c, _ in members]
    if not (outside or all(c.within for c, _ in members)):
        return False
    held = [set(c.labels) for c in labelled if c.name not in names and set(c.labels) <= classes]
    if classes in held:
        return True
    sample, total = search.table.sample, 100.0 if search.reading.scale == "percent" else 1.0
    off = roles.off_one(sample, names, total) if held else np.inf
    happened = [[c.name for c, k in members if k in labels] for labels in held]
    return off < NEARLY and any(off < roles.off_one(sample, few, total) for few in happened)


def _sums(sample: pl.DataFrame, members: list[tuple[Column, str]], scale: str) -> str:
    """What the rows sum to, in words; empty when they do not."""
    names = [c.name for c, _ in members]
    if scale == "logit":
        return "anything: logits"
    if scale == "log":
        logs = np.exp(sample.select(pl.col(names).cast(pl.Float64)).to_numpy())
        return "one" if np.mean(np.abs(np.nansum(logs, axis=1) - 1) < 1e-3) >= 0.99 else ""
    if any(c.low < 0 or c.high > 100 for c, _ in members):
        return ""
    if all(c.high <= 1 for c, _ in members) and scale == "probability":
        return "one" if roles.sum_to_one(sample, names) else ""
    return "100" if roles.share_of_sums(sample, names, 100.0) >= 0.99 else ""
