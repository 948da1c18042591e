"""The rows of one input while it is prepared: left out, split, rescaled, turned into probabilities."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .arguments import groups_of, keys_of, moments_of, row_column
from .columns import NothingLeft, case_weights, whole_counts
from .findings import Finding
from .names import Names, listed, number
from .types import Array


@dataclass
class InputRows:
    """The arrays of one input, which share their rows, with the numbers of the rows that are left."""

    n: int
    first_row: int
    arrays: dict[str, Any] = field(default_factory=dict)
    rows: Array | None = None
    groups: tuple[str, ...] = ()

    def add(
        self,
        names: Names,
        sample_weight: Any = None,
        counts: Any = None,
        groups: Any = None,
        case: Any = None,
        clusters: Any = None,
        time: Any = None,
    ) -> None:
        """Add the columns that every input may have, each checked."""
        self.arrays |= {
            "weights": case_weights(sample_weight, self.n, self.number, names),
            "counts": whole_counts(counts, self.n, self.number, names),
            "case": row_column(case, self.n, "case", names),
            "clusters": keys_of(row_column(clusters, self.n, "clusters", names)),
            "time": moments_of(row_column(time, self.n, "time", names), names),
        }
        columns = groups_of(groups, self.n, names)
        self.groups = tuple(columns)
        self.arrays |= {f"group {name}": column for name, column in columns.items()}

    def columns(self) -> dict[str, Any]:
        """Return these columns, and the row numbers, as fields of `Forecasts`."""
        shared = {name: self.arrays[name] for name in ("weights", "counts", "case", "clusters", "time")}
        groups = {name: self.arrays[f"group {name}"] for name in self.groups}
        return {**shared, "groups": groups, "first_row": self.first_row, "rows": self.rows}

    def number(self, index: int) -> int:
        return int(self.rows[index]) if self.rows is not None else self.first_row + index

    def numbers(self) -> Array:
        return self.rows if self.rows is not None else np.arange(self.first_row, self.first_row + self.n)

    def take(self, index: Array) -> None:
        self.rows = self.numbers()[index]
        self.arrays = {name: None if values is None else values[index] for name, values in self.arrays.items()}

    def leave_out(self, out: Array, code: str, names: Names) -> list[Finding]:
        """Leave out the rows where `out` holds; return the finding that counts them."""
        total = len(out)
        if not out.any():  # each of many parts states its rows, so that the total is that of all parts
            return [] if names.whole else [Finding.of(code, 0, total)]
        gone = self.numbers()[out]
        if len(gone) == total:
            why = {"missing_rows": "missing values", "zero_weight": "weight 0", "zero_count": "count 0"}
            problem = names.error(
                f"no row is left: all {total:,} have {why.get(code, 'outcomes between 0 and 1')}.",
                "look at the columns; there is nothing to assess",
            )
            raise NothingLeft(str(problem), Finding.of(code, total, total, gone))
        self.take(np.flatnonzero(~out))
        return [Finding.of(code, len(gone), total, gone)]

    def settle_soft(self, shares: Array, soft: str, names: Names) -> list[Finding]:
        """Split outcomes between 0 and 1 into fractions of one case per class, leave them out, or refuse them."""
        between: Array = np.asarray(((shares > 0) & (shares < 1)).any(axis=1))
        total, found = len(shares), self.numbers()[between]
        self.arrays["y"] = np.argmax(shares, axis=1)
        if not len(found):
            self.arrays["shares"] = None
            return self.leave_out(between, "soft_omitted", names) if soft == "omit" else []
        if soft == "refuse":
            raise names.error(
                f"{len(found):,} of {total:,} outcomes are between 0 and 1 (first: row {found[0]}).",
                f"split them:  {names.option('soft', 'split')}      leave them out:  {names.option('soft', 'omit')}",
            )
        if soft == "omit":
            return self.leave_out(between, "soft_omitted", names)
        row, column = np.nonzero(shares > 0)
        if self.arrays["case"] is None:
            self.arrays["case"] = self.numbers()
        weights = self.arrays["weights"]
        fractions = shares[row, column] * (1.0 if weights is None else weights[row])
        self.take(row)
        self.arrays |= {"y": column, "weights": fractions, "shares": None}
        return [Finding.of("soft_outcomes", len(found), total, found, omit=names.option("soft", "omit"))]


def from_logs(p: Array, y: Array, scale: str, part: InputRows, names: Names) -> tuple[Array, Array]:
    """Return probabilities from logits or log-probabilities, and the outcome's log-probability without underflow."""
    from scipy.special import expit, log_expit, log_softmax

    z = p.astype(np.float64)
    if scale == "logit":
        wide = z.reshape(len(z), -1)
        lost = (wide == np.inf).any(axis=1) if z.ndim == 2 else np.zeros(len(z), bool)
        lost |= (wide == -np.inf).all(axis=1) & (z.ndim == 2)
        if lost.any():
            i = int(np.argmax(lost))
            raise names.error(
                f"row {part.number(i)} of {names.called(names.forecast)} holds {listed(z[i])}: "
                "infinite logits leave no probabilities.",
                "correct the row, or leave it out",
            )
        if z.ndim == 1:
            return expit(z), np.where(y == 1, log_expit(z), log_expit(-z))
        log_p = log_softmax(z, axis=1)
        return np.exp(log_p), log_p[np.arange(len(y)), y]
    above = z > 1e-6  # rounding of the logarithm of one
    if above.any():
        i, j = np.argwhere(above.reshape(len(z), -1))[0]
        raise names.error(
            f"{names.at(part.number(int(i)), None if z.ndim == 1 else int(j))} = {z.reshape(len(z), -1)[i, j]:g}: "
            "a log-probability cannot be above 0.",
            f"if these are logits:  {names.option('scale', 'logit')}",
        )
    z = np.minimum(z, 0.0)
    if z.ndim == 1:
        with np.errstate(divide="ignore"):
            return np.exp(z), np.where(y == 1, z, np.log(-np.expm1(z)))
    return np.exp(z), z[np.arange(len(y)), y]


