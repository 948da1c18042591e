"""The answer of a prediction table as blocks: the table itself, clinical measures, then those of HB17."""

from __future__ import annotations

import math
from typing import Any

from veracity import plots, words
from veracity.data import Finding
from veracity.data.reading import Reading
from veracity.show.blocks import Block, Chart, Contents, Details, Heading, Sentence
from veracity.show.cells import Cell, Interval, Label, Table, Value, table
from veracity.words import BAD, GOOD, NOTICE, count, number, percent

CALIBRATION = "attributes"  # the picture of predicted against observed shares
GRAVE, ASKED = "changes the meaning", "orientation"
TITLES = {ASKED: "Which way round?"}
GLOSSES = {
    "Sensitivity": "Share of events that the test found.",
    "Specificity": "Share of non-events that the test left alone.",
    "PPV": "Positive predictive value: share of events after a positive test.",
    "NPV": "Negative predictive value: share of non-events after a negative test.",
    "LR+": "How much a positive test multiplies the odds of the event.",
    "LR−": "How much a negative test multiplies the odds of the event.",
    "Prevalence": "Share of events among all cases.",
}


def summary(result: Any) -> list[Block]:
    """Return the table, its conclusions, clinical measures, then those of HB17."""
    found = result.document()
    findings = [Finding(f["code"], f["severity"], f["message"]) for f in found["findings"]]
    grave = [f for f in findings if f.severity == GRAVE]
    tables = [_categories(found), _thresholds(found), _prevalence(found), _hb17(found, findings)]
    tables += [_scores(found), _association(found), _strata(found)]
    clinical = _clinical(found)
    return [
        Heading("Prediction table", count(found["n"], "case") if found["n"] is not None else "shares of cases"),
        _counts(found),
        *_sentences(found, grave),
        *(Sentence(NOTICE, "Note", words.sentence(f.message)) for f in findings if f.severity == "warning"),
        *([] if clinical is None else [clinical]),
        *(Chart(plots.name_of(module), result) for module in _pictures(result, found)[:1]),
        Contents(),
        *(block for block in tables if block is not None),
    ]


def answer(result: Any) -> list[Block]:
    """Return the summary, the pictures, and the terms of each forecast."""
    found = result.document()
    terms = [block for block in (_terms(found), _logistic(found)) if block is not None]
    return [
        *summary(result),
        *(Details(module.TITLE, (Chart(plots.name_of(module), result),)) for module in _pictures(result, found)[1:]),
        *(Details(block.title, (block,)) for block in terms),
    ]


def _pictures(result: Any, found: dict[str, Any]) -> list[Any]:
    """Return the pictures that the table has numbers for; predicted against observed first, where both are known."""
    drawn = [module for module in plots.ordered("table") if _drawn(module, result)] if found["curves"] else []
    return sorted(drawn, key=lambda module: plots.name_of(module) != CALIBRATION)


def _drawn(module: Any, result: Any) -> bool:
    try:
        return bool(module.rows(result))
    except ValueError:
        return False


def _quoted(name: str) -> str:
    return f"“{name}”"


def _sentences(found: dict[str, Any], grave: list[Finding]) -> list[Sentence]:
    said = [
        Sentence(NOTICE if f.code == ASKED else BAD, TITLES.get(f.code, ""), words.sentence(f.message), lead=True)
        for f in grave
    ]
    said.append(_informative(found, lead=not grave))
    log = found["log_terms"]
    if not found["reliability_taken_as_zero"] and math.isfinite(log["score"]):
        worse = log["skill"] < 0
        missed, loss = number(log["reliability"]), number(log["score"])
        text = f"{missed} of the log loss of {loss} is miscalibration (reliability)."
        text += " Always predicting the prevalence would be better." * worse
        said.append(Sentence(BAD if worse else NOTICE, "Calibration", text))
    return said


