"""The questions that the papers left open, each with a method, a simulation of known truth, and where it fails.

A question is a file of this folder. It defines `QUESTION`, `PAPERS`, `study(seed, short)`, which returns JSON values,
and `page(results)`, which makes a page of them. `python -m papers questions` runs the studies and keeps their results,
with date and seed, in results.json; `make papers` reads them.
"""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from papers._rows import Figure

NAMES = ("which_r", "kind_of_error", "kappa", "training", "prior", "along_r", "adjustment")  # as the issue counts them
RESULTS = Path(__file__).parent / "results.json"
Results = dict[str, Any]  # JSON values


@dataclass(frozen=True)
class Claim:
    """A statement that the answer rests on, and whether the results bear it out."""

    text: str
    holds: bool


@dataclass(frozen=True)
class Table:
    """A table of results; cells are text."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Page:
    """What is said about one question: `answer` is one sentence that a reader can act on."""

    answer: str
    method: Sequence[str]
    simulation: str
    fails: Sequence[str]
    claims: Sequence[Claim]
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()


@dataclass(frozen=True)
class Answered:
    """A question with its page and the run that it comes from."""

    name: str
    question: str
    papers: str
    run: Results
    page: Page = field(repr=False)


def module(name: str) -> Any:
    """Return the module of one question."""
    if name not in NAMES:
        raise ValueError(f"no question {name!r}; there are {', '.join(NAMES)}")
    return importlib.import_module(f"{__name__}.{name}")


def run(name: str, seed: int = 0, short: bool = False) -> Results:
    """Return date, seed, CPU seconds and results of one study."""
    started = time.process_time()
    results = module(name).study(seed, short)
    seconds = round(time.process_time() - started, 1)
    return {"date": date.today().isoformat(), "seed": seed, "cpu_seconds": seconds, "results": results}


def kept() -> dict[str, Results]:
    """Return the runs of results.json."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else "{}"
    runs: dict[str, Results] = json.loads(text)
    return runs


def keep(name: str, result: Results) -> None:
    """Write one run beside the others into results.json."""
    runs = kept() | {name: result}
    ordered = {each: runs[each] for each in NAMES if each in runs}
    RESULTS.write_text(json.dumps(ordered, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def answered() -> list[Answered]:
    """Return the questions whose results are kept, with their pages."""
    return [
        Answered(name, module(name).QUESTION, module(name).PAPERS, result, module(name).page(result["results"]))
        for name, result in kept().items()
    ]
