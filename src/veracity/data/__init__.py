"""The one input type: forecasts with what happened, validated once.

Everything that enters veracity becomes a `Forecasts`; nothing downstream checks its input again.
`prepare` settles shapes, labels and scales; `check` looks at every value; `refuse` words what a kernel saw.
"""

from __future__ import annotations

from ..kernels.result import tolerance as row_sum_tolerance
from .check import check, refuse
from .columns import NothingLeft
from .findings import Finding, merge, saying_something, zero_probability
from .names import Names
from .prepare import prepare, prepare_realised
from .types import Forecasts

__all__ = [
    "Finding",
    "Forecasts",
    "Names",
    "NothingLeft",
    "check",
    "merge",
    "prepare",
    "prepare_realised",
    "refuse",
    "row_sum_tolerance",
    "saying_something",
    "zero_probability",
]
