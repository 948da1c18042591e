"""Sentences about sets with extreme numbers: no scientific notation, no false zero, no leftovers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import veracity as vc
from veracity import PredictionTable, plots, show, words
from veracity.show.blocks import Cards, Chart, Details, FindingBlock, Heading, Sentence, walk
from veracity.show.cells import Label, Table

SCIENTIFIC = re.compile(r"\d[eE][−+-]?\d")
FALSE_ZERO = re.compile(r"\b0\.0+ (?:of|nats)\b|\b0\.0{3,}\b(?![–.])")
LEFTOVER = re.compile(r"\b(?:nan|None|inf|NaN)\b|\(\)|\{|\}|  +| ,| \.(?!\d)|%%|\d%")
LONG = re.compile(r"\d\.\d{7,}")


def drawn(seed: int, n: int, power: float = 1.0, shift: float = 0.0, spread: float = 1.5) -> tuple[Any, Any]:
    """Two classes: outcomes of a logistic source, forecasts with slope `power` and too much log odds `shift`."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0, spread, n)
    y = (rng.random(n) < 1 / (1 + np.exp(-x))).astype(int)
    return y, 1 / (1 + np.exp(-(power * x + shift)))


def surprised() -> Any:
    y, p = drawn(1, 400, 1.2)
    p[7], y[7] = 1e-300, 1
    p[8], y[8] = 3e-9, 1
    return vc.assess(y, p)


def ruled_out() -> Any:
    y, p = drawn(2, 300)
    p[5], y[5] = 0.0, 1
    return vc.assess(y, p)


def rare() -> Any:
    rng = np.random.default_rng(3)
    p = np.exp(rng.normal(-14, 2, 4000))
    return vc.assess((rng.random(4000) < 40 * p).astype(int) | (np.arange(4000) < 3), p)


def many_classes() -> Any:
    rng = np.random.default_rng(4)
    logits = rng.normal(0, 6, (300, 120))
    p = np.exp(logits - logits.max(1, keepdims=True))
    return vc.assess(rng.integers(0, 120, 300), p / p.sum(1, keepdims=True), labels=range(120))


def weighted() -> Any:
    y, p = drawn(5, 500, 1.7)
    return vc.assess(y, p, sample_weight=np.exp(np.random.default_rng(5).normal(0, 3, 500)))


def grouped() -> Any:
    y, p = drawn(6, 900, 1.0, 0.7)
    return vc.assess(y, p, groups={"site": np.where(np.arange(900) % 3, "north", "south")})


SETS: dict[str, Callable[[], Any]] = {
    "surprised": surprised,
    "ruled out": ruled_out,
    "rare": rare,
    "many classes": many_classes,
    "weighted": weighted,
    "grouped": grouped,
    "calibrated": lambda: vc.assess(*drawn(7, 3000)),
    "large": lambda: vc.assess(*drawn(8, 60_000, 1.02)),
    "under-confident": lambda: vc.assess(*drawn(9, 800, 0.5)),
    "biased": lambda: vc.assess(*drawn(10, 800, 1.0, 0.8)),
    "certain": lambda: vc.assess([0, 1] * 40, [0.0, 1.0] * 40),
    "constant": lambda: vc.assess([0, 1, 1] * 30, [0.4] * 90),
    "tiny": lambda: vc.assess([0, 1, 1, 0, 1], [0.2, 0.7, 0.9, 0.4, 0.6]),
    "one row": lambda: vc.assess([1], [0.3]),
    "one outcome": lambda: vc.assess([1] * 50, np.linspace(0.5, 0.99, 50), labels=[0, 1]),
    "floored": lambda: vc.assess(*drawn(11, 400, 2.0), floor=1e-6),
}
TABLES = {
    "HB17": lambda: PredictionTable([[83, 56], [2, 12]]),
    "large": lambda: PredictionTable([[10**7, 3], [12, 10**6]], rows=["no", "yes"], columns=["no", "yes"]),
    "zero cell": lambda: PredictionTable([[9, 0], [2, 8]]),
    "stated": lambda: PredictionTable.from_probabilities([1e-6, 0.3, 0.8], [1000, 20, 10], [1, 7, 9]),
    "rates": lambda: PredictionTable.from_rates(0.999, 0.9999, 1e-5, prevalences=(1e-6,)),
}


def said(result: Any) -> Iterator[tuple[str, str]]:
    """Yield (where, text) of everything that is written in words or shown as a number of its own."""
    for finding in result.findings if hasattr(result, "findings") else ():
        yield "finding", words.finding(finding)
    for block in walk(show.blocks(result)):
        if isinstance(block, Sentence):
            yield "sentence", f"{block.title}. {block.text}"
        elif isinstance(block, Heading):
            yield "heading", block.note
        elif isinstance(block, Cards):
            yield from (("card", f"{card.question} {card.answer} {card.detail}") for card in block.cards)
        elif isinstance(block, FindingBlock):
            yield "finding", words.finding(block.finding)
        elif isinstance(block, Details):
            yield "title", block.title
        elif isinstance(block, Chart):
            yield f"caption of {block.name}", plots.module(block.name).caption(block.result)
        elif isinstance(block, Table) and block.title != "How it was read":
            yield from (("note", note) for note in block.notes)
            cells = [cell for row in block.rows for cell in row if not isinstance(cell, Label)]
            yield from (("cell", cell if isinstance(cell, str) else cell.text) for cell in cells)


def faults(result: Any) -> list[tuple[str, str]]:
    found = []
    for where, text in said(result):
        plain = text.replace("**", "")
        bad = [pattern for pattern in (SCIENTIFIC, LONG) if pattern.search(plain)]
        if where != "cell":
            bad += [pattern for pattern in (FALSE_ZERO, LEFTOVER) if pattern.search(plain)]
        found += [(where, plain)] if bad else []
    return found


@pytest.mark.parametrize("name", SETS)
def test_no_sentence_has_scientific_notation_a_false_zero_or_leftovers(name: str) -> None:
    result = SETS[name]()
    assert faults(result) == []
    printed = [show.to_terminal(result, 80), show.to_terminal(result, 120), show.to_markdown(result)]
    assert not [line for text in printed for line in text.splitlines() if SCIENTIFIC.search(line)]


@pytest.mark.parametrize("name", TABLES)
def test_no_sentence_of_a_table_has_scientific_notation_a_false_zero_or_leftovers(name: str) -> None:
    table = TABLES[name]()
    assert faults(table) == []
    assert not [line for line in show.to_terminal(table, 80).splitlines() if SCIENTIFIC.search(line)]
