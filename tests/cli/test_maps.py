"""`veracity adjust` and `veracity calibrate`: files in, files out, refusals."""

from __future__ import annotations

import io
import json

import numpy as np
import polars as pl
import pytest

from veracity import calibrators
from veracity.cli import run
from veracity.inputs import Forecasts

CLASSES = ("a", "b", "c")


@pytest.fixture
def forecasts() -> Forecasts:
    rng = np.random.default_rng(0)
    truth = rng.dirichlet(np.ones(3), 200)
    scores = truth**2
    scores /= scores.sum(axis=1, keepdims=True)
    return Forecasts(scores, (rng.random(200)[:, None] > truth.cumsum(axis=1)[:, :-1]).sum(axis=1), CLASSES)


@pytest.fixture
def here(tmp_path, monkeypatch, forecasts):
    monkeypatch.chdir(tmp_path)
    columns = {"label": np.asarray(CLASSES)[forecasts.outcomes]}
    columns |= {f"p_{c}": forecasts.probabilities[:, j] for j, c in enumerate(CLASSES)}
    pl.DataFrame(columns).write_csv("f.csv")
    return tmp_path


def rows_of(path) -> np.ndarray:
    frame = pl.read_parquet(path) if str(path).endswith(".parquet") else pl.read_csv(path)
    assert frame.columns == ["label", "p_a", "p_b", "p_c"]
    return frame.select("p_a", "p_b", "p_c").to_numpy()


def test_adjust_writes_rows_and_map_and_prints_weights(here, forecasts, capsys):
    assert run(["adjust", "f.csv", "--to", "sample", "-o", "out.csv"]) == 0
    fitted = calibrators.fit("multiplicative", forecasts)
    np.testing.assert_allclose(rows_of("out.csv"), fitted(forecasts.probabilities), atol=1e-12)
    again = calibrators.from_json((here / "out.map.json").read_text())
    assert again.weights == pytest.approx(fitted.weights, rel=1e-9)
    assert again.classes == CLASSES
    out = capsys.readouterr()
    assert "weight" in out.out
    assert "read f.csv: 200 rows" in out.err
    assert sorted(p.name for p in here.iterdir()) == ["f.csv", "out.csv", "out.map.json"]


@pytest.mark.parametrize("rule", ["log", "-0.5", "0.5"])
def test_adjust_to_frequencies_of_any_kind(here, rule):
    (here / "prior.csv").write_text("class;probability\nb;0.5\nc;0.2\na;0.3\n")
    for to, target in (("prior.csv", [0.3, 0.5, 0.2]), ("uniform", [1 / 3] * 3)):
        assert run(["adjust", "f.csv", "--to", to, "--rule", rule, "-o", "x.parquet", "--force"]) == 0
        assert rows_of("x.parquet").mean(axis=0) == pytest.approx(target, abs=1e-11)
    (here / "wide.csv").write_text("a,b,c\n0.3,0.5,0.2\n")
    assert run(["adjust", "f.csv", "--to", "wide.csv", "-o", "y.csv"]) == 0
    assert rows_of("y.csv").mean(axis=0) == pytest.approx([0.3, 0.5, 0.2], abs=1e-11)


def test_adjust_to_an_estimate_warns_what_it_assumes(here, capsys):
    assert run(["adjust", "f.csv", "--to", "em", "--trained-on", "uniform", "-o", "x.csv"]) == 0
    assert "label shift" in capsys.readouterr().err


def test_adjust_by_black_box_takes_frequencies_from_a_reference_with_classes_in_any_order(here, forecasts, capsys):
    kept = np.flatnonzero((forecasts.outcomes != 0) | (np.arange(200) % 3 == 0))  # fewer cases of a
    pl.read_csv("f.csv")[kept.tolist()].select("p_a", "p_b", "p_c").write_csv("new.csv")
    pl.read_csv("f.csv").select("p_c", "p_a", "label", "p_b").write_csv("turned.csv")
    assert run(["adjust", "new.csv", "--to", "bbse", "--reference", "turned.csv", "-o", "x.parquet"]) == 0
    found, _ = calibrators.black_box(forecasts.take(kept), forecasts)
    assert pl.read_parquet("x.parquet").to_numpy().mean(axis=0) == pytest.approx(found, abs=1e-9)
    assert "label shift" in capsys.readouterr().err


