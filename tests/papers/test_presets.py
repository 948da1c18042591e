"""Presets: everything of a paper's procedure comes from its own curve, and a value that is given wins over its own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import veracity as vc
from veracity import Tally
from veracity.cli import run
from veracity.inputs import Forecasts
from veracity.simulate import simulate

MEANS = ("decisiveness", "geometric_accuracy", "robustness")


@pytest.fixture(scope="module")
def forecasts() -> Forecasts:
    """20 classes, over-confident."""
    rng = np.random.default_rng(4)
    truth = rng.dirichlet(np.full(20, 0.15), 1500)
    y = np.minimum((truth.cumsum(axis=1) < rng.random((1500, 1))).sum(axis=1), 19)
    p = truth**1.6 + 1e-9
    return Forecasts.of(y, p / p.sum(axis=1, keepdims=True))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    f = simulate("n17-tail-0", 400, seed=3)
    path = tmp_path / "held.csv"
    lines = [f"{y},{p!r}" for y, p in zip(f.outcomes.tolist(), f.matrix[:, 1].tolist(), strict=True)]
    path.write_text("\n".join(["y,p", *lines]))
    return path


@pytest.mark.parametrize("preset", ["CQ", "N17"])
def test_divergence_and_spread_ratio_follow_from_the_means_of_the_paper(forecasts: Forecasts, preset: str) -> None:
    a = vc.assess(forecasts, preset=preset)
    found = a.papers.asked[1]
    assert [name for name, _ in a.papers.stated()] == [preset, "classes"]
    for name in MEANS:
        assert found.divergence.reading(name) == pytest.approx(
            a.reported.reading(name) / found.measured.reading(name), rel=1e-12
        )
    spread = found.measured.decisiveness - found.measured.robustness
    reported = a.reported.decisiveness - a.reported.robustness
    assert found.spread_ratio == pytest.approx(spread / reported, rel=1e-12)


@pytest.mark.parametrize("preset", ["CQ", "N17"])
def test_the_means_of_a_paper_are_those_of_the_bins_shown(forecasts: Forecasts, preset: str) -> None:
    a = vc.assess(forecasts, preset=preset)
    true, source = np.array([(b.true, max(b.source, a.floor)) for b in a.bins if b.true]).T
    shares = true / true.sum()
    for name, r in zip(MEANS, (1.0, 0.0, -2.0 / 3.0), strict=True):
        wanted = np.exp(shares @ np.log(source)) if r == 0.0 else (shares @ source**r) ** (1.0 / r)
        assert a.papers.asked[1].measured.reading(name) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(("preset", "floor"), [("CQ", 0.005), ("N17", 0.01)])
def test_measured_means_of_the_assessment_do_not_depend_on_the_preset(
    forecasts: Forecasts, preset: str, floor: float
) -> None:
    by_paper, own = vc.assess(forecasts, preset=preset), vc.assess(forecasts)
    assert by_paper.floor == floor
    assert [name for name, _ in own.papers.stated()] == ["classes"]
    for name in MEANS:
        assert by_paper.measured.reading(name) == pytest.approx(own.measured.reading(name), rel=1e-12)
        assert by_paper.divergence.reading(name) == pytest.approx(own.divergence.reading(name), rel=1e-12)
        assert abs(by_paper.papers.asked[1].measured.reading(name) - own.measured.reading(name)) > 1e-4
    spread = own.measured.decisiveness - own.measured.robustness
    reported = by_paper.reported.decisiveness - by_paper.reported.robustness
    assert by_paper.spread_ratio == pytest.approx(spread / reported, rel=1e-12)


@pytest.mark.parametrize(("preset", "n"), [("CQ", 900), ("N17", 2500)])
def test_published_means_have_no_interval(preset: str, n: int) -> None:
    found = vc.assess(simulate("n17-matched", n, seed=1), preset=preset).papers.asked[1]
    for reading in (*found.measured.readings().values(), *found.divergence.readings().values(), found.spread_ratio):
        assert reading.low is None
        assert "biased by its bins" in reading.reason


@pytest.mark.parametrize("preset", ["CQ", "N17"])
def test_a_floor_of_0_given_with_a_preset_wins(preset: str) -> None:
    y, p = np.array([0, 1, 1, 0] * 20), np.array([0.001, 0.6, 0.999, 0.3] * 20)
    given, usual = vc.assess(y, p, preset=preset, floor=0), vc.assess(y, p, preset=preset)
    assert given.floor == 0.0
    assert usual.floor == {"CQ": 0.005, "N17": 0.01}[preset]
    assert given.reported.geometric_accuracy == pytest.approx(np.exp(-given.scores.log_loss), rel=1e-12)
    assert given.provenance.plan["floor"] == 0.0
    assert vc.assess(Tally.from_bytes(given.tally.to_bytes())).floor == 0.0


def test_an_end_width_given_with_a_preset_wins() -> None:
    y, p = np.arange(80) % 2, np.linspace(0.001, 0.999, 80)
    for width in (0.0, 0.005, 0.2):
        a = vc.assess(y, p, preset="CQ", end_width=width)
        assert a.provenance.plan["end_width"] == width
    assert vc.assess(y, p, preset="CQ").provenance.plan["end_width"] == 0.005


def test_the_floor_of_a_tally_is_not_overruled_in_silence() -> None:
    y, p = np.arange(80) % 2, np.linspace(0.001, 0.999, 80)
    tally = Tally.of(y, p, preset="CQ")
    assert vc.assess(tally).floor == vc.assess(tally, floor=0.005).floor == 0.005
    with pytest.raises(ValueError, match=r"^floor: 0\.0, but the tally was counted with 0\.005"):
        vc.assess(tally, floor=0)


def test_the_command_takes_a_floor_of_0_with_a_preset(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["assess", str(file), "--label", "y", "--positive-proba", "p", "--preset", "CQ", "--json", "-"]
    floors = []
    for options in ([], ["--floor", "0"], ["--floor", "0.02", "--end-width", "0.1"]):
        assert run([*command, *options]) == 0
        document = json.loads(capsys.readouterr().out)
        presets = [name for name in document["papers"] if name != "classes"]
        floors.append((document["floor"], document["provenance"]["plan"]["end_width"], presets))
    assert floors == [(0.005, 0.005, ["CQ"]), (0.0, 0.005, ["CQ"]), (0.02, 0.1, ["CQ"])]


@pytest.mark.parametrize("preset", ["CQ", "N17"])
def test_terminal_report_and_document_hold_the_numbers_of_the_paper_by_its_name(
    file: Path, tmp_path: Path, preset: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["assess", str(file), "--label", "y", "--positive-proba", "p", "--preset", preset, "--details"]
    page, held = tmp_path / "page.html", tmp_path / "held.json"
    assert run([*command, "--report", str(page), "--json", str(held)]) == 0
    found = vc.Assessment.from_json(held.read_text()).papers.asked[1]
    for text in (capsys.readouterr().out, page.read_text()):
        assert f"By the procedure of {preset}" in text
        assert f"published in {preset}" in text
        assert f"Spread ratio (N17, CQ) {found.spread_ratio:.2f}" in text
        assert f"{found.measured.robustness:.2f}" in text


@pytest.mark.parametrize("floor", ["0", "0.02"])
def test_the_whole_procedure_is_printed_with_a_floor_of_ones_own(
    file: Path, floor: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Own NumPy: reported means of max(p of the outcome, γ), and their ratios to the measured ones."""
    command = ["assess", str(file), "--label", "y", "--positive-proba", "p", "--preset", "CQ", "--floor", floor]
    assert run([*command, "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    frame = pl.read_csv(file)
    y, p = frame["y"].to_numpy(), frame["p"].to_numpy()
    realised = np.maximum(np.where(y == y.max(), p, 1.0 - p), float(floor))
    means = {"geometric_accuracy": np.exp(np.log(realised).mean()), "decisiveness": realised.mean()}
    means |= {"robustness": (realised ** (-2 / 3)).mean() ** -1.5}
    assert run([*command, "--details"]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(i for i, line in enumerate(lines) if "By the procedure of CQ" in line)
    printed = {" ".join(line.split()[:1]): line for line in lines[start + 1 : start + 4]}
    for (name, mean), word in zip(means.items(), ("typical", "average", "pessimistic"), strict=True):
        measured, ratio = (document["papers"]["CQ"][side][name]["value"] for side in ("measured", "divergence"))
        assert document["reported"][name]["value"] == pytest.approx(mean, abs=1e-9)
        assert ratio == pytest.approx(mean / measured, abs=1e-9)
        for value in (mean, measured, ratio):
            assert f"{value:.3f}" in printed[word] or f"{value:.2f}" in printed[word]
    assert f"γ = {floor}." in " ".join(" ".join(lines).split())


@pytest.mark.parametrize("picture", ["model_versus_source", "confidence_histogram"])
def test_pictures_draw_the_means_of_the_preset_over_its_bins(forecasts: Forecasts, picture: str) -> None:
    a = vc.assess(forecasts, preset="CQ")
    drawn = json.dumps(a.plot(picture).to_dict())
    for name in MEANS:
        assert f'"source": {float(a.papers.CQ.measured.reading(name))!r}' in drawn
    if picture == "confidence_histogram":
        assert f"Spread ratio {a.papers.CQ.spread_ratio:.2f} (N17, CQ)" in drawn


def test_forecasts_of_outcomes_alone_have_no_published_means_and_say_why() -> None:
    a = vc.assess(Forecasts(None, None, (), log_realised=np.log([0.2, 0.7, 0.9, 0.4])), preset="CQ")
    assert not a.papers.CQ.spread_ratio.known
    assert "cannot be compared with frequencies" in a.papers.CQ.measured.robustness.reason
