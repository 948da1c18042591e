"""Labels that are equal after Unicode normalisation are one class: é as one letter, or as e and an accent."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import pandas as pd
import polars as pl
import pytest

from veracity import Forecasts, assess
from veracity.read import ReadOptions, frame, read

NAMES = ["caf\u00e9", "plain", "th\u00e9"]
N = 150
RNG = np.random.default_rng(7)
Q = RNG.dirichlet([1.0, 1.0, 1.0], N)
K = np.array([RNG.choice(3, p=q) for q in Q])
FORMS = RNG.choice(["NFC", "NFD"], N)
MIXED = [normalize(form, NAMES[k]) for form, k in zip(FORMS, K, strict=True)]
APART = [normalize("NFD", name) for name in NAMES]
LOSS = float(-np.mean(np.log(Q[np.arange(N), K])))


def test_the_test_holds_both_spellings() -> None:
    assert len(set(MIXED)) == 5


@pytest.mark.parametrize(
    "labels", [MIXED, np.array(MIXED), np.array(MIXED, dtype=object), pd.Series(MIXED), pl.Series(MIXED)]
)
def test_two_spellings_of_a_label_are_one_class_of_arrays(labels: Any) -> None:
    f = Forecasts.of(labels, Q)
    assert f.classes == tuple(NAMES)
    np.testing.assert_array_equal(f.outcomes, K)
    assert float(assess(labels, Q).scores.log_loss) == pytest.approx(LOSS, rel=1e-12)


def test_given_labels_and_column_names_may_be_spelled_otherwise() -> None:
    for f in (
        Forecasts.of(MIXED, Q, labels=APART),
        Forecasts.of(MIXED, pd.DataFrame(Q, columns=APART)),
        Forecasts.of(MIXED, pl.DataFrame(Q, schema=[f"p_{name}" for name in APART])),
        Forecasts.of(pd.Categorical(MIXED, categories=sorted(set(MIXED))), Q),
    ):
        assert f.classes == tuple(NAMES)
        np.testing.assert_array_equal(f.outcomes, K)
    two = [normalize(form, "\u00e9t\u00e9" if k else "hiver") for form, k in zip(FORMS, K, strict=True)]
    assert Forecasts.of(two, Q[:, 0], pos_label=normalize("NFD", "\u00e9t\u00e9")).classes[1] == "\u00e9t\u00e9"


def test_a_class_named_twice_in_two_spellings_is_refused() -> None:
    with pytest.raises(ValueError, match="names a class twice"):
        Forecasts.of(MIXED, Q, labels=[NAMES[0], APART[0], "plain"])


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "frame"])
@pytest.mark.parametrize("stem", ["", "p_", "score of "])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_class_columns_and_labels_of_files_may_be_spelled_otherwise(
    kind: str, stem: str, form: Any, tmp_path: Path
) -> None:
    held = pl.DataFrame({"label": MIXED, **{normalize(form, stem + name): Q[:, j] for j, name in enumerate(NAMES)}})
    path = tmp_path / f"a.{kind}"
    {"csv": held.write_csv, "parquet": held.write_parquet, "jsonl": held.write_ndjson}.get(kind, id)(path)
    (f,) = (frame(held) if kind == "frame" else read(path)).values()
    assert f.classes == tuple(NAMES)
    np.testing.assert_array_equal(f.outcomes, K)
    np.testing.assert_array_equal(f.matrix, Q)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_the_event_of_a_file_may_be_spelled_otherwise(form: Any, tmp_path: Path) -> None:
    happened = K == 2
    words = [normalize(f, "th\u00e9" if h else "caf\u00e9") for f, h in zip(FORMS, happened, strict=True)]
    pl.DataFrame({"y": words, "p": Q[:, 2]}).write_csv(tmp_path / "a.csv")
    (f,) = read(tmp_path / "a.csv", ReadOptions(positive=normalize(form, "th\u00e9"))).values()
    assert f.classes == ("caf\u00e9", "th\u00e9")
    np.testing.assert_array_equal(f.outcomes, happened)


def test_groups_and_clusters_have_one_spelling(tmp_path: Path) -> None:
    city = [normalize(form, ["Z\u00fcrich", "Bern"][i % 2]) for i, form in enumerate(FORMS)]
    unit = [normalize(form, f"\u00e9cole {i // 10}") for i, form in enumerate(FORMS)]
    held = Forecasts.of(K, Q, groups={"city": city}, clusters=unit)
    assert set(held.groups["city"]) == {"Bern", "Z\u00fcrich"}
    assert len(np.unique(held.clusters)) == 15
    pl.DataFrame({"y": K, "city": city, "unit": unit, **{f"p{j}": Q[:, j] for j in range(3)}}).write_csv(
        tmp_path / "a.csv"
    )
    (f,) = read(tmp_path / "a.csv", ReadOptions(group="city", cluster="unit")).values()
    assert set(f.groups["city"]) == {"Bern", "Z\u00fcrich"}
    assert len(np.unique(f.clusters)) == 15
