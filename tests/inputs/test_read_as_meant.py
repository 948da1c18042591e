"""Files that could be read in two ways are read as they were meant, or refused."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import veracity as vc
from tests.inputs.corpus.shapes import ANIMALS, K, P, Q, Y, classes, csv, lines, named
from veracity import read
from veracity.cli import run
from veracity.inputs import Forecasts
from veracity.options import ReadOptions
from veracity.records.layout import Classes


@pytest.fixture
def rounded():
    """Four classes, the last of which never happened, rounded to two decimals: many rows do not sum to one."""
    rng = np.random.default_rng(0)
    p = np.round(rng.dirichlet(np.ones(4), 300), 2)
    return p, rng.integers(0, 3, 300)


@pytest.mark.parametrize("names", [["prob_A", "prob_B", "prob_C", "prob_D"], ["p1", "p2", "p3", "p4"]])
def test_a_class_that_never_happened_keeps_its_column(tmp_path, rounded, names):
    """Without it the others summed to one even less, and rescaled they were other forecasts."""
    p, y = rounded
    labels = [name[-1] for name in names]
    frame = pl.DataFrame({name: p[:, j] for j, name in enumerate(names)} | {"y": [labels[j] for j in y]})
    frame.write_csv(tmp_path / "f.csv")
    with pytest.raises(ValueError, match=rf"{names[-1]}, but \d+ of 300 rows do not sum to one"):
        read.read(tmp_path / "f.csv")
    (held,) = read.read(tmp_path / "f.csv", ReadOptions(normalise=True)).values()
    assert [str(c) for c in held.classes] == labels
    assert held.matrix == pytest.approx(p / p.sum(axis=1, keepdims=True), abs=1e-12)


def test_rounded_percentages_are_read_as_such(tmp_path, rounded):
    p, y = rounded
    names = ["prob_A", "prob_B", "prob_C", "prob_D"]
    frame = pl.DataFrame({name: 100 * p[:, j] for j, name in enumerate(names)} | {"y": [list("ABC")[j] for j in y]})
    frame.write_csv(tmp_path / "f.csv")
    (held,) = read.read(tmp_path / "f.csv", ReadOptions(scale="percent", normalise=True)).values()
    assert held.matrix == pytest.approx(p / p.sum(axis=1, keepdims=True), abs=1e-12)


def test_a_label_without_a_column_is_named(tmp_path):
    (tmp_path / "f.csv").write_text("y,p_a,p_b,p_c\na,0.5,0.3,0.2\nb,0.5,0.3,0.2\nd,0.1,0.1,0.8\n")
    with pytest.raises(ValueError, match="row 3, `y` = d: none of the classes a, b, c"):
        read.read(tmp_path / "f.csv")


def test_a_column_that_is_no_class_stays_out(tmp_path, rounded):
    p, y = rounded
    p = p[:, :3] / p[:, :3].sum(axis=1, keepdims=True)
    p[0] *= 0.97
    columns = {f"p_{name}": p[:, j] for j, name in enumerate("abc")}
    frame = pl.DataFrame(columns | {"p_value": np.linspace(0.2, 0.9, 300), "y": [list("abc")[j] for j in y]})
    frame.write_csv(tmp_path / "f.csv")
    (held,) = read.read(tmp_path / "f.csv", ReadOptions(normalise=True)).values()
    assert [str(c) for c in held.classes] == ["a", "b", "c"]


def test_two_matrices_are_one_too_many(tmp_path):
    p, y = np.full((6, 3), 1 / 3), np.array([0, 1, 2] * 2)
    np.savez(tmp_path / "two.npz", y=y, first=p, second=p)
    with pytest.raises(ValueError, match="2 matrices, first, second"):
        read.read(tmp_path / "two.npz")


@pytest.mark.parametrize("answers", [["B", "C"], [1, 2], ["dog", "eel"]])
@pytest.mark.parametrize("texts", ["options", "choices"])
def test_numbers_next_to_the_texts_of_options_are_read(tmp_path, answers, texts):
    """They had been taken for the tokens of an answer that was given."""
    numbers = [[-0.9, -0.5, -4.5], [-1.3, -2.2, -0.4]]
    rows = [
        {texts: ["cat", "dog", "eel"], "logprobs": logs, "answer": answer}
        for logs, answer in zip(numbers * 5, answers * 5, strict=True)
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    (held,) = read.read(tmp_path / "a.jsonl").values()
    assert held.outcomes[:2].tolist() == [1, 2]
    shares = np.exp(numbers)
    assert held.matrix[:2] == pytest.approx(shares / shares.sum(axis=1, keepdims=True))


def test_cells_too_coarse_for_the_losses_are_reported():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([0.3] * 3, 3000)
    y = np.minimum((p.cumsum(axis=1) < rng.random((3000, 1))).sum(axis=1), 2)
    for name, told in (("bins", True), ("temperature", False)):
        a = vc.assess(y, p, map=name)
        assert abs(a.losses("log").readings()["remainder"]) > 0.0
        assert ("coarse_cells" in {finding["code"] for finding in json.loads(a.to_json())["findings"]}) == told


def test_class_columns_without_outcomes_are_reported(tmp_path):
    pl.DataFrame({"proba_a": [0.5, 0.2], "proba_b": [0.3, 0.2], "proba_c": [0.2, 0.6]}).write_csv(tmp_path / "f.csv")
    with pytest.raises(ValueError, match="proba_a proba_b proba_c, but no column holds outcomes of these classes"):
        read.read(tmp_path / "f.csv")


@pytest.mark.parametrize("words", [("nein", "ja"), ("no event", "event"), ("no", "yes"), ("-1", "1")])
def test_arrays_know_the_event_by_its_word(words: tuple[str, str]) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(50)
    y = (rng.random(50) < p).astype(int)
    f = Forecasts.of(np.array(words)[y], p)
    assert f.classes == words
    assert f.outcomes.tolist() == y.tolist()
    assert f.findings == ()


@pytest.mark.parametrize("kind", ["list", "object", "logs"])
def test_probabilities_of_options_by_their_name(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(4), 40)
    y = rng.integers(0, 4, 40)
    named = [[dict(zip("ABCD", row, strict=True)) for row in rows.tolist()] for rows in (p, np.log(p))]
    rows = {
        "list": lambda i: {"id": i, "probs": p[i].tolist(), "label": int(y[i])},
        "object": lambda i: {"id": i, "probabilities": named[0][i], "label": "ABCD"[y[i]]},
        "logs": lambda i: {"logprobs": named[1][i], "answer": "ABCD"[y[i]]},
    }[kind]
    path = tmp_path / "options.jsonl"
    path.write_text("".join(json.dumps(rows(i)) + "\n" for i in range(40)))
    (f,) = read.read(path).values()
    np.testing.assert_allclose(f.matrix, p, rtol=1e-12)
    assert f.outcomes.tolist() == y.tolist()


@pytest.mark.parametrize("more", [[], ["--id", "id"], ["--engine", "local"], ["--id", "id", "--engine", "local"]])
def test_models_are_compared_by_their_own_picks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    for name in ("a", "b"):
        sure = rng.uniform(0.4, 1.0, 200)
        right = (rng.random(200) < sure).tolist()
        lines = [{"id": i, "confidence": c, "correct": r} for i, (c, r) in enumerate(zip(sure, right, strict=True))]
        Path(f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run(["compare", "a.jsonl", "b.jsonl", *more]) == 0
    assert "200 " in capsys.readouterr().err.splitlines()[-1]


def test_percentages_of_several_models_get_a_command_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    p = rng.integers(0, 101, (60, 2))
    outbreak = (100 * rng.random(60) < p[:, 0]).astype(int)  # a column without relation to them is not suggested
    pl.DataFrame({"outbreak": outbreak, "Anna": p[:, 0], "Ben": p[:, 1]}).write_csv("pct.csv")
    for more in ([], ["--scale", "percent"]):
        assert run(["compare", "pct.csv", *more]) == 2
        remedy = capsys.readouterr().err.splitlines()[-1].partition(":  veracity ")[2]
        assert remedy == "compare pct.csv --label outbreak --positive-proba Anna,Ben --scale percent"
    assert run(remedy.split()) == 0


@pytest.mark.parametrize("rows", [30, 60_000])
def test_unconverted_columns_are_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """What a text is converted from stays beside it, out of sight of the rules, however long the file is."""
    monkeypatch.setattr("veracity.read.text.IN_MEMORY", 1000)
    rng = np.random.default_rng(0)
    chance = rng.random(rows).round(3)
    died, site = (rng.random(rows) < chance).astype(int), ["a", "b", "c"] * (rows // 3)
    frame = pl.DataFrame({"died": died, "chance": chance, "site": site})
    frame.write_csv(tmp_path / "f.csv")
    frame.with_columns(pl.col("died").cast(pl.String).cast(pl.Categorical)).write_parquet(tmp_path / "f.parquet")
    for name in ("f.csv", "f.parquet"):
        for where in ((), ("site=a",)):
            layout = read.recognise(tmp_path / name, ReadOptions(where=where))
            assert layout.outcome == "died"
            assert [unused.column for unused in layout.unused] == ["site"]


def test_models_that_repeat_a_case_are_read_together(tmp_path: Path) -> None:
    row = {"question": "q", "answer": "B", "options": {"A": -1.0, "B": -0.2}}
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row | {"model": f"m{i % 2}"}) + "\n" for i in range(6)))
    (found,) = read.read(tmp_path / "x.jsonl").values()
    assert len(found) == 6


def test_a_file_needs_a_name() -> None:
    with pytest.raises(ValueError, match=r"^a file without a name\n"):
        read.read("")


def test_a_class_that_never_happened(tmp_path: Path) -> None:
    seen = named(ANIMALS, np.minimum(K, 1))
    for names in (["p_cat", "p_dog", "p_fox"], ["cat", "dog", "fox"]):
        (tmp_path / "x.csv").write_text(csv(label=seen, **dict(zip(names, Q.T, strict=True))))
        layout = read.recognise(tmp_path / "x.csv")
        assert layout.classes == ("cat", "dog", "fox")
        assert layout.meaning == Classes(("cat", "dog", "fox"), never=("fox",))


def test_rounding_above_one_can_be_rescaled(tmp_path: Path) -> None:
    above = np.array(Q)
    above[0] = [1.0000001, 0, 0]
    (tmp_path / "x.csv").write_text(csv(label=named(ANIMALS), **classes("p_", above)))
    (found,) = read.read(tmp_path / "x.csv", ReadOptions(normalise=True)).values()
    assert found.matrix[0].tolist() == [1.0, 0.0, 0.0]


def test_the_event_is_printed(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(
        pl.DataFrame({"kind": np.where(Y, "spam", "ham"), "p_spam": P, "p_ham": 1 - P}).write_csv()
    )
    assert read.recognise(tmp_path / "x.csv").one_line().endswith("· event = ham (--positive spam for the other)")


def test_frequencies_with_numbers_of_cases_count_the_cases(tmp_path: Path) -> None:
    header, forecast, cases = "p,event_rate,cases", [0.1, 0.3, 0.7], [11, 30, 17]
    events = [1, 10, 12]
    rates = [f"{e / n:.3f}" for e, n in zip(events, cases, strict=True)]
    (tmp_path / "x.csv").write_text(lines(header, forecast, rates, cases))
    with pytest.raises(ValueError, match=r"the number of cases of each row is needed.\n  choose:  --count cases$"):
        read.read(tmp_path / "x.csv")
    (found,) = read.read(tmp_path / "x.csv", ReadOptions(count="cases")).values()
    assert found.weights is None
    assert found.counts is not None
    assert found.counts.tolist() == [1, 10, 10, 20, 12, 5]
    (tmp_path / "x.csv").write_text(lines(header, forecast, rates, [12, 30, 17]))
    with pytest.raises(ValueError, match=r"row 1, `event_rate` of 12 cases is 1.092 events: not a whole number."):
        read.read(tmp_path / "x.csv", ReadOptions(count="cases"))
