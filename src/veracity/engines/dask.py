"""Dask: each part is a task, states are added in a tree of tasks. A task whose worker is lost runs again elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from typing import Any
from uuid import uuid4

from dask.delayed import Delayed, delayed
from distributed import Client, KilledWorker, default_client

from veracity.engines._sums import Job, Sum
from veracity.engines._worker import FAN, count, opened_for_workers
from veracity.forecasts import Forecasts
from veracity.read import Layout, Reading
from veracity.read.parts import Part, Stream, of_sample

OPTIONS = {"scheduler": str, "timeout": float, "part_bytes": int}


def parts_of(data: Any, reading: Reading, skip_broken: bool, options: Mapping[str, Any]) -> tuple[Stream, list[Any]]:
    """Of paths, of a dask dataframe, or of (delayed) Forecasts."""
    if hasattr(data, "to_delayed") and hasattr(data, "npartitions"):
        head = data.head(20_000, npartitions=-1, compute=True)
        return of_sample(head, reading, "the dask dataframe"), list(data.to_delayed())
    if isinstance(data, (list, tuple)) and data and all(isinstance(d, (Delayed, Forecasts)) for d in data):
        return Stream(Layout("forecasts", ()), reading, (), "the first part"), list(data)
    return opened_for_workers(data, reading, skip_broken, options)


def run(job: Job, parts: Sequence[Any], options: Mapping[str, Any], **_: Any) -> Sum:
    """The sum over all parts, on the client there is, or on this machine's threads."""
    kept = delayed(job, traverse=False, pure=True)
    run_name = uuid4().hex[:8]  # a key belongs to one run: the files may have changed since another
    names = (part.name if isinstance(part, Part) else f"partition {i}" for i, part in enumerate(parts))
    keys = (f"{name}, task {i} of {run_name}" for i, name in enumerate(names))
    states = [
        delayed(_count)(kept, part, i, dask_key_name=key) for i, (part, key) in enumerate(zip(parts, keys, strict=True))
    ]
    while len(states) > 1:
        states = [delayed(_merged)(kept, states[i : i + FAN]) for i in range(0, len(states), FAN)]
    total = job.make()
    total.merge(_computed(states[0], options))
    return total


def _count(job: Job, part: Any, number: int) -> bytes:
    return count(job, part if isinstance(part, (Part, Forecasts)) else [part], number)


def _merged(job: Job, states: Sequence[bytes]) -> bytes:
    return job.merged(states)


def _computed(task: Delayed, options: Mapping[str, Any]) -> bytes:
    """With the scheduler that was named, else with the client that is open, else on threads."""
    address, timeout = options.get("scheduler"), options.get("timeout", 30.0)
    client: Any = None
    missing = "connection"
    try:
        client = Client(address, timeout=timeout) if address else _open_client()  # type: ignore[no-untyped-call]
        if client is None:
            return bytes(task.compute(scheduler="threads"))  # type: ignore[no-untyped-call]
        missing = "workers"
        client.wait_for_workers(1, timeout=timeout)
        missing = "connection any more"
        return bytes(client.compute(task, sync=True))
    except KilledWorker as lost:
        raise ValueError(
            f"dask: {lost.task} was tried on several workers and each of them died\n"
            "  look at their memory; smaller files need less"
        ) from None
    except (OSError, TimeoutError, CancelledError) as lost:
        where = address or client.scheduler.address
        raise ValueError(
            f"dask: no {missing} at {where} ({type(lost).__name__})\n"
            "  start scheduler and workers, or name another with scheduler=ADDRESS"
        ) from None
    finally:
        if client is not None and address:
            client.close()


def _open_client() -> Any:
    try:
        return default_client()  # type: ignore[no-untyped-call]
    except ValueError:  # none is open
        return None
