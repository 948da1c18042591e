"""Every picture of real assessments: valid, titled, with units, tooltips and two cues; saved in every format."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veracity import assess, plots
from veracity.formulas.distributions import CoupledNormal
from veracity.plots import _style as style
from veracity.results.assess import Assessments

OURS = sorted(name for name in plots.names() if getattr(plots.module(name), "OF", None) == "assessment")


@pytest.fixture(scope="module")
def two() -> Any:
    """A sharpened forecast of a coin: over-confident, with groups."""
    rng = np.random.default_rng(7)
    truth = rng.beta(2, 2, 600)
    stated = truth**2 / (truth**2 + (1 - truth) ** 2)
    return assess((rng.random(600) < truth).astype(int), stated, groups={"site": rng.integers(0, 3, 600)})


@pytest.fixture(scope="module")
def three() -> Any:
    rng = np.random.default_rng(8)
    p = rng.dirichlet([1.0, 1.0, 1.0], 400)
    return assess(["abc"[rng.choice(3, p=row)] for row in p], p, labels=["a", "b", "c"])


@pytest.fixture(scope="module")
def shown(two: Any, three: Any) -> dict[str, dict[str, Any]]:
    return {"two": two.document(), "three": three.document()}


def test_all_pictures_of_the_interface_are_there() -> None:
    wanted = {"model_versus_source", "confidence_histogram", "risk_profile", "decomposed_profile", "loss_ladder"}
    wanted |= {"reliability", "floors", "roc", "groups", "surprises", "coupled", "compare"}
    assert wanted <= set(plots.names())


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_picture_draws_with_title_units_and_tooltips(name: str, theme: str, shown: Any) -> None:
    chart = plots.chart(name, shown["two"], theme=theme)
    text = json.dumps(spec := chart.to_dict())  # to_dict validates against the schema of Vega-Lite
    assert '"tooltip"' in text
    assert _titles(spec)[0]
    assert '"title": "' in text.replace('"title": "",', "")  # an axis says what it shows
    assert plots.module(name).rows(shown["two"]), "the data table under the figure is empty"
    assert plots.module(name).CAPTION


def _titles(spec: Any) -> list[Any]:
    found = [spec["title"]["text"]] if isinstance(spec.get("title"), dict) else []
    return found + [title for part in spec.get("vconcat", []) for title in _titles(part)]


@pytest.mark.parametrize("name", OURS)
def test_a_picture_without_numbers_says_so(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: this assessment holds no"):
        plots.chart(name, {"schema": "veracity/assessment/1", "classes": []})


def test_three_classes_have_no_roc_but_all_else(shown: Any) -> None:
    drawn = []
    for name in OURS:
        if name not in ("roc", "groups"):
            drawn.append(plots.chart(name, shown["three"]))
    assert len(drawn) == len(OURS) - 2
    with pytest.raises(ValueError, match="two classes"):
        plots.chart("roc", shown["three"])


def test_pictures_hold_the_numbers_of_the_document(shown: Any) -> None:
    document = shown["two"]
    profile = {(row["side"], round(row["r"], 9)): row["mean"] for row in plots.module("risk_profile").rows(document)}
    assert profile["stated", 0.0] == document["reported"]["geometric_accuracy"]["value"]
    assert profile["borne out", 1.0] == pytest.approx(document["measured"]["decisiveness"]["value"], abs=1e-12)
    ladder = plots.module("loss_ladder").rows(document)
    assert ladder[0]["value"] == document["losses"]["log"]["L"]["value"]
    assert ladder[-1]["to"] == document["losses"]["log"]["RL"]["value"]


def test_the_ladder_steps_meet_and_end_at_what_remains(shown: Any) -> None:
    steps = plots.module("loss_ladder").rows(shown["two"])
    for upper, lower in pairwise(steps[1:-1]):
        assert upper["from"] == pytest.approx(lower["to"], abs=1e-12)
    assert steps[-2]["from"] == pytest.approx(steps[-1]["to"], abs=1e-9)  # what is left is the refinement loss


def test_an_infinite_log_loss_is_drawn_as_brier() -> None:
    document = assess([0, 1] * 60, [0.2, 0.0] * 60).document()
    assert "Brier" in str(plots.chart("loss_ladder", document).to_dict()["title"])
    assert "ruled out" in json.dumps(plots.chart("surprises", document).to_dict())


def test_several_models_share_a_picture(two: Any) -> None:
    rng = np.random.default_rng(1)
    other = assess(rng.integers(0, 2, 200), rng.random(200))
    both = Assessments({"sharp": two, "noise": other})
    for name in ("compare", "risk_profile"):
        text = json.dumps(both.plot(name).to_dict())
        assert "sharp" in text
        assert "noise" in text


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
    two.plot("roc").save(path)
    data = path.read_bytes()
    beginning = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<svg", "json": b"{", "html": b"<"}[form]
    assert data.lstrip().startswith(beginning)
    if form == "html":
        assert b'src="http' not in data  # whole in itself
        assert len(data) > 500_000


def test_unknown_names_are_refused_by_name(two: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no picture 'relyability'"):
        two.plot("relyability")
    with pytest.raises(ValueError, match="'gif' is none of"):
        two.plot("roc").save(tmp_path / "x.gif")


def test_palette_is_told_apart_by_more_than_colour() -> None:
    assert len(set(map(str, style.DASHES))) == len(style.DASHES) == len(style.LIGHT["range"]["category"])
    assert len(set(style.SHAPES)) == len(style.SHAPES) == len(style.DARK["range"]["category"])


def test_parts_of_the_loss_far_outside_the_picture_are_not_drawn(shown: Any) -> None:
    """Below the cut the lines are those of the document; above twice the cut there are none."""
    at = [-2 / 3, -1 / 3, 0.0, 1.0, 2.0]
    parts = {
        "adjustment": [5.0, 2.0, 0.1, 0.1, 900.0],
        "post_calibration": [4e4, 40.0, 0.2, 0.1, 0.2],
        "refinement": [0.5, 7.0, 0.4, 0.3, 0.3],
    }
    module = plots.module("decomposed_profile")
    spec = plots.chart("decomposed_profile", shown["two"] | {"decomposed_profile": {"r": at, **parts}}).to_dict()
    drawn: dict[str, dict[float, float]] = {}
    for row in spec["datasets"][spec["layer"][0]["data"]["name"]]:
        drawn.setdefault(row["part"], {})[row["r"]] = row["share"]
    r = np.linspace(-2 / 3, 2, 2001)
    given, seen = np.zeros(len(r)), np.zeros(len(r))
    for name in ("refinement", "post_calibration", "adjustment"):  # from the bottom
        line = drawn[module.PARTS[name]]
        places = sorted(line)
        given += np.interp(r, at, parts[name])
        seen += np.interp(r, places, [line[place] for place in places])
        inside = given <= module.CUT
        assert inside.any()
        np.testing.assert_allclose(seen[inside], given[inside], atol=1e-9)
        assert seen.max() <= 2 * module.CUT + 1e-9
        assert seen[~inside].min() >= module.CUT - 1e-9


def test_the_first_line_is_solid_without_a_pattern(shown: Any) -> None:
    """Dashes without gaps would be printed one by one."""
    dashes = [json.dumps(plots.chart(name, shown["two"]).to_dict()) for name in ("risk_profile", "floors")]
    assert all('"range": [[], [6, 3]' in text for text in dashes)
    assert not any("[1, 0]" in text for text in dashes)