def _informative(found: dict[str, Any], lead: bool) -> Sentence:
    """Return how the forecast changes the probability of the event, and whether that could be chance."""
    rows, event = found["rows"], words.event_name(found["columns"][-1])
    shares, prior = [values[-1] for values in found["predictive_values"]], found["prior"][-1]
    p = found["exact_p"]["value"] if found["exact_p"] is not None else found["g2_p"]
    chance = p is not None and p >= words.SIGNIFICANT
    if found["sensitivity"] is not None:
        verbs = ("raises", "lowers") if shares[1] >= shares[0] else ("lowers", "raises")
        text = f"A positive test ({_quoted(rows[1])}) {verbs[0]} the probability of {event} from {percent(prior)} to "
        text += f"{percent(shares[1])}, a negative one {verbs[1]} it to {percent(shares[0])}."
        text += f" The test finds {percent(found['sensitivity'])} of the cases with {event}."
    else:
        text = f"The probability of {event} is {percent(shares[-1])} after {_quoted(rows[-1])}, {percent(shares[0])} "
        text += f"after {_quoted(rows[0])}, {percent(prior)} overall."
    removed = percent(found["normalized_mutual_information"])
    text += f" Knowing the forecast removes {removed} of the uncertainty about the outcome"
    text += f" ({words.p_equals(p)})." if p is not None else "."
    if chance:
        return Sentence(NOTICE, "Not clearly informative", text, lead=lead)
    return Sentence(GOOD if shares[-1] > shares[0] else NOTICE, "Informative", text, lead=lead)


# -- tables -----------------------------------------------------------------------------------------------------------


def _counts(found: dict[str, Any]) -> Table:
    columns, rows, stated = found["columns"], found["rows"], found["forecasts"]
    totals = [sum(column) for column in zip(*found["counts"], strict=True)]
    lines: list[tuple[Cell, ...]] = []
    for i, (row, cells) in enumerate(zip(rows, found["counts"], strict=True)):
        predicted = () if stated is None else (Value(stated[i][-1]),) if len(columns) == 2 else (_shares(stated[i]),)
        lines.append((Label(row), *map(_cases, [*cells, sum(cells)]), *predicted))
    lines.append((Label("all"), *map(_cases, [*totals, sum(totals)]), *(("",) if stated is not None else ())))
    order = f"Rows are forecasts, from best ({_quoted(rows[0])}) to worst ({_quoted(rows[-1])}); columns are outcomes"
    order += f"; the event is {_quoted(columns[-1])}." if len(columns) == 2 else "."
    kind = "cases" if found["unit"] == "counts" else "expected cases" if found["n"] is not None else "shares of cases"
    titles = [*map(str, columns), "all", *(["predicted"] if stated is not None else [])]
    return table(f"The table ({kind})", titles, lines, (order, *found["notes"]))


def _shares(stated: list[float]) -> str:
    return " / ".join(number(p, 2) for p in stated)


def _cases(x: float) -> Value:
    return Value(x, digits=0 if float(x).is_integer() and x != 1 else 3 if x < 1 else 0)


def _between(value: float, limits: Any) -> Reading:
    return Reading(value, *(limits if limits else (None, None)))


def _clinical(found: dict[str, Any]) -> Table | None:
    """Return sensitivity, specificity, predictive values, likelihood ratios and prevalence of a 2 × 2 table."""
    if found["sensitivity"] is None:
        return None
    limits = found["intervals"] or {}

    def exact(name: str, i: int | None = None, kind: str = "exact") -> Any:
        held = limits.get(name)
        held = held[i] if held is not None and i is not None else held
        return held[kind] if held else None

    npv = exact("predictive_values", 0)
    values = {
        "Sensitivity": _between(found["sensitivity"], exact("sensitivity")),
        "Specificity": _between(found["specificity"], exact("specificity")),
        "PPV": _between(found["predictive_values"][1][1], exact("predictive_values", 1)),
        "NPV": _between(found["predictive_values"][0][0], [1 - npv[1], 1 - npv[0]] if npv else None),
        "LR+": _between(found["likelihood_ratios"][1], exact("likelihood_ratios", 1, "log")),
        "LR−": _between(found["likelihood_ratios"][0], exact("likelihood_ratios", 0, "log")),
        "Prevalence": _between(found["prior"][-1], exact("prior")),
    }
    rows: list[tuple[Cell, ...]] = []
    for name, held in values.items():
        share = not name.startswith("LR")
        digits = 1 if share else 1 if held >= 10 else 2
        rows.append((Label(name, GLOSSES[name]), Value(held, share, digits), Interval(held, share, digits)))
    said = f"Positive: {_quoted(found['rows'][1])}. Event: {_quoted(found['columns'][1])}."
    method = "Intervals: exact (Clopper–Pearson); of likelihood ratios by their logarithm." if limits else ""
    columns = ("value", f"{words.level(found['level'])} interval")
    return table("As a diagnostic test", columns, rows, [f"{said} {method}".strip()])


