"""The answer of several models as blocks: who is best, side by side, then each of them."""

from __future__ import annotations

import math
from typing import Any

from veracity import plots, words
from veracity.measures import quantity, scores
from veracity.show import answer as one_model
from veracity.show.blocks import (
    Block,
    Cell,
    Chart,
    Column,
    Contents,
    Details,
    Heading,
    Interval,
    Label,
    Sentence,
    Table,
    Value,
    fewest,
    shown,
)
from veracity.words import BAD, GOOD, NOTICE, count, number, value

MOST_MODELS = 6  # with a part of their own: the best and the worst by log loss
MOST_WHOLE = 3  # models with every picture; more have the essential ones, so that the page stays small
ESSENTIAL = (plots.FIRST, "loss_ladder", "groups", "surprises")
MOST_SIDE_BY_SIDE = 20
MOST_CURVES = 6  # as many as there are colours
MOST_GROUPS = 24  # lines of groups by model


class Models:
    """Some of the models of a result, in order; pictures draw them like the result itself."""

    def __init__(self, models: list[tuple[str, Any]]) -> None:
        self.models = dict(models)


def rank(a: Any) -> tuple[float, float]:
    """Return the sort key of models: log loss, then Brier score; unknown last."""
    losses = [value(a.scores[name]) if name in a.scores else None for name in ("log_loss", "brier")]
    first, second = (math.inf if loss is None or math.isnan(loss) else loss for loss in losses)
    return first, second


