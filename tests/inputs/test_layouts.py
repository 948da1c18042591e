"""Every layout: what is recognised, how it is read, how options change it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from veracity.inputs import Forecasts
from veracity.read import Layout, ReadOptions, read, recognise
from veracity.read import open as open_source
from veracity.read.column_meaning import event_of
from veracity.records.findings import merge
from veracity.records.layout import Cuts, Rejection, Unused


def in_batches(source: Any, rows: int) -> list[Any]:
    """All forecasts of a source, at most so many rows at a time."""
    return [f for part in source.parts() for batch in source.batches(part, rows=rows) for f in batch.forecasts]


def wrote(folder: Path, text: str, name: str = "x.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def one(path: Path, **options: Any) -> tuple[Layout, Forecasts]:
    reading = ReadOptions(**options)
    (f,) = read(path, reading).values()
    return recognise(path, reading), f


WIDE = "label,p_a,p_b,p_c\na,0.5,0.3,0.2\nb,0.1,0.8,0.1\nc,0.3,0.4,0.3\na,0.6,0.2,0.2\n"


def test_wide_layout_is_recognised(tmp_path: Path) -> None:
    layout, f = one(wrote(tmp_path, WIDE))
    assert layout.layout == "wide"
    assert f.classes == ("a", "b", "c")
    np.testing.assert_allclose(f.realised, [0.5, 0.8, 0.3, 0.6])


@pytest.mark.parametrize("stem", ["p_", "prob_", "proba_", ".pred_", "score.", "", "P "])
def test_classes_are_columns_without_their_common_stem(stem: str, tmp_path: Path) -> None:
    text = WIDE.replace("p_", stem)
    _, f = one(wrote(tmp_path, text))
    assert f.classes == ("a", "b", "c")
    np.testing.assert_allclose(f.realised, [0.5, 0.8, 0.3, 0.6])


def test_order_and_versus_rest(tmp_path: Path) -> None:
    path = wrote(tmp_path, WIDE)
    _, f = one(path, order="c,b,a")
    assert f.classes == ("c", "b", "a")
    np.testing.assert_allclose(f.matrix[0], [0.2, 0.3, 0.5])
    np.testing.assert_allclose(f.realised, [0.5, 0.8, 0.3, 0.6])
    layout, rest = one(path, versus_rest="a,c")
    assert rest.classes == ("rest", "a,c")
    np.testing.assert_allclose(rest.positive, [0.7, 0.2, 0.6, 0.8])
    np.testing.assert_array_equal(rest.outcomes, [1, 0, 1, 1])
    assert "event = a or c against the rest" in layout.describe()


def test_versus_rest_still_checks_the_rows(tmp_path: Path) -> None:
    path = wrote(tmp_path, WIDE.replace("0.6,0.2,0.2", "0.6,0.2,0.9"))
    with pytest.raises(ValueError, match="1 of 4 rows do not sum to one"):
        read(path, ReadOptions(proba="p_*", versus_rest="a"))


def test_event_of_two_classes(tmp_path: Path) -> None:
    text = "y,p_yes,p_no\nyes,0.7,0.3\nno,0.2,0.8\nyes,0.6,0.4\n"
    _, f = one(wrote(tmp_path, text))
    assert f.classes == ("no", "yes")
    _, other = one(wrote(tmp_path, text), positive="no")
    assert other.classes == ("yes", "no")
    np.testing.assert_allclose(f.realised, other.realised)


def test_logits_by_their_name(tmp_path: Path) -> None:
    _, f = one(wrote(tmp_path, "y,logit_0,logit_1\n0,1.0,-1.0\n1,3.0,2.0\n1,-2.0,5.0\n"))
    assert f.log_realised is not None
    np.testing.assert_allclose(f.realised, 1 / (1 + np.exp([-2.0, 1.0, -7.0])))


def test_cut_turns_measured_outcomes_into_classes(tmp_path: Path) -> None:
    text = "obs,p_0,p_1,p_2\n0.2,0.5,0.3,0.2\n0.21,0.1,0.8,0.1\n9,0.3,0.4,0.3\n4.4,0.2,0.2,0.6\n"
    layout, f = one(wrote(tmp_path, text), cut="0.2,4.4")
    np.testing.assert_array_equal(f.outcomes, [0, 1, 2, 1])
    assert layout.meaning == Cuts((0.2, 4.4), ("0", "1", "2"))
    _, binary = one(wrote(tmp_path, "obs,p\n0.1,0.5\n2.5,0.3\n1.5,0.2\n"), cut="1")
    np.testing.assert_array_equal(binary.outcomes, [0, 1, 1])


def test_two_models_in_columns(tmp_path: Path) -> None:
    text = "y,m_0,m_1,q_0,q_1\n0,0.5,0.5,0.1,0.9\n1,0.4,0.6,0.2,0.8\n"
    models = read(wrote(tmp_path, text), ReadOptions(proba="{model}_*"))
    assert list(models) == ["m", "q"]
    np.testing.assert_allclose(models["q"].realised, [0.1, 0.8])


@pytest.mark.parametrize(
    ("labels", "pair"),
    [
        (("0", "1"), ("0", "1")),
        (("-1", "1"), ("-1", "1")),
        (("False", "True"), ("False", "True")),
        (("ja", "nein"), ("nein", "ja")),
        (("absent", "present"), ("absent", "present")),
        (("n", "y"), ("n", "y")),
        (("no",), ("no", "yes")),
        (("1", "2"), None),
        (("good", "poor"), None),
        (("true", "yes"), None),
    ],
)
def test_words_name_the_event(labels: tuple[str, ...], pair: tuple[str, str] | None) -> None:
    assert event_of(labels) == pair


def test_ties_in_pairs_are_shared_between_the_classes(tmp_path: Path) -> None:
    text = "prob1,prob1_outcome,prob2,prob2_outcome\n0.6,1,0.4,0\n0.3,0.5,0.7,0.5\n0.2,0,0.8,1\n"
    layout, f = one(wrote(tmp_path, text))
    assert layout.layout == "pairs"
    np.testing.assert_array_equal(f.outcomes, [0, 0, 1, 1])
    np.testing.assert_allclose(f.weights, [1, 0.5, 0.5, 1])
    assert f.findings[0].message == "1 of 3 outcomes are between 0 and 1: split (--soft omit leaves them out)"


def test_soft_outcome_of_one_probability(tmp_path: Path) -> None:
    _, f = one(wrote(tmp_path, "y,p\n0,0.1\n0.5,0.4\n1,0.8\n"))
    np.testing.assert_allclose(f.mass, [1, 0.5, 0.5, 1])


def test_counts_layout_is_recognised(tmp_path: Path) -> None:
    _, f = one(wrote(tmp_path, "k,p,events,n\n1,0.1,1,10\n2,0.5,0,3\n3,0.9,4,4\n"))
    np.testing.assert_allclose(f.positive, [0.1, 0.1, 0.5, 0.9])
    np.testing.assert_array_equal(f.outcomes, [1, 0, 0, 1])
    np.testing.assert_array_equal(f.counts, [1, 9, 3, 4])
    _, cells = one(wrote(tmp_path, "forecast,observed,n\n0.1,0,9\n0.1,1,1\n0.5,0,3\n0.9,1,4\n"))
    np.testing.assert_array_equal(cells.counts, [9, 1, 3, 4])


def test_long_layout_is_recognised(tmp_path: Path) -> None:
    text = "case,model,observed,predicted_label,predicted\n"
    for case, observed, p in (("u", "a", (0.7, 0.3)), ("v", "b", (0.4, 0.6))):
        for model in ("m", "q"):
            for label, value in zip("ab", p if model == "m" else p[::-1], strict=True):
                text += f"{case},{model},{observed},{label},{value}\n"
    models = read(wrote(tmp_path, text))
    assert list(models) == ["m", "q"]
    np.testing.assert_allclose(models["m"].realised, [0.7, 0.6])
    np.testing.assert_allclose(models["q"].realised, [0.3, 0.4])
    assert models["m"].case is not None
    assert models["m"].case.tolist() == ["u", "v"]
    (pooled,) = read(wrote(tmp_path, text), ReadOptions(model="none")).values()
    assert len(pooled) == 4


def test_hubverse_columns_are_a_long_layout(tmp_path: Path) -> None:
    text = "location,observed,output_type_id,value\nx,a,a,0.7\nx,a,b,0.3\ny,b,a,0.2\ny,b,b,0.8\n"
    layout, f = one(wrote(tmp_path, text))
    assert layout.layout == "long"
    np.testing.assert_allclose(f.realised, [0.7, 0.8])


def test_model_column_gives_several_models_or_is_pooled(tmp_path: Path) -> None:
    text = "id,model,y,p\n" + "".join(f"{i},{m},{i % 2},{(i + 1) / 20}\n" for i in range(10) for m in "mq")
    path = wrote(tmp_path, text)
    assert list(read(path)) == ["m", "q"]
    (pooled,) = read(path, ReadOptions(model="none")).values()
    assert len(pooled) == 20
    again = wrote(tmp_path, text + "0,m,0,0.05\n")  # a model repeats a case: the column is left alone
    layout = recognise(again)
    assert layout.model_column is None
    assert Unused("model", Rejection.REPEATED) in layout.unused


def test_top_layout_is_recognised(tmp_path: Path) -> None:
    layout, f = one(wrote(tmp_path, "label,pred,confidence\na,a,0.8\nb,c,0.6\nc,c,0.9\n"))
    assert layout.layout == "top"
    assert f.classes == ("wrong", "right")
    np.testing.assert_allclose(f.realised, [0.8, 0.4, 0.9])
    _, correct = one(wrote(tmp_path, "correct,confidence\ntrue,0.8\nfalse,0.6\ntrue,0.9\n"))
    np.testing.assert_allclose(correct.realised, [0.8, 0.4, 0.9])
    assert correct.findings[0].code == "pick_only"


def test_realised_layout_is_recognised(tmp_path: Path) -> None:
    _, f = one(wrote(tmp_path, "logprob\n-0.5\n-1000\n-0.1\n"))
    np.testing.assert_array_equal(f.log_realised, [-0.5, -1000, -0.1])
    _, p = one(wrote(tmp_path, "id,p_true\n1,0.5\n2,0.3\n3,0.9\n"))
    np.testing.assert_allclose(p.realised, [0.5, 0.3, 0.9])
    assert p.k == 0


def lines(folder: Path, *rows: dict[str, Any]) -> Path:
    return wrote(folder, "\n".join(json.dumps(row) for row in rows), "x.jsonl")


def test_lm_eval_layout_is_recognised(tmp_path: Path) -> None:
    path = lines(
        tmp_path,
        {"doc_id": 0, "target": 1, "resps": [[[-1.0, False]], [[-0.2, True]], [["-3.0", "False"]]]},
        {"doc_id": 1, "target": "0", "resps": [[[-2000.0, False]], [[-1.0, True]]]},
    )
    layout, f = one(path)
    assert layout.layout == "lm-eval"
    first = np.exp([-1.0, -0.2, -3.0])
    assert f.realised[0] == pytest.approx(first[1] / first.sum(), rel=1e-12)
    assert f.log_realised is not None
    assert f.log_realised[1] == pytest.approx(-1999.0, rel=1e-12)  # no underflow
    np.testing.assert_array_equal(f.offered, [[True] * 3, [True, True, False]])
    assert {x.code for x in f.findings} == {"softmax", "not_offered"}


@pytest.mark.parametrize(("answer", "doc"), [("B", {}), (1, {"choices": ["x", "y"]}), ("y", {"choices": ["x", "y"]})])
def test_answers_by_name_number_or_text(answer: Any, doc: dict[str, Any], tmp_path: Path) -> None:
    _, f = one(
        lines(
            tmp_path,
            {"resps": [[-1.0], [-2.0]], "target": answer, "doc": doc},
            {"resps": [[-1.0], [-2.0]], "target": 0},
        )
    )
    np.testing.assert_array_equal(f.outcomes, [1, 0])


def test_named_options_with_probabilities(tmp_path: Path) -> None:
    rows = [{"options": {"A": 0.25, "B": 0.75}, "answer": "B"}, {"options": {"A": 0.5, "B": 0.5}, "answer": "A"}]
    _, f = one(lines(tmp_path, *rows))
    np.testing.assert_allclose(f.realised, [0.75, 0.5])
    assert f.classes == ("A", "B")
    assert f.findings == ()


def test_token_logprobs_are_realised_probabilities(tmp_path: Path) -> None:
    rows = [{"id": 7, "token_logprobs": [None, -0.5, -1.5]}, {"id": 8, "token_logprobs": [None, -2.0]}]
    layout, f = one(lines(tmp_path, *rows), id="id")
    np.testing.assert_array_equal(f.log_realised, [-0.5, -1.5, -2.0])
    assert f.case is not None
    assert f.case.tolist() == [7, 7, 8]
    assert [f.row(i) for i in range(3)] == [1, 1, 2]
    assert "2 answers, 3 tokens; the unit is a token" in layout.describe()
    assert f.findings[0].message == "2 of 5 log-probabilities are missing (the first token has none): left out"


def test_flat_json_lines_are_read_as_columns(tmp_path: Path) -> None:
    rows = [{"question_id": i, "forecast": i / 20 + 0.01, "resolved_to": i % 3 == 0} for i in range(12)]
    _, f = one(lines(tmp_path, *rows))
    assert f.classes == (False, True)
    assert int(np.sum(f.outcomes == 1)) == 4


def test_absent_options_are_not_offered(tmp_path: Path) -> None:
    text = "label,p_a,p_b,p_c\na,0.5,0.3,0.2\nb,0.2,0.8,\nc,0.3,0.4,0.3\n"
    _, f = one(wrote(tmp_path, text), absent="nan")
    np.testing.assert_array_equal(f.offered, [[True] * 3, [True, True, False], [True] * 3])
    with pytest.raises(ValueError, match="`p_c` 1 of 3 values are missing"):
        read(wrote(tmp_path, text))


def test_weights_are_never_taken_by_name(tmp_path: Path) -> None:
    path = wrote(tmp_path, "y,p,weight,sample_weight\n0,0.2,70,1\n1,0.5,80,2\n1,0.7,90,3\n")
    _, f = one(path)
    assert f.weights is None
    _, weighted = one(path, weight="sample_weight")
    np.testing.assert_array_equal(weighted.weights, [1, 2, 3])


def test_an_outcome_by_name_is_not_passed_over(tmp_path: Path) -> None:
    path = wrote(tmp_path, "result,neutral,p\nhome,1,0.2\ndraw,0,0.7\naway,1,0.4\nhome,0,0.5\n")
    with pytest.raises(ValueError) as error:
        recognise(path)
    assert str(error.value) == (
        "x.csv: one probability column `p`, but `result` has three values (away, draw, home). "
        "An outcome for one probability has two values.\n"
        "  if one value is the event:  --label result --versus-rest draw"
    )
    _, f = one(path, label="result", versus_rest="home")
    np.testing.assert_array_equal(f.outcomes, [1, 0, 0, 1])


def test_two_probabilities_without_a_known_outcome_are_refused(tmp_path: Path) -> None:
    path = wrote(tmp_path, "won,risk,other\n0,0.2,0.3\n1,0.7,0.1\n1,0.4,0.9\n")
    with pytest.raises(ValueError, match=rf"for example:  veracity assess {path} --label won --positive-proba risk$"):
        recognise(path)


def test_columns_with_one_name(tmp_path: Path) -> None:
    path = wrote(tmp_path, "y,p,p\n0,0.2,0.3\n1,0.7,0.1\n")
    with pytest.raises(ValueError) as error:
        recognise(path)
    assert str(error.value) == (
        "x.csv: two columns are called `p`, and they differ.\n"
        "  choose:  --positive-proba p   or   --positive-proba 'p (2)'"
    )
    assert one(path, positive_proba="p (2)")[1].positive.tolist() == [0.3, 0.1]
    copies = wrote(tmp_path, "y,p,p,id,id\n0,0.2,0.2,1,3\n1,0.7,0.7,2,4\n")  # a copy, and columns that are not used
    assert one(copies)[1].positive.tolist() == [0.2, 0.7]


def test_a_column_without_a_name(tmp_path: Path) -> None:
    layout = recognise(wrote(tmp_path, ",y,p\n0,0,0.2\n1,1,0.3\n2,0,0.7\n"))
    assert layout.unused == (Unused("column 1"),)


def test_a_batch_of_missing_rows_is_counted(tmp_path: Path) -> None:
    p = [None] * 10 + [0.1 * i for i in range(1, 10)] + [None] * 11
    path = tmp_path / "x.parquet"
    pl.DataFrame({"y": [0, 1, 1] * 10, "p": p}).write_parquet(path)
    source = open_source(path, ReadOptions(missing="drop"))
    parts = in_batches(source, 10)
    assert [len(f) for f in parts] == [9]
    *_, last = source.batches(source.parts()[0], rows=10)
    told = [finding for _, findings in last.emptied for finding in findings]
    (missing,) = merge(x for x in (*parts[0].findings, *told) if x.code == "missing_rows")
    assert (missing.count, missing.total) == (21, 30)
    assert [parts[0].row(0), parts[0].row(8)] == [11, 19]


def test_files_with_conditions_and_weights(tmp_path: Path) -> None:
    for name in "ab":
        wrote(tmp_path, "y,p,site\n0,0.1,u\n1,0.2,v\n1,0.3,u\n", f"{name}.csv")
    weights = wrote(tmp_path, "weight\n" + "\n".join("123456"), "w.txt")
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    (f,) = read(files, ReadOptions(where="site=u", weight=str(weights))).values()
    np.testing.assert_array_equal(f.weights, [1, 3, 4, 6])


def test_the_ideal_follows_the_classes(tmp_path: Path) -> None:
    text = "y,p_yes,p_no,q_yes,q_no\nyes,0.7,0.3,0.9,0.1\nno,0.2,0.8,0.4,0.6\nyes,0.6,0.4,0.5,0.5\n"
    _, f = one(wrote(tmp_path, text), proba="p_*", ideal="q_*")
    assert f.classes == ("no", "yes")
    np.testing.assert_allclose(f.ideal, [[0.1, 0.9], [0.6, 0.4], [0.5, 0.5]])
    _, rest = one(wrote(tmp_path, text), proba="p_*", ideal="q_*", versus_rest="no")
    np.testing.assert_allclose(rest.ideal, [0.1, 0.6, 0.5])
    with pytest.raises(ValueError, match=r"^x\.csv: the ideal has 1 column, the forecast 2\.\n  one for each class$"):
        read(wrote(tmp_path, text), ReadOptions(proba="p_*", ideal="q_no"))


def test_features_that_are_words(tmp_path: Path) -> None:
    _, f = one(wrote(tmp_path, "y,p,x,z\n0,0.1,u,1\n1,0.4,v,2\n1,0.8,u,1\n"), feature="x,z")
    assert f.features is not None
    np.testing.assert_array_equal(f.features[0], f.features[2])
    assert f.features[0, 0] != f.features[1, 0]


def test_picks_are_compared_as_numbers(tmp_path: Path) -> None:
    _, f = one(wrote(tmp_path, "label,pred,confidence\n1,1.0,0.8\n2,1.0,0.6\n3,3.0,0.9\n,3.0,0.9\n"), missing="drop")
    np.testing.assert_array_equal(f.outcomes, [1, 0, 1])


def test_versus_rest_with_options_that_differ(tmp_path: Path) -> None:
    text = "label,p_a,p_b,p_c\na,0.5,0.3,0.2\nb,0.2,0.8,\nc,0.3,0.4,0.3\n"
    _, f = one(wrote(tmp_path, text), absent="nan", versus_rest="a,c")
    np.testing.assert_allclose(f.positive, [0.7, 0.2, 0.6])
