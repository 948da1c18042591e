"""The answer of several models as blocks: who is best, side by side, then each of them."""

from __future__ import annotations

import math
from typing import Any

from veracity import plots, words
from veracity.measures import Measure, scores
from veracity.results.assess import Assessments
from veracity.show import answer as one_model
from veracity.show.blocks import Block, Chart, Contents, Details, Heading, Sentence
from veracity.show.cells import Cell, Column, Interval, Label, Table, Value, fewest, table
from veracity.words import BAD, GOOD, NOTICE, count, number, value

MOST_MODELS = 6  # with a part of their own: the best and the worst by log loss
MOST_WHOLE = 3  # models with every picture; more have the essential ones, so that the page stays small
ESSENTIAL = (plots.FIRST, "loss_ladder", "groups", "surprises")
MOST_SIDE_BY_SIDE = 20
MOST_CURVES = 6  # as many as there are colours
MOST_LINES = 24  # of groups by model
VERDICT = Column("verdict", number=False)

Ranked = list[tuple[str, Any]]  # models by name, best first


def ranked(result: Any) -> Ranked:
    """Return the models of a result by log loss, lowest first."""
    return sorted(result.models.items(), key=lambda item: rank(item[1]))


def rank(a: Any) -> tuple[float, float]:
    """Return the sort key of models: log loss, then Brier score; unknown last."""
    losses = [value(a.scores[name]) if name in a.scores else None for name in ("log_loss", "brier")]
    first, second = (math.inf if loss is None or math.isnan(loss) else loss for loss in losses)
    return first, second


