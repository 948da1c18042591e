"""HB17: Brier and divergence scores as Bregman divergences, from the exact counts of its scenarios."""

from __future__ import annotations

import numpy as np
import pytest

from veracity.formulas.rules import rule

SIX = 5e-7  # half a unit of the sixth digit
COUNTS = {"A": (56, 139, 12, 14), "B": (7, 71, 27, 29), "C1": (6, 104, 28, 46), "C2": (3, 12, 14, 17)}


def rows(events: np.ndarray) -> np.ndarray:
    return np.stack([1 - events, events], -1)


class Scenario:
    """Cases out of total for the two forecast categories; C2x: outcomes of C2, forecasts of C1."""

    def __init__(self, name: str) -> None:
        a, n1, b, n2 = COUNTS[name[:2]]
        self.n = np.array([n1, n2])
        self.observed = rows(np.array([a / n1, b / n2]))
        self.forecast = Scenario("C1").observed if name == "C2x" else self.observed
        self.share = self.n / self.n.sum()
        self.prior = self.share @ self.observed

    def score(self, name: str) -> float:
        corner = rule(name).divergence(self.forecast[:, None], np.eye(2))
        return float(self.share @ (self.observed * corner).sum(1))

    def terms(self, name: str) -> tuple[float, float, float]:
        r = rule(name)
        return (
            float(r.entropy(self.prior)),
            float(self.share @ r.divergence(self.prior, self.observed)),
            float(self.share @ r.divergence(self.forecast, self.observed)),
        )


SCORES = {
    ("half_brier", "A"): (0.229759, 0.246914, 0.017155, 0.0),
    ("half_brier", "B"): (0.081719, 0.224400, 0.142681, 0.0),
    ("half_brier", "C1"): (0.110736, 0.175289, 0.064553, 0.0),
    ("half_brier", "C2"): (0.162779, 0.242568, 0.079789, 0.0),
    ("half_brier", "C2x"): (0.205137, 0.242568, 0.079789, 0.042359),
    ("log", "A"): (0.650000, 0.686962, 0.036961, 0.0),
    ("log", "B"): (0.301381, 0.641035, 0.339655, 0.0),
    ("log", "C1"): (0.358189, 0.535217, 0.177028, 0.0),
    ("log", "C2"): (0.505862, 0.678209, 0.172347, 0.0),
    ("log", "C2x"): (0.650263, 0.678209, 0.172347, 0.144401),
}


@pytest.mark.parametrize("case", SCORES, ids=str)
def test_eqs_1_2_4_scores_and_eqs_6_8_9_their_terms(case):
    name, scenario = case
    score, *terms = SCORES[case]
    assert Scenario(scenario).score(name) == pytest.approx(score, abs=SIX)
    assert Scenario(scenario).terms(name) == pytest.approx(terms, abs=SIX)
    uncertainty, resolution, reliability = Scenario(scenario).terms(name)
    assert Scenario(scenario).score(name) == pytest.approx(uncertainty - resolution + reliability, abs=1e-14)


def test_scores_quoted_for_scenario_a():
    assert Scenario("A").score("half_brier") == pytest.approx(0.230, abs=5e-4)
    assert Scenario("A").score("log") == pytest.approx(0.650, abs=5e-4)
    assert Scenario("A").score("log") == pytest.approx(0.650000262, abs=5e-10)
    assert Scenario("A").terms("log")[1] == pytest.approx(0.037, abs=5e-4)


@pytest.mark.parametrize(
    ("scenario", "resolutions", "entropies"),
    [
        ("A", (0.003525, 0.368936), (0.674161, 0.410116)),
        ("B", (0.158933, 0.782110), (0.321977, 0.250955)),
        ("C1", (0.107277, 0.334727), (0.220570, 0.669328)),
        ("C2", (0.232977, 0.129549), (0.562335, 0.465999)),
    ],
)
def test_eq_7_resolution_and_eq_12_entropy_per_category(scenario, resolutions, entropies):
    s = Scenario(scenario)
    assert rule("log").divergence(s.prior, s.observed) == pytest.approx(resolutions, abs=SIX)
    assert rule("log").entropy(s.observed) == pytest.approx(entropies, abs=SIX)
    # eq 13 has a spurious minus: the conditional entropy is the mean of the category entropies
    assert s.share @ rule("log").entropy(s.observed) == pytest.approx(s.score("log"), abs=1e-14)


def test_eq_7_reliability_per_category_of_c2_scored_with_c1():
    s = Scenario("C2x")
    assert rule("log").divergence(s.forecast, s.observed) == pytest.approx((0.195390, 0.108408), abs=SIX)


@pytest.mark.parametrize("f", [56 / 139, 6 / 7])
@pytest.mark.parametrize(("name", "g", "slope"), [
    ("half_brier", lambda x: x * x, lambda x: 2 * x),
    ("log", lambda x: sum(v * np.log(v) for v in (x, 1 - x) if v > 0), lambda x: np.log(x / (1 - x))),
])  # fmt: skip
def test_eq_3_scores_are_distances_from_the_tangent(name, g, slope, f):
    for o in (0, 1):
        direct = g(o) - g(f) - (o - f) * slope(f)
        assert rule(name).score([1 - f, f], o) == pytest.approx(direct, abs=1e-14)


@pytest.mark.parametrize(
    ("name", "f", "no_event", "event"),
    [
        # Fig 1 and 2 print .734, .356 and 1.945 from f rounded to .857 and .403; these are the exact fractions
        ("half_brier", 6 / 7, 0.734694, 0.020408),
        ("half_brier", 56 / 139, 0.162310, 0.356555),
        ("log", 6 / 7, 1.945910, 0.154151),
        ("log", 56 / 139, 0.515633, 0.909122),
    ],
)
def test_figures_1_and_2_divergences(name, f, no_event, event):
    assert rule(name).score([1 - f, f], [0, 1]) == pytest.approx((no_event, event), abs=SIX)


@pytest.mark.parametrize(
    ("name", "f", "printed"),
    [("half_brier", 0.857, (0.734, 0.020)), ("half_brier", 0.403, (0.162, 0.356)),
     ("log", 0.857, (1.945, 0.154)), ("log", 0.403, (0.516, 0.909))],
)  # fmt: skip
def test_figures_1_and_2_as_printed_from_rounded_forecasts(name, f, printed):
    assert rule(name).score([1 - f, f], [0, 1]) == pytest.approx(printed, abs=5e-4)
