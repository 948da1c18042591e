"""The assessment: everything that can be said about one set of forecasts, as data and as people read it.

An assessment read from JSON holds what the document holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from veracity.estimate.estimates import Estimates
from veracity.records.sections import Provenance
from veracity.results.document import build, encode, expect_schema, parse, plain
from veracity.results.schema import OPTIONAL, SCHEMA, SECTIONS, section_types
from veracity.results.tabular import Tabular

if TYPE_CHECKING:
    from veracity.results.calibrator import Calibrator
    from veracity.results.estimate import Estimate


@dataclass(frozen=True, eq=False, repr=False)
class Assessment(Estimates, Tabular):
    """Everything that can be said about one set of forecasts.

    >>> from veracity import assess
    >>> a = assess([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> round(a.reported.geometric_accuracy, 6), round(a.scores.half_brier, 6)
    (0.741559, 0.075)
    """

    model: str | None = None
    provenance: Provenance | None = None
    library: str = ""  # whose frames the caller uses

    def fix(self) -> Calibrator:
        """Return the calibrator that the advice means; it changes nothing where none is advised."""
        from veracity.results.calibrator import calibrator

        return calibrator(self)

    def estimate(self, y_proba: Any, *, r: Any = ()) -> Estimate:
        """Return what forecasts without outcomes would score, if these cases' recalibration still holds for them."""
        from veracity.results.estimate import estimate

        return estimate(self, y_proba, r=r, level=self.level)

    def document(self) -> dict[str, Any]:
        """Return the JSON document as Python values, every section computed."""
        sections = {name: getattr(self, attribute) for name, attribute in SECTIONS.items()}
        return {"schema": SCHEMA, **plain(sections)}

    @classmethod
    def from_json(cls, text: str) -> Assessment:
        """Return the assessment that `to_json` wrote."""
        return cls.from_document(parse(text))

    @classmethod
    def from_document(cls, document: Any) -> Assessment:
        """Return the assessment of a document; anything else is a ValueError with the place."""
        expect_schema(document, SCHEMA, "one assessment")
        lacking = [name for name in SECTIONS if name not in document and name not in OPTIONAL]
        if lacking:
            raise ValueError(f"text: a document without {lacking[0]}; give all that to_json() returned")
        read_back = cls(None)
        for name, kind in section_types().items():
            if name in document:
                vars(read_back)[SECTIONS[name]] = build(kind, document[name], name)
        return read_back

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Assessment):
            return NotImplemented
        mine, theirs = (encode({**a.document(), "provenance": None}) for a in (self, other))
        return mine == theirs

    __hash__ = None  # type: ignore[assignment]