def ends(models: Ranked, most: int) -> Ranked:
    """Return all models, or the best and the worst."""
    return models if len(models) <= most else models[: most // 2] + models[-(most // 2) :]


def summary(result: Any) -> list[Block]:
    """Return the first screen of several models."""
    models = ranked(result)
    side = ends(models, MOST_SIDE_BY_SIDE)
    best = [_best(models)] if len(models) > 1 else []
    said = [*best, *notes_of_models(models, lead=not best)]
    chart = Chart("compare", Assessments(dict(side)))
    return [_heading(models), *said, _side_by_side(side, len(models)), chart, Contents(), *_groups(side)]


def answer(result: Any) -> list[Block]:
    """Return the first screen, the risk profiles, and a part for each of the best and worst models."""
    return [*summary(result), *each_model(result)]


def each_model(result: Any) -> list[Block]:
    """Return the risk profiles, and a part for each of the best and worst models."""
    models = ranked(result)
    chosen = ends(models, MOST_MODELS)
    charts = None if len(chosen) <= MOST_WHOLE else ESSENTIAL
    profile = Chart("risk_profile", Assessments(dict(ends(models, MOST_CURVES))))
    each = (Details(name, tuple(one_model.answer(a, charts))) for name, a in chosen)
    return [Details("Risk profile", (profile,)), *each]


def _heading(models: Ranked) -> Heading:
    cases = {a.n for _, a in models}
    said = count(cases.pop(), "case") if len(cases) == 1 else f"{min(cases):,} to {max(cases):,} cases"
    classes = len(models[0][1].classes or ())
    about = [said, count(classes, "class", "classes")] if classes else [said]
    return Heading(f"{count(len(models), 'model')} side by side", " · ".join(about))


def notes_of_models(models: Ranked, lead: bool = False, without: tuple[str, ...] = ()) -> list[Sentence]:
    """Return models worse than the baseline, and findings that change the meaning of numbers, but for some codes."""
    said = []
    worse = [name for name, a in models if (u := words.usefulness(a.scores, a.skill, a.baseline)) and u.mark == BAD]
    if worse:
        said.append(Sentence(BAD, "Worse than the baseline", f"{', '.join(worse[:5])}.", lead=lead))
    models_of: dict[str, list[str]] = {}
    for name, a in models:
        for finding in a.findings or ():
            if finding.severity == "changes the meaning" and finding.code not in without:
                models_of.setdefault(words.finding(finding), []).append(name)
    for message, names in list(models_of.items())[:4]:
        who = ", ".join(names) if len(names) <= 3 else count(len(names), "model")
        said.append(Sentence(NOTICE, "Note", f"{who}: {message}"))
    return said


def _best(models: Ranked) -> Sentence:
    """Return the model with the lowest log loss, or Brier score where every log loss is infinite."""
    rule = "log" if math.isfinite(rank(models[0][1])[0]) else "brier"
    score = words.SCORE_OF[rule]
    (name, best), (second, other) = sorted(models, key=lambda item: value(item[1].scores.get(score)) or math.inf)[:2]
    held, next_best = best.scores.get(score), other.scores.get(score)
    limits = words.interval(held)
    own = f"{number(held)} ({limits})" if limits else number(held)
    rest = f"next is {second} with {number(next_best)}"
    if words.finite(next_best) is None:
        rest = "that of the other is infinite" if len(models) == 2 else "those of the others are infinite"
    return Sentence(GOOD, "Best", f"{name} has the lowest {words.RULES[rule]}, {own}; {rest}.", lead=True)


def score_columns(side: Ranked) -> list[tuple[Measure, str, list[Any]]]:
    """Return each main score that a model has, with its title and the readings of all models."""
    measures = [m for m in scores() if m.main and any(m.name in a.scores for _, a in side)]
    return [
        (m, f"{'Brier' if m.name == 'brier' else m.label.lower()} {m.arrow}", [a.scores.get(m.name) for _, a in side])
        for m in measures
    ]


def values(m: Measure, held: list[Any]) -> list[Value]:
    """Return the readings of a score, with the digits that all of them support."""
    return [Value(one, m.percent, fewest(held, m.percent)) for one in held]


def left_out(side: Ranked, total: int) -> str:
    left = total - len(side)
    return f"{count(left, 'model')} between these are in the CSV and JSON." if left else ""


def _side_by_side(side: Ranked, total: int) -> Table:
    level, found = words.level(side[0][1].level), score_columns(side)
    columns = [(title, i) for i, (_, title, _) in enumerate(found)]
    cells = [values(m, held) for m, _, held in found]
    intervals = [Interval(one.reading, one.percent, one.digits) for one in cells[0]]
    rows: list[tuple[Cell, ...]] = []
    for (name, a), limits, (first, *others) in zip(side, intervals, zip(*cells, strict=True), strict=True):
        typical = [getattr(means, "geometric_accuracy", None) for means in (a.reported, a.expected)]
        shares = (Value(x, percent=True, digits=0) for x in typical)
        rows.append((Label(name), first, limits, *others, *shares, str(a.verdict or "")))
    said = "Lowest log loss first. Gave and expected: typical probability of the outcome."
    titles = [columns[0], (level, 5), *columns[1:], ("gave", 3), ("expected", 4)]
    return table("Models", [*titles, VERDICT], rows, (said, left_out(side, total)), first="Model")


def _groups(side: Ranked) -> list[Table]:
    """Return for each column its levels, largest first, and under each the models in the order of the table above."""
    tables = []
    names = dict.fromkeys(column for _, a in side for column in a.groups or {})
    for column in names:
        levels: dict[str, list[tuple[str, Any]]] = {}
        for name, a in side:
            for level, part in (a.groups[column].levels if column in (a.groups or {}) else {}).items():
                levels.setdefault(str(level), []).append((name, part))
        ordered = sorted(levels.items(), key=lambda item: (-max(part.n for _, part in item[1]), item[0]))
        kept = ordered[: max(2, MOST_LINES // len(side))]
        rows = []
        for level, parts in kept:
            for i, (name, part) in enumerate(parts):
                loss = part.scores.log_loss
                cells = (Value(part.n, digits=0), Value(loss), Interval(loss), str(part.verdict or ""))
                rows.append((Label(level if i == 0 else ""), name, *cells))
        interval = (words.level(side[0][1].level), 1)
        columns = (Column("model", number=False), "cases", "log loss", interval, VERDICT)
        tables.append(table(f"By {column}", columns, rows, [groups_left_out(len(ordered) - len(kept))]))
    return tables


def groups_left_out(left: int) -> str:
    return f"{count(left, 'more group')} not shown." if left else ""
