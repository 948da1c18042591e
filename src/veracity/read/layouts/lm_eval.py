"""JSON lines of log-probabilities, or probabilities, per answer option with the right answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...data import Finding, Forecasts
from ..build import ModelRows, prepared
from ..columns import Columns
from ..jsonl import Row, Rows, flat, frame_of, log_of
from ..match import Match
from ..options import labels_of
from ..table import Table, of_frame

RULE = 1
OPTIONS = ("resps", "filtered_resps", "options", "choices")
PROBABILITIES = ("probs", "probabilities", "proba", "option_probs", "choice_probs")
ANSWERS = ("target", "answer", "label", "correct_answer", "gold")


def match(columns: Columns) -> Match | None:
    """JSON lines that were flattened here."""
    if columns.forced and columns.table.preset is None:
        raise columns.error(
            "no log-probabilities of answer options here.", "lm-eval is a layout of JSON lines (resps and target)"
        )
    return columns.preset()


def build(rows: ModelRows) -> Forecasts:
    given = {} if rows.options.id else {"case": None}
    return prepared(rows, rows.outcomes(), absent=True, **given)


def flatten(rows: Callable[[], Rows], name: str, first: Row) -> Table | None:
    """Return one column per option, missing where it was not offered."""
    key = _key(first)
    if key is None or not any(answer in first for answer in ANSWERS):
        return None
    made: list[Row] = []
    options: dict[str, None] = {}
    answer = ""
    for number, row in rows():
        value = row.get(key)
        if value is None or not _is_options(value):
            raise ValueError(
                f"{name}: row {number}: `{key}` holds no numbers for at least two options\n"
                "  each option needs its log-probability"
            )
        held = value if isinstance(value, dict) else {str(i): v for i, v in enumerate(value)}
        answer = next((a for a in ANSWERS if a in row), "")
        right = _right(row.get(answer), list(held), row)
        if right is None:
            raise ValueError(
                f"{name}: row {number}: `{answer or 'target'}` = {row.get(answer)!r} is none of the options "
                f"{', '.join(held)}\n"
                "  the right answer is the number (from 0), the letter or the name of an option"
            )
        options |= dict.fromkeys(held)
        others = {k: v for k, v in flat(row).items() if k != answer}
        made.append(others | {f"{key}.{option}": log_of(v) for option, v in held.items()} | {answer: right})
    columns = tuple(f"{key}.{option}" for option in options)
    frame = frame_of(made)
    as_given = min(frame[c].min() for c in columns) >= 0 and "logit" not in key.lower()  # type: ignore[operator, type-var]
    labels = tuple(options)
    match = Match(
        (("", columns),),
        labels_of(labels),
        answer,
        labels=labels,
        scale="probability" if as_given else "logit",
        model_column="model" if "model" in frame.columns and frame["model"].n_unique() > 1 else None,
        findings=() if as_given else (Finding.of("softmax"),),
        undivided=True,
        why="probabilities per option (rule 1)" if as_given else "log-probabilities per option (rule 1)",
        outcome_note=f"up to {len(labels)} options",
    )
    return of_frame(frame, name, "file", preset=match)


def _key(row: Row) -> str | None:
    """Return the key of the numbers of the options."""
    key = next((key for key in (*OPTIONS, *PROBABILITIES) if _is_options(row.get(key))), None)
    texts = _texts(row)
    if key not in OPTIONS and texts:  # numbers under another name than the texts of the options
        key = next((k for k, v in row.items() if _is_options(v) and len(v) == len(texts)), key)
    # a list of log-probabilities is one of tokens, an object is one of options
    return key or next((k for k, v in row.items() if "logprob" in k and isinstance(v, dict) and _is_options(v)), None)


def _is_options(value: Any) -> bool:
    held = list(value.values()) if isinstance(value, dict) else value
    return isinstance(held, list) and len(held) >= 2 and all(log_of(v) is not None for v in held)


def _texts(row: Row) -> list[str]:
    """Return the texts of the answer options, where they are listed."""
    doc = row.get("doc")
    choices = doc.get("choices") if isinstance(doc, dict) else None
    if isinstance(choices, dict):
        choices = choices.get("text")
    listed = next((row[key] for key in OPTIONS if _is_texts(row.get(key))), choices)
    return [str(text).strip() for text in listed] if isinstance(listed, list) else []


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and len(value) >= 2 and all(isinstance(v, str) for v in value)


def _right(value: Any, options: list[str], row: Row) -> str | None:
    """Return the right option, by name, by number, or by the text of the choices."""
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
