"""One machine: polars reads ahead while the kernel counts. Memory is bounded by a few batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from veracity import read
from veracity.engines._checkpoint import Checkpoint
from veracity.engines._sums import Job, Sum
from veracity.read import Part, ReadOptions, Source
from veracity.read.parts import Batch, Unreadable

OPTIONS = {"checkpoint_seconds": float}


@dataclass(frozen=True)
class Progress:
    """How far a run is. `share` of the whole input is None where it cannot be known."""

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


@dataclass(frozen=True)
class Piece:
    """A batch of a part, or the news that the part is over (`ended`) or broken (`problem`)."""

    part: int
    batch: Batch | None = None
    ended: bool = False
    problem: str = ""


def open(data: Any, reading: ReadOptions, how: Mapping[str, Any], options: Mapping[str, Any]) -> Source:
    """Return the source of files or of a frame."""
    return read.open(data, reading, **how)


def run(
    job: Job,
    parts: Sequence[Part],
    options: Mapping[str, Any],
    *,
    checkpoint: Checkpoint | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Sum:
    """Return the sum over all parts, in order."""
    total = job.make()
    first, skip, rows = checkpoint.resume(total) if checkpoint else (0, 0, 0)
    every = float(options.get("checkpoint_seconds", 30.0))
    started = written = time.monotonic()
    sizes = [part.size for part in parts]
    passed = sum(sizes[:first])
    # A broken part is left out whole, so its rows wait until it has been read to the end.
    open_part = job.make() if job.skip_broken else total
    for piece in _pieces(job, parts, first, skip):
        here = 0.0
        if piece.batch is not None:
            open_part.take(piece.batch)
            skip += piece.batch.rows
            rows += piece.batch.rows
            here = (piece.batch.share or 0.0) * sizes[piece.part]
        else:
            if piece.problem:
                rows -= skip
                total.skip(parts[piece.part].name, piece.problem)
            elif job.skip_broken:
                total.merge(open_part.state())
            if job.skip_broken:
                open_part = job.make()
            first, skip, passed = piece.part + 1, 0, passed + sizes[piece.part]
        if progress is not None:
            share = (passed + here) / sum(sizes) if sum(sizes) else None
            progress(Progress(rows, share, time.monotonic() - started))
        if checkpoint and time.monotonic() - written >= every and not (job.skip_broken and skip):
            checkpoint.write(total, first, skip, rows)
            written = time.monotonic()
    if checkpoint:
        checkpoint.remove()
    return total


def _pieces(job: Job, parts: Sequence[Part], first: int, skip: int) -> Iterator[Piece]:
    for number in range(first, len(parts)):
        try:
            for batch in job.source.batches(parts[number], skip):
                yield Piece(number, batch)
        except Unreadable as problem:
            if not job.skip_broken:
                raise
            yield Piece(number, problem=str(problem).splitlines()[0])
        else:
            yield Piece(number, ended=True)
        skip = 0
