"""Single columns of the input: outcomes as column numbers, weights, counts, and arrays of numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any
from unicodedata import normalize

import numpy as np

from veracity.inputs.events import event_of
from veracity.inputs.names import Names, listed, many, number
from veracity.records import findings_of_input as of_input
from veracity.records.findings import Finding
from veracity.types import Array

LARGEST = 2**53  # beyond, floats skip integers
LIGHTEST, HEAVIEST = 1e-100, 1e100  # of the largest weight: squares, and sums of them, stay within the range of floats
RowOf = Callable[[int], int]  # position → row number in messages


class NothingLeft(ValueError):
    """No row is left; `finding` says why. One batch of many may be empty, a whole input may not."""

    def __init__(self, message: str, finding: Finding) -> None:
        super().__init__(message)
        self.finding = finding


@dataclass(frozen=True)
class Outcome:
    """Outcomes as column numbers, or as shares (n, k) where some lie between 0 and 1."""

    codes: Array
    classes: tuple[Any, ...]
    shares: Array | None = None
    missing: Array | None = None
    swap: bool = False  # exchange the two columns of the forecast so that the event comes second
    findings: tuple[Finding, ...] = ()


def composed(values: Array) -> Array:
    """Return labels whose texts are in composed form (Unicode NFC): é is one letter, however it is encoded."""
    if values.dtype.kind == "U" and values.size and values.flags.c_contiguous and values.view(np.uint32).max() < 128:
        return values
    if values.dtype.kind not in "OU":
        return values
    plain = values.reshape(-1).tolist()
    if all(v.isascii() for v in plain if isinstance(v, str)):
        return values
    labels = np.empty(len(plain), dtype=object)
    labels[:] = [normalize("NFC", v) if isinstance(v, str) else v for v in plain]
    return labels.astype(values.dtype.kind if values.dtype.kind == "U" else object).reshape(values.shape)


def one_label(value: Any) -> Any:
    """Return a label in composed form, as a plain Python value."""
    value = value.item() if isinstance(value, np.generic) else value
    return normalize("NFC", value) if isinstance(value, str) else value


def is_masked(values: Any) -> bool:
    """Return whether this is a masked array, without importing numpy.ma: that takes longer than a million rows."""
    kind = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)  # None too while another thread imports it
    return kind is not None and isinstance(values, kind)


def _unmasked(values: Any, name: str, remedy: str, names: Names) -> Any:
    """Return the values of a masked array without masked values; anything else as it is."""
    if not is_masked(values):
        return values
    hidden = int(np.ma.getmaskarray(values).sum())
    if hidden:
        raise names.error(f"{name} is a masked array with {many(hidden, 'masked value')}.", remedy)
    return values.data


def numbers(values: Any, name: str, names: Names) -> Array:
    """Return a float32 or float64 array, without a copy where the values already are one."""
    array = as_given(values, name, names)
    return array.astype(np.float32) if array.dtype == np.float16 else array


def as_given(values: Any, name: str, names: Names) -> Array:
    """Return a float16, float32 or float64 array, without a copy where the values already are one."""
    values = _unmasked(values, name, f'to leave these rows out give {name}.filled(np.nan) and missing="drop"', names)
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, RuntimeError) as problem:
        if (
            isinstance(values, (list, tuple))
            and len({len(row) if hasattr(row, "__len__") else 0 for row in values}) > 1
        ):
            raise names.error(
                f"{name}: rows of different lengths.", "each row needs one probability per class"
            ) from None
        raise names.error(f"{name} cannot be read as an array: {problem}") from None
    if array.dtype.kind in "SU":
        text = array.reshape(-1)[0] if array.size else ""
        raise names.error(
            f"{name} holds text ({str(text)!r}), not numbers.", f"convert it first:  np.asarray({name}, dtype=float)"
        )
    if array.dtype.kind == "c":
        raise names.error(
            f"{name} holds complex numbers; probabilities are real.", f"give {name}.real if that is meant"
        )
    if array.dtype.kind in "mM":
        raise names.error(f"{name} holds dates or times, not numbers.", "give probabilities")
    if array.dtype.kind == "b" and name not in (names.weight, names.count):
        raise names.error(
            f"{name} holds True and False: decisions, not probabilities.",
            "give the probabilities, such as predict_proba(X)",
        )
    if array.dtype.kind == "O" and array.ndim == 0:
        raise names.error(f"{name} is a {type(values).__name__}, not an array.", "give a list or an array of numbers")
    if array.dtype.kind == "O":
        return _from_objects(array, name, names)
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    return array.astype(np.float64)


def _from_objects(array: Array, name: str, names: Names) -> Array:
    flat = array.reshape(-1)
    out = np.empty(flat.shape)
    for i, value in enumerate(flat):
        try:
            if isinstance(value, (str, bytes)):
                raise TypeError
            out[i] = np.nan if is_missing(value) else float(value)
        except (TypeError, ValueError, ArithmeticError):
            raise names.error(
                f"{name} holds {value!r:.80} at position {i}: not a number.", "give numbers; None and nan are missing"
            ) from None
    return out.reshape(array.shape)


def is_missing(value: Any) -> bool:
    """Return whether an object stands for no value."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    try:
        return bool(value != value)
    except ArithmeticError:  # a signalling NaN of decimal numbers
        return True


