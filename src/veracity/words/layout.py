"""What was read and how, as the block and the line that are printed before an answer."""

from __future__ import annotations

from veracity.inputs.names import listed, run_of, short
from veracity.records.layout import Classes, Companion, Cuts, Event, Format, Layout, Rejection, Remark, Unused

from .numbers import count

INDENT = 15  # width of the column names in the printed block: most are shorter
MOST_NAMES = 12  # columns that are not used
MOST_EMPTY = 6  # columns without a value
FEW_CLASSES = 4  # named in one line
BLANKS = {"\t": "tab", " ": "blanks"}


def block(layout: Layout) -> str:
    """Return the block that is printed: files, roles of the columns, remarks."""
    rows = []
    if layout.outcome or layout.outcomes:
        rows.append(("outcome", layout.outcome or run_of(layout.outcomes), meaning(layout.meaning)))
    rows.append(("forecast", _forecasts(layout), layout.basis))
    if layout.model_column:
        rows.append(("models", layout.model_column, f"{len(layout.models)}: {listed(layout.named_models)}"))
    elif len(layout.models) > 1:
        rows.append(("models", str(len(layout.models)), listed(layout.named_models)))
    if layout.unused:
        named = ", ".join(map(_unused, layout.unused[:MOST_NAMES]))
        named += f", … ({len(layout.unused)} columns)" if len(layout.unused) > MOST_NAMES else ""
        rows.append(("not used", named, _remark(layout.remark)))
    lines = [", ".join([_head(layout), *format_facts(layout.format)])]
    for role, columns, note in rows:
        width = INDENT if len(columns) < INDENT else len(columns) + 8 if role == "not used" else len(columns) + 2
        lines.append(f"  {role:<8} {columns:<{width}}{note}".rstrip())
    lines += [f"  paired   {_companion(companion)}" for companion in layout.companions]
    lines += [f"  note     {finding.message}" for finding in layout.findings]
    return "\n".join(lines)


def line(layout: Layout, unused: str) -> str:
    """Return the same parts on one line; `unused`: a word for the other columns."""
    parts = [_head(layout), *_doubtful(layout.format)]
    if layout.outcome or layout.outcomes:
        few = len(layout.class_counts) <= FEW_CLASSES
        counts = ", ".join(f"{name} {n:,}" for name, n in layout.class_counts) if few else ""
        parts.append(f"outcome {layout.outcome or run_of(layout.outcomes)}" + (f" ({counts})" if counts else ""))
    parts += map(_companion, layout.companions)
    parts += [] if layout.labelled else ["no outcome"]
    number = f"{len(layout.classes)} classes" if len(layout.classes) > FEW_CLASSES else "forecast"
    parts.append(f"{number} {_forecasts(layout)}")
    parts += [] if layout.classes else [layout.basis]
    if len(layout.models) > 1:
        parts.append(f"{len(layout.models)} models: {listed(layout.named_models)}")
    if layout.unused:
        names = [_unused(u) if u.reason is Rejection.PERCENT else u.column for u in layout.unused]
        parts.append(f"{unused} {listed(names)}")
    parts += [text for text in (_short_meaning(layout.meaning), _remark(layout.remark)) if text]
    return " · ".join([*parts, *(finding.message for finding in layout.findings)])


def _head(layout: Layout) -> str:
    first, *others = layout.files
    files = f"{first} … {others[-1]} ({len(layout.files)} files)" if others else first
    return f"read {files}: {count(layout.rows, 'row') if layout.rows else 'rows not counted beforehand'}"


def _forecasts(layout: Layout) -> str:
    if len(layout.models) > 1 and not layout.model_column:
        return " · ".join(dict.fromkeys(run_of(columns) for _, columns in layout.models))
    return run_of(layout.models[0][1]) if layout.models else ""


def format_facts(written: Format) -> list[str]:
    """Return what is worth telling of a text file."""
    mark = written.delimiter
    facts = ["delimiter " + BLANKS.get(mark, f'"{mark}"')] if mark else []
    facts += [written.encoding] if written.encoding else []
    facts += [f"{count(written.comment_lines, 'comment line')} skipped"] if written.comment_lines else []
    facts += [empty_columns(written)] if written.empty else []
    facts += ["decimal comma"] if written.decimal_comma else []
    facts += [f"left out: {written.blank_rows:,} without any value"] if written.blank_rows else []
    return facts + _unwrapped(written)


def _doubtful(written: Format) -> list[str]:
    """Return what may have been misread."""
    facts = [written.encoding] if written.encoding == "Windows-1252" else []
    return facts + (["decimal comma"] if written.decimal_comma else []) + _unwrapped(written)


def _unwrapped(written: Format) -> list[str]:
    facts = [f"rows of `{written.held_in}`"] if written.held_in else []
    return facts + ([f"lists in {run_of(written.split)} as columns"] if written.split else [])


def empty_columns(written: Format) -> str:
    return f"empty: {', '.join(written.empty[:MOST_EMPTY])}"


def meaning(outcome: Event | Classes | Cuts | str) -> str:
    """Return what the values of the outcome mean."""
    if isinstance(outcome, Event):
        return _event(outcome) + (f" ({outcome.count:,} of {outcome.total:,})" if outcome.count is not None else "")
    if isinstance(outcome, Cuts):
        arrows = [f"≤ {x:g} → {c}" for x, c in zip(outcome.limits, outcome.classes, strict=False)]
        return f"cut: {', '.join(arrows)}, above → {outcome.classes[-1]}"
    if isinstance(outcome, Classes):
        never = f" (never: {short(outcome.never)})" if outcome.never else ""
        event = f"; {_event(outcome.event)}" if outcome.event else ""
        return f"{len(outcome.names)} classes: {short(outcome.names)}{never}{event}"
    return outcome


def _short_meaning(outcome: Event | Classes | Cuts | str) -> str:
    """Return the event where it is not obvious."""
    event = outcome.event if isinstance(outcome, Classes) else outcome
    if not isinstance(event, Event) or event.obvious:
        return ""
    return f"event = {event.of} above {event.above:g}" if event.of else _event(event)


def _event(event: Event) -> str:
    name = " or ".join(event.labels) if event.above is None else f"above {event.above:g}"
    name += " against the rest" if event.against_rest else ""
    return f"event = {name}" + (f" ({event.other} for the other)" if event.other else "")


def _unused(unused: Unused) -> str:
    reasons = {
        Rejection.PICK: " (looks like a predicted label)",
        Rejection.PERCENT: f" (looks like `{unused.twin}` in percent)",
        Rejection.REPEATED: " (rows of one model repeat a case)",
    }
    return unused.column + (reasons[unused.reason] if unused.reason else "")


def _remark(remark: Remark | None) -> str:
    if remark is None:
        return ""
    if remark.option:
        return f"{remark.column} is not used as case weights ({remark.option} would)"
    return f"the forecast separates {remark.column} perfectly: not taken for the outcome"


def _companion(paired: Companion) -> str:
    """Return how the rows of another file are paired."""
    how = f"joined on {', '.join(paired.on)}" if paired.on else "aligned by row"
    only = f" (only {paired.only} has ids)" if paired.only else ""
    return f"{paired.held}s of {paired.file}, {how}{only}"
