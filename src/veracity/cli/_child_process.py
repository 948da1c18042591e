"""The command in a child process: a crash of a compiled library is a message and exit code 2, not a signal.

Readers of files are compiled programs, and a damaged file can end the process that reads it. So the program forks
before it imports any of them; the parent waits, passes signals on, and reports a crash that the child could not report.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

SIZE = 4096  # bytes of the note that the child leaves: the file that it reads
AGAIN = 0.5  # seconds within which a second interrupt is the same one: from the terminal, and passed on
PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP")
MEMORY = "the system ended the program, as it does where memory runs out"


def is_forked() -> bool:
    """Return whether commands run in a child: not where Python cannot fork, and not with VERACITY_CHILD=0.

    Profilers, coverage and debuggers see one process only.
    """
    return hasattr(os, "fork") and os.environ.get("VERACITY_CHILD") != "0"


def in_child(work: Callable[[], int], say: Callable[[str], int]) -> int:
    """Return the exit code of `work`, done in a child; `say` prints a message and returns the code of bad input."""
    if not is_forked():
        return work()
    note, noise = mmap.mmap(-1, SIZE), _scratch()
    alive, write_end = os.pipe()
    before = {name: signal.getsignal(getattr(signal, name)) for name in PASSED_ON}
    passing = {name: handler for name, handler in before.items() if handler is not signal.SIG_IGN}
    for name in passing:  # none is lost between the fork and what follows it
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    pid = os.fork()
    if pid == 0:
        os.close(write_end)
        _end_with_parent(alive)
        _quieten(noise)
        sys.addaudithook(lambda event, given: _remember(note, given) if event == "veracity.read" else None)
        for name in passing:
            signal.signal(getattr(signal, name), _interrupted if name == "SIGINT" else _ended)
        return work()
    os.close(alive)
    for name in passing:
        signal.signal(getattr(signal, name), lambda number, _: os.kill(pid, number))
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    for name in passing:
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    return code if code >= 0 else say(_crash_message(-code, bytes(note).rstrip(b"\0"), noise))


def _scratch() -> int:
    """Return a file that collects the standard error of compiled libraries."""
    return os.memfd_create("noise") if hasattr(os, "memfd_create") else os.open(os.devnull, os.O_RDWR)


def _quieten(noise: int) -> None:
    """Keep standard error for our own messages: traces of compiled libraries help nobody."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.flush()
        kept = os.fdopen(os.dup(2), "w", encoding=sys.stderr.encoding, errors="replace", buffering=1)
        os.dup2(noise, 2)
        sys.stderr = kept


def _end_with_parent(alive: int) -> None:
    """End this process when its parent is gone, whatever ended it."""

    def wait() -> None:
        os.read(alive, 1)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()


def _remember(note: mmap.mmap, given: tuple[Any, ...]) -> None:
    name = str(given[0]).encode(errors="replace")[:SIZE]
    note[:] = name + bytes(SIZE - len(name))


_last = -AGAIN


def _interrupted(number: int, frame: Any) -> None:
    global _last
    since, _last = time.monotonic() - _last, time.monotonic()
    if since > AGAIN:
        raise KeyboardInterrupt


def was_interrupted() -> bool:
    """Return whether this process was interrupted: a compiled library may make another error of it."""
    return _last >= 0.0


def _ended(number: int, frame: Any) -> None:
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + number)


def _crash_message(number: int, file: bytes, noise: int) -> str:
    """Return the message about a child that a signal ended."""
    os.lseek(noise, 0, os.SEEK_SET)
    lines = [line.strip() for line in os.read(noise, 1 << 16).decode(errors="replace").splitlines()]
    why = next((line for line in lines if line and "panicked at" not in line), "")
    with contextlib.suppress(ValueError):
        why = why or signal.Signals(number).name
    if number == signal.SIGKILL:
        why = MEMORY
    where = f"{file.decode(errors='replace')}: " if file else ""
    what = "cannot be read" if file else "a compiled library crashed"
    return f"{where}{what} ({why[:200]})\n  is the file complete? a smaller one, or one of another kind, may help"
