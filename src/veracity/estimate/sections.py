"""The sections of an assessment that one pass fills, each a function of the tally."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from veracity.data import Finding, zero_probability
from veracity.data.reading import Reading, undefined
from veracity.estimate.bootstrap import Bootstrap
from veracity.estimate.calibration import calibration_error
from veracity.estimate.means import Measured, not_measurable
from veracity.estimate.scores import MEANS, Entries, Profile, baseline, frequencies, scores, skill
from veracity.estimate.verdict import verdict
from veracity.kernels import Histogram
from veracity.state.plan import FLOORS
from veracity.state.sums import R
from veracity.state.tally import MANY_CLASSES, Tally

EMPTY = "there are no rows"
RULES = ("log", "brier")
SURPRISES, SURPRISES_SHARE = 5, 0.1  # the largest ones, and their share of the log loss before it is a finding
FEW_EVENTS, FEW_IN_BINS = 20, 5
CHANCE, FEWEST_TO_RANK = 0.4, 50  # an area under the ROC curve so low in so many rows is no chance
NO_CASES = "the number of cases is unknown: no intervals"


def without_intervals(section: Any) -> Any:
    if isinstance(section, Reading):
        return Reading(float(section), reason=section.reason or NO_CASES, known=section.known)
    if not isinstance(section, dict):
        return section
    if "reported_low" in section:  # the risk profile
        return {name: None if name.endswith(("_low", "_high")) else values for name, values in section.items()}
    return {
        name: None if name in ("low", "high") and "bins" in section else without_intervals(value)
        for name, value in section.items()
    }


def at_once(tally: Tally) -> dict[str, Any]:
    """The sections that the one pass fills."""
    profile = Profile(tally)
    low, high = profile.limits
    reference = baseline(tally)
    found: dict[str, Any] = {
        "scores": scores(tally),
        "skill": skill(tally, reference),
        "baseline": reference,
        "reported": {name: profile.reading(name) for name in MEANS},
    }
    risk: dict[str, Any] = {"r": R, "reported": profile.values, "reported_low": low, "reported_high": high}
    if tally.measurable:
        m = Measured(tally, profile)
        found["measured"] = {name: m.measured(name) for name in MEANS}
        found["measured_plain"] = {name: m.plain(name) for name in MEANS}
        found["divergence"] = {name: m.divergence(name) for name in MEANS}
        found["slope"] = m.slope()
        risk |= {"measured": m.values, "measured_low": m.limits[0], "measured_high": m.limits[1]}
        found |= {"bins": m.bins(), "calibration_error": calibration_error(tally)}
        findings = profile.findings() + m.findings()
    else:
        nothing = {name: not_measurable() for name in MEANS}
        found |= {"measured": nothing, "measured_plain": nothing, "divergence": nothing, "slope": not_measurable()}
        risk |= {"measured": None, "measured_low": None, "measured_high": None}
        found |= {"bins": [], "calibration_error": {}}
        m, findings = None, profile.findings()
    if tally.plan.bootstrap:
        _resample(found, Bootstrap(tally, m.curve if m else None), risk)
    found["risk_profile"] = risk
    found["floors"] = profile.floors
    found["findings"] = _findings(tally, found["scores"], profile.entries) + findings
    found["_measured"] = m
    return found


def _resample(found: dict[str, Any], b: Bootstrap, risk: dict[str, Any]) -> None:
    """Put bootstrap intervals in the place of the others."""
    for name, values in b.scores().items():
        if name in found["scores"]:
            found["scores"][name] = b.interval(values, found["scores"][name])
    means = b.means()
    for section in ("reported", "measured", "divergence"):
        for name, values in means.get(section, {}).items():
            found[section][name] = b.interval(values, found[section][name], measured=section != "reported")
    if "slope" in means:
        found["slope"] = b.interval(means["slope"]["slope"], found["slope"], measured=True)
    tail = (1.0 - b.tally.plan.level) / 2.0
    risk["reported_low"], risk["reported_high"] = np.nanquantile(b.reported(), [tail, 1.0 - tail], axis=0)


def _findings(tally: Tally, scored: Mapping[str, Reading], entries: Entries) -> tuple[Finding, ...]:
    """What the whole set shows: zeros, one outcome, one forecast, few events, heavy surprises."""
    s, found = tally.sums, list(tally.findings)
    if s.zeros:
        found.insert(
            0, zero_probability(s.zeros, max(tally.cases, s.zeros), [row for p, row, _ in tally.lowest if p == 0.0])
        )
    if s.rows == 1:
        found.append(Finding("one_row", "changes the meaning", "there is only one row: nothing can be compared", 1))
    if tally.measurable and s.rows > 1:
        seen = [j for j, weight in enumerate(s.by_class[:, 0].tolist()) if weight > 0.0]
        if len(seen) == 1:
            found.append(Finding.of("one_outcome", s.rows, s.rows, outcome=str(tally.classes[seen[0]])))
        elif (
            tally.k == 2
            and not tally.shares_only
            and (events := int(min(h.true.sum() for h in tally.classwise))) < FEW_EVENTS
        ):
            name = tally.classes[int(np.argmin([h.true.sum() for h in tally.classwise]))]
            outcomes = "outcome is" if events == 1 else "outcomes are"
            message = f"only {events} {outcomes} {name}: read the intervals, not the values"
            found.append(Finding("few_events", "warning", message, events))
        auc, picks = scored.get("auc"), scored["prediction_accuracy"]
        if tally.k > 2 and s.rows >= FEWEST_TO_RANK and picks.high is not None and picks.high < 1.0 / tally.k:
            shares = {"share": f"{picks:.1%}", "chance": f"{1.0 / tally.k:.1%}"}
            found.append(Finding.of("picks_below_chance", s.rows, s.rows, **shares))
        if s.rows >= FEW_EVENTS and _only_certain(tally):
            found.append(Finding.of("only_certain", s.rows, s.rows))
        if auc is not None and auc < CHANCE and s.rows >= FEWEST_TO_RANK:
            option = tally.held.names.option("positive", tally.classes[0]) if tally.held is not None else ""
            found.append(Finding.of("worse_than_chance", s.rows, s.rows, option=option))
        if _constant(tally):
            found.append(Finding.of("constant_forecast", s.rows, s.rows))
        if tally.plan.bins != "auto" and s.rows < FEW_IN_BINS * int(tally.plan.bins):
            message = f"{tally.plan.bins:,} bins for {s.rows:,} rows: bins so small repeat the outcomes; give fewer"
            found.append(Finding("many_bins", "warning", message, s.rows))
        if s.n_eff < 1.0 + 1e-9:
            message = "all weight is on one row: no interval can be given"
            found.append(Finding("one_weight", "changes the meaning", message, 1))
    if not s.zeros and s.rows >= 50:
        total, worst, wanted = float(s.score[0, 0]), 0.0, SURPRISES
        for cases, logs in zip(entries.rows[:SURPRISES].tolist(), entries.sums[1][:SURPRISES].tolist(), strict=True):
            worst -= logs * min(cases, wanted) / cases  # of the lowest cells, as many cases as are wanted
            wanted -= min(cases, wanted)
        share = worst / total if total > 0.0 else 0.0
        if share >= SURPRISES_SHARE:
            rows = tuple(row for _, row, _ in tally.lowest[:SURPRISES])
            message = f"the {SURPRISES} largest surprises make up {share:.0%} of the log loss"
            found.append(Finding("surprises", "note", message, SURPRISES, rows))
    return tuple(found)


def _only_certain(tally: Tally) -> bool:
    """Whether every entry is 0 or 1; `pooled` may have to be counted, so the picks are asked first."""
    last = len(tally.grid) - 1
    return bool((tally.top.cells == last).all()) and set(tally.pooled.cells.tolist()) <= {0, last}


def _constant(tally: Tally) -> bool:
    """Whether all rows are the same; class-wise cells of many classes are too wide to tell, pooled ones are not."""
    if not (_whole_columns(tally.binned, tally) and all(len(h.cells) == 1 for h in tally.classwise)):
        return False
    if not (len(tally.pooled.cells) <= tally.k and _whole_columns(tally.pooled, tally)):
        return False
    return all(len(h.cells) == 1 for h in tally.classwise)


def _whole_columns(pooled: Histogram, tally: Tally) -> bool:
    """Whether every cell may hold whole columns."""
    return tally.k <= MANY_CLASSES or not (pooled.all % tally.sums.rows).any()


def empty(tally: Tally, reason: str = EMPTY) -> dict[str, Any]:
    """Every section of rows that cannot be assessed: undefined, and a finding that says why."""
    names = ["log_loss", "brier", "spherical", "prediction_accuracy", "perplexity"]
    names += ["half_brier", "auc"] if tally.k == 2 else []
    nothing = {name: undefined(reason) for name in MEANS}
    no_values, code = np.full(len(R), np.nan), "empty" if reason == EMPTY else "one_class"
    profiles = ("reported", "reported_low", "reported_high", "measured", "measured_low", "measured_high")
    return {
        "scores": {name: undefined(reason) for name in names},
        "skill": {rule: undefined(reason) for rule in RULES},
        "baseline": {},
        **{section: dict(nothing) for section in ("reported", "measured", "measured_plain", "divergence")},
        "slope": undefined(reason),
        "risk_profile": {"r": R, **dict.fromkeys(profiles, no_values)},
        "floors": [{"floor": floor, **dict.fromkeys(MEANS, np.nan)} for floor in FLOORS],
        "bins": [],
        "calibration_error": {},
        "findings": (*tally.findings, Finding(code, "changes the meaning", reason)),
        "_measured": None,
    }


def group(tally: Tally) -> dict[str, Any]:
    found = at_once(tally)
    kept = {name: found[name] for name in ("scores", "reported", "measured", "slope")}
    return {"n": tally.cases, **kept, "verdict": verdict(tally).word, "level": _level(tally)}


def _level(tally: Tally) -> dict[str, float] | None:
    """Of two classes, what was said of the event on average and how often it happened."""
    if tally.k != 2 or not (tally.measurable and tally.sums.rows):
        return None
    forecast, observed = tally.sums.column[1] / tally.sums.weight, frequencies(tally)[1]
    return {"forecast": float(forecast), "observed": float(observed)}
