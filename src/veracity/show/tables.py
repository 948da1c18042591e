"""The answer of a prediction table as blocks: the table itself, clinical measures, then those of HB17."""

from __future__ import annotations

from veracity import plots, words
from veracity.records.findings_of_results import Orientation
from veracity.records.reading import Reading
from veracity.show.blocks import Block, Chart, Contents, Details, Heading, Sentence
from veracity.show.cells import Cell, Interval, Label, Table, Value, table
from veracity.table import TableAssessment, Terms
from veracity.table.records import Limits, TableIntervals
from veracity.words import BAD, NOTICE, count, number, tables

CALIBRATION = "attributes"  # the picture of predicted against observed shares
GLOSSES = {
    "Sensitivity": "Share of events that the test found.",
    "Specificity": "Share of non-events that the test left alone.",
    "PPV": "Positive predictive value: share of events after a positive test.",
    "NPV": "Negative predictive value: share of non-events after a negative test.",
    "LR+": "How much a positive test multiplies the odds of the event.",
    "LR−": "How much a negative test multiplies the odds of the event.",
    "Prevalence": "Share of events among all cases.",
}


def summary(t: TableAssessment) -> list[Block]:
    """Return the table, its conclusions, clinical measures, then those of HB17."""
    parts = [
        _costs(t),
        _categories(t),
        _thresholds(t),
        _prevalence(t),
        _hb17(t),
        _scores(t),
        _association(t),
        _strata(t),
    ]
    clinical = _clinical(t)
    return [
        Heading("Prediction table", "shares of cases" if t.n is None else count(t.n, "case")),
        _counts(t),
        *_sentences(t),
        *(Sentence(NOTICE, "Note", words.finding(f)) for f in t.findings if f.severity == "warning"),
        *([] if clinical is None else [clinical]),
        *(Chart(picture.name, t) for picture in _pictures(t)[:1]),
        Contents(),
        *(block for block in parts if block is not None),
    ]


def answer(t: TableAssessment) -> list[Block]:
    """Return the summary, the pictures, and the terms of each forecast."""
    return [
        *summary(t),
        *(Details(picture.title, (Chart(picture.name, t),)) for picture in _pictures(t)[1:]),
        *(Details(block.title, (block,)) for block in (_terms(t), _logistic(t)) if block is not None),
    ]


def _pictures(t: TableAssessment) -> list[plots.Picture]:
    """Return the pictures that the table has numbers for; predicted against observed first, where both are known."""
    return sorted(plots.pictures("table", t), key=lambda picture: picture.name != CALIBRATION)


def _quoted(name: str) -> str:
    return f"“{name}”"


def _sentences(t: TableAssessment) -> list[Sentence]:
    grave = [f for f in t.findings if f.severity == "critical"]
    heads = [(NOTICE, "Which way round?") if isinstance(f, Orientation) else (BAD, "") for f in grave]
    sentences = [Sentence(*head, words.finding(f), lead=True) for head, f in zip(heads, grave, strict=True)]
    sentences.append(Sentence(*tables.informative(t), lead=not grave))
    sentences += [Sentence(*tables.costs(t, paid)) for paid in t.costs[:: 1 + len(t.prevalences)]]
    missed = tables.miscalibration(t)
    return sentences if missed is None else [*sentences, Sentence(*missed)]


# -- tables -----------------------------------------------------------------------------------------------------------


def _counts(t: TableAssessment) -> Table:
    lines: list[tuple[Cell, ...]] = []
    for row, cells, stated in zip(t.rows, t.counts.tolist(), t.stated, strict=True):
        predicted = Value(stated[-1]) if t.binary else " / ".join(number(p, 2) for p in stated)
        lines.append((Label(row), *map(_cases, [*cells, sum(cells)]), predicted))
    totals = t.counts.sum(0).tolist()
    lines.append((Label("all"), *map(_cases, [*totals, sum(totals)]), ""))
    best, worst = _quoted(t.rows[0]), _quoted(t.rows[-1])
    order = f"Rows are forecasts, from best ({best}) to worst ({worst}); columns are outcomes"
    order += f"; the event is {_quoted(t.columns[-1])}." if t.binary else "."
    kind = "cases" if t.unit == "counts" else "shares of cases" if t.n is None else "expected cases"
    titles, last = [*t.columns, "all", "predicted"], -1 if t.forecasts is None else None
    return table(f"The table ({kind})", titles[:last], [line[:last] for line in lines], (order, *t.notes))


