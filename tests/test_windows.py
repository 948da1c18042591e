"""Windows of time: readings of each, and a test of drift."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import veracity as vc
from veracity.cli import run

Floats = NDArray[np.float64]


def example(n: int = 360, late: float = 1.0, seed: int = 3) -> tuple[NDArray[np.int64], Floats, NDArray[np.datetime64]]:
    """Daily forecasts; in the second half they are sharpened."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(n)
    y = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)
    day = np.datetime64("2024-01-01") + np.arange(n)
    return y, 1 / (1 + np.exp(-z * np.where(np.arange(n) < n // 2, 1.0, late))), day


def loss(y: NDArray[np.int64], p: Floats) -> Floats:
    found: Floats = -np.log(np.where(y == 1, p, 1 - p))
    return found


@pytest.mark.parametrize(
    ("window", "starts"),
    [
        ("90d", ["2024-01-01", "2024-03-31", "2024-06-29", "2024-09-27"]),
        ("6m", ["2024-01-01", "2024-07-01"]),
        ("100", ["2024-01-01", "2024-04-10", "2024-07-19", "2024-10-27"]),
    ],
)
def test_windows_hold_the_scores_of_their_rows(window: str, starts: list[str]) -> None:
    y, p, day = example()
    order = np.random.default_rng(1).permutation(len(y))
    a = vc.assess(y[order], p[order], time=day[order], window=window)
    assert [w.start for w in a.windows] == starts
    assert sum(w.n for w in a.windows) == len(y)
    for w in a.windows:
        inside = (day >= np.datetime64(w.start)) & (day <= np.datetime64(w.end))
        assert w.n == inside.sum()
        assert float(w.log_loss) == pytest.approx(loss(y, p)[inside].mean(), rel=1e-12)
        assert w.accuracy is not None
        assert float(w.accuracy) == pytest.approx(((p > 0.5) == y)[inside].mean(), rel=1e-12)
        assert w.log_loss.low is not None
    back = vc.Assessment.from_json(a.to_json())
    assert back.windows == a.windows
    assert back.drift == a.drift


def test_drift_is_found_and_its_absence_too() -> None:
    y, p, day = example(late=6.0)
    found = vc.assess(y, p, time=day).drift
    assert found is not None
    assert found.p is not None
    assert found.calibration_p is not None
    assert found.p < 0.05
    assert found.calibration_p < 0.01
    y, p, day = example()
    none = vc.assess(y, p, time=day).drift
    assert none is not None
    assert none.p is not None
    assert none.p > 0.05
    assert vc.assess(y, p).drift is None


def test_windows_are_the_same_in_parts() -> None:
    y, p, day = example()
    whole = vc.assess(vc.Tally.of(vc.Forecasts.of(y, p, time=day), window="60d"))
    parts = [vc.Tally.of(vc.Forecasts.of(y[i::4], p[i::4], time=day[i::4]), window="60d") for i in range(4)]
    total = vc.assess(parts[3] + parts[0] + parts[2] + parts[1])
    for one, other in zip(total.windows, whole.windows, strict=True):
        assert (one.start, one.end, one.n) == (other.start, other.end, other.n)
        assert (one.log_loss, one.log_loss.low) == pytest.approx((other.log_loss, other.log_loss.low), rel=1e-10)


def test_command_prints_windows_and_drift(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    y, p, day = example(late=6.0)
    path = tmp_path / "x.csv"
    path.write_text("day,y,p\n" + "".join(f"{d},{a},{b:.6f}\n" for d, a, b in zip(day, y, p, strict=True)))
    assert run(["assess", str(path), "--time", "day", "--window", "3m"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "! Drift" in out
    assert "calibration drifts (p < 0.001)" in out
    assert "In time to cases log loss" in out
    assert "2024-10-01 2024-12-25" in out
    assert run(["assess", str(path), "--time", "day", "--window", "3m", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [w["start"] for w in document["windows"]] == ["2024-01-01", "2024-04-01", "2024-07-01", "2024-10-01"]
    assert document["drift"]["p"] < 0.05


def test_bad_windows_are_refused() -> None:
    y, p, day = example(60)
    with pytest.raises(ValueError, match="window: '3w' is none of 30d"):
        vc.assess(y, p, time=day, window="3w")
    with pytest.raises(ValueError, match="window 30d has no effect without time\n  add time=, or leave it out"):
        vc.assess(y, p, window="30d")
    with pytest.raises(ValueError, match="the times are numbers, not dates\n  give a number of cases"):
        vc.assess(y, p, time=np.arange(60), window="30d").windows  # noqa: B018
