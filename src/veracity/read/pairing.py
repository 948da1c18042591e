"""Forecasts put together: batches of one model, and models on the same cases.

Cases are known by 64-bit keys, so that models in different files, or on different machines, can be paired.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..data import Forecasts, merge
from ..data.places import coded

if TYPE_CHECKING:
    from .match import Match
    from .parts import Batch, Part, Source

Array = NDArray[Any]
Keys = NDArray[np.uint64]
ARRAYS = ("probabilities", "outcomes", "weights", "counts", "log_realised", "ideal", "features", "case", "offered")
NAME_A_CASE = "  name the column that identifies a case:  --id COL"


def joined(parts: Sequence[Forecasts], files: Sequence[str] = ()) -> Forecasts:
    """Return parts of one set as one. With several `files`, a row's number tells its file."""
    if len(parts) == 1 and len(files) < 2:
        return parts[0]
    first = parts[0]
    if any(part.classes != first.classes for part in parts):
        raise ValueError("parts of one set have different classes\n  read them apart")
    places = [files.index(part.names.file) if files else 0 for part in parts]
    numbers = [coded(part.numbers, file) if files else part.numbers for part, file in zip(parts, places, strict=True)]

    def together(name: str) -> Any:
        held = [getattr(part, name) for part in parts]
        if all(values is None for values in held):
            return None
        if name == "weights":
            held = [np.ones(len(p)) if v is None else v for p, v in zip(parts, held, strict=True)]
        if name == "case":  # without ids the row is the case
            held = [own if row_is_case(p) else v for p, v, own in zip(parts, held, numbers, strict=True)]
        return np.concatenate(held)

    findings = [
        replace(f, rows=tuple(coded(row, file) for row in f.rows))
        for part, file in zip(parts, places, strict=True)
        for f in part.findings
    ]
    return replace(
        first,
        **{name: together(name) for name in ARRAYS},
        rows=np.concatenate(numbers) if files or any(p.rows is not None for p in parts) else None,
        groups={g: np.concatenate([part.groups[g] for part in parts]) for g in first.groups},
        findings=merge(findings),
    )


def row_is_case(f: Forecasts) -> bool:
    """Return whether there are no ids, but rows of which several are one case: split outcomes, tokens of an answer."""
    parts = f.outcomes is None or any(finding.code == "soft_outcomes" for finding in f.findings)
    return parts and f.case is not None and f.rows is not None and np.array_equal(f.case, f.rows)


def taken(f: Forecasts, index: Any) -> Forecasts:
    """Return the rows `index` with their numbers."""
    held: dict[str, Any] = {name: None if getattr(f, name) is None else getattr(f, name)[index] for name in ARRAYS}
    return replace(f, **held, rows=f.numbers[index], groups={g: v[index] for g, v in f.groups.items()})


# -- keys -----------------------------------------------------------------------------------------------------------


def mixed(values: Any) -> Keys:
    """Return splitmix64's finaliser of integers: every bit of the input moves every bit of the key."""
    z = np.array(values, dtype=np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z ^= z >> np.uint64(shift)
        z *= np.uint64(factor)
    return np.asarray(z ^ (z >> np.uint64(31)))


def keys_of_ids(case: Array) -> Keys:
    """Return the keys of ids; 5 and 5.0 are one id."""
    if case.dtype.kind in "iub":
        return mixed(case.astype(np.int64).view(np.uint64))
    if case.dtype.kind == "f":
        values = case.astype(np.float64)
        whole = (np.abs(values) < 2.0**63) & (values == np.floor(values))
        integers = np.where(whole, values, 0.0).astype(np.int64)
        return mixed(np.where(whole, integers, values.view(np.int64)).view(np.uint64))
    return mixed(pl.Series(case.astype(object), dtype=pl.String).hash().to_numpy())


def cases_of(f: Forecasts) -> tuple[Keys, Keys, Array]:
    """Return key, outcome and first row of each case in forecasts whose `case` is the key.

    The rows of a split outcome adjoin, and so do the tokens of an answer, whose number serves as its outcome.
    """
    keys = f.case
    assert keys is not None
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]]) if len(keys) else np.zeros(0, np.int64)
    codes = np.zeros(len(keys), np.int64) if f.outcomes is None else f.outcomes.astype(np.int64)
    signs = mixed(codes + 1)
    return keys[starts], np.add.reduceat(signs, starts) if len(starts) else signs, starts


# -- models on the same cases ---------------------------------------------------------------------------------------


