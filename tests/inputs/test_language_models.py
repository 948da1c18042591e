"""Logs of language models, each in the shape that its tool writes, give the probabilities of the options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.inputs import lm_logs as lm
from veracity import read as reading
from veracity.cli import run
from veracity.inputs import Forecasts
from veracity.read import ReadOptions, read, recognise
from veracity.read import open as open_source


def one(path: Path, **options: Any) -> Forecasts:
    (found,) = read(path, ReadOptions(**options)).values()
    return found


def wrote(folder: Path, name: str, text: str) -> Path:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


def archive(folder: Path, name: str, samples: list[Any], **how: bool) -> Path:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    lm.inspect_archive(folder / name, samples, **how)
    return folder / name


SAMPLES = [lm.sample(i) for i in range(lm.N)]

OPTIONS: dict[str, Any] = {
    "lm-evaluation-harness": lambda d: wrote(d, "samples_mmlu_2025-11-18T01-02-03.jsonl", lm.lines(lm.harness())),
    "Inspect archive": lambda d: archive(d, "2025-11-18_mmlu.eval", SAMPLES),
    "Inspect archive in Zstandard": lambda d: archive(d, "2025-11-18_mmlu.eval", SAMPLES, zstandard=True),
    "Inspect archive of samples in several files": lambda d: archive(d, "x.eval", SAMPLES, chunked=True),
    "lm-evaluation-harness with mutual information": lambda d: wrote(d, "x.jsonl", lm.lines(lm.mutual_information())),
    "Inspect document": lambda d: wrote(d, "log.json", lm.inspect_document(SAMPLES)),
    "Inspect document in one line": lambda d: wrote(d, "log.json", lm.inspect_document(SAMPLES, None)),
    "chat completions": lambda d: wrote(d, "batch.jsonl", lm.lines(lm.chat())),
    "older completions": lambda d: wrote(d, "replies.jsonl", lm.lines(lm.completions())),
    "array of replies": lambda d: wrote(d, "replies.json", json.dumps(lm.chat())),
}


@pytest.mark.parametrize("kind", OPTIONS)
def test_probabilities_of_options(kind: str, tmp_path: Path) -> None:
    found = one(OPTIONS[kind](tmp_path))
    np.testing.assert_allclose(found.matrix, lm.Q, rtol=1e-12)
    np.testing.assert_array_equal(found.outcomes, lm.K)


@pytest.mark.parametrize("kind", OPTIONS)
def test_many_rows_are_held_in_parts(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same forecasts if only seven flattened rows are held at once, and read in batches."""
    monkeypatch.setattr(reading.nested_rows, "CHUNK", 7)
    monkeypatch.setattr(reading.nested_rows, "SLICE", 3)
    source = open_source(OPTIONS[kind](tmp_path))
    parts = [f for part in source.parts() for batch in source.batches(part, rows=11) for f in batch.forecasts]
    assert len(parts) > 5
    np.testing.assert_allclose(np.concatenate([f.matrix for f in parts]), lm.Q, rtol=1e-12)
    np.testing.assert_array_equal(np.concatenate([np.asarray(f.outcomes) for f in parts]), lm.K)


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("lm-evaluation-harness", "doc.subject"),
        ("Inspect archive", "metadata.subject"),
        ("Inspect archive of samples in several files", "metadata.subject"),
    ],
)
def test_subjects_are_groups(kind: str, column: str, tmp_path: Path) -> None:
    found = one(OPTIONS[kind](tmp_path), group=column)
    assert found.groups[column].tolist() == [lm.SUBJECTS[i % 2] for i in range(lm.N)]


def test_helm_gives_the_pick_and_its_confidence(tmp_path: Path) -> None:
    found = one(wrote(tmp_path, "per_instance_stats.json", lm.helm()))
    assert found.picks_only
    np.testing.assert_array_equal(found.positive, lm.Q.max(axis=1))
    np.testing.assert_array_equal(found.outcomes, lm.PICKS == lm.K)


SAYINGS = [
    lambda p: f"Confidence: {p}",
    lambda p: f"Confidence: {p}%",
    lambda p: f"I am confident: 0.{p:02d}",
    lambda p: f"certainty {p} out of 100",
]


@pytest.mark.parametrize("say", SAYINGS)
def test_stated_confidences_of_inspect(say: Any, tmp_path: Path) -> None:
    percent = np.clip((100 * lm.Q.max(axis=1)).astype(int), 2, 99)
    path = archive(tmp_path, "x.eval", [lm.sample(i, say(percent[i])) for i in range(lm.N)])
    found = one(path)
    np.testing.assert_allclose(found.positive, percent / 100, rtol=1e-12)
    np.testing.assert_array_equal(found.outcomes, lm.PICKS == lm.K)


def test_answers_without_a_confidence_are_counted(tmp_path: Path) -> None:
    said = ["Confidence: 80" if i % 8 else "No idea." for i in range(lm.N)]
    path = archive(tmp_path, "x.eval", [lm.sample(i, said[i]) for i in range(lm.N)])
    with pytest.raises(ValueError) as error:
        read(path)
    assert str(error.value) == (
        "x.eval: `confidence` 10 of 80 values are missing (first: row 1).\n  leave these rows out:  --missing drop"
    )
    found = one(path, missing="drop")
    assert len(found) == 70
    assert "confidences in words: 70 of 80 values" in " ".join(f.message for f in found.findings)


