"""Log-probabilities of outcomes in nested rows: one of a whole answer, or one of each token."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data import Finding
from .match import Match
from .rows import Row, Rows, Spool, flat, log_of
from .table import ROW, Table

REPLIES = ((), ("response", "body"), ("response",), ("output",))  # a reply, as batches and logs wrap it
LIKELIHOODS = ("resps", "filtered_resps")
STAND_IN = -9999.0  # written instead of a log-probability for a token that was not among the likeliest


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
    spool = Spool()
    for place, row in rows:
        found = _likelihood(row, key)
        if found is None:
            raise ValueError(
                f"{shown}: row {place}: `{key}` holds not one log-likelihood, as row 1 does\n"
                "  every row needs one; rows of other tasks belong into other files"
            )
        spool.add(flat(row) | {key: found})
    match = Match(
        (("", (key,)),),
        scale="log",
        why="log-likelihood of the right answer only (rule 1): it cannot be compared with frequencies",
        findings=(Finding.of("summed_tokens"),),
    )
    return spool.table(shown, match)


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


def _given(answer: Row) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the tokens of an answer, and the alternatives beside them and within them."""
    holder, _, name = str(_key(answer)).rpartition(".")
    inner = answer[holder] if holder else answer
    own = [token.get("top_logprobs") for token in inner[name] if isinstance(token, dict)]
    return inner[name], inner.get("top_logprobs") or [], own


def likely_tokens(row: Row) -> list[dict[str, float]]:
    """Return for each token of the first answer the likely tokens there with their log-probabilities, blanks apart."""
    found = _answers(row)
    if found is None:
        return []
    _, listed, own = _given(found[1][0])
    return [_alternatives(place) for place in listed or own if place]


def _alternatives(place: Any) -> dict[str, float]:
    """Return tokens without blanks around with their log-probabilities; those that are then the same are added."""
    pairs = place.items() if isinstance(place, dict) else ((t.get("token"), t.get("logprob")) for t in place)
    made: dict[str, float] = {}
    for token, value in pairs:
        log_p, bare = log_of(value), str(token).strip()
        if log_p is not None:
            made[bare] = log_p if bare not in made else float(np.logaddexp(made[bare], log_p))
    return made


def tokens(rows: Rows, shown: str, key: str) -> Table:
    """Return a table with one row per token, numbered by the row of its answer; the first token has no probability."""
    spool = Spool()
    missing = answers = total = alternatives = stand_ins = 0
    above, below = False, False
    for place, row in rows:
        found = _answers(row)
        if found is None or found[0] != key:
            raise ValueError(
                f"{shown}: row {place}: `{key}` holds no list\n  every row needs one: leave out replies without"
            )
        kept = {name: value for name, value in flat(row).items() if name != key}
        for answer in found[1]:
            held, listed, own = _given(answer)
            answers, total = answers + 1, total + len(held)
            alternatives += sum(map(bool, [*listed, *own]))
            for value in held:
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
    findings = [Finding.of("first_tokens", missing, total)] if missing else []
    findings += [Finding.of("dependent_tokens", spool.rows, answers)] if spool.rows > answers else []
    findings += [Finding.of("own_tokens")] if key.endswith("content") else []
    findings += [Finding.of("stand_ins", stand_ins, spool.rows)] if stand_ins else []
    findings += [Finding.of("other_tokens", alternatives, total)] if alternatives else []
    match = Match(
        (("", (key,)),),
        # probabilities under a name of logarithms are taken as what they are; none is below 0, and not all are 0
        scale="probability" if above and not below else "log",
        why=f"log-probability of each token (rule 8): {answers:,} answers, {spool.rows:,} tokens; the unit is a token",
        findings=tuple(findings),
    )
    return spool.table(shown, match, numbered=True)
