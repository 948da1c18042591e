"""The answer of a comparison as blocks: who is best and by how much, then where, why, and each model."""

from __future__ import annotations

import math

from veracity import words
from veracity.measures import power_score, scores
from veracity.records.comparison import ComparisonRecord, Deciding, PairDifference
from veracity.records.findings_of_input import ZeroProbability
from veracity.results.comparison import Comparison
from veracity.show import answer as one_model
from veracity.show import models
from veracity.show.blocks import Block, Chart, Contents, Details, Heading, Sentence
from veracity.show.cells import Cell, Column, Interval, Label, Table, Value, fewest, table
from veracity.words import count

MOST_DECIDING = 10  # cases of a pair
WHY = "Why they differ"
COMPONENTS = {
    "CL": ("Miscalibration", "What recalibration saves on cases it was not fitted to."),
    "AL": ("… by correcting class frequencies", ""),
    "RL": ("Refinement", "Log loss that is left after recalibration: it needs a better model."),
    "slope": ("Calibration slope", "Below 1: too extreme; above 1: too cautious."),
    "expected_minus_realised": ("Expected minus realised log loss", "Negative: it did worse than it expected."),
}


def summary(result: Comparison) -> list[Block]:
    """Return the first screen."""
    groups = (_group_table(result, column) for column in result.record.groups)
    chart = Chart("differences", result)
    return [_heading(result), *_sentences(result), _models(result), chart, Contents(), *groups]


def answer(result: Comparison) -> list[Block]:
    """Return the first screen, then components, deciding cases, groups, all pairs, and the models."""
    record = result.record
    shown: list[Block] = summary(result)
    if record.groups:
        shown.append(Details("Differences by group", (Chart("group_differences", result),)))
    if record.components:
        shown.append(Details(WHY, (_component_table(result),)))
    if any(d.thresholds for d in record.dominance):
        others = [sentence for d in record.dominance[1:] if (sentence := words.decisions.dominance(d)) is not None]
        whom: tuple[Block, ...] = (
            Chart("dominance", result),
            Chart("prevalence_map", result),
            *(Sentence(one.mark, "", one.text) for one in others),
        )
        shown.append(Details("For whom is it better?", whom))
    tables = tuple(one for one in map(_deciding_table, _pairs_shown(result)) if one.rows)
    if tables:
        shown.append(Details("Which cases decide", tables, folded=True))
    return [*shown, Details("All pairs", (_pair_table(result),)), *models.each_model(result)]


def _heading(result: Comparison) -> Heading:
    first = next(iter(result.models.values()))
    about = [count(result.record.cases, "case")]
    about += [count(len(first.classes), "class", "classes")] if first.classes else []
    about += [f"paired by {result.record.paired_by}"]
    return Heading(f"Comparison of {count(len(result.models), 'model')}", " · ".join(about))


def _sentences(result: Comparison) -> list[Block]:
    record = result.record
    lead = words.comparison.ranking(record, _level(result))
    sentences = [Sentence(*lead, lead=True)]
    counts = {name: a.verdict_detail.zero_rows for name, a in result.models.items()}
    rows = {name: [s.row for s in a.surprises if s.probability == 0.0] for name, a in result.models.items()}
    for sentence in (
        words.comparison.infinite(record, rows, counts),
        _recalibrated(result),
        words.comparison.deciding(record, _level(result)),
        *map(words.decisions.dominance, record.dominance[:1]),
    ):
        if sentence is not None:
            sentences.append(Sentence(*sentence))
    notes = models.notes_of_models(models.ranked(result), without=(ZeroProbability,))
    return [*sentences, *notes, *(Sentence(*words.note(finding)) for finding in record.findings)]


def _recalibrated(result: Comparison) -> words.Said | None:
    """Return which model would be ahead once it is corrected, with the command of its own answer."""
    advised = {name: a for name, a in result.models.items() if a.advice and a.advice.advice in ("fix", "possible fix")}
    ahead = words.comparison.ahead_recalibrated(result.record, advised, _level(result))
    return None if ahead is None else words.comparison.recalibrated(ahead, one_model.fix(advised[ahead.b]))


def _level(result: Comparison) -> float:
    return next(iter(result.models.values())).level


def _cells(d: PairDifference | None, digits: int) -> list[Cell]:
    """Return difference, interval and adjusted p-value."""
    reading = words.comparison.as_reading(d)
    if d is None or reading is None:
        return ["", "", ""]
    p = words.p_value(d.p_adjusted) if d.p_adjusted is not None else ""
    return [Signed(reading, digits=digits), Interval(reading, digits=digits), p]


class Signed(Value):
    """A difference: with its sign."""

    @property
    def text(self) -> str:
        x, text = words.finite(self.reading), super().text
        return f"+{text}" if x is not None and x > 0.0 and text.strip("0.,") else text


def _models(result: Comparison) -> Table:
    """Return one row per model: scores, difference from the best or the reference, verdict."""
    record = result.record
    rule, name = words.comparison.judged_by(record), words.comparison.anchor(record)
    side = models.ends(models.ranked(result), models.MOST_SIDE_BY_SIDE)
    scores = models.score_columns(side, rule)
    cells = [models.values(m, readings) for m, _, readings in scores]
    against = {model: words.comparison.difference(record, model, name, rule) for model, _ in side}
    digits = fewest([words.comparison.as_reading(d) for d in against.values()])
    rows: list[tuple[Cell, ...]] = []
    for (model, a), (first, *others) in zip(side, zip(*cells, strict=True), strict=True):
        own = ["", "", ""] if model == name else _cells(against[model], digits)
        rows.append((Label(model), first, *own, *others, str(a.verdict or "")))
    tests = sum(d.p is not None for d in record.differences[rule])
    adjusted = f"; p by Holm for {tests} pairs" if tests > 1 else ""
    note = f"Differences from {name} on the same cases ({record.method}){adjusted}."
    notes = (
        f"Lowest {words.RULES[rule]} first. {note} {_of_brier(rule)}".rstrip(),
        models.left_out(side, len(result.models)),
    )
    level = (words.level(_level(result)), 2)
    scored = [(title, 3 if m.percent else 5) for m, title, _ in scores[1:]]
    verdict = Column("verdict", number=False, rank=1)
    return table("Models", [scores[0][1], _from(record), level, ("p", 4), *scored, verdict], rows, notes, first="Model")


