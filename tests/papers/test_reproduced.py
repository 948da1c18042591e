"""RP, CQ, HB17 and KF15 reproduced: no number differs without a reason, and the reasons are the known ones."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import papers
from papers import Options, _outputs, cq, hb17, kf15, rp
from papers.__main__ import main
from papers._rows import (
    AGREES,
    DIFFERS,
    DOCUMENTED,
    IDENTITY,
    Section,
    claim,
    drawn,
    identity,
    printed,
    tally,
    uncovered,
)
from veracity.cli import run as veracity_command
from veracity.simulate import simulate


def explained(paper, sections):
    """Every numbered item has a row."""
    assert paper.NOT_REPRODUCED == {}
    assert uncovered(paper.NUMBERED, sections) == []
    return True


def documented(sections):
    return [row.item for s in sections for row in s.rows if row.verdict == DOCUMENTED]


def test_hb17_has_no_unexplained_difference():
    sections = list(hb17.sections(Options()))
    assert tally(sections)[DIFFERS] == 0
    assert explained(hb17, sections)
    assert documented(sections) == [
        "f2 = 0.857: meets f = 0 at",
        "f2 = 0.857: score of no event",
        "f1 = 0.403: meets f = 1 at",
        "f1 = 0.403: score of event",
        "caption: the tangent at f1 meets f = 0 at −0.734 too",
        "f2 = 0.857: slope",
        "f2 = 0.857: meets f = 0 at",
        "f2 = 0.857: score of no event",
        "equation 13",
        "G² = 2N I and R² = I/H hold for the logistic regression",
        "0 ≤ PSEP ≤ 1",
    ]


@pytest.mark.slow
def test_kf15_has_no_unexplained_difference():
    sections = list(kf15.sections(Options(quick=True)))
    assert tally(sections)[DIFFERS] == 0
    assert explained(kf15, sections)
    assert documented(sections) == [
        "Model 2: log loss of A*",
        "Model 1: 0.9 weighted",
        "Model 1: sum after weighting",
        "failures to converge, mean of the 24 cells",
        "classes of the experiment",
    ]


@pytest.mark.parametrize(("n", "k"), [(10, 3), (10, 10), (100, 20)])
def test_kf15_exact_descent_takes_the_published_rounds(n, k):
    # L2 < 1e-4, exact search: mean rounds within 0.1 of the paper for k <= 20; 150 tasks have se 0.05.
    quoted = dict(zip(kf15.CLASSES, kf15.PAPER[n], strict=True))[k]
    cell = kf15.table_4(150, 1, n, k)
    assert cell["exact"].mean() == pytest.approx(float(quoted.split()[0]), abs=0.1 + 0.1)
    assert cell["exact failures"] == 0
    assert cell["gap"] < 1e-12


def test_coordinate_descent_reaches_the_adjusted_scores():
    from veracity import calibrators
    from veracity.simulate import random_task

    scores, target = random_task(np.random.default_rng(3), 50, 4)
    rounds, converged = kf15.coordinate_descent(scores[None], target[None], exact=True)
    assert converged.all()
    assert 1 <= rounds[0] <= 6
    assert np.abs(np.asarray(calibrators.adjust(scores, target)(scores)).mean(axis=0) - target).max() < 1e-12


@pytest.mark.slow
def test_rp_has_no_unexplained_difference():
    sections = list(rp.sections(Options(quick=True)))
    assert tally(sections)[DIFFERS] == 0
    assert explained(rp, sections)
    assert documented(sections) == [
        "(2.4) as printed",
        "(2.6), second use",
        "(2.9) coupled exponential, κ = 0.5",
        "(2.9) Gaussian form",
        "(3.2) last member",
        "(3.6) coefficient",
        "caption: geometric accuracy holds from 6 to 8 dimensions",
        "tail of the density",
        "(A.4)",
        "(A.5) inner exponent, last line",
        "(A.6) first outer exponent",
        "(A.8) outer exponent",
    ]


def test_cq_two_printed_geometric_accuracies_are_impossible():
    assert cq.feasible(0.054, 0.465) == pytest.approx((0.1292, 0.2534), abs=1e-4)
    assert cq.feasible(0.085, 0.607) == pytest.approx((0.2291, 0.3855), abs=1e-4)
    assert cq.feasible(0.063, 0.465, want="robustness") == pytest.approx((0.0128, 0.0145), abs=1e-4)
    low, high = cq.feasible(0.603, 0.973)
    assert low < 0.913 < high


@pytest.mark.slow
def test_cq_has_no_unexplained_difference():
    sections = list(cq.sections(Options(quick=True)))
    assert tally(sections)[DIFFERS] == 0
    assert explained(cq, sections)
    reasons = {row.note for s in sections for row in s.rows if row.verdict == DOCUMENTED}
    assert len(reasons) == 10
    ratios = [row.value for row in sections[0].rows if "spread ratio" in row.item]
    assert ratios == pytest.approx([0.7649, 0.8267, 0.9489, 0.9310], abs=5e-5)


def test_cq_procedure_finds_real_networks_over_confident(shared):
    f = cq._found(Options(quick=True, data=shared))
    assert f[0] == "Real networks"
    assert {"lenet-5-cifar-10", "wideresnet-16-4-cifar-10", "vgg16"} == set(f[1])
    m = cq.metrics(f[1]["wideresnet-16-4-cifar-10"])
    assert m.reported[2] == pytest.approx(0.903, abs=5e-4)
    assert m.spread_ratio < 1


def test_cq_metrics_are_equal_for_every_way_to_store_outputs(tmp_path):
    f = simulate("dirichlet-3-sharp", 300)
    logits = np.log(f.matrix) + 1.0
    np.savez(tmp_path / "one.npz", logits=logits, labels=f.outcomes)
    apart = tmp_path / "two"
    apart.mkdir()
    np.savez(apart / "logits.npz", logits=logits)
    np.savez(apart / "labels.npz", labels=f.outcomes)
    third = tmp_path / "three"
    third.mkdir()
    np.save(third / "softmax.npy", f.matrix)
    np.save(third / "labels.npy", f.outcomes)
    found = _outputs.load(tmp_path)
    assert set(found) == {"one", "two", "three"}
    expected = cq.metrics(f).reported
    for forecasts in found.values():
        np.testing.assert_allclose(cq.metrics(forecasts).reported, expected, rtol=1e-9)
    with pytest.raises(ValueError, match="no such folder\n  give the one with a file for each network"):
        _outputs.load(tmp_path / "none")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ValueError, match="no file ends in"):
        _outputs.load(empty)


def test_the_example_of_own_networks_runs(tmp_path, monkeypatch):
    """The commands of papers/README.md, with fewer rows."""
    lines = (Path(papers.__file__).parent / "README.md").read_text(encoding="utf-8").splitlines()
    drawn = next(line for line in lines if line.startswith("veracity simulate cq-")).split()[1:]
    shown = next(line for line in lines if line.startswith("python -m papers CQ")).split()[3:]
    drawn[drawn.index("-n") + 1] = "300"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "outputs").mkdir()
    assert veracity_command(drawn) == 0
    monkeypatch.setattr(cq, "_simulated", lambda options: iter(()))  # the rest of the paper has its own tests
    monkeypatch.setattr(cq._readings, "section", lambda options: Section("Table 1"))
    monkeypatch.setattr(cq, "_bin_sensitivity", lambda options: Section("Table 1"))
    ran = CliRunner().invoke(main, shown)
    assert ran.exit_code == 0
    rows = (tmp_path / "pages" / "rows.csv").read_text()
    assert '"mine: robustness, reported / measured"' in rows
    assert '"mine, γ = 0"' in rows


def test_a_row_agrees_only_within_its_tolerance():
    assert printed("x", "0.734", 0.7344).verdict == AGREES
    assert printed("x", "0.734", 0.7346).verdict == DIFFERS
    assert printed("x", "0.734", 0.7346, "known").verdict == DOCUMENTED
    assert printed("x", "0.062", 0.0625).verdict == AGREES  # a tie may be printed either way
    assert printed("x", "84%", 0.8449).verdict == AGREES
    assert printed("x", "84%", 0.8451).verdict == DIFFERS
    assert printed("x", "-0.25", -0.2451).verdict == AGREES
    assert claim("x", "yes", False, "no").verdict == DIFFERS
    assert identity("x", 0.5, 0.5).verdict == IDENTITY
    assert identity("x", 0.5 + 1e-11, 0.5).verdict == DIFFERS
    assert identity("x", 0.5 + 1e-11, 0.5, 1e-10).tolerance == "1e-10"
    assert drawn("x", "0.5", np.linspace(0, 1, 300)).verdict == AGREES
    assert drawn("x", "0.9", np.linspace(0, 0.5, 300)).verdict == DIFFERS
