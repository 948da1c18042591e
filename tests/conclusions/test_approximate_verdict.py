"""Clusters with few expected events are tested approximately, and the page says so."""

from __future__ import annotations

import numpy as np
import pytest

import veracity as vc
from bench.verdict import anything, by_cluster, verdict_of
from veracity import show
from veracity.words.verdict import APPROXIMATE


def rare(cases: int, rate: float, clustered: bool = True) -> vc.Assessment:
    """Calibrated forecasts of a rare event in clusters of five."""
    rng = np.random.default_rng(7)
    p = rate * rng.uniform(0.5, 1.5, cases)
    y = (rng.random(cases) < p).astype(int)
    return vc.assess(y, p, clusters=np.arange(cases) // 5 if clustered else None)


@pytest.mark.parametrize(
    ("cases", "rate", "clustered", "said"),
    [(1000, 0.05, True, True), (1000, 0.3, True, False), (1000, 0.05, False, False)],
)
def test_few_events_in_clusters_are_said_to_be_approximate(
    cases: int, rate: float, clustered: bool, said: bool
) -> None:
    found = rare(cases, rate, clustered)
    assert found.verdict_detail.approximate is said
    assert ("approximate" in found.verdict_detail.method) is said
    assert (APPROXIMATE in " ".join(show.to_terminal(found, 100).split())) is said
    assert (APPROXIMATE in show.to_html(found)) is said
    assert vc.Assessment.from_json(found.to_json()).verdict_detail.approximate is said


def test_calibrated_forecasts_of_rare_events_in_clusters_are_seldom_called_wrong() -> None:
    make = by_cluster("rare", 50)  # 20 events in 40 clusters: 6.2 % of 1,000 draws, 13.8 % by signs of clusters alone
    wrong = sum(anything(verdict_of(made), made) for seed in range(100) if (made := make(np.random.default_rng(seed))))
    assert wrong <= 9


def test_few_events_in_clusters_have_one_verdict_in_any_order_under_any_names_and_in_parts() -> None:
    rng = np.random.default_rng(3)
    made = by_cluster("rare", 50)(rng)
    y, p, cluster = made["y"], made["p"], made["clusters"]
    order, named = rng.permutation(len(y)), rng.permutation(40)[cluster]
    whole = vc.assess(y, p, clusters=cluster)
    other = vc.assess(y[order], p[order], clusters=np.array([f"c{i}" for i in named])[order])
    halves = [
        vc.Tally.of(vc.Forecasts.of(y[part], p[part], clusters=cluster[part], labels=[0, 1]))
        for part in (slice(0, 900), slice(900, None))
    ]
    parts = vc.assess(halves[0] + halves[1])
    assert whole.verdict_detail.approximate
    for one in (other, parts):
        assert one.verdict_detail.p == whole.verdict_detail.p
        assert one.advice.advice == whole.advice.advice
        assert one.measured.geometric_accuracy == pytest.approx(whole.measured.geometric_accuracy, abs=1e-12)
