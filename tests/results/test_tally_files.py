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
        (lambda: vc.Tally.of([0] * 30 + [1] * 3, [0.5] * 33), "1 happened in 3 cases, fewer than the 10"),
        (lambda: vc.Tally.of([0, 1, 2] * 9, np.full((27, 3), 1 / 3)), "0 happened in 9 cases"),
        (lambda: vc.Tally.of([0, 1] * 9, [0.5] * 18, sample_weight=np.arange(1.0, 19.0)), "weighted"),
    ],
)
def test_a_tally_that_cannot_leave_is_refused(tally: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tally().without_rows(at_least=10)


def three_classes(n: int, seed: int, slope: float = 1.0, level: float = 0.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.gumbel(0.0, 1.5, (n, 3))
    truth, stated = np.exp(x), np.exp(slope * x + level * np.array([1.0, 0.0, 0.0]))
    cumulated = (truth / truth.sum(axis=1, keepdims=True)).cumsum(axis=1)
    y = (cumulated < rng.uniform(size=(n, 1))).sum(axis=1).clip(max=2)
    return y, stated / stated.sum(axis=1, keepdims=True)


def test_more_classes_leave_a_site_with_scores_level_and_confidence_and_no_row(tmp_path: Path) -> None:
    y, p = three_classes(1500, 1, 1.5)
    p[5] = [PLANTED, 0.5, 0.5 - PLANTED]
    whole, other = vc.Tally.of(y, p), vc.Tally.of(*three_classes(4000, 2, 1.5))
    shared = whole.without_rows(at_least=10)
    for exact in (np.float64(PLANTED).tobytes(), np.float32(PLANTED).tobytes(), str(PLANTED).encode()):
        assert exact not in shared.to_bytes()
    assert np.float64(PLANTED).tobytes() in whole.to_bytes()
    assert min(int(h.all.min()) for h in (shared.pooled, shared.top, *shared.classwise)) >= 10
    merged = vc.Tally.from_bytes((shared + other).to_bytes())  # rows of one site would be no sample of both
    assert not len(merged.analysis.rows)
    ours, rows = vc.assess(merged), vc.assess(whole + other)
    assert float(ours.scores.log_loss) == pytest.approx(float(rows.scores.log_loss), rel=1e-12)
    assert float(ours.reported.decisiveness) == pytest.approx(float(rows.reported.decisiveness), rel=1e-12)
    assert ours.verdict == rows.verdict == "over-confident"
    assert "joint verdict and recalibration need rows" in ours.to_markdown()
    assert vc.Assessment.from_json(ours.to_json()).to_markdown() == ours.to_markdown()
    ours.report(tmp_path / "page.html")


def test_level_and_confidence_from_cells_are_seldom_wrong_and_find_what_is() -> None:
    def verdicts(slope: float, level: float, draws: int) -> list[Any]:
        sites = [vc.Tally.of(*three_classes(1000, seed, slope, level)).without_rows() for seed in range(draws)]
        return [vc.assess(site).verdict_detail for site in sites]

    assert sum(v.state == "found" for v in verdicts(1.0, 0.0, 40)) <= 6  # 5 % of 40, and three standard errors
    assert all("0" in v.level.classes and v.word.endswith("biased") for v in verdicts(1.0, 0.8, 3))
    assert all(v.confidence.direction == "under-confident" for v in verdicts(0.5, 0.0, 3))


def test_tallies_that_hold_the_same_cases_by_id_are_compared_as_their_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    y, p = draw(600, 3)
    q = np.clip(0.5 * p + 0.2, 0.01, 0.99)
    ids, order = np.array([f"case {i}" for i in range(600)]), np.random.default_rng(0).permutation(600)[:500]
    files = {"good": (ids, y, p), "weak": (ids[order], y[order], q[order])}
    for name, (case, died, risk) in files.items():
        pl.DataFrame({"case": case, "died": died, "risk": risk}).write_csv(tmp_path / f"{name}.csv")
        given = [str(tmp_path / f"{name}.csv"), "--id", "case", "--quiet", "--tally", str(tmp_path / f"{name}.tally")]
        assert run(["assess", *given]) == 0
    good, weak = (str(tmp_path / f"{name}.tally") for name in files)
    assert run(["compare", good, weak, "--json", str(tmp_path / "tallies.json"), "--quiet"]) == 0
    csv = [str(tmp_path / f"{name}.csv") for name in files]
    assert run(["compare", *csv, "--id", "case", "--json", str(tmp_path / "files.json"), "--quiet"]) == 0
    ours, theirs = (vc.Comparison.from_json((tmp_path / f"{n}.json").read_text()) for n in ("tallies", "files"))
    assert ours.record.cases == theirs.record.cases == 500
    for rule in ("log", "brier", "accuracy"):
        mine, known = ours.differences(rule)[0], theirs.differences(rule)[0]
        assert (mine.value, mine.low, mine.p) == pytest.approx((known.value, known.low, known.p), rel=1e-12)
    assert [ours[m].verdict for m in files] == [theirs[m].verdict for m in files]
    read = {name: vc.Tally.from_bytes(Path(path).read_bytes()) for name, path in (("good", good), ("weak", weak))}
    assert vc.compare(read).differences("log")[0].value == pytest.approx(ours.differences("log")[0].value, rel=1e-12)
    assert run(["assess", csv[0], "--quiet", "--tally", str(tmp_path / "plain.tally")]) == 0
    capsys.readouterr()
    assert run(["compare", good, str(tmp_path / "plain.tally")]) == 2
    assert "holds no cases by id" in capsys.readouterr().err
    assert run(["compare", good, weak, "--id", "case"]) == 2
    assert "options of input have no effect" in capsys.readouterr().err
    assert run(["compare", good]) == 2
    assert "needs two tallies" in capsys.readouterr().err
    assert run(["compare", good, csv[1]]) == 2
    assert "this is no tally" in capsys.readouterr().err
    swapped = vc.Tally.of(vc.Forecasts.of(1 - y, p, case=ids))
    with pytest.raises(ValueError, match="different outcomes"):
        vc.compare({"good": read["good"], "swapped": swapped})
    strangers = vc.Tally.of(vc.Forecasts.of(y, p, case=np.char.add("no ", ids)))
    with pytest.raises(ValueError, match="no case is in all 2 tallies"):
        vc.compare({"good": read["good"], "strangers": strangers})
    twice = vc.Tally.of(vc.Forecasts.of(y, p, case=ids[np.arange(600) // 2]))
    with pytest.raises(ValueError, match="600 cases have 300 ids"):
        vc.compare({"good": read["good"], "twice": twice})


def test_a_tally_is_merged_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.tally").write_bytes(vc.Tally.of([0, 1, 1], [0.2, 0.7, 0.9]).to_bytes())
    assert run(["merge", str(tmp_path / "*.tally"), "-o", str(tmp_path / "whole.tally")]) == 2
    assert "b.tally holds the same cases as" in capsys.readouterr().err
    assert not (tmp_path / "whole.tally").exists()


def test_a_ring_holds_the_last_tallies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    days = [vc.Tally.of(*draw(200, seed)) for seed in range(5)]
    ring, out = tmp_path / "week.ring", tmp_path / "week.tally"

    def add(i: int, last: str = "3") -> int:
        (tmp_path / f"{i}.tally").write_bytes(days[i].to_bytes())
        given = ["--ring", str(ring), "--last", last, "-o", str(out), "--force"]
        return run(["merge", str(tmp_path / f"{i}.tally"), *given])

    for i in range(5):
        assert add(i) == 0
        window = days[max(i - 2, 0) : i + 1]
        assert vc.Tally.from_bytes(out.read_bytes()) == sum(window[1:], window[0])
    before = ring.read_bytes()
    assert add(4) == 2
    assert "is in the ring already" in capsys.readouterr().err
    assert run(["merge", str(tmp_path / "0.tally"), "--ring", str(ring), "-o", str(out), "--force"]) == 2
    assert "go together" in capsys.readouterr().err
    assert ring.read_bytes() == before
    ring.write_bytes(before[:-7])
    assert add(0) == 2
    assert "the ring is damaged" in capsys.readouterr().err
    ring.write_bytes(b"something else")
    assert add(0) == 2
    assert "no ring of tallies" in capsys.readouterr().err
