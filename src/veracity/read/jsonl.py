"""JSON lines: answer options with log-probabilities, log-probabilities of what happened, or a plain table."""

from __future__ import annotations

import gzip
import json
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from ..data import Finding
from . import text
from .files import Table, _columnar, of_frame
from .layouts import Layout
from .tokens import flat, frame_of, likelihood_key, likelihoods, log_of, token_key, tokens

OPTIONS = ("resps", "filtered_resps", "options", "choices")
PROBABILITIES = ("probs", "probabilities", "proba", "option_probs", "choice_probs")
ANSWERS = ("target", "answer", "label", "correct_answer", "gold")


def table_of(path: Path, shown: str) -> Table:
    """A JSON lines file; nested rows are flattened here, flat ones are read by polars."""
    rows = _rows(path, shown)
    first = next(rows, None)
    rows.close()
    if first is None:
        raise ValueError(f"{shown}: the file is empty\n  it needs one JSON object per line")
    row = first[1]
    options = next((key for key in OPTIONS if key in row and _is_options(row[key])), None)
    options = options or _beside_texts(row) or _probabilities(row)
    if options and any(key in row for key in ANSWERS):
        return _answers(path, shown, options)
    for key_of, read in ((likelihood_key, likelihoods), (token_key, tokens)):
        key = key_of(row)
        if key:
            return read(_rows(path, shown), shown, key)
    if first[0] == 1 and path.stat().st_size < text.IN_MEMORY:
        for _ in _rows(path, shown):  # a line that is no JSON is named by its number
            pass
    nested = [key for key, value in row.items() if isinstance(value, (list, dict))]
    if len(nested) == len(row):
        raise ValueError(
            f"{shown}: row {first[0]} holds nothing but lists and objects ({', '.join(nested[:4])})\n"
            "  write one object per line for each case, with numbers and words"
        )
    table = _columnar(pl.scan_ndjson(path, infer_schema_length=None).drop(nested, strict=False), shown)
    table.nested = tuple(nested)
    return table


def _beside_texts(row: dict[str, Any]) -> str | None:
    """Where the numbers of answer options stand whose texts are listed under another name."""
    texts = _texts(row)
    same = (key for key, value in row.items() if _is_options(value) and len(value) == len(texts))
    return next(same, None) if texts else None


def _probabilities(row: dict[str, Any]) -> str | None:
    """Where the numbers of options stand that are listed nowhere else; a list of log-probabilities is one of tokens."""
    named = next((key for key in PROBABILITIES if _is_options(row.get(key))), None)
    return named or next((k for k, v in row.items() if "logprob" in k and isinstance(v, dict) and _is_options(v)), None)


def _texts(row: dict[str, Any]) -> list[str]:
    """The texts of the answer options, where they are listed."""
    doc = row.get("doc")
    choices = doc.get("choices") if isinstance(doc, dict) else None
    if isinstance(choices, dict):
        choices = choices.get("text")
    listed = next((row[key] for key in OPTIONS if _is_texts(row.get(key))), choices)
    return [str(text).strip() for text in listed] if isinstance(listed, list) else []


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and len(value) >= 2 and all(isinstance(v, str) for v in value)


def _rows(path: Path, shown: str) -> Generator[tuple[int, dict[str, Any]], None, None]:
    number = 0
    for line in _lines(path):
        if not line.strip():
            continue
        number += 1
        try:
            row = json.loads(line)
        except json.JSONDecodeError as problem:
            if line.lstrip()[:1] == "[":
                raise ValueError(f"{shown}: a JSON array\n  write one object per line (JSON lines)") from None
            raise ValueError(f"{shown}: row {number} is no JSON ({problem.msg})\n  one object per line") from None
        if not isinstance(row, dict):
            raise ValueError(f"{shown}: row {number} is no JSON object\n  write one object per line (JSON lines)")
        yield number, row


def _lines(path: Path) -> Iterator[str]:
    with path.open("rb") as file:
        magic = file.read(4)
    if magic == b"\x28\xb5\x2f\xfd":
        yield from pl.read_lines(path).to_series()
        return
    compressed = magic[:2] == b"\x1f\x8b"
    with gzip.open(path, "rt", encoding="utf-8-sig") if compressed else path.open(encoding="utf-8-sig") as lines:
        yield from lines


def _is_options(value: Any) -> bool:
    held = list(value.values()) if isinstance(value, dict) else value
    return isinstance(held, list) and len(held) >= 2 and all(log_of(v) is not None for v in held)


def _answers(path: Path, shown: str, key: str) -> Table:
    """Log-probabilities per answer option with the right answer: one column per option, missing where not offered."""
    made: list[dict[str, Any]] = []
    names: dict[str, None] = {}
    answer = ""
    for number, row in _rows(path, shown):
        value = row.get(key)
        if value is None or not _is_options(value):
            raise ValueError(
                f"{shown}: row {number}: `{key}` holds no numbers for at least two options\n"
                "  each option needs its log-probability"
            )
        held = value if isinstance(value, dict) else {str(i): v for i, v in enumerate(value)}
        answer = next((name for name in ANSWERS if name in row), "")
        right = _right(row.get(answer), list(held), row)
        if right is None:
            raise ValueError(
                f"{shown}: row {number}: `{answer or 'target'}` = {row.get(answer)!r} is none of the options "
                f"{', '.join(held)}\n"
                "  the right answer is the number (from 0), the letter or the name of an option"
            )
        names |= dict.fromkeys(held)
        beside = {k: v for k, v in flat(row).items() if k != answer}
        made.append(beside | {f"{key}.{name}": log_of(v) for name, v in held.items()} | {answer: right})
    columns = tuple(f"{key}.{name}" for name in names)
    frame = frame_of(made)
    values = frame.select(columns)
    low = min(values[c].min() for c in columns)  # type: ignore[type-var]
    as_given = low >= 0 and "logit" not in key.lower()  # type: ignore[operator]
    findings = () if as_given else (Finding.of("softmax"),)
    labels = tuple(names)
    from .reading import labels_of

    layout = Layout(
        "lm-eval",
        (("", columns),),
        labels_of(labels),
        answer,
        labels=labels,
        scale="probability" if as_given else "logit",
        why="probabilities per option (rule 1)" if as_given else "log-probabilities per option (rule 1)",
        outcome_note=f"up to {len(labels)} options",
        model_column="model" if "model" in frame.columns and frame["model"].n_unique() > 1 else None,
        unused=tuple((c, "") for c in frame.columns if c not in (*columns, answer)),
        findings=findings,
    )
    return of_frame(frame, shown, "file", preset=layout)


def _right(value: Any, options: list[str], row: dict[str, Any]) -> str | None:
    """The option that is right, by name, by number, or by the text of the choices."""
    if isinstance(value, bool) or value is None:
        return None
    text = str(value).strip()
    if text in options:
        return text
    if isinstance(value, float) and value.is_integer() and str(int(value)) in options:
        return str(int(value))
    texts = _texts(row)
    if text in texts and texts.index(text) < len(options):
        return options[texts.index(text)]
    if len(text) == 1 and text.isalpha() and options[0] == "0":
        place = ord(text.upper()) - ord("A")
        return options[place] if place < len(options) else None
    if text.isdigit() and int(text) < len(options) and not any(o.isdigit() for o in options):
        return options[int(text)]
    return None
