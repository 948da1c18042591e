"""JSON lines: nested rows are flattened by the layout that knows them, flat ones are read by polars.

Log-probabilities of outcomes are one of a whole answer, or one of each token.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from ..data import Finding
from . import layouts, text
from .files import _columnar
from .match import Match
from .table import ROW, Table, of_frame

Row = dict[str, Any]
Rows = Iterator[tuple[int, Row]]

REPLIES = ((), ("response", "body"), ("response",))  # a reply as it came, in a file of a batch's results, in a log
LIKELIHOODS = ("resps", "filtered_resps")
STAND_IN = -9999.0  # written instead of a log-probability for a token that was not among the likeliest


def table_of(path: Path, shown: str) -> Table:
    """Return a JSON lines file as a table."""
    number, first = next(_rows(path, shown), (0, None))
    if first is None:
        raise ValueError(f"{shown}: the file is empty\n  it needs one JSON object per line")
    nested = [key for key, value in first.items() if isinstance(value, (list, dict))]
    for name, layout in layouts.by_precedence().items() if nested else ():
        flatten = getattr(layout, "flatten", None)
        table: Table | None = flatten(partial(_rows, path, shown), shown, first) if flatten else None
        if table is not None:
            table.preset = replace(table.preset, layout=name) if table.preset else None
            return table
    if number == 1 and path.stat().st_size < text.IN_MEMORY:
        for _ in _rows(path, shown):  # a line that is no JSON is named by its number
            pass
    if len(nested) == len(first):
        raise ValueError(
            f"{shown}: row {number} holds nothing but lists and objects ({', '.join(nested[:4])})\n"
            "  write one object per line for each case, with numbers and words"
        )
    lazy = pl.scan_ndjson(path, infer_schema_length=None)
    found = lazy.collect_schema().names()  # in any order: that of the first record is the file's
    names = [*(name for name in first if name in found), *sorted(set(found) - set(first))]
    table = _columnar(lazy.select(name for name in names if name not in nested), shown)
    table.nested = tuple(nested)
    return table


def _rows(path: Path, shown: str) -> Rows:
    number = 0
    for line in text.lines(path, "utf-8-sig", shown):
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


def log_of(value: Any) -> float | None:
    """Return the log-probability in a value, however wrapped: -1.2, "-1.2", [[-1.2, false]], {"logprob": -1.2}."""
    while isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict):
        value = value.get("logprob")
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, str) and re.fullmatch(r"-?(\d+(\.\d*)?([eE][+-]?\d+)?|inf)", value.strip()):
        return float(value)
    return None


def flat(row: Row) -> Row:
    """Return the entries of a row that a table can hold."""
    return {name: value for name, value in row.items() if not isinstance(value, (list, dict))}


def frame_of(rows: list[Row]) -> pl.DataFrame:
    """Return rows as a frame; where one name holds values of several types, all of them as text."""
    kinds: dict[str, set[type]] = {}
    for row in rows:
        for name, value in row.items():
            kinds.setdefault(name, set()).add(type(value))
    numbers = {int, float, type(None)}
    mixed = [name for name, found in kinds.items() if len(found - {type(None)}) > 1 and not found <= numbers]
    if mixed:
        rows = [row | {n: str(row[n]) for n in mixed if row.get(n) is not None} for row in rows]
    return pl.DataFrame(rows, infer_schema_length=None)


# -------------------------------------------------------------------- one log-likelihood of each answer


def likelihood_key(row: Row) -> str | None:
    """Return the key of a single log-likelihood, as a harness writes it: [[[-1.2, false]]], of a text [[-90.5]]."""
    return next((key for key in LIKELIHOODS if key in row and _likelihood(row, key) is not None), None)


def _likelihood(row: Row, key: str) -> float | None:
    held = row.get(key)
    while isinstance(held, list) and len(held) == 1:
        held = held[0]
    if isinstance(held, list) and len(held) == 2 and str(held[1]) in ("True", "False"):
        return log_of(held[0]) if not isinstance(held[0], list) else None
    # words that a model wrote may be a number too; the likelihood of a text comes with its perplexity
    perplexity = any(name.endswith("perplexity") for name in row)
    if isinstance(held, (list, dict)):
        return None
    return log_of(held) if perplexity or not isinstance(held, str) else None


def likelihoods(rows: Rows, shown: str, key: str) -> Table:
    """Return a table with the log-likelihood of the right answer in each row."""
    made: list[Row] = []
    for place, row in rows:
        found = _likelihood(row, key)
        if found is None:
            raise ValueError(
                f"{shown}: row {place}: `{key}` holds not one log-likelihood, as row 1 does\n"
                "  every row needs one; rows of other tasks belong into other files"
            )
        made.append(flat(row) | {key: found})
    frame = frame_of(made)
    match = Match(
        (("", (key,)),),
        scale="log",
        why="log-likelihood of the right answer only (rule 1): it cannot be compared with frequencies",
        findings=(Finding.of("summed_tokens"),),
    )
    return of_frame(frame, shown, "file", preset=match)


# -------------------------------------------------------------------- one log-probability of each token


def token_key(row: Row) -> str | None:
    """Return the path of the token log-probabilities in a row, such as choices[].logprobs.content."""
    found = _answers(row)
    return found[0] if found else None


def _answers(row: Row) -> tuple[str, list[Row]] | None:
    """Return their path, and the object of each answer: a reply may have several."""
    for outer in REPLIES:
        held: Any = row
        for name in outer:
            held = held.get(name) if isinstance(held, dict) else None
        if not isinstance(held, dict):
            continue
        choices = held.get("choices")
        several = isinstance(choices, list) and bool(choices) and all(isinstance(c, dict) for c in choices)
        answers = choices if isinstance(choices, list) and several else [held]
        keys = {_key(answer) for answer in answers}
        if len(keys) == 1 and None not in keys:
            return ".".join([*outer, *(["choices[]"] if several else []), str(keys.pop())]), answers
    return None


def _key(answer: Row) -> str | None:
    inner = answer.get("logprobs")
    for name in ("token_logprobs", "logprobs"):
        if isinstance(answer.get(name), list):
            return name
    for name in ("content", "token_logprobs"):
        if isinstance(inner, dict) and isinstance(inner.get(name), list):
            return f"logprobs.{name}"
    return None


def _tokens(answer: Row) -> tuple[list[Any], int]:
    """Return the tokens of an answer, and for how many of them alternatives are given."""
    holder, _, name = str(_key(answer)).rpartition(".")
    inner = answer[holder] if holder else answer
    listed = [inner.get("top_logprobs") or (), [t.get("top_logprobs") for t in inner[name] if isinstance(t, dict)]]
    return inner[name], sum(bool(others) for each in listed for others in each)


def tokens(rows: Rows, shown: str, key: str) -> Table:
    """Return a table with one row per token, numbered by the row of its answer; the first token has no probability."""
    made: list[Row] = []
    places: list[int] = []
    missing = answers = total = alternatives = 0
    for place, row in rows:
        found = _answers(row)
        if found is None or found[0] != key:
            raise ValueError(
                f"{shown}: row {place}: `{key}` holds no list\n  every row needs one: leave out replies without"
            )
        kept = {name: value for name, value in flat(row).items() if name != key}
        for answer in found[1]:
            held, others = _tokens(answer)
            answers, total, alternatives = answers + 1, total + len(held), alternatives + others
            for value in held:
                log_p = log_of(value)
                if log_p is not None:
                    made.append(kept | {key: log_p})
                    places.append(place)
                elif value is None or (isinstance(value, dict) and value.get("logprob", 0) is None):
                    missing += 1
                else:
                    raise ValueError(
                        f"{shown}: row {place}: {value!r} in `{key}` is no log-probability\n"
                        "  each token needs a number, or null where there is none"
                    )
    if not made:
        raise ValueError(f"{shown}: no log-probability in `{key}`\n  there is nothing to assess")
    frame = frame_of(made).with_columns(pl.Series(ROW, places))
    columns = tuple(c for c in frame.columns if c != ROW)
    values = frame[key]
    stand_ins = int((values == STAND_IN).sum())
    findings = [Finding.of("first_tokens", missing, total)] if missing else []
    findings += [Finding.of("dependent_tokens", len(made), answers)] if len(made) > answers else []
    findings += [Finding.of("own_tokens")] if key.endswith("content") else []
    findings += [Finding.of("stand_ins", stand_ins, len(made))] if stand_ins else []
    findings += [Finding.of("other_tokens", alternatives, total)] if alternatives else []
    # probabilities under a name of logarithms are taken as what they are; none is below 0, and not all are 0
    chances = bool((values >= 0).all() and (values > 0).any())
    match = Match(
        (("", (key,)),),
        scale="probability" if chances else "log",
        why=f"log-probability of each token (rule 8): {answers:,} answers, {len(made):,} tokens; the unit is a token",
        findings=tuple(findings),
    )
    sample = frame.drop(ROW)
    return Table(shown, "file", frame.lazy(), columns, frame.height, sample, True, numbered=True, preset=match)
