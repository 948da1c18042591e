"""Forecasts put together: batches of one model, and models on the same cases.

Cases are known by 64-bit keys, so that models in different files, or on different machines, can be paired.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.inputs import Forecasts
from veracity.inputs.row_numbers import coded
from veracity.records.findings import merge
from veracity.types import Array

from . import column_meaning as meaning
from .files import is_parquet, parquet_rows
from .proposals import quoted

if TYPE_CHECKING:
    from veracity.records.layout import Layout

    from .parts import Batch, Part, Source

Keys = NDArray[np.uint64]
ABREAST = 1 << 20  # rows of a part, where models are in files with the same rows


def joined(parts: Sequence[Forecasts], files: Sequence[str] = ()) -> Forecasts:
    """Return parts of one set as one. With several `files`, a row's number tells its file."""
    if len(parts) == 1 and len(files) < 2:
        return parts[0]
    if any(part.classes != parts[0].classes for part in parts):
        raise ValueError("parts of one set have different classes\n  read them apart")
    numbered, split = bool(files) or any(part.rows is not None for part in parts), any(part.split for part in parts)
    pieces = []
    for part in parts:
        own = with_file(part, files)
        case = own.numbers if split or row_is_case(part) else part.case  # without ids the row is the case
        pieces.append(replace(own, rows=own.numbers if numbered else None, case=case, split=split))
    return replace(Forecasts.concat(pieces), findings=merge(finding for part in pieces for finding in part.findings))


def with_file(f: Forecasts, files: Sequence[str]) -> Forecasts:
    """Return forecasts of one of these files with row numbers that tell the file."""
    file = files.index(f.names.file) if f.names.file in files else 0
    if not file:  # numbers of the first file are what they are
        return f
    return replace(
        f,
        first_row=coded(f.first_row, file),
        rows=None if f.rows is None else coded(f.rows, file),
        findings=tuple(replace(g, rows=tuple(coded(row, file) for row in g.rows)) for g in f.findings),
    )