def test_black_box_estimation_names_a_reference_that_it_cannot_use(here, capsys):
    pl.DataFrame({"label": ["a", "b"], "p_a": [0.6, 0.4], "p_b": [0.4, 0.6]}).write_csv("two.csv")
    for reference, words in ((None, "--reference FILE"), ("two.csv", "the reference is for classes a, b")):
        given = [] if reference is None else ["--reference", reference]
        assert run(["adjust", "f.csv", "--to", "bbse", *given, "-o", "x.csv"]) == 2
        assert words in capsys.readouterr().err
    assert run(["adjust", "f.csv", "--to", "uniform", "--reference", "f.csv", "-o", "x.csv"]) == 2
    assert "has no effect" in capsys.readouterr().err


def test_adjust_to_standard_output_prints_rows_only(here, capsysbinary, forecasts):
    assert run(["adjust", "f.csv", "--to", "sample", "-o", "-"]) == 0
    out = capsysbinary.readouterr()
    assert pl.read_csv(io.BytesIO(out.out)).height == 200
    assert b"weight" in out.err
    assert [p.name for p in here.iterdir()] == ["f.csv"]


def test_rows_that_a_shift_would_take_outside_become_the_nearest_inside(here, forecasts, capsys):
    target = [0.9, 0.05, 0.05]
    (here / "prior.csv").write_text("a,0.9\nb,0.05\nc,0.05\n")
    assert run(["adjust", "f.csv", "--to", "prior.csv", "--rule", "brier", "-o", "x.csv"]) == 0
    message = capsys.readouterr().err
    rows = rows_of("x.csv")
    np.testing.assert_allclose(rows.mean(axis=0), target, atol=1e-9)
    shift = np.array(json.loads((here / "x.map.json").read_text())["parameters"]["shift"])
    wanted, low, high = forecasts.probabilities + shift, np.full((200, 1), -9.0), np.full((200, 1), 9.0)
    for _ in range(80):  # the level at which the values above it sum to one
        middle = (low + high) / 2.0
        over = np.maximum(wanted - middle, 0.0).sum(axis=1, keepdims=True) > 1.0
        low, high = np.where(over, middle, low), np.where(over, high, middle)
    np.testing.assert_allclose(rows, np.maximum(wanted - middle, 0.0), atol=1e-9)
    plain = forecasts.probabilities + target - forecasts.probabilities.mean(axis=0)
    outside, zeros = ((plain < 0.0) | (plain > 1.0)).sum(), (rows == 0.0).sum()
    assert f"out of [0, 1]: each row is the nearest inside instead, {zeros} values are now 0" in message
    assert f"would take {outside} values out" in message
    assert run(["adjust", "f.csv", "--to", "prior.csv", "--rule", "log", "-o", "y.csv"]) == 0  # the remedy
    assert rows_of("y.csv").min() > 0.0
    assert capsys.readouterr().err.count("warning") == 0


def test_values_outside_are_not_written_by_a_map_for_other_rows(here, capsys):
    fitted = calibrators.adjust(np.full((4, 3), 1 / 3), [0.9, 0.05, 0.05], rule="brier")
    renamed = json.loads(fitted.to_json()) | {"classes": list(CLASSES)}
    (here / "map.json").write_text(json.dumps(renamed))
    assert run(["calibrate", "apply", "map.json", "f.csv", "-o", "x.csv"]) == 2
    message = capsys.readouterr().err
    assert "would leave [0, 1]" in message
    assert "--rule log" in message
    assert sorted(p.name for p in here.iterdir()) == ["f.csv", "map.json"]


