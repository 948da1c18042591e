"""Several models on the same cases, read in parts: in columns of one set, by a column that names them, or in files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veracity.data import Forecasts
from veracity.engines import Input
from veracity.engines._cases import CountedCases, Keys, cases_of, keys_of_cases, keys_of_rows
from veracity.read.pairing import same_classes
from veracity.read.parts import Batch, Part, Stream
from veracity.state.plan import Plan
from veracity.state.sampling import take

if TYPE_CHECKING:
    from veracity.read import Match
    from veracity.results.assessment import Assessment

NAME_A_CASE = "  name the column that identifies a case:  --id COL"


def some(f: Forecasts, index: Any) -> Forecasts:
    return replace(take(f, index), rows=f.numbers[index], findings=f.findings)


@dataclass(frozen=True)
class Models:
    """The streams of several inputs as one. `case` becomes the key by which models meet."""

    streams: Mapping[str, Stream]  # by name of the input
    files: Mapping[str, tuple[str, int]]  # of each path: the input, and which of its files
    kept: Keys | None = None  # the cases that count, in order; None: all

    @property
    def models(self) -> dict[str, tuple[str, str]]:
        """{model: its input, its name there}."""
        found: dict[str, tuple[str, str]] = {}
        for name, stream in self.streams.items():
            own = stream.layout.named_models
            for model in own:
                shown = model if len(self.streams) == 1 else name if len(own) == 1 else f"{name} {model}"
                if shown in found:
                    raise ValueError(f"two models are called {shown}\n  give the files different names")
                found[shown] = name, model
        return found

    @property
    def by_id(self) -> bool:
        layouts = [stream.layout for stream in self.streams.values()]
        if any(layout.case for layout in layouts) and not all(layout.case for layout in layouts):
            raise ValueError("some models have case ids and others not\n  name the id of every model:  --id COL")
        if any(layout.model_column and not layout.case for layout in layouts):
            raise ValueError(f"no row is in all models\n{NAME_A_CASE}")
        return bool(layouts[0].case)

    def batches(self, part: Part, skip: int = 0) -> Iterator[Batch]:
        """Forecasts of a part, under the names by which the models are compared."""
        given, file = self.files[part.path]
        shown = {model: name for name, (one, model) in self.models.items() if one == given}
        by_id = self.by_id
        for batch in self.streams[given].batches(part, skip):
            made = [replace(f, model=shown[f.model or ""]) for f in batch.forecasts]
            made = [replace(f, case=_keys(f, file, by_id)) for f in made]
            told = [(shown[model], findings) for model, findings in batch.told]
            kept = self._of_kept_cases(made) if by_id else _of_common_rows(made, len(shown))
            told += [(f.model or "", f.findings) for f, left in zip(made, kept, strict=True) if left is None]
            yield replace(batch, forecasts=tuple(f for f in kept if f is not None), told=tuple(told))

    def _of_kept_cases(self, made: list[Forecasts]) -> list[Forecasts | None]:
        if self.kept is None:
            return [*made]
        found: list[Forecasts | None] = []
        for f in made:
            keys = np.asarray(f.case)
            place = np.minimum(np.searchsorted(self.kept, keys), len(self.kept) - 1)
            index = np.flatnonzero(self.kept[place] == keys)
            found.append(some(f, index) if len(index) else None)
        return found


def _keys(f: Forecasts, file: int, by_id: bool) -> Keys:
    return keys_of_cases(np.asarray(f.case)) if by_id else keys_of_rows(file, f.numbers)


def _of_common_rows(made: list[Forecasts], models: int) -> list[Forecasts | None]:
    """The rows that all models of one input have: columns may have gaps in different rows."""
    rows: dict[str | None, list[Any]] = {}
    for f in made:
        rows.setdefault(f.model, []).append(f.numbers)
    if len(rows) < models:
        return [None] * len(made)
    first, *others = (np.concatenate(parts) if len(parts) > 1 else parts[0] for parts in rows.values())
    if all(np.array_equal(first, other) for other in others):
        return [*made]
    for other in others:
        first = np.intersect1d(first, other)
    kept = (np.flatnonzero(np.isin(f.numbers, first)) for f in made)
    return [some(f, index) if len(index) else None for f, index in zip(made, kept, strict=True)]


class Comparison(Input):
    """Inputs by name, each holding a model or several, all on the same cases."""

    def _opened(self, data: Mapping[str, Any]) -> tuple[Models, list[Part]]:
        streams: dict[str, Stream] = {}
        files: dict[str, tuple[str, int]] = {}
        parts: list[Part] = []
        for name, paths in data.items():
            streams[name], found = super()._opened(paths)
            own = list(dict.fromkeys(part.path for part in found))
            twice = next((path for path in own if path in files), None)
            if twice is not None:
                raise ValueError(f"{twice} is given for two models\n  give every file once")
            files |= {path: (name, number) for number, path in enumerate(own)}
            parts += found
        return Models(streams, files), parts

    @property
    def layouts(self) -> dict[str, Match]:
        """How the columns of each input are understood."""
        return {name: stream.layout for name, stream in self._stream.streams.items()}

    @property
    def models(self) -> list[str]:
        """Their names."""
        return list(self._stream.models)

    @property
    def _files(self) -> tuple[str, ...]:
        several = (layout.files for layout in self.layouts.values() if len(layout.files) > 1)
        return tuple(dict.fromkeys(file for files in several for file in files))

    def _layout_of(self, model: str) -> Match:
        return self.layouts[self._stream.models[model][0]]

    def compare(
        self,
        plan: Plan | None = None,
        *,
        checkpoint: str | Path | None = None,
        provenance: Callable[[str], Mapping[str, Any]] = lambda said: {},
    ) -> tuple[dict[str, Assessment], str]:
        """The assessment of each model on the cases that all have, and a sentence that counts them.

        One pass; a second one where some models lack cases of others.
        """
        started = time.perf_counter()
        plan = plan or Plan()
        names, by_id = self.models, self._stream.by_id
        same_classes({name: self._layout_of(name).classes for name in names})
        make = partial(CountedCases, plan, self._files, by_id)
        counted: CountedCases = self.total(make, plan=plan, checkpoint=checkpoint)
        if by_id:
            counted, said = self._on_common_cases(counted, names, make)
        else:
            said = self._on_the_same_rows(counted, names)
        made = self._assessments(counted.tallies, provenance(said), started)
        return {name: made[name] for name in names if name in made}, said

    @property
    def _own_picks(self) -> bool:
        """Whether the outcome is that a model's own pick was right: then it differs from model to model."""
        return all(stream.layout.picks_only for stream in self._stream.streams.values())

    def _on_the_same_rows(self, counted: CountedCases, names: list[str]) -> str:
        first, (number, total) = names[0], counted.sums.get(names[0], (0, 0))
        for name in names[1:]:
            other = counted.sums.get(name, (0, 0))
            if other[0] != number:
                raise ValueError(
                    f"{first} has {number:,} rows, {name} {other[0]:,}: they cannot be paired by row\n{NAME_A_CASE}"
                )
            if other[1] != total and not self._own_picks:
                raise ValueError(f"{self._first_difference(first, name)}\n{NAME_A_CASE}")
        if not number:
            raise ValueError(f"no row is in all models\n{NAME_A_CASE}")
        return f"{number:,} cases, paired by row"

    def _on_common_cases(
        self, counted: CountedCases, names: list[str], make: Callable[[], CountedCases]
    ) -> tuple[CountedCases, str]:
        cases = {name: counted.cases(name) for name in names}
        for name, (keys, _) in cases.items():
            twice = np.flatnonzero(keys[1:] == keys[:-1])
            if len(twice):
                case, rows = self._places_of(name, keys[twice[0]])
                raise ValueError(
                    f"case {case} stands more than once for {name} ({' and '.join(rows)})\n"
                    "  name all columns that identify a case:  --id COL,COL"
                )
        common, every = cases[names[0]][0], cases[names[0]][0]
        for name in names[1:]:
            own = cases[name][0]
            if not np.array_equal(own, every) or len(common) != len(every):
                common, every = np.intersect1d(common, own, assume_unique=True), np.union1d(every, own)
        if not len(common):
            raise ValueError(f"no case is in all {len(names)} models\n  are the ids the same?  --id COL")
        outcomes = {name: out[np.searchsorted(keys, common)] for name, (keys, out) in cases.items()}
        for name in names[1:]:
            differ = np.flatnonzero(outcomes[name] != outcomes[names[0]])
            if len(differ) and not self._own_picks:
                case, _ = self._places_of(name, common[differ[0]])
                raise ValueError(
                    f"case {case} has one outcome for {names[0]} and another for {name}; "
                    "paired comparison needs one outcome per case"
                )
        if len(every) > len(common):
            del cases, outcomes
            self._stream = replace(self._stream, kept=common)
            counted = self.total(make, doing="counting common cases")
        return counted, f"{len(common):,} of {len(every):,} cases are in all {len(names)} models"

    def _read(self, model: str) -> Iterator[tuple[str, Forecasts, Forecasts]]:
        """File, forecasts with keys and forecasts with ids of one model, read here: for messages only."""
        given, own = self._stream.models[model]
        for part in self._parts:
            if self._stream.files[part.path][0] == given:
                plain = self._stream.streams[given].batches(part)
                for batch, as_given in zip(self._stream.batches(part), plain, strict=True):
                    keyed = [f for f in batch.forecasts if f.model == model]
                    for f, ids in zip(keyed, [g for g in as_given.forecasts if (g.model or "") == own], strict=False):
                        yield Path(part.path).name, f, ids

    def _places_of(self, model: str, key: np.uint64) -> tuple[str, list[str]]:
        """The id that has this key, and the first two places where it stands."""
        places: list[str] = []
        shown = ""
        for file, f, ids in self._read(model):
            keys, _, starts = cases_of(f)
            for i in starts[keys == key]:
                assert ids.case is not None
                shown = str(ids.case[i])
                places.append(f"{file} row {f.row(i)}")
            if len(places) > 1:
                break
        parts = shown.split(", ")
        return shown if len(parts) <= 3 else ", ".join(parts[:3]) + ", …", places[:2]

    def _first_difference(self, first: str, other: str) -> str:
        """In words, the first row at which two models do not agree on what happened."""

        def entries(model: str) -> Iterator[tuple[str, int, Any, Any]]:
            for file, f, _ in self._read(model):
                keys, outcomes, starts = cases_of(f)
                for i, key, outcome in zip(starts, keys.tolist(), outcomes.tolist(), strict=True):
                    yield file, f.row(i), key, outcome

        for (file, row, key, outcome), (theirs, _, other_key, happened) in zip(
            entries(first), entries(other), strict=False
        ):
            if key != other_key:
                return f"from row {row} of {file} on, {first} and {other} ({theirs}) do not hold the same rows"
            if outcome != happened:
                return (
                    f"row {row}: {first} and {other} have different outcomes; "
                    "paired comparison needs one outcome per case"
                )
        return f"{first} and {other} have different outcomes; paired comparison needs one outcome per case"