def ends(ranked: list[tuple[str, Any]], most: int) -> list[tuple[str, Any]]:
    """Return all models, or the best and the worst."""
    return ranked if len(ranked) <= most else ranked[: most // 2] + ranked[-(most // 2) :]


def summary(result: Any) -> list[Block]:
    """Return the first screen of several models."""
    ranked = sorted(result.models.items(), key=lambda item: rank(item[1]))
    side = ends(ranked, MOST_SIDE_BY_SIDE)
    return [
        _heading(ranked),
        *_sentences(ranked),
        _side_by_side(side, len(ranked)),
        Chart("compare", Models(side)),
        Contents(),
        *_groups(side),
    ]


def answer(result: Any) -> list[Block]:
    """Return the first screen, the risk profiles, and a part for each of the best and worst models."""
    ranked = sorted(result.models.items(), key=lambda item: rank(item[1]))
    chosen = ends(ranked, MOST_MODELS)
    charts = None if len(chosen) <= MOST_WHOLE else ESSENTIAL
    each = [Details(name, tuple(one_model.answer(a, charts))) for name, a in chosen]
    profile = Chart("risk_profile", Models(ends(ranked, MOST_CURVES)))
    return [*summary(result), Details("Risk profile", (profile,)), *each]


def _heading(ranked: list[tuple[str, Any]]) -> Heading:
    cases = {a.n for _, a in ranked}
    said = count(cases.pop(), "case") if len(cases) == 1 else f"{min(cases):,} to {max(cases):,} cases"
    classes = len(ranked[0][1].classes or ())
    about = [said, count(classes, "class", "classes")] if classes else [said]
    return Heading(f"{count(len(ranked), 'model')} side by side", " · ".join(about))


def _sentences(ranked: list[tuple[str, Any]]) -> list[Sentence]:
    """Return the lowest loss, models worse than the baseline, and findings that change the meaning of numbers."""
    return [*([_best(ranked)] if len(ranked) > 1 else []), *notes_of_models(ranked, lead=len(ranked) < 2)]


def notes_of_models(ranked: list[tuple[str, Any]], lead: bool = False, without: tuple[str, ...] = ()) -> list[Sentence]:
    """Return models worse than the baseline, and findings that change the meaning of numbers, but for some codes."""
    said = []
    worse = [name for name, a in ranked if (u := words.usefulness(a.scores, a.skill, a.baseline)) and u.mark == BAD]
    if worse:
        said.append(Sentence(BAD, "Worse than the baseline", f"{', '.join(worse[:5])}.", lead=lead))
    models_of: dict[str, list[str]] = {}
    for name, a in ranked:
        for finding in a.findings or ():
            if finding.severity == "changes the meaning" and finding.code not in without:
                models_of.setdefault(words.sentence(finding.message), []).append(name)
    for message, names in list(models_of.items())[:4]:
        who = ", ".join(names) if len(names) <= 3 else count(len(names), "model")
        said.append(Sentence(NOTICE, "Note", f"{who}: {message}"))
    return said


def _best(ranked: list[tuple[str, Any]]) -> Sentence:
    """Return the model with the lowest log loss, or Brier score where every log loss is infinite."""
    rule = "log" if math.isfinite(rank(ranked[0][1])[0]) else "brier"
    score = {"log": "log_loss"}.get(rule, rule)
    (name, best), (second, other) = sorted(ranked, key=lambda item: value(item[1].scores.get(score)) or math.inf)[:2]
    held, next_best = best.scores.get(score), other.scores.get(score)
    limits = words.interval(held)
    own = f"{number(held)} ({limits})" if limits else number(held)
    rest = f"next is {second} with {number(next_best)}"
    if words.finite(next_best) is None:
        rest = "that of the other is infinite" if len(ranked) == 2 else "those of the others are infinite"
    return Sentence(GOOD, "Best", f"{name} has the lowest {words.RULES[rule]}, {own}; {rest}.", lead=True)


def _side_by_side(side: list[tuple[str, Any]], total: int) -> Table:
    measures = [m for m in scores() if m.main and any(m.name in a.scores for _, a in side)]
    columns = [Column("Model", number=False)]
    for i, m in enumerate(measures):
        columns += [Column(f"{m.label.lower() if m.label != 'Brier score' else 'Brier'} {m.arrow}", rank=i)]
        columns += [Column(words.level(side[0][1].level), rank=5)] if i == 0 else []
    columns += [Column("gave", rank=3), Column("expected", rank=4), Column("verdict", number=False)]
    digits = {m.name: fewest([a.scores.get(m.name) for _, a in side], m.percent) for m in measures}
    rows: list[tuple[Cell, ...]] = []
    for name, a in side:
        cells: list[Cell] = [Label(name)]
        for i, m in enumerate(measures):
            held = a.scores.get(m.name)
            cells.append(Value(held, m.percent, digits[m.name]))
            cells += [Interval(held, m.percent, digits[m.name])] if i == 0 else []
        typical = [getattr(means, "geometric_accuracy", None) for means in (a.reported, a.expected)]
        cells += [Value(x, percent=True, digits=0) for x in typical]
        rows.append((*cells, str(a.verdict or "")))
    notes = ["Lowest log loss first. Gave and expected: typical probability of the outcome."]
    if total > len(side):
        notes.append(f"{count(total - len(side), 'model')} between these are in the CSV and JSON.")
    return Table("Models", tuple(columns), tuple(rows), tuple(notes))


def _groups(side: list[tuple[str, Any]]) -> list[Table]:
    """Return for each column its levels, largest first, and under each the models in the order of the table above."""
    tables = []
    names = dict.fromkeys(column for _, a in side for column in a.groups or {})
    loss = quantity("scores.log_loss")
    for column in names:
        levels: dict[str, list[tuple[str, Any]]] = {}
        for name, a in side:
            for level, part in (a.groups[column].levels if column in (a.groups or {}) else {}).items():
                levels.setdefault(str(level), []).append((name, part))
        ordered = sorted(levels.items(), key=lambda item: (-max(part.n for _, part in item[1]), item[0]))
        kept = ordered[: max(2, MOST_GROUPS // len(side))]
        rows = tuple(
            (
                Label(level if i == 0 else ""),
                name,
                Value(part.n, digits=0),
                shown(loss, part.scores.log_loss),
                Interval(part.scores.log_loss),
                str(part.verdict or ""),
            )
            for level, parts in kept
            for i, (name, part) in enumerate(parts)
        )
        columns = (
            Column(f"By {column}", number=False),
            Column("model", number=False),
            Column("cases"),
            Column("log loss"),
            Column(words.level(side[0][1].level), rank=1),
            Column("verdict", number=False),
        )
        left = len(ordered) - len(kept)
        tables.append(
            Table(f"By {column}", columns, rows, (f"{count(left, 'more group')} not shown.",) if left else ())
        )
    return tables
