"""Models on the same cases: paired by id or by row; a case with two outcomes is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veracity.engines import Engine
from veracity.engines._compare import count_paired
from veracity.read import ReadOptions
from veracity.read.pairing import Paired
from veracity.state.tally import Tally


def paired(*paths: Path, **options: Any) -> tuple[dict[str, Tally], str]:
    """The tally of each model on common cases, and the sentence that counts these."""
    engine = Engine()
    sources = {path.stem: engine.open(path, ReadOptions(**options)) for path in paths}
    counted, said = count_paired(engine, Paired(sources))
    return counted.tallies(), said


def realised(tally: Tally) -> list[float]:
    """The probabilities that the outcomes had, in order."""
    return sorted(np.repeat(tally.rows.realised, tally.rows.counts).tolist())


@pytest.fixture
def wrote(tmp_path: Path) -> Callable[[str, str], Path]:
    def write(name: str, text: str) -> Path:
        path = tmp_path / f"{name}.csv"
        path.write_text(text)
        return path

    return write


@pytest.fixture(params=[1, 2, 1 << 20], autouse=True)
def rows(request: pytest.FixtureRequest, small_batches: Callable[[int], None]) -> None:
    small_batches(request.param)


def test_models_meet_by_id_on_common_cases(wrote: Any) -> None:
    a = wrote("a", "who,y,p\nu,0,0.1\nv,1,0.6\nw,1,0.9\n")
    b = wrote("b", "who,y,p\nw,1,0.8\nu,0,0.3\nx,1,0.5\n")
    both, said = paired(a, b, id="who")
    assert realised(both["a"]) == pytest.approx([0.9, 0.9])
    assert realised(both["b"]) == pytest.approx([0.7, 0.8])
    assert said == "2 of 4 cases are in all 2 models"


def test_numbers_and_texts_are_one_id(wrote: Any) -> None:
    """5 and 5.0 are one id, whatever else the column holds."""
    a = wrote("a", "id,y,p\n5,0,0.1\n6,1,0.6\n")
    b = wrote("b", "id,y,p\n6.0,1,0.8\n5.0,0,0.3\n7.5,1,0.5\n")
    _, said = paired(a, b, id="id")
    assert said == "2 of 3 cases are in all 2 models"


def test_columns_of_one_file_pair_by_row(wrote: Any) -> None:
    path = wrote("x", "obs,first,second\n0,0.1,0.4\n1,,0.6\n1,0.7,0.8\n0,0.3,0.2\n")
    both, said = paired(path, missing="drop")
    assert realised(both["first"]) == pytest.approx([0.7, 0.7, 0.9])
    assert realised(both["second"]) == pytest.approx([0.6, 0.8, 0.8])
    assert said == "3 of 4 cases are in all 2 models, paired by row"


def test_files_of_other_lengths_or_outcomes_are_refused(wrote: Any) -> None:
    a = wrote("a", "y,p\n0,0.2\n1,0.4\n1,0.7\n")
    b = wrote("b", "y,p\n0,0.2\n1,0.4\n1,0.7\n0,0.1\n")
    c = wrote("c", "y,p\n0,0.2\n0,0.4\n1,0.7\n")
    with pytest.raises(ValueError) as lengths:
        paired(a, b)
    assert str(lengths.value) == (
        "a has 3 rows, b 4: they cannot be paired by row\n  name the column that identifies a case:  --id COL"
    )
    with pytest.raises(ValueError) as outcomes:
        paired(a, c)
    assert str(outcomes.value) == (
        "row 2: a and c have different outcomes; paired comparison needs one outcome per case\n"
        "  name the column that identifies a case:  --id COL"
    )


def test_refusals_name_the_column_and_the_case(wrote: Any) -> None:
    """Commands that run: with the id the lengths do not matter, and without the case there is one outcome per case."""
    a = wrote("a", "patient_id,y,p\n1,0,0.2\n2,1,0.4\n3,1,0.7\n")
    b = wrote("b", "patient_id,y,p\n1,0,0.2\n2,0,0.4\n3,1,0.7\n4,0,0.1\n")
    with pytest.raises(ValueError, match=r"cannot be paired by row\n  .*:  --id patient_id$"):
        paired(a, b)
    with pytest.raises(ValueError, match=r"leave the case out:  --where 'patient_id!=2'$"):
        paired(a, b, id="patient_id")
    _, said = paired(a, b, id="patient_id", where=("patient_id!=2",))
    assert said == "2 of 3 cases are in all 2 models"


def test_two_outcomes_of_one_case_are_refused(wrote: Any) -> None:
    a = wrote("a", "place,day,y,p\nDE,1,0,0.2\nDE,2,1,0.4\n")
    b = wrote("b", "place,day,y,p\nDE,1,0,0.2\nDE,2,0,0.4\n")
    with pytest.raises(ValueError) as error:
        paired(a, b, id="place,day")
    assert str(error.value) == (
        "b.csv: case place=DE, day=2 has outcome 1 for one model and 0 for another; "
        "paired comparison needs one outcome per case.\n"
        "  correct it, or name further columns that identify a case:  --id COL,COL"
    )


@pytest.mark.shared
def test_two_outcomes_of_one_real_case_are_refused(shared: Path) -> None:
    with pytest.raises(ValueError) as error:
        paired(shared / "covid_hub_scoringutils/example_binary.csv")
    assert str(error.value).startswith("example_binary.csv: case location=")
    assert "for another; paired comparison needs one outcome per case." in str(error.value)


@pytest.mark.shared
def test_common_cases_of_long_forecasts(shared: Path) -> None:
    _, said = paired(shared / "covid_hub_scoringutils/example_nominal.csv")
    assert said == "119 of 256 cases are in all 4 models"


def test_a_case_that_is_given_twice_is_refused(wrote: Any) -> None:
    a = wrote("a", "who,y,p\nu,0,0.1\nv,1,0.6\nu,1,0.9\n")
    b = wrote("b", "who,y,p\nu,0,0.1\nv,1,0.6\nw,1,0.9\n")
    with pytest.raises(ValueError) as error:
        paired(a, b, id="who")
    assert str(error.value) == (
        "case u is given more than once for a (a.csv row 1 and a.csv row 3)\n"
        "  name all columns that identify a case:  --id COL,COL"
    )


def test_split_outcomes_stay_together(wrote: Any) -> None:
    a = wrote("a", "who,y,p\nu,0,0.1\nv,0.5,0.6\nw,1,0.9\n")
    b = wrote("b", "who,y,p\nv,0.5,0.2\nu,0,0.3\n")
    both, said = paired(a, b, id="who")
    assert said == "2 of 3 cases are in all 2 models"
    assert {name: tally.cases for name, tally in both.items()} == {"a": 2, "b": 2}
    assert realised(both["a"]) == pytest.approx([0.4, 0.6, 0.9])
    assert realised(both["b"]) == pytest.approx([0.2, 0.7, 0.8])


def test_other_classes_are_refused(wrote: Any) -> None:
    a = wrote("a", "y,p_x,p_y,p_w\nx,0.1,0.8,0.1\ny,0.5,0.4,0.1\nw,0.2,0.2,0.6\n")
    b = wrote("b", "y,p_x,p_z,p_w\nx,0.1,0.8,0.1\nz,0.5,0.4,0.1\nw,0.2,0.2,0.6\n")
    with pytest.raises(ValueError, match=r"^a and b have different classes: .* and .*\n  models are compared on"):
        paired(a, b)


def test_one_file_for_two_models_is_refused(wrote: Any) -> None:
    engine = Engine()
    path = wrote("a", "y,p\n0,0.2\n1,0.4\n")
    with pytest.raises(ValueError, match="is given for two models"):
        Paired({"a": engine.open(path), "b": engine.open(path)})
