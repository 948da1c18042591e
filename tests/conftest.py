"""What every test can rely on; what a machine lacks is skipped by name."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

settings.register_profile("veracity", derandomize=True, deadline=None)
settings.load_profile("veracity")


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the project."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of real forecasts beside the project."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("shared data folder absent")
    return folder


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of a real browser."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    return pytest.skip("chromium absent")


@pytest.fixture(scope="session")
def java() -> str:
    """Path of a Java runtime, for Spark."""
    path = shutil.which("java")
    return path if path else pytest.skip("java absent")


@pytest.fixture(scope="session")
def pandas3() -> Path:
    """Python with pandas 3 and without pyarrow; made once, and again when its pins change."""
    from tests.prove.test_install import environment

    home, pins = ROOT / ".venv-pandas3", ROOT / "requirements" / "pandas3.txt"
    home.mkdir(exist_ok=True)
    wanted, stamp = hashlib.sha256(pins.read_bytes()).hexdigest(), home / "installed"
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes
        if not stamp.exists() or stamp.read_text() != wanted:
            environment(sys.executable, home / wanted[:12], "--require-hashes", "-r", str(pins))
            stamp.write_text(wanted)
    return home / wanted[:12] / "bin" / "python"


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is printed depends on the width of the terminal, and parallel runs have a narrow one."""
    monkeypatch.setenv("COLUMNS", "120")
