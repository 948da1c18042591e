"""One machine: polars reads ahead while the kernel counts. Memory is bounded by a few batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from veracity import read
from veracity.engines._checkpoint import Checkpoint
from veracity.engines._sums import Job
from veracity.inputs.names import first_line
from veracity.read import Part, ReadOptions, Source
from veracity.read.parts import Unreadable
from veracity.state.accumulator import Accumulator, Progress

OPTIONS = {"checkpoint_seconds": float}


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
) -> Accumulator:
    """Return the sum over all parts, in order."""
    total = job.make()
    first, skip, rows = checkpoint.resume(total) if checkpoint else (0, 0, 0)
    every = float(options.get("checkpoint_seconds", 30.0))
    started = written = time.monotonic()
    before = list(accumulate((part.size for part in parts), initial=0))  # bytes of the parts before each

    def done(part: int, skip: int, share: float) -> None:
        """Report the progress, and save it if it is time: rows and share of a part."""
        nonlocal written
        if progress is not None:
            so_far = before[part] + share * (before[min(part + 1, len(parts))] - before[part])
            progress(Progress(rows, so_far / before[-1] if before[-1] else None, time.monotonic() - started))
        if checkpoint and time.monotonic() - written >= every and not (job.skip_broken and skip):
            checkpoint.write(total, part, skip, rows)
            written = time.monotonic()

    for number, part in enumerate(parts[first:], first):
        # A broken part is left out whole, so its rows wait until it has been read to the end.
        taken = job.make() if job.skip_broken else total
        try:
            for batch in job.source.batches(part, skip):
                taken.take(batch)
                skip, rows = skip + batch.rows, rows + batch.rows
                done(number, skip, batch.share or 0.0)
        except Unreadable as problem:
            if not job.skip_broken:
                raise
            rows -= skip
            total.skip(part.name, first_line(problem))
        else:
            if job.skip_broken:
                total.merge(taken.state())
        skip = 0
        done(number + 1, 0, 0.0)
    if checkpoint:
        checkpoint.remove()
    return total
