"""Logs of language models: one log-likelihood of each answer, or one log-probability of each token."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veracity import assess
from veracity.engines import Engine
from veracity.engines._compare import count_paired
from veracity.inputs import Forecasts
from veracity.read import Layout, ReadOptions, read, recognise
from veracity.read.pairing import Paired


def wrote(folder: Path, *rows: dict[str, Any], name: str = "x.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def one(path: Path, **options: Any) -> tuple[Layout, Forecasts]:
    reading = ReadOptions(**options)
    (f,) = read(path, reading).values()
    return recognise(path, reading), f


def codes(f: Forecasts) -> list[str]:
    return [finding.code for finding in f.findings]


def harness(likelihoods: Any, **more: Any) -> list[dict[str, Any]]:
    return [
        {"doc_id": i, "doc": {"text": "…"}, "target": f" word{i}", "resps": held, "acc": 1} | more
        for i, held in enumerate(likelihoods)
    ]


def content(*logs: float | None, **more: Any) -> dict[str, Any]:
    return {"logprobs": {"content": [{"token": "t", "logprob": log, **more} for log in logs]}}


# -------------------------------------------------------------------- one log-likelihood of each answer


@pytest.mark.parametrize("key", ["resps", "filtered_resps"])
@pytest.mark.parametrize(
    "held",
    [
        [[[[-1.25, True]]], [[[-3.5, False]]]],
        [[[["-1.25", "True"]]], [[["-3.5", "False"]]]],
        [[["-1.25", "True"]], [["-3.5", "False"]]],
        [[-1.25, True], [-3.5, False]],
    ],
)
def test_one_log_likelihood_per_answer_is_realised(held: Any, key: str, tmp_path: Path) -> None:
    rows = [{(key if k == "resps" else k): v for k, v in row.items()} for row in harness(held)]
    layout, f = one(wrote(tmp_path, *rows))
    assert layout.layout == "realised"
    assert f.log_realised is not None
    np.testing.assert_array_equal(f.log_realised, [-1.25, -3.5])
    assert f.outcomes is None
    assert f.case is None
    assert "log-likelihood of the right answer only (rule 1)" in layout.describe()
    assert "log-likelihood of the right answer only (rule 1)" in layout.one_line()
    assert codes(f) == ["summed_tokens"]
    assert assess(f).scores.perplexity == pytest.approx(np.exp((1.25 + 3.5) / 2), rel=1e-12)


def test_likelihood_of_whole_texts(tmp_path: Path) -> None:
    """Rolling log-likelihoods are bare, and so far below 0 that only their logarithm is a number."""
    rows = harness([[["-4123.25"]], [["-23.5"]]], word_perplexity=["-23.5", "7"])
    _, f = one(wrote(tmp_path, *rows))
    np.testing.assert_array_equal(f.log_realised, [-4123.25, -23.5])
    assert float(assess(f).scores.log_loss) == pytest.approx((4123.25 + 23.5) / 2, rel=1e-12)


def test_words_of_a_model_are_no_likelihoods(tmp_path: Path) -> None:
    """A generated answer may be a number."""
    with pytest.raises(ValueError, match=r"^x.jsonl: not clear which column is the outcome"):
        read(wrote(tmp_path, *harness([[["-42"]], [["7"]], [["7"]]])))


def test_two_options_are_not_one(tmp_path: Path) -> None:
    mixed = wrote(tmp_path, *harness([[[[-1.25, True]]], [[[-3.5, False]], [[-1.0, True]]]]))
    with pytest.raises(ValueError, match=r"^x.jsonl: row 2: `resps` holds not one log-likelihood, as row 1 does\n"):
        read(mixed)
    options = [[["-3.5", "False"], ["-1.0", "True"]]] * 3
    rows = [{"filtered_resps": held, "target": i % 2} for i, held in enumerate(options)]
    layout, f = one(wrote(tmp_path, *rows))
    assert layout.layout == "lm-eval"
    assert len(f) == 3


def test_values_of_several_kinds_are_kept(tmp_path: Path) -> None:
    """A target that is a number here and a word there is a word."""
    rows = harness([[[[-1.0, True]]]] * 3)
    rows[1]["target"], rows[2]["acc"] = 12, 0.5
    (f,) = read(wrote(tmp_path, *rows), ReadOptions(where=("target=12",))).values()
    assert len(f) == 1
    assert f.row(0) == 2


# -------------------------------------------------------------------- one log-probability of each token

SHAPES: dict[str, tuple[Any, str]] = {
    "chat": (lambda *logs: {"choices": [content(*logs)]}, "choices[].logprobs.content"),
    "bare": (lambda *logs: content(*logs), "logprobs.content"),
    "batch": (
        lambda *logs: {"response": {"status_code": 200, "body": {"choices": [content(*logs)]}}, "error": None},
        "response.body.choices[].logprobs.content",
    ),
    "older": (
        lambda *logs: {"choices": [{"text": "…", "logprobs": {"tokens": ["t"], "token_logprobs": list(logs)}}]},
        "choices[].logprobs.token_logprobs",
    ),
    "older, bare": (lambda *logs: {"logprobs": {"token_logprobs": list(logs)}}, "logprobs.token_logprobs"),
    "list": (lambda *logs: {"token_logprobs": list(logs)}, "token_logprobs"),
    "list of objects": (lambda *logs: {"logprobs": [{"logprob": log} for log in logs]}, "logprobs"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_token_logprobs_is_read(shape: str, tmp_path: Path) -> None:
    make, key = SHAPES[shape]
    layout, f = one(wrote(tmp_path, {"id": "a", **make(None, -0.5, -1.5)}, {"id": "b", **make(None, -2.0)}))
    assert layout.layout == "realised"
    assert layout.models[0][1] == (key,)
    np.testing.assert_array_equal(f.log_realised, [-0.5, -1.5, -2.0])
    assert f.case is not None
    assert f.case.tolist() == [1, 1, 2]
    assert [f.row(i) for i in range(3)] == [1, 1, 2]
    assert "2 answers, 3 tokens; the unit is a token" in layout.one_line()
    messages = {finding.code: finding.message for finding in f.findings}
    assert messages["first_tokens"].startswith("2 of 5 log-probabilities are missing (the first token has none)")
    assert messages["dependent_tokens"].startswith("3 tokens of 2 answers")
    assert ("own_tokens" in messages) == key.endswith("content")
    assert float(assess(f).scores.log_loss) == pytest.approx(4.0 / 3, rel=1e-12)


def test_alternatives_are_not_used(tmp_path: Path) -> None:
    others = [{"token": "u", "logprob": -9.0}]
    path = wrote(tmp_path, {"id": 1} | content(-0.5, -1.0, top_logprobs=others), {"id": 2} | content(-2.0))
    _, f = one(path)
    np.testing.assert_array_equal(f.log_realised, [-0.5, -1.0, -2.0])
    told = next(finding for finding in f.findings if finding.code == "other_tokens")
    assert told.message == "2 of 3 tokens come with alternatives (top_logprobs): not used"
    older = {"token_logprobs": [None, -0.5, -1.0], "top_logprobs": [None, {"t": -0.5}, {"t": -1.0}]}
    _, f = one(wrote(tmp_path, {"id": 1, "logprobs": older}))
    assert "2 of 3 tokens come with alternatives" in f.findings[-1].message


def test_all_choices_are_read(tmp_path: Path) -> None:
    layout, f = one(wrote(tmp_path, {"choices": [content(-0.5), content(-1.0, -2.0)]}))
    np.testing.assert_array_equal(f.log_realised, [-0.5, -1.0, -2.0])
    assert "2 answers, 3 tokens" in layout.describe()


def test_certain_tokens_are_logarithms_too(tmp_path: Path) -> None:
    """Nothing below 0 does not make 0 a probability; shares do."""
    _, f = one(wrote(tmp_path, content(0.0, 0.0)))
    np.testing.assert_array_equal(f.realised, [1.0, 1.0])
    _, f = one(wrote(tmp_path, {"token_logprobs": [0.25, 0.5]}))
    np.testing.assert_allclose(f.realised, [0.25, 0.5], rtol=1e-15)


def test_stand_ins_are_reported(tmp_path: Path) -> None:
    _, f = one(wrote(tmp_path, content(-9999.0, -0.5, -0.1)))
    told = next(finding for finding in f.findings if finding.code == "stand_ins")
    assert told.severity == "critical"
    assert told.message.startswith("1 of 3 log-probabilities are -9999")


def test_rows_that_hold_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^x.jsonl: row 2: `logprobs.content` holds no list\n"):
        read(wrote(tmp_path, content(-0.5), {"logprobs": {"content": None, "refusal": []}}))
    with pytest.raises(ValueError, match=r"^x.jsonl: row 1: 'no' in `token_logprobs` is no log-probability\n"):
        read(wrote(tmp_path, {"token_logprobs": [-0.5, "no"]}))


def test_models_are_compared_token_by_token(tmp_path: Path) -> None:
    """Answers meet by row or by id, and need the same tokens."""
    first = [{"id": "a"} | content(-0.5, -1.5), {"id": "b"} | content(-2.0)]
    other = [{"id": "a"} | content(-0.1, -0.2), {"id": "b"} | content(-0.3)]
    for name, rows in (("m", first), ("n", other), ("o", other[::-1])):
        wrote(tmp_path, *rows, name=f"{name}.jsonl")
    wrote(tmp_path, {"id": "a"} | content(-0.1), other[1], name="p.jsonl")

    def paired(*names: str, **options: Any) -> tuple[Any, str]:
        engine = Engine()
        sources = {name: engine.open(tmp_path / f"{name}.jsonl", ReadOptions(**options)) for name in names}
        counted, said = count_paired(engine, Paired(sources))
        return counted.tallies()[names[-1]].sums.rows, said

    assert paired("m", "n") == (3, "2 cases, paired by row")
    with pytest.raises(ValueError, match=r"^row 1: m and o have different numbers of log-probabilities"):
        paired("m", "o")
    assert paired("m", "o", id="id") == (3, "2 of 2 cases are in all 2 models")
    with pytest.raises(ValueError, match=r"^case a: m and p have different numbers of log-probabilities"):
        paired("m", "p", id="id")


def test_parts_of_one_set_keep_their_answers_apart(tmp_path: Path) -> None:
    """Row 1 of one file and row 1 of another are not one answer."""
    paths = [wrote(tmp_path, content(-0.5, -1.5), name=name) for name in ("a.jsonl", "b.jsonl")]
    (f,) = read(paths).values()
    assert f.case is not None
    assert len(np.unique(f.case)) == 2


def test_columns_with_a_role_are_used(tmp_path: Path) -> None:
    layout, _ = one(wrote(tmp_path, *harness([[[[-1.0, True]]]] * 3)), id="doc_id", group=("acc",))
    assert [unused.column for unused in layout.unused] == ["target", "doc.text"]


def test_conditions_and_groups_of_answers(tmp_path: Path) -> None:
    """Tokens keep the number of their answer where other answers are left out."""
    logs = ((-0.5, -1.5), (-9.0,), (-2.0,), (-0.25, -0.75))
    rows = [{"topic": "ab"[i == 1], "kind": "xy"[i % 2]} | content(*held) for i, held in enumerate(logs)]
    (f,) = read(wrote(tmp_path, *rows), ReadOptions(where=("topic=a",), group=("kind",))).values()
    np.testing.assert_array_equal(f.log_realised, [-0.5, -1.5, -2.0, -0.25, -0.75])
    assert [f.row(i) for i in range(5)] == [1, 1, 3, 4, 4]
    assert f.case is not None
    assert f.case.tolist() == [1, 1, 3, 4, 4]
    assert f.groups["kind"].tolist() == ["x", "x", "x", "y", "y"]
    (f,) = read(wrote(tmp_path, *rows[:3]), ReadOptions(where=("topic=a",))).values()
    assert [f.row(i) for i in range(3)] == [1, 1, 3]
