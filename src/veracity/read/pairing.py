"""Forecasts put together: parts of one model, and models on the same cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..data import Forecasts, merge
from ..data.places import ROW, coded


def concatenated(parts: list[Forecasts], files: Sequence[str] = ()) -> Forecasts:
    """Parts of one set as one. With several `files`, a row's number says which file it is of."""
    if len(parts) == 1 and len(files) < 2:
        return parts[0]
    first = parts[0]
    if any(part.classes != first.classes for part in parts):
        raise ValueError("parts of one set have different classes\n  read them apart")

    several = len(files) > 1
    numbers = [coded(p.numbers, files.index(p.names.file)) if several else p.numbers for p in parts]

    def joined(name: str) -> Any:
        held = [getattr(part, name) for part in parts]
        if all(values is None for values in held):
            return None
        if name == "weights":
            held = [np.ones(len(p)) if v is None else v for p, v in zip(parts, held, strict=True)]
        if name == "case":  # without ids the row is the case
            held = [own if _keys(p) is None else v for p, v, own in zip(parts, held, numbers, strict=True)]
        return np.concatenate(held)

    arrays = ("probabilities", "outcomes", "weights", "counts", "log_realised", "ideal", "features", "case", "offered")
    findings = [
        replace(f, rows=tuple(coded(row, files.index(p.names.file)) for row in f.rows)) if several else f
        for p in parts
        for f in p.findings
    ]
    return replace(
        first,
        **{name: joined(name) for name in arrays},
        rows=np.concatenate(numbers) if several or any(p.rows is not None for p in parts) else None,
        groups={g: np.concatenate([part.groups[g] for part in parts]) for g in first.groups},
        findings=merge(findings),
    )


def paired(models: dict[str, Forecasts]) -> tuple[dict[str, Forecasts], str]:
    """The cases that all models have, in one order, and a sentence that counts them.

    Cases meet by id, else by row. One case with two outcomes is refused, unless the outcome is whether a model's own
    pick was right.
    """
    names = list(models)
    same_classes({name: f.classes for name, f in models.items()})
    keys = {name: _keys(f) for name, f in models.items()}
    if all(key is None for key in keys.values()):
        return _by_row(models)
    if any(key is None for key in keys.values()):
        raise ValueError("some models have case ids and others not\n  name the id of every model:  --id COL")
    lists = {name: _unique(name, models[name], key) for name, key in keys.items()}
    common = set.intersection(*(set(places) for places in lists.values()))
    if not common:
        raise ValueError(f"no case is in all {len(models)} models\n  are the ids the same?  --id COL")
    order = [key for key in lists[names[0]] if key in common]
    _same_outcomes(models, lists, order)
    made = {}
    for name, forecasts in models.items():
        made[name] = _taken(forecasts, np.concatenate([lists[name][key] for key in order]))
    total = len(set.union(*(set(places) for places in lists.values())))
    return made, f"{len(order):,} of {total:,} cases are in all {len(models)} models"


def same_classes(classes: dict[str, tuple[Any, ...]]) -> None:
    """Refuse models on different classes, or in different orders."""
    (first, wanted), *others = classes.items()
    for name, found in others:
        if set(found) != set(wanted):
            raise ValueError(
                f"{first} and {name} have different classes: {_some(wanted)} and {_some(found)}\n"
                "  models are compared on the same classes"
            )
        if found != wanted:
            raise ValueError(
                f"{first} and {name} have their classes in different orders\n  give one order:  --order "
                + ",".join(map(str, wanted))
            )


def _some(values: Any) -> str:
    values = [str(v) for v in values]
    return ", ".join(values[:6]) + (f", … ({len(values)} in all)" if len(values) > 6 else "")


def _keys(f: Forecasts) -> Any:
    """The ids of the cases; None where the row is the case of its parts: split outcomes, tokens of one answer."""
    parts = f.outcomes is None or any(finding.code == "soft_outcomes" for finding in f.findings)
    if parts and f.case is not None and f.rows is not None:
        return None if np.array_equal(f.case, f.rows) else f.case
    return f.case


