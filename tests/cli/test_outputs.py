"""Outputs of `veracity assess` are written whole or not at all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_assess import N, veracity, write_forecasts
from veracity.cli import run


@pytest.fixture
def forecasts(tmp_path: Path) -> Path:
    return write_forecasts(tmp_path / "risk.csv")


@pytest.mark.slow
def test_full_disk_is_one_line_and_leaves_nothing(forecasts: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("/dev/full absent")
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "veracity", "assess", str(forecasts), "--json", "-", "--quiet"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "No space left" in done.stderr
    done = veracity("assess", str(forecasts), "--report", "/dev/full", "--quiet")
    assert done.returncode == 2
    assert "No space left on device; nothing was written" in done.stderr
    assert [p.name for p in forecasts.parent.iterdir()] == ["risk.csv"]


def test_closed_pipe_is_silent(forecasts: Path) -> None:
    command = [sys.executable, "-m", "veracity", "assess", str(forecasts), "--json", "-", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=120) == 2


def test_interrupt_leaves_no_file(tmp_path: Path) -> None:
    path = write_forecasts(tmp_path / "long.csv", n=20_000)
    command = [sys.executable, "-m", "veracity", "assess", str(path), "--report", str(tmp_path / "out.html")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("read ")  # the work has begun
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
        assert process.wait(timeout=120) == 130, said
    assert "interrupted" in said
    assert "Traceback" not in said
    assert [p.name for p in tmp_path.iterdir()] == ["long.csv"]


def test_nothing_is_written_when_a_later_output_fails(
    forecasts: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(result: Any) -> Iterator[tuple[str, bytes]]:
        yield "reliability.svg", b"<svg/>"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("veracity.show.pictures", broken)
    folder = forecasts.parent
    options = ["--json", str(folder / "out.json"), "--plots", str(folder / "pictures")]
    assert run(["assess", str(forecasts), *options]) == 2
    assert [p.name for p in folder.iterdir()] == ["risk.csv"]
    assert "No space left" in capsys.readouterr().err


def test_a_link_and_the_rights_of_files_are_kept(forecasts: Path, tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("{}")
    link.symlink_to(real)
    assert run(["assess", str(forecasts), "--json", str(link), "--force", "--quiet"]) == 0
    assert link.is_symlink()
    assert json.loads(real.read_text())["n"] == N
