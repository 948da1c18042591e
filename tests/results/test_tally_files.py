"""A store of tallies: days and sites merge to the whole, and what leaves a site holds no row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import veracity as vc
from veracity.cli import run

PLANTED = 0.271828182845


def draw(n: int, seed: int, slope: float = 1.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    p = rng.beta(0.8, 1.6, n).clip(1e-6, 1 - 1e-6)
    return (rng.uniform(size=n) < 1 / (1 + np.exp(-slope * np.log(p / (1 - p))))).astype(int), p


def test_merged_days_are_assessed_as_the_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    days = [draw(300, seed) for seed in range(3)]
    for i, (y, p) in enumerate(days):
        pl.DataFrame({"died": y, "risk": p}).write_csv(tmp_path / f"{i}.csv")
        assert run(["assess", str(tmp_path / f"{i}.csv"), "--quiet", "--tally", str(tmp_path / f"{i}.tally")]) == 0
    assert run(["merge", str(tmp_path / "*.tally"), "-o", str(tmp_path / "month.tally")]) == 0
    month = str(tmp_path / "month.tally")
    assert run(["assess", month, "--json", str(tmp_path / "month.json"), "--quiet"]) == 0
    found = vc.Assessment.from_json((tmp_path / "month.json").read_text())
    whole = vc.assess(np.concatenate([y for y, _ in days]), np.concatenate([p for _, p in days]))
    assert found.n == 900
    assert found.verdict == whole.verdict
    assert found.verdict_detail.p == whole.verdict_detail.p
    assert float(found.scores.log_loss) == pytest.approx(float(whole.scores.log_loss), rel=1e-12)
    capsys.readouterr()
    assert run(["assess", month, "--label", "died"]) == 2
    assert "options of input have no effect" in capsys.readouterr().err
    assert run(["assess", month, "--floor", "0.1"]) == 2
    assert "the tally was counted with" in capsys.readouterr().err
    assert run(["compare", month, month]) == 2
    assert "cannot be compared" in capsys.readouterr().err
    assert run(["merge", month, str(tmp_path / "0.csv"), "-o", str(tmp_path / "x.tally")]) == 2
    assert "this is no tally" in capsys.readouterr().err
    assert run(["merge", month, "-o", month, "--force"]) == 2


def test_what_leaves_a_site_holds_no_row(tmp_path: Path) -> None:
    y, p = draw(2000, 1)
    p[7] = PLANTED
    f = vc.Forecasts.of(y, p, groups={"ward": np.where(p > 0.9, "secretward", "other")}, clusters=np.arange(2000) // 2)
    whole = vc.Tally.of(f)
    shared = whole.without_rows(at_least=10)
    data = shared.to_bytes()
    for exact in (np.float64(PLANTED).tobytes(), np.float32(PLANTED).tobytes(), str(PLANTED).encode(), b"secretward"):
        assert exact not in data
    assert np.float64(PLANTED).tobytes() in whole.to_bytes()
    assert not len(shared.analysis.rows)
    assert shared.lowest == ()
    assert shared.by_key is None
    assert min(int(h.all.min()) for h in shared.classwise) >= 10
    assert shared.sums is whole.sums


def test_merged_sites_have_the_sums_of_the_pooled_cases_and_their_verdict() -> None:
    sites = [draw(n, n, 0.75) for n in (40, 300, 5000)]
    merged = sum((vc.Tally.of(y, p).without_rows() for y, p in sites[1:]), vc.Tally.of(*sites[0]).without_rows())
    pooled = vc.Tally.of(np.concatenate([y for y, _ in sites]), np.concatenate([p for _, p in sites]))
    assert np.allclose(merged.sums.score, pooled.sums.score, rtol=1e-12)
    assert np.allclose(merged.sums.column, pooled.sums.column, rtol=1e-12)
    ours, rows = vc.assess(merged), vc.assess(pooled)
    assert ours.verdict == rows.verdict
    assert float(ours.scores.auc) == pytest.approx(float(rows.scores.auc), abs=0.002)


@pytest.mark.parametrize(
    ("tally", "message"),
    [
        (lambda: vc.Tally.of([0, 1], [0.2, 0.8]), "2 cases are fewer than the 10"),
        (lambda: vc.Tally.of([0, 1, 2] * 9, np.full((27, 3), 1 / 3)), "3 classes"),
        (lambda: vc.Tally.of([0, 1] * 9, [0.5] * 18, sample_weight=np.arange(1.0, 19.0)), "weighted"),
    ],
)
def test_a_tally_that_cannot_leave_is_refused(tally: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tally().without_rows(at_least=10)
