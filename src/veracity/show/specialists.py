"""The parts of an answer that not everybody reads: recalibrations, classes, tests, losses, terms, sources."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from veracity import words
from veracity.measures import MEANS, Quantity, quantities, quantity, scores
from veracity.records.reading import Reading
from veracity.records.sections import CalibrationError, Gain, Means, Section
from veracity.results.assessment import Assessment
from veracity.show import papers
from veracity.show.blocks import Chart, Details, FindingBlock
from veracity.show.cells import Cell, Column, Interval, Label, Table, Value, described, fewest, named_in_papers, table
from veracity.words import finite

RULES = {"log": "log loss", "brier": "Brier score (0–2)"}
MOST_CLASSES, WORST_CLASSES = 50, 10
MOST_REMEDIES = 5
EMPTY: tuple[object, ...] = (None, "", (), [], {})
LETTERS = (
    "S: the forecasts. A: the same after prior correction. C: after recalibration. Q: the best possible from the same "
    "inputs. Y: the outcomes. d: the divergence of the score."
)


def part(a: Assessment, charts: Sequence[str]) -> Details:
    """Return the folded part: every score with its interval, tests, losses, terms, and the papers' pictures."""
    makers = (_other_scores, _means, _expected_scores, _tests, _losses, _terms, _corp, _errors)
    tables = [*(make(a) for make in makers), remedy_table(a, helpful=False)]
    tables += [] if a.papers.asked is not None or a.papers.curve is not None else list(papers.both_sides(a))
    blocks = [one for one in tables if one is not None]
    return Details("For specialists", (*blocks, *(Chart(name, a) for name in charts)), folded=True)


def sources(a: Assessment) -> Iterator[Details]:
    """Yield the findings, and how the input was read."""
    if a.findings:
        yield Details("Findings", tuple(FindingBlock(finding) for finding in a.findings))
    read = _reading_table(a)
    if read is not None:
        yield Details("How it was read", (read,))


def reading(error: CalibrationError) -> Reading:
    """Return a calibration error as a reading."""
    return Reading(error.value, error.low, error.high, error.method)


def gain_reading(gain: Gain) -> Reading | None:
    return None if gain.gain is None else Reading(gain.gain, gain.low, gain.high)


# -- for everybody ----------------------------------------------------------------------------------------------------


def remedy_table(a: Assessment, helpful: bool = True) -> Table | None:
    """Return the recalibrations with a gain, best first; or those without."""
    rule = words.judged_by(a.scores)
    gains = [(finite(remedy.by(rule).gain), remedy) for remedy in a.remedies]
    ordered = sorted(gains, key=lambda pair: -math.inf if pair[0] is None else pair[0], reverse=True)
    chosen = [remedy for gain, remedy in ordered if ((gain or 0.0) > 0.0) == helpful]
    chosen = chosen[:MOST_REMEDIES] if helpful else chosen
    if not chosen:
        return None
    title = "Recalibration" if helpful else "Recalibration without gain"
    other = "brier" if rule == "log" else "log"
    first, second = (f"gain in {words.RULES[name]}" for name in (rule, other))
    columns = (first, f"{words.level(a.level)} interval", (second, 1), Column("needs", number=False, rank=2))
    rows: list[tuple[Cell, ...]] = []
    digits = {name: fewest([gain_reading(remedy.by(name)) for remedy in chosen]) for name in (rule, other)}
    for remedy in chosen:
        gain, also = gain_reading(remedy.by(rule)), gain_reading(remedy.by(other))
        cells = (Value(gain, digits=digits[rule]), Interval(gain, digits=digits[rule]))
        rows.append((Label(words.remedy_name(remedy)), *cells, Value(also, digits=digits[other]), remedy.needs))
    folds = chosen[0].folds
    notes = [f"Measured on cases that the recalibration was not fitted to ({folds} folds)."] if folds else []
    logs = {remedy.log.gain for remedy in chosen}
    notes += [words.APPLY] if helpful and any("calibrate fit" in (remedy.command or "") for remedy in chosen) else []
    notes += ["∞: it gives every outcome a probability above 0."] if math.inf in logs else []
    notes += ["−∞: on cases it was not fitted to, it gave an outcome probability 0."] if -math.inf in logs else []
    return table(title, columns, rows, notes)


