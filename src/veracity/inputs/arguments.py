"""Arguments as arrays of matching shapes, lengths and order; class names from the columns of a frame."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import takewhile
from typing import Any, overload

import numpy as np

from veracity.inputs.columns import RowOf, as_given, composed, is_missing, numbers, one_label
from veracity.inputs.events import event_of
from veracity.inputs.names import Names, listed, many
from veracity.types import Array

ZONED = re.compile(r"\d[T ]\d{2}:?\d{2}.*?(Z|[+-]\d{2}(:?\d{2}(:?\d{2}(\.\d+)?)?)?)\s*$")  # a time with its zone
QUARTER = re.compile(r"^(\d{4})[ -]?[Qq]([1-4])$")


def forecast_matrix(y_proba: Any, names: Names) -> Array:
    """Return (n,) or (n, k >= 2) floats in their own precision; the shape is checked, the values are not."""
    p = as_given(y_proba, names.forecast, names)
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


def refuse_swapped(y: Array, p: Array, names: Names) -> None:
    """Refuse fractions as outcomes with only whole numbers as forecasts: the arguments are in the wrong order."""
    if y.ndim == 2 and p.ndim == 1 and len(y) == len(p) and y.shape[1] > 1 and y.dtype.kind == "f":
        swapped = bool(np.all(p == np.trunc(p)))
    elif y.ndim == 1 and p.ndim == 1 and len(y) == len(p) and y.dtype.kind == "f":
        swapped = bool(np.any((y > 0) & (y < 1)) and np.all((p == 0) | (p == 1)))
    else:
        return
    if swapped:
        raise swapped_error(names)


def swapped_error(names: Names) -> ValueError:
    """Return the refusal of outcomes that look like forecasts, and forecasts that look like outcomes."""
    exchanged = f"{names.option('label', names.forecast)} {names.option('positive_proba', names.outcome)}"
    return names.error(
        f"{names.outcome} holds fractions and {names.forecast} only whole numbers: the two look swapped.",
        "outcomes first, then probabilities:  " + ("assess(y_true, y_proba)" if names.style == "array" else exchanged),
    )


def refuse_reordered(y_true: Any, y_proba: Any, names: Names) -> None:
    """Refuse two pandas objects with the same index in different orders: their rows do not correspond."""
    ours: Any = getattr(y_true, "index", None)
    theirs: Any = getattr(y_proba, "index", None)
    if not (hasattr(ours, "sort_values") and hasattr(theirs, "sort_values")) or ours.equals(theirs):
        return
    try:
        crossed = len(ours) == len(theirs) and ours.sort_values().equals(theirs.sort_values())
    except TypeError:  # an index of mixed types cannot be sorted
        return
    if crossed:
        raise names.error(
            f"{names.outcome} and {names.forecast} have the same index in another order.",
            f"bring them into one order:  {names.forecast}.loc[{names.outcome}.index]",
        )


def declared_order(values: Any) -> tuple[Any, ...] | None:
    """Return the categories of an ordered categorical of pandas, a polars Enum or a pyarrow dictionary, in their order.

    None for anything else: categories without an order are sorted like other labels, as scikit-learn does.
    """
    kind: Any = getattr(values, "dtype", None)
    if type(kind).__name__ == "Enum" or getattr(kind, "ordered", False):
        return tuple(kind.categories.to_list()) if hasattr(kind, "categories") else None
    arrow = getattr(values, "type", None)
    if getattr(arrow, "ordered", False) and hasattr(arrow, "value_type"):
        whole = values.unify_dictionaries() if hasattr(values, "unify_dictionaries") else values
        part = whole.chunk(0) if hasattr(whole, "chunk") and whole.num_chunks else whole
        return tuple(part.dictionary.to_pylist()) if hasattr(part, "dictionary") else None
    return None


def declared_labels(values: Any, y: Array, k: int, one_column: bool, names: Names) -> tuple[Any, ...] | None:
    """Return the labels of the k columns by the declared order of the outcomes; None where it does not tell them.

    Where more classes are declared than there are columns, those that never occur have none. Of one column the words
    of the event (yes, no) tell more.
    """
    order = declared_order(values)
    if order is None or y.ndim != 1 or (one_column and event_of([str(v) for v in order]) is not None):
        return None
    if len(order) == k:
        return order
    seen = set(composed(y).tolist())
    occur = tuple(v for v in order if one_label(v) in seen)
    if len(occur) == k:
        return occur
    raise names.error(
        f"{names.outcome} declares {len(order)} classes ({listed(order)}), {names.forecast} has {k} columns.",
        "name the classes in the order of the columns:  labels=[…]",
    )


def named_columns(y_proba: Any, y: Array, names: Names, declared: bool = False) -> list[Any] | None:
    """Return the classes by the column names of a frame; None without such names, or where they are 0, 1, …

    `declared`: the outcomes tell the order of numbered columns.
    """
    given = getattr(y_proba, "column_names", None) or getattr(y_proba, "columns", None)
    if given is None or y.ndim != 1 or y.dtype.kind not in "iufbOUS":
        return None
    columns, y = [one_label(c) for c in given], composed(y)
    classes: list[Any] | None
    if declared and _numbers_in(columns) == list(range(len(columns))):
        return None
    if y.dtype.kind in "iufb":
        seen, classes = np.unique(y[y == y]).tolist(), _numbers_in(columns)
        if classes is None or classes == list(range(len(columns))):
            return None
    else:
        seen = sorted({v for v in y.tolist() if isinstance(v, str)})
        if not seen:
            return None
        classes = _without_common_affixes(list(columns), set(seen))
    if classes is None or not set(seen) <= set(classes):
        raise names.error(
            f"the columns of {names.forecast} are {listed(columns)}, the outcomes {listed(seen)}.",
            "say which column is which class:  labels=[…]",
        )
    return classes


def _without_common_affixes(columns: list[Any], seen: set[str]) -> list[Any] | None:
    """Return the column names, without a common prefix or suffix (p_cat, cat_proba) if the outcomes need it."""
    if seen <= set(columns):
        return columns
    text = [str(c) for c in columns]
    for start in range(_common_length(text) + 1):
        for end in range(_common_length([c[::-1] for c in text]) + 1):
            classes = [c[start : len(c) - end] for c in text]
            if seen <= set(classes):
                return classes
    return None


def _common_length(words: list[str]) -> int:
    """Return the length of the common prefix of all words."""
    return len(list(takewhile(lambda letters: len(set(letters)) == 1, zip(*words, strict=False))))


def _numbers_in(columns: Any) -> list[int] | None:
    """Return the class numbers of columns such as 2, 0, 1 or p2, p0, p1, if that is how all are named."""
    matches = [re.fullmatch(r"(.*?)(\d+)", str(c)) for c in columns]
    stems = {m[1] if m else None for m in matches}
    return [int(m[2]) for m in matches if m] if len(stems) == 1 and None not in stems else None


def array_of(values: Any, name: str) -> Array:
    """Return the values as one array; labels of mixed types stay objects."""
    try:
        array = np.asarray(values)
        mixed = isinstance(values, (list, tuple)) and not all(isinstance(v, str) for v in values)
        # A missing label among words must not become the word "nan".
        return np.array(values, dtype=object) if array.dtype.kind in "US" and mixed else array
    except (ValueError, TypeError, RuntimeError) as problem:
        raise ValueError(f"{name}: not one array ({problem}).\n  rows of different lengths cannot be read") from None


def is_empty(values: Any) -> bool:
    """Return whether an argument holds no value at all."""
    try:
        return bool(np.size(values) == 0)
    except (ValueError, TypeError, RuntimeError):  # no array: reading it will raise the error
        return False


def row_column(values: Any, n: int, name: str, names: Names, *, most: int = 1) -> Array | None:
    """Return a column with one value for each of the n rows, or None; `most`: dimensions that it may have."""
    if values is None:
        return None
    if isinstance(values, (set, frozenset, Iterator)):
        raise names.error(f"{name} is a {type(values).__name__}: its rows have no order.", "give a list or an array")
    array = array_of(values, name)
    if array.ndim == 0 or len(array) != n:
        rows = many(array.size if array.ndim == 0 else len(array), "row")
        raise names.error(f"{name} has {rows}, {names.forecast} {n:,}.", "one value for each row")
    if array.ndim > most:
        one = array.size == n
        raise names.error(
            f"{name} has shape {array.shape}; it needs one value for each row.",
            f"give {name}[:, 0]" if one else "choose one column, or join those of a row into one text",
        )
    return array


@overload
def keys_of(values: Array) -> Array: ...
@overload
def keys_of(values: None) -> None: ...
def keys_of(values: Array | None) -> Array | None:
    """Return 64-bit keys of labels of any kind: equal labels have equal keys, in any part and any order."""
    if values is None or values.dtype == np.uint64:
        return values
    labels, place = np.unique(composed(values).astype(str), return_inverse=True)
    keys = [
        int.from_bytes(blake2b(label.encode(errors="surrogatepass"), digest_size=8).digest(), "little")
        for label in labels.tolist()
    ]
    return np.array(keys, dtype=np.uint64)[place.ravel()]


def cluster_keys(values: Array | None, row: RowOf, names: Names) -> Array | None:
    """Return the keys of clusters; refuse rows without one: they would be a cluster of their own."""
    if values is None or values.dtype == np.uint64:
        return values
    if values.dtype.kind in "OUS":
        blank = np.fromiter((is_missing(v) or not str(v).strip() for v in values.tolist()), bool, len(values))
    else:
        blank = np.isnat(values) if values.dtype.kind in "mM" else np.asarray(values != values)
    if blank.any():
        column = names.called(names.cluster)
        without = "" if names.style == "array" else f":  {names.option('where', _quoted(f'{names.cluster}!=', names))}"
        raise names.error(
            f"{column}: {int(blank.sum()):,} of {many(len(blank), 'row')} without a cluster "
            f"(first: row {row(int(np.argmax(blank)))}).",
            f"fill them in, or leave these rows out{without}",
        )
    return keys_of(values)


def _quoted(word: str, names: Names) -> str:
    return f"'{word}'" if names.style == "file" else word


def moments_of(values: Array | None, row: RowOf, names: Names) -> Array | None:
    """Return times as numbers: dates and date texts (also 1968Q4) as days, numbers as they are."""
    if values is None:
        return None
    try:
        times = _moments(values, row, names)
    except MixedZones:
        raise
    except (TypeError, ValueError, OverflowError) as problem:
        raise names.error(f"time: neither numbers nor dates ({problem}).", "give dates such as 2024-05-31") from None
    missing = ~np.isfinite(times)
    if missing.any():
        raise names.error(
            f"time: {many(int(missing.sum()), 'row')} without a time (first: row {int(np.argmax(missing)) + 1}).",
            "fill them in, or leave these rows out",
        )
    return times


class MixedZones(ValueError):
    """Times with a zone and times without: which came first is not known."""


def _moments(values: Array, row: RowOf, names: Names) -> Array:
    if values.dtype.kind == "c":
        raise TypeError("complex numbers")
    if values.dtype.kind in "OU":
        texts = texts_of_times(values.tolist(), row, names)
        try:
            return np.array(texts).astype(np.float64)
        except ValueError:
            values = np.array(_universal(texts), "datetime64[us]")
    if values.dtype.kind == "M":
        days: Array = values.astype("datetime64[us]").astype(np.int64) / 86_400e6
        return np.where(np.isnat(values), np.nan, days)
    return values.astype(np.float64)


def texts_of_times(moments: list[Any], row: RowOf, names: Names) -> list[str]:
    """Return times as texts, "nan" for missing ones; refuse times with a zone among times without."""
    texts = [
        "nan" if is_missing(moment) else moment.isoformat() if isinstance(moment, datetime) else str(moment)
        for moment in moments
    ]
    zoned = [ZONED.search(text) is not None for text in texts]
    plain = [not zone and text != "nan" for zone, text in zip(zoned, texts, strict=True)]
    if any(zoned) and any(plain):
        i, j = zoned.index(True), plain.index(True)
        what = f"time: row {row(i)} has a time zone ({texts[i]}), row {row(j)} has none ({texts[j]})."
        raise MixedZones(str(names.error(what, "give all of them with their zone, or all without")))
    return texts


def _universal(texts: list[str]) -> list[str]:
    """Return texts of dates that NumPy reads: quarters as their first month, times with a zone as universal time."""
    read = [_without_zone(text) if ZONED.search(text) else QUARTER.sub(_first_month, text) for text in texts]
    return ["NaT" if text == "nan" else text for text in read]


def _without_zone(text: str) -> str:
    return datetime.fromisoformat(text.strip()).astimezone(UTC).replace(tzinfo=None).isoformat()


def _first_month(quarter: re.Match[str]) -> str:
    return f"{quarter[1]}-{3 * int(quarter[2]) - 2:02d}"


def are_dates(values: Any) -> bool:
    """Return whether times are dates or texts of dates, not numbers."""
    if values is None or not len(values):
        return False
    first = np.asarray(values)[0]
    if isinstance(first, str):
        return not re.fullmatch(r"\s*[-+]?\d+(\.\d*)?\s*", first)
    return not isinstance(first, (int, float, np.number))


def groups_of(groups: Any, n: int, names: Names) -> dict[str, Any]:
    """Return the group columns by name."""
    if groups is None:
        return {}
    if not hasattr(groups, "items"):
        raise names.error(f"groups is a {type(groups).__name__}.", 'give names with their columns:  groups={"site": …}')
    columns = {str(name): row_column(column, n, f"groups[{name!r}]", names) for name, column in groups.items()}
    return {name: column if column is None else composed(column) for name, column in columns.items()}


def ideal_matrix(ideal: Any, p: Array | None, names: Names) -> Array | None:
    """Return the ideal probabilities, which have the shape of the forecasts p, or None."""
    if ideal is None or p is None:
        return None
    values = numbers(ideal, "ideal", names)
    if values.shape != p.shape:
        raise names.error(
            f"ideal has shape {values.shape}, {names.forecast} {p.shape}: they need the same.",
            "one ideal probability for each forecast",
        )
    return values
