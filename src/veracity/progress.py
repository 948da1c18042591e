"""Progress of work of more than two seconds: on standard error if that is a terminal, or below the cell of a notebook.

`working` is a step of the work that is shown already, or begins to be shown; `tracked` also says how many of some parts
are done. Threads, processes of a pool and standard errors that are files show nothing.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from veracity.state.accumulator import Progress

T = TypeVar("T")

PATIENCE = 2.0  # seconds before anything is shown
LULL = 0.2  # seconds between changes below a cell


class ProgressBar:
    """Shows the current step and, where known, its share of the whole, its speed, and the time left."""

    def __init__(self, doing: str, *, quiet: bool = False) -> None:
        self.doing, self._rate, self._share = doing, "", 0.0
        self._began = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        quiet = quiet or not _is_watched()
        self._next, self._displayed, self._cell = self._began + PATIENCE, False, None if quiet else _cell()
        if not quiet and getattr(sys.stderr, "isatty", bool)():
            self._timer = threading.Timer(PATIENCE, self._show)
            self._timer.daemon = True

    def __enter__(self) -> ProgressBar:
        self._outer = _present.get()
        _present.set(self)
        if self._timer:
            self._timer.start()
        return self

    def begin(self, doing: str) -> None:
        """Begin the next step, of unknown length."""
        with self._lock:
            self.doing, self._rate, self._share = doing, "", 0.0
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
            self._bar.update(self._task, description=self.doing, completed=self._share, total=total, rate=self._rate)
        elif self._cell and (now := time.monotonic()) >= self._next:
            share = f" {self._share:.0%} " if self._share else " "
            put = self._cell.update if self._displayed else self._cell.display
            self._displayed, self._next = True, now + min(LULL, PATIENCE)
            put({"text/plain": f"{self.doing}{share}{self._rate}".rstrip()}, raw=True)

    def _show(self) -> None:
        try:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        except ImportError:  # of the extra [cli]
            return
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[rate]}"))
        times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
        console = Console(stderr=True)
        with self._lock:
            ended = self._timer is None  # while this was being imported
            if ended or self._bar or not console.is_interactive:
                return
            self._bar = Progress(*columns, *times, console=console, transient=True)
            self._task = self._bar.add_task(self.doing, total=None, rate="")
            self._update()
            self._bar.start()

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        _present.set(self._outer)
        with self._lock:
            if self._timer:
                self._timer.cancel()
                self._timer = None
            if self._bar:
                self._bar.stop()
            if self._cell and self._displayed:
                self._cell.update({"text/plain": ""}, raw=True)


_present: ContextVar[ProgressBar | None] = ContextVar("progress", default=None)


@contextmanager
def working(doing: str) -> Iterator[ProgressBar]:
    """Show this work while it lasts: as a step of the present work, or on its own."""
    bar = _present.get()
    if bar is None:
        with ProgressBar(doing) as bar:
            yield bar
        return
    before = bar.doing
    bar.begin(doing)
    try:
        yield bar
    finally:
        bar.begin(before)


def tracked(doing: str, parts: Iterable[T], number: int, first: int = 0) -> Iterator[T]:
    """Yield the parts of a work, so many, and show how many are done: `first` when the first of them comes."""
    with working(doing) as bar:
        for done, part in enumerate(parts, first):
            bar.update(0, done / number, (done, number))
            with ProgressBar(doing, quiet=True):  # the steps of a part would hide how many there are
                yield part


def _is_watched() -> bool:
    """Whether this is the thread and the process that somebody waits for."""
    processes = sys.modules.get("multiprocessing.process")
    is_first = processes is None or processes.parent_process() is None
    return is_first and threading.current_thread() is threading.main_thread()


def _cell() -> Any:
    """Return the place for an output of the cell that runs, None outside of a notebook."""
    if "ipykernel" not in sys.modules:
        return None
    from IPython import display, get_ipython

    shell: Any = get_ipython
    handle: Any = display.DisplayHandle
    return handle() if hasattr(shell(), "kernel") else None
