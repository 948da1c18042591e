"""Several models counted on the same cases: tallies, and sums of paired differences, from one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from veracity.engines import Engine
from veracity.engines._sums import Tallies
from veracity.estimate.comparison.paired import Scorer
from veracity.read.pairing import Paired, with_file
from veracity.read.parts import Batch
from veracity.results.compare import scorer_of
from veracity.state.pairs import Pairs
from veracity.state.plain_bytes import dumps, loads
from veracity.state.plan import Plan


class PairedTallies(Tallies):
    """A running tally for each model, and sums of their paired differences."""

    def __init__(self, plan: Plan, files: tuple[str, ...], cases: str, models: Sequence[str], scorer: Scorer) -> None:
        super().__init__(plan, files, cases)
        self.pairs = Pairs(models, scorer)

    def take(self, batch: Batch) -> None:
        super().take(batch)  # refuses values that are not probabilities
        self.pairs.take(replace(with_file(f, self._files), model=f.model) for f in batch.forecasts)

    def merge(self, state: bytes) -> None:
        tallies, pairs = loads(state)
        super().merge(tallies)
        self.pairs.add_bytes(pairs)

    def state(self) -> bytes:
        self.pairs.settle()
        return dumps([super().state(), self.pairs.to_bytes()])


def count_paired(engine: Engine, source: Paired, plan: Plan | None = None, **how: Any) -> tuple[PairedTallies, str]:
    """Return tallies and paired differences on the cases that all models have, and a sentence that counts these cases.

    One pass; a second one where some models lack cases of others.
    """
    plan = plan or Plan()
    source.same_classes()
    names = tuple(source.models)
    scorer = scorer_of(source.layout_of(names[0]).classes, plan)
    make = partial(PairedTallies, plan, source.files, "ids" if source.by_id else "rows", names, scorer)
    counted: PairedTallies = engine.total(source, make, plan=plan, **how)
    counted.pairs.settle()
    if not source.by_id:
        sentence = _same_rows(source, counted)
        counted.pairs.require_equal_weights()
        return counted, sentence
    common, cases = _common_cases(source, counted)
    if cases > len(common):
        source.kept = common
        counted = engine.total(source, make, doing="counting common cases")
        counted.pairs.settle()
    counted.pairs.require_equal_weights()
    return counted, f"{len(common):,} of {cases:,} cases are in all {len(source.models)} models"


def _same_rows(source: Paired, counted: Tallies) -> str:
    first, *others = source.models
    number, total = counted.cases.sums.get(first, (0, 0))
    for name in others:
        own, sum_of_keys = counted.cases.sums.get(name, (0, 0))
        if own != number:
            raise ValueError(
                f"{first} has {number:,} rows, {name} {own:,}: they cannot be paired by row\n{source.name_a_case}"
            )
        if sum_of_keys != total and not source.own_picks:
            raise source.first_difference(first, name)
    if not number:
        raise ValueError(f"no row is in all models\n{source.name_a_case}")
    lacking = counted.cases.unpaired
    of_all = f" of {number + lacking:,} cases are in all {len(source.models)} models" if lacking else " cases"
    return f"{number:,}{of_all}, paired by row"


def _common_cases(source: Paired, counted: Tallies) -> tuple[Any, int]:
    """Return the keys that all models have, and the number of all cases."""
    names = list(source.models)
    cases = {name: counted.cases.of(name) for name in names}
    for name, (keys, _) in cases.items():
        twice = np.flatnonzero(keys[1:] == keys[:-1])
        if len(twice):
            raise source.twice(name, keys[twice[0]])
    common = every = cases[names[0]][0]
    for name in names[1:]:
        own = cases[name][0]
        if not np.array_equal(own, every) or len(common) != len(every):
            common, every = np.intersect1d(common, own, assume_unique=True), np.union1d(every, own)
    if not len(common):
        raise ValueError(f"no case is in all {len(names)} models\n  are the ids the same?  --id COL")
    outcomes = {name: out[np.searchsorted(keys, common)] for name, (keys, out) in cases.items()}
    for name in names[1:]:
        differ = np.flatnonzero(outcomes[name] != outcomes[names[0]])
        if len(differ) and not source.own_picks:
            raise source.two_outcomes(names[0], name, common[differ[0]])
    return common, len(every)
