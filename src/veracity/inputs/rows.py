"""The rows of one input while it is prepared: left out, split, rescaled, turned into probabilities."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from veracity.inputs.arguments import cluster_keys, groups_of, ideal_matrix, moments_of, row_column
from veracity.inputs.columns import NothingLeft, case_weights, whole_counts
from veracity.inputs.forecasts import Forecasts
from veracity.inputs.names import listed, number
from veracity.options import refuse_both
from veracity.records import findings_of_input as of_input
from veracity.records.findings import Finding, first_rows
from veracity.types import Array

LOGS = ("logit", "log")  # scales


def columns_of(
    f: Forecasts,
    sample_weight: Any = None,
    counts: Any = None,
    groups: Any = None,
    case: Any = None,
    clusters: Any = None,
    time: Any = None,
    ideal: Any = None,
    features: Any = None,
) -> dict[str, Any]:
    """Return the columns that the forecasts f of any input may have, each checked."""
    n, names = len(f), f.names
    if clusters is not None and time is not None:
        refuse_both(("cluster", "time"), arrays=True)
    return {
        "weights": case_weights(sample_weight, n, f.row, names),
        "counts": whole_counts(counts, n, f.row, names),
        "case": row_column(case, n, "case", names),
        "clusters": cluster_keys(row_column(clusters, n, "clusters", names), f.row, names),
        "time": moments_of(row_column(time, n, "time", names), f.row, names),
        "groups": groups_of(groups, n, names),
        "ideal": ideal_matrix(ideal, f.probabilities, names),
        "features": row_column(features, n, "features", names, most=2),
    }


NOTHING_LEFT = {
    of_input.MissingRows: "missing values",
    of_input.ZeroWeight: "weight 0",
    of_input.ZeroCount: "count 0",
    of_input.SoftOmitted: "outcomes between 0 and 1",
}


@dataclass
class InputRows:
    """The rows that are left of one input, the shares of their outcomes where some are split, and the findings."""

    f: Forecasts
    shares: Array | None = None
    findings: list[Finding] = field(default_factory=list)

    def leave_out(self, out: Array, kind: type[of_input.RowsLeftOut]) -> None:
        """Leave out the rows where `out` holds, and add the finding that counts them."""
        total, names = len(out), self.f.names
        if not out.any():  # each of many parts states its rows, so that the total is that of all parts
            self.findings += [] if names.whole else [kind(0, total)]
            return
        gone = self.f.numbers[out]
        if len(gone) == total:
            problem = names.error(
                f"no row is left: all {total:,} have {NOTHING_LEFT[kind]}.",
                "look at the columns; there is nothing to assess",
            )
            raise NothingLeft(str(problem), kind(total, total, first_rows(gone)))
        kept = np.flatnonzero(~out)
        self.f, self.shares = self.f.take(kept), None if self.shares is None else self.shares[kept]
        self.findings.append(kind(len(gone), total, first_rows(gone)))

    def leave_out_empty(self) -> None:
        """Leave out rows with weight or count 0."""
        for column, kind in (("weights", of_input.ZeroWeight), ("counts", of_input.ZeroCount)):
            values = getattr(self.f, column)
            if values is not None and not (self.f.names.whole and values.all()):
                self.leave_out(values == 0, kind)

    def settle_absent(self, scale: str) -> None:
        """Take missing probabilities for classes that were not offered."""
        p = self.f.scores
        self.f, hidden = with_absent(self.f, scale), int(np.isnan(p).sum())
        self.findings += [of_input.NotOffered(hidden, p.size)] if hidden else []

    def normalise(self) -> None:
        """Divide rows that do not sum to one by their sum."""
        self.f, rescaled = normalised(self.f)
        self.findings += rescaled

    def settle_soft(self, soft: str) -> None:
        """Split outcomes between 0 and 1 into fractions of one case per class, leave them out, or refuse them."""
        f, names, shares = self.f, self.f.names, self.shares
        if shares is None:
            if soft == "omit":
                self.leave_out(np.zeros(len(f), dtype=bool), of_input.SoftOmitted)
            return
        between: Array = np.asarray(((shares > 0) & (shares < 1)).any(axis=1))
        total, soft_rows = int(f.copies.sum()), f.numbers[between]
        self.f = replace(f, outcomes=np.argmax(shares, axis=1))
        if soft == "omit":
            self.leave_out(between, of_input.SoftOmitted)
        elif len(soft_rows) and soft == "refuse":
            raise names.error(
                f"{len(soft_rows):,} of {total:,} outcomes are between 0 and 1 (first: row {soft_rows[0]}).",
                f"split them:  {names.option('soft', 'split')}      leave them out:  {names.option('soft', 'omit')}",
            )
        elif len(soft_rows):
            row, column = np.nonzero(shares > 0)
            fractions = shares[row, column] * (1.0 if f.weights is None else f.weights[row])
            whole = replace(f, case=f.numbers, split=True) if f.case is None else f
            self.f = replace(whole.take(row), outcomes=column, weights=fractions)
            cases = int(f.copies[between].sum())
            option = names.option("soft", "omit")
            self.findings.append(of_input.SoftOutcomes(cases, total, first_rows(soft_rows), option=option))


def from_logs(f: Forecasts, scale: str) -> Forecasts:
    """Return probabilities from logits or log-probabilities, with the outcome's log-probability without underflow."""
    from scipy.special import expit, log_expit, log_softmax

    names, z, y = f.names, f.scores.astype(np.float64), f.observed
    if scale == "logit":
        wide = z.reshape(len(z), -1)
        lost = (wide == np.inf).any(axis=1) if z.ndim == 2 else np.zeros(len(z), bool)
        lost |= (wide == -np.inf).all(axis=1) & (z.ndim == 2)
        if lost.any():
            i = int(np.argmax(lost))
            raise names.error(
                f"row {f.row(i)} of {names.called(names.forecast)} holds {listed(z[i])}: "
                "infinite logits leave no probabilities.",
                "correct the row, or leave it out",
            )
        if z.ndim == 1:
            return replace(f, probabilities=expit(z), log_realised=np.where(y == 1, log_expit(z), log_expit(-z)))
        z = log_softmax(z, axis=1)
    above = z > 1e-6  # rounding of the logarithm of one
    if above.any():
        i, j = np.argwhere(above.reshape(len(z), -1))[0]
        raise names.error(
            f"{names.at(f.row(int(i)), None if z.ndim == 1 else int(j))} = {z.reshape(len(z), -1)[i, j]:g}: "
            "a log-probability cannot be above 0.",
            f"if these are logits:  {names.option('scale', 'logit')}",
        )
    z = np.minimum(z, 0.0)
    with np.errstate(divide="ignore"):
        log_realised = np.where(y == 1, z, np.log(-np.expm1(z))) if z.ndim == 1 else z[np.arange(len(y)), y]
    return replace(f, probabilities=np.exp(z), log_realised=log_realised)


