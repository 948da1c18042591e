"""The presentation of every result: JSON text, pictures, the report, and the printed answer."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from veracity.results.document import encode


class Presented:
    """A result with a document. Pages and pictures are imported when they are asked for."""

    def document(self) -> dict[str, Any]:
        """Return the JSON document as Python values."""
        raise NotImplementedError

    def to_json(self, indent: int | None = None) -> str:
        return encode(self.document(), indent)

    def plot(self, name: str | None = None) -> Any:
        """Return a picture by name, an Altair chart; without a name the usual one, and the names are printed."""
        return import_module("veracity.plots").chart(name, self)

    def report(self, path: Any) -> None:
        """Write the report, one HTML file that opens offline."""
        import_module("veracity.show").write(self, path)

    def _repr_html_(self) -> str:
        html: str = import_module("veracity.show").to_notebook(self)
        return html

    def __repr__(self) -> str:
        text: str = import_module("veracity.show").to_terminal(self, 100)
        return text
