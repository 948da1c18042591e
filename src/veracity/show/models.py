"""The answer of several models as blocks: side by side, then each of them; a comparison says who is best."""

from __future__ import annotations

import math
from collections.abc import Sequence

from veracity import plots, words
from veracity.measures import Measure, scores
from veracity.records.findings import Finding
from veracity.records.reading import Reading
from veracity.records.sections import Level, Provenance
from veracity.results.assess import Assessments
from veracity.results.assessment import Assessment
from veracity.results.comparison import Comparison
from veracity.show import answer as one_model
from veracity.show import commands
from veracity.show.blocks import Block, Chart, Contents, Details, Heading, Sentence
from veracity.show.cells import ARROWS, Cell, Column, Interval, Label, Table, Title, Value, fewest, table
from veracity.words import BAD, NOTICE, count, value

MOST_MODELS = 6  # with a part of their own: the best and the worst by log loss
MOST_WHOLE = 3  # models with every picture; more have the essential ones, so that the page stays small
LONG = (
    "decision_curve",
    "smooth_calibration",
    "risk_coverage",
    "confidence_histogram",
)  # many points: not thrice on a page
ESSENTIAL = (plots.FIRST, "loss_ladder", "groups", "surprises")
MOST_SIDE_BY_SIDE = 20
MOST_CURVES = 6  # as many as there are colours
MOST_LINES = 24  # of groups by model
VERDICT = Column("verdict", number=False)

Ranked = list[tuple[str, Assessment]]  # models by name, best first


def ranked(result: Assessments | Comparison) -> Ranked:
    """Return the models of a result, lowest loss first; those with different cases by their number, most first."""
    models = list(result.models.items())
    if not (isinstance(result, Comparison) or same_cases(models)):
        return sorted(models, key=lambda item: (-item[1].n, item[0]))
    score = words.SCORE_OF[rule_of(models)]
    return sorted(models, key=lambda item: _loss(item[1], score))


def rule_of(models: Ranked) -> str:
    """Return the rule that ranks the models: "brier" where a log loss is infinite."""
    return "brier" if words.any_infinite(a.scores for _, a in models) else "log"


def same_cases(models: Ranked) -> bool:
    """Return whether all models may have the same cases: as many, with outcomes of the same frequencies.

    The baseline's loss tells the frequencies; it is rounded, since sums in another order differ in their last digits.
    """
    baselines = [(a.n, words.finite(a.baseline.log_loss)) for _, a in models]
    return len({(n, None if loss is None else round(loss, 9)) for n, loss in baselines}) == 1


def _loss(a: Assessment, score: str) -> float:
    loss = value(a.scores.reading(score))
    return math.inf if loss is None or math.isnan(loss) else loss


def losses(part: Level | None, rule: str) -> list[Cell]:
    """Return the cells of a group's log loss, and of its Brier score where that is the rule."""
    names = ["log_loss", *(["brier"] if rule == "brier" else [])]
    return [Value(None if part is None else part.scores.reading(name), digits=3) for name in names]


def loss_titles(rule: str) -> list[Title]:
    return ["log loss", *(["Brier"] if rule == "brier" else [])]


