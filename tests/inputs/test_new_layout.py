"""A layout is one file: put on the package's path, it is listed, recognised, and read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from veracity.options import READING
from veracity.read import ReadOptions, layouts, read, recognise

ODDS = '''
"""Decimal odds of the event with its outcome."""

from veracity.inputs import prepare
from veracity.read.build import numbers_in
from veracity.records.layout import Layout

RULE = 6.5


def match(columns):
    odds = columns.first(("odds",), lambda c: c.numeric)
    won = columns.first(("won",), lambda c: c.two_valued)
    return Layout(((columns.model, (odds,)),), (0, 1), won, labels=("0", "1")) if odds and won else None


def build(rows):
    return prepare(rows.outcomes(), 1.0 / numbers_in(rows.frame[rows.columns[0]]), **rows.arguments())
'''
FILE = "won,odds\n0,4\n1,2\n1,1.25\n"


@pytest.fixture
def _odds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "odds_won.py").write_text(ODDS)
    monkeypatch.setattr(layouts, "__path__", [*layouts.__path__, str(folder)])


def _choices() -> str:
    with pytest.raises(ValueError, match="is not one of") as refused:
        ReadOptions(layout="none of these")
    return str(refused.value)


def test_the_command_line_offers_every_layout() -> None:
    assert sorted(READING["layout"].choices) == sorted(["auto", *layouts.names()])


@pytest.mark.usefixtures("_odds")
def test_a_layout_from_outside_is_listed_recognised_and_read(tmp_path: Path) -> None:
    assert "odds-won" in layouts.names()
    assert "odds-won" in _choices()
    (tmp_path / "x.csv").write_text(FILE)
    assert recognise(tmp_path / "x.csv").layout == "odds-won"
    for options in (ReadOptions(), ReadOptions(layout="odds-won")):
        (f,) = read(tmp_path / "x.csv", options).values()
        np.testing.assert_allclose(f.positive, [0.25, 0.5, 0.8], rtol=1e-12)
        np.testing.assert_array_equal(f.outcomes, [0, 1, 1])


def test_without_its_file_the_layout_is_unknown(tmp_path: Path) -> None:
    assert "odds-won" not in layouts.names()
    assert "odds-won" not in _choices()
    (tmp_path / "x.csv").write_text(FILE)
    with pytest.raises(ValueError, match="not clear which column is the outcome"):
        recognise(tmp_path / "x.csv")


def test_the_order_of_precedence_is_the_documented_one() -> None:
    order = ["ensemble", "lm-eval", "counts", "long", "pairs", "wide", "top", "binary", "realised"]
    assert list(layouts.by_precedence()) == order
    assert layouts.__doc__ is not None
    assert f"Precedence: {', '.join(f'{i} {name}' for i, name in enumerate(order))}." in layouts.__doc__


@pytest.mark.parametrize("name", layouts.names())
def test_every_layout_offers_match_and_build(name: str) -> None:
    layout = layouts.load(name)
    assert callable(layout.match)
    assert callable(layout.build)
    assert layout.__doc__


def test_layouts_are_asked_nowhere_by_name() -> None:
    """Outside their own files, code asks what a match says and not which layout it is of."""
    package = Path(layouts.__file__).parents[2]
    own = Path(layouts.__file__).parent
    for file in package.rglob("*.py"):
        if own not in file.parents:
            text = file.read_text()
            assert file.parent.name != "read" or ".kind ==" not in text.replace(".dtype.kind ==", ""), file
            assert not any(f'layout == "{name}"' in text for name in layouts.names()), file
