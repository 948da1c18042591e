"""From arguments to `Forecasts`: shapes, scales, labels, missing and soft outcomes.

The values of a plain matrix of probabilities are not looked at here: that is one pass, made by `check` or by the kernel
that counts them. Memory is kept: a float32 matrix is used where it lies, integer outcomes within 0…k-1 as they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..kernels.result import tolerance
from .columns import NothingLeft, case_weights, codes_of, is_masked, numbers, shares_of, whole_counts
from .findings import Finding
from .names import Names, listed, many, number
from .types import Array, Forecasts

SCALES = ("probability", "percent", "logit", "log")


def prepare(
    y_true: Any,
    y_proba: Any,
    *,
    sample_weight: Any = None,
    counts: Any = None,
    labels: Any = None,
    pos_label: Any = None,
    nan: str = "raise",
    soft: str = "split",
    normalise: bool = False,
    scale: str = "probability",
    ideal: Any = None,
    features: Any = None,
    groups: Any = None,
    case: Any = None,
    first_row: int = 0,
    names: Names | None = None,
    rows: Any = None,
    absent: bool = False,
    model: str | None = None,
) -> Forecasts:
    """Everything but the look at each probability; see `Forecasts.of` for the arguments.

    rows: the numbers of the rows where they are not first_row, first_row + 1, …; absent: NaN means "not offered".
    """
    names = names or Names()
    _one_of("nan", nan, ("raise", "omit"))
    _one_of("soft", soft, ("split", "omit", "refuse"))
    _one_of("scale", scale, SCALES)
    p = forecast_matrix(y_proba, names)
    y = y_true if is_masked(y_true) else _array(y_true, names.outcome)
    _not_swapped(y, p, names)
    _in_one_order(y_true, y_proba, names)
    if y.ndim == 0 or len(y) != len(p):
        raise names.error(
            f"{names.outcome} has {many(y.size if y.ndim == 0 else len(y), 'outcome')}, "
            f"{names.forecast} {many(len(p), 'row')}.",
            "one outcome for each forecast is needed, in the same order",
        )
    k = 2 if p.ndim == 1 else p.shape[1]
    n = len(p)
    part = _Rows(n, first_row, rows=None if rows is None else np.asarray(rows))
    labels = _named_columns(y_proba, y, labels, names) if labels is None else labels
    if y.ndim == 2:
        outcome = shares_of(y, k, labels, part.number, names)
    else:
        outcome = codes_of(y, k, labels, pos_label, p.ndim == 1, part.number, names)
    findings = list(outcome.findings)
    part.arrays = {
        "p": p,
        "y": outcome.codes,
        "shares": outcome.shares,
        "weights": case_weights(sample_weight, n, part.number, names),
        "counts": whole_counts(counts, n, part.number, names),
        "ideal": _as_forecast(ideal, p, "ideal", names),
        "features": _beside(features, n, "features", names),
        "case": _beside(case, n, "case", names),
    }
    kept_groups = _groups(groups, n, names)
    part.arrays |= {f"group {name}": column for name, column in kept_groups.items()}

    if absent:
        p, part.arrays["offered"] = _not_offered(p, outcome.codes, scale, part, names)
        part.arrays["p"] = p
        hidden = int((~part.arrays["offered"]).sum())
        findings += [Finding.of("not_offered", hidden, p.size)] if hidden else []
    if nan == "omit":
        missing: Array = np.asarray(np.isnan(p) if p.ndim == 1 else np.isnan(p).any(axis=1))
        if outcome.missing is not None:
            missing |= outcome.missing
        findings += part.leave_out(missing, "missing_rows", names)
    elif outcome.missing is not None:
        gone = np.flatnonzero(outcome.missing)
        raise names.error(
            f"{len(gone):,} of {n:,} outcomes in {names.called(names.outcome)} are missing "
            f"(first: row {part.number(gone[0])}).",
            f"leave these rows out:  {names.option('nan', 'omit')}",
        )
    for column, code in (("weights", "zero_weight"), ("counts", "zero_count")):
        values = part.arrays[column]
        if values is not None and not values.all():
            findings += part.leave_out(values == 0, code, names)
    shares = part.arrays["shares"]
    if shares is not None:
        findings += part.settle_soft(shares, soft, names)
    p, codes = part.arrays["p"], part.arrays["y"]
    if outcome.swap and p.ndim == 2:
        p = p[:, ::-1]
        part.arrays["ideal"] = None if part.arrays["ideal"] is None else part.arrays["ideal"][:, ::-1]
    log_realised = None
    if scale == "percent":
        p = p / 100.0
    elif scale in ("logit", "log"):
        p, log_realised = from_logs(p, codes, scale, part, names)
    if normalise:
        p, rescaled = _normalised(p, part, names)
        findings += rescaled
    return Forecasts(
        probabilities=p,
        outcomes=codes,
        classes=outcome.classes,
        weights=part.arrays["weights"],
        counts=part.arrays["counts"],
        log_realised=log_realised,
        ideal=part.arrays["ideal"],
        features=part.arrays["features"],
        groups={name: part.arrays[f"group {name}"] for name in kept_groups},
        case=part.arrays["case"],
        findings=tuple(findings),
        first_row=first_row,
        rows=part.rows,
        offered=part.arrays.get("offered"),
        model=model,
        names=names,
    )


def prepare_realised(
    y_proba: Any,
    *,
    scale: str = "probability",
    sample_weight: Any = None,
    counts: Any = None,
    nan: str = "raise",
    groups: Any = None,
    case: Any = None,
    first_row: int = 0,
    names: Names | None = None,
    rows: Any = None,
    model: str | None = None,
) -> Forecasts:
    """Only the probability given to what happened is known (token log-probabilities)."""
    names = names or Names()
    _one_of("nan", nan, ("raise", "omit"))
    _one_of("scale", scale, SCALES)
    p = numbers(y_proba, names.forecast, names)
    if p.ndim != 1 or not len(p):
        raise names.error(
            f"{names.forecast} has shape {p.shape}; it needs (n,).",
            "give the probability of what happened, one for each row",
        )
    n = len(p)
    part = _Rows(n, first_row, rows=None if rows is None else np.asarray(rows))
    part.arrays = {
        "p": p,
        "weights": case_weights(sample_weight, n, part.number, names),
        "counts": whole_counts(counts, n, part.number, names),
        "case": _beside(case, n, "case", names),
    }
    kept_groups = _groups(groups, n, names)
    part.arrays |= {f"group {name}": column for name, column in kept_groups.items()}
    findings = part.leave_out(np.isnan(p), "missing_rows", names) if nan == "omit" else []
    p = part.arrays["p"]
    if scale == "log":
        log_p = p.astype(np.float64)
        above = log_p > 0
        if above.any():
            i = int(np.argmax(above))
            raise names.error(
                f"{names.at(part.number(i))} = {log_p[i]:g}: a log-probability cannot be above 0.",
                f"if these are probabilities:  {names.option('scale', 'probability')}",
            )
    elif scale == "logit":
        from scipy.special import log_expit

        log_p = log_expit(p.astype(np.float64))
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            log_p = np.log(p.astype(np.float64) / (100.0 if scale == "percent" else 1.0))
    return Forecasts(
        probabilities=None,
        outcomes=None,
        classes=(),
        weights=part.arrays["weights"],
        counts=part.arrays["counts"],
        log_realised=log_p,
        groups={name: part.arrays[f"group {name}"] for name in kept_groups},
        case=part.arrays["case"],
        findings=tuple(findings),
        first_row=first_row,
        rows=part.rows,
        model=model,
        names=names,
    )


@dataclass
class _Rows:
    """All arrays that share their rows, and which rows are left."""

    n: int
    first_row: int
    arrays: dict[str, Any] = field(default_factory=dict)
    rows: Array | None = None

    def number(self, index: int) -> int:
        return int(self.rows[index]) if self.rows is not None else self.first_row + index

    def numbers(self) -> Array:
        return self.rows if self.rows is not None else np.arange(self.first_row, self.first_row + self.n)

    def take(self, index: Array) -> None:
        self.rows = self.numbers()[index]
        self.arrays = {name: None if values is None else values[index] for name, values in self.arrays.items()}

    def leave_out(self, out: Array, code: str, names: Names) -> list[Finding]:
        if not out.any():
            return []
        gone = self.numbers()[out]
        total = len(out)
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
        """Outcomes between 0 and 1: split into fractions of one case per class, left out, or refused."""
        between: Array = np.asarray(((shares > 0) & (shares < 1)).any(axis=1))
        total, found = len(shares), self.numbers()[between]
        self.arrays["y"] = np.argmax(shares, axis=1)
        if not len(found):
            self.arrays["shares"] = None
            return []
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


def forecast_matrix(y_proba: Any, names: Names) -> Array:
    """(n,) or (n, k >= 2) floats; the shape is checked, the values are not."""
    p = numbers(y_proba, names.forecast, names)
    what = names.forecast
    if p.ndim not in (1, 2):
        raise names.error(
            f"{what} has {p.ndim} dimensions; it needs one or two.", "give (n,) for two classes, (n, k) for k"
        )
    if p.size == 0:
        raise names.error(f"{what} is empty: there is nothing to assess.", "give at least one row")
    if p.ndim == 2 and p.shape[1] == 1:
        raise names.error(
            f"{what} has shape {p.shape}: a single column is the probability of the event in shape (n,).",
            f"give {what}[:, 0]",
        )
    return p


def from_logs(p: Array, y: Array, scale: str, part: _Rows, names: Names) -> tuple[Array, Array]:
    """Probabilities from logits or log-probabilities, and the log-probability of what happened without underflow."""
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


def _not_offered(p: Array, y: Array, scale: str, part: _Rows, names: Names) -> tuple[Array, Array]:
    """Options that a row did not have: they hold nothing and enter no bin."""
    if p.ndim == 1:
        raise names.error("options that differ by row need one column per option.")
    offered: Array = ~np.isnan(p)
    lost = ~offered[np.arange(len(p)), y]
    if lost.any():
        i = int(np.argmax(lost))
        raise names.error(
            f"row {part.number(i)}: what happened (`{names.columns[int(y[i])] if names.columns else int(y[i])}`) "
            "was not offered there.",
            "correct the outcome, or leave the row out",
        )
    return np.where(offered, p, -np.inf if scale in ("logit", "log") else 0.0), offered


def _normalised(p: Array, part: _Rows, names: Names) -> tuple[Array, list[Finding]]:
    """Rows that do not sum to one divided by their sum; the others are not touched."""
    if p.ndim == 1:
        return p, []
    sums = p.sum(axis=1, dtype=np.float64)
    off = ~(np.abs(sums - 1.0) <= tolerance(p.dtype, p.shape[1])) | (p > 1).any(axis=1)
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


def _not_swapped(y: Array, p: Array, names: Names) -> None:
    """The two arguments in the wrong order: fractions as outcomes and nothing but whole numbers as forecasts."""
    if y.ndim == 2 and p.ndim == 1 and len(y) == len(p) and y.shape[1] > 1 and y.dtype.kind == "f":
        swapped = bool(np.all(p == np.trunc(p)))
    elif y.ndim == 1 and p.ndim == 1 and len(y) == len(p) and y.dtype.kind == "f":
        swapped = bool(np.any((y > 0) & (y < 1)) and np.all((p == 0) | (p == 1)))
    else:
        return
    if swapped:
        raise names.error(
            f"{names.outcome} holds fractions and {names.forecast} only whole numbers: the two look swapped.",
            "outcomes first, then probabilities:  assess(y_true, y_proba)",
        )


def _array(values: Any, name: str) -> Array:
    try:
        array = np.asarray(values)
        if (
            array.dtype.kind in "US"
            and isinstance(values, (list, tuple))
            and not all(isinstance(v, str) for v in values)
        ):
            return np.array(values, dtype=object)  # a missing label among words must not become the word "nan"
        return array
    except (ValueError, TypeError, RuntimeError) as problem:
        raise ValueError(f"{name}: not one array ({problem}).\n  rows of different lengths cannot be read") from None


def _beside(values: Any, n: int, name: str, names: Names) -> Array | None:
    if values is None:
        return None
    array = _array(values, name)
    if array.ndim == 0 or len(array) != n:
        rows = many(array.size if array.ndim == 0 else len(array), "row")
        raise names.error(f"{name} has {rows}, {names.forecast} {n:,}.", "one value for each row")
    return array


def _groups(groups: Any, n: int, names: Names) -> dict[str, Array | None]:
    if groups is None:
        return {}
    if not hasattr(groups, "items"):
        raise names.error(f"groups is a {type(groups).__name__}.", 'give names with their columns:  groups={"site": …}')
    return {str(name): _beside(column, n, f"groups[{name!r}]", names) for name, column in groups.items()}


def _named_columns(y_proba: Any, y: Array, labels: Any, names: Names) -> Any:
    """The columns of a frame name the classes, whatever their order, where outcomes are words."""
    columns = getattr(y_proba, "column_names", None) or getattr(y_proba, "columns", None)
    if columns is None or y.ndim != 1:
        return labels
    if y.dtype.kind in "iufb":
        return _numbered_columns([str(c) for c in columns], y, names)
    if y.dtype.kind not in "OUS":
        return labels
    seen = {v for v in y.tolist() if isinstance(v, str)}
    if seen and not seen <= set(columns):
        raise names.error(
            f"the columns of {names.forecast} are {listed(columns)}, the outcomes {listed(sorted(seen))}.",
            "say which column is which class:  labels=[…]",
        )
    return list(columns) if seen else labels


def _numbered_columns(columns: list[str], y: Array, names: Names) -> list[int] | None:
    """Columns 2, 0, 1 or p2, p0, p1 of a frame are the classes 2, 0, 1, not the numbers of their places."""
    matches = [re.fullmatch(r"(.*?)(\d+)", c) for c in columns]
    if len({m[1] if m else c for m, c in zip(matches, columns, strict=True)}) != 1 or not all(matches):
        return None
    classes = [int(m[2]) for m in matches if m]
    if classes == list(range(len(classes))):
        return None
    seen = np.unique(y[y == y])
    if not set(seen.tolist()) <= set(classes):
        raise names.error(
            f"the columns of {names.forecast} are {listed(columns)}, the outcomes {listed(seen.tolist())}.",
            "say which column is which class:  labels=[…]",
        )
    return classes


def _in_one_order(y_true: Any, y_proba: Any, names: Names) -> None:
    """Two pandas objects whose rows bear the same names in another order would be compared crosswise."""
    ours: Any = getattr(y_true, "index", None)
    theirs: Any = getattr(y_proba, "index", None)
    if not (hasattr(ours, "sort_values") and hasattr(theirs, "sort_values")) or ours.equals(theirs):
        return
    try:
        crossed = len(ours) == len(theirs) and ours.sort_values().equals(theirs.sort_values())
    except TypeError:  # names of rows that cannot be sorted
        return
    if crossed:
        raise names.error(
            f"{names.outcome} and {names.forecast} have the same index in another order.",
            f"bring them into one order:  {names.forecast}.loc[{names.outcome}.index]",
        )


def _as_forecast(ideal: Any, p: Array, name: str, names: Names) -> Array | None:
    if ideal is None:
        return None
    values = numbers(ideal, name, names)
    if values.shape != p.shape:
        raise names.error(
            f"{name} has shape {values.shape}, {names.forecast} {p.shape}: they need the same.",
            "one ideal probability for each forecast",
        )
    return values


def _one_of(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name}: {value!r} is none of {', '.join(map(repr, choices))}")