def codes_of(y: Array, k: int, labels: Any, pos_label: Any, one_column: bool, row: RowOf, names: Names) -> Outcome:
    """Return the outcomes as column numbers: integers within 0…k-1 are column numbers, anything else is a label."""
    y = np.asarray(_unmasked(y, names.outcome, "leave these rows out of all arrays", names))
    if y.ndim != 1:
        raise names.error(f"{names.outcome} has {y.ndim} dimensions; it needs one.", "give one outcome per row: (n,)")
    if y.dtype.kind == "c":
        raise names.error(f"{names.outcome} holds complex numbers.", "an outcome is a label: a number or a word")
    order, pos_label = _given_labels(labels, k, names) if labels is not None else None, one_label(pos_label)
    y, missing = _present(composed(y))
    if missing is not None and missing.all():
        if not names.whole:  # other batches may have outcomes
            return Outcome(np.zeros(len(y), int), order or tuple(range(k)), missing=missing)
        raise names.error(
            f"all {len(y):,} outcomes in {names.called(names.outcome)} are missing.", "there is nothing to assess"
        )
    if y.dtype.kind == "f":
        present = y if missing is None else np.where(missing, 0.0, y)
        if _are_shares(y, missing, order, k, row, names):
            classes, swap = _event_second(order or (0, 1), pos_label, k, names)
            share = 1.0 - present if swap else present
            return Outcome(np.zeros(len(y), int), classes, np.column_stack([1.0 - share, share]), missing, swap)
        if np.abs(present).max() < LARGEST:
            y = present.astype(np.int64)
    findings: tuple[Finding, ...] = ()
    if y.dtype.kind == "b" and order is None and k == 2:
        y, order = y.view(np.int8), (False, True)
    elif y.dtype.kind in "iu" and order in (None, tuple(range(k))) and _within(y, k):
        order = tuple(range(k))
    else:
        y, order, findings = _by_label(y, k, order, pos_label, missing, one_column, row, names)
    classes, swap = _event_second(order, pos_label, k, names)
    return Outcome(1 - y if swap else y, classes, missing=missing, swap=swap, findings=findings)


def _within(y: Array, k: int) -> bool:
    return bool(y.view(y.dtype.str.replace("i", "u")).max() < k)  # negative numbers are huge as unsigned ones