def _cases(x: float) -> Value:
    return Value(x, digits=0 if float(x).is_integer() and x != 1 else 3 if x < 1 else 0)


def _between(value: float, limits: Limits | None) -> Reading:
    return Reading(value, *((limits and limits.ends) or (None, None)))


def _clinical(t: TableAssessment) -> Table | None:
    """Return sensitivity, specificity, predictive values, likelihood ratios and prevalence of a 2 × 2 table."""
    if t.sensitivity is None or t.specificity is None or t.likelihood_ratios is None:
        return None
    given = t.intervals or TableIntervals(t.level, (Limits(), Limits()), Limits(), Limits())
    (npv, ppv), (minus, plus) = given.predictive_values, given.likelihood_ratios or (None, None)
    values = {
        "Sensitivity": _between(t.sensitivity, given.sensitivity),
        "Specificity": _between(t.specificity, given.specificity),
        "PPV": _between(t.predictive_values[1, 1], ppv),
        "NPV": _between(t.predictive_values[0, 0], Limits(npv.exact and (1 - npv.exact[1], 1 - npv.exact[0]))),
        "LR+": _between(t.likelihood_ratios[1], plus),
        "LR−": _between(t.likelihood_ratios[0], minus),
        "Prevalence": _between(t.prior[-1], given.prior),
    }
    rows: list[tuple[Cell, ...]] = []
    for name, reading in values.items():
        share = not name.startswith("LR")
        digits = 1 if share or reading >= 10 else 2
        rows.append((Label(name, GLOSSES[name]), Value(reading, share, digits), Interval(reading, share, digits)))
    note = f"Positive: {_quoted(t.rows[1])}. Event: {_quoted(t.columns[1])}."
    method = "Intervals: exact (Clopper–Pearson); of likelihood ratios by their logarithm." if t.intervals else ""
    columns = ("value", f"{words.level(t.level)} interval")
    return table("As a diagnostic test", columns, rows, [f"{note} {method}".strip()])


def _categories(t: TableAssessment) -> Table | None:
    """Return the shares of the outcomes after each forecast; a 2 × 2 table has its predictive values already."""
    if t.diagnostic:
        return None
    given, ratios, level, first = t.intervals, t.likelihood_ratios, words.level(t.level), -1 if t.binary else 0
    limits = (*given.predictive_values, given.prior) if given else (Limits(),) * (len(t.rows) + 1)
    lines: list[tuple[Cell, ...]] = []
    for i, (row, values) in enumerate(zip([*t.rows, "any"], [*t.predictive_values, t.prior], strict=True)):
        cells: list[Cell] = [Value(x, True, 1) for x in values[first:]]
        if given:
            both = limits[i], Limits(limits[i].wilson)
            cells += [Interval(_between(values[-1], one), True, 1) for one in both]
        if ratios is not None:
            cells.append(Value(ratios[i], digits=2) if i < len(t.rows) else "")
        lines.append((Label(row), *cells))
    titles: list[str | tuple[str, int]] = [*t.columns[first:]]
    titles += [(f"{level} exact", 0), (f"{level} Wilson", 1)] if given else []
    titles += [] if ratios is None else ["LR"]
    notes = [] if ratios is None else ["LR: likelihood ratio, how much the forecast multiplies the odds of the event."]
    notes += [f"Intervals are those of {_quoted(t.columns[-1])}."] if given and not t.binary else []
    title = "Outcomes after each forecast (predictive values)"
    return table(title, titles, lines, notes, first="After the forecast")


def _thresholds(t: TableAssessment) -> Table | None:
    if not t.binary or t.diagnostic:
        return None
    rows: list[tuple[Cell, ...]] = [
        (Label(f"{cut['from']} or worse"), Value(cut["sensitivity"], True, 1), Value(cut["specificity"], True, 1))
        for cut in t.thresholds
    ]
    return table("Thresholds", ("sensitivity", "specificity"), rows, first="Positive from")


