"""`calibrate` and `fix()`: the map that the answer advises, the same in Python, in the file and on the command line."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veracity as vc
from veracity import calibrators


def overconfident(n: int = 1000, k: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """Outcomes, and forecasts whose log odds are 1.8 times too large."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 1.2, (n, k))
    truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    stated = np.exp(1.8 * logits) / np.exp(1.8 * logits).sum(axis=1, keepdims=True)
    y = (truth.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return y, (stated[:, 1] if k == 2 else stated)


@pytest.fixture(scope="module", params=[2, 4])
def data(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    return overconfident(k=request.param)


def test_the_fix_is_the_map_and_the_gain_of_the_answer(data: tuple[Any, Any]) -> None:
    a = vc.assess(*data)
    k = a.fix()
    assert k.fitted is a.advised_map
    assert a.advice.log is not None
    assert (float(k.gain), k.gain.low, k.gain.high) == (a.advice.log.gain, a.advice.log.low, a.advice.log.high)
    assert k.method == a.advice.map
    again = vc.calibrate(*data)
    np.testing.assert_array_equal(again.predict(data[1]), k.predict(data[1]))
    assert repr(again) == repr(k)
    assert "a careful correction" in repr(k)


def test_the_file_of_a_calibrator_is_that_of_the_command(tmp_path: Path, data: tuple[Any, Any]) -> None:
    import polars as pl

    from veracity.cli import run

    y, p = data
    names = [f"p_{j}" for j in range(p.shape[1])] if p.ndim == 2 else []
    columns = dict(zip(names, p.T, strict=True)) if names else {"p": p}
    pl.DataFrame({"y": y, **columns}).write_csv(tmp_path / "data.csv")
    command = ["calibrate", "fit", str(tmp_path / "data.csv"), "-o", str(tmp_path / "map.json")]
    for method in ("advised", "best", "temperature", "multiplicative"):
        assert run([*command, "--map", method, "--force"]) == 0
        written = calibrators.from_json((tmp_path / "map.json").read_text())
        ours = vc.calibrate(y, p, method=method)
        assert written.name == ours.method
        np.testing.assert_array_equal(written(p), ours.fitted(p))
    k = vc.calibrate(y, p)
    (tmp_path / "ours.json").write_text(k.to_json())
    out = tmp_path / "out.csv"
    assert run(["calibrate", "apply", str(tmp_path / "ours.json"), str(tmp_path / "data.csv"), "-o", str(out)]) == 0
    mapped = pl.read_csv(out)
    np.testing.assert_allclose(mapped.select(names or "p").to_numpy().squeeze(), k.predict(p), rtol=1e-12)


def test_a_calibrator_comes_back_from_json_and_pickle(data: tuple[Any, Any]) -> None:
    k = vc.calibrate(*data)
    read, copied = vc.Calibrator.from_json(k.to_json()), pickle.loads(pickle.dumps(k))
    for other in (read, copied):
        np.testing.assert_array_equal(other.predict(data[1]), k.predict(data[1]))
    assert repr(copied) == repr(k)
    assert copied.gain == k.gain
    assert not read.gain.known
    with pytest.raises(AttributeError, match="fit it again"):
        _ = read.assessment


def test_the_assessment_of_a_calibrator_is_out_of_fold(data: tuple[Any, Any]) -> None:
    before, k = vc.assess(*data), vc.calibrate(*data)
    after = k.assessment
    assert after.n == before.n
    gained = before.scores.log_loss - after.scores.log_loss
    assert k.gain.low is not None
    assert k.gain.high is not None
    assert k.gain.low < gained < k.gain.high
    assert abs(after.calibration_slope - 1.0) < 0.5 * abs(before.calibration_slope - 1.0)
    y, p = data
    once = vc.calibrate(y, p, method="smoothed_isotonic")
    in_sample = vc.assess(y, once.predict(p)).scores.log_loss
    assert once.assessment.scores.log_loss > in_sample


def test_a_named_method_is_fitted_in_full_with_its_cross_validated_gain(data: tuple[Any, Any]) -> None:
    a, k = vc.assess(*data), vc.calibrate(*data, method="temperature")
    (remedy,) = [remedy for remedy in a.remedies if remedy.map == "temperature"] or [None]
    assert "careful" not in repr(k)
    if remedy is not None:  # of two classes it is not in the pool
        assert (float(k.gain), k.gain.low, k.gain.high) == (remedy.log.gain, remedy.log.low, remedy.log.high)
    assert vc.calibrate(*data, method="identity").gain == 0.0
    assert k.gain > 0.0


def test_nothing_is_changed_where_nothing_is_advised() -> None:
    rng = np.random.default_rng(1)
    p = rng.random(400)
    k = vc.calibrate((rng.random(400) < p).astype(int), p)
    assert (k.method, k.reason) == ("identity", "no fault was found")
    np.testing.assert_array_equal(k.predict(p), p)
    assert repr(k).startswith("Identity, fitted on 400 cases: no correction is advised (no fault was found)")


def test_weights_counts_labels_and_dependence_go_through() -> None:
    y, p = overconfident(600)
    twice = vc.calibrate(np.tile(y, 2), np.tile(p, 2), method="platt")
    counted = vc.calibrate(y, p, method="platt", counts=np.full(600, 2))
    np.testing.assert_allclose(counted.predict(p), twice.predict(p), rtol=1e-10)
    weighted = vc.calibrate(y, p, method="platt", sample_weight=np.where(p > 0.5, 3.0, 1.0))
    assert np.abs(weighted.predict(p) - twice.predict(p)).max() > 1e-3
    assert weighted.assessment.n == 600
    words = np.array(["no", "yes"])[y]
    named = vc.calibrate(words, p, pos_label="yes", clusters=np.arange(600) // 3)
    assert named.classes == ("no", "yes")
    assert named.assessment.n == 600
    timed = vc.calibrate(y, p, time=np.arange(600))
    assert timed.assessment.n == 600


def test_columns_in_another_order_are_named_by_labels() -> None:
    y, p = overconfident(600, 3)
    k = vc.calibrate(np.array(list("abc"))[y], p)
    swapped = k.predict(p[:, [2, 0, 1]], labels=["c", "a", "b"])
    np.testing.assert_allclose(swapped[:, [1, 2, 0]], k.predict(p), rtol=1e-14)


def test_a_frame_is_calibrated_with_its_reading_options() -> None:
    import pandas as pd

    y, p = overconfident(600)
    frame = pd.DataFrame({"happened": y, "risk": p, "other": p / 2})
    k = vc.calibrate(frame, label="happened", positive_proba="risk")
    np.testing.assert_array_equal(k.predict(frame["risk"]), vc.calibrate(y, p).predict(p))
    with pytest.raises(ValueError, match="a calibrator belongs to one"):
        vc.calibrate(frame, label="happened", positive_proba=["risk", "other"])


Y, P = overconfident(300)
BAD = {
    "method: 'plat' is not one of advised, best, additive": lambda: vc.calibrate(Y, P, method="plat"),
    "there are no rows": lambda: vc.calibrate([], []),
    "y_proba[0] = 2.5: above 1": lambda: vc.calibrate(Y, np.full(300, 2.5)),
    "labels: a, b; this calibrator was fitted for the classes 0, 1": lambda: vc.calibrate(Y, P).predict(
        P, labels=["a", "b"]
    ),
    "y_proba has shape (2, 3); this calibrator is for 2 classes: 0, 1": lambda: vc.calibrate(Y, P).predict(
        np.full((2, 3), 1 / 3)
    ),
    "y_proba[1] = 2.5: above 1": lambda: vc.calibrate(Y, P).predict([0.5, 2.5]),
    "1 of 2 rows have missing values": lambda: vc.calibrate(Y, P).predict([0.5, np.nan]),
    "is_not_there": lambda: vc.calibrate(Y, P, is_not_there=1),
    "no map can be fitted": lambda: vc.calibrate(vc.Tally.zero([0, 1])),
}


@pytest.mark.parametrize("what", list(BAD))
def test_bad_input_is_refused(what: str) -> None:
    with pytest.raises((ValueError, TypeError)) as error:
        BAD[what]()
    assert what in str(error.value)


def test_an_assessment_from_json_cannot_be_calibrated() -> None:
    with pytest.raises(AttributeError, match="make it again from the forecasts"):
        vc.Assessment.from_json(vc.assess(Y, P).to_json()).fix()


def test_a_map_that_nearly_rules_out_what_had_probability_0_says_so() -> None:
    y, p = overconfident(2000, seed=3)
    p = np.where(np.arange(2000) < 20, 0.0, p)
    happened = int(y[:20].sum())
    assert happened > 0
    for method, said in (("temperature", "gives such 0 again"), ("platt", "gives such 1 in")):
        assert f"{happened} outcomes had probability 0, and the map {said}" in repr(vc.calibrate(y, p, method=method))
    for method in ("advised", "isotonic"):
        k = vc.calibrate(y, p, method=method)
        assert "had probability 0, and the map" not in repr(k)
        assert k.predict([0.0])[0] >= 0.0005
    assert "makes the log loss finite" in repr(vc.calibrate(y, p, method="platt"))


def test_few_cases_are_said_to_be_few() -> None:
    assert "another sample of so few" in repr(vc.calibrate(Y[:30], P[:30], method="platt"))
    assert vc.calibrate(Y[:5], P[:5]).method == "identity"
