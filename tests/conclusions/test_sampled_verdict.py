"""Where a sample is tested, the counts on screen are those of all cases, and the sample is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import veracity as vc
from veracity.records.verdict import Range
from veracity.words.verdict import sentences

Floats = NDArray[np.float64]


def cautious(n: int, k: int, seed: int = 5) -> tuple[Any, Floats]:
    """Outcomes of many classes and forecasts of them that are too cautious."""
    rng = np.random.default_rng(seed)
    z = 0.5 * rng.gumbel(size=(n, k))
    z[np.arange(n), rng.integers(0, k, n)] += rng.choice([6.0, 14.0], n)
    q = np.exp(z)
    q /= q.sum(axis=1, keepdims=True)
    y = (rng.random(n)[:, None] > q.cumsum(axis=1)[:, :-1]).sum(axis=1)
    p = q**0.8
    return y, p / p.sum(axis=1, keepdims=True)


def counted(p: Floats, y: Any, where: Range) -> tuple[int, float, int]:
    inside = (p >= where.low) & ((p < where.high) | (where.high == 1.0))
    return int(inside.sum()), float(p[inside].sum()), int(inside[np.arange(len(y)), y].sum())


def test_counts_of_a_thousand_classes_are_those_of_all_cases_and_the_sample_is_named() -> None:
    y, p = cautious(3000, 1000)
    a = vc.assess(y, p)
    detail = a.verdict_detail
    where = detail.confidence.where
    assert where is not None
    number, expected, events = counted(p, y, where)
    assert (where.count, where.events) == (number, events)
    assert where.expected == pytest.approx(expected, rel=1e-9)
    assert (where.predicted, where.observed) == pytest.approx((expected / number, events / number), rel=1e-9)
    assert f"where {number - expected:.0f} were expected" in str(sentences(detail)[0])
    assert detail.tested == 1000
    assert "a sample of 1,000 of 3,000 cases" in detail.method
    assert "The tests used 1,000 of 3,000 cases." in " ".join(str(a).split())
    assert a.document()["verdict_detail"]["tested"] == 1000


def test_the_same_counts_come_from_cells_where_not_every_row_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    import veracity.state.analysis_rows as held

    y, p = cautious(1500, 60)
    monkeypatch.setattr(held, "MOST_ROWS", 1 << 9)
    a = vc.assess(y, p)
    where, detail = a.verdict_detail.confidence.where, a.verdict_detail
    assert not a.tally.complete
    assert where is not None
    assert detail.tested is not None
    assert detail.tested <= 512
    number, expected, events = counted(p, y, where)
    assert (where.count, where.events) == (number, events)
    assert where.expected == pytest.approx(expected, rel=1e-9)
    means = np.exp([(p * np.log(p)).sum(axis=1).mean(), np.log(p[np.arange(len(y)), y]).mean()])
    assert (detail.confidence.expected, detail.confidence.realised) == pytest.approx(means, rel=1e-5)


def test_classes_of_a_sample_are_named_with_their_shares_in_all_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    import veracity.estimate.calibration.verdict_of_tally as conclusion

    rng = np.random.default_rng(2)
    q = rng.dirichlet([2.0, 1.0, 1.0], 4000)
    y = (rng.random(4000)[:, None] > q.cumsum(axis=1)[:, :-1]).sum(axis=1)
    p = q * [2.0, 1.0, 1.0]
    p /= p.sum(axis=1, keepdims=True)
    monkeypatch.setattr(conclusion, "MOST_ROWS", 1000)
    detail = vc.assess(y, p).verdict_detail
    assert detail.tested == 1000
    assert "0" in detail.level.classes
    for name, one in detail.level.classes.items():
        assert one.predicted == pytest.approx(p[:, int(name)].mean(), rel=1e-9)
        assert one.observed == pytest.approx((y == int(name)).mean(), rel=1e-9)


def test_what_would_show_is_said_of_the_cases_that_were_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    import veracity.estimate.calibration.verdict_of_tally as conclusion

    rng = np.random.default_rng(3)
    q = rng.dirichlet(np.ones(3), 4000)
    y = (rng.random(4000)[:, None] > q.cumsum(axis=1)[:, :-1]).sum(axis=1)
    monkeypatch.setattr(conclusion, "MOST_ROWS", 300)
    detail = vc.assess(y, q).verdict_detail
    assert detail.state == "none found"
    assert "With 300 cases" in str(sentences(detail)[0])
    assert str(sentences(detail)[-1]) == "The tests used 300 of 4,000 cases."


def test_nothing_is_said_of_a_sample_where_every_case_is_tested() -> None:
    y, p = cautious(400, 20)
    detail = vc.assess(y, p).verdict_detail
    assert detail.tested is None
    assert not any("tests used" in str(said) for said in sentences(detail))
    assert "tested" not in vc.assess(y, p).document()["verdict_detail"]
