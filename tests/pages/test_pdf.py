"""Printing by a real browser, which keeps its sandbox where it has one."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from veracity.show.pdf import FLAGS, UNCONFINED, printed

NOBODY = 65_534


def _print(folder: str, user: int | None) -> None:
    """Print a page as this user, with a browser that notes how it was called."""
    if user is not None:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    os.environ |= {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": folder, "TMPDIR": folder}
    Path(folder, "made.pdf").write_bytes(printed("<p>Printed</p>"))


def _has_sandbox(browser: str, folder: Path, user: int | None) -> bool:
    command = [browser, *FLAGS, f"--user-data-dir={folder}/own", "--dump-dom", "about:blank"]
    environment = os.environ | {"HOME": str(folder)}
    who: dict[str, Any] = {} if user is None else {"user": user, "group": user, "extra_groups": []}
    return subprocess.run(command, capture_output=True, timeout=60, check=False, env=environment, **who).returncode == 0


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other users can reach, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


@pytest.mark.browser
@pytest.mark.parametrize("user", [None, NOBODY] if os.geteuid() == 0 else [None])
def test_the_sandbox_is_given_up_only_where_it_cannot_be_had(user: int | None, chromium: str, folder: Path) -> None:
    if user is not None:
        os.chown(folder, user, user)
    noted = folder / "chromium"
    noted.write_text(f'#!/bin/sh\necho "$*" >> {folder}/called\nexec {chromium} "$@"\n')
    noted.chmod(0o755)
    process = get_context("fork").Process(target=_print, args=(str(folder), user))
    process.start()
    process.join(120)
    assert process.exitcode == 0
    assert (folder / "made.pdf").read_bytes().startswith(b"%PDF")
    *_, last = (folder / "called").read_text().splitlines()
    assert (UNCONFINED not in last.split()) == _has_sandbox(chromium, folder, user)
