"""`veracity assess`: what is printed, what is written, and what happens when it cannot be."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from veracity.cli import run

N = 300


@pytest.fixture
def forecasts(tmp_path: Path) -> Path:
    """A small file of over-confident forecasts, in a folder of its own."""
    return write_forecasts(tmp_path / "risk.csv")


def write_forecasts(path: Path, n: int = N, seed: int = 1, zeros: bool = False) -> Path:
    rng = np.random.default_rng(seed)
    truth = rng.beta(2, 2, n)
    stated = truth**3 / (truth**3 + (1 - truth) ** 3)
    happened = rng.random(n) < truth
    if zeros:
        stated[happened.argmax()] = 0.0
    rows = zip(np.where(happened, "yes", "no"), stated, np.array(["north", "south"])[np.arange(n) % 2], strict=True)
    path.write_text("outcome,risk,site\n" + "".join(f"{y},{p:.6f},{site}\n" for y, p, site in rows))
    return path


def veracity(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "veracity", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)


def test_summary_says_the_verdict_first_and_one_thing_is_called_accuracy(
    forecasts: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(forecasts.parent)
    assert run(["assess", forecasts.name, "--group", "site"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].startswith(f"risk.csv · {N} cases · 2 classes: no, yes")
    assert lines[2].startswith("✗ Over-confident   ")
    assert err.startswith(f"read risk.csv: {N} rows · outcome outcome")
    for words in ("average (decisiveness)", "typical (geometric mean)", "Calibration slope", "Log loss", "baseline"):
        assert words in out
    for words in ("→ Fix", "veracity calibrate fit risk.csv --map", "By site", "--report out.html", "--details"):
        assert words in out
    # Accuracy is the share of correct picks and nothing else.
    assert re.findall(r"\baccuracy.*", out + err, flags=re.IGNORECASE) == [
        line for line in lines if line.startswith("Accuracy ")
    ]
    assert "\x1b" not in out  # no colours into a file


@pytest.mark.parametrize("kind", ["columns", "names", "patterns", "missing", "parquet"])
def test_the_proposed_fix_is_a_command_that_runs(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files in other folders, models in columns or by name, options without which the file is refused."""
    rng = np.random.default_rng(5)
    x = rng.normal(0, 1.2, 800)
    y = (rng.random(800) < 1 / (1 + np.exp(-x))).astype(int)
    sharp, sharper = (1 / (1 + np.exp(-power * x)) for power in (2.0, 3.0))
    frame, options = pl.DataFrame({"obs": y, "sharp": sharp, "sharper": sharper}), []
    if kind == "names":
        frame = pl.concat([
            pl.DataFrame({"model": [name] * 800, "case": range(800), "obs": y, "p": p})
            for name, p in (("it's sharp", sharp), ("sharper", sharper))
        ])  # fmt: skip
        options = ["--id", "case"]
    elif kind == "patterns":
        made = {f"{m}_{j}": (p if j else 1 - p) for m, p in (("a", sharp), ("b", sharper)) for j in (0, 1)}
        frame, options = pl.DataFrame({"amount": y * 3.0, **made}), ["--proba", "{model}_*", "--cut", "0.5"]
        options += ["--label", "amount"]
    elif kind == "missing":
        frame = pl.DataFrame({"obs": y, "p": [None, *sharp[1:]]})
        options = ["--missing", "drop"]
    elif kind == "parquet":
        frame = pl.DataFrame({"obs": y, "p": sharp})
    (tmp_path / "in a folder").mkdir()
    monkeypatch.chdir(tmp_path)
    name = f"in a folder/set.{'parquet' if kind == 'parquet' else 'csv'}"
    frame.write_parquet(name) if kind == "parquet" else frame.write_csv(name)
    assert run(["assess", name, *options, "--details"]) == 0
    proposed = re.findall(r"^ *(veracity (?:calibrate fit|adjust) .*)$", capsys.readouterr().out, re.MULTILINE)
    assert len(proposed) == (1 if kind in ("missing", "parquet") else 2)
    for command in proposed:
        assert run([*shlex.split(command)[1:], "--force"]) == 0, command
        assert "800" in (err := capsys.readouterr().err) or "799" in err


