"""pandas 2, which is pinned, and pandas 3 in an environment of its own, each with pyarrow and without."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.inputs import pandas_cases
from tests.prove.test_install import run

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("numpy", "scipy", "pandas", "polars", "_polars_runtime_32", "narwhals", "dateutil", "pytz", "six", "tzdata")


def linked(folder: Path, packages: Sequence[str]) -> Path:
    """A folder with these installed packages alone, and their libraries."""
    folder.mkdir()
    for name in packages:
        found = importlib.util.find_spec(name)
        if found is None or found.origin is None:
            continue  # another version of pandas needs it
        home = Path(found.origin)
        home = home.parent if home.name == "__init__.py" else home
        for path in (home, home.with_name(f"{home.name}.libs")):
            if path.exists():
                (folder / path.name).symlink_to(path)
    return folder


def tried(command: Sequence[object], version: str, pyarrow: str, *paths: Path) -> None:
    env = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    env["PYTHONPATH"] = os.pathsep.join(map(str, (ROOT / "src", *paths)))
    done = run([*command, "-W", "error", pandas_cases.__file__, version, pyarrow], env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [case.__name__ for case in pandas_cases.CASES]


def test_pandas_2_is_read_with_pyarrow(tmp_path: Path) -> None:
    tried([sys.executable, "-S"], "2", "yes", linked(tmp_path / "packages", [*PACKAGES, "pyarrow"]))


def test_pandas_2_is_read_without_pyarrow(tmp_path: Path) -> None:
    tried([sys.executable, "-S"], "2", "no", linked(tmp_path / "packages", PACKAGES))


def test_pandas_3_is_read_without_pyarrow(pandas3: Path) -> None:
    tried([pandas3], "3", "no")


def test_pandas_3_is_read_with_pyarrow(pandas3: Path, tmp_path: Path) -> None:
    tried([pandas3], "3", "yes", linked(tmp_path / "packages", ["pyarrow"]))
