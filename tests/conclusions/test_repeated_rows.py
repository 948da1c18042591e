"""Rows that seem to repeat: equal forecasts become clusters, and without ties there is no verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

import veracity as vc
from veracity import show
from veracity.cli import run
from veracity.estimate.calibration.repeated_rows import repeated_rows
from veracity.inputs import prepare
from veracity.read import ReadOptions, read
from veracity.records.verdict import Reason
from veracity.words.verdict import why_not

Copies = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]


def copies(k: int = 2, jitter: float = 0.0, seed: int = 4, times: int = 5, cases: int = 200) -> Copies:
    """Outcomes and calibrated forecasts of cases that are there several times, and the case of each row."""
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.ones(k), cases)
    y = (rng.random((cases, 1)) > q.cumsum(axis=1)).sum(axis=1)
    i = rng.permutation(np.repeat(np.arange(cases), times))
    p = q[i] * np.exp(jitter * rng.standard_normal((len(i), k)))
    return y[i], p / p.sum(axis=1, keepdims=True), i


def codes(a: vc.Assessment) -> list[str]:
    return [f.code for f in a.findings]


@pytest.mark.parametrize("k", [2, 4])
def test_copies_with_equal_forecasts_are_clusters(k: int) -> None:
    y, p, case = copies(k)
    found, named, alone = vc.assess(y, p), vc.assess(y, p, clusters=case), vc.assess(*copies(k, times=1)[:2])
    assert "repeated_forecasts" in codes(found)
    assert "repeated_forecasts" not in codes(named)
    assert "repeated_forecasts" not in codes(alone)
    assert found.verdict == named.verdict
    assert found.verdict_detail.p == pytest.approx(named.verdict_detail.p, abs=0.02)  # other signs
    for name in ("low", "high"):
        assert getattr(found.scores.log_loss, name) == pytest.approx(getattr(named.scores.log_loss, name), rel=1e-9)
    assert [r.map for r in found.remedies] == [r.map for r in named.remedies]
    text = show.to_terminal(found, 100)
    assert text.count("seem to repeat") == 1


@pytest.mark.parametrize("k", [2, 4])
def test_nearly_equal_copies_have_no_verdict_and_no_fix(k: int) -> None:
    y, p, case = copies(k, jitter=0.005)
    group = {"g": np.arange(len(y)) % 3}
    found = vc.assess(y, p, groups=group)
    assert found.verdict == "not measurable"
    assert found.verdict_detail.reason is Reason.REPEATED_ROWS
    assert found.remedies == ()
    assert found.losses("log").CL.reason == why_not(Reason.REPEATED_ROWS)
    assert {level.verdict for level in found.groups["g"].levels.values()} == {"not measurable"}
    assert found.groups["g"].differ is None
    text = show.to_terminal(found, 100)
    assert "✓ Nothing to fix" not in text
    assert "✓ No miscalibration" not in text
    assert vc.assess(y, p, clusters=case).verdict != "not measurable"  # the remedy


def test_the_command_names_its_own_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    y, p, case = copies(jitter=0.005)
    path = tmp_path / "x.csv"
    path.write_text("case,y,p\n" + "".join(f"{c},{a},{b:.8f}\n" for c, a, b in zip(case, y, p[:, 1], strict=True)))
    assert run(["assess", str(path)]) == 0
    assert "name the case of each row with --cluster" in " ".join(capsys.readouterr().out.split())
    assert run(["assess", str(path), "--cluster", "case"]) == 0
    assert "seem to repeat" not in capsys.readouterr().out


@pytest.mark.parametrize("k", [2, 4])
def test_neither_order_nor_parts_nor_counts_change_what_is_found(k: int) -> None:
    y, p, _ = copies(k)
    whole = repeated_rows(vc.Tally.of(y, p))
    assert whole is not None
    i = np.random.default_rng(1).permutation(len(y))
    assert repeated_rows(vc.Tally.of(y[i], p[i])) == whole
    parts = [vc.Tally.of(y[j], p[j], labels=range(k)) for j in np.array_split(i, 4)]
    assert repeated_rows(parts[3] + parts[1] + parts[0] + parts[2]) == whole
    y, p, _ = copies(k, times=1)
    assert repeated_rows(vc.Tally.of(prepare(y, p, counts=np.full(len(y), 5)))) == whole  # counts are rows


@pytest.mark.parametrize("given", ["time", "clusters"])
def test_nothing_is_looked_for_where_the_cases_are_known(given: str) -> None:
    y, p, case = copies()
    more: dict[str, Any] = {given: case}
    assert repeated_rows(vc.Tally.of(prepare(y, p, **more))) is None


@pytest.mark.parametrize(
    "p",
    [np.full(300, 0.5), np.round(np.linspace(0.0, 1.0, 300), 1), (np.arange(300) % 2).astype(float), np.ones(300)],
)
def test_constant_coarse_and_certain_forecasts_raise_no_alarm(p: NDArray[np.float64]) -> None:
    y = (np.random.default_rng(2).random(300) < p).astype(int)
    assert repeated_rows(vc.Tally.of(y, p, labels=[0, 1])) is None


@pytest.mark.shared
def test_a_network_that_is_wrong_in_whole_regions_does_not_look_repeated(shared):
    held = read(shared / "cifar_netcal/lenet-5-cifar-100.parquet", ReadOptions())
    assert repeated_rows(vc.Tally.of(next(iter(held.values())))) is None


@pytest.mark.parametrize("load", [load_digits, load_breast_cancer])
def test_naive_bayes_of_different_cases_does_not_look_repeated_and_its_copies_do(load):
    x, y = load(return_X_y=True)
    p = cross_val_predict(GaussianNB(), x, y, cv=5, method="predict_proba")
    assert repeated_rows(vc.Tally.of(y, p)) is None
    some = np.repeat(np.random.default_rng(0).permutation(len(y))[:200], 5)
    assert repeated_rows(vc.Tally.of(y[some], p[some], labels=range(p.shape[1]))) is not None
