"""`veracity monitor`: one sentence, exit codes, and a state file that continues."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from veracity.cli import run

Frame = pl.DataFrame
Captured = pytest.CaptureFixture[str]


def log(
    path: Path, start: str, days: int, level: float = 0.0, since: str = "2100-01-01", seed: int = 0
) -> pl.DataFrame:
    rng, time = np.random.default_rng(seed), np.datetime64(start) + np.arange(days).repeat(60)
    p = rng.beta(0.8, 1.6, len(time)).clip(1e-6, 1 - 1e-6)
    x = np.log(p / (1 - p)) + level * (time >= np.datetime64(since))
    y = (rng.uniform(size=len(x)) < 1 / (1 + np.exp(-x))).astype(int)
    frame = pl.DataFrame({"date": time, "died": y, "risk": p})
    frame.write_csv(path)
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("monitor")
    log(folder / "reference.csv", "2026-01-01", 40)
    whole = log(folder / "log.csv", "2026-03-02", 24, -1.2, "2026-03-13", seed=2)
    for i, part in enumerate(whole.partition_by("date", maintain_order=True)):
        part.write_csv(folder / f"day{i:02}.csv")
    return folder


def watch(folder: Path, file: str, *options: str) -> int:
    return run(["monitor", str(folder / file), "--time", "date", *options])


def test_an_alarm_says_since_when_how_far_and_when_it_was_given(folder: Path, capsys: Captured) -> None:
    reference = ("--reference", str(folder / "reference.csv"), "--quiet")
    assert watch(folder, "log.csv", *reference) == 0
    said = capsys.readouterr().out
    assert said.startswith("Alarm. Calibrated until 12 Mar; since then too high: ")
    assert "expected," in said
    assert "observed; alarm on 1" in said
    assert watch(folder, "log.csv", *reference, "--fail-on-alarm") == 1


def test_days_one_by_one_leave_the_state_of_one_call(folder: Path, tmp_path: Path) -> None:
    reference, state = ("--reference", str(folder / "reference.csv")), tmp_path / "daily.state"
    for i in range(24):
        given = reference if i == 0 else ()
        assert watch(folder, f"day{i:02}.csv", *given, "--quiet", "--state", str(state)) == 0
    assert watch(folder, "log.csv", *reference, "--quiet", "--state", str(tmp_path / "whole.state")) == 0
    assert state.read_bytes() == (tmp_path / "whole.state").read_bytes()


def test_a_failed_run_leaves_the_state_as_it_was(folder: Path, tmp_path: Path, capsys: Captured) -> None:
    state = tmp_path / "daily.state"
    assert watch(folder, "day00.csv", "--quiet", "--state", str(state)) == 0
    before = state.read_bytes()
    assert watch(folder, "day00.csv", "--quiet", "--state", str(state)) == 2
    assert "the day 2026-03-02 is in the state already" in capsys.readouterr().err
    assert watch(folder, "day01.csv", "--state", str(state), "--json", str(tmp_path / "absent" / "out.json")) == 2
    assert state.read_bytes() == before
    state.write_bytes(before[:-3])
    assert watch(folder, "day01.csv", "--state", str(state)) == 2
    assert "damaged" in capsys.readouterr().err
    assert watch(folder, "day01.csv", "--state", str(folder / "reference.csv")) == 2
    assert "no state of a monitor" in capsys.readouterr().err


def test_outputs_agree_with_the_document(folder: Path, tmp_path: Path, capsys: Captured) -> None:
    page, table = tmp_path / "out.html", tmp_path / "out.csv"
    assert watch(folder, "log.csv", "--window", "7d", "--json", "-", "--report", str(page), "--csv", str(table)) == 0
    document = json.loads(capsys.readouterr().out)
    windows = document["monitor"]["windows"]
    assert [w["start"] for w in windows] == pl.read_csv(table)["start"].to_list()
    assert "since then too high" in page.read_text()


def test_windows_are_those_of_assess(folder: Path, capsys: Captured) -> None:
    """The same file, the same story: shares, losses and z of a monitor without a reference are those of `assess`."""
    file = str(folder / "log.csv")
    assert watch(folder, "log.csv", "--window", "7d", "--json", "-") == 0
    ours = json.loads(capsys.readouterr().out)["monitor"]
    assert run(["assess", file, "--time", "date", "--window", "7d", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(ours["windows"]) == len(document["windows"]) > 3
    for mine, theirs in zip(ours["windows"], document["windows"], strict=True):
        assert (mine["start"], mine["n"]) == (theirs["start"], theirs["n"])
        for name in ("predicted", "observed", "z"):
            assert mine[name] == pytest.approx(theirs[name], abs=1e-12)
        assert mine["log_loss"] == pytest.approx(theirs["log_loss"]["value"], abs=1e-12)
    assert ours["alarms"]
    assert ours["change"]["words"] == ["too high"]
    assert document["verdict"] == "biased"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["log.csv"], "name its column:  --time COL"),
        (["log.csv", "--time", "date", "--cluster", "risk"], "exclude one another"),
        (["log.csv", "--time", "date", "--weight", "risk"], "--weight has no effect in a monitor"),
        (["log.csv", "--time", "date", "--window", "3h"], "none of 7d"),
        (["log.csv", "--time", "day"], "no column `day`"),
        (["log.csv", "--time", "date", "--reference", "other.csv"], "another model?"),
        (["log.csv", "--time", "date", "--reference", "unlabelled.csv"], "a reference is labelled: the same columns"),
    ],
)
def test_what_cannot_be_watched_is_refused(
    options: list[str], message: str, folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = pl.read_csv(folder / "reference.csv")
    reference.rename({"risk": "chance"}).write_csv(folder / "other.csv")
    reference.drop("died").write_csv(folder / "unlabelled.csv")
    monkeypatch.chdir(folder)
    assert run(["monitor", *options]) == 2
    assert message in capsys.readouterr().err


def test_one_day_alone_is_named_once(folder: Path, capsys: Captured) -> None:
    assert watch(folder, "day00.csv", "--quiet") == 0
    assert "in 1 day (2 Mar, 60 cases)" in capsys.readouterr().out


def test_one_case_alone_is_watched(folder: Path, tmp_path: Path, capsys: Captured) -> None:
    log = pl.read_csv(folder / "log.csv")
    log[:1].write_csv(folder / "one.csv")
    columns = ("--label", "died", "--positive-proba", "risk")
    assert watch(folder, "one.csv", *columns, "--reference", str(folder / "reference.csv"), "--quiet") == 0
    assert "1 case" in capsys.readouterr().out


def test_an_estimate_says_that_its_reference_is_labelled(folder: Path, capsys: Captured) -> None:
    pl.read_csv(folder / "reference.csv").drop("died").write_csv(folder / "unlabelled.csv")
    assert run(["estimate", str(folder / "log.csv"), "--reference", str(folder / "unlabelled.csv")]) == 2
    assert "a reference is labelled: the same columns" in capsys.readouterr().err


def test_openmetrics_are_read_by_the_client_of_prometheus(folder: Path, tmp_path: Path, capsys: Captured) -> None:
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    assert watch(folder, "log.csv", "--openmetrics", "-") == 0
    gauges = {f.name: f for f in parser.text_string_to_metric_families(capsys.readouterr().out)}
    assert gauges["veracity_alarm"].samples[0].value == 1.0
    assert gauges["veracity_evidence"].samples[0].value >= gauges["veracity_evidence_threshold"].samples[0].value
    assert gauges["veracity_cases"].samples[0].labels == {"model": "log.csv"}
    assert watch(folder, "day00.csv", "--state", str(tmp_path / "risk.state"), "--openmetrics", "-") == 0
    gauges = {f.name: f for f in parser.text_string_to_metric_families(capsys.readouterr().out)}
    assert gauges["veracity_cases"].samples[0].labels == {"model": "risk"}
    assert run(["assess", str(folder / "reference.csv"), "--openmetrics", "-"]) == 0
    gauges = {f.name: f for f in parser.text_string_to_metric_families(capsys.readouterr().out)}
    scores = {sample.labels["score"]: sample.value for sample in gauges["veracity_score"].samples}
    assert 0.0 < scores["log_loss"] < 0.7
    assert gauges["veracity_verdict"].samples[0].labels["verdict"]