class Paired:
    """Several sources as one, under the names by which their models are compared; `case` becomes the key of a case."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self.sources = dict(sources)
        self.options = next(iter(self.sources.values())).options
        self.kept: Keys | None = None  # the cases that count, in order; None: all
        self._parts: list[Part] = []
        self._files: dict[str, tuple[str, int]] = {}  # of each path: the source, and which of its files
        for name, source in self.sources.items():
            own = list(dict.fromkeys(part.path for part in source.parts()))
            twice = next((path for path in own if path in self._files), None)
            if twice is not None:
                raise ValueError(f"{twice} is given for two models\n  give every file once")
            self._files |= {path: (name, number) for number, path in enumerate(own)}
            self._parts += source.parts()
        self.models = self._models()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_parts": []}

    def _models(self) -> dict[str, tuple[str, str]]:
        """Return {model: its source, its name there}."""
        found: dict[str, tuple[str, str]] = {}
        for name, source in self.sources.items():
            own = source.layout.named_models
            for model in own:
                shown = model if len(self.sources) == 1 else name if len(own) == 1 else f"{name} {model}"
                if shown in found:
                    raise ValueError(f"two models are called {shown}\n  give the files different names")
                found[shown] = name, model
        return found

    def parts(self) -> list[Part]:
        return self._parts

    def layout_of(self, model: str) -> Match:
        return self.sources[self.models[model][0]].layout

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the files of sources that have several."""
        return tuple(dict.fromkeys(file for source in self.sources.values() for file in source.files))

    @property
    def by_id(self) -> bool:
        layouts = [source.layout for source in self.sources.values()]
        if any(layout.case for layout in layouts) and not all(layout.case for layout in layouts):
            raise ValueError("some models have case ids and others not\n  name the id of every model:  --id COL")
        if any(layout.model_column and not layout.case for layout in layouts):
            raise ValueError(f"no row is in all models\n{NAME_A_CASE}")
        return bool(layouts[0].case)

    @property
    def own_picks(self) -> bool:
        """Whether the outcome is that a model's own pick was right: then it differs from model to model."""
        return all(source.layout.picks_only for source in self.sources.values())

    def same_classes(self) -> None:
        """Refuse models on different classes, or in different orders."""
        (first, wanted), *others = ((model, self.layout_of(model).classes) for model in self.models)
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

    def batches(self, part: Part, skip: int = 0) -> Iterator[Batch]:
        """Yield the forecasts of a part that count, with keys as cases."""
        for batch, made in self._keyed(part, skip):
            keep = self._of_kept_cases if self.by_id else self._of_common_rows
            kept, unpaired = keep([f for f, _ in made], part)
            shown = self._shown(part)
            told = [(shown[model], findings) for model, findings in batch.told]
            told += [(f.model or "", f.findings) for (f, _), left in zip(made, kept, strict=True) if left is None]
            left = tuple(f for f in kept if f is not None)
            yield replace(batch, forecasts=left, told=tuple(told), unpaired=unpaired)

    def _shown(self, part: Part) -> dict[str, str]:
        given = self._files[part.path][0]
        return {model: name for name, (source, model) in self.models.items() if source == given}

    def _keyed(self, part: Part, skip: int = 0) -> Iterator[tuple[Batch, list[tuple[Forecasts, Array | None]]]]:
        """Yield batches with their forecasts, renamed and keyed, and their ids."""
        given, file = self._files[part.path]
        shown, by_id = self._shown(part), self.by_id
        for batch in self.sources[given].batches(part, skip):
            made = []
            for f in batch.forecasts:
                keys = keys_of_ids(np.asarray(f.case)) if by_id else mixed(f.numbers.astype(np.int64) + (file << 40))
                made.append((replace(f, model=shown[f.model or ""], case=keys), f.case))
            yield batch, made

    def _of_kept_cases(self, made: list[Forecasts], part: Part) -> tuple[list[Forecasts | None], int]:
        if self.kept is None:
            return [*made], 0
        found: list[Forecasts | None] = []
        for f in made:
            keys = np.asarray(f.case)
            place = np.minimum(np.searchsorted(self.kept, keys), len(self.kept) - 1)
            index = np.flatnonzero(self.kept[place] == keys)
            found.append(taken(f, index) if len(index) else None)
        return found, 0

    def _of_common_rows(self, made: list[Forecasts], part: Part) -> tuple[list[Forecasts | None], int]:
        """Return the rows that all models of one source have, and how many others there are: columns may have gaps."""
        rows: dict[str | None, list[Any]] = {}
        for f in made:
            rows.setdefault(f.model, []).append(f.numbers)
        numbers = [np.concatenate(held) if len(held) > 1 else held[0] for held in rows.values()]
        if not numbers:
            return [], 0
        common = every = numbers[0]
        if len(numbers) < len(self._shown(part)):
            return [None] * len(made), len(np.unique(np.concatenate(numbers)))
        if all(np.array_equal(common, other) for other in numbers[1:]):
            return [*made], 0
        for other in numbers[1:]:
            common, every = np.intersect1d(common, other), np.union1d(every, other)
        places = (np.flatnonzero(np.isin(f.numbers, common)) for f in made)
        kept = [taken(f, index) if len(index) else None for f, index in zip(made, places, strict=True)]
        return kept, len(every) - len(common)

    # -- messages: what is refused is looked up by reading again ------------------------------------------------------

    def cases(self, model: str) -> Iterator[Found]:
        """Yield every case of a model with its place."""
        given = self.models[model][0]
        for part in self._parts:
            if self._files[part.path][0] == given:
                for _, made in self._keyed(part):
                    for f, ids in made:
                        if f.model == model:
                            yield from _found(f, ids, part.file)

    def twice(self, model: str, key: np.uint64) -> ValueError:
        """Return the refusal of a case that is given more than once."""
        first, second = (found for found, _ in zip(self._with_key(model, key), range(2), strict=False))
        return ValueError(
            f"case {first.shown} is given more than once for {model} ({first.place} and {second.place})\n"
            "  name all columns that identify a case:  --id COL,COL"
        )

    def two_outcomes(self, first: str, other: str, key: np.uint64) -> ValueError:
        """Return the refusal of a case whose outcome differs between models."""
        mine, theirs = next(self._with_key(first, key)), next(self._with_key(other, key))
        if mine.outcome is None:
            return _other_tokens(f"case {mine.shown}", first, other)
        return ValueError(
            f"{theirs.file}: case {mine.shown} has outcome {mine.outcome} for one model and {theirs.outcome} for "
            "another; paired comparison needs one outcome per case."
        )

    def first_difference(self, first: str, other: str) -> ValueError:
        """Return the refusal of models whose rows do not have the same outcomes, at the first such row."""
        for mine, theirs in zip(self.cases(first), self.cases(other), strict=False):
            if mine.key != theirs.key:
                return ValueError(
                    f"from row {mine.row} of {mine.file} on, {first} and {other} ({theirs.file}) do not hold the same "
                    f"rows\n{NAME_A_CASE}"
                )
            if mine.sign != theirs.sign and mine.outcome is None:
                return _other_tokens(f"row {mine.row}", first, other)
            if mine.sign != theirs.sign:
                return ValueError(
                    f"row {mine.row}: {first} and {other} have different outcomes; "
                    f"paired comparison needs one outcome per case\n{NAME_A_CASE}"
                )
        return ValueError(f"{first} and {other} have different outcomes\n{NAME_A_CASE}")

    def _with_key(self, model: str, key: np.uint64) -> Iterator[Found]:
        return (found for found in self.cases(model) if found.key == key)


