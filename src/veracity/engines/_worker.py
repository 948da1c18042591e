"""What a worker of a cluster does with one part."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from veracity.engines import local
from veracity.engines._mapped import Writing
from veracity.engines._sums import Job
from veracity.forecasts import Forecasts
from veracity.read import Reading
from veracity.read.parts import PART_BYTES, Batch, Part, Stream, opened

FAN = 8  # states that one task adds


def opened_for_workers(
    data: Any, reading: Reading, skip_broken: bool, options: Mapping[str, Any]
) -> tuple[Stream, list[Part]]:
    """Parts of files that any worker can open, whatever folder it runs in."""
    cut = options.get("part_bytes", PART_BYTES)
    stream, parts = opened(data, reading, cut=cut, skip_broken=skip_broken)
    return stream, [replace(part, path=os.path.abspath(part.path)) for part in parts]


def uncounted(stream: Stream) -> Stream:
    """A stream whose layout was seen in a sample, which says nothing of how many rows there are."""
    return replace(stream, layout=replace(stream.layout, rows=0, tally=()))


def count(job: Job | Writing, part: Any, number: int) -> bytes:
    """The state of one part: a file or rows of one, forecasts, or an iterator of frames."""
    if isinstance(job, Writing):
        return job.write(part, number)
    if isinstance(part, Part):
        return local.run(job, [part], {}).state()
    name = f"partition {number}"
    total = job.make()
    total.name(name)
    try:
        for batch in local.ahead(_batches(job, part, name)):
            local.take_all(total, batch)
    except ValueError as problem:
        raise ValueError(f"{name}: {problem}") from None
    return total.state()


def _batches(job: Job, part: Any, name: str) -> Iterator[Batch]:
    if isinstance(part, Forecasts):
        return iter([Batch((part,), len(part))])
    return job.stream.of_frames(part, name)


class Done:
    """Parts that are done, each counted once however often it was tried."""

    def __init__(self, parts: int, progress: Callable[[local.Progress], None] | None) -> None:
        self.parts, self._progress = parts, progress
        self._seen: set[int] = set()
        self._started = time.monotonic()

    def __call__(self, number: int) -> None:
        self._seen.add(number)
        self.at(len(self._seen))

    def at(self, done: int) -> None:
        if self._progress is not None:
            seconds = time.monotonic() - self._started
            self._progress(local.Progress(0, done / self.parts, seconds, (done, self.parts)))
