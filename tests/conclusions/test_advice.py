"""The advice follows the verdict: a fault leads to a map or to the reason why there is none, and a fix rarely hurts."""

from __future__ import annotations

import json

import numpy as np
import pytest

import veracity as vc
from bench._truth import draw, stated, truth
from bench.fix import OF_MORE, OF_TWO, count
from veracity import calibrators
from veracity.cli import run
from veracity.estimate.calibration.careful_correction import strength


def forecasts(kind, n, error="cal", size=0.0, seed=0):
    rng = np.random.default_rng([7, seed])
    q = truth(kind, n, rng)
    return draw(q, rng), stated(q, error, size)


def test_corrections_are_advised_after_most_true_verdicts_and_hardly_ever_hurt():
    two, more = count("bin", 1000, OF_TWO, range(1000, 1004)), count("k10", 300, OF_MORE, range(1000, 1003))
    assert two.advised >= 0.9 * two.rejected
    assert more.advised >= 0.45 * more.rejected
    assert two.hurts <= 1
    assert more.hurts <= 2
    assert two.holds >= 0.85 * two.advised  # 92 % asked; 30 draws have an error of 5 points


def test_nothing_is_advised_where_no_fault_was_found():
    a = vc.assess(*forecasts("bin", 800))
    assert (a.advice.advice, a.advised_map) == ("none", None)


@pytest.mark.parametrize(
    ("kind", "error", "size", "map"),
    [("bin", "T", 1.6, "platt"), ("k10", "T", 1.4, "temperature"), ("k10", "bias", 0.5, "temperature_levels")],
)
def test_the_map_that_is_judged_is_the_one_that_is_given(kind, error, size, map):
    y, p = forecasts(kind, 1500, error, size, seed=1)
    a = vc.assess(y, p)
    assert a.advice.advice == "fix"
    assert a.advice.map == map
    assert a.advised_map.text == a.advice.parameters
    assert 0.0 < a.advice.strength < 1.0
    log = vc.rule("log")
    saved = log.score(p, y).mean() - log.score(a.advised_map(p), y).mean()
    assert saved > a.advice.log.gain > 0.0  # in sample it saves more
    assert a.advice.log.share == pytest.approx(a.advice.log.gain / a.scores.log_loss)
    assert a.advice.log.gain <= a.losses("log").CL.high


def test_a_weaker_effect_is_corrected_less():
    assert strength(4.0, 2) == 0.0
    assert strength(16.0, 2) == pytest.approx(1.0 - 2 / 16 - 1.5 / 4)
    assert strength(400.0, 2) == pytest.approx(1.0 - 2 / 400 - 1.5 / 20 * 25 / 400)
    strengths = [vc.assess(*forecasts("bin", n, "T", 1.3, seed=3)).advice.strength or 0.0 for n in (300, 2000, 20_000)]
    assert strengths == sorted(strengths)


def test_the_advice_does_not_depend_on_the_order_of_classes_or_rows():
    y, p = forecasts("k10", 1200, "cls", 1.4, seed=2)
    order, rows = np.random.default_rng(1).permutation(10), np.random.default_rng(2).permutation(1200)
    a, b = vc.assess(y, p), vc.assess(np.argsort(order)[y][rows], p[rows][:, order])
    assert b.advice.log.gain == pytest.approx(a.advice.log.gain, rel=1e-6)
    np.testing.assert_allclose(b.advised_map(p[:, order]), a.advised_map(p)[:, order], atol=1e-6)


def test_an_outcome_of_probability_0_needs_a_minimum():
    y, p = forecasts("bin", 300, seed=4)
    p[0] = np.eye(2)[1 - y[0]]
    a = vc.assess(y, p)
    assert a.advice.advice == "floor"
    assert np.isfinite(vc.assess(y, a.advised_map(p)).scores.log_loss)


def test_forecasts_without_skill_are_replaced_by_the_class_frequencies():
    rng = np.random.default_rng(5)
    p = rng.uniform(0.02, 0.98, 1500)
    a = vc.assess((rng.random(1500) < 0.3).astype(int), p)
    assert a.advice.advice == "base rate"
    assert a.advised_map(p)[:, 1] == pytest.approx(np.full(1500, 0.3), abs=0.05)
    assert "Use the base rate" in str(a)


def test_a_shape_that_no_line_mends_is_mended_by_steps():
    rng = np.random.default_rng(6)
    p = rng.uniform(0.01, 0.99, 8000)
    truth_ = np.where(p < 0.5, 0.25, 0.8)
    a = vc.assess((rng.random(8000) < truth_).astype(int), p)
    assert a.advice.map in ("smoothed_isotonic", "smoothed_bins")
    assert a.advice.strength == 1.0


def test_calibrate_fit_writes_the_advised_map(tmp_path, capsys):
    y, p = forecasts("bin", 900, "T", 1.7, seed=8)
    file, out = tmp_path / "f.csv", tmp_path / "map.json"
    file.write_text("y,p\n" + "".join(f"{a},{b!r}\n" for a, b in zip(y.tolist(), p[:, 1].tolist(), strict=True)))
    assert run(["calibrate", "fit", str(file), "--map", "advised", "-o", str(out)]) == 0
    a = vc.assess(y, p[:, 1])
    written = calibrators.from_json(out.read_text())
    np.testing.assert_allclose(written(p), a.advised_map(p), atol=1e-12)
    assert json.loads(a.to_json())["fix"]["strength"] == pytest.approx(a.advice.strength)
    calibrated = tmp_path / "calibrated.csv"
    calibrated.write_text("y,p\n" + "".join(f"{i % 2},0.5\n" for i in range(400)))
    assert run(["calibrate", "fit", str(calibrated), "--map", "advised", "-o", str(tmp_path / "none.json")]) == 2
    assert "no correction is advised" in capsys.readouterr().err
    assert not (tmp_path / "none.json").exists()


@pytest.mark.parametrize("option", ["--cluster", "--time"])
def test_the_printed_command_writes_the_map_that_was_judged_of_dependent_cases(tmp_path, capsys, option):
    rng = np.random.default_rng(9)
    q = truth("bin", 1200, rng)
    unit = np.sort(rng.integers(0, 60, 1200))
    p, y = stated(q, "T", 1.6)[:, 1], draw(q, rng)
    y = np.where(rng.random(1200) < 0.5, y[np.searchsorted(unit, unit)], y)  # alike within a unit
    file, out, document = tmp_path / "f.csv", tmp_path / "map.json", tmp_path / "a.json"
    rows = zip(unit.tolist(), y.tolist(), p.tolist(), strict=True)
    file.write_text("unit,y,p\n" + "".join(f"{a},{b},{c!r}\n" for a, b, c in rows))
    names = [str(file), option, "unit"]
    assert run(["assess", *names, "--json", str(document)]) == 0
    words = capsys.readouterr().out.split()
    assert words[words.index("fit") + 1 : words.index("-o")] == [*names, "--map", "advised"]
    assert run(["calibrate", "fit", *names, "--map", "advised", "-o", str(out)]) == 0
    judged = vc.assess(y, p, **{{"--cluster": "clusters", "--time": "time"}[option]: unit})
    written = calibrators.from_json(out.read_text())
    np.testing.assert_allclose(written(p), judged.advised_map(p), atol=1e-12)
    assert np.abs(written(p) - vc.assess(y, p).advised_map(p)).max() > 1e-3
