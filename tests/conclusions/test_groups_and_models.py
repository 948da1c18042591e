"""What is said of groups and of several models: at which level, by which score, and only where a test says so."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veracity as vc
from veracity.cli import run
from veracity.estimate.calibration.verdict import ALPHA
from veracity.records.findings import Finding
from veracity.records.findings_of_input import MissingRows, ZeroProbability
from veracity.words import finding

FOUND = ("found", "slight")


def drawn(n: int, seed: int, power: float = 1.0) -> tuple[Any, Any]:
    """Outcomes, and forecasts that are over-confident by a power of their odds."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.98, n)
    y = (rng.random(n) < p).astype(int)
    return y, p**power / (p**power + (1.0 - p) ** power)


def flat(text: str) -> str:
    return " ".join(text.split())


def several(power: float = 1.35) -> tuple[Any, Any, Any]:
    """Five groups of 150 cases, of which one is over-confident."""
    parts = [drawn(150, 60 + i, power if i == 0 else 1.0) for i in range(5)]
    site = np.repeat(list("abcde"), 150)
    return np.concatenate([y for y, _ in parts]), np.concatenate([p for _, p in parts]), site


@pytest.fixture(scope="module")
def grouped() -> Any:
    y, p, site = several()
    return vc.assess(y, p, groups={"site": site})


def test_a_group_that_is_judged_with_others_shows_its_p_and_the_level_that_it_missed(grouped: Any) -> None:
    y, p, site = several()
    alone = vc.assess(y[site == "a"], p[site == "a"])
    group = grouped.groups["site"]
    own = group.levels["a"]
    assert alone.verdict == "over-confident"
    assert own.verdict == "no miscalibration found"
    assert group.alpha == ALPHA / 5
    assert own.p is not None
    assert group.alpha < own.p <= ALPHA
    assert own.p == alone.verdict_detail.p
    text = flat(str(grouped))
    assert "Each of the 5 groups is judged at 0.01 because there are several; alone, it would be at 0.05." in text
    assert re.search(rf"\ba 150 .* {own.p:.3f} no miscalibration found", text)


@pytest.mark.parametrize("power", [1.0, 1.3, 2.0])
def test_a_verdict_is_found_exactly_where_p_reaches_its_level(power: float) -> None:
    for seed in range(6):
        y, p = drawn(200, seed, power)
        detail = vc.assess(y, p).verdict_detail
        assert detail.p is not None
        assert (detail.state in FOUND) == (detail.p <= ALPHA)


def test_groups_of_one_verdict_name_no_level() -> None:
    y, p = drawn(200, 1)
    a = vc.assess(y, p, groups={"site": np.repeat("a", 200)})
    assert a.groups["site"].alpha == ALPHA
    assert "judged at" not in str(a)


def test_p_and_level_of_groups_are_in_the_document(grouped: Any) -> None:
    document = json.loads(grouped.to_json())["groups"]["site"]
    assert document["alpha"] == grouped.groups["site"].alpha
    assert document["levels"]["a"]["p"] == grouped.groups["site"].levels["a"].p
    back = vc.Assessment.from_json(grouped.to_json())
    assert back.groups["site"].levels["a"].p == grouped.groups["site"].levels["a"].p


def with_zeros(y: Any, p: Any, rows: list[int]) -> Any:
    held = p.copy()
    held[rows] = 1.0 - y[rows]
    return held


def test_groups_with_an_infinite_log_loss_have_a_brier_column() -> None:
    y, p = drawn(300, 3)
    site = np.repeat(["north", "south"], 150)
    assert "Brier" not in str(vc.assess(y, p, groups={"site": site})).partition("By site")[2].partition("\n\n")[0]
    a = vc.assess(y, with_zeros(y, p, [4]), groups={"site": site})
    table = str(a).partition("By site")[2].partition("\n\n")[0]
    assert "Brier" in table.partition("\n")[0]
    for name in ("north", "south"):
        assert f"{a.groups['site'].levels[name].scores.brier:.3f}" in table


