"""Files in the shapes that people have: each is read as a person would, or refused with a command that is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inputs.corpus import check
from tests.inputs.corpus.all import SHAPES
from tests.inputs.corpus.shapes import Shape


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_is_read_as_meant_or_refused_with_the_right_command(
    shape: Shape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    check.write(shape, tmp_path)
    assert check.problems(shape) == []


def test_at_least_120_shapes_of_their_own() -> None:
    assert len({shape.name for shape in SHAPES}) == len(SHAPES) >= 120
    assert all(shape.losses or shape.says for shape in SHAPES)
    assert all(shape.losses for shape in SHAPES if shape.remedy and shape.layout != "table")
