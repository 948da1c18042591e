"""The one input type: forecasts with outcomes, validated once.

Everything that enters veracity becomes a `Forecasts`; nothing downstream checks its input again.
`prepare` settles shapes, labels and scales; `check` looks at every value; `refuse` raises the message for the problems
that a kernel counted.
"""

from __future__ import annotations

from . import findings_of_input, findings_of_results
from .check import check, refuse
from .columns import NothingLeft
from .findings import Finding, merge
from .names import Names
from .prepare import prepare, prepare_realised
from .types import Forecasts

__all__ = ["Finding", "Forecasts", "Names", "NothingLeft", "check", "findings_of_input", "findings_of_results", "merge"]
__all__ += ["prepare", "prepare_realised", "refuse"]