def ends(models: Ranked, most: int) -> Ranked:
    """Return all models, or the first and the last."""
    return models if len(models) <= most else models[: most // 2] + models[-(most // 2) :]


def _shown(models: Ranked, most: int) -> Ranked:
    """Return the best and the worst models; of those with different cases, which are not ranked, the first."""
    return ends(models, most) if same_cases(models) else models[:most]


def summary(result: Assessments | Comparison) -> list[Block]:
    """Return the first screen of several models."""
    models = ranked(result)
    side = _shown(models, MOST_SIDE_BY_SIDE)
    first = [_lowest(models)] if len(models) > 1 else []
    sentences = [*first, *notes_of_models(models, lead=not first)]
    chart = Chart("compare", Assessments(dict(side)))
    return [_heading(models), *sentences, _side_by_side(side, len(models)), chart, Contents(), *_groups(side)]


def answer(result: Assessments | Comparison) -> list[Block]:
    """Return the first screen, the risk profiles, and a part for each of the best and worst models."""
    return [*summary(result), *each_model(result)]


def each_model(result: Assessments | Comparison) -> list[Block]:
    """Return the risk profiles, and a part for each of the best and worst models."""
    models = ranked(result)
    chosen = _shown(models, MOST_MODELS)
    charts: Sequence[str] | None = None if len(chosen) <= MOST_WHOLE else ESSENTIAL
    if len(chosen) == MOST_WHOLE:
        charts = [name for name in plots.names("assessment") if name not in LONG]
    profile = Chart("risk_profile", Assessments(dict(_shown(models, MOST_CURVES))))
    each = (Details(name, tuple(one_model.answer(a, charts))) for name, a in chosen)
    return [Details("Risk profile", (profile,)), *each]


def _heading(models: Ranked) -> Heading:
    cases = {a.n for _, a in models}
    cases_text = count(cases.pop(), "case") if len(cases) == 1 else f"{min(cases):,} to {max(cases):,} cases"
    classes = len(models[0][1].classes)
    about = [cases_text, count(classes, "class", "classes")] if classes else [cases_text]
    return Heading(f"{count(len(models), 'model')} side by side", " · ".join(about))


def notes_of_models(models: Ranked, lead: bool = False, without: tuple[type[Finding], ...] = ()) -> list[Sentence]:
    """Return models worse than the baseline, and findings that change the meaning of numbers, but for some kinds."""
    sentences = []
    worse = [name for name, a in models if (u := words.usefulness(a.scores, a.skill, a.baseline)) and u.mark == BAD]
    if worse:
        sentences.append(Sentence(BAD, "Worse than the baseline", f"{', '.join(worse[:5])}.", lead=lead))
    models_of: dict[str, list[str]] = {}
    for name, a in models:
        for finding in a.findings:
            if finding.severity == "critical" and not isinstance(finding, without):
                models_of.setdefault(words.finding(finding), []).append(name)
    for message, names in list(models_of.items())[:4]:
        who = ", ".join(names) if len(names) <= 3 else count(len(names), "model")
        sentences.append(Sentence(NOTICE, "Note", f"{who}: {message}"))
    return sentences


def _lowest(models: Ranked) -> Sentence:
    """Return the model with the lowest loss, which only a paired test on the same cases can call the best."""
    if not same_cases(models):
        return Sentence(NOTICE, "No ranking", words.comparison.different_cases([a.n for _, a in models]), lead=True)
    rule = rule_of(models)
    (name, a), (second, other) = models[:2]
    lowest, next_best = (one.scores.reading(words.SCORE_OF[rule]) for one in (a, other))
    sentence = words.comparison.lowest(name, lowest, second, next_best, rule)
    return Sentence(NOTICE, f"Lowest {words.RULES[rule]}", sentence, _comparing(a.provenance), lead=True)


def _comparing(provenance: Provenance | None) -> str:
    """Return the command that compares models in columns of one file, whose rows are the cases of all of them."""
    given = None if provenance is None else provenance.given
    if given is None or not given.forecasts or len(given.files) > 1:
        return ""
    return commands.ready("veracity compare FILE ", given).rstrip()


def score_columns(side: Ranked, rule: str = "log") -> list[tuple[Measure, str, list[Reading | None]]]:
    """Return each main score that a model has, that of the rule first, with title and readings of all models."""
    measures = [m for m in scores() if m.main and any(a.scores.reading(m.name) is not None for _, a in side)]
    measures.sort(key=lambda m: m.name != words.SCORE_OF[rule])
    return [
        (
            m,
            f"{'Brier' if m.name == 'brier' else m.label.lower()} {ARROWS[m.better]}",
            [a.scores.reading(m.name) for _, a in side],
        )
        for m in measures
    ]


def values(m: Measure, readings: Sequence[Reading | None]) -> list[Value]:
    """Return the readings of a score, with the digits that all of them support."""
    return [Value(one, m.percent, fewest(readings, m.percent)) for one in readings]


def left_out(side: Ranked, total: int) -> str:
    left = total - len(side)
    where = "between these" if same_cases(side) else "with no more cases"
    return f"{count(left, 'model')} {where} are in the CSV and JSON." if left else ""


def _side_by_side(side: Ranked, total: int) -> Table:
    rule, same = rule_of(side), same_cases(side)
    level, scored = words.level(side[0][1].level), score_columns(side, rule)
    columns = [(title, i) for i, (_, title, _) in enumerate(scored)]
    cells = [values(m, readings) for m, _, readings in scored]
    intervals = [Interval(one.reading, one.percent, one.digits) for one in cells[0]]
    rows: list[tuple[Cell, ...]] = []
    for (name, a), limits, (first, *others) in zip(side, intervals, zip(*cells, strict=True), strict=True):
        typical = [means.geometric_accuracy for means in (a.reported, a.expected)]
        shares = (Value(x, percent=True, digits=0) for x in typical)
        cases = [] if same else [Value(a.n, digits=0)]
        rows.append((Label(name), *cases, first, limits, *others, *shares, a.verdict))
    order = f"Lowest {words.RULES[rule]}" if same else "Most cases"
    note = f"{order} first. Gave and expected: typical probability of the outcome."
    titles: list[Title] = [
        *([] if same else ["cases"]),
        columns[0],
        (level, 5),
        *columns[1:],
        ("gave", 3),
        ("expected", 4),
    ]
    return table("Models", [*titles, VERDICT], rows, (note, left_out(side, total)), first="Model")


def _groups(side: Ranked) -> list[Table]:
    """Return for each column its levels, largest first, and under each the models in the order of the table above."""
    tables = []
    names = dict.fromkeys(column for _, a in side for column in a.groups)
    for column in names:
        levels: dict[str, list[tuple[str, Level]]] = {}
        for name, a in side:
            for level, part in (a.groups[column].levels if column in a.groups else {}).items():
                levels.setdefault(level, []).append((name, part))
        ordered = sorted(levels.items(), key=lambda item: (-max(part.n for _, part in item[1]), item[0]))
        kept = ordered[: max(2, MOST_LINES // len(side))]
        rule = "brier" if words.any_infinite(part.scores for _, parts in kept for _, part in parts) else "log"
        rows: list[tuple[Cell, ...]] = []
        for level, parts in kept:
            for i, (name, part) in enumerate(parts):
                limits, p = Interval(part.scores.log_loss), words.p_known(part.p)
                cells = (Value(part.n, digits=0), *losses(part, rule), limits, p, part.verdict)
                rows.append((Label(level if i == 0 else ""), name, *cells))
        interval = (words.level(side[0][1].level), 2)
        columns = (Column("model", number=False), "cases", *loss_titles(rule), interval, ("p", 1), VERDICT)
        judged = next(words.group_verdicts(a.groups[column]) for _, a in side if column in a.groups)
        tables.append(table(f"By {column}", columns, rows, [judged, groups_left_out(len(ordered) - len(kept))]))
    return tables


def groups_left_out(left: int) -> str:
    return f"{count(left, 'more group')} not shown." if left else ""
