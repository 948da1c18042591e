"""What a worker of a cluster does with one part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from veracity.engines import local
from veracity.engines._mapped import Writing
from veracity.engines._sums import Job
from veracity.forecasts import Forecasts
from veracity.read.parts import Batch, Part

FAN = 8  # states that one task adds


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
