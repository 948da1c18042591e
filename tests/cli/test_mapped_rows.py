"""Files that `adjust` and `calibrate apply` write: their rows and the columns copied unchanged."""

from __future__ import annotations

import io
import json
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.inputs import lm_logs
from veracity import calibrators
from veracity.cli import run


@pytest.fixture(params=[None, 7], ids=["one batch", "batches of 7 rows"])
def cut(request, monkeypatch):
    """Files read whole, or some rows at a time."""
    if request.param is not None:
        monkeypatch.setattr("veracity.read.parts.MOST_ROWS", request.param)
        monkeypatch.setattr("veracity.read.parts.FEWEST_ROWS", 1)


@pytest.mark.usefixtures("cut")
def test_other_columns_are_copied_unchanged(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = 'id,when,note,risk,died\n007,2026-01-02,"a, b",20%,1\n\n008,2026-01-03,,50%,\n'
    text += "12345678901234567890,,x,7.5%,0\n"
    for folder, number in (("a", "1"), ("b", "2")):  # one name in two folders
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "new.csv").write_text(text.replace("007", f"{number}.0"))
    said = ["adjust", "a/new.csv", "b/new.csv", "--to", "uniform", "--missing", "drop", "-o", "out.csv"]
    assert run([*said, "--label", "died"]) == 0
    assert "kept id, when, note" in capsys.readouterr().err
    out = pl.read_csv("out.csv", infer_schema=False)
    assert out.columns == ["id", "when", "note", "risk", "died"]
    assert out.select("id", "when", "note", "died").rows() == [
        ("1.0", "2026-01-02", "a, b", "1"),
        ("12345678901234567890", None, "x", "0"),
        ("2.0", "2026-01-02", "a, b", "1"),
        ("12345678901234567890", None, "x", "0"),
    ]
    assert out["risk"].str.ends_with("%").all()
    assert out["risk"].to_list()[0] == out["risk"].to_list()[2]


@pytest.mark.usefixtures("cut")
def test_kinds_of_columns_stay(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    given = {"y": [0, 1, 1, 0], "p": [0.2, 0.8, 0.6, 0.3], "day": [date(2026, 1, i) for i in (1, 2, 3, 4)]}
    frame = pl.DataFrame(given | {"site": pl.Series(list("abab"), dtype=pl.Categorical), "p_1": [1, 2, 3, 4]})
    frame.write_parquet("f.parquet")
    said = ["adjust", "f.parquet", "--positive-proba", "p", "--label", "y", "--to", "sample", "--where", "site=b"]
    assert run([*said, "-o", "out.parquet"]) == 0
    assert "give way" not in capsys.readouterr().err
    out = pl.read_parquet("out.parquet")
    assert out.columns == frame.columns
    assert out["day"].to_list() == [date(2026, 1, 2), date(2026, 1, 4)]
    assert out["site"].to_list() == ["b", "b"]
    assert out.schema["p"] == pl.Float64
    assert out.drop("p").schema == frame.drop("p").schema
    assert out["p_1"].to_list() == [2, 4]


@pytest.mark.usefixtures("cut")
def test_long_rows_keep_the_other_columns_of_their_first_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        (i, c, p, "ab"[i % 2], f"site {i}") for i in range(6) for c, p in (("b", 0.1 * i + 0.2), ("a", 0.8 - 0.1 * i))
    ]
    pl.DataFrame(rows, schema=["case", "predicted_label", "predicted", "outcome", "site"], orient="row").write_csv(
        "long.csv"
    )
    assert run(["adjust", "long.csv", "--id", "case", "--to", "sample", "-o", "out.csv"]) == 0
    out = pl.read_csv("out.csv")
    assert out["site"].to_list() == [f"site {i}" for i in range(6)]
    assert out["label"].to_list() == list("ababab")


