"""The answer of one assessment as blocks, most important first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from veracity import calibrators, plots, words
from veracity.measures import MEANS, Measure, quantity, scores
from veracity.records.reading import Reading
from veracity.records.sections import Means
from veracity.records.stability import Group
from veracity.results.assessment import Assessment
from veracity.show import commands, decisions, papers, specialists
from veracity.show.blocks import Block, Card, Cards, Chart, Contents, Details, Heading, Sentence
from veracity.show.cells import (
    Cell,
    Column,
    Interval,
    Label,
    Statistic,
    Table,
    Title,
    Value,
    described,
    fewest,
    table,
    telling,
)
from veracity.words import BAD, GOOD, NOTICE, count, finite, number, percent

TITLE = "Forecast quality"
MOST_NOTES = 4
MOST_GROUPS = 15
MOST_WINDOWS = 24  # the latest ones


def summary(a: Assessment) -> list[Block]:
    """Return the first screen; it asks an assessment for no more than it shows."""
    tables = [
        _score_table(a),
        *decisions.tables(a),
        _means_table(a),
        *papers.tables(a),
        *_group_tables(a),
        _window_table(a),
    ]
    kept = [one for one in tables if one is not None]
    said = words.conclusions(a)
    fix = _fix(a, said)
    top: list[Block] = [heading(a), *_lead(said), _cards(a, said, fix), Chart(plots.FIRST, a)]
    return [*top, *_rest(a, said, fix), Contents(), *kept]


def answer(a: Assessment, charts: Sequence[str] | None = None) -> list[Block]:
    """Return everything that people can read about an assessment; `charts` limits the pictures to these names."""
    a.complete()
    pictures = [
        picture
        for picture in plots.pictures("assessment", a)
        if picture.name != plots.FIRST and (charts is None or picture.name in charts)
    ]
    folded = [picture.name for picture in pictures if picture.is_folded]
    return [*summary(a), *_sections(a, pictures), specialists.part(a, folded), *specialists.sources(a)]


def _sections(a: Assessment, pictures: list[plots.Picture]) -> Iterator[Block]:
    """Yield the titled sections for every reader: recalibration, classes, pictures."""
    tables = {"Recalibration": specialists.remedy_table(a), "Classes": specialists.class_table(a)}
    tables["For clinicians"] = decisions.clinical(a)
    after_groups = 15
    parts: list[tuple[int, str, Block]] = [(after_groups, title, t) for title, t in tables.items() if t is not None]
    unfolded = [picture for picture in pictures if not picture.is_folded]
    parts += [(picture.order, picture.title, Chart(picture.name, a)) for picture in unfolded]
    yield from (Details(title, (block,)) for _, title, block in sorted(parts, key=lambda part: part[0]))


# -- the headline -----------------------------------------------------------------------------------------------------


def heading(a: Assessment) -> Heading:
    """Return the title, with cases, classes, the input and the date."""
    origin = a.provenance
    inputs = _inputs(a)
    own = commands.named_after(a.model, inputs)
    inputs = [own] if own else inputs
    files = ", ".join(inputs[:3]) + (f" and {len(inputs) - 3} more" if len(inputs) > 3 else "")
    classes = [str(name) for name in a.classes]
    named = ", ".join(classes) if len(classes) <= 4 else f"{classes[0]} … {classes[-1]}"
    parts = [
        files,
        count(a.n, "case"),
        f"{count(len(classes), 'class', 'classes')}: {named}" if classes else "",
    ]
    name = str(a.model or "")
    title = f"{name}: {TITLE.lower()}" if name else TITLE
    date = words.day(origin.date) if origin is not None else ""
    return Heading(title, " · ".join(part for part in parts if part), date)


def _inputs(a: Assessment) -> list[str]:
    """Return the names of the files that were read."""
    inputs = a.provenance.inputs if a.provenance is not None else ()
    paths = [str(one.get("path") or one.get("name") or "") for one in inputs]
    return [path.rpartition("/")[2] for path in paths if path]


def lead(a: Assessment) -> list[Sentence]:
    """Return the headline: the verdict, and first of all that the forecasts are of no use where they are not."""
    return _lead(words.conclusions(a))


def _lead(said: words.Conclusions) -> list[Sentence]:
    worse = [said.useful] if said.useful is not None and said.useful.mark == BAD else []
    return [Sentence(*line, lead=True) for line in (*worse, *said.verdict)]


def _rest(a: Assessment, said: words.Conclusions, fix: words.Said | None) -> list[Sentence]:
    """Return the other conclusions: usefulness, fix, warnings."""
    known = [*said.differs, *words.notes(a.findings, a.verdict_detail, a.surprises)]
    known = [_on_this_input(a, line) for line in known]
    more = words.Said(NOTICE, "Note", f"{count(len(known) - MOST_NOTES, 'more note')}: see the findings below.")
    useful = None if said.useful is not None and said.useful.mark == BAD else said.useful
    rest = [useful, fix, *decisions.sentences(a), *known[:MOST_NOTES], *([more] if len(known) > MOST_NOTES else [])]
    return [Sentence(*line) for line in rest if line is not None]


def fix(a: Assessment) -> words.Said | None:
    """Return what to do."""
    return _fix(a, words.conclusions(a))


def _fix(a: Assessment, said: words.Conclusions) -> words.Said | None:
    fix = words.fix(a.advice, a.verdict_detail, changes=bool(said.changes), baseline=a.baseline.log_loss)
    return None if fix is None else _on_this_input(a, fix)


def _on_this_input(a: Assessment, sentence: words.Said) -> words.Said:
    """Return a sentence with a command that runs on the same files, or the lines of Python for data in memory."""
    if a.provenance is None or not sentence.command:
        return sentence
    if a.provenance.given is None and sentence.python:
        return sentence._replace(command="")
    return sentence._replace(command=commands.ready(sentence.command, a.provenance.given, a.model, _inputs(a)))


def _cards(a: Assessment, said: words.Conclusions, fix: words.Said | None) -> Cards:
    """Return four questions with their answers."""
    cards = [_useful_card(a, said), _calibration_card(a, said), _fix_card(a, fix), _sure_card(a)]
    return Cards(tuple(card for card in cards if card is not None))


def _useful_card(a: Assessment, said: words.Conclusions) -> Card | None:
    if said.useful is None:
        return None
    gain = next((x for x in (a.skill.log, a.skill.brier) if finite(x) is not None), None)
    answers = {GOOD: f"Yes, {percent(gain, 0)}", BAD: f"No, {percent(abs(gain or 0.0), 0)} worse"}
    answer = answers.get(said.useful.mark, "Not clear")
    return Card("Better than the baseline?", answer, said.beside_baseline, said.useful.mark)


def _calibration_card(a: Assessment, said: words.Conclusions) -> Card:
    detail = a.verdict_detail
    answers = {"found": "No", "slight": "Almost", "calibrated": "Yes", "none found": "No fault found"}
    answers["too few"] = "Too few cases"
    _, slope, limits = described(quantity("calibration_slope"), detail.slope)
    sloped = finite(detail.slope) is not None and not detail.slope_differs
    beside = f"slope {slope.text}" if sloped else words.capital(a.verdict)
    beside += f" ({limits.text})" if sloped and limits.text else ""
    if len(a.classes) == 2 and detail.level.classes and not detail.confidence.direction:  # only the level
        (level,) = detail.level.classes.values()
        beside = "{} predicted, {} observed".format(*words.verdict.two_percents(level.predicted, level.observed))
    if said.changes:
        return Card("Calibrated?", "On average", f"{said.changes.lower()}; {beside}", NOTICE)
    return Card("Calibrated?", answers.get(detail.state, "Not measurable"), beside, said.mark)


def _fix_card(a: Assessment, fix: words.Said | None) -> Card | None:
    if fix is None:
        return None
    answers = {"Fix": "Yes", "Possible fix": "Perhaps", "Use the base rate": "Hardly", "No simple fix": "Not simply"}
    gain = a.advice.log
    other = "not by one map for all" if fix == words.NO_SINGLE_FIX else words.FIXABLE.get(a.advice.advice, "")
    detail = a.advice.parameters or other
    if gain is not None and a.advice.map is not None:
        detail = f"{calibrators.label(a.advice.map)}: log loss −{words.saved(gain)}"
    return Card("Fixable?", answers.get(fix.title, fix.title), detail, fix.mark)


def _sure_card(a: Assessment) -> Card | None:
    gave, expected = a.reported.geometric_accuracy, a.expected.geometric_accuracy
    if finite(gave) is None:
        return None
    digits = _percent_digits([gave, expected])
    hoped = f"; expected {percent(expected, digits)}" if finite(expected) is not None else ""
    zeros = a.verdict_detail.zero_rows
    why = f", as {count(zeros, 'outcome')} had probability 0" if zeros else ""
    return Card("How sure, typically?", f"gave {percent(gave, digits)}", f"to the outcome{why}{hoped}")


def _percent_digits(shares: Sequence[float | None]) -> int:
    """Return the decimals of shares in one table: none, or one where all are below 10 %."""
    known = [share for share in map(finite, shares) if share]
    return int(bool(known) and max(known) < 0.1)


# -- tables -----------------------------------------------------------------------------------------------------------


def _score_table(a: Assessment) -> Table | None:
    """Return the main measures with those of the baseline, the calibration error and the slope."""
    readings = a.scores.readings()
    measures = [m for m in scores() if m.name in readings]
    wanted = [m for m in measures if m.first]
    if len(wanted) < 2:  # only realised probabilities are known
        wanted = measures
    rows: list[tuple[Cell, ...]] = []
    for m in wanted:
        score, beside = readings[m.name], a.baseline.score(m.name)
        digits = m.digits if m.digits is not None or finite(score) is None else fewest([score], m.percent)
        reference: Cell = Value(beside, m.percent, digits) if beside is not None else ""
        rows.append((*described(m, score), reference))
    rows += _calibration_rows(a)
    columns = ("value", (f"{words.level(a.level)} interval", 1), "baseline")
    return table("Scores", columns, rows, _reasons(a, wanted), first="", empty=False) if rows else None


def _calibration_rows(a: Assessment) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    usual = a.calibration_error.usual(len(a.classes))
    if usual is not None:
        name, error = usual
        gap = specialists.reading(error)
        chance = "" if error.by_chance is None else f"{number(error.by_chance, words.decimals(gap))} by chance"
        rows.append((*described(quantity(f"calibration_error.{name}"), gap), chance))
    detail = a.verdict_detail
    if finite(detail.slope) is not None and not detail.slope_differs:
        rows.append((*described(quantity("calibration_slope"), detail.slope), ""))
    return rows


def _reasons(a: Assessment, measures: list[Measure]) -> tuple[str, ...]:
    """Return why scores have no number or no interval, each reason once."""
    by_reason: dict[str, list[str]] = {}
    for m in measures:
        if why := words.why(a.scores.reading(m.name)):
            by_reason.setdefault(why, []).append(m.label)
    return tuple(f"{', '.join(labels)}: {why}." for why, labels in by_reason.items())


def _means_table(a: Assessment) -> Table | None:
    """Return the three means as the model gave, expected and would have after recalibration."""
    sides: list[tuple[str, Means]] = [("it gave", a.reported), ("it expected", a.expected)]
    sides += [("recalibrated", a.measured), ("source", a.source)]
    known = [(title, side.readings()) for title, side in sides if any(map(_known, side.readings().values()))]
    if not known:
        return None
    rows: list[tuple[Cell, ...]] = [
        (Label(MEANS[name], quantity(f"reported.{name}").gloss), *_shares([side[name] for _, side in known]))
        for name in MEANS
    ]
    recalibrated = ""
    if any(map(_known, a.measured.readings().values())):
        recalibrated = words.recalibrated(a.reported, a.measured, a.verdict_detail)
    notes = (words.minimum(a.floor), recalibrated)
    return table("Probability of the outcome", [title for title, _ in known], rows, notes)


def _shares(beside: Sequence[Reading]) -> list[Value]:
    return [Value(share, percent=True, digits=_percent_digits(beside)) for share in beside]


def _known(reading: Reading) -> bool:
    return finite(reading) is not None


def _group_tables(a: Assessment) -> list[Table]:
    """Return one table per column of groups, the largest groups in the order of their names."""
    return [_group_table(a, column, group) for column, group in a.groups.items()]


def _window_table(a: Assessment) -> Table | None:
    """Return the table of windows of time; None where there are none."""
    if not a.windows:
        return None
    latest = a.windows[-MOST_WINDOWS:]
    digits = fewest([w.log_loss for w in latest])
    limits, to = (f"{words.level(a.level)} interval", 2), Column("to", number=False, rank=4)
    shared = any(w.predicted is not None for w in latest)
    names = ("predicted", "observed") if len(a.classes or ()) == 2 else ("expected", "gave")
    pairs: list[Column | str | tuple[str, int]] = [*((name, 1) for name in names), ("ratio", 4), ("z", 1)]
    columns = (to, "cases", *(pairs if shared else ()), "log loss", limits, ("observed − expected", 3), ("accuracy", 3))
    beside = _percent_digits([x for w in latest for x in (w.predicted, w.observed)])
    rows = []
    for w in latest:
        loss = (Value(w.log_loss, digits=digits), Interval(w.log_loss, digits=digits), Value(w.excess, digits=digits))
        pair = [Value(x, percent=True, digits=beside) for x in (w.predicted, w.observed)]
        pair += [Value(w.ratio, digits=2), Statistic(w.z)]
        own = (Label(w.start), w.end, Value(w.n, digits=0), *(pair if shared else ()))
        rows.append((*own, *loss, Value(w.accuracy, percent=True, digits=0)))
    earlier = len(a.windows) - len(latest)
    notes = (words.stability.drift_note(a.drift), f"{count(earlier, 'earlier window')} not shown." if earlier else "")
    return table("In time", columns, rows, notes, empty=False)


def _group_table(a: Assessment, column: str, group: Group) -> Table:
    ordered = sorted(group.levels.items(), key=lambda item: (-item[1].n, item[0]))
    largest = sorted(ordered[:MOST_GROUPS], key=lambda item: words.natural(item[0]))
    digits = fewest([part.scores.log_loss for _, part in largest])
    levelled = any(part.level is not None for _, part in ordered)  # two classes: the share of the event
    drawn = telling([Value(part.shrunk, digits=digits) for _, part in largest])
    limits = (f"{words.level(a.level)} interval", 3)
    shrunk = [Column("shrunk", rank=4, gloss=words.stability.SHRUNK)] if drawn else []
    names = ("predicted", "observed") if levelled else ("gave", "expected")
    pairs = [Column(name, rank=2) for name in names]
    off_by = {} if group.calibration is None else group.calibration.shifts or {}
    shifts = telling([Value(off_by.get(level), digits=2) for level, _ in largest])
    pairs += [Column("off by", rank=4, gloss=words.stability.OFF_BY)] if shifts else []
    brier = words.any_infinite(part.scores for _, part in largest)
    rows: list[tuple[Cell, ...]] = []
    for i, (level, part) in enumerate(largest):
        pair: list[float | None] = [part.reported.geometric_accuracy, part.expected.geometric_accuracy]
        if levelled:
            pair = [None, None] if part.level is None else [part.level.predicted, part.level.observed]
        loss = part.scores.log_loss
        cells: list[Cell] = [Value(part.n, digits=0), Value(loss, digits=digits), Interval(loss, digits=digits)]
        cells += drawn[i : i + 1]
        cells += [Value(part.scores.brier, digits=3)] if brier else []
        cells += [Value(x, percent=True, digits=0) for x in pair]
        cells += shifts[i : i + 1]
        rows.append((Label(level), *cells, words.p_known(part.p), part.verdict))
    left_out = len(ordered) - MOST_GROUPS
    notes = [words.group_verdicts(group), *words.stability.group_notes(column, group)]
    if left_out > 0:
        notes.append(f"{count(left_out, 'more group')} with at most {count(ordered[MOST_GROUPS][1].n, 'case')}.")
    untested = group.calibration is not None and group.calibration.reason is not None  # that is said already
    if not untested and any(part.verdict == "not measurable" for _, part in largest):
        notes.append("Not measurable: too few cases, clusters or blocks of time in the group.")
    verdict = Column("verdict", number=False)
    scored: list[Title] = ["cases", "log loss", limits, *shrunk, *(["Brier"] if brier else [])]
    return table(f"By {column}", [*scored, *pairs, ("p", 1), verdict], rows, notes)
