"""A bar on standard error for work that takes more than two seconds, when someone is looking."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Any

PATIENCE = 2.0  # seconds before anything is shown


class Working:
    """Says what is being done, and with a total how far it is, how fast, and how long it will take."""

    def __init__(self, doing: str, total: int | None = None, *, quiet: bool = False) -> None:
        self._doing, self._total, self._done = doing, total, 0
        self._bar: Any = None
        self._task: Any = None
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        if not quiet and sys.stderr.isatty():
            self._timer = threading.Timer(PATIENCE, self._show)
            self._timer.daemon = True

    def __enter__(self) -> Working:
        if self._timer:
            self._timer.start()
        return self

    def now(self, doing: str) -> None:
        """The next step has begun."""
        with self._lock:
            self._doing = doing
            if self._bar:
                self._bar.update(self._task, description=doing)

    def advance(self, rows: int) -> None:
        with self._lock:
            self._done += rows
            if self._bar:
                self._bar.update(self._task, completed=self._done)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns: list[Any] = [TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()]
        if self._total:
            rate = TextColumn("{task.completed:,.0f} rows, {task.speed:,.0f} a second", justify="right")
            columns += [rate, TextColumn("left"), TimeRemainingColumn()]
        with self._lock:
            if self._timer is None:  # the work ended while this was being imported
                return
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._doing, total=self._total, completed=self._done)
            self._bar.start()

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        with self._lock:
            if self._timer:
                self._timer.cancel()
                self._timer = None
            if self._bar:
                self._bar.stop()