def test_one_infinite_log_loss_ranks_all_models_by_brier_score_and_says_so() -> None:
    y, p = drawn(600, 4)
    models = {"ruled out": with_zeros(y, p, [4]), "half": 0.5 + 0.0 * p, "true": p}
    c = vc.compare(y, models)
    text = flat(str(c))
    assert "The ranking is by Brier score: " in text
    assert re.search(r"Best true beats half by 0\.\d+ \([^)]*\), and ties with ruled out \(Brier score\)\.", text)
    assert "Lowest Brier score first." in text
    head = next(line for line in str(c).splitlines() if line.startswith("Model "))
    assert head.split()[1] == "Brier"


def test_groups_of_a_comparison_with_infinite_log_losses_differ_by_brier_score() -> None:
    y, p = drawn(600, 4)
    site = np.repeat(["north", "south"], 300)
    models = {"ruled out": with_zeros(y, p, [4]), "half": 0.5 + 0.0 * p}
    c = vc.compare(y, models, groups={"site": site})
    (south,) = c.record.groups["site"]["south"]
    (wanted,) = vc.compare(y[300:], {name: held[300:] for name, held in models.items()}).differences("brier")
    assert c.record.group_rule == "brier"
    assert south.value == pytest.approx(wanted.value, abs=1e-12)
    (north,) = c.record.groups["site"]["north"]
    assert np.isfinite(north.value)
    assert "Brier" in str(c).partition("By site")[2].partition("\n")[0]


# -- several models in one assessment ---------------------------------------------------------------------------------