def _by_label(
    y: Array,
    k: int,
    order: tuple[Any, ...] | None,
    pos_label: Any,
    missing: Array | None,
    one_column: bool,
    row: RowOf,
    names: Names,
) -> tuple[Array, tuple[Any, ...], tuple[Finding, ...]]:
    """Return the column numbers of labels, the labels in the order of the columns, and a finding about the event."""
    seen = y if missing is None else y[~missing]
    try:
        distinct, inverse = np.unique(seen, return_inverse=True)
    except TypeError:
        kinds = sorted({type(v).__name__ for v in seen})
        raise names.error(
            f"{names.outcome} mixes {' and '.join(kinds)}: such labels cannot be compared.", "make all labels one type"
        ) from None
    values = tuple(v.item() if isinstance(v, np.generic) else v for v in distinct)
    findings: tuple[Finding, ...] = ()
    if order is None:
        if len(values) != k:
            raise names.error(
                f"{names.outcome} has {many(len(values), 'distinct label')} ({listed(values)}), "
                f"{names.forecast} {'one column for two classes' if one_column else f'{k} columns'}.",
                "name the classes in the order of the columns:  labels=[…]",
            )
        order = values
        words = event_of([str(v) for v in values]) if one_column and pos_label is None else None
        if words is not None:  # yes and no in any language, whichever sorts first
            order = values if words[1] == str(values[1]) else values[::-1]
        elif one_column and pos_label is None:
            findings = (of_input.Event(event=repr(values[1]), option=f"pos_label={values[0]!r}"),)
    position = {label: i for i, label in enumerate(order)}
    codes = np.array([position.get(v, -1) for v in values])
    if (codes < 0).any():
        bad = codes[inverse] < 0
        first = int(np.argmax(bad))
        at = first if missing is None else int(np.flatnonzero(~missing)[first])
        value = values[int(inverse[first])]
        hint = (
            "if these are column numbers:  np.asarray(labels)[y_true]"
            if isinstance(value, int) and all(isinstance(v, str) for v in order) and names.style == "array"
            else "correct the outcome, or name every class"
        )
        alike = str(value) in map(str, order)  # 0 and "0": only the quotes tell them apart
        raise names.error(
            f"{names.cell(names.outcome, row(at))} = {value!r}: none of the classes "
            f"{listed(list(map(repr, order)) if alike else order)} "
            f"({int(bad.sum()):,} of {len(y):,} rows).",
            hint,
        )
    full = np.zeros(len(y), codes.dtype)
    full[slice(None) if missing is None else ~missing] = codes[inverse]
    return full, order, findings


def _event_second(order: tuple[Any, ...], pos_label: Any, k: int, names: Names) -> tuple[tuple[Any, ...], bool]:
    """Return the classes with the event last of two, and whether that changed their order."""
    if pos_label is None:
        return order, False
    if k != 2:
        raise names.error(f"pos_label is for two classes; {names.forecast} has {k} columns.", "leave it out")
    if not isinstance(pos_label, Hashable) or pos_label not in order:
        raise names.error(f"pos_label={pos_label!r} is not one of the labels {listed(order)}.", "name one of them")
    return (order, False) if pos_label == order[1] else (order[::-1], True)


def _given_labels(labels: Any, k: int, names: Names) -> tuple[Any, ...]:
    if isinstance(labels, (str, bytes)) or not hasattr(labels, "__iter__"):
        raise names.error(
            f"labels is {labels!r}, not a list.", "name the classes in the order of the columns:  [0, 1, …]"
        )
    order = tuple(one_label(v) for v in labels)
    if len(set(order)) != len(order):
        raise names.error(
            f"labels: {listed(order, 12)} names a class twice.", "name each class once, in the order of the columns"
        )
    if len(order) != k:
        raise names.error(
            f"labels names {len(order)} classes, {names.forecast} has {k}.", "one label for each column, in their order"
        )
    return order


def _present(y: Array) -> tuple[Array, Array | None]:
    """Return the outcomes, and which are missing; None if all are present."""
    if y.dtype.kind == "f":
        missing = np.isnan(y)
        return y, missing if missing.any() else None
    if y.dtype.kind != "O":
        return y, None
    missing = np.fromiter((is_missing(v) for v in y), bool, len(y))
    present = y[~missing]
    kinds = {type(v) for v in present}
    if kinds and all(issubclass(t, (bool, np.bool_)) for t in kinds):
        y = np.where(missing, False, y).astype(bool)
    elif kinds and all(issubclass(t, (int, float, np.number)) and t is not bool for t in kinds) and _small(present):
        y = np.where(missing, np.nan, y).astype(float)
    return y, missing if missing.any() else None


def _small(values: Array) -> bool:
    return all(abs(v) < LARGEST for v in values)


def _are_shares(
    y: Array, missing: Array | None, order: tuple[Any, ...] | None, k: int, row: RowOf, names: Names
) -> bool:
    """Return whether outcomes are shares of the second class, all within [0, 1]; False if all are whole numbers."""
    broken = (y != np.trunc(y)) | np.isinf(y)
    if missing is not None:
        broken &= ~missing
    if not broken.any():
        return False
    if k == 2 and bool(((y >= 0) & (y <= 1) | np.isnan(y)).all()) and order in (None, (0, 1)):
        return True
    at = int(np.argmax(broken))
    raise names.error(
        f"{names.cell(names.outcome, row(at))} = {number(y[at])}: an outcome is a class"
        + (", or a share between 0 and 1." if k == 2 else "."),
        "if these are measurements, cut them into classes first",
    )


