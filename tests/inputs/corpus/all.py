"""All shapes, by whose files they are."""

from __future__ import annotations

from . import clinic, decisions, language, science, several, sports, spreadsheets, texts, verification, weather
from .shapes import Shape

MODULES = (science, several, weather, verification, clinic, spreadsheets, sports, language, decisions, texts)
SECTIONS: dict[str, list[Shape]] = {str(module.__doc__).rstrip("."): module.SHAPES for module in MODULES}
SHAPES = [shape for shapes in SECTIONS.values() for shape in shapes]
