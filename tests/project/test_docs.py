"""docs/formulas.md and docs/files.md are what their generators write."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from docs import make_files
from veracity.formulas.rules import RULES
from veracity.measures import MEASURES, quantities
from veracity.results.schema import comparison_schema, schema
from veracity.show.cells import named_in_papers


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


def test_shapes_of_files_are_up_to_date() -> None:
    assert make_files.FILE.read_text() == make_files.text(), "run: python -m docs.make_files"


def test_every_constant_is_listed_with_its_source(generator: ModuleType) -> None:
    text = generator.text()
    for known in (*MEASURES, *RULES, *(word for word in quantities().values() if word.formula)):
        assert known.cite
        assert known.cite in text
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert len({line.split(" | ")[0] for line in lines}) > len(MEASURES) + len(RULES)


def test_no_label_means_two_things(generator: ModuleType) -> None:
    """The share of right picks is accuracy; the geometric mean is called the typical probability."""
    labels = {named_in_papers(quantity): quantity.path for quantity in quantities().values()}
    assert len(labels) == len(quantities())
    prose = re.sub(r"`[^`]*`", "", generator.text())
    assert len(re.findall(r"(?<!geometric )\baccuracy\b", prose, re.IGNORECASE)) == 2  # its label, in both tables


def test_every_limit_names_a_test_that_exists(root: Path) -> None:
    rows = [line for line in (root / "docs" / "limits.md").read_text().splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 10
    for row in rows:
        path, _, name = row.split("`")[-2].partition("::")
        assert f"def {name}(" in (root / path).read_text(), row


@pytest.mark.parametrize("page", ["limits.md", "reliability.md"])
def test_paths_and_links_of_the_pages_exist(page: str, root: Path) -> None:
    text = (root / "docs" / page).read_text()
    links = [root / "docs" / link for link in re.findall(r"\]\(([^)#:]+)\)", text)]
    paths = [root / path for path in re.findall(r"`((?:tests|src|docs)/[\w/.]+)", text)]
    assert [path for path in links + paths if not path.exists()] == []


def test_shipped_schema_follows_from_the_types(root: Path) -> None:
    for name, made in (("assessment-2.json", schema), ("comparison-2.json", comparison_schema)):
        shipped = (root / "src/veracity/schema" / name).read_text()
        assert json.loads(shipped) == json.loads(json.dumps(made())), "run: python docs/make_schema.py"


ROOT = Path(__file__).parents[2]
BOOKS = ("CONTRIBUTING.md", "docs/how_it_works.md")


@pytest.mark.parametrize("book", BOOKS)
def test_the_floors_in_the_documents_are_those_that_are_checked(book: str) -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    floors = contracts[0]["layers"][1:]  # without `__main__`
    text = (ROOT / book).read_text()
    at = [text.find(f"\n {floor}") for floor in floors]
    assert [text.count(f"\n {floor}") for floor in floors] == [1] * len(floors)
    assert at == sorted(at)


@pytest.mark.parametrize("book", BOOKS)
def test_every_file_that_the_documents_name_exists(book: str) -> None:
    named = set(re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.[a-z]+)?)`", (ROOT / book).read_text()))
    assert len(named) > 10
    assert sorted(n for n in named if not any((ROOT / base / n).exists() for base in ("", "src/veracity"))) == []
