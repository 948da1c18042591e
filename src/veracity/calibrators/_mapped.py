"""A fitted map applied to forecasts whose classes may stand in another order."""

from __future__ import annotations

import numpy as np

from veracity.inputs import Forecasts
from veracity.types import Array

from ._fitted import Fitted


def mapped_rows(fitted: Fitted, forecasts: Forecasts) -> Array:
    """Return mapped rows in the forecasts' order of classes; refuse values outside [0, 1]."""
    theirs, ours = [str(c) for c in forecasts.classes], [str(c) for c in fitted.classes]
    if theirs == ours:
        rows = fitted(forecasts.scores)
    elif sorted(theirs) == sorted(ours):
        order = [theirs.index(name) for name in ours]
        rows = fitted(forecasts.matrix[:, order])[:, [ours.index(name) for name in theirs]]
    else:
        raise ValueError(f"the map is for classes {', '.join(ours)}, the forecasts are for {', '.join(theirs)}")
    bad = (rows < 0.0) | (rows > 1.0)
    if bad.any():
        first = np.argwhere(bad)[0]
        many = max(int(bad.sum()), getattr(fitted, "outside", 0))  # of these rows, or of all it was fitted on
        written, remedy = "", 'method="multiplicative"'
        if forecasts.names.style == "file":
            written, remedy = "; nothing was written", "adjust --rule log   or   calibrate fit --map multiplicative"
        raise forecasts.names.error(
            f"{many:,} values would leave [0, 1] (first: row {forecasts.row(int(first[0]))}, class "
            f"{forecasts.classes[first[1]]}, {rows[tuple(first)]:.6g}): no probabilities{written}",
            f"keep them inside:  {remedy}",
        )
    return rows
