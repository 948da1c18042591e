"""Source probabilities that are given: their means, the divergence of the model, and the bins."""

from __future__ import annotations

import numpy as np
import pytest

import veracity as vc
from bench._truth import draw, stated, truth

R_OF = {"decisiveness": 1.0, "geometric_accuracy": 0.0, "robustness": -2.0 / 3.0}


def drawn(kind: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q = truth(kind, n, rng)
    return draw(q, rng), stated(q, "T", 1.5), q


@pytest.mark.parametrize("kind", ["bin", "k5"])
def test_source_means_are_those_of_the_given_probabilities_of_the_outcomes(kind: str) -> None:
    y, p, q = drawn(kind, 800, 1)
    a = vc.assess(y, p, ideal=q)
    realised = q[np.arange(len(y)), y]
    for name, r in R_OF.items():
        assert float(a.source.reading(name)) == pytest.approx(float(vc.generalized_mean(realised, r)), rel=1e-9)
        # model = source × divergence (N17 eq 9)
        assert float(a.source.reading(name) * a.source_divergence.reading(name)) == pytest.approx(
            float(a.reported.reading(name)), rel=1e-12
        )
    assert a.source.geometric_accuracy.low < a.source.geometric_accuracy < a.source.geometric_accuracy.high
    assert vc.Assessment.from_json(a.to_json()) == a


def test_bins_hold_the_mean_source_probability_of_their_entries() -> None:
    y, p, q = drawn("bin", 4000, 2)
    bins = vc.assess(y, p, ideal=q).bins
    for one in bins[2:-2]:
        inside = (p >= one.low) & (p < one.high)
        assert one.ideal == pytest.approx(q[inside].mean(), abs=1e-3)  # edges are shown rounded
        assert one.source == pytest.approx(one.ideal, abs=6 * np.sqrt(0.25 / inside.sum()))
    assert all(one.ideal is None for one in vc.assess(y, p).bins)


def test_model_versus_source_is_drawn_against_the_given_source() -> None:
    from veracity.plots import model_versus_source

    y, p, q = drawn("bin", 1000, 3)
    a = vc.assess(y, p, ideal=q)
    marks = {row["mean"]: row["source"] for row in model_versus_source.means(a)}
    assert marks["typical"] == pytest.approx(float(a.source.geometric_accuracy))
    assert "given probability" in str(model_versus_source.chart(a).to_dict())
    assert "given probability" not in str(model_versus_source.chart(vc.assess(y, p)).to_dict())


def test_without_source_probabilities_the_reason_is_given() -> None:
    y, p, _ = drawn("bin", 100, 4)
    a = vc.assess(y, p)
    assert not a.source.geometric_accuracy.known
    assert "no source probabilities were given" in str(a.source.geometric_accuracy.reason)
