"""Answers of language models, in the shapes that evaluation tools and interfaces write."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.inputs import lm_logs as lm

from .shapes import THREE, TWO, K, N, P, Q, Shape, Y, loss, named, percent, records, words

FOUR = loss(lm.Q, lm.K)
PICKED = loss(lm.Q.max(axis=1), lm.PICKS == lm.K)
RESPS = "resps.0 resps.1 resps.2 resps.3"
LETTERS = "option.A option.B option.C option.D"
OTHER = 0.5 * lm.Q + 0.125
SAMPLES = [lm.sample(i) for i in range(lm.N)]
TOKENS = [[None, *(-0.1 * (1 + (7 * i + j) % 30) for j in range(4))] for i in range(30)]
TOKEN_LOSS = -float(np.mean([x for row in TOKENS for x in row[1:]]))
STATED = np.clip((100 * lm.Q.max(axis=1)).astype(int), 2, 99)
STATED_LOSS = loss(STATED / 100, lm.PICKS == lm.K)
NAMES = list("abc")


def archive(samples: list[lm.Row], **how: bool) -> bytes:
    """Return an Inspect archive."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.eval"
        lm.inspect_archive(path, samples, **how)
        return path.read_bytes()


def rows(make: Any) -> str:
    return lm.lines([make(i) for i in range(N)])


