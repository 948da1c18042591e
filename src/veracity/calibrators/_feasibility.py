"""Feasibility of given column means for rows with zeros, decided exactly by maximum flow (KF15, Theorem 1 with zeros).

With h(J) = share of rows that give some class of J a positive score − target mass of J: no matrix with the rows'
zeros, row sums one and column means `target` exists iff h(J) < 0 for some J; weights exist iff h(J) = 0 only for sets J
that no row straddles; otherwise the weights run away and only their limit exists, with some entries forced to zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veracity.types import Array

TOLERANCE = 1e-9  # of mass, where target and weights are not whole numbers of rows
MOST_ENTRIES = 20_000_000  # of patterns; beyond, the solver itself detects infeasibility
CAPACITY = 2**31 - 1  # the flow solver counts in 32-bit integers


class InfeasibleTarget(ValueError):
    """No adjusted scores exist: too few rows give the named classes any probability.

    >>> import veracity as vc
    >>> try:
    ...     vc.adjust([[1.0, 0.0], [1.0, 0.0]], [0.5, 0.5])
    ... except vc.InfeasibleTarget as problem:
    ...     print(problem.classes)
    (1,)
    """

    def __init__(self, classes: tuple[Any, ...], need: float, have: float) -> None:
        self.classes, self.need, self.have = classes, need, have
        names = ", ".join(sorted(map(str, classes)))
        super().__init__(
            f"target: no adjustment exists: the target gives {need:.6g} to {names}, but only {have:.6g} of the rows "
            f"give any of them a positive score; lower the target there, or use rule='brier'"
        )


def whole_capacities(mass: Array, target: Array) -> tuple[Array, Array] | None:
    """Return the mass of patterns and classes as integers with equal totals, if both are multiples of some unit."""
    total = mass.sum()
    if not np.array_equal(mass, np.rint(mass)):
        return None
    for unit in (1, len(target), 10, 100, 1000, 10_000, 100_000):
        wanted = target * total * unit
        counts = np.rint(wanted)
        if total * unit > CAPACITY:
            return None
        if np.abs(wanted - counts).max() <= TOLERANCE * total and counts.sum() == total * unit:
            return (mass * unit).astype(np.int32), counts.astype(np.int32)
    return None


def blocks_of_support(patterns: Array, mass: Array, target: Array, classes: tuple[Any, ...]) -> tuple[Array, Array]:
    """Return block and level of each class, or raise InfeasibleTarget.

    patterns (m, k) bool: the distinct supports of rows, with their mass (m,); target (k,) all positive.
    Classes of one block have finite weight ratios. In a row only the classes of the highest level in its support keep
    probability; all levels are 0 when exact weights exist.
    """
    m, k = patterns.shape
    if patterns.all():  # no zeros: every class is tied to every other
        return np.zeros(k, int), np.zeros(k, int)
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components, maximum_flow

    row, column = np.nonzero(patterns)
    support = csr_array((np.ones(len(row), np.int8), (row, m + column)), shape=(m + k, m + k))
    if len(row) > MOST_ENTRIES:
        return connected_components(support, directed=False)[1][m:], np.zeros(k, int)
    whole = whole_capacities(mass, target)
    rows, columns = whole or (np.rint(part * 2**30).astype(np.int32) for part in (mass / mass.sum(), target))
    source, sink = 0, m + k + 1
    heads = np.concatenate([np.zeros(m, int), row + 1, m + 1 + np.arange(k)])
    tails = np.concatenate([1 + np.arange(m), m + 1 + column, np.full(k, sink)])
    capacity = csr_array((np.concatenate([rows, rows[row], columns]), (heads, tails)), shape=(m + k + 2, m + k + 2))
    flow = maximum_flow(capacity, source, sink)

    if flow.flow_value < columns.sum():
        # Classes that can still send flow to the sink: the smallest set that wants more mass than its rows have.
        residual = csr_array(capacity - flow.flow)
        residual.data[residual.data < 0] = 0
        residual.eliminate_zeros()
        short = breadth_first_order(csr_array(residual.T), sink, return_predecessors=False)
        chosen = np.isin(m + 1 + np.arange(k), short)
        need, have = float(target[chosen].sum()), float(mass[patterns[:, chosen].any(axis=1)].sum() / mass.sum())
        if need - have > (0.0 if whole is not None else TOLERANCE):
            raise InfeasibleTarget(tuple(c for c, short in zip(classes, chosen, strict=True) if short), need, have)

    if whole is None:  # rounding hides which entries are forced to zero: the solver approaches their limit
        return connected_components(support, directed=False)[1][m:], np.zeros(k, int)
    sent = np.asarray(flow.flow[row + 1, m + 1 + column]).ravel() > 0
    back = csr_array((np.ones(sent.sum(), np.int8), (m + column[sent], row[sent])), shape=support.shape)
    label = connected_components(csr_array(support + back), directed=True, connection="strong")[1]
    return label[m:], levels(label[row], label[m + column])[label[m:]]


def levels(above: Array, below: Array) -> Array:
    """Return the longest path down from each block along the forced-zero entries above → below."""
    level = np.zeros(max(above.max(), below.max()) + 1, int)
    steps = np.unique(np.column_stack([above, below])[above != below], axis=0)
    for _ in range(len(level)):
        raised = level.copy()
        np.maximum.at(raised, steps[:, 0], level[steps[:, 1]] + 1)
        if np.array_equal(raised, level):
            break
        level = raised
    return level
