"""The walk from a file to a page, as the public calls from one package to another in a real run."""

from __future__ import annotations

import os
import sys
from functools import cached_property
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import polars as pl
import pytest

import veracity
from veracity.cli import run

ROOT = str(Path(veracity.__file__).parent) + os.sep
WALKERS = ("cli", "engines", "read")  # who leads through the house; what the rooms do inside is their own
MOST = 20  # lines that a reader follows
MOST_CALLS = 120_000  # of our functions, in a report of the demo
MOST_CROSSINGS = 311  # distinct calls from room to room in that report, as counted; 100 are wanted


def place(code: CodeType) -> str:
    """The module of a function in the package, "" elsewhere."""
    path = code.co_filename
    inside = path.removeprefix(ROOT).removesuffix(".py").replace(os.sep, ".").removesuffix(".__init__")
    return inside if path.startswith(ROOT) else ""


class Walk:
    """Public calls from one package to another, each once, in the order in which they were first made."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code, module = frame.f_code, place(frame.f_code)
        if event != "call" or not module:
            return
        called = f"{module}.{code.co_qualname}"
        attribute = getattr(type(frame.f_locals.get("self")), code.co_name, None)
        if "<" in called or "._" in called or isinstance(attribute, (property, cached_property)):
            return
        caller = frame.f_back
        while caller is not None and not place(caller.f_code):
            caller = caller.f_back
        room = place(caller.f_code).partition(".")[0] if caller is not None else ""
        if (
            room in WALKERS
            and room != module.partition(".")[0]
            and not module.startswith(("cli", "inputs", "records", "files", "extras", "words", "options"))
        ):
            line = f"{room} → {called}"
            self.lines += [] if line in self.lines else [line]


def test_the_walk_from_file_to_answer_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    p = rng.random(200)
    pl.DataFrame({"y": (rng.random(200) < p).astype(int), "p": p}).write_csv("f.csv")
    assert run(["assess", "f.csv", "--quiet"]) == 0  # importing is no step
    walk = Walk()
    sys.setprofile(walk)
    try:
        assert run(["assess", "f.csv"]) == 0
    finally:
        sys.setprofile(None)
    capsys.readouterr()
    print("\n".join(walk.lines))
    assert len(walk.lines) <= MOST
    wanted = ["engines → read.open", "engines → read.parts.Source.parts", "engines → state.", "engines → results."]
    found = [next(i for i, line in enumerate(walk.lines) if line.startswith(step)) for step in wanted]
    assert found == sorted(found)
    shown = (Path(__file__).parents[2] / "docs" / "how_it_works.md").read_text()
    assert "\n".join(walk.lines) in shown, "docs/how_it_works.md shows another walk"


class Counter:
    """Calls of our functions, and those distinct ones that cross from one room to another."""

    def __init__(self) -> None:
        self.calls = 0
        self.crossings: set[tuple[str, str]] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        module = place(frame.f_code) if event == "call" else ""
        if not module:
            return
        self.calls += 1
        caller = frame.f_back
        while caller is not None and not place(caller.f_code):
            caller = caller.f_back
        room = place(caller.f_code).partition(".")[0] if caller is not None else ""
        if room and room != module.partition(".")[0]:
            self.crossings.add((room, f"{module}.{frame.f_code.co_qualname}"))


def test_a_whole_report_takes_few_calls_and_crossings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo = Path(__file__).parents[2] / "demo" / "naive_bayes.csv"
    command = ["assess", str(demo), "--quiet", "--force", "--report", str(tmp_path / "page.html")]
    assert run(command) == 0  # importing is no step
    counter = Counter()
    sys.setprofile(counter)
    try:
        assert run(command) == 0
    finally:
        sys.setprofile(None)
    capsys.readouterr()
    print(f"{counter.calls:,} calls, {len(counter.crossings)} crossings")
    assert counter.calls <= MOST_CALLS
    assert len(counter.crossings) <= MOST_CROSSINGS