def _categories(found: dict[str, Any]) -> Table | None:
    """Return the shares of the outcomes after each forecast; a 2 × 2 table has its predictive values already."""
    if found["sensitivity"] is not None:
        return None
    intervals, ratios = found["intervals"], found["likelihood_ratios"]
    event, two = found["columns"][-1], len(found["columns"]) == 2
    level = words.level(found["level"])
    outcomes = [str(event)] if two else [str(name) for name in found["columns"]]
    limited = [(f"{level} exact", 0), (f"{level} Wilson", 1)] if intervals is not None else []
    lines: list[tuple[Cell, ...]] = []
    for i, row in enumerate([*found["rows"], "any"]):
        last = i == len(found["rows"])
        values = found["prior"] if last else found["predictive_values"][i]
        cells: list[Cell] = [Value(x, True, 1) for x in (values[-1:] if two else values)]
        if intervals is not None:
            limits = intervals["prior"] if last else intervals["predictive_values"][i]
            cells += [Interval(_between(values[-1], limits[kind]), True, 1) for kind in ("exact", "wilson")]
        if ratios is not None:
            cells.append("" if last else Value(ratios[i], digits=2))
        lines.append((Label(row), *cells))
    ratio = "LR: likelihood ratio, how much the forecast multiplies the odds of the event."
    notes = [ratio] if ratios is not None else []
    notes += [f"Intervals are those of {_quoted(event)}."] if not two and intervals is not None else []
    titled = ["LR"] if ratios is not None else []
    title = "Outcomes after each forecast (predictive values)"
    return table(title, [*outcomes, *limited, *titled], lines, notes, first="After the forecast")


def _thresholds(found: dict[str, Any]) -> Table | None:
    if not found["thresholds"] or found["sensitivity"] is not None:
        return None
    rows: list[tuple[Cell, ...]] = [
        (Label(f"{cut['from']} or worse"), Value(cut["sensitivity"], True, 1), Value(cut["specificity"], True, 1))
        for cut in found["thresholds"]
    ]
    return table("Thresholds", ("sensitivity", "specificity"), rows, first="Positive from")


def _prevalence(found: dict[str, Any]) -> Table | None:
    held = found["prevalence"]
    if not held:
        return None
    lines: list[tuple[Cell, ...]] = []
    for i, row in enumerate(found["rows"]):
        shares = (Value(entry["predictive_values"][i][-1], True, 1) for entry in held)
        lines.append((Label(f"{found['columns'][-1]} after {_quoted(row)}"), *shares))
    lines.append((Label("PSEP"), *(Value(entry["psep"]) for entry in held)))
    columns = [f"{words.in_full(round(100 * entry['prevalence'], 6))} %" for entry in held]
    note = "By Bayes' rule, with the same sensitivity and specificity."
    return table("At other prevalences", columns, lines, [note], first="At a prevalence of")


def _hb17(found: dict[str, Any], findings: list[Finding]) -> Table:
    """Return PSEP and the information measures of HB17."""
    limits = found["intervals"]["psep"]["newcombe"] if found["intervals"] else None
    psep = _between(found["psep"], limits)
    name = Label("PSEP", "Predictive separation: share of events after the worst forecast minus after the best.")
    rows: list[tuple[Cell, ...]] = [(name, Value(psep, digits=3), Interval(psep, digits=3))]
    if not found["reliability_taken_as_zero"]:
        rows.append((Label("PSEP of the predicted probabilities"), Value(found["psep_forecasts"]), ""))
    information = {
        "Entropy of the outcome, H(o)": found["entropy"],
        "Entropy after the forecast, H(o|f)": found["conditional_entropy"],
        "Expected mutual information, I(o,f)": found["mutual_information"],
        "Normalised (share of H(o); McFadden R²)": found["normalized_mutual_information"],
    }
    rows += [(Label(name), Value(x), "") for name, x in information.items()]
    notes = [words.sentence(f.message) for f in findings if f.severity == "note"]
    columns = ("value", words.level(found["level"]))
    return table("Separation and information (nats)", columns, rows, (*notes, f"HB17: {words.PAPERS['HB17']}."))


def _brier(found: dict[str, Any]) -> tuple[str, str, str]:
    """Return the Brier score that tables of this size are judged by: field, name, range."""
    two = len(found["columns"]) == 2
    return ("half_brier_terms", "Half Brier", "0–1") if two else ("brier_terms", "Brier", "0–2")


