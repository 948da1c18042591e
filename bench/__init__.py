"""Benchmarks: each module's `run()` measures one part beside what others need for the same work.

A result is one ratio (with the module's `TARGET` and docstring) or a `table` of rows made by `row`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

REPEATS = 5

Work = Callable[[], object]


def race(*works: Work, repeats: int = REPEATS, clock: Callable[[], float] = time.process_time) -> list[float]:
    """Least seconds of each work, taken in turn so that all meet the same machine. CPU time counts all threads."""
    found: list[list[float]] = [[] for _ in works]
    for work in works:
        work()
    for _ in range(repeats):
        for work, seconds in zip(works, found, strict=True):
            start = clock()
            work()
            seconds.append(clock() - start)
    return [min(seconds) for seconds in found]


def row(work: str, measured: float | None, target: float | None, **more: Any) -> dict[str, Any]:
    """A line of the table: `measured` should stay at or below `target`; None only informs."""
    return {"work": work, "target": target, "measured": measured, **more}
