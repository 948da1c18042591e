"""Nested rows, such as those of JSON, on their way to a table, and the log-probabilities in them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from veracity.records import findings_of_input as of_input
from veracity.records.findings import Finding
from veracity.records.layout import Layout

from . import layouts
from .paths import Scratch
from .table import ROW, SLICE, SLICES, Table

Row = dict[str, Any]
Rows = Iterator[tuple[int, Row]]  # numbered from 1

CHUNK = 20_000  # flattened rows that are held at once
REPLIES = ((), ("response", "body"), ("response",), ("output",))  # a reply, as batches and logs wrap it
LIKELIHOODS = ("resps", "filtered_resps")
STAND_IN = -9999.0  # written instead of a log-probability for a token that was not among the likeliest
LONGEST = 200  # letters of a nested text that becomes a column, such as a subject; questions are longer


def flattened(rows: Callable[[], Rows], shown: str, first: Row, label: str | None = None) -> Table | None:
    """Return nested rows as the table of the layout that knows them; None if none does. `label`: the outcome given."""
    for name, layout in layouts.by_precedence().items():
        flatten = getattr(layout, "flatten", None)
        table: Table | None = flatten(rows, shown, first, label) if flatten else None
        if table is not None:
            table.preset = replace(table.preset, layout=name) if table.preset else None
            return table
    return None


def loads(written: str | bytes, where: str, remedy: str) -> Any:
    """Return the value of a JSON text, or raise with the place."""
    try:
        return json.loads(written, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as problem:
        raise ValueError(f"{where} is no JSON ({problem.msg})\n{remedy}") from None
    except ValueError as problem:
        raise ValueError(f"{where} cannot be read ({problem})\n  correct the value") from None
    except RecursionError:
        raise ValueError(f"{where} is nested too deeply\n  a row holds numbers, words and short lists") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> Row:
    """Return an object whose names differ: of one name with two values, readers take either."""
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"two values are called {next(name for name in names if names.count(name) > 1)}")
    return row


class Spool:
    """Flattened rows on their way to a table: some in memory, the others in files that live as long as the table."""

    def __init__(self) -> None:
        self.rows = 0
        self._held: list[Row] = []
        self._files: list[Scratch] = []

    def add(self, row: Row) -> None:
        self._held.append(row)
        self.rows += 1
        if len(self._held) == CHUNK:
            self._files.append(Scratch(".parquet"))
            frame_of(self._held).write_parquet(self._files[-1].path)
            self._held = []

    def table(self, shown: str, preset: Layout, numbered: bool = False) -> Table:
        """Return all rows as a table; numbered: a column ROW tells the row of the file."""
        last = frame_of(self._held) if self._held or not self._files else None
        frames = [pl.scan_parquet(file.path) for file in self._files] + ([last.lazy()] if last is not None else [])
        lazy = frames[0] if len(frames) == 1 else pl.concat(frames, how="diagonal_relaxed")
        whole = self.rows <= SLICES * SLICE
        sample = lazy.collect() if whole else lazy.head(SLICES * SLICE).collect()
        columns = tuple(name for name in sample.columns if name != ROW)
        lazy = sample.lazy() if whole else lazy
        table = Table(shown, "file", lazy, columns, self.rows, sample.select(columns), whole, numbered=numbered)
        table.preset, table.keep = preset, self._files
        return table


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
    """Return the entries of a row that a table can hold, and those of the objects in it: doc.subject."""
    entries = {name: value for name, value in row.items() if not isinstance(value, (list, dict))}
    for name, value in row.items():
        for key, entry in flat(value).items() if isinstance(value, dict) else ():
            if isinstance(entry, (int, float)) or (isinstance(entry, str) and len(entry) <= LONGEST):
                entries[f"{name}.{key}"] = entry
    return entries


def listed(row: Row, widths: Mapping[str, int]) -> Row:
    """Return the numbers of the lists of these lengths, each under a name of its own: probs_0, probs_1."""
    return {f"{name}_{i}": value for name, width in widths.items() for i, value in enumerate(row[name][:width])}


def widths_of(rows: Sequence[Row]) -> dict[str, int]:
    """Return the names that hold lists of numbers of one length in all rows, with that length."""
    widths: dict[str, int] = {}
    for name, first in rows[0].items():
        lists = [row.get(name) for row in rows] if isinstance(first, list) and len(first) > 1 else []
        if lists and all(isinstance(numbers_of, list) and len(numbers_of) == len(first) for numbers_of in lists):
            numbers = all(isinstance(x, (int, float)) for numbers_of in lists for x in numbers_of or ())
            widths |= {name: len(first)} if numbers else {}
    return widths


def frame_of(rows: Iterable[Row]) -> pl.DataFrame:
    """Return rows as a frame; where one name holds values of several types, all of them as text."""
    rows = list(rows)
    kinds: dict[str, set[type]] = {}
    for row in rows:
        for name, value in row.items():
            kinds.setdefault(name, set()).add(type(value))
    numbers = {int, float, type(None)}
    mixed = [name for name, types in kinds.items() if len(types - {type(None)}) > 1 and not types <= numbers]
    if mixed:
        rows = [row | {n: str(row[n]) for n in mixed if row.get(n) is not None} for row in rows]
    return pl.DataFrame(rows, infer_schema_length=None)


# -------------------------------------------------------------------- one log-likelihood of each answer


def likelihood_key(row: Row) -> str | None:
    """Return the key of a single log-likelihood, as a harness writes it: [[[-1.2, false]]], of a text [[-90.5]]."""
    return next((key for key in LIKELIHOODS if key in row and _likelihood(row, key) is not None), None)


def _likelihood(row: Row, key: str) -> float | None:
    entry = row.get(key)
    while isinstance(entry, list) and len(entry) == 1:
        entry = entry[0]
    if isinstance(entry, list) and len(entry) == 2 and str(entry[1]) in ("True", "False"):
        return log_of(entry[0]) if not isinstance(entry[0], list) else None
    # words that a model wrote may be a number too; the likelihood of a text comes with its perplexity
    perplexity = any(name.endswith("perplexity") for name in row)
    if isinstance(entry, (list, dict)):
        return None
    return log_of(entry) if perplexity or not isinstance(entry, str) else None


def likelihoods(rows: Rows, shown: str, key: str) -> Table:
    """Return a table with the log-likelihood of the right answer in each row."""
    spool = Spool()
    for place, row in rows:
        likelihood = _likelihood(row, key)
        if likelihood is None:
            raise ValueError(
                f"{shown}: row {place}: `{key}` holds not one log-likelihood, as row 1 does\n"
                "  every row needs one; rows of other tasks belong into other files"
            )
        spool.add(flat(row) | {key: likelihood})
    return spool.table(shown, of_likelihoods(key, "the right answer only"))


def of_likelihoods(key: str, text: str) -> Layout:
    """Return the match of a column of log-likelihoods of whole texts."""
    basis = f"log-likelihood of {text} (rule 1): it cannot be compared with frequencies"
    return Layout((("", (key,)),), scale="log", layout="realised", basis=basis, findings=(of_input.SummedTokens(),))


# -------------------------------------------------------------------- one log-probability of each token


def token_key(row: Row) -> str | None:
    """Return the path of the token log-probabilities in a row, such as choices[].logprobs.content."""
    reply = _answers(row)
    return reply[0] if reply else None


def _answers(row: Row) -> tuple[str, list[Row]] | None:
    """Return their path, and the object of each answer: a reply may have several."""
    for outer in REPLIES:
        reply: Any = row
        for name in outer:
            reply = reply.get(name) if isinstance(reply, dict) else None
        if not isinstance(reply, dict):
            continue
        choices = reply.get("choices")
        several = isinstance(choices, list) and bool(choices) and all(isinstance(c, dict) for c in choices)
        answers = choices if isinstance(choices, list) and several else [reply]
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


def _given(answer: Row) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the tokens of an answer, and the alternatives beside them and within them."""
    holder, _, name = str(_key(answer)).rpartition(".")
    inner = answer[holder] if holder else answer
    own = [token.get("top_logprobs") for token in inner[name] if isinstance(token, dict)]
    return inner[name], inner.get("top_logprobs") or [], own