def class_table(a: Assessment) -> Table | None:
    """Return predicted and observed share of every class, or of the ten worst of many; two classes have no table."""
    classes = {} if a.tally is None else a.per_class  # no document holds them
    if len(classes) <= 2:
        return None
    ordered = list(classes.items())
    if len(classes) > MOST_CLASSES:
        ordered = sorted(ordered, key=lambda item: (1.0 if item[1].p is None else item[1].p, -(item[1].share or 0.0)))
        ordered = ordered[:WORST_CLASSES]
    slope = quantity("calibration_slope")
    found_any = a.verdict_detail.state in ("found", "slight")
    digits = 1 if max(max(one.predicted, one.observed) for _, one in ordered) >= 0.01 else 2
    rows: list[tuple[Cell, ...]] = []
    for name, one in ordered:
        both = [Value(share, percent=True, digits=digits) for share in (one.predicted, one.observed)]
        tilt = described(slope, one.slope)[1] if finite(one.slope) is not None else "–"
        share = Value(one.share, percent=True, digits=0) if found_any else ""
        rows.append((Label(str(name)), Value(one.n, digits=0), *both, tilt, share, words.p_value(one.p)))
    wrong = list(a.verdict_detail.level.classes)
    sentence = "No class is predicted significantly too often or too rarely."
    if wrong:
        sentence = f"Predicted too often or too rarely: {', '.join(wrong[:10])}."
    elif any(one.p is not None and one.p < words.SIGNIFICANT for one in classes.values()):
        sentence = "The test of all classes together names none."
    notes = [sentence, words.CLASS_COLUMNS if found_any else words.CLASS_P]
    notes += [f"The worst {WORST_CLASSES} of {len(classes):,} classes."] if len(classes) > len(ordered) else []
    columns = ("cases", "predicted", "observed", ("slope", 2), ("share", 1), "p")
    return table("Classes", columns, rows, notes, first="Class", empty=False)


# -- folded -----------------------------------------------------------------------------------------------------------


def _with_intervals(a: Assessment, titles: Iterable[str]) -> list[str | tuple[str, int]]:
    """Return columns of readings, each with one of its intervals beside it."""
    return [column for title in titles for column in (title, (words.level(a.level), 1))]


def _other_scores(a: Assessment) -> Table | None:
    known = a.scores.readings()
    named: list[tuple[Quantity, Reading]] = [(m, known[m.name]) for m in scores() if m.name in known and not m.first]
    named += [(quantity(f"skill.{name}"), skill) for name, skill in a.skill.readings().items()]
    rows = [described(q, skill) for q, skill in named]
    return table("Further scores", ("value", words.level(a.level)), rows) if rows else None


def _means(a: Assessment) -> Table:
    sides: dict[str, Means] = {"gave (reported)": a.reported, "expected": a.expected}
    sides["recalibrated (measured)"] = a.measured
    if finite(a.source.geometric_accuracy) is not None:
        sides |= {"source (ideal)": a.source, "reported ÷ source": a.source_divergence}
    known = {title: side.readings() for title, side in sides.items()}
    rows: list[tuple[Cell, ...]] = []
    for name in MEANS:
        cells = [cell for side in known.values() for cell in (Value(side[name]), Interval(side[name]))]
        rows.append((Label(MEANS[name], quantity(f"reported.{name}").gloss), *cells))
    reasons = {quantity(f"reported.{name}").label: words.why(a.reported.reading(name)) for name in MEANS}
    notes = [f"{name}: {reason}." for name, reason in reasons.items() if reason]
    if a.reported is not None and a.measured is not None and finite(a.measured.geometric_accuracy) is not None:
        notes.append(words.recalibrated(a.reported, a.measured, a.verdict_detail))
    notes += papers.spread_ratio(a.spread_ratio)
    columns = _with_intervals(a, known)
    return table("The three means", columns, rows, notes, first="Mean", empty=False)


def _expected_scores(a: Assessment) -> Table | None:
    """Return the scores that the forecasts expect of themselves, and how far the observed ones exceed them."""
    rows: list[tuple[Cell, ...]] = []
    for rule, name in words.SCORE_OF.items():
        score, observed = a.expected.scores.get(rule), a.scores.reading(name)
        if score is not None and score.expected is not None and observed is not None:
            digits = words.decimals(score.excess)
            p = "" if score.p is None else words.p_value(score.p)
            cells = (Value(observed, digits=digits), Value(score.expected, digits=digits), Value(score.excess))
            rows.append((Label(RULES[rule]), *cells, Interval(score.excess), p))
    titles = ("observed", "expected", "difference", words.level(a.level), "p")
    note = words.expectation(a.scores, a.expected.scores, a.verdict_detail)
    return table("Score expected by the model itself", titles, rows, [note]) if rows else None


