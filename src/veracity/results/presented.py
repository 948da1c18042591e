"""The presentation of every result: JSON text, pictures, the report, and the printed answer."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veracity.extras import extras
from veracity.results.document import encode

if TYPE_CHECKING:
    from altair.typing import ChartType


class Presented:
    """A result with a document. Pages and pictures are imported when they are asked for."""

    def document(self) -> dict[str, Any]:
        """Return the JSON document as Python values."""
        raise NotImplementedError

    def to_json(self, indent: int | None = None) -> str:
        """Return the document as JSON text; infinities and NaN as words."""
        return encode(self.document(), indent)

    def to_csv(self) -> str:
        """Return every reading as CSV text, one line each."""
        return str(import_module("veracity.show").to_csv(self))

    def to_markdown(self) -> str:
        """Return the answer as Markdown."""
        return str(import_module("veracity.show").to_markdown(self))

    def plot(self, name: str | None = None, **options: Any) -> ChartType:
        """Return a picture by name, an Altair chart; without a name the usual one, and the names are printed."""
        with extras():
            chart: ChartType = import_module("veracity.plots").chart(name, self, **options)
            return chart

    def report(self, path: str | Path) -> None:
        """Write the report, one HTML file that opens offline, or a PDF by the ending of the path."""
        with extras():
            import_module("veracity.show").write(self, path)

    def _repr_html_(self) -> str:
        return str(import_module("veracity.show").to_notebook(self))

    def __repr__(self) -> str:
        return str(import_module("veracity.show").to_terminal(self, 100))