def row_is_case(f: Forecasts) -> bool:
    """Return whether there are no ids, but rows of which several are one case: tokens of an answer."""
    return f.outcomes is None and f.case is not None and f.rows is not None and np.array_equal(f.case, f.rows)


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
        _name_joined_cases(self.sources.values())
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
        if len(self.sources) > 1 and not any(source.layout.case for source in self.sources.values()):
            self._parts = abreast([source.parts() for source in self.sources.values()])

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_parts": []}

    def _models(self) -> dict[str, tuple[str, str]]:
        """Return {model: its source, its name there}."""
        models: dict[str, tuple[str, str]] = {}
        for name, source in self.sources.items():
            own = source.layout.named_models
            for model in own:
                shown = model if len(self.sources) == 1 else name if len(own) == 1 else f"{name} {model}"
                if shown in models:
                    raise ValueError(f"two models are called {shown}\n  give the files different names")
                models[shown] = name, model
        return models

    def parts(self) -> list[Part]:
        return self._parts

    def layout_of(self, model: str) -> Layout:
        return self.sources[self.models[model][0]].layout

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the files of sources that have several."""
        return tuple(dict.fromkeys(file for source in self.sources.values() for file in source.files))

    @property
    def name_a_case(self) -> str:
        """Return the remedy where cases cannot be paired: the option, with a column that may identify them."""
        unused = [[name for name, *_ in source.layout.unused] for source in self.sources.values()]
        ids = [n for n in unused[0] if meaning.is_id(n) and all(n in others for others in unused)]
        return f"  name the column that identifies a case:  --id {quoted(ids[0]) if ids else 'COL'}"

    @property
    def by_id(self) -> bool:
        layouts = [source.layout for source in self.sources.values()]
        if any(layout.case for layout in layouts) and not all(layout.case for layout in layouts):
            raise ValueError("some models have case ids and others not\n  name the id of every model:  --id COL")
        if any(layout.model_column and not layout.case for layout in layouts):
            raise ValueError(f"no row is in all models\n{self.name_a_case}")
        return bool(layouts[0].case)

    @property
    def own_picks(self) -> bool:
        """Whether the outcome is that a model's own pick was right: then it differs from model to model."""
        return all(source.layout.picks_only for source in self.sources.values())

    def same_classes(self) -> None:
        """Refuse models on different classes, or in different orders."""
        (first, wanted), *others = ((model, self.layout_of(model).classes) for model in self.models)
        for name, classes in others:
            if set(classes) != set(wanted):
                raise ValueError(
                    f"{first} and {name} have different classes: {_some(wanted)} and {_some(classes)}\n"
                    "  models are compared on the same classes"
                )
            if classes != wanted:
                raise ValueError(
                    f"{first} and {name} have their classes in different orders\n  give one order:  --order "
                    + ",".join(map(str, wanted))
                )

    def batches(self, part: Part, skip: int = 0) -> Iterator[Batch]:
        """Yield the forecasts of a part that count, with keys as cases."""
        for batch, with_ids in self._keyed(part, skip):
            keyed = [f for f, _ in with_ids]
            chosen, unpaired = (self._of_kept_cases(keyed), 0) if self.by_id else self._of_common_rows(keyed, part)
            shown = self._shown(part)
            emptied = [(shown[model], findings) for model, findings in batch.emptied]
            left = []
            for f, index in zip(keyed, chosen, strict=True):
                if index is None:
                    left.append(f)
                elif len(index):
                    left.append(replace(f.take(index), findings=f.findings))
                else:
                    emptied.append((f.model or "", f.findings))
            yield replace(batch, forecasts=tuple(left), emptied=tuple(emptied), unpaired=unpaired)

    def _shown(self, part: Part) -> dict[str, str]:
        given = self._files[part.path][0]
        return {model: name for name, (source, model) in self.models.items() if source == given}

    def _keyed(self, part: Part, skip: int = 0) -> Iterator[tuple[Batch, list[tuple[Forecasts, Array | None]]]]:
        """Yield batches with their forecasts, renamed and keyed, and their ids."""
        given, file = self._files[part.path]
        shown, by_id = self._shown(part), self.by_id
        for batch in self.sources[given].batches(part, skip):
            with_ids = []
            for f in batch.forecasts:
                keys = keys_of_ids(np.asarray(f.case)) if by_id else mixed(f.numbers.astype(np.int64) + (file << 40))
                with_ids.append((replace(f, model=shown[f.model or ""], case=keys), f.case))
            yield batch, with_ids

    def _of_kept_cases(self, forecasts: list[Forecasts]) -> list[Array | None]:
        """Return the rows whose cases count; None: all."""
        if self.kept is None:
            return [None] * len(forecasts)
        rows: list[Array | None] = []
        for keys in (np.asarray(f.case) for f in forecasts):
            place = np.minimum(np.searchsorted(self.kept, keys), len(self.kept) - 1)
            rows.append(np.flatnonzero(self.kept[place] == keys))
        return rows

    def _of_common_rows(self, forecasts: list[Forecasts], part: Part) -> tuple[list[Array | None], int]:
        """Return the rows that all models of one source have (None: all), and how many others there are."""
        rows: dict[str | None, list[Any]] = {}
        for f in forecasts:
            rows.setdefault(f.model, []).append(f.numbers)
        numbers = [np.concatenate(parts) for parts in rows.values()]
        if len(numbers) == len(self._shown(part)) and all(np.array_equal(numbers[0], own) for own in numbers):
            return [None] * len(forecasts), 0
        every = reduce(np.union1d, numbers, np.zeros(0, np.int64))
        common = reduce(np.intersect1d, numbers) if len(numbers) == len(self._shown(part)) else every[:0]
        return [np.flatnonzero(np.isin(f.numbers, common)) for f in forecasts], len(every) - len(common)

    # -- messages: what is refused is looked up by reading again ------------------------------------------------------

    def cases(self, model: str) -> Iterator[Found]:
        """Yield every case of a model with its place."""
        given = self.models[model][0]
        for part in self._parts:
            if self._files[part.path][0] == given:
                for _, with_ids in self._keyed(part):
                    for f, ids in with_ids:
                        if f.model == model:
                            yield from _found(f, ids, part.file)

    def twice(self, model: str, key: np.uint64) -> ValueError:
        """Return the refusal of a case that is given more than once."""
        first, second = (case for case, _ in zip(self._with_key(model, key), range(2), strict=False))
        return ValueError(
            f"case {first.shown} is given more than once for {model} "
            f"({first.file} row {first.row} and {second.file} row {second.row})\n"
            "  name all columns that identify a case:  --id COL,COL"
        )

    def two_outcomes(self, first: str, other: str, key: np.uint64) -> ValueError:
        """Return the refusal of a case whose outcome differs between models."""
        mine, theirs = next(self._with_key(first, key)), next(self._with_key(other, key))
        if mine.outcome is None:
            return _other_tokens(f"case {mine.shown}", first, other)
        ids = self.layout_of(first).case
        remedy = "name further columns that identify a case:  --id COL,COL"
        if len(ids) == 1:
            remedy = f"leave the case out:  --where {quoted(f'{ids[0]}!={mine.shown}')}"
        return ValueError(
            f"{theirs.file}: case {mine.shown} has outcome {mine.outcome} for one model and {theirs.outcome} for "
            f"another; paired comparison needs one outcome per case.\n  correct it, or {remedy}"
        )

    def first_difference(self, first: str, other: str) -> ValueError:
        """Return the refusal of models whose rows do not have the same outcomes, at the first such row."""
        for mine, theirs in zip(self.cases(first), self.cases(other), strict=False):
            if mine.key != theirs.key:
                return ValueError(
                    f"from row {mine.row} of {mine.file} on, {first} and {other} ({theirs.file}) do not hold the same "
                    f"rows\n{self.name_a_case}"
                )
            if mine.sign != theirs.sign and mine.outcome is None:
                return _other_tokens(f"row {mine.row}", first, other)
            if mine.sign != theirs.sign:
                return ValueError(
                    f"row {mine.row}: {first} and {other} have different outcomes; "
                    f"paired comparison needs one outcome per case\n{self.name_a_case}"
                )
        return ValueError(f"{first} and {other} have different outcomes\n{self.name_a_case}")

    def _with_key(self, model: str, key: np.uint64) -> Iterator[Found]:
        return (case for case in self.cases(model) if case.key == key)


