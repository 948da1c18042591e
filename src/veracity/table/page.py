"""A table's document as people read it: what it says, and its numbers in blocks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from veracity.words import level, number


@dataclass(frozen=True)
class Block:
    """A small table with its heading and the sentences under it."""

    title: str
    header: list[str]
    rows: list[list[str]]
    under: tuple[str, ...] = ()


def blocks(found: dict[str, Any]) -> list[Block]:
    """Everything that is shown, in order; the table itself comes before any number."""
    shown = [_table(found), _categories(found), _rates(found), _prevalence(found), _scores(found), _parts(found)]
    return [block for block in [*shown, _information(found), _association(found), _strata(found)] if block is not None]


def summary(found: dict[str, Any]) -> list[str]:
    """What the table says, in plain words."""
    rows, event = found["rows"], found["columns"][-1]
    d = [values[-1] for values in found["predictive_values"]]
    said = [
        f"{event!r} followed {_percent(d[-1])} of the worst forecasts ({rows[-1]!r}) and {_percent(d[0])} of the best "
        f"({rows[0]!r}); without a forecast {_percent(found['prior'][-1])}.",
        f"Knowing the forecast removes {_percent(found['normalized_mutual_information'])} of the uncertainty about the "
        f"outcome ({number(found['mutual_information'])} of {number(found['entropy'])} nats).",
    ]
    log = found["log_terms"]
    if not found["reliability_taken_as_zero"] and math.isfinite(log["score"]):
        said.append(
            f"Of the log loss of {number(log['score'])} nats {number(log['reliability'])} are miscalibration: what was "
            "stated differs from what followed." + " Always saying the base rate would be better." * (log["skill"] < 0)
        )
    return said


def quiet(found: dict[str, Any]) -> str:
    """One line."""
    return " ".join(summary(found))


# -- blocks -------------------------------------------------------------------------------------------------------


def _table(found: dict[str, Any]) -> Block:
    columns, rows, stated = found["columns"], found["rows"], found["forecasts"]
    totals = [sum(column) for column in zip(*found["counts"], strict=True)]
    header = ["forecast", *columns, "all"] + ["stated"] * (stated is not None)
    lines = [[row, *map(_cases, cells), _cases(sum(cells))] for row, cells in zip(rows, found["counts"], strict=True)]
    if stated is not None:
        for line, f in zip(lines, stated, strict=True):
            line.append(number(f[-1]) if len(f) == 2 else " / ".join(number(p, 2) for p in f))
    last = ["all", *map(_cases, totals), _cases(sum(totals))] + [""] * (stated is not None)
    order = f"Rows: forecasts, best ({rows[0]!r}) to worst ({rows[-1]!r}). Columns: what happened"
    order += f"; the event is {columns[-1]!r}." if len(columns) == 2 else "."
    kind = "cases" if found["unit"] == "counts" else "expected cases" if found["n"] is not None else "shares of cases"
    return Block(f"The table ({kind})", header, [*lines, last], (order, *found["notes"]))


def _categories(found: dict[str, Any]) -> Block:
    """What followed each forecast."""
    intervals, ratios = found["intervals"], found["likelihood_ratios"]
    event, two = found["columns"][-1], len(found["columns"]) == 2
    header = ["After the forecast", *([f"{event}"] if two else found["columns"])]
    header += [f"{level(found)} exact", f"{level(found)} Wilson"] * (intervals is not None)
    header += ["odds times"] * (ratios is not None)
    lines = []
    for i, row in enumerate([*found["rows"], "any"]):
        values = found["predictive_values"][i] if i < len(found["rows"]) else found["prior"]
        line = [row, *([number(values[-1])] if two else map(number, values))]
        if intervals is not None:
            limits = intervals["predictive_values"][i] if i < len(found["rows"]) else intervals["prior"]
            line += [_range(limits["exact"]), _range(limits["wilson"])]
        if ratios is not None:
            line.append(number(ratios[i], 2) if i < len(found["rows"]) else "")
        lines.append(line)
    psep = f"PSEP, worst minus best: {number(found['psep'])}"
    if intervals is not None:
        psep += f" ({level(found)} {_range(intervals['psep']['newcombe'])}, Newcombe)"
    if not found["reliability_taken_as_zero"]:
        psep += f"; of the stated probabilities {number(found['psep_forecasts'])}"
    under = [psep + "."]
    if ratios is not None:
        under.append("Odds times (likelihood ratio): how much the forecast multiplies the odds of the event.")
    if not two and intervals is not None:
        under.append(f"Intervals are those of {event!r}.")
    return Block("What followed each forecast (predictive values)", header, lines, tuple(under))


def _rates(found: dict[str, Any]) -> Block | None:
    rows, columns, intervals = found["rows"], found["columns"], found["intervals"]
    if found["sensitivity"] is None:
        cuts = [
            [f"{c['from']} or worse", number(c["sensitivity"]), number(c["specificity"])] for c in found["thresholds"]
        ]
        title = "Where to draw the line"
        return Block(title, ["Warn from", "sensitivity", "specificity"], cuts) if cuts else None
    lines = []
    for name, row, column in (("sensitivity", rows[1], columns[1]), ("specificity", rows[0], columns[0])):
        line = [f"{name}: {row!r} before {column!r}", number(found[name])]
        if intervals is not None:
            line += [_range(intervals[name]["exact"]), _range(intervals[name]["wilson"])]
        lines.append(line)
    header = ["Given the outcome", "share"]
    header += [f"{level(found)} exact", f"{level(found)} Wilson"] * (intervals is not None)
    return Block("What had been forecast before each outcome", header, lines)


def _prevalence(found: dict[str, Any]) -> Block | None:
    if not found["prevalence"]:
        return None
    header = ["Where the event has prevalence", *(f"{entry['prevalence']:g}" for entry in found["prevalence"])]
    lines = [
        [f"{found['columns'][-1]!r} after {row!r}"]
        + [number(entry["predictive_values"][i][-1]) for entry in found["prevalence"]]
        for i, row in enumerate(found["rows"])
    ]
    lines.append(["PSEP", *(number(entry["psep"]) for entry in found["prevalence"])])
    under = ("By Bayes' rule, with the same shares of forecasts before each outcome.",)
    return Block("Predictive values elsewhere", header, lines, under)


def _scores(found: dict[str, Any]) -> Block:
    two = len(found["columns"]) == 2
    labels = {
        "log_terms": "log loss (nats)",
        **({"half_brier_terms": "half Brier (0 to 1)"} if two else {"brier_terms": "Brier (0 to 2)"}),
    }
    header = ["Lower is better", "score", "= base-rate loss", "− gain (RES)", "+ miscalibration", "skill"]
    versions = [("", found, not found["reliability_taken_as_zero"])]
    under = [found["reliability_note"]]
    if found["train"] is not None:
        versions = [
            (", own shares", found["reliability_as_zero"], False),
            (", training shares", found, True),
            (", of the training", found["train"], False),
        ]
        under.append(
            "Own shares: the table's own shares as forecasts, REL taken as 0. Training shares: what was learnt there, "
            "scored here. Of the training: the training table on itself."
        )
    lines = []
    for name, label in labels.items():
        for said, held, measured in versions:
            terms = held[name]
            parts = [number(terms[part]) for part in ("score", "uncertainty", "resolution")]
            missed = number(terms["reliability"]) if measured else "taken as 0"
            lines.append([f"{label}{said}", *parts, missed, number(terms["skill"])])
    under.append("Gain: from telling cases apart. Skill: the share of the base-rate loss that is saved.")
    return Block("Scores", header, lines, tuple(under))


def _parts(found: dict[str, Any]) -> Block:
    """RES_i, and REL_i where it was measured."""
    measured = not found["reliability_taken_as_zero"]
    scores = {"log loss": "log_terms"}
    scores |= {"half Brier": "half_brier_terms"} if len(found["columns"]) == 2 else {"Brier": "brier_terms"}
    terms = {"RES": "resolution", "REL": "reliability"} if measured else {"RES": "resolution"}
    header = ["Per case of", "cases", *(f"{term}, {name}" for name in scores for term in terms), "left, nats"]
    lines = []
    for i, row in enumerate(found["rows"]):
        held = [found[key]["per_category"][i] for key in scores.values()]
        parts = [number(one[term]) for one in held for term in terms.values()]
        lines.append([row, _cases(held[0]["cases"]), *parts, number(held[0]["entropy"])])
    what = "gain (RES) and miscalibration (REL) come" if measured else "the gain (RES) comes"
    return Block(f"Where {what} from", header, lines, ("Left: uncertainty after this forecast, H(o|f).",))


def _information(found: dict[str, Any]) -> Block:
    lines = [
        ["before the forecast, H(o)", number(found["entropy"])],
        ["still missing after it, H(o|f)", number(found["conditional_entropy"])],
        ["gained, I(o,f) (expected mutual information)", number(found["mutual_information"])],
        ["gained, share of H(o) (= McFadden R²)", number(found["normalized_mutual_information"])],
    ]
    return Block("Information", ["Uncertainty about the outcome", "nats"], lines)


def _association(found: dict[str, Any]) -> Block:
    title = "Association of forecast and outcome"
    if found["g2"] is None:
        unknown = "The number of cases is not known (--n gives it): no intervals, standard errors or p."
        shown = [["G² per case (likelihood ratio, = 2 I)", number(2.0 * found["mutual_information"])]]
        return Block(title, ["Test", "value"], shown, (unknown,))
    lines = [
        ["G² (likelihood ratio, = 2 n I)", f"{found['g2']:.3f}", str(found["df"]), _p(found["g2_p"])],
        ["X² (Pearson)", f"{found['x2']:.3f}", str(found["df"]), _p(found["x2_p"])],
    ]
    under = []
    if found["exact_p"] is not None:
        lines.append(["without approximation", "", "", _p(found["exact_p"]["value"])])
        under.append(f"Without approximation: {found['exact_p']['method']}.")
    if len(found["columns"]) == 2:
        b, errors = found["logit"]["coefficients"], found["logit"]["standard_errors"]
        model = [
            f"{name} {number(value)} (se {number(error)})"
            for name, value, error in zip(["b0", *(f"{row!r}" for row in found["rows"][1:])], b, errors, strict=True)
        ]
        under.append("Logistic model, log odds: " + ", ".join(model) + ".")
    return Block(title, ["Test", "value", "df", "p"], lines, tuple(under))


def _strata(found: dict[str, Any]) -> Block | None:
    if not found["strata"]:
        return None
    event = found["columns"][-1]
    header = ["Part", "cases", f"share of {event}", "PSEP", "log loss", "Brier (0 to 2)", "information", "G²", "p"]
    lines, under = [], []
    for name, part in [*found["strata"].items(), ("all", found)]:
        if isinstance(part, str):
            lines.append([name] + ["–"] * (len(header) - 1))
            under.append(f"{name}: {part}.")
            continue
        numbers = ("psep", "divergence_score", "brier", "mutual_information")
        line = [name, _cases(part["n"]), number(part["prior"][-1]), *(number(part[key]) for key in numbers)]
        lines.append([*line, "–" if part["g2"] is None else f"{part['g2']:.3f}", _p(part["g2_p"])])
    return Block("Part by part", header, lines, tuple(under))


# -- numbers as text ------------------------------------------------------------------------------------------------


def _cases(x: float | None) -> str:
    if x is None:
        return "–"
    return f"{x:,.0f}" if float(x).is_integer() and x != 1 else f"{x:,.4g}"


def _percent(x: float) -> str:
    return f"{100.0 * x:.2g} %" if 0.0 < x < 0.0005 else f"{100.0 * x:.1f} %"


def _range(limits: list[float]) -> str:
    return f"{number(limits[0])} … {number(limits[1])}"


def _p(p: float | None) -> str:
    if p is None:
        return "–"
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}" if p < 0.1 else f"{p:.2f}"