@pytest.mark.usefixtures("cut")
def test_a_map_needs_no_outcome(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    p, n = rng.beta(1, 4, 300), 300
    held = {
        "patient": [f"P{i:03}" for i in range(n)],
        "sex": rng.choice(["F", "M"], n),
        "smoker": rng.integers(0, 2, n),
    }
    pl.DataFrame(held | {"risk": p, "died": (rng.random(n) < p).astype(int)}).write_csv("old.csv")
    assert run(["calibrate", "fit", "old.csv", "--label", "died", "--map", "platt", "-o", "map.json"]) == 0
    pl.DataFrame(held | {"risk": p}).write_csv("new.csv")  # two columns might be outcomes, and are not asked
    pl.DataFrame(held | {"risk": 100 * p}).write_csv("percent.csv")
    outcome = pl.Series([None, *[0, 1] * 149, 1])
    pl.DataFrame(held | {"risk": p}).with_columns(died=outcome).write_csv("late.csv")  # one is not known yet
    capsys.readouterr()
    made = {}
    for name, more in (("new", []), ("percent", ["--scale", "percent"]), ("late", [])):
        assert run(["calibrate", "apply", "map.json", f"{name}.csv", *more, "-o", f"{name}-out.csv"]) == 0
        assert "300 rows · no outcome · forecast risk · kept" in capsys.readouterr().err
        made[name] = pl.read_csv(f"{name}-out.csv")
        assert made[name]["patient"].to_list() == held["patient"]
    assert made["new"].columns == [*held, "risk"]
    np.testing.assert_allclose(100 * made["new"]["risk"], made["percent"]["risk"], rtol=1e-12)
    np.testing.assert_allclose(made["new"]["risk"], made["late"]["risk"], rtol=1e-15)
    assert made["late"]["died"].to_list() == outcome.to_list()
    assert run(["adjust", "new.csv", "--to", "uniform", "-o", "even.csv"]) == 0
    assert pl.read_csv("even.csv")["risk"].mean() == pytest.approx(0.5)
    assert run(["adjust", "new.csv", "--to", "sample", "-o", "no.csv"]) == 2
    assert "two columns could be the outcome" in capsys.readouterr().err


@pytest.mark.usefixtures("cut")
def test_missing_forecasts_are_left_out_with_their_columns(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"id": ["a", "b", "c"], "risk": [0.2, None, 0.4]}).write_csv("new.csv")
    assert run(["adjust", "new.csv", "--to", "uniform", "-o", "out.csv"]) == 2
    assert "missing" in capsys.readouterr().err
    assert run(["adjust", "new.csv", "--to", "uniform", "--missing", "drop", "-o", "out.csv"]) == 0
    assert "1 of 3 rows" in capsys.readouterr().err
    assert pl.read_csv("out.csv")["id"].to_list() == ["a", "c"]


def test_rows_without_outcomes_from_standard_input_and_into_a_folder(tmp_path, monkeypatch, capsysbinary):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"id": ["01", "02", "03"], "risk": [0.2, 0.5, 0.4]}).write_csv("new.csv")
    with (tmp_path / "new.csv").open() as given:
        monkeypatch.setattr("sys.stdin", given)
        assert run(["adjust", "-", "--to", "uniform", "-o", "-"]) == 0
    piped = pl.read_csv(io.BytesIO(capsysbinary.readouterr().out), infer_schema=False)
    assert run(["adjust", "new.csv", "--to", "uniform", "-o", "parts/"]) == 0
    parts = pl.read_parquet("parts/part-00000.parquet")
    assert piped.columns == parts.columns == ["id", "risk"]
    assert piped["id"].to_list() == parts["id"].to_list() == ["01", "02", "03"]
    np.testing.assert_allclose(parts["risk"].to_numpy(), piped["risk"].cast(pl.Float64).to_numpy(), rtol=1e-12)


@pytest.mark.usefixtures("cut")
def test_kinds_that_differ_from_file_to_file_lose_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    given = {"y": [0, 1], "p": [0.2, 0.7]}
    said = ["adjust", "a.parquet", "b.parquet", "--label", "y", "--positive-proba", "p", "--to", "uniform"]
    for first, second in (([1, 2], [0.75, 2.0]), (["7", "x"], [1, 2]), ([None, None], [3, 4])):
        pl.DataFrame(given | {"k": first}).write_parquet("a.parquet")
        pl.DataFrame(given | {"k": second}).write_parquet("b.parquet")
        assert run([*said, "-o", "out.csv", "--force"]) == 0
        words = pl.read_csv("out.csv", infer_schema=False)["k"].to_list()
        assert words == [None if v is None else str(v) for v in (*first, *second)]


