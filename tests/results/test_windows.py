"""Windows of time: readings of each, and a test of drift."""

from __future__ import annotations

import json
import re
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
    y, p, day = example(n=900, late=6.0)
    found = vc.assess(y, p, time=day).drift
    assert found is not None
    assert found.slope.p is not None
    assert found.slope.p < 0.005
    assert found.p == pytest.approx(2 * found.slope.p)  # Holm of two
    y, p, day = example()
    none = vc.assess(y, p, time=day).drift
    assert none is not None
    assert none.p is not None
    assert none.p > 0.05
    assert vc.assess(y, p).drift is None


def test_harder_times_are_no_drift_of_calibration() -> None:
    """The log loss of calibrated forecasts changes with their difficulty: that is in the windows, not in the test."""
    rng = np.random.default_rng(8)
    z = rng.standard_normal(1200) * np.linspace(0.2, 3.0, 1200)
    y = (rng.random(1200) < 1 / (1 + np.exp(-z))).astype(int)
    a = vc.assess(y, 1 / (1 + np.exp(-z)), time=np.arange(1200), window=300)
    assert a.windows[0].log_loss > 1.5 * a.windows[-1].log_loss
    assert a.drift is not None
    assert a.drift.p is not None
    assert a.drift.p > 0.05


def test_windows_show_predicted_and_observed() -> None:
    y, p, day = example()
    weight = np.random.default_rng(2).random(len(y)) + 0.1
    for w in vc.assess(y, p, time=day, window="90d", sample_weight=weight).windows:
        inside = (day >= np.datetime64(w.start)) & (day <= np.datetime64(w.end))
        own = weight[inside] / weight[inside].sum()
        assert w.predicted == pytest.approx(own @ p[inside], rel=1e-12)
        assert w.observed == pytest.approx(own @ y[inside], rel=1e-12)
        assert w.ratio == pytest.approx(w.predicted / w.observed)
        spread = np.sqrt(own**2 @ (p * (1 - p))[inside])
        assert w.z == pytest.approx((own @ (y - p)[inside]) / spread, rel=1e-9)


def test_windows_of_more_classes_show_the_typical_probability() -> None:
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.ones(3), 300)
    y = (rng.random((300, 1)) > p.cumsum(axis=1)).sum(axis=1)
    logs = np.log(p)
    for i, w in enumerate(vc.assess(y, p, time=np.arange(300), window=100).windows):
        part = slice(100 * i, 100 * i + 100)
        entropy, gave = -(p * logs).sum(axis=1)[part], logs[np.arange(300), y][part]
        assert w.predicted == pytest.approx(np.exp(-entropy.mean()), rel=1e-12)
        assert w.observed == pytest.approx(np.exp(gave.mean()), rel=1e-12)
        variance = ((p * logs**2).sum(axis=1)[part] - entropy**2).sum()
        assert w.z == pytest.approx((gave + entropy).sum() / np.sqrt(variance), rel=1e-9)


@pytest.mark.parametrize(("times", "reason"), [(1, "1 different time: too few"), (19, "19 different times: too few")])
def test_too_few_times_are_not_tested(times: int, reason: str) -> None:
    y, p, _ = example(200)
    found = vc.assess(y, p, time=np.arange(200) % times).drift
    assert found is not None
    assert found.p is None
    assert (found.reason or "").startswith(reason)


def test_windows_are_the_same_in_parts() -> None:
    y, p, day = example()
    whole = vc.assess(vc.Tally.of(vc.Forecasts.of(y, p, time=day), window="60d"))
    parts = [vc.Tally.of(vc.Forecasts.of(y[i::4], p[i::4], time=day[i::4]), window="60d") for i in range(4)]
    total = vc.assess(parts[3] + parts[0] + parts[2] + parts[1])
    for one, other in zip(total.windows, whole.windows, strict=True):
        assert (one.start, one.end, one.n) == (other.start, other.end, other.n)
        assert (one.log_loss, one.log_loss.low) == pytest.approx((other.log_loss, other.log_loss.low), rel=1e-10)
        assert (one.predicted, one.observed, one.z) == pytest.approx(
            (other.predicted, other.observed, other.z), rel=1e-9
        )
    assert total.drift is not None
    assert whole.drift is not None
    assert (total.drift.level.p, total.drift.slope.p) == pytest.approx(
        (whole.drift.level.p, whole.drift.slope.p), rel=1e-6
    )


def test_command_prints_windows_and_drift(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A level that rises from too low to too high replaces the tick, with what was predicted and observed."""
    rng = np.random.default_rng(3)
    z, day = rng.standard_normal(360), np.datetime64("2024-01-01") + np.arange(360)
    y = (rng.random(360) < 1 / (1 + np.exp(-z - np.linspace(-1.2, 1.2, 360)))).astype(int)
    path = tmp_path / "x.csv"
    path.write_text(
        "day,y,p\n" + "".join(f"{d},{a},{1 / (1 + np.exp(-b)):.6f}\n" for d, a, b in zip(day, y, z, strict=True))
    )
    assert run(["assess", str(path), "--time", "day", "--window", "3m"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    said = re.search(
        r"! Calibrated on average But not over time \(predicted (\d+) %, observed (\d+) % from 2024-01-01 on; "
        r"predicted (\d+) %, observed (\d+) % from 2024-10-01 on\)",
        out,
    )
    assert said is not None
    assert int(said[1]) > int(said[2]) + 5
    assert int(said[3]) < int(said[4]) - 5
    assert "✓ No miscalibration" not in out
    assert "Nothing to fix" not in out
    assert "Calibration changes over time (p = 0.002; level p = 0.001" in out
    assert "In time to cases predicted observed" in out
    assert "2024-10-01 2024-12-25" in out
    assert run(["assess", str(path), "--time", "day", "--window", "3m", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [w["start"] for w in document["windows"]] == ["2024-01-01", "2024-04-01", "2024-07-01", "2024-10-01"]
    assert document["drift"]["level"]["p"] < 0.005
    assert f"{100 * document['windows'][0]['observed']:.0f}" == said[2]  # the sentence says what the document holds


def test_bad_windows_are_refused() -> None:
    y, p, day = example(60)
    with pytest.raises(ValueError, match="window: '3w' is none of 30d"):
        vc.assess(y, p, time=day, window="3w")
    with pytest.raises(ValueError, match="window 30d has no effect without time\n  add time=, or leave it out"):
        vc.assess(y, p, window="30d")
    with pytest.raises(ValueError, match="the times are numbers, not dates\n  give a number of cases"):
        vc.assess(y, p, time=np.arange(60), window="30d").windows  # noqa: B018
