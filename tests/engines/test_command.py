"""`veracity assess` in parts gives what it gives in memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from veracity.cli import run


def assessed(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:
    assert run(["assess", *map(str, arguments), "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


def test_command_line_with_a_checkpoint_gives_the_answer_of_the_whole_set(
    folder: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [f for f in sorted(folder("binary").iterdir()) if "03" not in f.name]
    expected = assessed(capsys, *files)
    options = ("--engine", "local", "--engine-option", "checkpoint_seconds=0", "--checkpoint", tmp_path / "state")
    found = assessed(capsys, folder("binary"), *options)
    assert found["n"] == expected["n"]
    assert {name: r["value"] for name, r in found["measured"].items()} == {
        name: r["value"] for name, r in expected["measured"].items()
    }
    assert found["verdict"] == expected["verdict"]
    assert list(tmp_path.iterdir()) == []  # the checkpoint has served


def test_unknown_value_of_an_engine_option_is_refused(
    folder: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["assess", str(folder("binary")), "--engine", "local", "--engine-option", "on_error=never"]) == 2
    assert "on_error=never is neither raise nor skip" in capsys.readouterr().err