@pytest.mark.usefixtures("cut")
def test_an_empty_column_takes_what_other_files_hold(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, notes in (("a", ("", "")), ("b", ("x", "y"))):
        rows = "".join(f"{y},{p},{note}\n" for y, p, note in zip((0, 1), (0.2, 0.7), notes, strict=True))
        (tmp_path / f"{name}.csv").write_text("y,p,note\n" + rows)
    assert run(["adjust", "b.csv", "a.csv", "--to", "uniform", "-o", "out.csv"]) == 0
    assert pl.read_csv("out.csv")["note"].to_list() == ["x", "y", None, None]


@pytest.mark.usefixtures("cut")
def test_columns_that_csv_cannot_hold_are_reported(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"y": [0, 1], "p": [0.2, 0.7], "k": [[1], [2, 3]], "weight": [1, 2]}).write_parquet("f.parquet")
    assert run(["adjust", "f.parquet", "--to", "uniform", "-o", "out.csv"]) == 0
    told = capsys.readouterr().err
    assert "CSV cannot hold k: left out; write .parquet" in told
    assert "give way" not in told  # weight is not made anew
    assert pl.read_csv("out.csv").columns == ["y", "p", "weight"]
    assert run(["adjust", "f.parquet", "--to", "uniform", "-o", "whole.parquet"]) == 0
    assert pl.read_parquet("whole.parquet")["k"].to_list() == [[1], [2, 3]]


