"""N17 section 4: source probabilities by nearest forecasts and by a kernel, beside plain NumPy and SciPy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import logit

import veracity as vc
from bench import curves as bench
from veracity.cli import run
from veracity.estimate.means import curves
from veracity.estimate.means.by_curve import Sources
from veracity.inputs import Forecasts
from veracity.state.tally import Tally

POWERS = {"decisiveness": 1.0, "geometric_accuracy": 0.0, "robustness": -2.0 / 3.0}


def sample(n: int = 300, weighted: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Forecasts, outcomes and weights; every second forecast is one of forty values."""
    rng = np.random.default_rng(5)
    p = np.where(np.arange(n) % 2, rng.beta(0.7, 1.1, n), rng.integers(1, 40, n) / 40)
    y = (rng.random(n) < p**1.3).astype(int)
    return p, y, rng.gamma(2.0, size=n) if weighted else np.ones(n)


def tally(p: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> Tally:
    return Tally.of(Forecasts(np.column_stack([1.0 - p, p]), y, (0, 1), weights))


def by_hand(weights_of: Any, u: np.ndarray, true: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, dict[str, float]]:
    """The curve at every entry, and its three corrected means; `weights_of(i)` has one weight for each entry."""
    k = np.array([weights_of(i) for i in range(len(u))])
    total = k @ w
    c = np.where(k @ (w * true) > 0, k @ (w * true) / total, 0.0)
    own, spread = np.diag(k) * w / total, (k**2) @ w**2 / total**2
    share, inside = w * true / (w * true).sum(), true > 0
    c_true, odds = np.where(inside, c, 1.0), np.where(inside, (1 - c) / np.where(c > 0, c, 1.0), 0.0)
    means = {}
    for name, r in POWERS.items():
        excess = odds * (own + (r - 1) / 2 * spread)
        if r:
            means[name] = (share @ (c_true**r - r * c_true**r * excess)) ** (1 / r)
        else:
            means[name] = np.exp(share @ (np.log(c_true) - excess))
    return c, means


def of_cells(p: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Log odds of the mean entry of every cell of the grid, for each entry."""
    cells = Tally.of(Forecasts(np.column_stack([1.0 - p, p]), np.arange(len(p)) % 2, (0, 1))).grid.locate(p)
    return logit(np.bincount(cells, w * p)[cells] / np.bincount(cells, w)[cells])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["knn", "kernel"])
def test_smooth_curves_and_their_means_are_those_of_plain_numpy(name: str, weighted: bool) -> None:
    p, y, w = sample(weighted=weighted)
    t = tally(p, y, w if weighted else None)
    h, x = t.classwise[1], of_cells(p, w)
    distance = np.abs(x[:, None] - x)

    def neighbours(i: int) -> np.ndarray:
        radius = np.sort(distance[i])[24]
        near, at = distance[i] < radius - 1e-9, np.abs(distance[i] - radius) < 1e-9
        return near + at * (25 - near.sum()) / at.sum()

    ours = curves.fit(name, h, t.grid, **({"neighbours": 25} if name == "knn" else {"bandwidth": 0.6}))
    kernel = np.maximum(1 - (distance / 0.6) ** 2, 0.0)
    c, means = by_hand(neighbours if name == "knn" else kernel.__getitem__, x, y, w)
    np.testing.assert_allclose(ours.source[ours.locate(p)], c, atol=1e-9)
    found = dict(zip(POWERS, ours.corrected(np.array(list(POWERS.values()))), strict=True))
    assert found == pytest.approx(means, rel=1e-9)


def test_the_default_bandwidth_is_silvermans_of_log_odds() -> None:
    from veracity.estimate.means.curves._smooth import Entries
    from veracity.estimate.means.curves.kernel import default_bandwidth

    p, y, w = sample(1000)
    t, x = tally(p, y), of_cells(p, w)
    ends = np.quantile(x, [0.25, 0.75], method="inverted_cdf")
    expected = 2.34 * min(x.std(), (ends[1] - ends[0]) / 1.34) * 1000**-0.2
    assert default_bandwidth(Entries.of(t.classwise[1], t.grid)) == pytest.approx(expected, rel=1e-9)


def test_all_forecasts_as_neighbours_give_the_frequency_of_the_class() -> None:
    p, y, _ = sample()
    t = tally(p, y)
    found = curves.fit("knn", t.classwise[1], t.grid, neighbours=300)
    np.testing.assert_allclose(found.source, y.mean(), rtol=1e-12)


def test_forecasts_of_0_and_1_are_near_to_nothing_else() -> None:
    p = np.array([0.0] * 5 + [0.5] * 4 + [1.0] * 5)
    y = np.array([0] * 5 + [1, 0, 0, 0] + [1] * 5)
    found = curves.fit("kernel", tally(p, y).classwise[1], tally(p, y).grid)
    np.testing.assert_allclose(found.source, [0.0, 0.25, 1.0])


@pytest.mark.parametrize("name", list(curves.CURVES))
def test_both_sides_of_every_class_are_in_the_document(name: str) -> None:
    rng = np.random.default_rng(3)
    p = rng.dirichlet([0.6, 0.8, 1.2], 600)
    y = np.array([rng.choice(3, p=row) for row in p])
    a = vc.assess(y, p, curve=name)
    found = a.papers.curve
    assert found is not None
    assert found.curve == name
    means = a.papers.by_curve(name, per_class=True)
    for mean, r in POWERS.items():
        assert found.measured.reading(mean) == means[mean]
        assert found.measured.reading(mean).low is None
        assert float(found.divergence.reading(mean)) == pytest.approx(float(a.reported.reading(mean)) / means[mean])
        for j, (label, one) in enumerate(a.papers.classes.items()):
            assert one.n == (y == j).sum()
            assert one.model.number(mean) == pytest.approx(float(vc.generalized_mean(p[y == j, j], r)), rel=1e-9)
            assert one.source.number(mean) == means["classes"][label][mean]
    assert all(0.0 <= point.source <= 1.0 for points in found.points.values() for point in points)
    some = next(one for one in a.bins if one.true > 5)
    assert some.source_robustness <= some.source_geometric_accuracy <= some.source_decisiveness
    assert vc.Assessment.from_json(a.to_json()) == a


def test_the_headline_does_not_change_with_the_curve() -> None:
    p, y, _ = sample()
    plain, asked = vc.assess(y, p), vc.assess(y, p, curve="knn", neighbours=40)
    assert plain.measured == asked.measured
    assert plain.papers.curve is None
    assert asked.papers.curve is not None
    assert asked.papers.curve.neighbours == 40


def test_width_under_the_preset_of_n17_has_hundredths() -> None:
    p, y, _ = sample(2000)
    a = vc.assess(y, p, curve="width", preset="N17")
    u = np.clip(np.where(y == 1, p, 1 - p), 0.01, 0.99)
    source = []
    for label in (0, 1):
        q = np.clip(p if label else 1 - p, 0.01, 0.99)
        # 0.01 and 0.99 are bins by themselves
        k = np.where(q == 0.01, -1, np.where(q == 0.99, 200, np.floor(np.round(q * 100, 9)))).astype(int) + 1
        c = np.bincount(k, y == label) / np.maximum(np.bincount(k), 1)
        m = np.bincount(k)
        c_true, size = c[k[y == label]], m[k[y == label]]
        source.append(np.log(c_true) - (1 - c_true) / c_true / 2 / size)
    expected = float(np.exp(np.concatenate(source).mean()))
    assert a.papers.curve is not None
    assert float(a.papers.curve.measured.geometric_accuracy) == pytest.approx(expected, rel=1e-9)
    assert float(a.reported.geometric_accuracy) == pytest.approx(float(np.exp(np.log(u).mean())), rel=1e-9)


def test_bias_and_error_of_the_curves_are_those_of_the_table() -> None:
    """bench/curves.py in short: 12 draws of 1,000 cases; the table has 200."""
    rows = {one["curve"]: one for one in bench.table(12, (1000,), {"over": bench.SOURCES["over"]})}
    for name in ("bins", "knn", "kernel"):
        assert abs(rows[name]["bias"]) < 3 * rows[name]["rmse"] / np.sqrt(12) + 0.002
        assert rows[name]["on the same outcomes"] < 0.005
    assert rows["isotonic"]["bias"] > 0.005  # fitted and read on the same cases


def test_command_line_has_the_curve(tmp_path: Path) -> None:
    p, y, _ = sample()
    path = tmp_path / "f.csv"
    path.write_text("y,p\n" + "".join(f"{a},{b}\n" for a, b in zip(y, p, strict=True)))
    out = tmp_path / "a.json"
    assert run(["assess", str(path), "--curve", "knn", "--neighbours", "30", "--json", str(out), "--quiet"]) == 0
    found = json.loads(out.read_text())["papers"]
    expected = vc.assess(y, p, curve="knn", neighbours=30).papers.by_curve("knn", per_class=True, neighbours=30)
    assert found["curve"]["measured"]["robustness"]["value"] == pytest.approx(expected["robustness"], rel=1e-12)
    assert set(found["classes"]) == {"0", "1"}


def test_bad_neighbours_are_refused_with_a_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    p, y, _ = sample()
    with pytest.raises(ValueError, match=r"neighbours 301: there are only 300 cases\n  give a smaller number"):
        vc.assess(y, p, curve="knn", neighbours=301)
    with pytest.raises(ValueError, match="neighbours: 5 has no effect without curve knn; leave it out"):
        vc.assess(y, p, curve="bins", neighbours=5)
    with pytest.raises(ValueError, match="neighbours: 0 is not a whole number from 1"):
        vc.assess(y, p, curve="knn", neighbours=0)
    with pytest.raises(ValueError, match="curve: 'spline' is not one of 'bins', 'isotonic', 'kernel', 'knn', 'width'"):
        vc.assess(y, p, curve="spline")
    with pytest.raises(ValueError, match="neighbours: 400, but there are 300 cases"):
        vc.assess(y, p).papers.by_curve("knn", neighbours=400)
    path = tmp_path / "f.csv"
    path.write_text("y,p\n" + "".join(f"{a},{b}\n" for a, b in zip(y, p, strict=True)))
    assert run(["assess", str(path), "--curve", "knn", "--neighbours", "301", "--quiet"]) == 2
    assert "--neighbours 301: there are only 300 cases\n  give a smaller number" in capsys.readouterr().err
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("logprob\n" + "".join(f"{np.log(x):.4f}\n" for x in p))
    assert run(["assess", str(tokens), "--curve", "knn", "--quiet"]) == 2
    assert "--curve knn has no effect without classes\n  leave it out" in capsys.readouterr().err


def test_more_than_fifty_classes_share_one_curve() -> None:
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(60, 0.3), 400)
    y = np.array([rng.choice(60, p=row) for row in p])
    a = vc.assess(y, p, labels=range(60), curve="knn")
    assert a.papers.curve is not None
    assert list(a.papers.curve.points) == [""]
    assert a.papers.classes == {}
    assert Sources(a.tally, "knn", per_class=False).overall == pytest.approx(
        [float(a.papers.curve.measured.reading(name)) for name in POWERS]
    )