def test_outputs_are_not_overwritten_unasked(here, capsys):
    (here / "x.map.json").write_text("mine")
    assert run(["adjust", "f.csv", "--to", "sample", "-o", "x.csv"]) == 2
    assert "x.map.json exists; --force" in capsys.readouterr().err
    assert (here / "x.map.json").read_text() == "mine"
    assert not (here / "x.csv").exists()
    assert run(["adjust", "f.csv", "--to", "sample", "-o", "x.csv", "--force"]) == 0


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        ("a,0.5\nb,0.5\n", "classes a, b, but the forecasts are for a, b, c"),
        ("a,0.5\nb,0.4\nc,0.2\n", "sum to 1.1"),
        ("a,0.5\nb,0.7\nc,-0.2\n", "not a probability"),
        ("a,0.5\nb,much\nc,0.2\n", "line 2"),
        ("a,0.5\na,0.3\nc,0.2\n", "is given twice"),
    ],
)
def test_bad_priors_are_refused(here, capsys, prior, words):
    (here / "prior.csv").write_text(prior)
    assert run(["adjust", "f.csv", "--to", "prior.csv", "-o", "x.csv"]) == 2
    assert words in capsys.readouterr().err
    assert not (here / "x.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--to", "nothing", "-o", "x.csv"], "no such file; give sample, uniform, em, bbse or a file"),
        (["--to", "sample", "-o", "x.xlsx"], "ends in .csv or .parquet"),
        (["--to", "sample", "--rule", "-2", "-o", "x.csv"], "r"),
        (["--to", "sample", "--rule", "spherical", "-o", "x.csv"], "power family"),
        (["--to", "sample", "--trained-on", "uniform", "-o", "x.csv"], "only the estimate of --to em"),
    ],
)
def test_bad_options_are_refused_before_the_work(here, capsys, arguments, words):
    assert run(["adjust", "f.csv", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert [p.name for p in here.iterdir()] == ["f.csv"]


def test_infeasible_targets_name_the_classes(here, capsys):
    pl.DataFrame({"label": ["a", "b"], "p_a": [1.0, 0.7], "p_b": [0.0, 0.3]}).write_csv("zeros.csv")
    (here / "prior.csv").write_text("a,0.2\nb,0.8\n")
    assert run(["adjust", "zeros.csv", "--to", "prior.csv", "-o", "x.csv"]) == 2
    assert "gives 0.8 to b, but only 0.5 of the rows" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["temperature", "isotonic", "bins", "vector", "best"])
def test_calibrate_fits_and_applies(here, forecasts, capsys, name):
    assert run(["calibrate", "fit", "f.csv", "--map", name, "-o", "m.json"]) == 0
    assert run(["calibrate", "apply", "m.json", "f.csv", "-o", "out.csv"]) == 0
    fitted = calibrators.from_json((here / "m.json").read_text())
    np.testing.assert_allclose(rows_of("out.csv"), fitted(forecasts.probabilities), atol=1e-12)
    assert "applied to 200 rows" in capsys.readouterr().err
    if name != "best":
        assert json.loads((here / "m.json").read_text())["map"] == name


def test_a_map_follows_class_names_not_columns(here, forecasts):
    assert run(["calibrate", "fit", "f.csv", "--map", "vector", "-o", "m.json"]) == 0
    pl.read_csv("f.csv").select("p_c", "label", "p_a", "p_b").write_csv("g.csv")
    for name in "fg":
        assert run(["calibrate", "apply", "m.json", f"{name}.csv", "-o", f"{name}_out.csv"]) == 0
    one, other = (pl.read_csv(f"{name}_out.csv") for name in "fg")
    for column in ("p_a", "p_b", "p_c"):
        np.testing.assert_allclose(one[column], other[column], atol=1e-15)


def test_calibrate_refuses_maps_that_do_not_fit(here, capsys):
    (here / "m.json").write_text("{}")
    assert run(["calibrate", "apply", "m.json", "f.csv", "-o", "x.csv"]) == 2
    assert "m.json: map: this is not a map" in capsys.readouterr().err
    pl.DataFrame({"y": [0, 1, 1], "p": [0.2, 0.6, 0.9]}).write_csv("two.csv")
    assert run(["calibrate", "fit", "two.csv", "--map", "platt", "-o", "two.json"]) == 0
    assert run(["calibrate", "apply", "two.json", "f.csv", "-o", "x.csv"]) == 2
    assert "the map is for classes" in capsys.readouterr().err
    assert run(["calibrate", "apply", "missing.json", "f.csv", "-o", "x.csv"]) == 2
    assert "missing.json" in capsys.readouterr().err
    pl.DataFrame({"y": [0, 1, 1], "m1": [0.2, 0.6, 0.9], "m2": [0.3, 0.5, 0.8]}).write_csv("several.csv")
    assert run(["calibrate", "fit", "several.csv", "--map", "platt", "-o", "s.json"]) == 2
    assert "2 models, m1, m2; a map belongs to one" in capsys.readouterr().err
    assert not (here / "x.csv").exists()


@pytest.fixture
def labelled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 400)
    y = np.array(CLASSES)[np.minimum((p.cumsum(axis=1) < rng.random((400, 1))).sum(axis=1), 2)]
    columns = {f"proba_{name}": p[:, j] for j, name in enumerate(CLASSES)}
    pl.DataFrame(columns | {"y": y}).write_csv("labelled.csv")
    pl.DataFrame({"id": [f"n{i}" for i in range(400)]} | columns).write_csv("new.csv")
    assert run(["calibrate", "fit", "labelled.csv", "--map", "temperature", "-o", "map.json"]) == 0
    return tmp_path