@pytest.mark.usefixtures("cut")
def test_weights_count_where_an_outcome_is_not_known_yet(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    held = {"died": [0, 1, 1, None], "risk": [0.2, 0.8, 0.6, 0.5], "w": [1.0, 5.0, 2.0, 3.0]}
    pl.DataFrame(held).write_csv("late.csv")
    pl.DataFrame(held | {"died": [0, 1, 1, 0]}).write_csv("all.csv")
    for name in ("late", "all"):
        assert run(["adjust", f"{name}.csv", "--to", "uniform", "--weight", "w", "-o", f"{name}-out.csv"]) == 0
    late, known = (pl.read_csv(f"{name}-out.csv") for name in ("late", "all"))
    np.testing.assert_allclose(late["risk"], known["risk"], rtol=1e-12)
    assert late.drop("risk").to_dict(as_series=False) == {name: held[name] for name in ("died", "w")}


@pytest.mark.usefixtures("cut")
def test_separate_events_say_which_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(f"T{i}", 0.1 * i, i % 2, 0.05 * i, i % 3 == 0) for i in range(1, 9)]
    names = ["team", "win", "win_outcome", "cup", "cup_outcome"]
    pl.DataFrame(rows, schema=names, orient="row").cast({"cup_outcome": pl.Int8}).write_csv("pairs.csv")
    assert run(["adjust", "pairs.csv", "--to", "sample", "-o", "out.csv"]) == 0
    out = pl.read_csv("out.csv")
    assert out["event"].to_list()[:4] == ["win", "cup", "win", "cup"]
    assert out["team"].to_list()[:4] == ["T1", "T1", "T2", "T2"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("kind", ["harness", "chat", "completions"])
def test_mapped_logs_of_language_models_are_read_again(tmp_path, monkeypatch, capsys, kind, ending):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.jsonl").write_text(lm_logs.lines(getattr(lm_logs, kind)()))
    assert run(["calibrate", "fit", "log.jsonl", "--map", "temperature", "-o", "m.json"]) == 0
    assert run(["calibrate", "apply", "m.json", "log.jsonl", "-o", f"out.{ending}"]) == 0
    losses = []
    for name in ("log.jsonl", f"out.{ending}"):
        capsys.readouterr()
        assert run(["assess", name, "--json", "-"]) == 0
        losses.append(json.loads(capsys.readouterr().out)["scores"]["log_loss"]["value"])
    assert losses[1] < losses[0]  # the temperature was fitted to these


def test_answer_options_keep_their_ids(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"q{i}", "probs": {"A": 0.2 + 0.1 * i, "B": 0.8 - 0.1 * i}, "answer": "AB"[i % 2]} for i in range(6)]
    (tmp_path / "o.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run(["adjust", "o.jsonl", "--to", "uniform", "-o", "out.csv"]) == 0
    assert pl.read_csv("out.csv")["id"].to_list() == [f"q{i}" for i in range(6)]


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("rows", ["u,1,0.7\nv,0,0.2\nw,1,0.6\n,,\n", "u,1,0.7\n,,\nv,0,0.2\nw,1,0.6\n,,\n\n"])
def test_rows_of_delimiters_are_left_out(tmp_path, monkeypatch, rows):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.csv").write_text("name,y,p\n" + rows)
    assert run(["adjust", "f.csv", "--to", "sample", "-o", "out.csv"]) == 0
    assert pl.read_csv("out.csv")["name"].to_list() == ["u", "v", "w"]
    assert run(["calibrate", "fit", "f.csv", "--map", "temperature", "-o", "m.json"]) == 0


@pytest.mark.usefixtures("cut")
def test_words_are_kept_letter_by_letter(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = 'country,sign,note,risk,died\nNA,-, lead,0.2,0\nDE,.,None,0.5,1\n\nFR,+,nan,0.7,1\nNA,-,"a ""q"" b",0.4,0\n'
    (tmp_path / "f.csv").write_text(text)
    assert run(["adjust", "f.csv", "--label", "died", "--to", "sample", "-o", "out.csv"]) == 0
    out = (tmp_path / "out.csv").read_text().splitlines()
    kept = [line.rpartition(",")[0].rpartition(",")[0] for line in out]
    assert kept == ["country,sign,note", "NA,-, lead", "DE,.,None", "FR,+,nan", 'NA,-,"a ""q"" b"']


@pytest.mark.usefixtures("cut")
def test_a_column_that_nothing_replaces_is_not_reported_as_replaced(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"label": ["x", "y", "z"], "risk": [0.2, 0.5, 0.9]}).write_csv("new.csv")
    assert run(["adjust", "new.csv", "--positive-proba", "risk", "--to", "uniform", "-o", "out.csv"]) == 0
    assert "give way" not in capsys.readouterr().err
    assert pl.read_csv("out.csv").columns == ["label", "risk"]


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("command", ["adjust", "apply"])
def test_a_table_keeps_its_shape_and_only_the_forecast_changes(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    text = "id,amount,note,fraud,p\n007,1.50,,1,0.20\n008,NA,,0,0.5\n009,2e3,,1,0.9\n010,-,,0,0.30\n"
    (tmp_path / "f.csv").write_text(text)
    assert run(["adjust", "f.csv", "--label", "fraud", "--to", "uniform", "-o", "first.csv"]) == 0
    fitted = calibrators.from_json((tmp_path / "first.map.json").read_text())
    said = {
        "adjust": ["adjust", "f.csv", "--to", "uniform"],
        "apply": ["calibrate", "apply", "first.map.json", "f.csv"],
    }
    assert run([*said[command], "--label", "fraud", "-o", "out.csv"]) == 0
    before, after = ([line.split(",") for line in Path(name).read_text().splitlines()] for name in ("f.csv", "out.csv"))
    assert [line[:-1] for line in after] == [line[:-1] for line in before]
    assert after[0][-1] == "p"
    mapped = fitted(np.array([float(line[-1]) for line in before[1:]]))[:, 1]
    assert [float(line[-1]) for line in after[1:]] == mapped.tolist()
    assert run([*said[command], "--label", "fraud", "--suffix", "_calibrated", "-o", "beside.csv"]) == 0
    beside = [line.split(",") for line in Path("beside.csv").read_text().splitlines()]
    assert [line[:-1] for line in beside] == before
    assert [line[-1] for line in beside] == ["p_calibrated", *(line[-1] for line in after[1:])]


@pytest.mark.usefixtures("cut")
def test_columns_of_classes_stay_where_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    p = rng.dirichlet([1, 1, 1], 40)
    frame = pl.DataFrame(
        {"p_b": p[:, 1], "day": ["2026-01-01"] * 40, "p_a": p[:, 0], "y": rng.choice(list("abc"), 40), "p_c": p[:, 2]}
    )
    for write, name in (
        (frame.write_csv, "f.csv"),
        (frame.write_parquet, "f.parquet"),
        (frame.write_ndjson, "f.jsonl"),
    ):
        write(name)
        assert run(["adjust", name, "--to", "uniform", "-o", "out.parquet", "--force"]) == 0
        out = pl.read_parquet("out.parquet")
        assert out.columns == frame.columns
        assert out.select("day", "y").equals(frame.select("day", "y"))
        assert [out[f"p_{c}"].mean() for c in "abc"] == pytest.approx([1 / 3] * 3, abs=1e-9)
        assert run(["adjust", name, "--to", "uniform", "--suffix", "2", "-o", "both.parquet", "--force"]) == 0
        both = pl.read_parquet("both.parquet")
        assert both.columns == ["p_b", "p_b2", "day", "p_a", "p_a2", "y", "p_c", "p_c2"]
        assert both.select(frame.columns).cast(dict(frame.schema)).equals(frame)  # CSV is copied letter by letter
        assert both["p_a2"].equals(out["p_a"])


@pytest.mark.parametrize("scale", ["logit", "log", "percent"])
@pytest.mark.parametrize("columns", [1, 2])
def test_mapped_forecasts_stay_on_their_scale(tmp_path, monkeypatch, scale, columns):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(6)
    p = rng.uniform(0.05, 0.95, 60)
    y = (rng.random(60) < p).astype(int)
    stated = {"logit": lambda q: np.log(q / (1 - q)), "log": np.log, "percent": lambda q: 100 * q}[scale]
    if scale == "logit" and columns == 2:
        stated = np.log  # of which the softmax is taken
    held = {"p_1": stated(p)} if columns == 1 else {"p_0": stated(1 - p), "p_1": stated(p)}
    pl.DataFrame({"y": y, "p_1": p}).write_csv("plain.csv")
    pl.DataFrame({"y": y} | held).write_csv("f.csv")
    plain = ["--label", "y", "--to", "uniform"]
    assert run(["adjust", "plain.csv", *plain, "--positive-proba", "p_1", "-o", "expected.csv"]) == 0
    named = ["--positive-proba", "p_1"] if columns == 1 else ["--proba", "p_*"]
    assert run(["adjust", "f.csv", *plain, *named, "--scale", scale, "-o", "out.csv"]) == 0
    expected, out = pl.read_csv("expected.csv")["p_1"].to_numpy(), pl.read_csv("out.csv")
    assert out.columns == ["y", *held]
    np.testing.assert_allclose(out["p_1"].to_numpy(), stated(expected), rtol=1e-9, atol=1e-12)


def test_outcomes_and_weights_of_other_files_stay_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"row": ["a", "b", "c"], "p": [0.2, 0.7, 0.4]}).write_csv("p.csv")
    pl.DataFrame({"y": [0, 1, 1]}).write_csv("y.csv")
    pl.DataFrame({"w": [1.0, 2.0, 1.0]}).write_csv("w.csv")
    said = ["adjust", "p.csv", "--label-file", "y.csv", "--weight", "w.csv", "--positive-proba", "p", "--to", "sample"]
    assert run([*said, "-o", "out.csv"]) == 0
    assert pl.read_csv("out.csv").columns == ["row", "p"]