def test_an_assessment_of_several_models_calls_none_the_best_without_a_test(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    y, p = drawn(200, 7)
    monkeypatch.chdir(tmp_path)
    noisy = np.clip(p + np.random.default_rng(1).normal(0.0, 0.02, 200), 0.01, 0.99)
    lines = ["y,p_one,p_two", *(f"{o},{a:.6f},{b:.6f}" for o, a, b in zip(y, p, noisy, strict=True))]
    Path("models.csv").write_text("\n".join(lines) + "\n")
    assert run(["assess", "models.csv"]) == 0
    out = capsys.readouterr().out
    assert "Best" not in out
    assert "✓" not in out.partition("Model ")[0]
    assert re.search(r"! Lowest log loss +p_\w+ has 0\.\d+ \(.*\), next is p_\w+ with 0\.\d+", out)
    assert "`compare` tests whether that is more than chance" in flat(out)
    command = next(line.strip() for line in out.splitlines() if line.strip().startswith("veracity compare"))
    assert run(command.split()[1:]) == 0
    assert "Tie" in capsys.readouterr().out


def test_models_with_different_cases_are_not_ranked_and_the_reason_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    y, p = drawn(400, 8)
    monkeypatch.chdir(tmp_path)
    who = ["many"] * 300 + ["some"] * 98 + ["lucky"] * 2
    p[-2:] = np.where(y[-2:] == 1, 0.99, 0.01)
    lines = ["y,p,model", *(f"{o},{x:.6f},{m}" for o, x, m in zip(y, p, who, strict=True))]
    Path("people.csv").write_text("\n".join(lines) + "\n")
    assert run(["assess", "people.csv", "--model", "model"]) == 0
    out = capsys.readouterr().out
    assert "Best" not in out
    assert "Lowest" not in out
    reason = "The models have different cases (2 to 300), and a lower loss may come from easier ones."
    assert f"! No ranking {reason}" in flat(out)
    table = out.partition("\nModel ")[2]
    assert table.index("many") < table.index("some") < table.index("lucky")
    assert table.partition("\n")[0].split()[0] == "cases"


def test_as_many_cases_with_other_outcomes_are_different_cases(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    y, p = drawn(400, 9)
    lines = [
        "y,p,model",
        *(f"{o},{x:.6f},{'one' if i < 200 else 'two'}" for i, (o, x) in enumerate(zip(y, p, strict=True))),
    ]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(lines) + "\n")
    assert run(["assess", str(path), "--model", "model"]) == 0
    assert "! No ranking The models have different cases (200 each)" in flat(capsys.readouterr().out)


# -- few cases decide -------------------------------------------------------------------------------------------------


def pair(seed: int, noise: float, n: int = 400) -> Any:
    """Two models that miss the truth by equal noise: a pure tie."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(0.0, 1.5, n)
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-logit))).astype(int)
    models = {name: 1.0 / (1.0 + np.exp(-(logit + rng.normal(0.0, noise, n)))) for name in ("a", "b")}
    return vc.compare(y, models)


def test_few_cases_decide_nothing_in_a_tie() -> None:
    texts = [str(pair(seed, 0.5)) for seed in range(25)]
    assert sum("Tie" in text for text in texts) >= 20
    assert [text for text in texts if "Tie" in text and "Few cases decide" in text] == []


def test_few_cases_that_decide_a_difference_are_named() -> None:
    y, p = drawn(400, 9)
    q = p.copy()
    q[:8] = np.where(y[:8] == 1, 1e-6, 1.0 - 1e-6)
    c = vc.compare(y, {"careful": p, "rash": q})
    (d,) = c.differences("log")
    assert d.p_adjusted is not None
    assert d.p_adjusted < 0.05
    assert re.search(r"Few cases decide +4 of 400 cases make up half of the difference", str(c))


# -- who would be ahead once recalibrated -----------------------------------------------------------------------------


def rash_and_blurred(seed: int, noise: tuple[float, float], n: int = 1000) -> Any:
    """A model that states 2.5 times the log-odds that it sees, and a calibrated one; they see them with noise."""
    rng = np.random.default_rng([88, seed])
    z = 1.5 * rng.standard_normal(n)
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-z))).astype(int)
    rash, blurred = (z + size * rng.standard_normal(n) for size in noise)
    return vc.compare(y, {"blurred": 1.0 / (1.0 + np.exp(-blurred)), "rash": 1.0 / (1.0 + np.exp(-2.5 * rash))})


def test_a_model_that_knows_more_and_states_it_badly_is_named_with_its_fix_and_the_numbers_of_the_document() -> None:
    c = rash_and_blurred(0, (0.3, 1.0))
    (refinement,) = c.record.components["RL"]
    assert (refinement.a, refinement.b) == ("blurred", "rash")
    size = f"{refinement.value:.3f} ({refinement.low:.3f}–{refinement.high:.3f})"
    text = flat(str(c))
    assert f"→ Once recalibrated rash would be ahead of blurred by {size} in log loss" in text
    assert "vc.calibrate" in text.partition("Once recalibrated")[2]


def test_a_model_that_knows_as_much_is_not_said_to_be_ahead_once_recalibrated() -> None:
    texts = [flat(str(rash_and_blurred(seed, (0.7, 0.7)))) for seed in range(25)]
    assert sum("Once recalibrated" in text for text in texts) <= 3  # 5 % is 1.25 of 25


# -- rows of findings -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [MissingRows, ZeroProbability])
def test_a_finding_names_its_rows_whatever_its_message_says(kind: type[Finding]) -> None:
    made = kind(3, 9, (2, 5, 7))
    assert finding(made) == f"{made.message} (rows 2, 5, 7)."


def test_rows_that_are_left_out_are_named_on_the_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    y, p = drawn(60, 2)
    lines = ["y,p", *(f"{o}," if i in (11, 30) else f"{o},{x:.6f}" for i, (o, x) in enumerate(zip(y, p, strict=True)))]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines) + "\n")
    assert run(["assess", str(path), "--missing", "drop"]) == 0
    said = re.search(
        r"2 of 60 rows have missing values and are left out \(rows (\d+), (\d+)\)", flat(capsys.readouterr().out)
    )
    assert said is not None
    assert int(said[2]) - int(said[1]) == 19
