"""Bad arrays: every kind is refused with one message that says what, where, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from veracity.inputs import Forecasts

of = Forecasts.of
NAN = float("nan")
THIRDS = np.full((4, 3), 1 / 3)


def changed(array: Any, index: Any, value: float) -> Any:
    """A copy with one value changed."""
    out = np.array(array, dtype=float)
    out[index] = value
    return out


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "percentages": (
        lambda: of([0, 1, 1], [20, 70, 90]),
        "y_proba[0] = 20: above 1 (all 3 values lie between 20 and 90).\n"
        '  if these are percentages:  Forecasts.of(…, scale="percent")',
    ),
    "percentages by class": (
        lambda: of([0, 1], [[20, 80], [40, 60]]),
        "y_proba[0, 0] = 20: above 1 (all 4 values lie between 20 and 80).\n"
        '  if these are percentages:  Forecasts.of(…, scale="percent")',
    ),
    "logits": (
        lambda: of([0, 1, 1], [-2.0, 0.3, 4.5]),
        "y_proba[0] = -2: below 0 (all 3 values lie between -2 and 4.5).\n"
        '  if these are logits:  Forecasts.of(…, scale="logit")',
    ),
    "logits by class": (
        lambda: of([0, 1], [[-2.0, 0.3], [4.0, 1.0]]),
        "y_proba[0, 0] = -2: below 0 (all 4 values lie between -2 and 4).\n"
        '  if these are logits:  Forecasts.of(…, scale="logit")',
    ),
    "log-probabilities": (
        lambda: of([0, 1], np.log([[0.2, 0.8], [0.5, 0.5]])),
        "y_proba[0, 0] = -1.60944: below 0 (all 4 values lie between -1.60944 and -0.223144).\n"
        '  if these are log-probabilities:  Forecasts.of(…, scale="log")',
    ),
    "log-probability minus infinity": (
        lambda: of([0, 1], [[-np.inf, 0.0], [-0.7, -0.7]]),
        "y_proba[0, 0] = -inf: infinite (1 of 4 values).\n"
        '  if these are log-probabilities:  Forecasts.of(…, scale="log")',
    ),
    "infinite": (lambda: of([0, 1], [0.5, np.inf]), "y_proba[1] = inf: infinite (1 of 2 values).\n  correct the value"),
    "negative": (
        lambda: of([0, 1], [0.5, -0.01]),
        "y_proba[1] = -0.01: below 0 (all 2 values lie between -0.01 and 0.5).\n"
        "  correct the value; probabilities lie between 0 and 1",
    ),
    "above one by rounding": (
        lambda: of([0, 1], [0.5, 1.0000002]),
        "y_proba[1] = 1.0000002: above 1 (all 2 values lie between 0.5 and 1.0000002).\n"
        "  if this is rounding, clip it where the forecasts are made",
    ),
    "row above one by rounding": (
        lambda: of([0, 1], [[0.5, 0.5], [1.0000002, -0.0]]),
        "y_proba[1, 0] = 1.0000002: above 1 (all 4 values lie between 0 and 1.0000002).\n"
        "  if this is rounding, clip it where the forecasts are made, "
        "or rescale the rows:  Forecasts.of(…, normalise=True)",
    ),
    "missing forecast": (
        lambda: of([0, 1, 1], [0.5, NAN, 0.2]),
        "y_proba: 1 of 3 rows have missing values (first: row 1).\n"
        '  leave these rows out:  Forecasts.of(…, missing="drop")',
    ),
    "missing forecast by class": (
        lambda: of([0, 1, 2, 0], changed(THIRDS, (2, 1), NAN)),
        "y_proba: 1 of 4 rows have missing values (first: row 2).\n"
        '  leave these rows out:  Forecasts.of(…, missing="drop")',
    ),
    "missing outcome": (
        lambda: of([0, NAN, 1], [0.5, 0.4, 0.2]),
        "1 of 3 outcomes in y_true are missing (first: row 1).\n"
        '  leave these rows out:  Forecasts.of(…, missing="drop")',
    ),
    "missing label": (
        lambda: of(["a", None, "b"], [0.5, 0.4, 0.2]),
        "1 of 3 outcomes in y_true are missing (first: row 1).\n"
        '  leave these rows out:  Forecasts.of(…, missing="drop")',
    ),
    "all outcomes missing": (
        lambda: of([NAN, NAN], [0.5, 0.4]),
        "all 2 outcomes in y_true are missing.\n  there is nothing to assess",
    ),
    "nothing left": (
        lambda: of([0, 1], [NAN, NAN], missing="drop"),
        "no row is left: all 2 have missing values.\n  look at the columns; there is nothing to assess",
    ),
    "row sums": (
        lambda: of([0, 1, 2, 0], changed(THIRDS, (1, 0), 0.3)),
        "1 of 4 rows do not sum to one (first: row 1, sum 0.966667).\n"
        "  fix the forecasts, or rescale these rows:  Forecasts.of(…, normalise=True)",
    ),
    "row sums cannot be rescaled": (
        lambda: of([0, 1], [[0.5, 0.5], [0.0, 0.0]], normalise=True),
        "row 1 of y_proba sums to 0: it cannot be rescaled.\n  correct the row, or leave it out",
    ),
    "swapped": (
        lambda: of([0.2, 0.7, 0.9], [0, 1, 1]),
        "y_true holds fractions and y_proba only whole numbers: the two look swapped.\n"
        "  outcomes first, then probabilities:  assess(y_true, y_proba)",
    ),
    "swapped by class": (
        lambda: of([[0.2, 0.8], [0.7, 0.3]], [0, 1]),
        "y_true holds fractions and y_proba only whole numbers: the two look swapped.\n"
        "  outcomes first, then probabilities:  assess(y_true, y_proba)",
    ),
    "one-hot": (
        lambda: of([[1, 0], [0, 1]], [[0.4, 0.6], [0.5, 0.5]]),
        "y_true is one-hot (a 1 in the column of the outcome); outcomes have shape (n,).\n  give y_true.argmax(axis=1)",
    ),
    "shares of a case": (
        lambda: of([[0.7, 0.7], [0.2, 0.8]], [[0.4, 0.6], [0.5, 0.5]]),
        "row 0 of y_true holds 0.7, 0.7: shares of a case must sum to one.\n"
        "  correct the row; one outcome per case has shape (n,)",
    ),
    "outcome columns differ": (
        lambda: of([[0.5, 0.2, 0.3], [0.2, 0.2, 0.6]], [[0.4, 0.6], [0.5, 0.5]]),
        "y_true has 3 columns, y_proba 2.\n  outcomes have shape (n,)",
    ),
    "outcome in one column": (
        lambda: of([[0], [1]], [0.4, 0.6]),
        "y_true has shape (2, 1); outcomes have shape (n,).\n  give y_true[:, 0]",
    ),
    "label outside the columns": (
        lambda: of([0, 1, 3], [[0.4, 0.6], [0.5, 0.5], [0.1, 0.9]]),
        "y_true has 3 distinct labels (0, 1, 3), y_proba 2 columns.\n"
        "  name the classes in the order of the columns:  labels=[…]",
    ),
    "too few labels": (
        lambda: of(["a", "b", "a", "b"], THIRDS),
        "y_true has 2 distinct labels (a, b), y_proba 3 columns.\n"
        "  name the classes in the order of the columns:  labels=[…]",
    ),
    "one label": (
        lambda: of(["a", "a"], [0.4, 0.6]),
        "y_true has 1 distinct label (a), y_proba one column for two classes.\n"
        "  name the classes in the order of the columns:  labels=[…]",
    ),
    "three labels for one column": (
        lambda: of([0, 1, 2], [0.4, 0.6, 0.1]),
        "y_true has 3 distinct labels (0, 1, 2), y_proba one column for two classes.\n"
        "  name the classes in the order of the columns:  labels=[…]",
    ),
    "label not in labels": (
        lambda: of(["a", "c"], [0.4, 0.6], labels=["a", "b"]),
        "y_true[1] = 'c': none of the classes a, b (1 of 2 rows).\n  correct the outcome, or name every class",
    ),
    "numbers for named labels": (
        lambda: of([0, 1], [0.4, 0.6], labels=["a", "b"]),
        "y_true[0] = 0: none of the classes a, b (2 of 2 rows).\n"
        "  if these are column numbers:  np.asarray(labels)[y_true]",
    ),
    "labels twice": (
        lambda: of([0, 1], [0.4, 0.6], labels=[0, 0]),
        "labels: 0, 0 names a class twice.\n  name each class once, in the order of the columns",
    ),
    "too many labels": (
        lambda: of([0, 1], [0.4, 0.6], labels=[0, 1, 2]),
        "labels names 3 classes, y_proba has 2.\n  one label for each column, in their order",
    ),
    "mixed labels": (
        lambda: of(np.array(["a", 1, "b"], dtype=object), [0.4, 0.6, 0.2]),
        "y_true mixes int and str: such labels cannot be compared.\n  make all labels one type",
    ),
    "measured outcome": (
        lambda: of([0.0, 2.7], [0.4, 0.6]),
        "y_true[1] = 2.7: an outcome is a class, or a share between 0 and 1.\n"
        "  if these are measurements, cut them into classes first",
    ),
    "measured outcome by class": (
        lambda: of([0.0, 2.7, 1.0, 2.0], THIRDS),
        "y_true[1] = 2.7: an outcome is a class.\n  if these are measurements, cut them into classes first",
    ),
    "infinite outcome": (
        lambda: of([0.0, np.inf], [0.4, 0.6]),
        "y_true[1] = inf: an outcome is a class, or a share between 0 and 1.\n"
        "  if these are measurements, cut them into classes first",
    ),
    "complex outcome": (
        lambda: of([0j, 1j], [0.4, 0.6]),
        "y_true holds complex numbers.\n  an outcome is a label: a number or a word",
    ),
    "pos_label unknown": (
        lambda: of(["a", "b"], [0.4, 0.6], pos_label="c"),
        "pos_label='c' is not one of the labels a, b.\n  name one of them",
    ),
    "pos_label of three": (
        lambda: of([0, 1, 2, 0], THIRDS, pos_label=1),
        "pos_label is for two classes; y_proba has 3 columns.\n  leave it out",
    ),
    "soft refused": (
        lambda: of([0, 0.5, 1], [0.4, 0.6, 0.2], soft="refuse"),
        "1 of 3 outcomes are between 0 and 1 (first: row 1).\n"
        '  split them:  Forecasts.of(…, soft="split")      leave them out:  Forecasts.of(…, soft="omit")',
    ),
    "lengths": (
        lambda: of([0, 1, 1], [0.4, 0.6]),
        "y_true has 3 outcomes, y_proba 2 rows.\n  one outcome for each forecast is needed, in the same order",
    ),
    "outcome is a number": (
        lambda: of(1, [0.4, 0.6]),
        "y_true has 1 outcome, y_proba 2 rows.\n  one outcome for each forecast is needed, in the same order",
    ),
    "empty": (lambda: of([], []), "y_proba is empty: there is nothing to assess.\n  give at least one row"),
    "three dimensions": (
        lambda: of([0], [[[0.4]]]),
        "y_proba has 3 dimensions; it needs one or two.\n  give (n,) for two classes, (n, k) for k",
    ),
    "a number": (
        lambda: of([0], 0.4),
        "y_proba has 0 dimensions; it needs one or two.\n  give (n,) for two classes, (n, k) for k",
    ),
    "a single column": (
        lambda: of([0, 1], [[0.4], [0.6]]),
        "y_proba has shape (2, 1): a single column is the probability of the event in shape (n,).\n"
        "  give y_proba[:, 0]",
    ),
    "ragged": (
        lambda: of([0, 1], [[0.4, 0.6], [0.5]]),
        "y_proba: rows of different lengths.\n  each row needs one probability per class",
    ),
    "text": (
        lambda: of([0, 1], ["0.4", "0.6"]),
        "y_proba holds text ('0.4'), not numbers.\n  convert it first:  np.asarray(y_proba, dtype=float)",
    ),
    "words among objects": (
        lambda: of([0, 1], np.array([0.4, "high"], dtype=object)),
        "y_proba holds 'high' at position 1: not a number.\n  give numbers; None and nan are missing",
    ),
    "decisions": (
        lambda: of([0, 1], [True, False]),
        "y_proba holds True and False: decisions, not probabilities.\n"
        "  give the probabilities, such as predict_proba(X)",
    ),
    "complex": (
        lambda: of([0, 1], [0.4 + 0j, 0.6]),
        "y_proba holds complex numbers; probabilities are real.\n  give y_proba.real if that is meant",
    ),
    "dates": (
        lambda: of([0, 1], np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]")),
        "y_proba holds dates or times, not numbers.\n  give probabilities",
    ),
    "masked forecasts": (
        lambda: of([0, 1], np.ma.array([0.4, 0.6], mask=[0, 1])),
        "y_proba is a masked array with 1 masked value.\n"
        '  to leave these rows out give y_proba.filled(np.nan) and missing="drop"',
    ),
    "masked outcomes": (
        lambda: of(np.ma.array([0, 1], mask=[0, 1]), [0.4, 0.6]),
        "y_true is a masked array with 1 masked value.\n  leave these rows out of all arrays",
    ),
    "negative weight": (
        lambda: of([0, 1], [0.4, 0.6], sample_weight=[1, -2]),
        "sample_weight[1] = -2: negative (1 of 2 values).\n  correct the value, or leave the row out",
    ),
    "missing weight": (
        lambda: of([0, 1], [0.4, 0.6], sample_weight=[1, NAN]),
        "sample_weight[1] = nan: missing (1 of 2 values).\n  correct the value, or leave the row out",
    ),
    "infinite weight": (
        lambda: of([0, 1], [0.4, 0.6], sample_weight=[np.inf, 1]),
        "sample_weight[0] = inf: infinite (1 of 2 values).\n  correct the value, or leave the row out",
    ),
    "all weights zero": (
        lambda: of([0, 1], [0.4, 0.6], sample_weight=[0, 0]),
        "sample_weight: all 2 weights are zero.\n  leave the weights out to count every row once",
    ),
    "one weight, zero": (
        lambda: of([1], [0.4], sample_weight=[0]),
        "sample_weight: the only weight is zero.\n  leave the weights out to count every row once",
    ),
    "weights of another length": (
        lambda: of([0, 1], [0.4, 0.6], sample_weight=[1, 2, 3]),
        "sample_weight has 3 values, y_proba 2 rows.\n  one value for each row",
    ),
    "weights as a matrix": (
        lambda: of([0, 1], [0.4, 0.6], sample_weight=[[1], [2]]),
        "sample_weight has shape (2, 1), y_proba 2 rows.\n  one value for each row",
    ),
    "half counts": (
        lambda: of([0, 1], [0.4, 0.6], counts=[1, 1.5]),
        "counts[1] = 1.5: a count is a whole number.\n"
        '  importance that is not a number of cases:  Forecasts.of(…, sample_weight="…")',
    ),
    "negative counts": (
        lambda: of([0, 1], [0.4, 0.6], counts=[1, -1]),
        "counts[1] = -1: negative (1 of 2 values).\n  correct the value, or leave the row out",
    ),
    "all counts zero": (
        lambda: of([0, 1], [0.4, 0.6], counts=[0, 0]),
        "counts: all 2 counts are zero.\n  there is nothing to assess",
    ),
    "ideal of another shape": (
        lambda: of([0, 1], [0.4, 0.6], ideal=[[0.4, 0.6], [0.5, 0.5]]),
        "ideal has shape (2, 2), y_proba (2,): they need the same.\n  one ideal probability for each forecast",
    ),
    "ideal above one": (
        lambda: of([0, 1], [0.4, 0.6], ideal=[0.4, 6]),
        "ideal[1] = 6: above 1 (all 2 values lie between 0.4 and 6).\n  give the ideal as probabilities",
    ),
    "features of another length": (
        lambda: of([0, 1], [0.4, 0.6], features=[1, 2, 3]),
        "features has 3 rows, y_proba 2.\n  one value for each row",
    ),
    "groups of another length": (
        lambda: of([0, 1], [0.4, 0.6], groups={"site": ["a"]}),
        "groups['site'] has 1 row, y_proba 2.\n  one value for each row",
    ),
    "case of another length": (
        lambda: of([0, 1], [0.4, 0.6], case=[1]),
        "case has 1 row, y_proba 2.\n  one value for each row",
    ),
    "log-probability above zero": (
        lambda: of([0, 1], [-0.2, 0.5], scale="log"),
        "y_proba[1] = 0.5: a log-probability cannot be above 0.\n"
        '  if these are logits:  Forecasts.of(…, scale="logit")',
    ),
    "unknown scale": (
        lambda: of([0, 1], [0.4, 0.6], scale="odds"),
        "scale: 'odds' is not one of 'probability', 'percent', 'logit', 'log'",
    ),
    "unknown missing": (
        lambda: of([0, 1], [0.4, 0.6], missing="omit"),
        "missing: 'omit' is not one of 'error', 'drop'",
    ),
    "unknown soft": (
        lambda: of([0, 1], [0.4, 0.6], soft="round"),
        "soft: 'round' is not one of 'split', 'omit', 'refuse'",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_refused_with_the_exact_message(kind: str) -> None:
    make, message = BAD[kind]
    with pytest.raises(ValueError) as error:
        make()
    assert str(error.value) == message


def test_there_are_many_kinds() -> None:
    assert len(BAD) >= 60


@pytest.mark.parametrize("kind", BAD)
def test_a_message_says_what_to_do(kind: str) -> None:
    what, _, remedy = BAD[kind][1].partition("\n  ")
    assert what
    assert remedy or "is not one of" in what  # a list of choices is its own remedy