def _prevalence(t: TableAssessment) -> Table | None:
    if not (at := t.prevalence):
        return None
    lines: list[tuple[Cell, ...]] = []
    for i, row in enumerate(t.rows):
        shares = [_between(entry.predictive_values[i][-1], entry.limits[i] if entry.limits else None) for entry in at]
        pairs = [cell for reading in shares for cell in (Value(reading, True, 1), Interval(reading, True, 1))]
        lines.append((Label(f"{t.columns[-1]} after {_quoted(row)}"), *pairs))
    separations = [_between(entry.psep, entry.psep_limits) for entry in at]
    pairs = [cell for reading in separations for cell in (Value(reading, digits=3), Interval(reading, digits=3))]
    lines.append((Label("PSEP"), *pairs))
    information = [cell for entry in at for cell in (Value(entry.mutual_information, digits=3), "")]
    lines.append((Label("Expected mutual information, I(o,f)"), *information))
    columns: list[str | tuple[str, int]] = []
    for entry in at:
        columns += [f"{words.in_full(round(100 * entry.prevalence, 6))} %", (words.level(t.level), 1)]
    notes = ["By Bayes' rule, with the same sensitivity and specificity."]
    if t.intervals is not None:
        notes.append(
            "Intervals: from those of the likelihood ratios, none where a cell is empty; none of the information, "
            "which chance lifts."
        )
    return table("At other prevalences", columns, lines, notes, first="At a prevalence of")


def _costs(t: TableAssessment) -> Table | None:
    """Return what each decision-maker pays per case, here and at other prevalences."""
    lines: list[tuple[Cell, ...]] = []
    for paid in t.costs:
        share = words.decisions.threshold(paid.prevalence)
        name = f"{words.in_full(paid.false_alarm)} : {words.in_full(paid.miss)}, {share}"
        costs = map(Value, (paid.cost, paid.always, paid.never))
        lines.append((Label(name), tables.acting(t, paid), *costs, Value(paid.saved), Interval(paid.saved)))
    if not lines:
        return None
    columns = ("decision", "by the forecast", "acting in all", "in none", "saved", (words.level(t.level), 1))
    notes = ["Cost of errors per case, 0 with perfect knowledge; saved beside the better of acting in all and in none."]
    first = "False alarm : miss, prevalence"
    return table("Costs", columns, lines, [*notes, words.decisions.BEYOND], first=first)


def _hb17(t: TableAssessment) -> Table:
    """Return PSEP and the information measures of HB17."""
    psep = _between(t.psep, t.intervals.psep if t.intervals else None)
    name = Label("PSEP", "Predictive separation: share of events after the worst forecast minus after the best.")
    rows: list[tuple[Cell, ...]] = [(name, Value(psep, digits=3), Interval(psep, digits=3))]
    if not t.reliability_taken_as_zero:
        rows.append((Label("PSEP of the predicted probabilities"), Value(t.psep_forecasts), ""))
    information = {
        "Entropy of the outcome, H(o)": t.entropy,
        "Entropy after the forecast, H(o|f)": t.conditional_entropy,
        "Expected mutual information, I(o,f)": t.mutual_information,
        "Normalised (share of H(o); McFadden R²)": t.normalized_mutual_information,
    }
    rows += [(Label(name), Value(x), "") for name, x in information.items()]
    notes = [words.finding(f) for f in t.findings if f.severity == "note"]
    columns = ("value", words.level(t.level))
    return table("Separation and information (nats)", columns, rows, (*notes, f"HB17: {words.PAPERS['HB17']}."))


def _scored(t: TableAssessment) -> dict[str, Terms]:
    """Return the terms of the log loss and of the Brier score that tables of this size are judged by."""
    brier = {"Half Brier (0–1)": t.half_brier_terms, "Brier (0–2)": t.brier_terms}
    return {"Log loss": t.log_terms} | {name: terms for name, terms in brier.items() if terms is not None}