def _tests(a: Assessment) -> Table:
    detail = a.verdict_detail
    tests = {
        "Level: are the class frequencies right?": detail.level.p,
        "Confidence: too extreme or too cautious?": detail.confidence.p,
        "Shape: is a range of probabilities wrong?": detail.shape.p,
    }
    rows: list[tuple[Cell, ...]] = [
        (Label(name), "–" if p is None else words.p_equals(p), "") for name, p in tests.items()
    ]
    fitted = {"calibration_slope": detail.slope, "verdict_detail.intercept": detail.intercept}
    for path, fit in (*fitted.items(), ("verdict_detail.ratio", detail.ratio)):
        if finite(fit) is not None:
            rows.append(described(quantity(path), fit))
    if finite(detail.gain) is not None:
        rows.append((Label("Removable share of the log loss"), Value(detail.gain, True), Interval(detail.gain, True)))
    if finite(detail.detectable) is not None:
        rows.append((Label("Smallest share that these cases would show"), Value(detail.detectable, True), ""))
    notes = [words.sentence(detail.method), *([words.SLOPE_DIFFERS] if detail.slope_differs else [])]
    return table("Calibration tests", ("value", words.level(a.level)), rows, notes)


def _two_rules(a: Assessment, section: str, sides: Mapping[str, Section | None], title: str, note: str) -> Table | None:
    """Return the fields of a section under both rules, side by side."""
    known = {rule: {} if pair is None else pair.readings() for rule, pair in sides.items()}
    rows: list[tuple[Cell, ...]] = []
    for one in (q for q in quantities().values() if q.section == section):
        pair = [known[rule].get(one.name) for rule in RULES]
        values = [x for x in map(words.value, pair) if x is not None]
        if values and (any(values) or one.name != "remainder"):
            rows.append(
                (Label(named_in_papers(one), one.gloss), *(cell for x in pair for cell in (Value(x), Interval(x))))
            )
    return table(title, _with_intervals(a, RULES.values()), rows, [note], empty=False) if rows else None


def _losses(a: Assessment) -> Table | None:
    by_rule = {rule: a.losses(rule) for rule in RULES}
    methods = [one.CL.method for one in by_rule.values() if one.CL.method]
    note = f"Loss = miscalibration + refinement. {words.sentence(methods[0])}" if methods else ""
    return _two_rules(a, "losses", by_rule, "Parts of the loss", note)


def _terms(a: Assessment) -> Table | None:
    by_rule = {rule: a.decomposition(rule) for rule in RULES}
    note = "Loss = uncertainty − resolution + reliability term + within bins."
    return _two_rules(a, "decomposition", by_rule, "Uncertainty, resolution, reliability", note)


def _corp(a: Assessment) -> Table | None:
    corp = a.corp
    rules = corp if corp.log is not None else corp.top_label
    by_rule = {} if rules is None else {"log": rules.log, "brier": rules.brier}
    return (
        _two_rules(a, "corp", by_rule, "CORP (isotonic)" if corp.log is not None else "CORP (isotonic) of the pick", "")
        if by_rule
        else None
    )


def _errors(a: Assessment) -> Table | None:
    rows: list[tuple[Cell, ...]] = []
    for name, error in a.calibration_error.stated():
        numbers = (error.by_chance, error.debiased, error.max)
        rows.append((*described(quantity(f"calibration_error.{name}"), reading(error)), *map(Value, numbers)))
    titles = ("value", words.level(a.level), "by chance", "debiased", "largest gap")
    return table("Calibration errors", titles, rows, first="Depends on the bins") if rows else None


# -- sources ----------------------------------------------------------------------------------------------------------


def _reading_table(a: Assessment) -> Table | None:
    provenance = a.provenance
    if provenance is None:
        return None
    rows = [("" if i else "reading", line) for i, line in enumerate(_lines(provenance.reading))]
    shown = ("command", "inputs", "plan", "engine", "kernel", "version", "date", "seconds")
    rows += [(name, _flat(value)) for name in shown if (value := getattr(provenance, name)) not in EMPTY]
    return table("How it was read", [Column("", number=False)], rows, first="")


def _lines(reading: object) -> Iterator[str]:
    if isinstance(reading, str):
        yield from (line.strip() for line in reading.splitlines())
    elif isinstance(reading, Mapping):
        for name, value in reading.items():
            yield f"{name}: {_flat(value)}"
    elif isinstance(reading, Iterable):
        for item in reading:
            yield from _lines(item)


def _flat(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {_flat(entry)}" for name, entry in value.items() if entry not in EMPTY)
    if isinstance(value, (list, tuple)):
        more = f"; and {len(value) - 20} more" if len(value) > 20 else ""
        return "; ".join(_flat(entry) for entry in value[:20]) + more
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def definitions() -> Details:
    """Return every number with its meaning, formula and source, and the papers."""
    rows = [
        (Label(named_in_papers(q)), q.gloss, q.formula, q.cite, path) for path, q in quantities().items() if q.formula
    ]
    columns = [Column(title, number=False) for title in ("Meaning", "Formula", "Source", "In the JSON")]
    cited = [(Label(key), paper) for key, paper in words.PAPERS.items()]
    named = table("Papers", [Column("", number=False)], cited, first="Paper")
    return Details("Definitions", (table("Definitions", columns, rows, [LETTERS], first="Number"), named), folded=True)