def likely_tokens(row: Row) -> list[dict[str, float]]:
    """Return for each token of the first answer the likely tokens there with their log-probabilities, blanks apart."""
    reply = _answers(row)
    if reply is None:
        return []
    _, listed, own = _given(reply[1][0])
    return [_alternatives(place) for place in listed or own if place]


def _alternatives(place: Any) -> dict[str, float]:
    """Return tokens without blanks around with their log-probabilities; those that are then the same are added."""
    pairs = place.items() if isinstance(place, dict) else ((t.get("token"), t.get("logprob")) for t in place)
    by_token: dict[str, float] = {}
    for token, value in pairs:
        log_p, bare = log_of(value), str(token).strip()
        if log_p is not None:
            by_token[bare] = log_p if bare not in by_token else float(np.logaddexp(by_token[bare], log_p))
    return by_token


def tokens(rows: Rows, shown: str, key: str) -> Table:
    """Return a table with one row per token, numbered by the row of its answer; the first token has no probability."""
    spool = Spool()
    missing = answers = total = alternatives = stand_ins = 0
    above, below = False, False
    for place, row in rows:
        reply = _answers(row)
        if reply is None or reply[0] != key:
            raise ValueError(
                f"{shown}: row {place}: `{key}` holds no list\n  every row needs one: leave out replies without"
            )
        kept = {name: value for name, value in flat(row).items() if name != key}
        for answer in reply[1]:
            entries, listed, own = _given(answer)
            answers, total = answers + 1, total + len(entries)
            alternatives += sum(map(bool, [*listed, *own]))
            for value in entries:
                log_p = log_of(value)
                if log_p is not None:
                    spool.add(kept | {key: log_p, ROW: place})
                    above, below, stand_ins = above or log_p > 0, below or log_p < 0, stand_ins + (log_p == STAND_IN)
                elif value is None or (isinstance(value, dict) and value.get("logprob", 0) is None):
                    missing += 1
                else:
                    raise ValueError(
                        f"{shown}: row {place}: {value!r} in `{key}` is no log-probability\n"
                        "  each token needs a number, or null where there is none"
                    )
    if not spool.rows:
        raise ValueError(f"{shown}: no log-probability in `{key}`\n  there is nothing to assess")
    findings: list[Finding] = [of_input.FirstTokens(missing, total)] if missing else []
    findings += [of_input.DependentTokens(spool.rows, answers)] if spool.rows > answers else []
    findings += [of_input.OwnTokens()] if key.endswith("content") else []
    findings += [of_input.StandIns(stand_ins, spool.rows)] if stand_ins else []
    findings += [of_input.OtherTokens(alternatives, total)] if alternatives else []
    match = Layout(
        (("", (key,)),),
        # probabilities under a name of logarithms are taken as what they are; none is below 0, and not all are 0
        scale="probability" if above and not below else "log",
        basis=f"log-probability of each token (rule 8): {answers:,} answers, {spool.rows:,} tokens; the unit is a "
        "token",
        findings=tuple(findings),
    )
    return spool.table(shown, match, numbered=True)