def _scores(found: dict[str, Any]) -> Table:
    field, brier, limits = _brier(found)
    labels = {"log_terms": "Log loss", field: f"{brier} ({limits})"}
    versions = [("", found, not found["reliability_taken_as_zero"])]
    notes = [found["reliability_note"]]
    if found["train"] is not None:
        versions = [
            (", own shares", found["reliability_as_zero"], False),
            (", training shares", found, True),
            (", of the training", found["train"], False),
        ]
        notes.append(
            "Own shares: the table's own shares as forecasts, REL taken as 0. Training shares: learnt there, scored "
            "here. Of the training: the training table on itself."
        )
    lines: list[tuple[Cell, ...]] = []
    for name, label in labels.items():
        for said, held, measured in versions:
            terms = held[name]
            parts = [Value(terms[part]) for part in ("score", "uncertainty", "resolution")]
            missed: Cell = Value(terms["reliability"]) if measured else "taken as 0"
            lines.append((Label(f"{label}{said}"), *parts, missed, Value(terms["skill"])))
    notes.append("Score = uncertainty − resolution + reliability. Skill: share of the uncertainty that is saved.")
    titles = ("score", "uncertainty", "resolution", "reliability", "skill")
    return table("Scores (lower is better)", titles, lines, notes)


def _terms(found: dict[str, Any]) -> Table:
    """Return resolution and reliability per case of each forecast; reliability only where it was measured."""
    field, brier, _ = _brier(found)
    scores = {"log loss": "log_terms", brier.replace("Half", "half"): field}
    terms = ("resolution",) if found["reliability_taken_as_zero"] else ("resolution", "reliability")
    titles = ["cases", *(f"{term}, {name}" for name in scores for term in terms), "entropy H(o|f)"]
    lines: list[tuple[Cell, ...]] = []
    for i, row in enumerate(found["rows"]):
        held = [found[key]["per_category"][i] for key in scores.values()]
        parts = [Value(one[term]) for one in held for term in terms]
        lines.append((Label(row), _cases(held[0]["cases"]), *parts, Value(held[0]["entropy"])))
    return table("Terms of each forecast", titles, lines, ["Per case of the forecast."], first="Forecast")


def _logistic(found: dict[str, Any]) -> Table | None:
    """Return the logistic model of the outcome: log odds of the first forecast, differences of the others."""
    if len(found["columns"]) != 2:
        return None
    first, *others = found["rows"]
    names = [f"log odds after {_quoted(first)}", *(f"difference: {_quoted(row)}" for row in others)]
    coefficients, errors = (found["logit"][name] for name in ("coefficients", "standard_errors"))
    triples = zip(names, coefficients, errors or [None] * len(names), strict=True)
    rows = [(Label(name), Value(b), Value(error)) for name, b, error in triples]
    return table("Logistic model", ("coefficient", "standard error"), rows)


def _association(found: dict[str, Any]) -> Table:
    title = "Association of forecast and outcome"
    if found["g2"] is None:
        row = (Label("G² per case (likelihood ratio, = 2 I)"), Value(2.0 * found["mutual_information"]))
        unknown = "The number of cases is not known (--n gives it): no intervals, standard errors or p."
        return table(title, ["value"], [row], [unknown])
    df = str(found["df"])
    lines: list[tuple[Cell, ...]] = [
        (Label("G² (likelihood ratio, = 2 n I)"), Value(found["g2"], digits=2), df, words.p_value(found["g2_p"])),
        (Label("X² (Pearson)"), Value(found["x2"], digits=2), df, words.p_value(found["x2_p"])),
    ]
    notes = []
    if found["exact_p"] is not None:
        lines.append((Label("exact"), "", "", words.p_value(found["exact_p"]["value"])))
        notes.append(f"Exact: {found['exact_p']['method']}.")
    return table(title, ("value", "df", "p"), lines, notes)


def _strata(found: dict[str, Any]) -> Table | None:
    if not found["strata"]:
        return None
    titles = ["cases", f"share of {found['columns'][-1]}", "PSEP", "log loss", "Brier (0–2)", "information", "G²", "p"]
    lines: list[tuple[Cell, ...]] = []
    notes = []
    for name, part in [*found["strata"].items(), ("all", found)]:
        if isinstance(part, str):
            lines.append((Label(name), *["–"] * len(titles)))
            notes.append(f"{name}: {part}.")
            continue
        numbers = [part[key] for key in ("psep", "divergence_score", "brier", "mutual_information")]
        cases: Cell = "–" if part["n"] is None else _cases(part["n"])
        g2: Cell = "–" if part["g2"] is None else Value(part["g2"], digits=2)
        cells = (cases, *map(Value, (part["prior"][-1], *numbers)), g2, words.p_value(part["g2_p"]))
        lines.append((Label(name), *cells))
    return table("Part by part", titles, lines, notes)
