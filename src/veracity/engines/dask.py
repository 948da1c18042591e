"""Dask: each part is a task, states are added in a tree of tasks. A task whose worker is lost runs again elsewhere."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import uuid4

from dask.callbacks import Callback
from dask.delayed import Delayed, delayed
from distributed import Client, KilledWorker, default_client, get_worker

from veracity.engines._sums import Job, merged
from veracity.engines._worker import FAN, PartsDone, count, grouped, open_for_workers
from veracity.inputs import Forecasts
from veracity.read import Layout, Part, ReadOptions, Source
from veracity.read.parts import source_of_frame
from veracity.state.accumulator import Accumulator, Progress

OPTIONS = {"scheduler": str, "timeout": float, "part_bytes": int}
SAMPLE = 20_000  # rows of a frame in which the layout is recognised
LOOK = 1.0  # seconds between looks at whether there are workers


class NoWorkers(Exception):
    """No worker is left."""


def open(data: Any, reading: ReadOptions, how: Mapping[str, Any], options: Mapping[str, Any]) -> Source:
    """Return the source of paths, of a dask dataframe, or of (delayed) Forecasts."""
    if hasattr(data, "to_delayed") and hasattr(data, "npartitions"):
        head = data.head(SAMPLE, npartitions=-1, compute=True)
        return source_of_frame(head, reading, "dask dataframe", list(data.to_delayed()))
    if isinstance(data, (list, tuple)) and data and all(isinstance(d, (Delayed, Forecasts)) for d in data):
        return Source(Layout(()), reading, list(data))
    return open_for_workers(data, reading, how, options)


def run(
    job: Job,
    parts: Sequence[Any],
    options: Mapping[str, Any],
    *,
    progress: Callable[[Progress], None] | None = None,
    **_: Any,
) -> Accumulator:
    """Return the sum over all parts, counted by the open client or on this machine's threads."""
    total = job.make()
    total.merge(_computed(Tasks(job, parts, progress), options))
    return total


class Tasks:
    """The tasks of one run."""

    def __init__(self, job: Job, parts: Sequence[Any], progress: Callable[[Progress], None] | None) -> None:
        self.job, self.parts, self._progress = job, parts, progress
        self.run = uuid4().hex[:8]  # a key belongs to one run: the files may have changed since another
        self.topic = f"veracity {self.run}" if progress is not None else ""

    def sum(self, threads: int) -> Delayed:
        """Return the task of the sum, for so many threads of all workers."""
        self.parts = grouped(self.job, self.parts, threads)
        self.done = PartsDone(len(self.parts), self._progress)
        self.keys = [f"{_name(part, i)}, task {i} of {self.run}" for i, part in enumerate(self.parts)]
        # The job is part of each task: as a separate task it would draw all others to its worker.
        counted, added = delayed(partial(_count, self.job)), delayed(partial(merged, self.job.make))
        states: list[Delayed] = [
            counted(part, i, self.topic, dask_key_name=key)
            for i, (part, key) in enumerate(zip(self.parts, self.keys, strict=True))
        ]
        while len(states) > 1:
            states = [added(states[i : i + FAN]) for i in range(0, len(states), FAN)]
        return states[0]


def _name(part: Any, number: int) -> str:
    if isinstance(part, tuple):
        return f"{part[0].name} to {part[-1].name}"
    return part.name if isinstance(part, Part) else f"partition {number}"


def _count(job: Job, part: Any, number: int, topic: str) -> bytes:
    state = count(job, part if isinstance(part, (Part, tuple, Forecasts)) else [part], number)
    if topic:
        with suppress(ValueError):  # a thread of this process, which is no worker
            get_worker().log_event(topic, number)
    return state


def _computed(tasks: Tasks, options: Mapping[str, Any]) -> bytes:
    """Return the sum from the named scheduler, else from the open client, else from threads."""
    address, timeout = options.get("scheduler"), options.get("timeout", 30.0)
    client: Any = None
    missing = "connection"
    try:
        client = Client(address, timeout=timeout) if address else _open_client()  # type: ignore[no-untyped-call]
        if client is None:
            return _on_threads(tasks)
        missing = "workers"
        client.wait_for_workers(1, timeout=timeout)
        missing = ""
        task = tasks.sum(sum(client.nthreads().values()))
        if tasks.topic:
            client.subscribe_topic(tasks.topic, lambda event: tasks.done(event[1]))
        return _result(client, task, timeout)
    except KilledWorker as lost:
        raise ValueError(
            f"dask: {lost.task} was tried on {lost.allowed_failures + 1} workers and each died\n"
            "  look at their memory and their logs; smaller files or part_bytes need less"
        ) from None
    except NoWorkers:
        raise ValueError(
            f"dask: all workers at {_where(client, address)} are gone, and none came back within {timeout:g} s\n"
            "  start workers and run this again: nothing of this run is kept"
        ) from None
    except (OSError, TimeoutError, CancelledError) as lost:
        where = f"{_where(client, address)} ({type(lost).__name__})"
        if not missing:
            raise ValueError(
                f"dask: the connection to the scheduler was lost in mid-run: {where}\n"
                "  start it and its workers and run this again: nothing of this run is kept"
            ) from None
        raise ValueError(
            f"dask: no {missing} at {where}\n  start scheduler and workers, or name another with scheduler=ADDRESS"
        ) from None
    finally:
        if client is not None and tasks.topic:
            with suppress(Exception):  # the scheduler may be gone
                client.unsubscribe_topic(tasks.topic)
        if client is not None and address:
            client.close()


def _result(client: Any, task: Delayed, timeout: float) -> bytes:
    """Return the result; raise `NoWorkers` without workers, where the scheduler would wait for ever."""
    over = threading.Event()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph")  # the job is in it once, and every worker needs it
        future = client.compute(task)
    future.add_done_callback(lambda _: over.set())
    without = 0.0
    while not over.wait(LOOK):
        without = 0.0 if client.nthreads() else without + LOOK
        if without >= timeout:
            future.cancel()
            raise NoWorkers
    return bytes(future.result())


def _on_threads(tasks: Tasks) -> bytes:
    task = tasks.sum(os.cpu_count() or 1)
    place = {key: i for i, key in enumerate(tasks.keys)}

    def after(key: Any, *_: Any) -> None:
        if key in place:
            tasks.done(place[key])

    with Callback(posttask=after):  # type: ignore[no-untyped-call]
        return bytes(task.compute(scheduler="threads"))  # type: ignore[no-untyped-call]


def _where(client: Any, address: str | None) -> str:
    return address or str(client.scheduler.address)


def _open_client() -> Any:
    try:
        return default_client()  # type: ignore[no-untyped-call]
    except ValueError:  # none is open
        return None