def _name_joined_cases(sources: Iterable[Source]) -> None:
    """Pair models by the ids on which their outcomes were joined, where these are the same and no others are given."""
    on = {source.layout.joined_on for source in sources if not source.layout.case}
    if len(on) == 1 and len({bool(source.layout.case) for source in sources}) == 1:
        for source in sources:
            source.layout = replace(source.layout, case=source.layout.joined_on)


def abreast(sources: Sequence[Sequence[Part]], most: int = ABREAST) -> list[Part]:
    """Return the parts of sources with the same rows, cut at the same rows and alternating.

    So the rows of one model need not wait for those of another until its file ends. Files that cannot be entered in
    the middle, or differ in length, stay whole.
    """
    files = [list(dict.fromkeys(part.path for part in parts)) for parts in sources]
    plain = [part for parts in sources for part in parts]
    if len({len(own) for own in files}) > 1 or not all(is_parquet(Path(part.path)) for part in plain if part.path):
        return plain
    cut: list[Part] = []
    for together in zip(*files, strict=True):
        try:
            rows = {parquet_rows(Path(path)) for path in together}
        except (pl.exceptions.PolarsError, OSError):
            return plain  # reading it will raise the error
        if len(rows) > 1:
            return plain
        number = rows.pop()
        given = [part.rows for part in plain if part.path == together[0] and part.rows is not None]
        step, template = min([most, *given]), {part.path: part for part in plain}
        for first in range(0, max(number, 1), step):
            size = None if number <= step else min(step, number - first)
            cut += [replace(template[path], first=first, rows=size) for path in together]
    return cut


@dataclass(frozen=True)
class Found:
    """A case of a model, and where it is."""

    key: int
    sign: int  # equal where the outcomes are
    file: str
    row: int
    outcome: Any
    shown: str


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