def with_absent(f: Forecasts, scale: str) -> Forecasts:
    """Return the forecasts with probability 0 for missing options, and (n, k) which options were offered."""
    p, y, names = f.scores, f.observed, f.names
    if p.ndim == 1:
        raise names.error("options that differ by row need one column per option.")
    offered: Array = ~np.isnan(p)
    lost = ~offered[np.arange(len(p)), y]
    if lost.any():
        i = int(np.argmax(lost))
        raise names.error(
            f"row {f.row(i)}: the outcome (`{names.columns[int(y[i])] if names.columns else int(y[i])}`) "
            "was not offered there.",
            "correct the outcome, or leave the row out",
        )
    return replace(f, probabilities=np.where(offered, p, -np.inf if scale in LOGS else 0.0), offered=offered)


def normalised(f: Forecasts) -> tuple[Forecasts, list[Finding]]:
    """Return the forecasts with rows that do not sum to one divided by their sum; the others are unchanged."""
    p, names = f.scores, f.names
    if p.ndim == 1:
        return f, []
    sums = p.sum(axis=1, dtype=np.float64)
    off = ~(np.abs(sums - 1.0) <= f.allowed) | (p > 1).any(axis=1)
    if not off.any():
        return f, []
    hopeless = off & ~((sums > 0) & np.isfinite(sums) & (p >= 0).all(axis=1))
    if hopeless.any() and not np.isnan(p[hopeless]).any():
        i = int(np.argmax(hopeless))
        raise names.error(
            f"row {f.row(i)} of {names.called(names.forecast)} sums to {number(sums[i])}: it cannot be rescaled.",
            "correct the row, or leave it out",
        )
    p = p.astype(np.float64)
    p[off] /= sums[off, None]
    rows = f.numbers[off]
    return replace(f, probabilities=p), [of_input.RescaledRows(len(rows), len(p), first_rows(rows))]
