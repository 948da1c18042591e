"""RP (2.6): the generalized mean at any r, reported, expected and measured, beside plain NumPy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import veracity as vc
from veracity.cli import run

ANY = (-3.7, -1.5, -1.0, -0.5, -1e-3, 0.0, 0.25, 0.7, 1.9, 6.0)


def draw(n: int = 700, k: int = 3, seed: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.7), n)
    return np.array([rng.choice(k, p=row) for row in p]), p


def plain(p: np.ndarray, r: float, w: np.ndarray | None = None) -> float:
    w = np.ones(len(p)) if w is None else w
    return float(np.exp(np.average(np.log(p), weights=w)) if r == 0 else np.average(p**r, weights=w) ** (1 / r))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [2, 3, 12])
def test_reported_means_at_any_r_are_those_of_numpy(k: int, weighted: bool) -> None:
    y, p = draw(k=k)
    w = np.random.default_rng(1).gamma(2.0, size=len(y)) if weighted else None
    a = vc.assess(y, p, sample_weight=w, labels=range(k))
    for r in ANY:
        assert float(a.reported_at(r)) == pytest.approx(plain(p[np.arange(len(y)), y], r, w), rel=1e-9)
    for name, r in (("decisiveness", 1.0), ("geometric_accuracy", 0.0), ("robustness", -2 / 3)):
        same, named = a.reported_at(r), a.reported.reading(name)
        assert (same, same.low, same.high, same.method) == (named, named.low, named.high, named.method)


def test_reported_means_at_any_r_respect_the_floor() -> None:
    y, p = draw()
    a = vc.assess(y, p, floor=0.05)
    realised = np.maximum(p[np.arange(len(y)), y], 0.05)
    for r in ANY:
        assert float(a.reported_at(r)) == pytest.approx(plain(realised, r), rel=1e-9)


def test_expected_means_at_any_r_are_those_of_numpy() -> None:
    y, p = draw()
    a = vc.assess(y, p)
    for r in (-0.9, -0.3, 0.0, 0.4, 2.5):
        powers = (p ** (1 + r)).sum(axis=1).mean()
        wanted = np.exp((p * np.log(p)).sum(axis=1).mean()) if r == 0 else powers ** (1 / r)
        # each cell of the histogram of all entries counts with its mean
        assert float(a.expected_at(r)) == pytest.approx(wanted, rel=1e-7)


def test_intervals_beyond_the_grid_join_those_on_it() -> None:
    y, p = draw(3000)
    a = vc.assess(y, p)
    for r in (-1 / 3, 1 / 3, 14 / 9):
        on, off = a.reported_at(r), a.reported_at(r + 1e-7)
        assert off.low == pytest.approx(on.low, abs=1e-5)
        assert off.high == pytest.approx(on.high, abs=1e-5)


def test_an_outcome_of_probability_0_makes_means_below_0_nothing() -> None:
    a = vc.assess([0, 1, 1, 0] * 10, [0.2, 0.0, 0.9, 0.4] * 10)
    assert float(a.reported_at(-0.5)) == 0.0
    assert a.reported_at(-0.5).reason
    assert float(a.reported_at(0.5)) == pytest.approx(plain(np.array([0.8, 0.0, 0.9, 0.6]), 0.5), rel=1e-9)


def test_documents_hold_the_means_at_the_r_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    y, p = draw(k=2)
    path, out, page = tmp_path / "f.csv", tmp_path / "a.json", tmp_path / "a.html"
    path.write_text("y,p\n" + "".join(f"{a},{b}\n" for a, b in zip(y, p[:, 1], strict=True)))
    command = ["assess", str(path), "--r", "-0.5", "--r", "-3", "--json", str(out), "--report", str(page)]
    assert run(command) == 0
    found = json.loads(out.read_text())
    realised = np.where(y == 1, p[:, 1], 1 - p[:, 1])
    assert found["means_at"]["-0.5"]["reported"]["value"] == pytest.approx(plain(realised, -0.5), rel=1e-9)
    assert found["means_at"]["-3.0"]["reported"]["value"] == pytest.approx(plain(realised, -3), rel=1e-9)
    assert found["means_at"]["-3.0"]["measured"]["value"] is None
    assert set(found["losses"]) == {"log", "brier", "-0.5"}  # no score is proper at −3
    assert "Means at other r" in page.read_text()
    a = vc.assess(y, p[:, 1], r=(-0.5, -3))
    assert a.means_at["-0.5"].measured == a.measured_at(-0.5)
    assert vc.Assessment.from_json(a.to_json()) == a
    assert run(["assess", str(path), "--r", "-0.5"]) == 0
    text = capsys.readouterr().out
    assert "Mean at" in text
    assert "r = −0.5" in text or "r = -0.5" in text


@pytest.mark.parametrize("r", [np.inf, np.nan, "high"])
def test_an_r_that_is_no_number_is_refused(r: object) -> None:
    y, p = draw()
    a = vc.assess(y, p)
    for mean in (a.reported_at, a.expected_at, a.measured_at):
        with pytest.raises(ValueError, match=r"is not finite|is not a number"):
            mean(r)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"r: 25; means and scores are computed from -20 to 20"):
        vc.assess(y, p, r=25)


def test_given_source_probabilities_have_their_means_in_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    y, p = draw(k=2)
    path = tmp_path / "f.csv"
    rows = zip(y, p[:, 1], p[:, 1] ** 1.1, strict=True)
    path.write_text("y,p,q\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    assert run(["assess", str(path), "--label", "y", "--positive-proba", "p", "--ideal", "q"]) == 0
    lines = capsys.readouterr().out.splitlines()
    head = next(line for line in lines if "it gave" in line and "it expected" in line)
    assert "source" in head
