"""Long work shows how far it is, to people who wait for it and to nobody else; notebooks in `tests/pages`."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from veracity import progress

LONG = """
import sys
import time
import numpy as np
from sklearn.naive_bayes import GaussianNB
from veracity import progress
from veracity.sklearn import Recalibrated

class Slow(GaussianNB):
    def fit(self, X, y):
        time.sleep(0.4)
        return super().fit(X, y)

if __name__ == "__main__":
    progress.PATIENCE = float(sys.argv[1])
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    Recalibrated(Slow(), n_jobs=int(sys.argv[2])).fit(x, x[:, 0] + rng.normal(size=200) > 0)
    print("done")
"""


def terminal(folder: Path, *arguments: str) -> str:
    """Return what a terminal shows of the script."""
    (folder / "long.py").write_text(LONG)
    ours, theirs = pty.openpty()
    environment = {
        **os.environ,
        "COLUMNS": "160",
        "TERM": "xterm",
        "PYTHONPATH": str(Path(progress.__file__).parents[1]),
    }
    command = [sys.executable, "long.py", *arguments]
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        while piece := _read(ours):
            seen += piece
    os.close(ours)
    assert process.returncode == 0, seen.decode()
    return seen.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the other end is closed
        return b""


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_terminal_shows_which_fold_is_fitted(jobs: str, tmp_path: Path) -> None:
    seen = terminal(tmp_path, "0.1", jobs)
    assert "fitting Slow" in seen
    assert re.search("[1-4] of 5 parts", seen)
    assert seen.endswith("done\r\n")


def test_a_short_work_shows_nothing(tmp_path: Path) -> None:
    assert terminal(tmp_path, "600", "1") == "done\r\n"


def test_a_file_gets_no_progress(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text(LONG)
    done = subprocess.run([sys.executable, "long.py", "0", "1"], cwd=tmp_path, capture_output=True, check=True)
    assert done.stderr == b""


def show_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make standard error, as it is captured, a terminal that shows progress from the beginning."""
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("TERM", "xterm")


def test_rows_their_speed_and_the_next_step_are_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    show_at_once(monkeypatch)
    with progress.ProgressBar("reading") as bar:
        bar._show()
        bar.update(12_345, 0.5)
        time.sleep(0.3)  # the bar is drawn ten times a second
        bar.begin("assessing")
        time.sleep(0.3)
    err = capsys.readouterr().err
    assert "12,345 rows" in err
    assert "assessing" in err
    assert "left" in err


def test_steps_within_a_part_and_other_threads_leave_the_bar_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    show_at_once(monkeypatch)

    def aside() -> None:
        with progress.working("another thread"):
            time.sleep(0.2)

    with progress.working("whole") as bar:
        bar._show()
        for _ in progress.tracked("folds", range(2), 2):
            with progress.working("within"):
                time.sleep(0.2)
        assert bar.doing == "whole"
        thread = threading.Thread(target=aside)
        thread.start()
        thread.join()
    err = capsys.readouterr().err
    assert "1 of 2 parts" in err
    assert "within" not in err
    assert "another" not in err


def test_without_a_terminal_there_is_silence(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.working("reading") as bar:
        bar.update(10, 0.5)
    assert capsys.readouterr().err == ""
