"""Outcomes that declare the order of their classes: ordered categoricals of pandas, Enums of polars, dictionaries of
pyarrow. The columns of the probabilities are in that order; categories without an order are sorted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from veracity import Forecasts, assess, compare
from veracity.read import ReadOptions, frame, read

NAMES = ["low", "mid", "high"]
N = 200
RNG = np.random.default_rng(5)
Q = RNG.dirichlet([1.0, 1.0, 1.0], N)
K = np.array([RNG.choice(3, p=q) for q in Q])
WORDS = np.array(NAMES)[K]
LOSS = float(-np.mean(np.log(Q[np.arange(N), K])))
COLUMNS = {f"p{j}": Q[:, j] for j in range(3)}

ORDERED: dict[str, Callable[..., Any]] = {
    "pandas categorical": lambda w, names: pd.Categorical(w, categories=names, ordered=True),
    "pandas series": lambda w, names: pd.Series(w, dtype=pd.CategoricalDtype(names, ordered=True)),
    "polars enum": lambda w, names: pl.Series(w, dtype=pl.Enum(names)),
    "pyarrow dictionary": lambda w, names: pa.array(pd.Categorical(w, categories=names, ordered=True)),
    "pyarrow chunks": lambda w, names: pa.chunked_array(
        [pa.array(pd.Categorical(part, categories=names, ordered=True)) for part in np.array_split(w, 2)]
    ),
}


@pytest.mark.parametrize("kind", ORDERED)
def test_columns_of_arrays_are_in_the_declared_order(kind: str) -> None:
    f = Forecasts.of(ORDERED[kind](WORDS, NAMES), Q)
    assert f.classes == ("low", "mid", "high")
    np.testing.assert_array_equal(f.outcomes, K)


def test_assess_and_compare_use_the_declared_order() -> None:
    y = pd.Categorical(WORDS, categories=NAMES, ordered=True)
    assert float(assess(y, Q).scores.log_loss) == pytest.approx(LOSS, rel=1e-12)
    held = compare(y, {"a": Q, "b": Q[:, ::-1].copy()})
    assert float(held.models["a"].scores.log_loss) == pytest.approx(LOSS, rel=1e-12)


@pytest.mark.parametrize(
    "unordered",
    [pd.Categorical(WORDS, categories=NAMES), pl.Series(WORDS, dtype=pl.Categorical), pa.array(pd.Categorical(WORDS))],
)
def test_categories_without_an_order_are_sorted(unordered: Any) -> None:
    assert Forecasts.of(unordered, Q[:, [2, 0, 1]]).classes == ("high", "low", "mid")


@pytest.mark.parametrize("kind", ORDERED)
def test_a_declared_class_that_never_occurs_keeps_its_column(kind: str) -> None:
    seen = K != 1
    f = Forecasts.of(ORDERED[kind](WORDS[seen], NAMES), Q[seen])
    assert f.classes == ("low", "mid", "high")
    np.testing.assert_array_equal(f.outcomes, K[seen])


def test_declared_classes_without_a_column_are_those_that_never_occur() -> None:
    y = pd.Categorical(WORDS, categories=["none", *NAMES], ordered=True)
    assert Forecasts.of(y, Q).classes == ("low", "mid", "high")
    with pytest.raises(ValueError) as error:
        Forecasts.of(pd.Categorical(WORDS, categories=["none", *NAMES, "all"], ordered=True), Q[:, :2])
    assert str(error.value) == (
        "y_true declares 5 classes (none, low, mid, high, all), y_proba has 2 columns.\n"
        "  name the classes in the order of the columns:  labels=[…]"
    )


def test_given_labels_and_named_columns_win_over_the_declared_order() -> None:
    y = pd.Categorical(WORDS, categories=NAMES, ordered=True)
    back = Q[:, ::-1]
    assert Forecasts.of(y, back, labels=NAMES[::-1]).classes == ("high", "mid", "low")
    assert Forecasts.of(y, pd.DataFrame(back, columns=NAMES[::-1])).classes == ("high", "mid", "low")
    assert Forecasts.of(y, pd.DataFrame(Q)).classes == ("low", "mid", "high")


def test_numbers_with_a_declared_order_are_labels_and_not_column_numbers() -> None:
    f = Forecasts.of(pd.Categorical(2 - K, categories=[2, 1, 0], ordered=True), Q)
    assert f.classes == (2, 1, 0)
    np.testing.assert_array_equal(f.outcomes, K)


def test_missing_outcomes_of_an_ordered_categorical_are_left_out() -> None:
    words = [None if i < 3 else w for i, w in enumerate(WORDS.tolist())]
    f = Forecasts.of(pd.Categorical(words, categories=NAMES, ordered=True), Q, missing="drop")
    np.testing.assert_array_equal(f.outcomes, K[3:])


def test_one_column_is_the_probability_of_the_last_declared_class() -> None:
    y = pd.Categorical(np.where(K > 0, "high", "low"), categories=["low", "high"], ordered=True)
    f = Forecasts.of(y, 1 - Q[:, 0])
    assert f.classes == ("low", "high")
    assert not f.findings
    words = pd.Categorical(np.where(K > 0, "yes", "no"), categories=["yes", "no"], ordered=True)
    assert Forecasts.of(words, 1 - Q[:, 0]).classes == ("no", "yes")  # words of an event tell more


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "parquet", "arrow"])
@pytest.mark.parametrize("first", [0, 1])
def test_numbered_columns_of_a_frame_are_in_the_declared_order(kind: str, first: int, tmp_path: Path) -> None:
    columns = {f"p{j + first}": Q[:, j] for j in range(3)}
    held = pl.DataFrame({"y": pl.Series(WORDS, dtype=pl.Enum(NAMES)), **columns})
    ordered = pd.Categorical(WORDS, categories=NAMES, ordered=True)
    if kind == "parquet":
        held.write_parquet(tmp_path / "a.parquet")
        (f,) = read(tmp_path / "a.parquet").values()
    elif kind == "arrow":
        held.write_ipc(tmp_path / "a.arrow")
        (f,) = read(tmp_path / "a.arrow").values()
    else:
        made = {"pandas": pd.DataFrame, "polars": lambda _: held, "pyarrow": pa.table}[kind]({"y": ordered, **columns})
        (f,) = frame(made).values()
    assert f.classes == ("low", "mid", "high")
    np.testing.assert_array_equal(f.outcomes, K)
    np.testing.assert_array_equal(f.matrix, Q)


def test_a_declared_class_that_never_occurs_keeps_its_column_in_a_frame() -> None:
    seen = K != 1
    held = pd.DataFrame({"y": pd.Categorical(WORDS, categories=NAMES, ordered=True), **COLUMNS})[seen]
    (f,) = frame(held).values()
    assert f.classes == ("low", "mid", "high")
    np.testing.assert_array_equal(f.outcomes, K[seen])


def test_one_column_of_a_frame_is_the_probability_of_the_last_declared_class() -> None:
    words = pd.Categorical(np.where(K > 0, "high", "low"), categories=["low", "high"], ordered=True)
    (f,) = frame(pd.DataFrame({"y": words, "p": 1 - Q[:, 0]})).values()
    assert f.classes == ("low", "high")
    (other,) = frame(pd.DataFrame({"y": words, "p": Q[:, 0]}), ReadOptions(positive="low")).values()
    assert other.classes == ("high", "low")