SHAPES = [
    Shape(
        "lm-evaluation-harness: samples of a multiple-choice task",
        {"samples_mmlu_2025-11-18T01-02-03.jsonl": lm.lines(lm.harness())},
        "lm-eval",
        "target",
        RESPS,
        (FOUR,),
    ),
    Shape(
        "lm-evaluation-harness, by subject",
        {"s.jsonl": lm.lines(lm.harness())},
        "lm-eval",
        "target",
        RESPS,
        (FOUR,),
        command="assess s.jsonl --group doc.subject",
    ),
    Shape(
        "lm-evaluation-harness with mutual information: answers alone follow",
        {"s.jsonl": lm.lines(lm.mutual_information())},
        "lm-eval",
        "target",
        RESPS,
        (FOUR,),
    ),
    Shape(
        "lm-evaluation-harness: a folder for each model",
        {"runs/a/samples_mmlu.jsonl": lm.lines(lm.harness()), "runs/b/samples_mmlu.jsonl": lm.lines(lm.harness(OTHER))},
        "lm-eval",
        "target",
        RESPS,
        (FOUR, loss(OTHER, lm.K)),
        command="compare runs/a runs/b",
    ),
    Shape(
        "lm-evaluation-harness: log-likelihood of one answer (lambada)",
        {
            "s.jsonl": rows(
                lambda i: {
                    "doc_id": i,
                    "target": " word",
                    "resps": [[[str(float(np.log(P[i]))), "True"]]],
                    "filtered_resps": [[str(float(np.log(P[i]))), "True"]],
                    "acc": 1.0,
                    "perplexity": float(np.log(P[i])),
                }
            )
        },
        "realised",
        "",
        "resps",
        (float(-np.mean(np.log(P))),),
    ),
    Shape(
        "Inspect: .eval archive with top_logprobs", {"x.eval": archive(SAMPLES)}, "lm-eval", "target", LETTERS, (FOUR,)
    ),
    Shape(
        "Inspect: .eval archive compressed with Zstandard",
        {"x.eval": archive(SAMPLES, zstandard=True)},
        "lm-eval",
        "target",
        LETTERS,
        (FOUR,),
    ),
    Shape(
        "Inspect: .eval archive with samples in several files",
        {"x.eval": archive(SAMPLES, chunked=True)},
        "lm-eval",
        "target",
        LETTERS,
        (FOUR,),
    ),
    Shape("Inspect: .json log", {"log.json": lm.inspect_document(SAMPLES)}, "lm-eval", "target", LETTERS, (FOUR,)),
    Shape(
        "Inspect: stated confidences",
        {"x.eval": archive([lm.sample(i, f"Confidence: {STATED[i]}%") for i in range(lm.N)])},
        "top",
        "correct",
        "confidence",
        (STATED_LOSS,),
    ),
    Shape(
        "Inspect: some answers without a confidence",
        {"x.eval": archive([lm.sample(i, f"Confidence: {STATED[i]}%" if i % 8 else "No idea.") for i in range(lm.N)])},
        "top",
        "correct",
        "confidence",
        (loss(STATED[np.arange(lm.N) % 8 > 0] / 100, (lm.PICKS == lm.K)[np.arange(lm.N) % 8 > 0]),),
        says=(
            "x.eval: `confidence` 10 of 80 values are missing (first: row 1).\n  leave these rows out:  --missing drop"
        ),
        remedy="--missing drop",
    ),
    Shape(
        "Inspect: neither log-probabilities nor confidences",
        {"x.eval": archive([lm.sample(i, "That is it.") for i in range(9)])},
        says=(
            "x.eval: no probabilities: neither log-probabilities of the options nor a stated "
            "confidence\n"
            "  run the evaluation with --logprobs --top-logprobs 20, or ask the model for its "
            "confidence"
        ),
    ),
    Shape(
        "OpenAI batch: chat completions with top_logprobs and a target",
        {"batch.jsonl": lm.lines(lm.chat())},
        "lm-eval",
        "target",
        LETTERS,
        (FOUR,),
    ),
    Shape(
        "OpenAI batch with a reply that is no answer",
        {"batch.jsonl": lm.lines([*lm.chat()[:6], lm.aside(), *lm.chat()[6:]])},
        "lm-eval",
        "target",
        LETTERS,
        (FOUR,),
        says=(
            "batch.jsonl: 1 of 81 replies are no answer: none of the options A, B, C, D is among "
            "their likely tokens (first: row 7).\n"
            "  leave these rows out:  --missing drop"
        ),
        remedy="--missing drop",
    ),
    Shape(
        "older completions: top_logprobs as objects",
        {"replies.jsonl": lm.lines(lm.completions())},
        "lm-eval",
        "answer",
        LETTERS,
        (FOUR,),
    ),
    Shape(
        "HELM: per_instance_stats.json",
        {"per_instance_stats.json": lm.helm()},
        "top",
        "exact_match",
        "max_prob",
        (PICKED,),
    ),
    Shape(
        "HELM: a folder for each model",
        {"runs/a/per_instance_stats.json": lm.helm(), "runs/b/per_instance_stats.json": lm.helm(OTHER)},
        "top",
        "exact_match",
        "max_prob",
        (PICKED, loss(OTHER.max(axis=1), lm.PICKS == lm.K)),
        command="compare runs/a runs/b",
    ),
    Shape(
        "HELM: statistics without probabilities",
        {"per_instance_stats.json": lm.helm().replace("max_prob", "f1_score")},
        says=(
            "per_instance_stats.json: statistics per instance without probabilities\n"
            "  max_prob with exact_match (multiple choice), or logprob (language modelling) is "
            "needed"
        ),
    ),
    Shape(
        "log-probabilities of named options",
        {
            "a.jsonl": rows(
                lambda i: {
                    "id": i,
                    "answer": NAMES[K[i]],
                    "options": dict(zip(NAMES, np.log(Q[i]).tolist(), strict=True)),
                }
            )
        },
        "lm-eval",
        "answer",
        "options.a options.b options.c",
        (THREE,),
    ),
    Shape(
        "texts of options beside their log-probabilities",
        {
            "a.jsonl": rows(
                lambda i: {
                    "choices": ["cat", "dog", "eel"],
                    "logprobs": np.log(Q[i]).tolist(),
                    "answer": ["cat", "dog", "eel"][K[i]],
                }
            )
        },
        "lm-eval",
        "answer",
        "logprobs.0 logprobs.1 logprobs.2",
        (THREE,),
    ),
    Shape(
        "probabilities of options in a list",
        {"a.jsonl": rows(lambda i: {"probs": Q[i].tolist(), "label": int(K[i])})},
        "lm-eval",
        "label",
        "probs.0 probs.1 probs.2",
        (THREE,),
    ),
    Shape(
        "questions with three or four options",
        {
            "a.jsonl": lm.lines(
                [
                    row | {"resps": row["resps"][: 3 + i % 2]}
                    for i, row in enumerate(lm.harness())
                    if int(row["target"]) < 3
                ]
            )
        },
        "lm-eval",
        "target",
        RESPS,
        (
            float(
                np.mean(
                    [
                        -np.log(q[k] / q[: 3 + i % 2].sum())
                        for i, (q, k) in enumerate(zip(lm.Q, lm.K, strict=True))
                        if k < 3
                    ]
                )
            ),
        ),
    ),
    Shape(
        "token log-probabilities of answers",
        {"t.jsonl": lm.lines([{"id": i, "token_logprobs": row} for i, row in enumerate(TOKENS)])},
        "realised",
        "",
        "token_logprobs",
        (TOKEN_LOSS,),
    ),
    Shape(
        "token log-probabilities, by answer",
        {"t.jsonl": lm.lines([{"id": i, "token_logprobs": row} for i, row in enumerate(TOKENS)])},
        "realised",
        "",
        "token_logprobs",
        (TOKEN_LOSS,),
        command="assess t.jsonl --cluster id",
    ),
    Shape(
        "chat tokens without a target",
        {"t.jsonl": lm.lines(lm.chat(target=False))},
        "realised",
        "",
        "response.body.choices[].logprobs.content",
        (float(-np.mean(np.log(lm.Q.max(axis=1)))),),
    ),
    Shape(
        "verbalised confidences: 85%",
        {"v.csv": "correct,confidence\n" + "".join(f"{y},{p}\n" for y, p in zip(Y, percent(P), strict=True))},
        "top",
        "correct",
        "confidence",
        (TWO,),
    ),
    Shape(
        "verbalised confidences: sentences",
        {"v.jsonl": records(correct=Y, confidence=[f"Confidence: {100 * p:.1f}" for p in P])},
        "top",
        "correct",
        "confidence",
        (TWO,),
    ),
    Shape(
        "verbalised confidences, some without a number",
        {
            "v.jsonl": records(
                correct=Y,
                confidence=["rather sure" if i % 10 == 3 else f"I am {100 * p:.1f}% sure" for i, p in enumerate(P)],
            )
        },
        "top",
        "correct",
        "confidence",
        (loss(P[np.arange(N) % 10 != 3], Y[np.arange(N) % 10 != 3]),),
        says=(
            "v.jsonl: 12 of 120 values of `confidence` state no confidence (first: row 4, "
            "'rather sure').\n"
            "  leave these rows out:  --missing drop"
        ),
        remedy="--missing drop",
    ),
    Shape(
        "answer, right answer and confidence",
        {
            "q.jsonl": records(
                question=[f"q{i}" for i in range(N)],
                correct_answer=named("ABC"),
                model_answer=named("ABC", Q.argmax(axis=1)),
                confidence=Q.max(axis=1),
            )
        },
        "top",
        "correct_answer",
        "confidence",
        (loss(Q.max(axis=1), Q.argmax(axis=1) == K),),
    ),
    Shape(
        "a judge's verdict and its probability",
        {"q.jsonl": records(prompt=[f"p{i}" for i in range(N)], label=words("fail", "pass"), p_pass=P)},
        "binary",
        "label",
        "p_pass",
        (TWO,),
        says=(
            "q.jsonl: outcome `label` holds fail and pass; which one does `p_pass` forecast?   "
            "--positive fail   or   --positive pass"
        ),
        remedy="--positive pass",
    ),
    Shape(
        "rows that hold nested values nobody knows",
        {
            "n.jsonl": "".join(
                json.dumps({"id": i, "logprobs": {"words": [{"logprob": -0.1}]}}) + "\n" for i in range(3)
            )
        },
        says=(
            "n.jsonl: one column `id`, no outcome and no probability.\n"
            '  nested values are not read (logprobs): options are "options": {"A": -1.2, …} with '
            '"answer", tokens "token_logprobs": [-0.5, …] or "logprobs": {"content": '
            '[{"logprob": -0.5}, …]}'
        ),
    ),
    Shape(
        "a JSON document that is no log",
        {"d.json": '{\n"a": 1,\n"b": 2\n}'},
        says=("d.json: a JSON document that is no log\n  write one object per line (JSON lines)"),
    ),
    Shape(
        "a line that is no JSON",
        {"d.jsonl": '{"y": 1, "p": 0.5}\n{oops\n'},
        says=("d.jsonl: row 2 is no JSON (Expecting property name enclosed in double quotes)\n  one object per line"),
    ),
    Shape(
        "a row for every option, marked correct or not",
        {
            "o.csv": "question_id,option,probability,correct\n"
            + "".join(f"{i},{'ABC'[j]},{Q[i, j]:.6f},{int(j == K[i])}\n" for i in range(N) for j in range(3))
        },
        says=(
            "o.csv: one row per case and class: `probability` sums to one over the rows of each `question_id`.\n"
            "  name the class `predicted_label`, its probability `predicted`, and give the right class of the case in "
            "each of its rows as `observed`"
        ),
    ),
]
