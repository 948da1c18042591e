"""A progress bar for work of more than two seconds: on standard error if that is a terminal, or in a notebook."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veracity.state.accumulator import Progress

PATIENCE = 2.0  # seconds before anything is shown


class ProgressBar:
    """Shows the current step and, where known, its share of the whole, its speed, and the time left."""

    def __init__(self, doing: str, *, quiet: bool = False) -> None:
        self._doing, self._rate, self._share = doing, "", 0.0
        self._began = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._started, self._displayed, self._cell = self._began, False, None if quiet else _cell()
        if not quiet and sys.stderr.isatty():
            self._timer = threading.Timer(PATIENCE, self._show)
            self._timer.daemon = True

    def __enter__(self) -> ProgressBar:
        if self._timer:
            self._timer.start()
        return self

    def begin(self, doing: str) -> None:
        """Begin the next step, of unknown length."""
        with self._lock:
            self._doing, self._rate, self._share = doing, "", 0.0
            self._began = time.monotonic()
            self._update()

    def update(self, rows: int, share: float | None, parts: tuple[int, int] | None = None) -> None:
        """Show that so many rows, or parts of all parts, are done, and this share of the whole."""
        with self._lock:
            speed = rows / max(time.monotonic() - self._began, 1e-9)
            self._rate = (
                f"{rows:,} rows, {speed:,.0f} a second" if parts is None else "{:,} of {:,} parts".format(*parts)
            )
            self._share = share or 0.0
            self._update()

    def watch(self, doing: str) -> Callable[[Progress], None] | None:
        """Begin a pass over the data; return the engine's callback for its progress."""
        self.begin(doing)
        shown = self._timer or self._cell
        return (lambda seen: self.update(seen.rows, seen.share, seen.parts)) if shown else None

    def _update(self) -> None:
        if self._bar:
            total = 1.0 if self._share else None  # without a share the bar only moves
            self._bar.update(self._task, description=self._doing, completed=self._share, total=total, rate=self._rate)
        elif self._cell and time.monotonic() - self._started >= PATIENCE:
            share = f" {self._share:.0%} " if self._share else " "
            put = self._cell.update if self._displayed else self._cell.display
            self._displayed = True
            put({"text/plain": f"{self._doing}{share}{self._rate}".rstrip()}, raw=True)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[rate]}"))
        times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
        console = Console(stderr=True)
        with self._lock:
            ended = self._timer is None  # while this was being imported
            if ended or self._bar or not console.is_interactive:
                return
            self._bar = Progress(*columns, *times, console=console, transient=True)
            self._task = self._bar.add_task(self._doing, total=None, rate="")
            self._update()
            self._bar.start()

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        with self._lock:
            if self._timer:
                self._timer.cancel()
                self._timer = None
            if self._bar:
                self._bar.stop()
            if self._cell and self._displayed:
                self._cell.update({"text/plain": ""}, raw=True)


def _cell() -> Any:
    """Return the place for an output of the cell that runs, None outside of a notebook."""
    if "ipykernel" not in sys.modules:
        return None
    from IPython import display

    handle: Any = display.DisplayHandle
    return handle()