def test_a_suffix_without_effect_or_of_a_column_that_exists_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"y": [0, 1, 1], "p": [0.2, 0.7, 0.4], "p_new": [1, 2, 3]}).write_csv("f.csv")
    rows = [(i, c, p, "ab"[i % 2]) for i in range(6) for c, p in (("b", 0.3), ("a", 0.7))]
    names = ["case", "predicted_label", "predicted", "outcome"]
    pl.DataFrame(rows, schema=names, orient="row").write_csv("long.csv")
    for words, message in (
        ("f.csv --label y --positive-proba p", "--suffix _new: there is a column `p_new` already"),
        ("long.csv --id case", "--suffix has no effect"),
    ):
        assert run(["adjust", *words.split(), "--to", "uniform", "--suffix", "_new", "-o", "out.csv"]) == 2
        assert message in capsys.readouterr().err
        assert not (tmp_path / "out.csv").exists()


def test_what_json_lines_nest_is_left_out_with_a_word(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [{"id": i, "y": i % 2, "p": 0.1 + 0.1 * i, "tags": {"a": ["b"] * (i % 3)}} for i in range(8)]  # uneven
    (tmp_path / "f.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run(["adjust", "f.jsonl", "--to", "uniform", "-o", "out.csv"]) == 0
    assert "lists and objects are left out: tags" in capsys.readouterr().err
    assert pl.read_csv("out.csv").columns == ["id", "y", "p"]


def answers(path: Path, *, labelled: bool) -> None:
    """Write answers with a stated confidence in per cent, as JSON lines."""
    rows = [
        {"id": f"q{i}", "answer": "ABCD"[i % 4], "stated_confidence": f"{30 + i % 7 * 10}%"}
        | ({"correct": i % 7 > i % 5} if labelled else {})
        for i in range(70)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize("labelled", [True, False], ids=["with outcomes", "without outcomes"])
def test_a_map_is_applied_to_json_lines_with_percentages_as_it_was_fitted(tmp_path, monkeypatch, labelled):
    monkeypatch.chdir(tmp_path)
    answers(tmp_path / "old.jsonl", labelled=True)
    answers(tmp_path / "new.jsonl", labelled=labelled)
    assert run(["calibrate", "fit", "old.jsonl", "--map", "platt", "-o", "map.json"]) == 0
    assert run(["calibrate", "apply", "map.json", "new.jsonl", "-o", "out.csv"]) == 0
    out = pl.read_csv("out.csv")
    assert out.columns == ["id", "answer", "stated_confidence", *["correct"] * labelled]
    fitted = calibrators.from_json((tmp_path / "map.json").read_text())
    stated = out["stated_confidence"].str.strip_suffix("%").cast(float) / 100
    np.testing.assert_allclose(stated, fitted(np.array([0.3 + i % 7 * 0.1 for i in range(70)]))[:, 1], rtol=1e-12)
