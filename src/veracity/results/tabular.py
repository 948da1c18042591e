"""An assessment as data for other tools: a frame of the caller's library, and a flat dictionary of numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, overload

from veracity.extras import extras
from veracity.results.document import readings
from veracity.results.presented import Presented
from veracity.results.schema import SECTIONS

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from narwhals.typing import IntoDataFrame

FLAT = (
    *("scores", "skill", "reported", "expected", "measured", "divergence"),
    *("papers", "source", "source_divergence", "calibration_slope", "spread_ratio", "verdict_detail"),
    *("decomposition", "losses"),
)
LIBRARIES = ("pandas", "polars", "pyarrow")


class Tabular(Presented):
    """A result whose readings make a table."""

    library: str = ""  # whose frames the caller uses

    def rows(self) -> list[dict[str, Any]]:
        """Return the readings as a flat table: name, value, low, high, method, reason."""
        return [row for name in FLAT for row in readings(getattr(self, SECTIONS[name]), name)]

    @overload
    def to_frame(self, library: None = None) -> IntoDataFrame: ...
    @overload
    def to_frame(self, library: Literal["polars"]) -> polars.DataFrame: ...
    @overload
    def to_frame(self, library: Literal["pandas"]) -> pandas.DataFrame: ...
    @overload
    def to_frame(self, library: Literal["pyarrow"]) -> pyarrow.Table: ...

    def to_frame(self, library: str | None = None) -> Any:
        """Return the readings as a frame: name, value, low, high, method, reason.

        library : {"pandas", "polars", "pyarrow"}, optional
            Default: that of the arrays or frame that were assessed, else polars.
        """
        chosen = library or self.library or "polars"
        if chosen not in LIBRARIES:
            raise ValueError(f"library: {library!r:.80} is not one of {', '.join(map(repr, LIBRARIES))}")
        with extras():
            from veracity.read import frame_of

            return frame_of(self.rows(), chosen)

    def to_metrics(self) -> dict[str, float]:
        """Return every known reading as a number by its path in the JSON document, for trackers of experiments.

        >>> from veracity import assess
        >>> round(assess([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]).to_metrics()["scores.log_loss"], 4)
        0.299
        """
        known = {str(row["name"]): row["value"] for row in self.rows()}
        return {name: float(v) for name, v in known.items() if v is not None and not math.isnan(float(v))}


def library_of(*data: object) -> str:
    """Return the library of frames that the caller uses; empty for others.

    >>> library_of([0, 1])
    ''
    """
    for one in data:
        library = type(one).__module__.partition(".")[0]
        if library in LIBRARIES:
            return library
    return ""