@dataclass(frozen=True)
class Found:
    """A case of a model, and where it is."""

    key: int
    sign: int  # equal where the outcomes are
    file: str
    row: int
    outcome: Any
    shown: str

    @property
    def place(self) -> str:
        return f"{self.file} row {self.row}"


def _found(f: Forecasts, ids: Array | None, file: str) -> Iterator[Found]:
    keys, signs, starts = cases_of(f)
    for key, sign, i in zip(keys.tolist(), signs.tolist(), starts.tolist(), strict=True):
        outcome = None if f.outcomes is None else f.classes[int(f.outcomes[i])]
        shown = "" if ids is None else str(ids[i])
        if shown.count(", ") > 2:
            shown = ", ".join(shown.split(", ")[:3]) + ", …"
        yield Found(key, sign, file, f.row(i), outcome, shown)


def _some(values: Any) -> str:
    values = [str(v) for v in values]
    return ", ".join(values[:6]) + (f", … ({len(values)} in all)" if len(values) > 6 else "")


def _other_tokens(where: str, first: str, name: str) -> ValueError:
    return ValueError(
        f"{where}: {first} and {name} have different numbers of log-probabilities; a comparison needs the same tokens\n"
        "  compare models that cut the text alike, or the log-probabilities of whole answers"
    )
