"""A table as plain data, for JSON, terminal, report and charts."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from veracity.data import Finding
from veracity.data.names import listed
from veracity.formulas import tables as formula
from veracity.formulas.rules import rule
from veracity.words import inert, percent

if TYPE_CHECKING:
    from .types import PredictionTable

SCHEMA = "veracity/table/1"
NUMBERS = (
    *("psep", "psep_forecasts", "half_brier", "brier", "divergence_score", "entropy", "conditional_entropy"),
    *("mutual_information", "normalized_mutual_information", "g2", "df", "g2_p", "x2", "mcfadden_r2"),
    *("sensitivity", "specificity", "thresholds"),
)
PROFILE = tuple(-2 + i / 9 for i in range(12, 37))  # r from −2/3 to 2
METHODS = {"exact": "Clopper-Pearson", "log": "normal, of the logarithm", "newcombe": "Newcombe"}
FEW = 5.0  # expected cases in a cell, the usual limit for trusting a chi-square p


def document(table: PredictionTable) -> dict[str, Any]:
    """Return every number of a table by its name in the JSON document."""
    ratios, exact, train = table.likelihood_ratios, table.exact_p, table.train
    own = None if table.forecasts is None else replace(table, forecasts=None, train=None)
    return {
        "schema": SCHEMA,
        "n": _whole(table.n),
        **_core(table),
        "findings": [{"code": f.code, "severity": f.severity, "message": f.message} for f in findings(table)],
        "prior": table.prior.tolist(),
        "psep_unused": _whole(table.psep_unused),
        **{name: getattr(table, name) for name in NUMBERS},
        "conditional_entropies": formula.conditional_entropies(table.counts).tolist(),
        "information_inaccuracy": table.conditional_entropy,
        "x2_p": None if table.x2 is None else formula.chi_square_tail(table.x2, table.df),
        "exact_p": None if exact is None else {"value": exact[0], "method": exact[1]},
        "predictive_values": table.predictive_values.tolist(),
        "likelihood_ratios": None if ratios is None else ratios.tolist(),
        "logit": _logit(table),
        "intervals": table.intervals() or None,
        "reliability_taken_as_zero": table.forecasts is None,
        "reliability_note": reliability_note(table),
        **_terms(table),
        "reliability_as_zero": None if own is None else _terms(own),
        "train": None if train is None else {"n": _whole(train.n), **_core(train), **_terms(train), "psep": train.psep},
        "prevalence": [
            {"prevalence": p, "predictive_values": d.tolist(), "psep": formula.psep(d)}
            for p, d in ((p, table.at_prevalence(p)) for p in table.prevalences)
        ],
        "decomposed_profile": _profile(table),
        "curves": _curves(table),
        "strata": {name: t if isinstance(t, str) else _line(t) for name, t in table.strata.items()},
        "reasons": _reasons(table),
    }


def _terms(table: PredictionTable) -> dict[str, Any]:
    score = "half_brier" if table.binary else "brier"
    return {f"{name}_terms": table.terms(name).document() for name in (score, "log")}


def reliability_note(table: PredictionTable) -> str:
    """Return a sentence on whether REL was measured or taken as zero, which HB17 asks to state."""
    if table.train is not None:
        return "Miscalibration (REL) is measured: the forecasts are the shares observed in the training table."
    if table.forecasts is not None:
        return "Miscalibration (REL) is measured: forecast probabilities were given."
    return (
        "Miscalibration (REL) was taken as zero, not measured: no forecast probabilities were given, "
        "so each category's own observed share is taken as its forecast."
    )


def findings(table: PredictionTable) -> list[Finding]:
    """Return the facts that a reader must know before the numbers."""
    found = []
    ruled_out = np.isinf(formula.cell_divergences(table.stated, rule("log"))) & (table.counts > 0)
    for i, j in np.argwhere(ruled_out):
        message = (
            f"{_times(table, table.counts[i, j])} “{table.columns[j]}” followed forecast “{table.rows[i]}”, which gave "
            "it probability 0. The log loss is infinite because of it, and stays so; the Brier score stays finite."
        )
        found.append(Finding("ruled_out", "changes the meaning", message, int(table.counts[i, j])))
    if table.other_reading and _like_a_textbook(table):
        message = (
            f"as read, the event (“{table.columns[1]}”) and the positive forecast (“{table.rows[1]}”) are the more "
            "frequent ones, as they would be in a table that has the event and the positive test first. "
            f"Is yours such a table? Then: {table.other_reading}. If not, names for rows and columns say so"
        )
        found.append(Finding("orientation", "changes the meaning", message))
    if table.psep < 0:
        message = (
            f"“{table.columns[-1]}” was more frequent after the best forecast (“{table.rows[0]}”) than after the worst "
            f"(“{table.rows[-1]}”). Rows go from best to worst and columns from no event to event: is one reversed?"
        )
        found.append(Finding("reversed", "changes the meaning", message))
    if table.n is not None and formula.expected(table.counts).min() < FEW:
        message = f"A cell has fewer than {FEW:g} expected cases: use the exact p rather than that of G²."
        found.append(Finding("few_cases", "warning", message))
    empty = np.argwhere(table.counts == 0)
    if len(empty):
        cells = listed([f"“{table.columns[j]}” after “{table.rows[i]}”" for i, j in empty], 3)
        message = (
            f"Never happened: {cells}. Such cells add nothing to scores and "
            "information (0·ln 0 = 0), and make logistic coefficients infinite."
        )
        found.append(Finding("empty_cell", "note", message, len(empty)))
    if len(table.rows) > 2:
        share = table.psep_unused / table.counts.sum()
        few = f"{table.psep_unused:,.6g} of {table.n:,.6g} cases" if table.n else f"{percent(share, 0)} of the cases"
        message = f"PSEP compares the worst with the best category only and leaves {few} unused."
        found.append(Finding("psep_unused", "note", message, int(table.psep_unused)))
    return found


def _like_a_textbook(table: PredictionTable) -> bool:
    """Whether a 2 × 2 table would have the rarer outcome and the rarer forecast last if it were turned round."""
    cells = table.counts
    if cells.shape != (2, 2) or table.psep <= 0.0:
        return False
    return bool(cells[:, 1].sum() > cells[:, 0].sum() and cells[1].sum() > cells[0].sum())


def _times(table: PredictionTable, cases: float) -> str:
    return "A share of" if table.n is None else "Once" if cases == 1 else f"{cases:,.6g} times"


def _reasons(table: PredictionTable) -> dict[str, str]:
    """Return the reason for each number that is null."""
    reasons = {}
    if not table.binary:
        reasons["half_brier"] = "needs two outcomes; brier is the score for more"
        reasons["likelihood_ratios"] = "needs two outcomes"
    if table.counts.shape != (2, 2):
        reasons["sensitivity"] = reasons["specificity"] = "needs two categories and two outcomes; see thresholds"
    if table.n is None:
        inferential = ("n", "g2", "g2_p", "x2", "x2_p", "exact_p", "intervals", "logit.standard_errors")
        reasons |= dict.fromkeys(inferential, "the table holds shares and the number of cases is not known")
    elif table.exact_p is None:
        reasons["exact_p"] = "needs whole counts" if table.unit == "weights" else "needless with so many cases"
    return reasons


def _logit(table: PredictionTable) -> dict[str, Any]:
    """Return the saturated logistic model against the first outcome; beyond two outcomes one list per category."""
    b, error = (a[:, 0] if table.binary else a for a in table.logit)
    known = table.n is not None
    model, null = formula.log_likelihoods(table.counts)
    return {
        "coefficients": b.tolist(),
        "standard_errors": error.tolist() if known else None,
        "log_likelihood": model if known else None,
        "null_log_likelihood": null if known else None,
    }


def _profile(table: PredictionTable) -> dict[str, list[float]]:
    """Return the terms for each r of the risk axis."""
    terms = [table.terms(r) for r in PROFILE]
    names = ("score", "uncertainty", "resolution", "reliability")
    return {"r": list(PROFILE), **{name: [getattr(t, name) for t in terms] for name in names}}


def _mosaic(table: PredictionTable) -> dict[str, Any]:
    """Return the table as areas of the unit square, and the borders without association."""
    share, d = formula.category_shares(table.counts), table.predictive_values[:, ::-1]
    right, high = share.cumsum(), d.cumsum(1)
    cells = [
        {
            "category": row,
            "outcome": column,
            "cases": _whole(float(table.counts[i, -1 - j])),
            "share": float(d[i, j]),
            "left": float(right[i] - share[i]),
            "middle": float(right[i] - share[i] / 2),
            "right": float(right[i]),
            "low": float(high[i, j] - d[i, j]) if j else 0.0,
            "high": float(high[i, j]),
            "labelled": bool(share[i] >= 0.04),  # names of narrower columns would overlap
        }
        for i, row in enumerate(table.rows)
        for j, column in enumerate(table.columns[::-1])
    ]
    return {"mosaic": cells, "mosaic_prior": table.prior[::-1].cumsum()[:-1].tolist()}


def _attributes(table: PredictionTable) -> dict[str, Any]:
    """Return stated and observed probabilities, and the area of skill: nearer to the diagonal than the prior."""
    if table.forecasts is None or not table.binary:
        return {"attributes": [], "attributes_skill": []}
    limits = table.intervals().get("predictive_values", [{}] * len(table.rows))
    points = [
        {
            "category": row,
            "stated": float(table.stated[i, 1]),
            "observed": float(table.predictive_values[i, 1]),
            "low": limits[i].get("wilson", [None])[0],
            "high": limits[i].get("wilson", [None])[-1],
            "cases": _whole(float(table.counts[i].sum())),
        }
        for i, row in enumerate(table.rows)
    ]
    base = float(table.prior[1])
    skill = [
        {"stated": x, "low": 0.0 if x < base else (x + base) / 2, "high": (x + base) / 2 if x < base else 1.0}
        for x in (0.0, base - 1e-9, base + 1e-9, 1.0)
    ]
    return {"attributes": points, "attributes_skill": skill}


def _curves(table: PredictionTable) -> dict[str, Any]:
    """Return the data of the pictures."""
    areas = {**_mosaic(table), **_attributes(table)}
    if not table.binary:
        return areas
    updating = [
        {"prevalence": float(q), "category": row, "predictive_value": float(d[-1])}
        for q in np.linspace(0.0, 1.0, 51)
        for row, d in zip(table.rows, table.at_prevalence(float(q)), strict=True)
    ]
    return {"tangents": {name: table.tangents(name) for name in ("log", "half_brier")}, "updating": updating, **areas}


def _line(table: PredictionTable) -> dict[str, Any]:
    """Return the numbers of a stratum."""
    names = ("psep", "half_brier", "brier", "divergence_score", "mutual_information", "g2", "g2_p")
    numbers = {name: getattr(table, name) for name in names}
    return {"n": _whole(table.n), **_core(table), "prior": table.prior.tolist(), **numbers}


def _core(table: PredictionTable) -> dict[str, Any]:
    """Return the fields from which `from_json` builds the table again."""
    return {
        "rows": list(table.rows),
        "columns": list(table.columns),
        "counts": [[_whole(cell) for cell in row] for row in table.counts.tolist()],
        "unit": table.unit,
        "forecasts": None if table.forecasts is None else table.forecasts.tolist(),
        "level": table.level,
        "notes": list(table.notes),
    }


def _whole(number: float | None) -> float | int | None:
    return int(number) if number is not None and number.is_integer() else number


# -- CSV ----------------------------------------------------------------------------------------------------------


def csv_lines(found: dict[str, Any]) -> str:
    """Return CSV text with every number and word of the document by its JSON path, without the pictures' data."""
    limits = _limits(found)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["name", "value", "low", "high", "method"])
    for path, value in _flat({key: value for key, value in found.items() if key not in ("curves", "intervals")}, ""):
        writer.writerow([path, _exact(value), *limits.get(path, ("", "", ""))])
    return out.getvalue()


def _limits(found: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return {path: (low, high, method)} of the numbers with an interval."""
    intervals = found["intervals"]
    if intervals is None:
        return {}
    last = len(found["columns"]) - 1
    held = {f"prior.{last}": intervals["prior"], "psep": intervals["psep"]}
    held |= {name: intervals.get(name) for name in ("sensitivity", "specificity")}
    held |= {f"predictive_values.{i}.{last}": limit for i, limit in enumerate(intervals["predictive_values"])}
    held |= {f"likelihood_ratios.{i}": limit for i, limit in enumerate(intervals.get("likelihood_ratios", ()))}
    return {
        path: (*map(_exact, limit[kind]), method)
        for path, limit in held.items()
        for kind, method in METHODS.items()
        if limit and kind in limit
    }


def _exact(value: Any) -> str:
    if isinstance(value, str):
        return inert(value)
    return repr(value) if isinstance(value, float) and math.isfinite(value) else str(value)


def _flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flat(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _flat(item, f"{path}.{i}")
    elif value is not None:
        yield path, value
