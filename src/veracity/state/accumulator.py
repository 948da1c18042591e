"""A sum over rows that are read in parts, and the progress of a pass over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veracity.read.parts import Batch


class Accumulator:
    """A sum over rows: taking rows in parts and merging gives the same as taking all."""

    def take(self, batch: Batch) -> None:
        """Add the rows of a batch."""
        raise NotImplementedError

    def merge(self, state: bytes) -> None:
        """Add the sum that has this state."""
        raise NotImplementedError

    def state(self) -> bytes:
        """Return the sum so far."""
        raise NotImplementedError

    def name(self, *parts: str) -> None:
        """Remember the names of counted parts, for messages about parts that do not fit."""

    def skip(self, part: str, reason: str) -> None:
        """Remember a part that could not be read."""


@dataclass(frozen=True)
class Progress:
    """The progress of a run. `share` of the whole input is None where it cannot be known."""

    rows: int
    share: float | None
    seconds: float
    parts: tuple[int, int] | None = None  # done and all, where rows are counted elsewhere

    @property
    def rate(self) -> float:
        """Rows a second."""
        return self.rows / self.seconds if self.seconds > 0.0 else 0.0

    @property
    def left(self) -> float | None:
        """Seconds to go at this rate."""
        return self.seconds * (1.0 - self.share) / self.share if self.share else None
