"""The summary as Markdown, for a pull request; and every number as a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from veracity import words
from veracity.words import MEANS, SHORT, interval, number, percent

MOST_GROUPS = 20


def markdown(document: Mapping[str, Any]) -> str:
    """Verdict, three means and scores of one assessment or of several."""
    return "\n".join(_several(document["models"]) if "models" in document else _one(document)) + "\n"


def _one(document: Mapping[str, Any]) -> Iterator[str]:
    name = document.get("model")
    yield f"### veracity: {_safe(name) + ', ' if name else ''}{words.count(int(document.get('n') or 0), 'case')}"
    yield ""
    for sentence in [*words.sentences(document), *words.grave(document)]:
        yield f"> {_safe(sentence, emphasis=True)}"
        yield ">"
    level = words.level(document)
    yield ""
    yield f"| {words.MEANS_HEADING} | {words.STATED} | {level} | {words.BORNE_OUT} | {level} |"
    yield "|---|--:|--:|--:|--:|"
    stated, borne = document.get("reported") or {}, document.get("measured") or {}
    for mean in MEANS:
        if mean in stated:
            side = stated[mean], borne.get(mean)
            cells = [f"{number(reading)} | {interval(reading)}" for reading in side]
            yield f"| {SHORT[mean].full} | {cells[0]} | {cells[1]} |"
    slope = document.get("slope")
    if words.known(slope):
        yield ""
        yield f"Slope {number(slope, 2)} ({interval(slope, words.two) or 'no interval'}): below 1 is over-confident."
    if note := words.floor_note(document):
        yield ""
        yield note
    yield ""
    yield f"| Score | value | {level} | {words.BASE_RATE} |"
    yield "|---|--:|--:|--:|"
    held, base = document.get("scores") or {}, document.get("baseline") or {}
    for score, show in (("log_loss", number), ("brier", number), ("prediction_accuracy", percent)):
        if held.get(score) is not None:
            reference = show(base[score]) if score in base else ""
            label, ends = words.WORDS[f"scores.{score}"].full, interval(held[score], show)
            yield f"| {label} | {show(held[score])} | {ends} | {reference} |"
    yield from _remedies(document, level)
    yield from _groups(document, level)
    rest = words.other_findings(document)
    if rest:
        yield ""
        yield from (f"- {_safe(f['message'])}" for f in rest[:10])


def _remedies(document: Mapping[str, Any], level: str) -> Iterator[str]:
    entries = words.helpful(document)
    if entries:
        yield ""
        yield f"| What would help (cross-fitted) | gain in log loss | {level} | |"
        yield "|---|--:|--:|---|"
    for entry in entries:
        name, needs = words.remedy(entry)
        gain = words.gain(entry, "log")
        yield f"| {_safe(name)} | {number(gain)} | {interval(gain)} | {needs} |"


def _groups(document: Mapping[str, Any], level: str) -> Iterator[str]:
    for column, parts in (document.get("groups") or {}).items():
        yield ""
        yield f"| By {_safe(column)} | cases | log loss | {level} | typical: stated | borne out | verdict |"
        yield "|---|--:|--:|--:|--:|--:|---|"
        ordered = sorted(parts.items(), key=lambda item: -float(item[1].get("n") or 0))
        for name, part in ordered[:MOST_GROUPS]:
            loss = (part.get("scores") or {}).get("log_loss")
            typical = ((part.get(side) or {}).get("accuracy") for side in ("reported", "measured"))
            cells = [number(loss), interval(loss), *map(number, typical), part.get("verdict") or ""]
            yield f"| {_safe(name)} | {part.get('n', 0):,} | {' | '.join(cells)} |"
        if len(ordered) > MOST_GROUPS:
            yield ""
            yield f"{words.count(len(ordered) - MOST_GROUPS, 'smaller group')} not shown."


def _several(models: Mapping[str, Any]) -> Iterator[str]:
    yield f"### veracity: {words.count(len(models), 'model')} side by side"
    yield ""
    level = words.level(next(iter(models.values())))
    yield f"| model | verdict | log loss | {level} | Brier | correct picks | average | typical | worst-leaning |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|"
    ranked = sorted(models.items(), key=lambda item: words.rank(item[1]))
    for name, document in ranked:
        held, means = document.get("scores") or {}, document.get("reported") or {}
        cells = [
            _safe(name),
            str(document.get("verdict") or ""),
            number(held.get("log_loss")),
            interval(held.get("log_loss")),
            number(held.get("brier")),
            percent(held.get("prediction_accuracy")),
            *(number(means.get(mean)) for mean in MEANS),
        ]
        yield f"| {' | '.join(cells)} |"
    for name, document in ranked:
        yield ""
        yield f"**{_safe(name)}**: {_safe(' '.join(words.sentences(document)), emphasis=True)}"


def _safe(text: Any, emphasis: bool = False) -> str:
    """Text of the data's that Markdown and the HTML inside it take as text."""
    out = str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("|", "\\|")
    out = out.replace("\n", " ").replace("[", "\\[").replace("]", "\\]")
    return out if emphasis else out.replace("*", "\\*").replace("_", "\\_")


COLUMNS = ("model", "name", "value", "low", "high", "method", "reason")


def table(document: Mapping[str, Any]) -> str:
    """Every reading of the document as CSV: model, name, value, low, high, method, reason."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    models = document.get("models") or {document.get("model") or "": document}
    for model, one in models.items():
        for name, reading in readings(one):
            writer.writerow([model, name, *(_cell(reading.get(column)) for column in COLUMNS[2:])])
    return text.getvalue()


def readings(held: Any, path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(name, reading) of everything in a document that has a value."""
    if isinstance(held, Mapping) and "value" in held:
        yield path, held
    elif isinstance(held, Mapping):
        for key, value in held.items():
            if path or key not in ("provenance", "curves", "adjustment"):
                yield from readings(value, f"{path}.{key}" if path else str(key))


def _cell(value: Any) -> str:
    return "" if value is None else repr(float(value)) if isinstance(value, float) else str(value)
