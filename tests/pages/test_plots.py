"""Every picture: valid, titled, with units, tooltips, a caption from its numbers, two cues; saved in every format."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veracity as vc
from veracity import plots, words
from veracity.formulas.distributions import CoupledNormal
from veracity.plots import _style as style
from veracity.records import sections as r
from veracity.records.reading import Reading
from veracity.results.assess import Assessments
from veracity.state.plan import Plan

OURS = plots.names("assessment")
OF_MORE, OF_TWO = {"risk_coverage"}, {"roc", "decision_curve", "smooth_calibration"}  # classes that some need


@pytest.fixture(scope="module")
def two(filled: Callable[..., Any], in_time: dict[str, Any]) -> Any:
    return filled("over", groups=True, **in_time)


@pytest.fixture(scope="module")
def three(filled: Callable[..., Any], in_time: dict[str, Any]) -> Any:
    return filled("over", k=3, **in_time)


def empty() -> vc.Assessment:
    """An assessment of no rows."""
    return vc.assess(vc.Tally.zero(("no", "yes"), Plan()))


def test_all_pictures_of_the_interface_are_there() -> None:
    wanted = {"model_versus_source", "confidence_histogram", "risk_profile", "decomposed_profile", "loss_ladder"}
    wanted |= {"reliability", "floors", "roc", "groups", "surprises", "coupled", "compare"}
    assert wanted <= set(plots.names())


@pytest.mark.parametrize("name", [name for name in OURS if name not in OF_MORE])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_picture_draws_with_title_units_tooltips_and_caption(name: str, theme: str, two: Any) -> None:
    chart = plots.chart(name, two, theme=theme)
    text = json.dumps(spec := chart.to_dict())  # to_dict validates against the schema of Vega-Lite
    assert '"tooltip"' in text
    assert _titles(spec)[0]
    assert '"title": "' in text.replace('"title": "",', "")  # an axis says what it shows
    module = plots.module(name)
    assert module.rows(two), "the data table under the figure is empty"
    assert module.caption(two)
    assert module.TITLE


def _titles(spec: Any) -> list[Any]:
    found = [spec["title"]["text"]] if isinstance(spec.get("title"), dict) else []
    return found + [title for part in spec.get("vconcat", []) for title in _titles(part)]


@pytest.mark.parametrize("name", OURS)
def test_a_picture_without_numbers_says_so(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: this assessment holds no"):
        plots.chart(name, empty())


def test_three_classes_have_all_pictures_but_those_of_two(three: Any) -> None:
    for name in set(OURS) - OF_TWO - {"groups"}:
        assert plots.module(name).caption(three)
        plots.chart(name, three).to_dict()
    for name in OF_TWO:
        with pytest.raises(ValueError, match="two classes"):
            plots.chart(name, three)


def test_pictures_hold_the_numbers_of_the_result(two: Any) -> None:
    profile = {(row["side"], round(row["r"], 9)): row["mean"] for row in plots.module("risk_profile").rows(two)}
    assert profile["gave", 0.0] == pytest.approx(two.reported.geometric_accuracy, abs=1e-12)
    assert profile["expected", 0.0] == pytest.approx(two.expected.geometric_accuracy, abs=1e-12)
    assert profile["recalibrated", 1.0] == pytest.approx(two.measured.decisiveness, abs=1e-12)
    ladder = plots.module("loss_ladder").rows(two)
    assert ladder[0]["value"] == two.losses("log").L
    assert ladder[-1]["to"] == two.losses("log").RL


@pytest.mark.parametrize("kind", ["over", "under", "calibrated", "biased"])
def test_the_ladder_steps_meet_and_never_run_below_zero(kind: str, filled: Callable[..., Any]) -> None:
    result = filled(kind)
    steps = plots.module("loss_ladder").rows(result)
    for upper, lower in pairwise(steps[1:-1]):
        assert upper["from"] == pytest.approx(lower["to"], abs=1e-12)
    assert steps[-2]["from"] == pytest.approx(steps[-1]["to"], abs=1e-9)  # what is left is the refinement loss
    large = replace(result.losses("log"), AL=Reading(9.0), PCL=Reading(2.0), remainder=Reading(-10.0))
    drawn = plots.module("loss_ladder").rows(replace(result, _losses_by_rule={"log": large}))
    assert min(min(step["from"], step["to"]) for step in drawn) >= 0.0


def test_an_infinite_log_loss_is_drawn_as_brier(two: Any) -> None:
    infinite = replace(two.losses("log"), L=Reading(np.inf))
    zero = (r.Surprise(3, "yes", 0.0), *two.surprises)
    result = replace(two, _losses_by_rule={"log": infinite, "brier": two.losses("brier")}, surprises=zero)
    assert "Brier" in str(plots.chart("loss_ladder", result).to_dict()["title"])
    assert "ruled out" in json.dumps(plots.chart("surprises", result).to_dict())
    assert "ruled out" in plots.module("surprises").caption(result)


def test_several_models_share_a_picture(two: Any, filled: Callable[..., Any]) -> None:
    both = Assessments({"sharp": two, "dull": filled("under")})
    for name in ("compare", "risk_profile"):
        text = json.dumps(plots.chart(name, both).to_dict())
        assert "sharp" in text
        assert "dull" in text


def shares(caption: str, start: str) -> tuple[float, float]:
    """Return predicted and observed share after these words, in percent."""
    found = re.search(rf"{start}: ([\d.]+) % predicted on average, ([\d.]+) % (?:right|happened)", caption)
    assert found, caption
    return float(found[1]), float(found[2])


BELOW, ABOVE = "less often than predicted", "more often than predicted"


@pytest.mark.parametrize(("kind", "said", "unsaid"), [("over", BELOW, ABOVE), ("under", ABOVE, BELOW)])
def test_captions_say_which_way_the_picks_are_wrong(
    kind: str, said: str, unsaid: str, filled: Callable[..., Any]
) -> None:
    """Three classes: the chart is of the picks, above the line too cautious, below it too sure."""
    result = filled(kind, n=4000, k=3)
    caption = plots.module("reliability").caption(result)
    predicted, right = shares(caption, "Picks")
    assert (right < predicted) == (kind == "over")
    assert f"right {said}" in caption
    assert unsaid not in caption
    profile = plots.module("risk_profile").caption(result)
    assert ("less than" in profile, "more than" in profile) == (kind == "over", kind == "under")
    assert "Recalibration saves" in plots.module("loss_ladder").caption(result)


@pytest.mark.parametrize("kind", ["over", "under", "biased"])
def test_captions_of_two_classes_say_which_forecasts_are_too_high(kind: str, filled: Callable[..., Any]) -> None:
    """Too sure: low forecasts happen more often, high ones less often; too cautious: the reverse; biased: all less."""
    caption = plots.module("reliability").caption(filled(kind, n=4000))
    low, high = (shares(caption, start) for start in ("below 50 %", "of 50 % or more"))
    assert (low[1] > low[0], high[1] > high[0]) == {
        "over": (True, False), "under": (False, True), "biased": (False, False)
    }[kind]  # fmt: skip
    assert ("all below the line" in caption) == (kind == "biased")


@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_captions_of_calibrated_forecasts_claim_no_deviation(k: int, seed: int, filled: Callable[..., Any]) -> None:
    result = filled("calibrated", n=1500, k=k, seed=seed)
    assert result.verdict_detail.state in ("calibrated", "none found")  # these seeds are no false alarms
    caption = plots.module("reliability").caption(result)
    assert re.search("inside the grey band of chance|no deviation beyond chance", caption)
    assert not re.search(f"{BELOW}|{ABOVE}|largest gap", caption)
    assert not re.search("saves [0-9]", plots.module("loss_ladder").caption(result))
    assert not re.search("(less|more) than", plots.module("risk_profile").caption(result))


def test_points_inside_the_band_do_not_contradict_a_verdict(two: Any) -> None:
    points = [replace(p, observed=(p.band_low + p.band_high) / 2) for p in two.curves.classwise["yes"]]
    inside = replace(two, curves=replace(two.curves, classwise={"yes": tuple(points)}))
    assert "the tests, which use all cases together, see more" in plots.module("reliability").caption(inside)
    fine = replace(inside, verdict_detail=replace(two.verdict_detail, state="calibrated"))
    assert plots.module("reliability").caption(fine).endswith("inside the grey band of chance.")


def test_a_small_probability_is_an_error_suspected_only_where_chance_does_not_explain_it(two: Any) -> None:
    def caption(p: float) -> str:
        return plots.module("surprises").caption(replace(two, surprises=(r.Surprise(3, "yes", p),)))

    assert caption(0.02) == f"Row 3 gave its outcome 2.0 %, the least of {two.n:,} cases."
    assert "errors in the data" in caption(1e-6)


@pytest.mark.parametrize("kind", ["over", "under", "biased", "calibrated"])
def test_no_caption_has_scientific_notation(kind: str, filled: Callable[..., Any]) -> None:
    result = filled(kind, groups=True)
    tiny = replace(result, surprises=(r.Surprise(3, "yes", 1e-12), r.Surprise(4, "yes", 2e-5)))
    for name in OURS:
        assert not re.search(r"\de[−+-]?\d", plots.module(name).caption(tiny)), name


def test_halves_of_the_reliability_chart_are_named_for_what_they_are(two: Any, three: Any) -> None:
    assert "too sure" in json.dumps(plots.chart("reliability", three).to_dict())
    assert "too cautious" in json.dumps(plots.chart("reliability", three).to_dict())
    event = json.dumps(plots.chart("reliability", two).to_dict())  # below the line a low forecast is not "too sure"
    assert "predicted too high" in event
    assert "too sure" not in event


def test_coupled_distributions_cross_their_mean_one_scale_from_the_centre() -> None:
    distributions = [CoupledNormal(0, 1, kappa) for kappa in (-0.25, 0.0, 0.5)]
    spec = plots.chart("coupled", distributions).to_dict()
    rows = [row for values in spec["datasets"].values() for row in values]
    at_scale = {row["name"]: row["density"] for row in rows if row.get("x") == pytest.approx(1.0)}
    level = {row["name"]: row["density"] for row in rows if "x" not in row}
    assert at_scale == pytest.approx(level, abs=1e-12)  # RP 2.9
    assert len(level) == 3


@pytest.mark.parametrize("form", plots.FORMATS)
def test_save_writes_every_format(form: str, two: Any, tmp_path: Path) -> None:
    path = tmp_path / f"picture.{form}"
    plots.chart("roc", two).save(path)
    data = path.read_bytes()
    beginning = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<svg", "json": b"{", "html": b"<"}[form]
    assert data.lstrip().startswith(beginning)
    if form == "html":
        assert b'src="http' not in data  # whole in itself
        assert len(data) > 500_000


def test_without_a_name_the_reliability_chart_is_drawn_and_names_are_listed(
    two: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plots.chart(None, two).to_dict() == plots.chart("reliability", two).to_dict()
    printed = capsys.readouterr().out
    assert all(name in printed for name in OURS)


def test_unknown_names_are_refused_by_name(two: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no picture 'relyability'"):
        plots.chart("relyability", two)
    with pytest.raises(ValueError, match="'gif' is not one of"):
        plots.chart("roc", two).save(tmp_path / "x.gif")


def test_series_differ_by_more_than_colour() -> None:
    assert len(set(map(str, style.DASHES))) == len(style.DASHES) == len(style.THEMES["light"]["range"]["category"])
    assert len(set(style.SHAPES)) == len(style.SHAPES) == len(style.THEMES["dark"]["range"]["category"])


def test_parts_of_the_loss_far_outside_the_picture_are_not_drawn(two: Any) -> None:
    """Below the cut the lines are those of the result; above twice the cut there are none."""
    at = (-2 / 3, -1 / 3, 0.0, 1.0, 2.0)
    parts = {
        "adjustment": (5.0, 2.0, 0.1, 0.1, 900.0),
        "post_calibration": (4e4, 40.0, 0.2, 0.1, 0.2),
        "refinement": (0.5, 7.0, 0.4, 0.3, 0.3),
    }
    module = plots.module("decomposed_profile")
    result = replace(two, decomposed_profile=r.DecomposedProfile(at, **parts))
    spec = plots.chart("decomposed_profile", result).to_dict()
    drawn: dict[str, dict[float, float]] = {}
    for row in spec["datasets"][spec["layer"][0]["data"]["name"]]:
        drawn.setdefault(row["part"], {})[row["r"]] = row["share"]
    axis = np.linspace(-2 / 3, 2, 2001)
    given, seen = np.zeros(len(axis)), np.zeros(len(axis))
    for name in ("refinement", "post_calibration", "adjustment"):  # from the bottom
        line = drawn[module.PARTS[name]]
        places = sorted(line)
        given += np.interp(axis, at, parts[name])
        seen += np.interp(axis, places, [line[place] for place in places])
        inside = given <= module.CUT
        assert inside.any()
        np.testing.assert_allclose(seen[inside], given[inside], atol=1e-9)
        assert seen.max() <= 2 * module.CUT + 1e-9
        assert seen[~inside].min() >= module.CUT - 1e-9


def test_the_first_line_is_solid_without_a_pattern(two: Any) -> None:
    """Dashes without gaps would be printed one by one."""
    dashes = [json.dumps(plots.chart(name, two).to_dict()) for name in ("risk_profile", "floors")]
    assert all('"range": [[], [6, 3]' in text for text in dashes)
    assert not any("[1, 0]" in text for text in dashes)


@pytest.mark.parametrize("kind", ["over", "under", "biased"])
def test_the_largest_gap_of_the_caption_is_that_of_the_picture(kind: str, filled: Callable[..., Any]) -> None:
    result = filled(kind)
    module = plots.module("reliability")
    points = [r for r in module.rows(result) if not r["band_low"] <= r["observed"] <= r["band_high"]]
    widest = max(points, key=lambda point: abs(point["forecast"] - point["observed"]))
    told = f"{words.share(widest['forecast'])} predicted, {words.share(widest['observed'])} happened"
    assert f"The largest gap: {told} in " in module.caption(result)


def test_charts_share_their_rows_and_look_for_no_class_of_their_channels(
    two: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Altair copies a chart at each step, and builds a table of all its classes for each channel given as text."""
    monkeypatch.setattr("altair.utils.schemapi._FromDict", None)
    for name in plots.names("assessment"):
        with contextlib.suppress(ValueError):
            plots.Picture.of(name, two).spec()
    base = style.points([{"x": 1.0}])
    assert base.mark_line().properties(width=100).data is base.data
