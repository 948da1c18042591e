"""N17 reproduced: exact values of the one-dimensional examples, and the ten-dimensional experiment."""

import numpy as np
import pytest

import veracity as vc
from papers import Options, n17
from papers._experiment import DIMENSIONS, ceiling, experiment
from papers._population import Population
from papers._rows import tally, uncovered
from veracity.simulate import EXAMPLES, simulate

SOURCE = (0.687288, 0.614452, 0.541814)  # decisiveness, geometric accuracy, robustness of every kappa = 0.5 source
GAUSSIAN_SOURCE = (0.775200, 0.700251, 0.592879)


def test_matched_model_equals_its_source():
    p = Population(EXAMPLES["matched"][1])
    np.testing.assert_allclose(p.model, SOURCE, atol=5e-7)
    np.testing.assert_allclose(p.true, SOURCE, atol=5e-7)
    assert p.calibrated[1] == pytest.approx(0.614436, abs=5e-7)
    assert p.pooled[1] == pytest.approx(0.614436, abs=5e-7)
    assert p.classified == pytest.approx(0.788675, abs=5e-7)
    assert p.area(p.case.source) == pytest.approx(0.841648, abs=5e-7)
    assert p.area(p.case.model) == pytest.approx(0.841648, abs=5e-7)


def test_model_without_tail_is_over_confident():
    p = Population(EXAMPLES["tail-0"][1])
    np.testing.assert_allclose(p.model, (0.734392, 0.546804, 0.255884), atol=5e-7)
    assert p.calibrated[1] == pytest.approx(0.612145, abs=5e-7)
    assert p.pooled[1] == pytest.approx(0.612145, abs=5e-7)
    assert p.model[1] / p.true[1] == pytest.approx(0.889904, abs=5e-7)
    assert p.model[1] / p.calibrated[1] == pytest.approx(0.893258, abs=5e-7)
    assert p.slope(p.true) == pytest.approx(3.289, abs=5e-4)
    assert p.slope(p.calibrated) == pytest.approx(3.316, abs=5e-4)
    assert p.classified == pytest.approx(0.788675, abs=5e-7)
    assert p.area(p.case.source) == pytest.approx(0.825254, abs=5e-7)
    assert p.area(p.case.model) == pytest.approx(0.921350, abs=5e-7)


def test_figure_7_roundings_and_their_neighbours():
    plotted = Population(EXAMPLES["tail-0"][1], low=-7.0, high=9.0)
    assert plotted.model[1] == pytest.approx(0.557110, abs=5e-7)
    assert plotted.true[1] == pytest.approx(0.616183, abs=5e-7)
    assert plotted.model[1] / plotted.true[1] == pytest.approx(0.904130, abs=5e-7)
    for limit, value in ((0.005, 0.533), (0.02, 0.563)):
        assert Population(EXAMPLES["tail-0"][1], limit).model[1] == pytest.approx(value, abs=5e-4)
    assert n17._unlimited(EXAMPLES["tail-0"][1]) == pytest.approx(0.409572, abs=5e-7)


def test_other_cases_as_theory_quotes_them():
    orange = Population(EXAMPLES["tail-0-orange"][1])
    assert orange.model[1] == pytest.approx(0.543, abs=5e-4)
    assert orange.calibrated[1] == pytest.approx(0.599, abs=6e-4)
    assert orange.model[1] / orange.true[1] == pytest.approx(0.884, abs=5e-4)
    assert orange.model[1] / orange.calibrated[1] == pytest.approx(0.906, abs=5e-4)
    mean = Population(EXAMPLES["mean-1"][1])
    assert (mean.calibrated[1], mean.pooled[1]) == (pytest.approx(0.605, abs=5e-4), pytest.approx(0.595, abs=5e-4))
    assert mean.model[1] / mean.pooled[1] == pytest.approx(0.977, abs=5e-4)
    assert mean.model[1] / mean.true[1] == pytest.approx(0.946, abs=5e-4)
    amplitude = Population(EXAMPLES["amplitude-2"][1])
    assert amplitude.slope(amplitude.true) == pytest.approx(1.21, abs=5e-3)
    assert (amplitude.model < amplitude.true).all()


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_every_error_lowers_the_geometric_accuracy_and_turns_the_slope(name):
    p = Population(EXAMPLES[name][1])
    source = GAUSSIAN_SOURCE if name.startswith("tail-0.5") else SOURCE
    np.testing.assert_allclose(p.true, source, atol=5e-7)
    if name == "matched":
        return
    assert p.model[1] < p.calibrated[1] < p.true[1]  # binning sees calibration only
    under = name in ("mean-1", "variance-2", "tail-0.5", "tail-0.5-orange")
    assert (p.slope(p.true) < 1) == under


@pytest.mark.parametrize("name", ["matched", "mean-3", "tail-0"])
def test_simulation_meets_the_population(name):
    model, source, _ = n17.histogram(simulate(f"n17-{name}", 40_000, seed=1))
    p = Population(EXAMPLES[name][1])
    np.testing.assert_allclose(model, p.model, atol=0.01)  # 4 standard errors at 40,000 rows
    np.testing.assert_allclose(source, p.calibrated, atol=0.01)