def test_a_map_is_applied_to_rows_without_outcomes(labelled, capsys):
    for name in ("labelled", "new"):
        assert run(["calibrate", "apply", "map.json", f"{name}.csv", "-o", f"{name}-mapped.csv"]) == 0
    assert "400 rows · no outcome · forecast proba_a proba_b proba_c · kept id" in capsys.readouterr().err
    new = pl.read_csv("new-mapped.csv")
    assert new.columns == ["id", "proba_a", "proba_b", "proba_c"]
    assert new["id"].to_list()[:2] == ["n0", "n1"]
    labelled_rows = pl.read_csv("labelled-mapped.csv")
    assert labelled_rows.columns == ["proba_a", "proba_b", "proba_c", "y"]
    np.testing.assert_allclose(new.drop("id").to_numpy(), labelled_rows.drop("y").to_numpy(), atol=1e-12)


def test_rows_without_outcomes_are_adjusted_to_given_frequencies(labelled, capsys):
    assert run(["adjust", "new.csv", "--to", "uniform", "-o", "even.parquet"]) == 0
    even = pl.read_parquet("even.parquet").drop("id")
    assert even.mean().row(0) == pytest.approx([1 / 3] * 3, abs=1e-9)
    assert run(["adjust", "new.csv", "--to", "em", "--trained-on", "uniform", "-o", "em.csv"]) == 0
    for options in (["--to", "sample"], ["--to", "em"]):
        assert run(["adjust", "new.csv", *options, "-o", "no.csv"]) == 2
        assert "no outcomes to count class frequencies from" in capsys.readouterr().err
        assert not (labelled / "no.csv").exists()


def test_one_column_without_outcomes_is_for_the_second_of_two_classes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    p = rng.random(300)
    pl.DataFrame({"risk": p, "died": (rng.random(300) < p).astype(int)}).write_csv("old.csv")
    pl.DataFrame({"patient": np.arange(100, 103), "risk": [0.2, 0.5, 0.9]}).write_csv("new.csv")
    assert run(["calibrate", "fit", "old.csv", "--map", "platt", "-o", "map.json"]) == 0
    assert run(["calibrate", "apply", "map.json", "new.csv", "-o", "out.csv"]) == 0
    out = pl.read_csv("out.csv")
    assert out.columns == ["patient", "risk"]
    fitted = calibrators.from_json((tmp_path / "map.json").read_text())
    assert out["risk"].to_list() == pytest.approx(fitted(np.array([0.2, 0.5, 0.9]))[:, 1].tolist(), rel=1e-15)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"proba_a": [0.5, 0.9], "proba_b": [0.5, 0.1], "y": ["a", "d"]}, "bad.csv"),
        ({"proba_a": [0.5, 0.9], "proba_b": [0.3, 0.1], "proba_c": [0.2, 0.1]}, "sum to one"),
        ({"proba_a": [0.5, 1.9], "proba_b": [0.3, -1.0], "proba_c": [0.2, 0.1]}, "bad.csv"),
        ({"proba_a": [0.5, 0.9], "proba_b": [0.5, 0.1]}, "bad.csv"),
        ({"proba_a": [0.5, None], "proba_b": [0.3, 0.5], "proba_c": [0.2, 0.5]}, "missing"),
        ({"p_true": [0.5, 0.9, 0.7]}, "only the probability of the outcome"),
    ],
)
def test_columns_that_are_no_forecasts_are_refused_without_outcomes(labelled, columns, said, capsys):
    pl.DataFrame(columns).write_csv("bad.csv")
    assert run(["calibrate", "apply", "map.json", "bad.csv", "-o", "no.csv"]) == 2
    assert said in capsys.readouterr().err
    assert not (labelled / "no.csv").exists()


