"""docs/formulas.md is what its generator writes."""

from __future__ import annotations

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from veracity.formulas.rules import RULES
from veracity.measures import MEASURES
from veracity.words import WORDS


@pytest.fixture
def generator(root: Path) -> ModuleType:
    spec = spec_from_file_location("make_formulas", root / "docs" / "make_formulas.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["make_formulas"] = module
    spec.loader.exec_module(module)
    return module


def test_formulas_are_up_to_date(generator: ModuleType) -> None:
    assert generator.FILE.read_text() == generator.text(), "run: python docs/make_formulas.py"


def test_every_constant_is_listed_with_its_source(generator: ModuleType) -> None:
    text = generator.text()
    for known in (*MEASURES, *RULES, *(word for word in WORDS.values() if word.formula)):
        assert known.cite
        assert known.cite in text
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert len({line.split(" | ")[0] for line in lines}) > len(MEASURES) + len(RULES)


def test_the_bare_word_is_only_a_name_in_code(generator: ModuleType) -> None:
    prose = re.sub(r"`[^`]*`", "", generator.text())
    for found in re.finditer(r"(\w+)\s+accuracy", prose):
        assert found[1] in ("geometric", "prediction")
