"""Files that appear whole or not at all: written under a temporary name in the same folder, then renamed."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import time
from pathlib import Path

ABANDONED = 60.0  # seconds without a change after which a part of a process that is gone is removed


def write_whole(path: str | Path, data: bytes, *, safely: bool = False) -> None:
    """Write a file whole or not at all; `safely`: it is on the disk before the one it replaces is gone."""
    target = Path(os.path.realpath(path))
    part = part_of(target)
    try:
        with part.open("wb") as file:
            file.write(data)
            if safely:
                file.flush()
                os.fsync(file.fileno())
        put(part, target)
    finally:
        discard(part)


def part_of(target: Path) -> Path:
    """Return the name under which a file or folder is written until it is whole.

    What processes that were killed left behind under such names is removed.
    """
    own = f".{target.name[:200]}."
    pattern = re.compile(re.escape(own) + r"(\d+)\.part")
    with contextlib.suppress(OSError):
        for name in os.listdir(target.parent):
            if (found := pattern.fullmatch(name)) and _abandoned(target.with_name(name), int(found[1])):
                discard(target.with_name(name))
    return target.with_name(f"{own}{os.getpid()}.part")


def put(part: Path, target: Path) -> None:
    """Rename the temporary file, with the mode of the file that it replaces."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISREG((held := target.stat()).st_mode):
            os.chmod(part, stat.S_IMODE(held.st_mode))
    os.replace(part, target)


def discard(part: Path) -> None:
    """Remove a file or folder that did not become whole."""
    if part.is_dir() and not part.is_symlink():
        shutil.rmtree(part, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def _abandoned(part: Path, process: int) -> bool:
    """Whether nobody writes this any more: its process is gone, and it has not changed for a while."""
    try:
        os.kill(process, 0)
        return False
    except (ProcessLookupError, OverflowError):
        return time.time() - part.lstat().st_mtime > ABANDONED
    except OSError:
        return False
