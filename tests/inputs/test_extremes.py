"""Numbers whose powers and squares leave the range of floats: told or counted, never warned of."""

from __future__ import annotations

import numpy as np
import pytest

from veracity import Forecasts, assess


@pytest.mark.parametrize(("k", "tiny"), [(2, 1e-200), (60, 1e-310), (60, 1e-320)])
def test_tiny_probabilities_of_the_outcome_stay_finite(k: int, tiny: float) -> None:
    """Warnings are errors here."""
    p = np.full((30, k), tiny)
    p[:, 0] = 1.0
    made = assess(np.arange(30) % k, p)
    made.document()
    wrong = np.count_nonzero(np.arange(30) % k)
    assert float(made.scores.reading("log_loss")) == pytest.approx(-np.log(tiny) * wrong / 30, rel=1e-12)


@pytest.mark.parametrize("factor", [1e-90, 1e90])
def test_only_ratios_of_weights_count(factor: float) -> None:
    rng = np.random.default_rng(1)
    p, w = rng.random(300), rng.gamma(2.0, 1.0, 300)
    y = (rng.random(300) < p).astype(int)
    plain, scaled = (assess(y, p, sample_weight=weights).scores.reading("log_loss") for weights in (w, w * factor))
    for mine, yours in zip(
        (float(scaled), scaled.low, scaled.high), (float(plain), plain.low, plain.high), strict=True
    ):
        assert mine == pytest.approx(yours, rel=1e-12)


@pytest.mark.parametrize(
    ("largest", "word"), [(1e-160, "small"), (5e-324, "small"), (1e155, "large"), (1e308, "large")]
)
def test_weights_whose_squares_are_no_numbers(largest: float, word: str) -> None:
    """Those below had given other measured means and no interval, those above an OverflowError."""
    with pytest.raises(ValueError, match=rf"sample_weight\[1\] = .*: the largest; its square is too {word}") as problem:
        Forecasts.of([0, 1, 1], [0.2, 0.7, 0.9], sample_weight=[0.0, largest, largest / 2])
    assert "multiply all weights by one factor" in str(problem.value)


def test_a_sum_at_the_very_limit_is_refused_in_the_same_words() -> None:
    """The kernels add in another order than NumPy: on the last bit one may refuse what the other would take."""
    rng = np.random.default_rng(2)
    told = set()
    for _ in range(300):
        p = rng.dirichlet(np.ones(50), 3)
        p[1, 49] += 1.0 + 1e-6 - p[1].sum()
        try:
            assess([0, 1, 2], p)
        except ValueError as problem:
            told.add(str(problem).split(" (first: row 1, sum 1.00000")[0])
    assert told == {"1 of 3 rows do not sum to one"}