def shares_of(y: Array, k: int, labels: Any, row: RowOf, names: Names) -> Outcome:
    """Return (n, k) outcomes as shares of a case per class (annotators); a one-hot matrix is refused."""
    order = _given_labels(labels, k, names) if labels is not None else tuple(range(k))
    if y.shape[1] == 1:
        raise names.error(
            f"{names.outcome} has shape {y.shape}; outcomes have shape (n,).", f"give {names.outcome}[:, 0]"
        )
    if y.shape[1] != k:
        raise names.error(
            f"{names.outcome} has {y.shape[1]} columns, {names.forecast} {k}.", "outcomes have shape (n,)"
        )
    shares = numbers(y.astype(float) if y.dtype.kind == "b" else y, names.outcome, names).astype(np.float64)
    if np.all((shares == 0) | (shares == 1)) and np.all(shares.sum(axis=1) == 1):
        raise names.error(
            f"{names.outcome} is one-hot (a 1 in the column of the outcome); outcomes have shape (n,).",
            f"give {names.outcome}.argmax(axis=1)",
        )
    with np.errstate(invalid="ignore"):
        off = ~((np.abs(shares.sum(axis=1) - 1.0) <= 1e-6) & (shares >= 0).all(axis=1))
    if off.any():
        i = int(np.argmax(off))
        raise names.error(
            f"row {row(i)} of {names.outcome} holds {listed(shares[i])}: shares of a case must sum to one.",
            "correct the row; one outcome per case has shape (n,)",
        )
    return Outcome(np.zeros(len(y), int), order, shares)


def case_weights(values: Any, n: int, row: RowOf, names: Names) -> Array | None:
    """Return importance weights: finite, not negative, not all zero."""
    if values is None:
        return None
    w = _not_negative(values, n, names.weight, row, names)
    if not w.any():
        what = f"{names.called(names.weight)}: {_all(n, 'weight')} zero."
        problem = names.error(what, "leave the weights out to count every row once")
        raise NothingLeft(str(problem), of_input.ZeroWeight(n, n))
    i = int(np.argmax(w))
    if not LIGHTEST <= w[i] <= HEAVIEST:
        raise names.error(
            f"{names.cell(names.weight, row(i))} = {number(w[i])}: the largest; its square is too "
            f"{'small' if w[i] < 1.0 else 'large'} for a computer.",
            "multiply all weights by one factor: only their ratios count",
        )
    return w


def whole_counts(values: Any, n: int, row: RowOf, names: Names) -> Array | None:
    """Return how many cases each row counts as: whole numbers, not negative, not all zero."""
    if values is None:
        return None
    counts = _not_negative(values, n, names.count, row, names)
    broken = counts != np.trunc(counts)
    i = int(np.argmax(broken if broken.any() else counts))
    if broken.any():
        raise names.error(
            f"{names.cell(names.count, row(i))} = {number(counts[i])}: a count is a whole number.",
            f"importance that is not a number of cases:  {names.option('weight', '…')}",
        )
    if counts[i] > LARGEST:
        raise names.error(
            f"{names.cell(names.count, row(i))} = {number(counts[i])}: too large for a number of cases.",
            "importance that is not a number of cases is a weight",
        )
    if not counts.any():
        what = f"{names.called(names.count)}: {_all(n, 'count')} zero."
        raise NothingLeft(str(names.error(what, "there is nothing to assess")), of_input.ZeroCount(n, n))
    return counts.astype(np.int64)


def _all(n: int, what: str) -> str:
    return f"the only {what} is" if n == 1 else f"all {n:,} {what}s are"


def _not_negative(given: Any, n: int, name: str, row: RowOf, names: Names) -> Array:
    """Return n finite numbers from 0."""
    values = numbers(given, name, names)
    if values.ndim != 1 or len(values) != n:
        shape = f"{len(values):,} values" if values.ndim == 1 else f"shape {values.shape}"
        raise names.error(f"{names.called(name)} has {shape}, {names.forecast} {n:,} rows.", "one value for each row")
    bad = ~((values >= 0) & np.isfinite(values))
    if bad.any():
        i = int(np.argmax(bad))
        kind = "missing" if np.isnan(values[i]) else "infinite" if np.isinf(values[i]) else "negative"
        raise names.error(
            f"{names.cell(name, row(i))} = {number(values[i])}: {kind} ({int(bad.sum()):,} of {len(values):,} values).",
            "correct the value, or leave the row out",
        )
    return values
