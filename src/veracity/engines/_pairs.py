"""Tallies of several models and sums of their paired differences, from one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from veracity.engines._sums import Tallies, packed_with, unpacked_with
from veracity.estimate.paired import Scorer
from veracity.read.pairing import with_file
from veracity.read.parts import Batch
from veracity.state.pairs import Pairs
from veracity.state.plan import Plan


@dataclass(frozen=True)
class Beginning:
    """What a worker needs to begin: it travels to the workers."""

    plan: Plan
    files: tuple[str, ...]
    cases: str
    models: tuple[str, ...]
    scorer: Scorer

    def __call__(self) -> PairedTallies:
        return PairedTallies(self.plan, self.files, self.cases, self.models, self.scorer)


class PairedTallies(Tallies):
    """A running tally for each model, and sums of their paired differences."""

    def __init__(self, plan: Plan, files: tuple[str, ...], cases: str, models: Sequence[str], scorer: Scorer) -> None:
        super().__init__(plan, files, cases)
        self.pairs = Pairs(models, scorer)

    def take(self, batch: Batch) -> None:
        super().take(batch)  # refuses values that are not probabilities
        self.pairs.take(replace(with_file(f, self._files), model=f.model) for f in batch.forecasts)

    def merge(self, state: bytes) -> None:
        tallies, pairs = unpacked_with(state)
        super().merge(tallies)
        self.pairs.add_bytes(pairs)

    def state(self) -> bytes:
        self.pairs.settle()
        return packed_with(super().state(), self.pairs.to_bytes())