def not_offered(p: Array, y: Array, scale: str, part: InputRows, names: Names) -> tuple[Array, Array]:
    """Return the forecasts with probability 0 for missing options, and (n, k) which options were offered."""
    if p.ndim == 1:
        raise names.error("options that differ by row need one column per option.")
    offered: Array = ~np.isnan(p)
    lost = ~offered[np.arange(len(p)), y]
    if lost.any():
        i = int(np.argmax(lost))
        raise names.error(
            f"row {part.number(i)}: the outcome (`{names.columns[int(y[i])] if names.columns else int(y[i])}`) "
            "was not offered there.",
            "correct the outcome, or leave the row out",
        )
    return np.where(offered, p, -np.inf if scale in ("logit", "log") else 0.0), offered


def normalised(p: Array, allowed: float, part: InputRows, names: Names) -> tuple[Array, list[Finding]]:
    """Return the forecasts with rows that do not sum to one divided by their sum; the others are unchanged."""
    if p.ndim == 1:
        return p, []
    sums = p.sum(axis=1, dtype=np.float64)
    off = ~(np.abs(sums - 1.0) <= allowed) | (p > 1).any(axis=1)
    if not off.any():
        return p, []
    hopeless = off & ~((sums > 0) & np.isfinite(sums) & (p >= 0).all(axis=1))
    if hopeless.any() and not np.isnan(p[hopeless]).any():
        i = int(np.argmax(hopeless))
        raise names.error(
            f"row {part.number(i)} of {names.called(names.forecast)} sums to {number(sums[i])}: it cannot be rescaled.",
            "correct the row, or leave it out",
        )
    p = p.astype(np.float64)
    p[off] /= sums[off, None]
    rows = part.numbers()[off]
    return p, [Finding.of("rescaled_rows", len(rows), len(p), rows)]