def test_histogram_is_the_preset_of_assess():
    f = simulate("n17-tail-0", 3000, seed=6)
    a = vc.assess(f, preset="N17")
    model, _, _ = n17.histogram(f)
    reported = [float(getattr(a.reported, name)) for name in ("decisiveness", "geometric_accuracy", "robustness")]
    np.testing.assert_allclose(model, reported, atol=1e-9)


def test_ceiling_with_known_parameters():
    exact = {
        2: (0.760250, 0.675057, 0.611524, 0.545004),
        4: (0.841345, 0.775200, 0.700251, 0.592879),
        6: (0.889664, 0.840163, 0.770097, 0.640651),
        8: (0.921350, 0.884491, 0.824420, 0.686607),
        10: (0.943077, 0.915603, 0.866284, 0.729616),
    }
    for d, values in exact.items():
        np.testing.assert_allclose(ceiling(d), values, atol=5e-7)


# Means over 500 draws; None: the theory does not list it. Columns: d = 2, 4, 6, 8, 10.
THEORY = {
    ("A", "gaussian", "picks"): (0.743, 0.803, 0.830, 0.844, 0.846),
    ("A", "gaussian", "decisiveness"): (0.671, 0.758, 0.804, 0.828, 0.837),
    ("A", "gaussian", "accuracy"): (0.581, 0.615, 0.600, 0.555, 0.460),
    ("A", "heavy", "picks"): (0.744, 0.804, 0.832, 0.846, 0.849),
    ("A", "heavy", "accuracy"): (0.589, 0.640, 0.663, 0.672, 0.662),
    ("A", "compact", "picks"): (0.721, 0.753, 0.742, 0.709, 0.662),
    ("A", "compact", "decisiveness"): (0.674, 0.728, 0.730, 0.704, 0.660),
    ("B", "gaussian", "picks"): (0.740, 0.803, 0.839, 0.857, 0.868),
    ("B", "gaussian", "accuracy"): (0.575, 0.618, 0.630, 0.609, 0.564),
    ("B", "heavy", "accuracy"): (0.583, 0.638, 0.674, 0.691, 0.701),
    ("B", "compact", "picks"): (0.715, 0.743, 0.731, 0.692, 0.644),
}
ROBUST = {  # medians
    ("A", "heavy"): (0.519, 0.490, 0.416, 0.323, 0.220),
    ("B", "heavy"): (0.522, 0.512, 0.473, 0.417, 0.362),
    ("A", "gaussian"): (0.471, 0.247, 0.015, 0.0, 0.0),
    ("B", "gaussian"): (0.493, 0.404, 0.198, 0.041, 0.001),
}


@pytest.mark.slow
@pytest.mark.parametrize("reading", ["A", "B"])
def test_ten_dimensions_over_200_draws(reading):
    e = experiment(reading, 200)
    for (which, tail, name), values in THEORY.items():
        if which != reading:
            continue
        for d, value in zip(DIMENSIONS, values, strict=True):
            draws = e.mean_of(tail, d, name)
            # 3 standard errors of ours and of the theory's 500 draws, and its rounding
            error = 3 * draws.std(ddof=1) * np.sqrt(1 / 200 + 1 / 500) + 5e-4
            assert draws.mean() == pytest.approx(value, abs=error), (tail, name, d)
    for (which, tail), values in ROBUST.items():
        if which != reading:
            continue
        for d, value in zip(DIMENSIONS, values, strict=True):
            draws = e.mean_of(tail, d, "robustness")
            # the standard error of a median is 1.253 that of a mean where draws are near normal
            error = 3 * 1.253 * draws.std(ddof=1) * np.sqrt(1 / 200 + 1 / 500) + 5e-4
            assert np.median(draws) == pytest.approx(value, abs=error), (tail, d)
    for d in DIMENSIONS:  # probability 0 is reported for something that happened
        assert (e.mean_of("compact", d, "accuracy") == 0).all()


@pytest.mark.slow
def test_all_rows_agree_or_are_documented():
    sections = list(n17.sections(Options(quick=True)))
    assert tally(sections)["differs"] == 0
    titles = [s.title for s in sections]
    for figure in ("Figure 1", "Figure 2", "Figure 3", "Figure 4", "Figure 5a", "Figure 5b", "Figure 6a", "Figure 7"):
        assert figure in titles
    assert n17.NOT_REPRODUCED == {}
    assert uncovered(n17.NUMBERED, sections) == []
    documented = {row.item for s in sections for row in s.rows if row.verdict == "documented"}
    assert documented == {
        "(10) spread of the log-probabilities",
        "(11) m = 2κ/(1+dκ)",
        "(12) Rényi entropy",
        "(17) contribution of a bin",
        "(a) geometric accuracy is largest at 6 dimensions",
        "(c) κ of the compact model",
        "caption: variance 2.0",
        "over-confidence raises the arithmetic mean",
        "P_div is always below 1",
    }
