"""Files that appear whole or not at all: written under a name of their own in the same folder, then renamed.

The name is random and the file made by its writer alone, so that threads, processes and containers that write the same
file never mix, and no link laid in its way is followed. Its writer holds a lock on it; what has lost its writer is
removed by the next one.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
from pathlib import Path

try:
    import fcntl
except ImportError:  # no locks on this system: what was left stays
    fcntl = None  # type: ignore[assignment]

NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
LOOK = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # a named pipe must not stop us


def write_whole(path: str | Path, data: bytes, *, safely: bool = False) -> None:
    """Write a file whole or not at all; `safely`: it is on the disk before the one it replaces is gone."""
    with Unfinished(path) as unfinished:
        unfinished.write(data, safely=safely)
        unfinished.finish()


class Unfinished:
    """A file or folder on its way to `target`: at `path` until `finish`; without it, leaving the block removes it.

    It has the mode of the file that it will replace from the start, and its owner may write it.
    """

    def __init__(self, target: str | Path, *, folder: bool = False) -> None:
        self.target = Path(os.path.realpath(target))  # a link stays a link
        _remove_abandoned(self.target)
        self._mode = None if folder else _mode_of(self.target)
        self._descriptor: int | None = None
        ready = False
        while not ready:
            self.path = self.target.with_name(f"{_prefix(self.target)}{secrets.token_hex(8)}.part")
            try:
                ready = self._made(folder)
            except FileExistsError:
                continue
            except BaseException:
                self.discard()
                raise

    def _made(self, folder: bool) -> bool:
        """Make and lock it; False if somebody else took it for abandoned in between."""
        if folder:
            self.path.mkdir()
            self._descriptor = None if fcntl is None else os.open(self.path, LOOK)
        else:
            writable = None if self._mode is None else self._mode | stat.S_IWUSR
            self._descriptor = os.open(self.path, NEW_FILE, 0o666 if writable is None else writable)
            if writable is not None:  # the umask took some of it away
                os.chmod(self._descriptor if os.chmod in os.supports_fd else self.path, writable)
        if self._descriptor is not None and fcntl is not None:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        if self.path.exists():
            return True
        self._close()
        return False

    def write(self, data: bytes, *, safely: bool = False) -> None:
        """Fill the file; `safely`: wait until the disk has it."""
        assert self._descriptor is not None
        with open(self._descriptor, "wb", closefd=False) as file:
            file.write(data)
            if safely:
                file.flush()
                os.fsync(file.fileno())

    def finish(self) -> None:
        """Take the place of the target."""
        if self._mode is not None and not self._mode & stat.S_IWUSR:
            os.chmod(self.path, self._mode)
        if fcntl is None:  # where an open file cannot be renamed
            self._close()
        os.replace(self.path, self.target)

    def discard(self) -> None:
        """Remove what has not taken its place, and give the lock back."""
        _remove(self.path)
        self._close()

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Unfinished:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()


def _prefix(target: Path) -> str:
    return f".{os.fsdecode(os.fsencode(target.name)[:200])}."


def _mode_of(target: Path) -> int | None:
    """Return the mode of the file that will be replaced, if there is one."""
    try:
        mode = target.stat().st_mode
    except OSError:
        return None
    return stat.S_IMODE(mode) if stat.S_ISREG(mode) else None


def _remove_abandoned(target: Path) -> None:
    """Remove what writers of this target left behind: its lock is free."""
    pattern = re.compile(re.escape(_prefix(target)) + r"[0-9a-f]{16}\.part")
    with contextlib.suppress(OSError):
        for name in os.listdir(target.parent):
            if pattern.fullmatch(name):
                with contextlib.suppress(OSError):
                    _remove_if_free(target.with_name(name))


def _remove_if_free(part: Path) -> None:
    if fcntl is None or not (stat.S_ISREG(mode := part.lstat().st_mode) or stat.S_ISDIR(mode)):
        return
    descriptor = os.open(part, LOOK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while its writer lives
        _remove(part)
    finally:
        os.close(descriptor)


def _remove(part: Path) -> None:
    if part.is_dir() and not part.is_symlink():
        shutil.rmtree(part, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