def _scores(t: TableAssessment) -> Table:
    versions = [("", t, not t.reliability_taken_as_zero)]
    notes = [t.reliability_note]
    if t.train is not None and t.reliability_as_zero is not None:
        versions = [
            (", own shares", t.reliability_as_zero, False),
            (", training shares", t, True),
            (", of the training", t.train, False),
        ]
        notes.append(
            "Own shares: the table's own shares as forecasts, REL taken as 0. Training shares: learnt there, scored "
            "here. Of the training: the training table on itself."
        )
    lines: list[tuple[Cell, ...]] = []
    for name in _scored(t):
        for suffix, version, measured in versions:
            terms = _scored(version)[name]
            missed: Cell = Value(terms.reliability) if measured else "taken as 0"
            parts = map(Value, (terms.score, terms.uncertainty, terms.resolution))
            lines.append((Label(f"{name}{suffix}"), *parts, missed, Value(terms.skill)))
    notes.append("Score = uncertainty − resolution + reliability. Skill: share of the uncertainty that is saved.")
    titles = ("score", "uncertainty", "resolution", "reliability", "skill")
    return table("Scores (lower is better)", titles, lines, notes)


def _terms(t: TableAssessment) -> Table:
    """Return resolution and reliability per case of each forecast; reliability only where it was measured."""
    log, brier = _scored(t).values()
    names = ("resolution",) if t.reliability_taken_as_zero else ("resolution", "reliability")
    scores = ("log loss", "half Brier" if t.binary else "Brier")
    titles = ["cases", *(f"{term}, {score}" for score in scores for term in names), "entropy H(o|f)"]
    lines: list[tuple[Cell, ...]] = []
    for a, b in zip(log.per_category, brier.per_category, strict=True):
        parts = [Value(x) for one in (a, b) for x in (one.resolution, one.reliability)[: len(names)]]
        lines.append((Label(a.category), _cases(a.cases), *parts, Value(a.entropy)))
    return table("Terms of each forecast", titles, lines, ["Per case of the forecast."], first="Forecast")


def _logistic(t: TableAssessment) -> Table | None:
    """Return the logistic model of the outcome: log odds of the first forecast, differences of the others."""
    if not t.binary:
        return None
    first, *others = t.rows
    names = [f"log odds after {_quoted(first)}", *(f"difference: {_quoted(row)}" for row in others)]
    model = t.logit
    triples = zip(names, model.coefficients, model.standard_errors or [None] * len(names), strict=True)
    rows = [(Label(name), Value(b), Value(error)) for name, b, error in triples]
    return table("Logistic model", ("coefficient", "standard error"), rows)


def _association(t: TableAssessment) -> Table:
    title, df = "Association of forecast and outcome", str(t.df)
    if t.g2 is None:
        row = (Label("G² per case (likelihood ratio, = 2 I)"), Value(2.0 * t.mutual_information))
        unknown = "The number of cases is not known (--n gives it): no intervals, standard errors or p."
        return table(title, ["value"], [row], [unknown])
    lines: list[tuple[Cell, ...]] = [
        (Label("G² (likelihood ratio, = 2 n I)"), Value(t.g2, digits=2), df, words.p_value(t.g2_p)),
        (Label("X² (Pearson)"), Value(t.x2, digits=2), df, words.p_value(t.x2_p)),
    ]
    notes = []
    if t.exact_p is not None:
        lines.append((Label("exact"), "", "", words.p_value(t.exact_p.value)))
        notes.append(f"Exact: {t.exact_p.method}.")
    return table(title, ("value", "df", "p"), lines, notes)


def _strata(t: TableAssessment) -> Table | None:
    if not t.strata:
        return None
    titles = ["cases", f"share of {t.columns[-1]}", "PSEP", "log loss", "Brier (0–2)", "information", "G²", "p"]
    lines: list[tuple[Cell, ...]] = []
    notes = []
    for name, part in [*t.strata.items(), ("all", t)]:
        if isinstance(part, str):
            lines.append((Label(name), *["–"] * len(titles)))
            notes.append(f"{name}: {part}.")
            continue
        numbers = (part.prior[-1], part.psep, part.divergence_score, part.brier, part.mutual_information)
        cases: Cell = "–" if part.n is None else _cases(part.n)
        g2: Cell = "–" if part.g2 is None else Value(part.g2, digits=2)
        lines.append((Label(name), cases, *map(Value, numbers), g2, words.p_value(part.g2_p)))
    return table("Part by part", titles, lines, notes)
