"""The walk from a file to a page, as the public calls from one package to another in a real run."""

from __future__ import annotations

import os
import sys
import tomllib
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
# A whole report of the demo, as docs/how_it_works.md tells it; 100 crossings and 20 shapes are wanted.
MOST_CALLS = 81_000  # of our functions
MOST_CROSSINGS = 237  # distinct functions and attributes of another room that it asks for
MOST_FUNCTIONS = 169  # of them functions
MOST_SHAPES = 61  # types of ours that are given to them
TOLD = (
    "at most {:,} calls; of another room it asks at most {} distinct functions and attributes, {} of them functions, "
    "and gives them at most {} of our types"
)
DOCS = Path(__file__).parents[2] / "docs"


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
            and not module.startswith(("cli", "inputs", "records", "files", "extras", "words", "options", "progress"))
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
    """Calls of our functions, those distinct ones that cross from one room to another, and what they are given."""

    def __init__(self) -> None:
        self.calls = 0
        self.crossings: set[tuple[str, str]] = set()
        self.asked: set[tuple[str, str]] = set()  # those that only ask a thing for one of its attributes
        self.shapes: set[str] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        module = place(code) if event == "call" else ""
        if not module:
            return
        self.calls += 1
        caller = frame.f_back
        while caller is not None and not place(caller.f_code):
            caller = caller.f_back
        room = place(caller.f_code).partition(".")[0] if caller is not None else ""
        if not room or room == module.partition(".")[0]:
            return
        crossing = (room, f"{module}.{code.co_qualname}")
        self.crossings.add(crossing)
        arguments = [frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]]
        attribute = getattr(type(arguments[0]), code.co_name, None) if arguments else None
        if isinstance(attribute, (property, cached_property)) or code.co_name.startswith("__"):
            self.asked.add(crossing)
        for value in arguments:
            kind = type(value[0] if isinstance(value, (list, tuple)) and value else value)
            if kind.__module__.startswith("veracity."):
                self.shapes.add(kind.__name__)


def drawing(crossings: set[tuple[str, str]]) -> str:
    """Return the rooms that each room calls, from the top floor down."""
    called: dict[str, set[str]] = {}
    for room, function in crossings:
        called.setdefault(room, set()).add(function.partition(".")[0])
    contracts = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    rooms = [room.strip() for floor in contracts[0]["layers"] for room in floor.split(":")]
    return "\n".join(
        f"{room:<12} → {' '.join(r for r in rooms if r in called[room])}" for room in rooms if room in called
    )


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
    crossings, asked, shapes = counter.crossings, counter.asked, sorted(counter.shapes)
    print(f"{counter.calls:,} calls; {len(crossings)} crossings, {len(asked)} of them for an attribute")
    print(f"{len(shapes)} shapes of data: {' '.join(shapes)}")
    print(drawing(crossings))
    assert counter.calls <= MOST_CALLS
    assert len(crossings) <= MOST_CROSSINGS
    assert len(crossings - asked) <= MOST_FUNCTIONS
    assert len(shapes) <= MOST_SHAPES
    told = (DOCS / "how_it_works.md").read_text()
    assert drawing(crossings) in told, "docs/how_it_works.md draws another walk"
    assert TOLD.format(MOST_CALLS, MOST_CROSSINGS, MOST_FUNCTIONS, MOST_SHAPES) in " ".join(told.split())
