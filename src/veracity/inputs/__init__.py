"""Arrays and arguments become `Forecasts`: every check once.

Everything that enters veracity becomes a `Forecasts`; nothing downstream checks its input again.
`prepare` settles shapes, labels and scales; `check` looks at every value; `refuse` raises the message for the problems
that a kernel counted.
"""

from __future__ import annotations

from .check import Percentages, check, refuse, without_outcomes
from .columns import NothingLeft
from .forecasts import Forecasts
from .names import Names
from .prepare import prepare, prepare_realised

__all__ = [
    "Forecasts",
    "Names",
    "NothingLeft",
    "Percentages",
    "check",
    "prepare",
    "prepare_realised",
    "refuse",
    "without_outcomes",
]
