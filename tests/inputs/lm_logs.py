"""Logs of language models as the tools write them: lm-evaluation-harness, Inspect, HELM, OpenAI-style replies.

Q are the probabilities of four options, K the right ones.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

N = 80
_RNG = np.random.default_rng(0)
Q = _RNG.dirichlet([1.0] * 4, N)
K = np.array([int(_RNG.choice(4, p=q)) for q in Q])
PICKS = Q.argmax(axis=1)
LETTERS = "ABCD"
SUBJECTS = ["law", "physics"]

Row = dict[str, Any]


def lines(rows: list[Row]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def harness(q: Any = Q) -> list[Row]:
    """Rows of samples_<task>_<date>.jsonl that lm-evaluation-harness writes with --log_samples."""
    return [
        {
            "doc_id": i,
            "doc": {
                "question": "why? " * 100,
                "subject": SUBJECTS[i % 2],
                "choices": list("wxyz"),
                "answer": int(K[i]),
            },
            "target": str(K[i]),
            "arguments": {f"gen_args_{j}": {"arg_0": "context", "arg_1": f" {c}"} for j, c in enumerate(LETTERS)},
            "resps": [[[str(float(np.log(p))), "False"]] for p in q[i]],
            "filtered_resps": [[str(float(np.log(p))), "False"] for p in q[i]],
            "filter": "none",
            "metrics": ["acc", "acc_norm"],
            "doc_hash": f"d{i}",
            "prompt_hash": f"p{i}",
            "target_hash": f"t{i}",
            "acc": float(PICKS[i] == K[i]),
            "acc_norm": float(PICKS[i] == K[i]),
        }
        for i in range(N)
    ]


def mutual_information() -> list[Row]:
    """Rows of a task with acc_mutual_info: the log-likelihoods of the answers alone follow those given the question."""
    rows = harness()
    for row in rows:
        alone = {f"gen_args_{4 + j}": {"arg_0": "", "arg_1": f" {c}"} for j, c in enumerate(LETTERS)}
        row["arguments"] |= alone
        for key in ("resps", "filtered_resps"):
            row[key] = [*row[key], *row[key][::-1]]
        row["metrics"].append("acc_mutual_info")
    return rows


def answer_token(q: Any, listed: int = 4) -> Row:
    """The token of an answer with its likely alternatives, as in chat completions."""
    order = np.argsort(-q)[:listed]
    top = [{"token": f" {LETTERS[j]}", "logprob": float(np.log(q[j])), "bytes": [32, 65 + int(j)]} for j in order]
    return {**top[0], "top_logprobs": top}


def chat(target: bool = True, listed: int = 4) -> list[Row]:
    """Results of a batch of chat completions with top_logprobs, the right answer added."""
    rows = []
    for i in range(N):
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": f" {LETTERS[PICKS[i]]}"},
            "logprobs": {"content": [answer_token(Q[i], listed)], "refusal": None},
            "finish_reason": "stop",
        }
        body = {"id": f"chatcmpl-{i}", "object": "chat.completion", "model": "gpt-x", "choices": [choice]}
        row = {"id": f"batch_{i}", "custom_id": f"q{i}", "response": {"status_code": 200, "body": body}, "error": None}
        rows.append(row | ({"target": LETTERS[K[i]]} if target else {}))
    return rows


def aside() -> Row:
    """A reply that is no option."""
    row = chat()[0]
    content = row["response"]["body"]["choices"][0]["logprobs"]["content"]
    content[0] = {"token": "Well", "logprob": -0.1, "top_logprobs": [{"token": "Well", "logprob": -0.1}]}
    return row


def completions() -> list[Row]:
    """Replies of the older completions interface: top_logprobs is an object for each token."""
    return [
        {
            "answer": LETTERS[K[i]],
            "choices": [
                {
                    "text": f" {LETTERS[PICKS[i]]}",
                    "logprobs": {
                        "tokens": [f" {LETTERS[PICKS[i]]}"],
                        "token_logprobs": [float(np.log(Q[i].max()))],
                        "top_logprobs": [{f" {LETTERS[j]}": float(np.log(Q[i][j])) for j in np.argsort(-Q[i])}],
                        "text_offset": [0],
                    },
                }
            ],
        }
        for i in range(N)
    ]


def sample(i: int, said: str | None = None, q: Any = Q) -> Row:
    """One sample of an Inspect log; `said`: a stated confidence instead of log-probabilities."""
    pick = LETTERS[int(q[i].argmax())]
    words = [
        {"token": t, "logprob": -0.01, "bytes": None, "top_logprobs": [{"token": t, "logprob": -0.01, "bytes": None}]}
        for t in ("ANS", "WER", ":")
    ]
    choice: Row = {
        "message": {"id": "m", "content": f"ANSWER: {pick}", "source": "generate", "role": "assistant"},
        "stop_reason": "stop",
    }
    if said is None:
        choice["logprobs"] = {"content": [*words, answer_token(q[i])]}
    else:
        choice["message"]["content"] += f"\n{said}"
    return {
        "id": i + 1,
        "epoch": 1,
        "input": "Which one?",
        "choices": list("wxyz"),
        "target": LETTERS[K[i]],
        "messages": [],
        "output": {"model": "openai/gpt-x", "choices": [choice], "usage": {"total_tokens": 9}},
        "scores": {"choice": {"value": "C" if pick == LETTERS[K[i]] else "I", "answer": pick, "explanation": "ANSWER"}},
        "metadata": {"subject": SUBJECTS[i % 2]},
        "store": {},
        "events": [],
    }


def inspect_archive(path: Path, samples: list[Row], zstandard: bool = False, chunked: bool = False) -> None:
    """Write an .eval archive: header, journal, summaries and one file per sample, or several (chunked)."""
    spec = {"version": 2, "eval": {"task": "mmlu", "model": "openai/gpt-x"}, "plan": {"steps": []}}
    members = {"_journal/start.json": json.dumps(spec)}
    for one in samples:
        name = f"samples/{one['id']}_epoch_{one['epoch']}"
        if chunked:
            shell = {key: value for key, value in one.items() if key not in ("messages", "events", "metadata")}
            members[f"{name}/sample.json"] = json.dumps(shell | {"message_refs": [[0, 1]]})
            members[f"{name}/metadata.json"] = json.dumps(one["metadata"])
            members[f"{name}/messages/0.json"] = json.dumps([{"role": "user", "content": "Which one?"}])
        else:
            members[f"{name}.json"] = json.dumps(one, indent=None if zstandard else 2)
    members |= {"_journal/summaries/1.json": "[]", "summaries.json": "[]", "header.json": json.dumps(spec)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED if zstandard else zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, _zstandard(text) if zstandard else text)
    if zstandard:  # the method is the same in all headers
        written = path.read_bytes()
        for signature, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
            for found in re.finditer(re.escape(signature), written):
                at = found.start() + place
                if written[at : at + 2] == b"\0\0":
                    written = written[:at] + b"\x5d\0" + written[at + 2 :]
        path.write_bytes(written)


def _zstandard(text: str) -> bytes:
    held = io.BytesIO()
    pl.DataFrame({"text": [text]}).write_csv(held, include_header=False, quote_style="never", compression="zstd")
    return held.getvalue()


def inspect_document(samples: list[Row], indent: int | None = 2) -> str:
    log = {"version": 2, "status": "success", "eval": {"task": "mmlu"}, "plan": {}, "results": {}, "samples": samples}
    return json.dumps(log, indent=indent)


def helm(q: Any = Q) -> str:
    """per_instance_stats.json of a multiple-choice scenario."""

    def stat(name: str, value: float) -> Row:
        more = {"sum": value, "sum_squared": value**2, "min": value, "max": value, "variance": 0.0, "stddev": 0.0}
        return {"name": {"name": name, "split": "test"}, "count": 1, "mean": value, **more}

    return json.dumps(
        [
            {
                "instance_id": f"id{i}",
                "train_trial_index": 0,
                "stats": [
                    stat("num_references", 4.0),
                    stat("max_prob", float(q[i].max())),
                    stat("exact_match", float(q[i].argmax() == K[i])),
                    stat("predicted_index", float(q[i].argmax())),
                ],
            }
            for i in range(N)
        ],
        indent=2,
    )
