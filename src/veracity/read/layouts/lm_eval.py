"""Log-probabilities, or probabilities, per answer option with the right answer: objects, lists, or likely tokens."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from veracity.inputs import Forecasts
from veracity.records import findings_of_input as of_input
from veracity.records.findings import Finding, first_rows
from veracity.records.layout import Layout

from ..build import ModelRows, prepared
from ..free_columns import Columns
from ..nested_rows import Row, Rows, Spool, flat, likely_tokens, log_of
from ..patterns import labels_of
from ..table import ROW, Table

RULE = 1
OPTIONS = ("resps", "filtered_resps", "options", "choices")
PROBABILITIES = ("probs", "probabilities", "proba", "option_probs", "choice_probs")
ANSWERS = ("target", "gold", "correct_answer", "label", "answer")  # `answer` may be that of the model
MOST_TARGETS = 26  # different right answers that are taken for options


def match(columns: Columns) -> Layout | None:
    """JSON lines that were flattened here."""
    if columns.forced:
        raise columns.error(
            "no log-probabilities of answer options here.", "lm-eval is a layout of JSON lines (resps and target)"
        )
    return None


def build(rows: ModelRows) -> Forecasts:
    given = {} if rows.options.id else {"case": None}
    return prepared(rows, rows.outcomes(), absent=True, **given)


def flatten(rows: Callable[[], Rows], name: str, first: Row, label: str | None = None) -> Table | None:
    """Return one column per option, missing where it was not offered."""
    answers = (label,) if label else ANSWERS
    if not any(answer in first for answer in answers):
        return None
    key = _key(first)
    if key is None:
        return _of_likely_tokens(rows, name, first, answers)
    spool, options, answer = Spool(), dict[str, None](), ""
    low, models = math.inf, set()
    for number, row in rows():
        value = _by_label(_conditional(row.get(key), row))
        if value is None or not _is_options(value):
            raise ValueError(
                f"{name}: row {number}: `{key}` holds no numbers for at least two options\n"
                "  each option needs its log-probability"
            )
        numbers = value if isinstance(value, dict) else {str(i): v for i, v in enumerate(value)}
        answer = next((a for a in answers if a in row), "")
        right = _right(row.get(answer), list(numbers), row)
        if right is None:
            raise _no_option(name, number, answer, row.get(answer), list(numbers))
        options |= dict.fromkeys(numbers)
        others = {k: v for k, v in flat({k: v for k, v in row.items() if k != key}).items() if k != answer}
        logs = {f"{key}.{option}": log_of(v) for option, v in numbers.items()}
        low = min(low, *(v for v in logs.values() if v is not None))
        models.add(row.get("model"))
        spool.add(others | logs | {answer: right})
    as_given, basis = low >= 0 and "logit" not in key.lower(), "probabilities per option (rule 1)"
    more: dict[str, Any] = (
        {"scale": "probability", "basis": basis}
        if as_given
        else {"scale": "logit", "basis": f"log-{basis}", "in_logs": True}
    )
    more["findings"] = () if as_given else (of_input.Softmax(),)
    return spool.table(name, _match(key, options, answer, model_column="model" if len(models) > 1 else None, **more))


def _match(prefix: str, options: Iterable[str], answer: str, **more: Any) -> Layout:
    labels = tuple(options)
    columns = tuple(f"{prefix}.{label}" for label in labels)
    note = f"up to {len(labels)} options"
    return Layout((("", columns),), labels_of(labels), answer, labels=labels, meaning=note, **more)


def _no_option(name: str, number: int, answer: str, value: Any, options: list[str]) -> ValueError:
    return ValueError(
        f"{name}: row {number}: `{answer or 'target'}` = {value!r} is not one of the options {', '.join(options)}\n"
        "  the right answer is the number (from 0), the letter or the name of an option"
    )


def _key(row: Row) -> str | None:
    """Return the key of the numbers of the options."""
    key = next((key for key in (*OPTIONS, *PROBABILITIES) if _is_options(row.get(key))), None)
    texts = _texts(row)
    if key not in OPTIONS and texts:  # numbers under another name than the texts of the options
        key = next((k for k, v in row.items() if _is_options(v) and len(v) == len(texts)), key)
    key = key or next((k for k, v in row.items() if isinstance(v, list) and isinstance(_by_label(v), dict)), None)
    # a list of log-probabilities is one of tokens, an object is one of options
    return key or next((k for k, v in row.items() if "logprob" in k and isinstance(v, dict) and _is_options(v)), None)


def _conditional(value: Any, row: Row) -> Any:
    """Return log-likelihoods without those of the answers alone, which follow where mutual information is computed."""
    arguments = row.get("arguments")
    contexts = [a.get("arg_0") for a in arguments.values()] if isinstance(arguments, dict) else []
    alone = [context == "" for context in contexts]
    if not isinstance(value, list) or len(value) != len(alone) or 2 * sum(alone) != len(alone):
        return value
    return [v for v, without in zip(value, alone, strict=True) if not without]


def _by_label(value: Any) -> Any:
    """Return [{"label": "POS", "score": 0.9}, …], as pipelines of transformers write it, as an object of scores."""
    if isinstance(value, list) and value and all(isinstance(v, dict) and {"label", "score"} <= set(v) for v in value):
        return {str(v["label"]): v["score"] for v in value}
    return value


def _is_options(value: Any) -> bool:
    value = _by_label(value)
    options = list(value.values()) if isinstance(value, dict) else value
    return isinstance(options, list) and len(options) >= 2 and all(log_of(v) is not None for v in options)


def _texts(row: Row) -> list[str]:
    """Return the texts of the answer options, where they are listed."""
    doc = row.get("doc")
    choices = doc.get("choices") if isinstance(doc, dict) else None
    if isinstance(choices, dict):
        choices = choices.get("text")
    given = [options for key in OPTIONS if isinstance(options := row.get(key), list) and len(options) >= 2]
    listed = next((options for options in given if all(isinstance(text, str) for text in options)), choices)
    return [str(text).strip() for text in listed] if isinstance(listed, list) else []


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


# -- options among the likely tokens ----------------------------------------------------------------------------------


def _of_likely_tokens(
    rows: Callable[[], Rows], name: str, first: Row, answers: Sequence[str] = ANSWERS
) -> Table | None:
    """Return the options of replies whose likely tokens (top_logprobs) hold the right answer; None: they do not."""
    if not any(likely_tokens(first)):
        return None
    targets, seen = set[str](), set[str]()
    for _, row in rows():
        answer = next((a for a in answers if a in row), "")
        targets.add(_letter(row.get(answer), row))
        seen |= {token for place in likely_tokens(row) for token in place}
        if len(targets) > MOST_TARGETS:
            return None
    everything = sorted({*targets, *(_letters(first))})
    if len(everything) < 2 or not targets <= seen | set(_letters(first)) or not set(everything) & seen:
        return None
    spool, unlisted, total, answer = Spool(), 0, 0, ""
    silent: list[int] = []  # replies that are no answer
    for number, row in rows():
        answer = next((a for a in answers if a in row), "")
        options = _letters(row) or everything
        right = _letter(row.get(answer), row)
        if right not in options:
            raise _no_option(name, number, answer, row.get(answer), options)
        shares = _shares(likely_tokens(row), options)
        total = number
        if shares is None:
            silent.append(number)
            continue
        unlisted += shares[1]
        others = {k: v for k, v in flat({k: v for k, v in row.items() if k != "output"}).items() if k != answer}
        spool.add(others | {f"option.{option}": p for option, p in shares[0].items()} | {answer: right, ROW: number})
    findings: list[Finding] = [of_input.LikelyTokens()]
    findings += [of_input.UnlistedOptions(unlisted, spool.rows)] if unlisted else []
    findings += [of_input.NoAnswers(len(silent), total, first_rows(silent))] if silent else []
    basis = "probabilities of the options among the likely tokens (rule 1)"
    layout = _match("option", everything, answer, basis=basis, findings=tuple(findings), no_answers=tuple(silent))
    return spool.table(name, layout, numbered=True)


def _letters(row: Row) -> list[str]:
    """Return A, B, … for the listed texts of the options."""
    return [chr(ord("A") + i) for i in range(len(_texts(row)))][:MOST_TARGETS]


def _letter(value: Any, row: Row) -> str:
    """Return the right answer as it is among the tokens: a letter where the options are listed."""
    letters, text = _letters(row), str(value).strip()
    if letters and text not in letters:
        return _right(value, letters, row) or text
    return text


def _shares(places: list[dict[str, float]], options: list[str]) -> tuple[dict[str, float], bool] | None:
    """Return the probabilities of the options at the last token that is one, and whether some were not listed there.

    Options that are not listed share what is left, each no more than the least likely token that is.
    """
    for by_token in reversed(places):
        likeliest = max(by_token, key=lambda token: by_token[token], default="")
        if likeliest not in options:
            continue
        listed = {option: math.exp(by_token[option]) for option in options if option in by_token}
        absent = [option for option in options if option not in listed]
        least = math.exp(min(by_token.values()))
        left = max(0.0, 1.0 - sum(math.exp(v) for v in by_token.values()))
        share = min(left / len(absent), least) if absent else 0.0
        shares = {option: listed.get(option, share) for option in options}
        total = sum(shares.values())
        return {option: p / total for option, p in shares.items()}, bool(absent)
    return None
