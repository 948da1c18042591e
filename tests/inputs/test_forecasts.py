"""Forecasts from arrays: labels, soft outcomes, scales, missing rows, findings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.inputs import Forecasts, Names, check, prepare, refuse
from veracity.inputs.prepare import prepare_realised
from veracity.kernels.result import Problem, tolerance
from veracity.records.findings import merge
from veracity.records.findings_of_input import MissingRows, Softmax

of = Forecasts.of


def codes(f: Forecasts) -> set[str]:
    return {finding.code for finding in f.findings}


@pytest.mark.parametrize(
    ("y", "classes", "outcomes"),
    [
        ([0, 1, 1], (0, 1), [0, 1, 1]),
        ([0.0, 1.0, 1.0], (0, 1), [0, 1, 1]),
        ([0, 0, 0], (0, 1), [0, 0, 0]),
        ([False, True, True], (False, True), [0, 1, 1]),
        ([1, 2, 2], (1, 2), [0, 1, 1]),
        ([-1, 1, 1], (-1, 1), [0, 1, 1]),
        (["no", "yes", "yes"], ("no", "yes"), [0, 1, 1]),
    ],
)
def test_labels_are_matched_with_columns(y: list[object], classes: tuple[object, ...], outcomes: list[int]) -> None:
    f = of(y, [0.2, 0.6, 0.9])
    assert f.classes == classes
    np.testing.assert_array_equal(f.outcomes, outcomes)
    np.testing.assert_allclose(f.realised, np.where(np.array(outcomes) == 1, [0.2, 0.6, 0.9], [0.8, 0.4, 0.1]))


def test_labels_give_the_order_of_the_columns() -> None:
    p = [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]
    f = of(["b", "a"], p, labels=["b", "c", "a"])
    np.testing.assert_array_equal(f.outcomes, [0, 2])
    np.testing.assert_allclose(f.realised, [0.7, 0.6])
    # the number of classes comes from the columns, not from the labels seen
    assert of([0, 0], p).k == 3


def test_the_event_comes_second() -> None:
    one = of(["a", "b"], [0.3, 0.2], pos_label="a")  # the probability of a
    two = of(["a", "b"], [[0.3, 0.7], [0.2, 0.8]], pos_label="a")
    for f in (one, two):
        assert f.classes == ("b", "a")
        np.testing.assert_allclose(f.positive, [0.3, 0.2])
        np.testing.assert_allclose(f.realised, [0.3, 0.8])
    assert codes(of(["a", "b"], [0.3, 0.2])) == {"event"}
    zero = of([0, 1], [0.3, 0.2], pos_label=0)
    np.testing.assert_allclose(zero.realised, [0.3, 0.8])


def test_soft_outcomes_are_split_into_one_case() -> None:
    f = of([0, 0.25, 1], [0.2, 0.6, 0.9], sample_weight=[1, 2, 4], groups={"g": ["a", "b", "c"]})
    np.testing.assert_array_equal(f.outcomes, [0, 0, 1, 1])
    np.testing.assert_allclose(f.weights, [1, 1.5, 0.5, 4])
    np.testing.assert_array_equal(f.case, [0, 1, 1, 2])
    np.testing.assert_array_equal(f.groups["g"], ["a", "b", "b", "c"])
    assert [f.row(i) for i in range(4)] == [0, 1, 1, 2]
    assert f.findings[0].count == 1
    # log loss of a split case is the mean of both: -(0.75 ln 0.4 + 0.25 ln 0.6)
    part = f.mass[1:3] / f.mass[1:3].sum()
    assert -float(part @ np.log(f.realised[1:3])) == pytest.approx(
        -(0.75 * np.log(0.4) + 0.25 * np.log(0.6)), rel=1e-15
    )


def test_soft_outcomes_left_out() -> None:
    f = of([0, 0.5, 1], [0.2, 0.6, 0.9], soft="omit")
    np.testing.assert_array_equal(f.outcomes, [0, 1])
    assert f.weights is None
    assert [f.row(i) for i in range(2)] == [0, 2]


def test_shares_of_annotators_become_fractions_of_a_case() -> None:
    f = of([[0.5, 0.25, 0.25], [0, 1, 0]], [[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]])
    np.testing.assert_array_equal(f.outcomes, [0, 1, 2, 1])
    np.testing.assert_allclose(f.weights, [0.5, 0.25, 0.25, 1])


def test_missing_rows_are_left_out_and_counted() -> None:
    f = of([0, np.nan, 1, 1], [0.2, 0.6, np.nan, 0.9], missing="drop", sample_weight=[1, 2, 3, 4])
    np.testing.assert_array_equal(f.outcomes, [0, 1])
    np.testing.assert_array_equal(f.weights, (1, 4))
    finding = f.findings[0]
    assert (finding.code, finding.count, finding.total, finding.rows) == ("missing_rows", 2, 4, (1, 2))
    assert finding.severity == "critical"
    assert finding.message == "2 of 4 rows have missing values and are left out"


@given(st.lists(st.floats(-600, 600), min_size=3, max_size=3), st.integers(0, 2))
def test_logits_do_not_underflow(z: list[float], y: int) -> None:
    f = of([y], [z], scale="logit")
    top = max(z)
    want = z[y] - (top + np.log(sum(np.exp(np.array(z) - top))))
    assert f.log_realised is not None
    assert f.log_realised[0] == pytest.approx(want, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(f.matrix.sum(), 1, rtol=1e-12)


def test_logits_and_logs_keep_their_precision() -> None:
    z = np.array([-800.0, 0.0, 800.0])
    f = of([1, 1, 0], z, scale="logit")
    np.testing.assert_allclose(f.log_realised, [-800, -np.log(2), -800])
    np.testing.assert_allclose(f.positive, [0, 0.5, 1])
    assert "zero_probability" not in codes(f)  # its logarithm is finite
    logs = of([1, 0], np.log([0.2, 0.7]), scale="log")
    np.testing.assert_allclose(logs.log_realised, np.log([0.2, 0.3]))
    rows = of([0, 1], [[-1000.0, 0.0], [-0.5, np.log(-np.expm1(-0.5))]], scale="log")
    np.testing.assert_allclose(rows.log_realised, [-1000, np.log(-np.expm1(-0.5))])
    np.testing.assert_allclose(of([0, 1], [20, 70], scale="percent").positive, [0.2, 0.7])


def test_rows_within_tolerance_are_not_touched() -> None:
    p = np.array([[0.5, 0.5 + 9e-7], [0.3, 0.7]])
    f = of([0, 1], p)
    assert f.probabilities is p
    same = of([0, 1], p, normalise=True)
    assert same.probabilities is p
    assert same.findings == ()
    rescaled = of([0, 1], [[0.5, 0.6], [0.3, 0.7]], normalise=True)
    np.testing.assert_allclose(rescaled.matrix, [[5 / 11, 6 / 11], [0.3, 0.7]])
    assert rescaled.findings[0].rows == (0,)
    assert tolerance(np.dtype(np.float64), 1000) == 1e-6
    assert tolerance(np.dtype(np.float32), 1000) == 1000 * 2.0**-23


def test_a_zero_probability_of_the_outcome_is_a_finding() -> None:
    for f in (
        of([0, 1, 1, 0], [0.2, 0.0, 0.9, 1.0]),
        of([0, 1, 1, 0], [[0.8, 0.2], [1, 0], [0.1, 0.9], [0, 1]]),
    ):
        finding = next(x for x in f.findings if x.code == "zero_probability")
        assert (finding.count, finding.rows, finding.severity) == (2, (1, 3), "critical")
        assert finding.message.startswith("2 of 4 outcomes had been ruled out (probability 0)")
    assert "zero_probability" not in codes(of([0, 1], [0.0, 1.0]))


def test_constant_forecasts_single_outcomes_and_repeated_cases_are_findings() -> None:
    assert codes(of([0, 1, 1], [0.5, 0.5, 0.5])) == {"constant_forecast"}
    assert codes(of([0, 1], [[0.2, 0.8], [0.2, 0.8]])) == {"constant_forecast"}
    assert codes(of([1, 1], [0.5, 0.4])) == {"one_outcome"}
    repeated = of([0, 1, 1], [0.5, 0.4, 0.1], case=["u", "v", "u"])
    assert repeated.findings[0].code == "repeated_cases"
    assert repeated.findings[0].rows == (0, 2)


def test_findings_of_parts_merge() -> None:
    a = MissingRows(2, 10, (1, 4))
    b = MissingRows(3, 20, (11,))
    (both,) = merge([a, b])
    assert both == MissingRows(5, 30, (1, 4, 11))
    assert len(merge([a, Softmax()])) == 2


def test_refuse_words_what_a_kernel_saw() -> None:
    f = prepare([0, 1], [0.5, 70])
    refuse({}, f)
    refuse({"above_one": Problem(rows=0)}, f)
    with pytest.raises(ValueError, match=r"^y_proba\[1\] = 70: above 1"):
        refuse({"above_one": Problem(rows=1)}, f)
    with pytest.raises(ValueError, match=r"^y_proba: not probabilities"):
        refuse({"label": Problem(rows=1)}, prepare([0, 1], [0.5, 0.7]))


def test_prepare_does_not_look_at_the_values() -> None:
    assert len(prepare([0, 1], [0.5, np.nan])) == 2
    with pytest.raises(ValueError, match="missing values"):
        check(prepare([0, 1], [0.5, np.nan]))


def test_options_that_differ_by_row() -> None:
    f = check(prepare([0, 1], [[0.4, 0.6, np.nan], [0.2, 0.3, 0.5]], absent=True))
    np.testing.assert_array_equal(f.offered, [[True, True, False], [True, True, True]])
    np.testing.assert_array_equal(f.matrix, [[0.4, 0.6, 0.0], [0.2, 0.3, 0.5]])
    logs = check(prepare([0, 1], [[-1.0, -1.0, np.nan], [0.0, 0.0, 0.0]], absent=True, scale="logit"))
    np.testing.assert_allclose(logs.matrix, [[0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]])
    assert codes(logs) == {"not_offered"}


def test_probabilities_of_the_outcomes_alone_are_forecasts() -> None:
    f = check(prepare_realised([-0.5, -1000.0], scale="log"))
    assert f.probabilities is None
    np.testing.assert_array_equal(f.log_realised, [-0.5, -1000])
    np.testing.assert_allclose(f.realised, [np.exp(-0.5), 0])
    assert f.findings == ()
    np.testing.assert_allclose(check(prepare_realised([0.5, 0.25])).log_realised, np.log([0.5, 0.25]))
    with pytest.raises(ValueError, match=r"y_proba\[1\] = 1.5: above 1"):
        check(prepare_realised([0.5, 1.5]))
    with pytest.raises(ValueError, match=r"y_proba\[0\]: 1 of 2 values are missing or negative"):
        check(prepare_realised([-0.5, 0.5]))
    assert len(prepare_realised([0.5, np.nan], missing="drop")) == 1


def test_messages_name_file_row_and_column() -> None:
    names = Names("file", "obs", "p", file="x.csv", columns=("p",))
    with pytest.raises(
        ValueError, match=r"^x\.csv: row 8, `p` = 7: above 1 .*\n  if these are percentages:  --scale percent$"
    ):
        of([0, 1], [0.5, 7], first_row=7, names=names)


def test_columns_of_a_frame_name_the_classes() -> None:
    p = pd.DataFrame({"b": [0.7, 0.2], "a": [0.3, 0.8]})
    f = of(["a", "b"], p)
    assert f.classes == ("b", "a")
    np.testing.assert_allclose(f.realised, [0.3, 0.2])
    np.testing.assert_allclose(of([0, 1], p).realised, [0.7, 0.8])  # numbers are column numbers
    for name in ("proba_{}", "{}_risk", "p[{}]", "barb_{}"):  # what all have in common says nothing of the class
        f = of(["a", "b"], p.rename(columns=name.format))
        assert f.classes == ("b", "a")
        np.testing.assert_allclose(f.realised, [0.3, 0.2])
    with pytest.raises(ValueError) as error:
        of(["a", "b"], p.rename(columns={"b": "proba_b", "a": "proba_c"}))
    assert str(error.value) == (
        "the columns of y_proba are proba_b, proba_c, the outcomes a, b.\n"
        "  say which column is which class:  labels=[…]"
    )


def test_a_missing_label_is_no_word() -> None:
    f = of(["a", np.nan, "b"], [0.2, 0.3, 0.4], missing="drop")
    assert f.classes == ("a", "b")
    assert len(f) == 2


def test_numbers_too_large_for_a_float() -> None:
    np.testing.assert_array_equal(of([0, 10**30], [0.2, 0.3]).outcomes, [0, 1])
    np.testing.assert_array_equal(of([0.0, 1e20], [0.2, 0.3]).outcomes, [0, 1])


def test_groups_need_names() -> None:
    with pytest.raises(
        ValueError, match=r'^groups is a list\.\n  give names with their columns:  groups=\{"site": …\}$'
    ):
        of([0, 1], [0.2, 0.3], groups=["a", "b"])