@pytest.mark.parametrize(("name", "ascii_only"), [("C", True), ("POSIX", True), ("C.UTF-8", False)])
def test_a_plain_locale_gets_words_for_marks(
    name: str, ascii_only: bool, forecasts: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", name)
    assert run(["assess", str(forecasts)]) == 0
    out = capsys.readouterr().out
    assert out.isascii() == ascii_only
    assert ("\nno Over-confident" in out, "\n-> Fix" in out) == (ascii_only, ascii_only)


@pytest.mark.parametrize("columns", [60, 80, 100, 120, 140])
def test_summary_fits_the_terminal(
    columns: int, forecasts: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.chdir(forecasts.parent)
    assert run(["assess", forecasts.name, "--group", "site"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= columns
    groups = out.partition("By site")[2]
    assert groups.count("over-confident\n") == 2  # the last word of both sites, whole
    assert ("interval" in groups.partition("\n")[0]) == (columns >= 80)


def test_quiet_prints_one_line_and_computes_no_more(
    forecasts: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hashlib.file_digest", None)  # no output tells the hash of the file
    monkeypatch.setattr("veracity.estimate.means.measured.Measured.means", None)
    assert run(["assess", str(forecasts), "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Over-confident.")
    assert out.count("\n") == 1
    assert err == ""


def test_json_on_standard_output_is_one_document_and_nothing_else(
    forecasts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["assess", str(forecasts), "--json", "-", "--seed", "3", "--floor", "0.001"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "veracity/assessment/2"
    assert document["n"] == N
    assert document["floor"] == 0.001
    made = document["provenance"]
    assert made["command"].startswith("veracity assess ")
    assert made["plan"]["random_state"] == 3
    assert made["inputs"][0]["path"] == "risk.csv"
    assert len(made["inputs"][0]["sha256"]) == 64
    assert "outcome" in made["reading"]


def test_a_file_counts_once(forecasts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["assess", str(forecasts), str(forecasts.parent / "*.csv")]) == 2
    assert f"{forecasts.name}: given twice" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--seed=-1", "--floor=2", "--level=3", "--end-width=9", "--map=foo"])
def test_errors_name_the_option(forecasts: Path, capsys: pytest.CaptureFixture[str], option: str) -> None:
    assert run(["assess", str(forecasts), option]) == 2
    err = capsys.readouterr().err
    assert option.partition("=")[0] in err
    assert "read " not in err  # before anything is read


def test_markdown_has_groups_remedies_and_the_floor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(300)
    rows = [f"{int(u < q)},{q:.4f},{'AB'[i % 2]}|x" for i, (u, q) in enumerate(zip(rng.random(300), p, strict=True))]
    (tmp_path / "f.csv").write_text("\n".join(["y,p,site", *rows]) + "\n")
    options = ["--group", "site", "--floor", "0.05", "--markdown", "-"]
    assert run(["assess", str(tmp_path / "f.csv"), *options]) == 0
    out = capsys.readouterr().out
    assert "| By site | cases |" in out
    assert "| A\\|x | 150 |" in out
    assert "| Recalibration | gain in log loss |" in out
    assert "| Calibration slope |" in out
    assert "no probability counts below 0.05" in out
    assert run(["assess", str(tmp_path / "f.csv"), "--floor", "0.05"]) == 0
    assert "no probability counts below 0.05" in capsys.readouterr().out


def test_csv_and_markdown_hold_the_numbers_of_the_json(forecasts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = {}
    for form in ("json", "csv", "markdown"):
        assert run(["assess", str(forecasts), f"--{form}", "-"]) == 0
        printed[form] = capsys.readouterr().out
    document = json.loads(printed["json"])
    table = {row["name"]: row for row in csv.DictReader(io.StringIO(printed["csv"]))}
    for name in (
        "scores.log_loss",
        "reported.geometric_accuracy",
        "losses.log.CL",
        "calibration_error.top_label",
        "calibration_slope",
        "spread_ratio",
    ):
        held: Any = document
        for part in name.split("."):
            held = held[part]
        assert float(table[name]["value"]) == held["value"]
        assert float(table[name]["high"] or "nan") == pytest.approx(held["high"] or float("nan"), nan_ok=True)
    scores = document["scores"]
    assert f"| Log loss ↓ | {scores['log_loss']['value']:.2f} |" in printed["markdown"]
    assert f"| Accuracy ↑ | {100 * scores['accuracy']['value']:.1f} % |" in printed["markdown"]
    typical = (document[name]["geometric_accuracy"]["value"] for name in ("reported", "expected", "measured"))
    row = " | ".join(f"{100 * value:.0f} %" for value in typical)
    assert f"| typical (geometric mean) | {row} |" in printed["markdown"]
    assert printed["markdown"].startswith("### risk: forecast quality\n")


@pytest.mark.slow
def test_every_output_at_once(forecasts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = forecasts.parent
    outputs = {"report": "out.html", "json": "out.json", "csv": "out.csv", "markdown": "out.md", "plots": "pictures"}
    options = [word for name, path in outputs.items() for word in (f"--{name}", str(folder / path))]
    assert run(["assess", str(forecasts), *options]) == 0
    assert "report: " in capsys.readouterr().out
    assert json.loads((folder / "out.json").read_text())["remedies"]  # --report computes them
    pictures = {path.name for path in (folder / "pictures").iterdir()}
    assert {"reliability.png", "reliability.svg", "loss_ladder.png", "roc.svg"} <= pictures
    assert (folder / "pictures" / "roc.png").read_bytes().startswith(b"\x89PNG")
    assert run(["assess", str(forecasts), "--json", str(folder / "out.json")]) == 2  # it exists now
    assert "--force" in capsys.readouterr().err
    assert run(["assess", str(forecasts), "--json", str(folder / "out.json"), "--force"]) == 0
    assert not list(folder.glob(".*.part"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["assess", "{folder}/absent.csv"], "absent.csv"),
        (["assess", "{file}", "--label", "Outcome"], "did you mean `outcome`"),
        (["assess", "{file}", "--json", "{folder}/none/out.json"], "no folder"),
        (["assess", "{file}", "--json", "{folder}"], "is a folder"),
        (["assess", "{file}", "--json", "-", "--csv", "-"], "one document"),
        (["assess", "{file}", "--report", "-"], "out.html"),
        (["assess", "{file}", "--json", "{folder}/x", "--csv", "{folder}/x"], "same file"),
        (["assess", "{file}", "--json", "{file}", "--force"], "is the file that is read"),
        (["assess", "{file}", "--plots", "{file}"], "give a folder"),
        (["assess", "{file}", "--plots", "{folder}"], "not empty"),
        (["assess", "{file}", "--level", "2"], "level"),
        (["assess", "{file}", "--bins", "many"], "neither auto nor"),
        (["assess", "{file}", "--map", "magic"], "magic"),
        (["assess", "{file}", "--preset", "X"], "preset"),
        (["assess", "{file}", "--time", "date"], "no column `date`"),
        (["assess", "{file}", "--threshold", "1.5"], "--threshold"),
        (["assess"], "FILE"),
        (["asses", "{file}"], "did you mean `assess`"),
        (["{file}"], "veracity assess"),
    ],
)
def test_bad_input_is_one_message_and_exit_2(
    arguments: list[str], said: str, forecasts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled = [word.format(file=forecasts, folder=forecasts.parent) for word in arguments]
    before = sorted(forecasts.parent.iterdir())
    assert run(filled) == 2
    out, err = capsys.readouterr()
    message = [line for line in err.splitlines() if not line.startswith("read ")]
    assert message[0].startswith("veracity: ")
    assert said in err
    assert len(message) <= 5
    assert "Traceback" not in err
    assert out == ""
    assert sorted(forecasts.parent.iterdir()) == before


def test_zero_probabilities_are_reported_before_the_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_forecasts(tmp_path / "zero.csv", zeros=True)
    assert run(["assess", str(path)]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert lines[2].startswith("✗ It ruled out what happened in 1 of 300 cases (row ")
    assert "so its log loss is infinite" in lines[2]
    assert out.index("infinite") < out.index("Over-confident")
    assert "∞" in out
    assert "With a minimum probability of 0.1 % it would be 0.8" in " ".join(out.split())


def test_several_files_are_parts_of_one_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = [write_forecasts(tmp_path / f"part{i}.csv", seed=i) for i in (1, 2)]
    assert run(["assess", *map(str, parts), "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["n"] == 2 * N
    assert len(document["provenance"]["inputs"]) == 2


def test_batches_and_a_checkpoint_give_the_same_numbers(
    forecasts: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    state = str(forecasts.parent / "state")
    for options in ([], [], ["--checkpoint", state, "--engine-option", "checkpoint_seconds=0"]):
        assert run(["assess", str(forecasts), "--json", "-", *options]) == 0
        found.append(json.loads(capsys.readouterr().out))
        monkeypatch.setattr("veracity.read.parts.MOST_ROWS", 7)
        monkeypatch.setattr("veracity.read.parts.FEWEST_ROWS", 1)
    for other in found[1:]:
        for name, held in found[0]["measured"].items():  # maps are fitted to sums in another order
            assert other["measured"][name]["value"] == pytest.approx(held["value"], rel=1e-12)
        assert other["bins"] == found[0]["bins"]
        assert other["provenance"]["inputs"] == found[0]["provenance"]["inputs"]
    assert run(["assess", str(forecasts), "--engine-option", "speed"]) == 2
    assert "NAME=VALUE" in capsys.readouterr().err
    assert run(["assess", str(forecasts), "--engine-option", "speed=1"]) == 2
    assert "speed" in capsys.readouterr().err


def test_standard_input_is_read(forecasts: Path) -> None:
    done = veracity("assess", "-", "--json", "-", input=forecasts.read_text())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n"] == N


def test_a_terminal_that_moves_no_cursor_gets_no_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from veracity.progress import ProgressBar

    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TTY_INTERACTIVE", "0")
    with ProgressBar("reading") as working:
        working._show()
    assert capsys.readouterr().err == ""


@pytest.mark.shared
def test_real_file_as_in_the_reference(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Scores of yardstick's two_class_example, computed elsewhere (reference.json)."""
    assert run(["assess", str(shared / "yardstick" / "two_class_example.csv"), "--json", "-"]) == 0
    out, err = capsys.readouterr()
    scores = json.loads(out)["scores"]
    assert scores["log_loss"]["value"] == pytest.approx(0.328, abs=5e-4)
    assert scores["brier"]["value"] == pytest.approx(0.211, abs=5e-4)
    assert scores["accuracy"]["value"] == pytest.approx(0.838, abs=5e-4)
    assert "Class1 258, Class2 242" in err


def test_confidence_in_picks_is_of_the_picks(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.25, 0.5, 3000)
    right = rng.random(3000) < confidence - 0.12
    lines = [json.dumps({"confidence": float(c), "correct": bool(r)}) for c, r in zip(confidence, right, strict=True)]
    Path("picks.jsonl").write_text("\n".join(lines))
    for more in ([], ["--bootstrap", "50"]):
        assert run(["assess", "picks.jsonl", "--json", "a.json", "--force", *more]) == 0
        document = json.loads(Path("a.json").read_text())
        picks = document["scores"]["accuracy"]
        assert picks["value"] == pytest.approx(right.mean())
        assert picks["low"] < right.mean() < picks["high"]
        level = (
            f"It says {100 * confidence.mean():.0f} % on average; {100 * right.mean():.0f} % of its picks are right."
        )
        assert document["verdict"] == "over-confident"
        assert level in " ".join(capsys.readouterr().out.split())
    edges = np.linspace(0, 1, 16)
    cell = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, 14)
    gaps = [abs((confidence - right)[cell == b].sum()) for b in range(15)]
    assert document["calibration_error"]["top_label"]["value"] == pytest.approx(sum(gaps) / 3000, abs=1e-12)


def test_sentences_about_two_classes_name_the_event(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    q = rng.beta(0.5, 2, 4000)
    odds = (q / (1 - q)) ** 2
    p, y = odds / (1 + odds), (rng.random(4000) < q).astype(int)
    pl.DataFrame({"died": y, "risk": p}).write_csv("f.csv")
    assert run(["assess", "f.csv"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    some = p >= 0.8
    stated, observed = 100 * p[some].mean(), 100 * y[some].mean()
    assert f"When it says 80 % or more ({stated:.0f} % on average), it happens {observed:.0f} % of the time" in said
    assert f"{(1 - y[some]).sum()} exceptions where {(1 - p[some]).sum():.0f} were expected" in said
    assert f"It predicts {100 * p.mean():.0f} % on average; {100 * y.mean():.0f} % happened." in said


def test_the_summary_needs_no_whole_document(
    forecasts: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from veracity import Assessment

    def refused(_: Any) -> Any:
        raise AssertionError("the whole document was computed")

    monkeypatch.setattr(Assessment, "document", refused)
    for more in ([], ["--quiet"], ["--group", "site"]):
        assert run(["assess", str(forecasts), *more]) == 0
        assert "Over-confident" in capsys.readouterr().out