def test_options_that_were_not_listed_share_what_is_left(tmp_path: Path) -> None:
    found = one(wrote(tmp_path, "x.jsonl", lm.lines(lm.chat(listed=2))))
    assert {"likely_tokens", "unlisted_options"} <= {f.code for f in found.findings}
    listed = np.sort(lm.Q, axis=1)[:, 2:]
    left = np.minimum((1 - listed.sum(axis=1)) / 2, listed[:, 0])
    total = listed.sum(axis=1) + 2 * left
    np.testing.assert_allclose(found.matrix.max(axis=1), listed[:, 1] / total, rtol=1e-9)
    np.testing.assert_allclose(found.matrix.min(axis=1), left / total, rtol=1e-9)


def test_replies_that_are_no_answer_are_counted_and_left_out(tmp_path: Path) -> None:
    path = wrote(tmp_path, "x.jsonl", lm.lines([*lm.chat()[:6], lm.aside(), *lm.chat()[6:]]))
    found = one(path, missing="drop")
    np.testing.assert_allclose(found.matrix, lm.Q, rtol=1e-12)
    assert "1 of 81 replies are no answer: left out" in [f.message for f in found.findings]
    assert [found.row(i) for i in (5, 6)] == [6, 8]


def test_questions_with_different_numbers_of_options(tmp_path: Path) -> None:
    rows = lm.harness()
    for row in rows[::2]:
        row["resps"] = row["resps"][:3]
    kept = [row for row in rows if int(row["target"]) < len(row["resps"])]
    found = one(wrote(tmp_path, "x.jsonl", lm.lines(kept)))
    assert found.offered is not None
    assert set(found.offered.sum(axis=1)) == {3, 4}
    np.testing.assert_allclose(found.matrix.sum(axis=1), 1.0, rtol=1e-12)


def test_tokens_are_grouped_by_answer(tmp_path: Path) -> None:
    rows = [{"id": i, "token_logprobs": [-0.1 * (i + 1)] * 3} for i in range(20)]
    found = one(wrote(tmp_path, "x.jsonl", lm.lines(rows)))
    assert found.clusters is not None
    assert len(np.unique(found.clusters)) == 20
    assert "dependent_tokens" in {f.code for f in found.findings}


FOLDERS: dict[str, Any] = {
    "Inspect": lambda d, q: archive(d, f"{d.name}.eval", [lm.sample(i, q=q) for i in range(lm.N)]),
    "harness": lambda d, q: wrote(d, "samples_mmlu_2025.jsonl", lm.lines(lm.harness(q))),
    "HELM": lambda d, q: wrote(d, "per_instance_stats.json", lm.helm(q)),
}


@pytest.mark.parametrize("kind", FOLDERS)
def test_a_folder_of_models_is_compared(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = 0.5 * lm.Q + 0.125
    for name, q in (("gpt-x", lm.Q), ("gpt-y", other)):
        FOLDERS[kind](tmp_path / "runs" / name, q)
        wrote(tmp_path, f"runs/{name}/results_2025.json" if kind != "HELM" else f"runs/{name}/stats.json", "{}")
    monkeypatch.chdir(tmp_path)
    assert run(["compare", "runs", "--json", "out.json"]) == 0, capsys.readouterr().err
    assert list(json.loads(Path("out.json").read_text())["models"]) == ["gpt-x", "gpt-y"]


REFUSED: dict[str, tuple[Any, str]] = {
    "no probabilities": (
        lambda d: archive(d, "x.eval", [lm.sample(i, "That is it.") for i in range(9)]),
        "x.eval: no probabilities: neither log-probabilities of the options nor a stated confidence\n"
        "  run the evaluation with --logprobs --top-logprobs 20, or ask the model for its confidence",
    ),
    "no samples": (
        lambda d: archive(d, "x.eval", []),
        "x.eval: no samples in this archive\n  an Inspect log (.eval) holds samples/*.json",
    ),
    "statistics without probabilities": (
        lambda d: wrote(d, "x.json", lm.helm().replace("max_prob", "f1_score")),
        "x.json: statistics per instance without probabilities\n"
        "  max_prob with exact_match (multiple choice), or logprob (language modelling) is needed",
    ),
    "another document": (
        lambda d: wrote(d, "x.json", '{\n"a": 1,\n"b": 2\n}'),
        "x.json: a JSON document that is no log\n  write one object per line (JSON lines)",
    ),
    "an answer that is no option": (
        lambda d: wrote(d, "x.jsonl", lm.lines([*lm.chat()[:6], lm.aside(), *lm.chat()[6:]])),
        "x.jsonl: 1 of 81 replies are no answer: none of the options A, B, C, D is among their likely tokens "
        "(first: row 7).\n  leave these rows out:  --missing drop",
    ),
    "nested too deeply": (
        lambda d: wrote(d, "x.jsonl", '{"a": ' + "[" * 10_000 + "]" * 10_000 + "}\n"),
        "x.jsonl: row 1 is nested too deeply\n  a row holds numbers, words and short lists",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused(kind: str, tmp_path: Path) -> None:
    make, message = REFUSED[kind]
    with pytest.raises(ValueError) as error:
        recognise(make(tmp_path))
    assert str(error.value) == message
