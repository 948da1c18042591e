"""Models on the same cases: paired by id or by row; a case with two outcomes is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from veracity.data import Forecasts
from veracity.read import ReadOptions, paired, read


def test_by_id_on_common_cases() -> None:
    a = Forecasts.of([0, 1, 1], [0.1, 0.6, 0.9], case=["u", "v", "w"])
    b = Forecasts.of([1, 0, 1], [0.8, 0.3, 0.5], case=["w", "u", "x"])
    both, said = paired({"a": a, "b": b})
    np.testing.assert_array_equal(both["a"].case, ["u", "w"])
    np.testing.assert_array_equal(both["b"].case, ["u", "w"])
    np.testing.assert_allclose(both["b"].positive, [0.3, 0.8])
    assert said == "2 of 4 cases are in all 2 models"


def test_columns_of_one_file_pair_by_row(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("obs,first,second\n0,0.1,0.4\n1,,0.6\n1,0.7,0.8\n0,0.3,0.2\n")
    both, said = paired(read(path, ReadOptions(missing="drop")))
    np.testing.assert_allclose(both["first"].positive, [0.1, 0.7, 0.3])
    np.testing.assert_allclose(both["second"].positive, [0.4, 0.8, 0.2])
    assert said == "3 of 4 cases are in all 2 models, paired by row"


def test_files_of_other_lengths_or_outcomes(tmp_path: Path) -> None:
    for name, text in {
        "a": "y,p\n0,0.2\n1,0.4\n1,0.7\n",
        "b": "y,p\n0,0.2\n1,0.4\n1,0.7\n0,0.1\n",
        "c": "y,p\n0,0.2\n0,0.4\n1,0.7\n",
    }.items():
        (tmp_path / f"{name}.csv").write_text(text)
    models = {name: read(tmp_path / f"{name}.csv")[name] for name in "abc"}
    with pytest.raises(ValueError) as lengths:
        paired({"a": models["a"], "b": models["b"]})
    assert str(lengths.value) == (
        "a has 3 rows, b 4: they cannot be paired by row\n  name the column that identifies a case:  --id COL"
    )
    with pytest.raises(ValueError) as outcomes:
        paired({"a": models["a"], "c": models["c"]})
    assert str(outcomes.value) == (
        "row 2: a and c have different outcomes; paired comparison needs one outcome per case\n"
        "  name the column that identifies a case:  --id COL"
    )


def test_two_outcomes_of_one_case(shared: Path) -> None:
    models = read(shared / "covid_hub_scoringutils/example_binary.csv")
    with pytest.raises(ValueError) as error:
        paired(models)
    assert str(error.value).startswith("example_binary.csv: case location=")
    assert str(error.value).endswith("for another; paired comparison needs one outcome per case.")


def test_common_cases_of_long_forecasts(shared: Path) -> None:
    _, said = paired(read(shared / "covid_hub_scoringutils/example_nominal.csv"))
    assert said == "119 of 256 cases are in all 4 models"


def test_a_case_that_stands_twice() -> None:
    a = Forecasts.of([0, 1, 1], [0.1, 0.6, 0.9], case=["u", "v", "u"])
    b = Forecasts.of([0, 1, 1], [0.1, 0.6, 0.9], case=["u", "v", "w"])
    with pytest.raises(ValueError) as error:
        paired({"a": a, "b": b})
    assert str(error.value) == (
        "case u stands more than once for a (rows 0 and 2).\n  name all columns that identify a case:  --id COL,COL"
    )


def test_split_outcomes_stay_together() -> None:
    a = Forecasts.of([0, 0.5, 1], [0.1, 0.6, 0.9], case=["u", "v", "w"])
    b = Forecasts.of([0.5, 0], [0.2, 0.3], case=["v", "u"])
    both, _ = paired({"a": a, "b": b})
    np.testing.assert_array_equal(both["a"].case, ["u", "v", "v"])
    np.testing.assert_array_equal(both["b"].case, ["u", "v", "v"])


def test_other_classes() -> None:
    a = Forecasts.of(["x", "y"], [[0.1, 0.9], [0.5, 0.5]])
    b = Forecasts.of(["x", "z"], [[0.1, 0.9], [0.5, 0.5]])
    with pytest.raises(ValueError, match=r"^a and b have different classes: x, y and x, z\n"):
        paired({"a": a, "b": b})