def test_options_are_taken_or_refused_without_outcomes(labelled, capsys):
    assert run(["adjust", "new.csv", "--to", "uniform", "--weight", "proba_a", "-o", "no.csv"]) == 2
    assert not (labelled / "no.csv").exists()
    frame = pl.read_csv("new.csv").with_columns(pl.col("proba_a", "proba_b", "proba_c").round(2))
    frame.write_csv("rounded.csv")
    capsys.readouterr()
    assert run(["adjust", "rounded.csv", "--to", "uniform", "--normalise", "-o", "even.csv"]) == 0
    assert "rows did not sum to one and were rescaled" in capsys.readouterr().err
    pl.DataFrame({"x1": [0.1, 0.2, 0.9], "x2": [0.5, 0.6, 0.7]}).write_csv("features.csv")
    assert run(["adjust", "features.csv", "--to", "uniform", "--normalise", "-o", "no.csv"]) == 2


@pytest.mark.parametrize("option", ["--group", "--feature", "--ideal", "--cluster", "--time"])
def test_options_that_a_map_does_not_take_are_refused(here, capsys, option):
    assert run(["calibrate", "fit", "f.csv", "--map", "temperature", option, "p_a", "-o", "map.json"]) == 2
    assert f"{option} has no effect: a map is one for all rows" in capsys.readouterr().err
    assert not (here / "map.json").exists()


@pytest.mark.parametrize("option", ["--group", "--feature", "--ideal"])
def test_an_advised_map_takes_no_options_that_change_neither_verdict_nor_map(here, capsys, option):
    assert run(["calibrate", "fit", "f.csv", "--map", "advised", option, "p_a", "-o", "map.json"]) == 2
    assert f"{option} has no effect: a map is one for all rows" in capsys.readouterr().err


def test_frequencies_as_a_spreadsheet_writes_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.csv").write_text("y,p\n1,0.7\n0,0.2\n1,0.6\n0,0.3\n")
    outs = []
    for text in ("0,0.9\n1,0.1\n", "Klasse;Anteil\n0;0,9\n1;10 %\n", "class\tshare\n0\t90%\n1\t0.1\n"):
        (tmp_path / "prior.csv").write_text(text)
        assert run(["adjust", "f.csv", "--to", "prior.csv", "-o", "-"]) == 0
        outs.append(capsys.readouterr().out)
    assert outs[0] == outs[1] == outs[2]
    (tmp_path / "prior.csv").write_text("")
    assert run(["adjust", "f.csv", "--to", "prior.csv", "-o", "-"]) == 2
    assert "prior.csv: no class in it" in capsys.readouterr().err


@pytest.mark.parametrize(("rows", "said"), [(4, True), (60, False)])
def test_maps_of_few_cases_say_so(tmp_path, monkeypatch, capsys, rows, said):
    monkeypatch.chdir(tmp_path)
    text = "".join(f"{i % 2},{0.3 + 0.4 * (i % 3) / 2}\n" for i in range(rows))
    (tmp_path / "f.csv").write_text("y,p\n" + text)
    assert run(["calibrate", "fit", "f.csv", "--map", "platt", "-o", "m.json"]) == 0
    assert (f"{rows} cases: another sample" in capsys.readouterr().err) == said


def test_a_map_does_not_ask_for_clusters_that_it_refuses(tmp_path, capsys):
    rows = "".join(f"{int(i % 3 > 0)},{0.3 + 0.1 * (i % 5):.1f},{i // 4}\n" for i in range(120))
    (tmp_path / "x.csv").write_text(f"y,p,patient\n{rows}")
    assert run(["assess", str(tmp_path / "x.csv"), "--quiet", "--json", str(tmp_path / "x.json")]) == 0
    assert "add --cluster patient" in (tmp_path / "x.json").read_text()
    capsys.readouterr()
    assert run(["calibrate", "fit", str(tmp_path / "x.csv"), "--map", "platt", "-o", str(tmp_path / "map.json")]) == 0
    assert "--cluster" not in capsys.readouterr().err
