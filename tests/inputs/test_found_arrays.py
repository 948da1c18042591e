"""Arrays and frames as people pass them: understood, or refused with what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from veracity import assess
from veracity.inputs import Forecasts

N = 60
RNG = np.random.default_rng(0)
P = RNG.random(N)
Y = (RNG.random(N) < P).astype(int)
Q = RNG.dirichlet([1.0, 1.0, 1.0], N)
K = np.array([RNG.choice(3, p=q) for q in Q])
WORDS = np.array(["a", "b", "c"])[K]
TURNED = Q[:, [2, 0, 1]]
INDEX = RNG.permutation(N)

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "index in another order": (
        lambda: Forecasts.of(pd.Series(Y, INDEX), pd.Series(P, INDEX[::-1])),
        "y_true and y_proba have the same index in another order.\n"
        "  bring them into one order:  y_proba.loc[y_true.index]",
    ),
    "columns for other numbers": (
        lambda: Forecasts.of(K, pd.DataFrame(Q, columns=["p1", "p2", "p3"])),
        "the columns of y_proba are p1, p2, p3, the outcomes 0, 1, 2.\n  say which column is which class:  labels=[…]",
    ),
    "generator": (
        lambda: Forecasts.of(Y, (p for p in P)),
        "y_proba is a generator, not an array.\n  give a list or an array of numbers",
    ),
    "counts beyond all cases": (
        lambda: Forecasts.of(Y, P, counts=np.full(N, 1e19)),
        "counts[0] = 1e+19: too large for a number of cases.\n  importance that is not a number of cases is a weight",
    ),
    "labels as a number": (
        lambda: Forecasts.of(WORDS, Q, labels=3),
        "labels is 3, not a list.\n  name the classes in the order of the columns:  [0, 1, …]",
    ),
    "labels as one word": (
        lambda: Forecasts.of(WORDS, Q, labels="abc"),
        "labels is 'abc', not a list.\n  name the classes in the order of the columns:  [0, 1, …]",
    ),
    "numbers and words for them": (
        lambda: Forecasts.of(K, Q, labels=["0", "1", "2"]),
        "y_true[0] = 0: none of the classes '0', '1', '2' (60 of 60 rows).\n"
        "  if these are column numbers:  np.asarray(labels)[y_true]",
    ),
    "no logit is finite": (
        lambda: Forecasts.of(K, np.full((N, 3), -np.inf), scale="logit"),
        "row 0 of y_proba holds -inf, -inf, -inf: infinite logits leave no probabilities.\n"
        "  correct the row, or leave it out",
    ),
    "an infinite logit": (
        lambda: Forecasts.of(K, np.where(np.arange(N)[:, None] == 3, np.inf, Q), scale="logit"),
        "row 3 of y_proba holds inf, inf, inf: infinite logits leave no probabilities.\n"
        "  correct the row, or leave it out",
    ),
    "columns of one name": (
        lambda: assess(pd.DataFrame(np.c_[Y, P, P], columns=["y", "p", "p"])),
        "two columns of the frame are called `p`\n  give every column its own name",
    ),
    "outcomes alone": (
        lambda: assess(Y),
        "a ndarray is no frame\n"
        "  give outcomes and probabilities (y_true, y_proba), or a pandas, polars, pyarrow or duckdb frame",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_unclear_arrays_are_refused_with_their_message(kind: str) -> None:
    call, message = REFUSED[kind]
    with pytest.raises(ValueError) as error:
        call()
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("y", "p"),
    [
        (K, pd.DataFrame(TURNED, columns=[2, 0, 1])),
        (K, pd.DataFrame(TURNED, columns=["p2", "p0", "p1"])),
        (WORDS, pa.table({"c": Q[:, 2], "a": Q[:, 0], "b": Q[:, 1]})),
        (K * 10 + 10, pd.DataFrame(TURNED, columns=["p_30", "p_10", "p_20"])),
    ],
)
def test_columns_of_a_frame_name_their_classes(y: Any, p: Any) -> None:
    assert Forecasts.of(y, p).realised == pytest.approx(Q[np.arange(N), K], abs=0)


def test_rows_of_one_index_are_taken_in_their_order() -> None:
    assert Forecasts.of(pd.Series(Y, INDEX), pd.Series(P, INDEX)).positive == pytest.approx(P, abs=0)
    assert Forecasts.of(pd.Series(Y, INDEX + 100), pd.Series(P)).positive == pytest.approx(P, abs=0)


def test_names_of_columns_in_a_list_or_as_numbers() -> None:
    wide = pd.DataFrame(Q, columns=["p_a", "p_b", "p_c"]).assign(truth=WORDS)
    given = assess(wide, label="truth", proba=["p_a", "p_b", "p_c"])
    assert given.scores.log_loss == assess(WORDS, Q).scores.log_loss
    numbered = assess(pd.DataFrame({0: Y, 1: P}), label=0, proba=1)
    assert numbered.scores.log_loss == assess(Y, P).scores.log_loss


def test_counts_may_be_true_or_false() -> None:
    assert len(Forecasts.of(Y, P, counts=P > 0.5)) == int((P > 0.5).sum())