def _of_brier(rule: str) -> str:
    return f"Differences are those of the {words.RULES[rule]}." if rule != "log" else ""


def _from(record: ComparisonRecord) -> str:
    return "from reference" if record.reference else "from best"


def _pairs_shown(result: Comparison) -> list[Deciding]:
    """Return the deciding cases of the anchor against every other model that it is said to differ from, best first."""
    record, name = result.record, words.comparison.anchor(result.record)
    level = _level(result)
    pairs = [{name, other} for other in _others(record) if words.comparison.claimed(record, name, other, level)]
    return [d for pair in pairs for d in record.deciding_rows if {d.a, d.b} == pair]


def _others(record: ComparisonRecord) -> list[str]:
    return words.comparison.others(record)[: models.MOST_MODELS]


def _deciding_table(deciding: Deciding) -> Table:
    rows = []
    for row in deciding.rows[:MOST_DECIDING]:
        where = f"{row.row} of {row.file}" if row.file else str(row.row)
        share = Value(row.share, percent=True, digits=0)
        rows.append((where, row.outcome or "", Signed(row.difference, digits=2), share))
    note = "Cases that favour the better model most. The share passes 100 % where other cases favour the other model."
    loss = f"log loss of {deciding.a} minus that of {deciding.b}"
    columns = (Column("outcome", number=False), loss, "share of the difference so far")
    return table(f"{deciding.a} and {deciding.b}", columns, rows, [note], first="Row")


def _component_table(result: Comparison) -> Table:
    """Return the components of the difference of every model from the best or the reference."""
    record = result.record
    name = words.comparison.anchor(record)
    rows: list[tuple[Cell, ...]] = []
    for other in _others(record):
        parts = {part: words.comparison.among(record.components.get(part, ()), other, name) for part in COMPONENTS}
        known = [(COMPONENTS[part], d) for part, d in parts.items() if d is not None and math.isfinite(d.value)]
        for i, (text, d) in enumerate(known):
            digits = words.decimals(words.comparison.as_reading(d))
            rows.append((Label(other if i == 0 else ""), Label(*text), *_cells(d, digits)))
    note = "A difference in log loss is that of miscalibration plus that of refinement."
    columns = (Column("component", number=False), "difference", words.level(_level(result)), "p")
    return table(WHY, columns, rows, [note], first=f"From {name}")


def _pair_table(result: Comparison) -> Table:
    """Return all pairs under the main scores and those of every r that was asked for."""
    record = result.record
    needed = {(c.a, c.b): c.cases for c in record.cases_needed}
    rows: list[tuple[Cell, ...]] = []
    named = {{"log_loss": "log"}.get(m.name, m.name): m for m in scores() if m.main}
    asked = [rule for rule in record.differences if rule not in {m.name for m in scores()} | {"log"}]
    for rule in [rule for rule in (*named, *asked) if rule in record.differences]:
        m = named[rule] if rule in named else power_score(float(rule))
        for i, d in enumerate(record.differences[rule]):
            reading = words.comparison.as_reading(d)
            known = rule == "log" and words.comparison.claimed(record, d.a, d.b, _level(result))
            cases = needed.get((d.a, d.b)) if known else None  # of a difference that may be chance it is chance too
            power: Cell = Value(cases, digits=0) if cases is not None else ""
            cells = _cells(d, words.decimals(reading))
            rows.append((Label(m.label if i == 0 else ""), f"{d.a} − {d.b}", *cells, power))
    columns = (Column("pair", number=False), "difference", words.level(_level(result)), "p", "cases for 80 % power")
    note = "Negative differences of losses: the first of the pair is better."
    return table("All pairs", columns, rows, [note], first="Score")


def _group_table(result: Comparison, column: str) -> Table:
    """Return loss and difference from the best or the reference, level by level, largest first."""
    record = result.record
    rule, name = record.group_rule, words.comparison.anchor(record)
    shown = [model for tier in record.ranking[rule] for model in tier]
    parts = {model: result.models[model].groups[column].levels for model in shown}
    sizes = {level: max(own[level].n for own in parts.values() if level in own) for level in record.groups[column]}
    ordered = sorted(sizes, key=lambda level: (-sizes[level], level))
    kept = ordered[: max(2, models.MOST_LINES // len(shown))]
    differences = record.groups[column]
    against = {(at, model): words.comparison.among(differences[at], model, name) for at in kept for model in shown}
    digits = fewest([words.comparison.as_reading(d) for d in against.values()])
    rows: list[tuple[Cell, ...]] = []
    for level in kept:
        for i, model in enumerate(shown):
            losses = models.losses(parts[model].get(level), rule)
            cells = (Value(sizes[level], digits=0), *losses, *_cells(against[level, model], digits)[:2])
            rows.append((Label(level if i == 0 else ""), model, *cells))
    interval = (words.level(_level(result)), 1)
    columns = (Column("model", number=False), "cases", *models.loss_titles(rule), _from(record), interval)
    note = words.comparison.groups(record, column, _level(result))
    notes = (note, _of_brier(rule), models.groups_left_out(len(ordered) - len(kept)))
    return table(f"By {column}", columns, rows, notes)
