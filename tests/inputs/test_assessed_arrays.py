"""Arrays and frames that are assessed: little, strange or oddly given data, options and refusals."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import numpy as np
import polars as pl
import pytest

import veracity as vc
from tests.results.test_assessment import SCHEMA, draw, valid
from veracity.inputs import Forecasts
from veracity.records.verdict import Reason
from veracity.state.plan import Plan
from veracity.state.tally import Tally
from veracity.words.verdict import sentences


@pytest.mark.parametrize(
    ("y", "p", "code"),
    [
        ([], [], "empty"),
        ([], np.zeros((0, 3)), "empty"),
        ([1], [0.7], "one_row"),
        ([1], [[0.1, 0.2, 0.7]], "one_row"),
        ([1, 1, 1], [0.7, 0.6, 0.9], "one_outcome"),
        ([0, 1, 0, 1], [0.5] * 4, "constant_forecast"),
        ([0, 1, 0, 1], [0.3] * 4, "constant_forecast"),
        ([0, 1], [0.0, 0.0], "zero_probability"),
        ([0, 1], [1.0, 0.0], "zero_probability"),
        ([0, 2, 1], np.eye(3)[[0, 2, 1]], None),
        ([0, 1, 2], np.full((3, 3), 1 / 3), "constant_forecast"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"preset": "N17"}, {"preset": "CQ"}, {"bins": 500}, {"bootstrap": 10}])
def test_little_or_strange_data_give_a_defined_result(y: list, p: object, code: str | None, options: dict) -> None:
    a = vc.assess(y, p, **options)
    valid(a)
    repr(a)
    assert a.verdict == a.verdict_detail.state == "not measurable"
    assert a.verdict_detail.reason
    ruled_out = str(sentences(a.verdict_detail)[0]).startswith("**It ruled out what happened in")
    assert ruled_out == (code == "zero_probability")
    if code is not None:
        assert code in {f.code for f in a.findings}


def test_all_weight_on_one_row() -> None:
    a = vc.assess([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], sample_weight=[1e-300, 1.0, 1e-300, 1e-300])
    valid(a)
    assert a.reported.geometric_accuracy == pytest.approx(0.7)
    assert "one_weight" in {f.code for f in a.findings}


@pytest.mark.parametrize("others", [1e-60, 1e-200, 1e-300])
def test_weights_of_rows_that_hardly_count_overflow_nothing(others: float) -> None:
    p = np.random.default_rng(2).dirichlet(np.ones(3), 50)
    weights = np.full(50, others)
    weights[3] = 1.0
    a = vc.assess(np.arange(50) % 3, p, sample_weight=weights)
    valid(a)
    assert a.reported.geometric_accuracy == pytest.approx(p[3, 0])


def test_zeros_give_infinite_log_loss_and_name_the_rows() -> None:
    y, p = draw(4, 200, 3)
    p[17] = np.eye(3)[(y[17] + 1) % 3]
    a = vc.assess(y, p)
    valid(a)
    assert a.scores.log_loss == np.inf
    assert a.reported.geometric_accuracy == 0.0
    assert a.reported.robustness == 0.0
    assert a.scores.log_loss.low is None
    finding = next(f for f in a.findings if f.code == "zero_probability")
    assert finding.rows == (17,)
    assert a.verdict_detail.zero_rows == 1
    assert str(sentences(a.verdict_detail)[0]).startswith("**It ruled out what happened in 1 of 200 cases** (row 17)")


def test_log_probabilities_do_not_underflow() -> None:
    logs = np.array([[-1000.0, 0.0], [np.log(0.5), np.log(0.5)]])
    a = vc.assess(vc.Forecasts.of([0, 1], logs, scale="log"))
    assert a.scores.log_loss == pytest.approx((1000.0 + np.log(2)) / 2, rel=1e-12)
    assert a.reported.robustness == pytest.approx(np.exp(-1000.0 + 1.5 * np.log(2.0)), rel=1e-9)


def test_text_that_is_no_assessment() -> None:
    with pytest.raises(ValueError, match="no JSON"):
        vc.Assessment.from_json("hello")
    with pytest.raises(ValueError, match="schema None is not"):
        vc.Assessment.from_json("{}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"floor": 0.7}, "floor: 0.7 is outside"),
        ({"bins": 0}, "bins: 0 is neither"),
        ({"level": 95}, "level: 95 is outside"),
        ({"preset": "X"}, "preset: 'X' is not one of"),
        ({"bootstrap": 1}, "bootstrap: 1 draws"),
        ({"map": "splines"}, "map: 'splines' is not one of"),
    ],
)
def test_options_that_make_no_sense(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        vc.assess([0, 1], [0.2, 0.7], **options)


def test_groups_as_one_array_or_a_frame() -> None:
    import pandas as pd

    y, p = draw(12, 300, 2)
    g = np.repeat(["a", "b"], 150)
    assert set(vc.assess(y, p, groups=g).groups["group"].levels) == {"a", "b"}
    assert set(vc.assess(y, p, groups=pd.DataFrame({"site": g})).groups) == {"site"}


def test_a_frame_with_named_columns() -> None:
    import pandas as pd

    y, p = draw(13, 300, 2)
    frame = pd.DataFrame({"happened": y, "risk": p[:, 1]})
    a = vc.assess(frame, label="happened", positive_proba="risk")
    assert a.scores.log_loss == pytest.approx(vc.assess(y, p[:, 1]).scores.log_loss, rel=1e-12)


def test_options_that_were_not_offered_enter_no_bin() -> None:
    p = np.array([[0.5, 0.5, np.nan], [0.2, 0.3, 0.5], [0.1, 0.9, np.nan]])
    from veracity.inputs import prepare

    for options in ({}, {"counts": [1, 1, 1]}, {"sample_weight": [1.0, 2.0, 3.0]}):
        a = vc.assess(prepare([0, 2, 1], p, absent=True, **options))
        assert sum(b.count for b in a.bins) == 7
        assert all(b.count for b in a.bins)


def test_forecasts_of_the_other_outcome_are_noticed() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(200)
    a = vc.assess((rng.random(200) < 1 - p).astype(int), p)
    assert "worse_than_chance" in {f.code for f in a.findings}


def test_shares_of_an_unknown_number_of_cases_have_no_intervals() -> None:
    f = vc.Forecasts.of([0, 1, 1], [0.2, 0.7, 0.9], sample_weight=[0.2, 0.3, 0.5])
    a = vc.assess(replace(f, shares_only=True))
    document = valid(a)
    assert document["scores"]["brier"]["low"] is None
    assert document["losses"]["log"]["L"]["low"] is None
    assert document["risk_profile"]["reported_low"] is None
    assert "unknown" in document["scores"]["brier"]["reason"]


def test_an_option_that_frames_do_not_have() -> None:
    import pandas as pd

    with pytest.raises(TypeError, match="assess\\(\\) has no option 'prob' for a frame; there are label"):
        vc.assess(pd.DataFrame({"y": [0, 1], "p": [0.2, 0.7]}), prob="p")


def test_split_outcomes_are_one_case() -> None:
    y, p = draw(16, 400, 2)
    soft = np.where(np.arange(400) < 9, 0.5, y)
    a = vc.assess(vc.Forecasts.of(soft, p[:, 1]))
    assert a.n == 400
    assert str(sentences(a.verdict_detail)[0]).startswith("**No miscalibration found.** With 400 cases,")


def test_options_without_effect_are_refused() -> None:
    y, p = draw(1, 50, 2)
    frame = pl.DataFrame({"y": y, "p": p[:, 1], "w": np.ones(50)})
    weights = np.ones(50)
    for option, value in (("sample_weight", weights), ("counts", weights), ("groups", weights), ("pos_label", 1)):
        with pytest.raises(TypeError, match=f"got {option} with a frame; its own option is"):
            vc.assess(frame, label="y", proba="p", **{option: value})
        if option != "groups":
            with pytest.raises(TypeError, match=rf"compare\(\) got {option} with a frame; its own option is"):
                vc.compare(frame, label="y", **{option: value})
        for held in (Forecasts.of(y, p), Tally.of(y, p)):
            with pytest.raises(TypeError, match=f"got {option} with a {type(held).__name__}"):
                vc.assess(held, **{option: value})
    with pytest.raises(ValueError, match=r"^floor: 0\.01, but the tally was counted with 0\.0"):
        vc.assess(Tally.of(y, p), floor=0.01)
    assert vc.assess(Tally.of(y, p, plan=Plan(floor=0.01))).floor == 0.01
    with pytest.raises(
        TypeError, match=r"no option 'scale'; assess\(Forecasts\.of\(y_true, y_proba, scale=…\)\) takes"
    ):
        vc.assess(y, 100 * p, scale="percent")
    with pytest.raises(TypeError, match=r"no option 'classes'; name the classes with labels="):
        vc.assess(y, p, classes=["a", "b"])


def test_a_frame_names_its_ideal_columns() -> None:
    y, p = draw(2, 400, 2)
    frame = pl.DataFrame({"y": y, "p": p[:, 1], "q": p[:, 1]})
    found = vc.assess(frame, label="y", positive_proba="p", ideal="q").losses("brier")
    assert found.GL == vc.assess(y, p[:, 1], ideal=p[:, 1]).losses("brier").GL


@pytest.mark.parametrize("labels", [None, ["a"]])
def test_one_class_alone_is_certain(labels: list[str] | None) -> None:
    a = vc.assess(["a"] * 3, np.ones((3, 1)), labels=labels)
    assert (a.n, a.classes, a.verdict) == (3, ("a",), "not measurable")
    assert np.isnan(a.scores.log_loss)
    assert [f.code for f in a.findings] == ["one_class"]
    assert [*map(str, sentences(a.verdict_detail))] == [f"**Not measurable.** There{a.scores.log_loss.reason[5:]}."]
    jsonschema.validate(json.loads(a.to_json()), SCHEMA)


def test_parts_without_rows_add_nothing() -> None:
    y, p = draw(3, 60, 3)
    part, nothing = Tally.of(y, p), Tally.of([], np.empty((0, 3)))
    unweighted = Tally.of(y[:5], p[:5], counts=np.zeros(5, int))
    for whole in (part + nothing, nothing + part, part + unweighted):
        assert vc.assess(whole).document()["measured"] == vc.assess(part).document()["measured"]


def test_columns_in_another_order_are_reported() -> None:
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.full(10, 0.2), 400)
    y = (rng.random((400, 1)) > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
    assert "picks_below_chance" not in {f.code for f in vc.assess(y, p).findings}
    (told,) = [f for f in vc.assess(y, p[:, ::-1]).findings if f.code == "picks_below_chance"]
    assert told.severity == "critical"
    assert "less often than by chance (10.0 %): are the columns in the order of the classes?" in told.message


def test_labels_given_as_probabilities_are_reported() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 100)
    picked = np.where(rng.random(100) < 0.7, y, 0)
    a = vc.assess(y, np.eye(3)[picked])
    assert "only_certain" in {f.code for f in a.findings}
    assert a.verdict_detail.reason is Reason.ONLY_CERTAIN_FORECASTS
    assert str(sentences(a.verdict_detail)[0]).startswith("**It ruled out what happened in")
    assert str(sentences(a.verdict_detail)[1]).startswith("**These are decisions, not probabilities.**")
    assert a.verdict.startswith("over-confident")
    assert "only_certain" not in {f.code for f in vc.assess(y, 0.9 * np.eye(3)[picked] + 0.1 / 3).findings}


def test_options_that_a_tally_does_not_have_are_refused() -> None:
    y, p = draw(5, 60, 2)
    tally = Tally.of(y, p, floor=0.01, bins=10)
    assert vc.assess(tally, floor=0.01).floor == 0.01
    with pytest.raises(ValueError, match=r"^bins: 5, but the tally was counted with 10"):
        vc.assess(tally, bins=5)
    with pytest.raises(TypeError, match="got y_proba with a Forecasts"):
        vc.assess(Forecasts.of(y, p), p)
    assert vc.assess(y, p, random_state=None, bootstrap=10).n == 60
    with pytest.raises(ValueError, match=r"^random_state: 'x' is not a whole number"):
        vc.assess(y, p, random_state="x")


def test_floor_and_end_width_given_with_a_preset_win() -> None:
    y, p = draw(5, 60, 2)
    preset, floored, wide = (vc.assess(y, p, preset="CQ", **o) for o in ({}, {"floor": 0.02}, {"end_width": 0.2}))
    assert (preset.floor, floored.floor, wide.floor) == (0.005, 0.02, 0.005)
    assert (preset.bins[0].high, floored.bins[0].high, wide.bins[0].high) == (0.005, 0.005, 0.2)
    clipped = vc.assess(y, p, preset="N17", floor=0.05)
    realised = np.clip(p[np.arange(60), y], 0.05, 0.95)  # N17 clips on both sides
    assert clipped.reported.geometric_accuracy == pytest.approx(vc.generalized_mean(realised, 0.0), rel=1e-12)


def test_empty_parts_know_the_event() -> None:
    nothing = Tally.of([], [], labels=["no", "yes"], pos_label="no")
    part = Tally.of(["no", "yes"], [0.2, 0.3], labels=["no", "yes"], pos_label="no")
    assert (nothing + part).classes == (part + nothing).classes == ("yes", "no")
    with pytest.raises(ValueError, match="labels names 2 classes, y_proba has 3"):
        Tally.of([], np.empty((0, 3)), labels=["no", "yes"])
    with pytest.raises(ValueError, match="single column"):
        vc.assess(["a", None], np.ones((2, 1)))


def test_fractions_given_as_percentages_are_reported() -> None:
    y, p = draw(8, 100, 2)
    codes = [
        {f.code for f in vc.assess(Forecasts.of(y, q, scale="percent")).findings} for q in (p[:, 1], 100 * p[:, 1])
    ]
    assert ["small_percentages" in found for found in codes] == [True, False]


def test_an_empty_set_knows_its_event() -> None:
    assert vc.assess([], [], labels=["no", "yes"], pos_label="no").classes == ("yes", "no")


@pytest.mark.parametrize("p", [[0.7], [0.7, 0.8, 0.4]])
def test_constant_scores_have_no_interval_and_few_cases_no_level(p: list[float]) -> None:
    a = vc.assess([1] * len(p), p)
    for reading in a.measured.readings().values():
        assert not reading.known
        assert reading.low is None
        assert reading.reason == "fewer than 20 cases: too few to judge a recalibration"
    assert a.verdict_detail.level.p is None
    assert "heavy_tail" not in [f.code for f in a.findings]
    many = vc.assess([1] * 30, np.tile([0.7, 0.8, 0.4], 10))
    assert many.verdict_detail.level.p == pytest.approx(0.001)  # none of 999 draws is as extreme
    assert many.verdict == "biased"
