"""The summary people read in a terminal: the verdict, what was stated, what the outcomes bear out, scores."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import click

from veracity import words
from veracity.words import MEANS, SHORT, count, interval, number, percent

LABEL, NAME = 39, 16  # width of the first column, and of its first word
WIDE, NARROW, SMALL, TERMINAL = 112, 100, 94, 80  # below these, columns get shorter names or fall away
MOST_MODELS, MOST_SENTENCES, MOST_GROUPS, MOST_FINDINGS, MOST_REMEDIES = 20, 6, 12, 6, 3
MOST_LINES = 24  # of groups by model
FLOOR_SHOWN = 0.005


def width() -> int:
    return max(60, min(shutil.get_terminal_size((120, 24)).columns, 140))


def styled(text: str, colour: bool) -> str:
    """**bold** for a terminal; nothing for a file."""
    return re.sub(r"\*\*(.+?)\*\*", lambda m: click.style(m[1], bold=True) if colour else m[1], text)


def summary(document: Mapping[str, Any], wide: int, report: str | None = None) -> Iterator[str]:
    """The lines for one assessment or several."""
    if "models" in document:
        yield from _side_by_side(document["models"], wide)
    else:
        yield from _verdict(document, wide)
        yield ""
        yield from _means(document, wide)
        yield from _scores(document, wide)
        yield from _remedies(document)
        yield from _groups(document, wide)
        yield from _findings(document, wide)
    more = f"report: {report}" if report else "classes, curves, definitions: add --report out.html"
    yield from ("", more)


def verdict_only(document: Mapping[str, Any]) -> Iterator[str]:
    """One line per model: what --quiet prints."""
    if "models" not in document:
        yield " ".join(words.sentences(document))
        return
    for name, one in document["models"].items():
        yield f"{name}: {' '.join(words.sentences(one))}"


def _wrapped(text: str, wide: int, indent: str = "") -> Iterator[str]:
    """Lines of at most `wide`, marks of emphasis not counted; words are never cut."""
    yield from textwrap.wrap(text, wide, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _verdict(document: Mapping[str, Any], wide: int) -> Iterator[str]:
    for sentence in words.sentences(document):
        yield from _wrapped(sentence, wide)
    for message in words.grave(document):
        yield from _wrapped(message, wide)


def _means(document: Mapping[str, Any], wide: int) -> Iterator[str]:
    stated, borne = document.get("reported") or {}, document.get("measured") or {}
    ratio = document.get("divergence") or {}
    level, label = words.level(document), _label(wide)
    known = any(words.value(reading) is not None for reading in borne.values())
    header = f"{words.MEANS_HEADING:<{label}}{words.STATED:>8}" + (f"  {level:<17}" if wide >= TERMINAL else "")
    if known:
        header += f"{words.BORNE_OUT:>{_gap(wide)}}" + (f"  {level:<17}" if wide >= SMALL else "")
        header += words.RATIO if wide >= WIDE else " ratio" if wide >= NARROW else ""
    yield header.rstrip()
    for name in MEANS:
        if name not in stated:
            continue
        reading = stated[name]
        said = f"({SHORT[name].paper})"
        line = f"  {SHORT[name].label:<{NAME - 1}}{said}" if wide >= SMALL else f"  {SHORT[name].label} {said}"
        line = f"{line:<{label}}{number(reading):>8}" + (f"  {_ends(reading):<17}" if wide >= TERMINAL else "")
        if known:
            line += f"{number(borne.get(name)):>{_gap(wide)}}" + (
                f"  {_ends(borne.get(name)):<17}" if wide >= SMALL else ""
            )
            line += f"{number(ratio.get(name), 2):>6}" if wide >= NARROW else ""
        yield line.rstrip()
        if not interval(reading) and words.why(reading):
            yield from _wrapped(f"    {words.why(reading)}", wide, "    ")
        if (floored := _floored(document, name, reading)) is not None:
            yield f"    {f'with floor {FLOOR_SHOWN:g}':<{label - 4}}{number(floored):>8}"
    slope = document.get("slope")
    if words.known(slope):
        ends = f" ({interval(slope, words.two)})" if interval(slope) else ""
        yield f"  slope {number(slope, 2)}{ends}: below 1 is over-confident"
        adjusted = (document.get("verdict_detail") or {}).get("slope_adjusted")
        if words.known(adjusted) and number(adjusted, 2) != number(slope, 2) and _leans(slope, document):
            yield f"    {number(adjusted, 2)} once the class frequencies are matched, which the verdict goes by"
    yield from _wrapped(f"  {words.floor_note(document)}", wide, "  ")


def _leans(slope: Any, document: Mapping[str, Any]) -> bool:
    """Whether the slope alone would say more than the verdict does, or something else."""
    low, high = (words.value(slope.get(end)) if isinstance(slope, Mapping) else None for end in ("low", "high"))
    over, under = high is not None and high < 1.0, low is not None and low > 1.0
    said = "over-confident" if over else "under-confident" if under else ""
    return bool(said) and document.get("verdict") != said


def _label(wide: int) -> int:
    return LABEL if wide >= SMALL else 35


def _gap(wide: int) -> int:
    """Width of the second column of numbers; without intervals between them it needs room on its left."""
    return 9 if wide >= TERMINAL else 12


def _ends(reading: Any) -> str:
    return interval(reading) or ("" if words.value(reading) is None else "none")


def _floored(document: Mapping[str, Any], name: str, reading: Any) -> float | None:
    """The mean with a small floor, where a few rows decide the one without."""
    if name == "decisiveness" or interval(reading) or (document.get("floor") or 0.0) > 0:
        return None
    for row in document.get("floors") or []:
        if row.get("floor") == FLOOR_SHOWN and number(row.get(name)) != number(reading):
            return words.value(row.get(name))
    return None


def _scores(document: Mapping[str, Any], wide: int) -> Iterator[str]:
    held, base = document.get("scores") or {}, document.get("baseline") or {}
    rows = [
        ("log_loss", "log loss (nats)", number),
        ("brier", "Brier (0 to 2)", number),
        ("perplexity", "perplexity", number) if "brier" not in held else ("", "", number),
        ("prediction_accuracy", "correct picks", percent),
    ]
    rows = [row for row in rows if held.get(row[0]) is not None]
    if not rows:
        return
    label = _label(wide)
    title = "Scores                lower is better" if wide >= SMALL else "Scores (lower is better)"
    header = f"{title:<{label}}{'value':>8}" + (f"  {words.level(document):<17}" if wide >= TERMINAL else "")
    yield ""
    reference = words.BASE_RATE if wide >= SMALL else f"{'base rate':>{_gap(wide)}}"
    yield (header + (reference if base else "")).rstrip()
    for name, said, show in rows:
        ends = f"  {interval(held[name], show).replace(' %', ''):<17}" if wide >= TERMINAL else ""
        line = f"  {said:<{label - 2}}{show(held[name]):>8}{ends}"
        yield (line + (f"{show(base[name]):>{_gap(wide)}}" if name in base else "")).rstrip()


def _remedies(document: Mapping[str, Any]) -> Iterator[str]:
    entries = words.helpful(document)
    if not entries:
        return
    free = [entry for entry in entries[MOST_REMEDIES:] if not entry.get("needs_labels", True)]
    yield ""
    yield f"{'What would help (cross-fitted)':<{LABEL}}gain in log loss"
    for entry in [*entries[:MOST_REMEDIES], *free]:
        name, needs = words.remedy(entry)
        gain = words.gain(entry, "log")
        low, high = (gain["low"], gain["high"]) if gain else (None, None)
        unclear = low is not None and high is not None and low <= 0 <= high
        note = f"not clear with {count(int(document['n']), 'case')}" if unclear else needs
        if unclear and not entry.get("needs_labels", True):
            note += f", {needs}"
        yield f"  {name:<{LABEL - 2}}{number(gain):>8}  {interval(gain):<17}{note}".rstrip()


def _groups(document: Mapping[str, Any], wide: int) -> Iterator[str]:
    full = wide >= SMALL
    label = min(LABEL, wide - (71 if full else 46))
    for column, levels in (document.get("groups") or {}).items():
        ordered = sorted(levels.items(), key=lambda item: -float(item[1].get("n") or 0))
        yield ""
        levelled = any(part.get("level") for _, part in ordered)  # two classes: what was said of the event
        header = f"{_cut(f'By {column}', label - 1):<{label}}{'cases':>8}"
        if levelled:
            header += "    says  happened" + ("  log loss  typical" if full else "")
        else:
            header += "  log loss  typical: stated  borne out" if full else "  stated  borne out"
        yield header + ("  slope  verdict" if full else "  verdict")
        for level, part in ordered[:MOST_GROUPS]:
            loss, slope = (part.get("scores") or {}).get("log_loss"), part.get("slope")
            stated, borne = ((part.get(side) or {}).get("accuracy") for side in ("reported", "measured"))
            line = f"  {_cut(str(level), label - 3):<{label - 2}}{part.get('n', 0):>8,}"
            if levelled:
                says = part.get("level") or {}
                line += f"  {number(says.get('forecast')):>6}  {number(says.get('observed')):>8}"
                line += f"  {number(loss):>8}  {number(stated):>7}" if full else ""
            else:
                line += f"  {number(loss):>8}  {number(stated):>15}" if full else f"  {number(stated):>6}"
                line += f"  {number(borne):>9}"
            line += f"  {number(slope, 2):>5}" if full else ""
            yield f"{line}  {part.get('verdict') or ''}".rstrip()
        if len(ordered) > MOST_GROUPS:
            yield f"  {len(ordered) - MOST_GROUPS} smaller groups are in --json and --report"


def _findings(document: Mapping[str, Any], wide: int) -> Iterator[str]:
    rest = words.other_findings(document)
    if not rest:
        return
    yield ""
    lines = [f["message"] + _rows(f) for f in rest]
    if len(lines) == 1:
        yield from _wrapped(f"1 finding: {lines[0]}", wide)
        return
    yield f"{count(len(lines), 'finding')}:"
    for line in lines[:MOST_FINDINGS]:
        yield from _wrapped(f"  {line}", wide, "    ")
    if len(lines) > MOST_FINDINGS:
        yield f"  and {len(lines) - MOST_FINDINGS} more in --report and --json"


def _rows(finding: Mapping[str, Any]) -> str:
    rows = list(finding.get("rows") or [])
    if not rows or "row" in finding["message"]:
        return ""
    return f" (rows {', '.join(map(str, rows[:3]))}{', …' if len(rows) > 3 else ''})"


def _side_by_side(models: Mapping[str, Any], wide: int) -> Iterator[str]:
    ranked = sorted(models.items(), key=lambda item: words.rank(item[1]))
    shown = ranked if len(ranked) <= MOST_MODELS else ranked[: MOST_MODELS // 2] + ranked[-MOST_MODELS // 2 :]
    longest = min(max((len(name) for name, _ in shown), default=5), 36)
    header = f"{'':<{longest}}   log loss  {words.level(shown[0][1]):<16}  Brier  correct"
    header += "   average  typical  worst-leaning  verdict" if wide >= NARROW else ""
    for name, document in shown if len(shown) <= MOST_SENTENCES else ():
        yield from _wrapped(f"{name}: {' '.join(words.sentences(document))}", wide, "  ")
        yield ""
    yield f"{words.MEANS_HEADING} and scores, lowest log loss first"
    yield header
    for name, document in shown:
        held, means = document.get("scores") or {}, document.get("reported") or {}
        loss = held.get("log_loss")
        line = f"{name[:longest]:<{longest}}   {number(loss):>8}  {interval(loss):<16}  {number(held.get('brier')):>5}"
        line += f"  {percent(held.get('prediction_accuracy')):>7}"
        if wide >= NARROW:
            line += "".join(f"{number(means.get(mean)):>{size}}" for mean, size in zip(MEANS, (10, 9, 15), strict=True))
            line += f"  {document.get('verdict') or ''}"
        yield line.rstrip()
    if len(ranked) > len(shown):
        yield f"{len(ranked) - len(shown)} models between these are in --csv and --json"
    grave: dict[str, list[str]] = {}
    for name, document in models.items():
        for message in words.grave(document):
            grave.setdefault(message, []).append(name)
    for message, names in list(grave.items())[:MOST_FINDINGS]:
        who = ", ".join(names) if len(names) <= 3 else count(len(names), "model")
        yield from _wrapped(f"{who}: {message}", wide, "  ")
    yield from _groups_of_models(dict(shown), wide)


def _groups_of_models(models: Mapping[str, Any], wide: int) -> Iterator[str]:
    """For each column: its levels, largest first, and under each the models in the order of the table above."""
    columns = dict.fromkeys(column for document in models.values() for column in document.get("groups") or {})
    room = min(24, (wide - (53 if wide >= TERMINAL else 37)) // 2)  # for a level and a model, beside the numbers
    for column in columns:
        levels: dict[str, dict[str, Any]] = {}
        for name, document in models.items():
            for level, part in (document["groups"].get(column) or {}).items():
                levels.setdefault(str(level), {})[name] = part
        ordered = sorted(levels.items(), key=lambda item: -max(float(part.get("n") or 0) for part in item[1].values()))
        shown = ordered[: max(2, MOST_LINES // len(models))]
        first = min(max([len(f"By {column}"), *(len(level) + 2 for level, _ in shown)]), room)
        second = min(max([len("model"), *map(len, models)]), room)
        yield ""
        heading = f"{_cut(f'By {column}', first):<{first}}  {'model':<{second}}{'cases':>9}  typical"
        yield heading + (f"  {words.level(next(iter(models.values()))):<14}" if wide >= TERMINAL else "") + "  verdict"
        for level, parts in shown:
            said = f"  {_cut(level, first - 2)}"
            for name in (name for name in models if name in parts):
                part = parts[name]
                typical = (part.get("reported") or {}).get("accuracy")
                line = f"{said:<{first}}  {_cut(name, second):<{second}}{part.get('n', 0):>9,}  {number(typical):>7}"
                line += f"  {_ends(typical):<14}" if wide >= TERMINAL else ""
                yield f"{line}  {part.get('verdict') or ''}".rstrip()
                said = ""
        if len(ordered) > len(shown):
            yield f"  {len(ordered) - len(shown)} smaller groups are in --json and --report"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
