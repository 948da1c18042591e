"""Labels, numbers and sentences as people read them, the same in terminal, report, notebook and Markdown.

`labels`, `numbers` and `text` serve every page; `assessment` holds the sentences about one set of forecasts,
`verdict` those of its verdict, `stability` those about time and groups, `findings` that of every kind of finding,
`comparison` those about several sets, `decisions` those about thresholds and costs, `tables` those about a table of
counts. The names of the first four are here too.
"""

# ruff: noqa: F403

from __future__ import annotations

from . import comparison as comparison
from . import decisions as decisions
from . import monitoring as monitoring
from . import stability as stability
from . import verdict as verdict
from .assessment import *
from .findings import sentence_of as sentence_of
from .labels import *
from .numbers import *
from .text import *
