"""The presentation of every result: JSON text, pictures, the report, and the printed answer."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

from veracity import __version__
from veracity.extras import extras
from veracity.progress import working
from veracity.records.findings import Finding
from veracity.results.document import build, encode, expect_schema, hints, parse, plain

if TYPE_CHECKING:
    from altair.typing import ChartType

HEIGHT = 720  # pixels: what a laptop shows of a notebook at once


@dataclass(frozen=True, repr=False)
class Page:
    """A report as HTML, which a notebook shows in a frame of its own."""

    html: str

    def _repr_html_(self) -> str:
        how = (
            f'sandbox="allow-scripts allow-downloads" style="width: 100%; height: {HEIGHT}px; border: 1px solid #8886"'
        )
        return f'<iframe title="report" {how} srcdoc="{escape(self.html)}"></iframe>'

    def __repr__(self) -> str:
        return f"a report of {len(self.html) >> 10:,} kB; as a file:  .report('report.html')"


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

    @overload
    def report(self, path: None = None) -> Page: ...
    @overload
    def report(self, path: str | Path) -> None: ...

    @working("writing the report")
    def report(self, path: str | Path | None = None) -> Page | None:
        """Write the report, one HTML file that opens offline, or a PDF by the ending of the path.

        Without a path the report is returned: a notebook shows it below the cell.
        """
        with extras():
            if path is None:
                return Page(str(import_module("veracity.show").to_html(self)))
            import_module("veracity.show").write(self, path)
        return None

    @working("assessing")
    def _repr_html_(self) -> str:
        return str(import_module("veracity.show").to_notebook(self))

    @working("assessing")
    def __repr__(self) -> str:
        return str(import_module("veracity.show").to_terminal(self, 100))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Recorded(Presented):
    """A result that is one record, which its document holds under a name of its own."""

    SCHEMA: ClassVar[str]
    RECORD: ClassVar[str]

    record: Any
    model: str | None = None
    version: str = __version__

    @property
    def findings(self) -> tuple[Finding, ...]:
        findings: tuple[Finding, ...] = self.record.findings
        return findings

    def document(self) -> dict[str, Any]:
        record = {**plain(self.record), "findings": plain(self.findings)}
        return {"schema": self.SCHEMA, "model": self.model, self.RECORD: record, "version": self.version}

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the result that `to_json` wrote."""
        document = parse(text)
        expect_schema(document, cls.SCHEMA, f"{'an' if cls.RECORD[0] in 'aeiou' else 'a'} {cls.RECORD}")
        if not isinstance(document.get(cls.RECORD), dict):
            raise ValueError(f"text: without {cls.RECORD}")
        record = build(hints(cls)["record"], document[cls.RECORD], cls.RECORD)
        return cls(record=record, model=document.get("model"), version=str(document.get("version")))

    def __eq__(self, other: object) -> bool:
        return encode(self.document()) == encode(other.document()) if isinstance(other, type(self)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]
