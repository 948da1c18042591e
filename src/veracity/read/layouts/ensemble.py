"""Members of an ensemble and a measured outcome: the share of members above a limit is the probability of exceeding it.

With limits x1 < x2 < …, m_c of M members in class c give (m_c + 1/3)/(M + k/3) for k classes, so that no class is ruled
out because no member is in it; two classes: (m + 1/3)/(M + 2/3). `raw` gives m_c/M.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from veracity.inputs import Forecasts, prepare
from veracity.inputs.names import run_of
from veracity.read.build import ModelRows, between, matrix, numbers_in
from veracity.records import findings_of_input as of_input
from veracity.records.layout import Classes, Event, Layout
from veracity.types import Array, Floats

from ...options import ReadOptions
from .. import column_meaning as meaning
from ..free_columns import Columns

RULE, OPTION = 0, "members"
PRIOR = 1 / 3  # of a member in each class (Tukey's plotting position for two)


def match(columns: Columns) -> Layout | None:
    """The columns of --members, and a column of numbers for the outcome."""
    options = columns.options
    if not options.members:
        return None
    members = tuple(c for _, _, c in columns.matched("members", options.members) if c != options.label)
    outcome = _outcome(columns, members)
    asked = _limits(options)
    limits = [f"{x:g}" for x in asked]
    between = [f"{low}–{high}" for low, high in pairwise(limits)]
    several = len(limits) > 1
    labels = (f"≤{limits[0]}", *between, f">{limits[-1]}") if several else ("0", "1")
    return Layout(
        ((columns.model, members),),
        labels if several else (0, 1),
        outcome,
        labels=labels,
        findings=(of_input.RawShares() if "raw" in options.exceeds else of_input.Ensemble(classes=len(labels)),),
        certain=True,
        derived=True,
        meaning=Classes(labels) if several else Event(above=asked[0], of=outcome or ""),
        basis=f"share of {len(members)} members",
    )


def _limits(options: ReadOptions) -> tuple[float, ...]:
    return tuple(x for x in options.exceeds if x != "raw")


def _outcome(columns: Columns, members: tuple[str, ...]) -> str:
    """Return the outcome that is given, or the only one with a known name, or the only other column of numbers."""
    if columns.options.label:
        name = columns.table.column(columns.options.label)
        if not columns.all[name].numeric:
            raise columns.error(f"outcome `{name}` holds text: it exceeds no limit.", "name the measured outcome")
        return name
    numeric = columns.candidates(lambda c: c.numeric, members)
    known = [c for c in numeric if c.key in meaning.OUTCOMES]
    candidates = known if len(known) == 1 else numeric
    if len(candidates) != 1:
        raise columns.error(
            f"no single column of numbers beside {run_of(members)} could be the outcome.",
            f"name it:  {columns.option('label', 'COL')}",
        )
    return candidates[0].name


def build(rows: ModelRows) -> Forecasts:
    limits = _limits(rows.options)
    p = probabilities(matrix(rows.frame, rows.columns), limits, "raw" in rows.options.exceeds)
    outcomes = between(limits, numbers_in(rows.frame[str(rows.match.outcome)]))
    return prepare(outcomes, p[:, 1] if p.shape[1] == 2 else p, classes=rows.match.classes, **rows.arguments())


def probabilities(members: Array, limits: tuple[float, ...], plain: bool = False) -> Array:
    """Return (n, k) probabilities of the classes between limits; NaN where every member is missing.

    >>> probabilities(np.array([[0.0, 3.0, 5.0]]), (1.0,)).round(4).tolist()
    [[0.3636, 0.6364]]
    """
    members = members.reshape(len(members), -1).astype(np.float64)
    above = np.stack([(members > x).sum(axis=1) for x in limits], axis=1)
    present = (~np.isnan(members)).sum(axis=1)
    edges = np.column_stack([present, above, np.zeros(len(members), dtype=np.int64)])
    counts = (edges[:, :-1] - edges[:, 1:]).astype(np.float64)
    prior = 0.0 if plain else PRIOR
    with np.errstate(invalid="ignore", divide="ignore"):
        p: Floats = (counts + prior) / (present[:, None] + prior * counts.shape[1])
    p[present == 0] = np.nan
    return p