def _by_row(models: dict[str, Forecasts]) -> tuple[dict[str, Forecasts], str]:
    """Without ids: the same rows of one file, or files of the same length with the same outcomes."""
    numbers = {name: f.numbers for name, f in models.items()}
    files = {f.names.file for f in models.values()}
    first = next(iter(models))
    if len(files) > 1:
        for name, f in models.items():
            if len(f) != len(models[first]):
                raise ValueError(
                    f"{first} has {len(models[first]):,} rows, {name} {len(f):,}: they cannot be paired by row\n"
                    "  name the column that identifies a case:  --id COL"
                )
            if f.outcomes is None and not np.array_equal(numbers[first], numbers[name]):
                apart = int(np.argmax(numbers[first] != numbers[name]))
                row = min(int(numbers[first][apart]), int(numbers[name][apart])) & ROW
                raise _other_tokens(f"row {row}", first, name)
            mine, theirs = np.asarray(models[first].outcomes), np.asarray(f.outcomes)
            if not np.array_equal(mine, theirs) and not _own_picks(f):
                apart = int(np.argmax(mine != theirs))
                raise ValueError(
                    f"row {f.row(apart) & ROW}: {first} and {name} have different outcomes; "
                    "paired comparison needs one outcome per case\n"
                    "  name the column that identifies a case:  --id COL"
                )
        return models, f"{len(models[first]):,} cases, paired by row"
    common = set.intersection(*(set(n.tolist()) for n in numbers.values()))
    if not common:
        raise ValueError("no row is in all models\n  name the column that identifies a case:  --id COL")
    total = len(set.union(*(set(n.tolist()) for n in numbers.values())))
    kept = np.array(sorted(common))
    made = {name: _taken(f, np.flatnonzero(np.isin(numbers[name], kept))) for name, f in models.items()}
    said = (
        f"{len(kept):,} cases"
        if len(kept) == total
        else f"{len(kept):,} of {total:,} cases are in all {len(models)} models"
    )
    return made, f"{said}, paired by row"


def _own_picks(f: Forecasts) -> bool:
    return f.picks_only


def _unique(name: str, f: Forecasts, keys: Any) -> dict[Any, Any]:
    """The places of every case; a case stands once unless its outcome was split."""
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.asarray(keys[order][1:] != keys[order][:-1])])
    rows = f.rows if f.rows is not None else np.arange(len(f))
    places = {}
    for part in np.split(order, starts[1:]):
        if len(part) > 1 and len(set(rows[part].tolist())) > 1:
            one, other = (f.row(i) & ROW for i in part[:2])
            raise f.names.error(
                f"case {keys[part[0]]} stands more than once for {name} (rows {one} and {other}).",
                "name all columns that identify a case:  --id COL,COL",
            )
        places[keys[part[0]]] = part
    return {keys[i]: places[keys[i]] for i in sorted(p[0] for p in places.values())}


def _same_outcomes(models: dict[str, Forecasts], lists: dict[str, dict[Any, Any]], order: list[Any]) -> None:
    names = list(models)
    first = models[names[0]]
    for name in names[1:]:
        other = models[name]
        for key in order:
            a, b = first.outcomes, other.outcomes
            if a is None or b is None:
                if len(lists[names[0]][key]) != len(lists[name][key]):
                    raise _other_tokens(f"case {_brief(str(key))}", names[0], name)
                continue
            mine, theirs = a[lists[names[0]][key]], b[lists[name][key]]
            if not np.array_equal(mine, theirs) and not _own_picks(other):
                raise other.names.error(
                    f"case {_brief(str(key))} has outcome {first.classes[int(mine[0])]} for one model and "
                    f"{first.classes[int(theirs[0])]} for another; paired comparison needs one outcome per case."
                )


def _other_tokens(where: str, first: str, name: str) -> ValueError:
    return ValueError(
        f"{where}: {first} and {name} have different numbers of log-probabilities; a comparison needs the same tokens\n"
        "  compare models that cut the text alike, or the log-probabilities of whole answers"
    )


def _brief(key: str) -> str:
    parts = key.split(", ")
    return key if len(parts) <= 3 else ", ".join(parts[:3]) + ", …"


def _taken(f: Forecasts, index: Any) -> Forecasts:
    arrays = ("probabilities", "outcomes", "weights", "counts", "log_realised", "ideal", "features", "case", "offered")
    held: dict[str, Any] = {name: None if getattr(f, name) is None else getattr(f, name)[index] for name in arrays}
    rows = f.rows[index] if f.rows is not None else f.first_row + np.asarray(index)
    return replace(f, **held, rows=rows, groups={g: v[index] for g, v in f.groups.items()})
