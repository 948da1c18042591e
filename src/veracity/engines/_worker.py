"""What a worker of a cluster does with one part."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from veracity.data import Forecasts
from veracity.engines import local
from veracity.engines._mapped import Writing
from veracity.engines._sums import Job
from veracity.read import ReadOptions
from veracity.read.parts import PART_BYTES, Batch, Part, Stream, opened

FAN = 8  # states that one task adds


def opened_for_workers(
    data: Any, reading: ReadOptions, skip_broken: bool, options: Mapping[str, Any]
) -> tuple[Stream, list[Part]]:
    """Parts of files that any worker can open, whatever folder it runs in."""
    cut = options.get("part_bytes", PART_BYTES)
    stream, parts = opened(data, reading, cut=cut, skip_broken=skip_broken)
    return stream, [replace(part, path=os.path.abspath(part.path)) for part in parts]


def uncounted(stream: Stream) -> Stream:
    """A stream whose layout was seen in a sample, which says nothing of how many rows there are."""
    return replace(stream, layout=replace(stream.layout, rows=0, class_counts=()))


def together(job: Job | Writing, parts: Sequence[Any], threads: int) -> Sequence[Any]:
    """Small files as tuples, as many for each thread: a state costs as much as millions of rows."""
    if isinstance(job, Writing) or not all(isinstance(part, Part) for part in parts):
        return parts
    sizes = np.array([PART_BYTES if part.rows is not None else local.size_of(part) for part in parts], dtype=float)
    tasks = threads * max(1, math.ceil(sizes.sum() / (threads * PART_BYTES)))
    if len(parts) <= tasks:
        return parts
    middle = (np.cumsum(sizes) - sizes / 2) / max(sizes.sum(), 1.0)
    which = np.minimum((middle * tasks).astype(int), tasks - 1)
    found = [tuple(part for part, own in zip(parts, which, strict=True) if own == task) for task in range(tasks)]
    return [group if len(group) > 1 else group[0] for group in found if group]


def count(job: Job | Writing, part: Any, number: int) -> bytes:
    """The state of one part: files or rows of one, forecasts, or an iterator of frames."""
    if isinstance(job, Writing):
        return job.write(part, number)
    if isinstance(part, (Part, tuple)):
        return local.run(job, part if isinstance(part, tuple) else [part], {}).state()
    name = f"partition {number}"
    total = job.make()
    total.name(name)
    try:
        for batch in _batches(job, part, name):
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
