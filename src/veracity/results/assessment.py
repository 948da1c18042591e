"""The assessment: everything that can be said about a set of forecasts, as plain data.

What one pass gives is there at once; the verdict, the ladder and the curves are computed when first asked for and
kept. An assessment read from JSON holds what the document holds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

import numpy as np

from veracity import __version__, kernels, maps
from veracity.data import Finding, Forecasts, prepare
from veracity.data.places import Row, place
from veracity.data.reading import Reading, undefined
from veracity.estimate.calibration import reliability
from veracity.estimate.ladder import Ladder
from veracity.estimate.means import Measured, curves_of, measured_by
from veracity.estimate.scores import MEANS
from veracity.estimate.sections import EMPTY, RULES, at_once, empty, group, without_intervals
from veracity.estimate.sentences import sentences
from veracity.estimate.verdict import Verdict, verdict
from veracity.results.document import Readings, decode, encode, plain, readings
from veracity.state.plan import Plan
from veracity.state.sampling import take
from veracity.state.tally import Tally

SCHEMA, SEVERAL = "veracity/assessment/1", "veracity/assessments/1"
GLOSSES = ("average (decisiveness)", "typical (geometric accuracy)", "worst-leaning (robustness)")
ONE_CLASS = "there is only one class: what happens is certain, and nothing can be compared"
OF_ARRAYS = ("nan", "soft", "normalise", "scale")  # options of Forecasts.of beyond those of assess
OF_FRAME = {  # what stands beside arrays, and which option names the columns of a frame that hold it
    "sample_weight": "weight",
    "counts": "count",
    "labels": "order",
    "pos_label": "positive",
    "groups": "group",
    "features": "feature",
}


class Assessment:
    """What `assess` returns. Readings act as floats and have .low, .high and .method.

    >>> a = assess([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> round(a.reported.accuracy, 6), round(a.scores.half_brier, 6)
    (0.741559, 0.075)
    """

    def __init__(self, sections: dict[str, Any], tally: Tally | None = None) -> None:
        self._sections, self._tally = sections, tally

    # -- what is there --------------------------------------------------------------------------------------------

    def _section(self, name: str) -> Any:
        if name not in self._sections:
            if self._tally is None:
                raise AttributeError(f"this assessment was read from a document without {name!r}; make it again")
            section = _LATER[name](self)
            self._sections[name] = without_intervals(section) if self._tally.shares_only else section
        return self._sections[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in _ALL:
            raise AttributeError(f"an assessment has no {name!r}; there are {', '.join(_ALL)}")
        section = self._section(name)
        if name in _READINGS:
            return Readings(section, name)
        return section

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_ALL]

    def decomposition(self, rule: str = "log") -> Readings:
        """loss = uncertainty − resolution + reliability + within, under "log" or "brier"."""
        return Readings({k: v for k, v in self._by_rule("decomposition", rule).items() if k != "map"}, "decomposition")

    def losses(self, rule: str = "log") -> Readings:
        """The losses of KF15 Table 2: L = AL + PCL + GL + IL + remainder, under "log" or "brier"."""
        return Readings(self._by_rule("losses", rule), "losses")

    def corrections(self, rule: str = "log") -> dict[str, float]:
        """What each term of the decomposition gains by chance, because C was counted in the same rows; subtract it.

        Ferro & Fricker 2012 for "brier", Miller & Madow's second-order term for "log".
        """
        return self._live("corrections").corrections(rule)

    def crossfitted_losses(self, rule: str = "log") -> Readings:
        """The losses with C fitted without the rows that it is applied to."""
        return Readings(self._live("cross-fitted losses").crossfitted(rule), "crossfitted_losses")

    def _live(self, what: str) -> Ladder:
        if self._tally is None:
            raise AttributeError(f"this assessment was read from a document; {what} need the forecasts")
        return _ladder(self)

    def _by_rule(self, section: str, rule: str) -> dict[str, Reading]:
        if rule not in RULES:
            raise ValueError(f"rule: {rule!r} is none of {', '.join(RULES)}")
        found: dict[str, Reading] = self._section(section)[rule]
        return found

    def remedies(self) -> list[dict[str, Any]] | None:
        """What each adjustment and calibrator would gain, cross-fitted. Computed when asked for."""
        if self._sections.get("remedies") is None and self._tally is not None:
            self._sections["remedies"] = _ladder(self).remedies()
        found: list[dict[str, Any]] | None = self._sections.get("remedies")
        return found

    def measured_by(self, curve: str = "bins", groups: str = "pooled") -> dict[str, float]:
        """The measured means by another curve (bins, width, isotonic), of all entries or "per class"; no intervals.

        Pooled assumes one calibration curve for all classes; per class each has its own (theory section 3, step 2).
        """
        if self._tally is None:
            raise AttributeError("this assessment was read from a document; other curves need the forecasts")
        return measured_by(self._tally, curve, groups)

    # -- as data --------------------------------------------------------------------------------------------------

    def document(self) -> dict[str, Any]:
        """The JSON document as Python values, every section computed (remedies only if asked for before)."""
        if self._tally is not None:
            for name in _LATER:
                self._section(name)
        values: dict[str, Any] = {name: self._sections.get(name) for name in ("schema", "model", *_ALL, "remedies")}
        values["findings"] = [_finding_dict(finding) for finding in values["findings"]]
        document: dict[str, Any] = plain(values)
        document["classes"] = list(self.classes)
        return document

    def to_json(self, indent: int | None = None) -> str:
        return encode(self.document(), indent)

    @classmethod
    def from_json(cls, text: str) -> Assessment:
        """An assessment from what `to_json` wrote."""
        try:
            document = decode(text)
        except ValueError as error:
            raise ValueError(f"text: this is no JSON ({error}); give what to_json() returned") from None
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            schema = document.get("schema") if isinstance(document, dict) else None
            raise ValueError(f"text: schema {schema!r} is not {SCHEMA!r}; give the document of one assessment")
        return cls.from_document(document)

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Assessment:
        sections = {name: readings(value) for name, value in document.items()}
        sections["classes"] = tuple(document["classes"])
        sections["findings"] = tuple(_stored(finding) for finding in document["findings"])
        return cls(sections)

    def rows(self) -> list[dict[str, Any]]:
        """The readings as a flat table: name, value, low, high, method."""
        table: list[dict[str, Any]] = []

        def walk(path: str, value: Any) -> None:
            if isinstance(value, Reading):
                table.append({"name": path, "reason": None, **value.to_dict()})
            elif isinstance(value, Mapping):
                for key, item in value.items():
                    walk(f"{path}.{key}", item)

        for name in ("scores", "skill", "reported", "measured", "measured_plain", "divergence", "slope"):
            walk(name, self._sections[name])
        for name in ("decomposition", "losses"):
            if self._tally is not None or name in self._sections:
                walk(name, self._section(name))
        return table

    def to_frame(self) -> Any:
        """The readings as a polars frame: name, value, low, high, method, reason."""
        from veracity.read import frame_of

        return frame_of(self.rows())

    # -- for people -----------------------------------------------------------------------------------------------

    def plot(self, name: str) -> Any:
        """A picture by name, an Altair chart: `a.plot("reliability").save("x.png")`."""
        return import_module("veracity.plots").chart(name, self)

    def report(self, path: Any) -> None:
        """Write the report, one HTML file that opens offline."""
        self.remedies()
        import_module("veracity.show").write(self, path)

    def _repr_html_(self) -> str:
        html: str = import_module("veracity.show").fragment(self)
        return html

    def __repr__(self) -> str:
        scored = {"log loss": "log_loss", "Brier (0 to 2)": "brier", "correct picks": "prediction_accuracy"}
        lines = [f"Assessment of {self.n:,} forecasts, {len(self.classes)} classes"]
        lines += [f"  {sentence}" for sentence in self.verdict_detail["sentences"]]
        lines += [f"  {name:<33}{self.scores[key]!r}" for name, key in scored.items() if key in self.scores]
        for gloss, name in zip(GLOSSES, MEANS, strict=True):
            lines.append(f"  {gloss:<33}stated {self.reported[name]!r}   borne out {self.measured[name]!r}")
        lines.append(f"  {'slope':<33}{self._sections['slope']!r}")
        said = " ".join(self.verdict_detail["sentences"]).lower()
        lines += [f"  {f.message}" for f in self.findings if f.severity != "note" and f.message.lower() not in said]
        return "\n".join(lines)


def _stored(finding: dict[str, Any]) -> Finding:
    rows, files = finding["rows"], finding.get("files")
    placed = tuple(rows) if files is None else tuple(map(Row, rows, files))
    return Finding(**{**{name: value for name, value in finding.items() if name != "files"}, "rows": placed})


def _finding_dict(finding: Finding) -> dict[str, Any]:
    held = {name: getattr(finding, name) for name in ("code", "severity", "message", "count", "rows")}
    files = [row.file for row in finding.rows if isinstance(row, Row)]
    return held | ({"files": files} if files else {})


class Assessments:
    """Assessments of several models, by name."""

    def __init__(self, models: Mapping[str, Assessment]) -> None:
        self.models = dict(models)

    def __getitem__(self, name: str) -> Assessment:
        return self.models[name]

    def __len__(self) -> int:
        return len(self.models)

    def document(self) -> dict[str, Any]:
        return {"schema": SEVERAL, "models": {name: a.document() for name, a in self.models.items()}}

    def to_json(self, indent: int | None = None) -> str:
        return encode(self.document(), indent)

    @classmethod
    def from_json(cls, text: str) -> Assessments:
        import json

        document = json.loads(text)
        if document.get("schema") != SEVERAL:
            raise ValueError(f"text: schema {document.get('schema')!r} is not {SEVERAL!r}")
        return cls({name: Assessment.from_json(json.dumps(one)) for name, one in document["models"].items()})

    def report(self, path: Any) -> None:
        for a in self.models.values():
            a.remedies()
        import_module("veracity.show").write(self, path)

    def plot(self, name: str) -> Any:
        return import_module("veracity.plots").chart(name, self)

    def _repr_html_(self) -> str:
        html: str = import_module("veracity.show").fragment(self)
        return html

    def __repr__(self) -> str:
        return "\n\n".join(f"{name}: {a!r}" for name, a in self.models.items())


# -- making one -----------------------------------------------------------------------------------------------------


def assess(
    y_true: Any,
    y_proba: Any = None,
    *,
    sample_weight: Any = None,
    counts: Any = None,
    labels: Any = None,
    pos_label: Any = None,
    floor: float = 0.0,
    end_width: float = 0.005,
    bins: int | str = "auto",
    preset: str | None = None,
    map: str = "bins",
    groups: Any = None,
    ideal: Any = None,
    features: Any = None,
    level: float = 0.95,
    bootstrap: int | None = None,
    random_state: int = 0,
    **reading: Any,
) -> Any:
    """How good the forecasts are, why they lose what they lose, and what would help.

    y_true, y_proba: outcomes and probabilities, (n,) or (n, k); or one Forecasts, one Tally, or one frame with
    label=, proba= and the other reading options. Returns an `Assessment` (`Assessments` where a frame holds several
    models).
    """
    started = time.perf_counter()
    if map not in maps.names():
        raise ValueError(f"map: {map!r} is none of {', '.join(maps.names())}")
    plan = Plan(floor, end_width, bins, preset, map, level, bootstrap, random_state)
    beside = {"sample_weight": sample_weight, "counts": counts, "labels": labels, "pos_label": pos_label}
    beside |= {"groups": groups, "ideal": ideal, "features": features}
    given = [name for name, value in beside.items() if value is not None]
    if isinstance(y_true, (Tally, Forecasts)):
        also = [] if y_proba is None else ["y_proba"]
        return of_tally(_counted(y_true, plan, [*also, *given, *reading]), started=started)
    if y_proba is None:
        return _of_frame(y_true, plan, {name: beside[name] for name in given}, reading)
    for option in reading:
        raise TypeError(f"assess() of arrays has no option {option!r}; {_instead(option)}")
    if np.size(y_true) == 0 and np.size(y_proba) == 0:
        return of_tally(Tally.of(y_true, y_proba, labels=labels, pos_label=pos_label, plan=plan), started=started)
    alone = _only_class(y_true, y_proba, labels)
    if alone is not None and sample_weight is None and counts is None:
        return _of_one_class(len(y_true), of_tally(Tally.zero([alone], plan), started=started))
    forecasts = prepare(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        counts=counts,
        labels=labels,
        pos_label=pos_label,
        groups=_columns(groups),
        ideal=ideal,
        features=features,
    )
    return of_tally(Tally.hold(forecasts, plan), started=started)


def _only_class(y_true: Any, y_proba: Any, labels: Any) -> Any:
    """The class, where there is no other: one column that says 1 of all that happened; None otherwise."""
    if np.ndim(y_proba) != 2 or np.shape(y_proba)[1] != 1 or np.ndim(y_true) != 1 or len(y_true) != len(y_proba):
        return None
    seen = list({value for value in np.asarray(y_true).tolist() if value is not None and value == value})
    if len(seen) != 1 or len([value for value in y_true if value in seen]) < len(y_true):
        return None
    names = seen if labels is None else list(labels)
    return names[0] if len(names) == 1 and seen == names and (np.asarray(y_proba) == 1.0).all() else None


def _of_one_class(rows: int, a: Assessment) -> Assessment:
    said = {"reason": ONE_CLASS, "sentences": [f"{ONE_CLASS[0].upper()}{ONE_CLASS[1:]}."]}
    sections = a._sections | empty(_tally(a), ONE_CLASS) | {"n": rows, "verdict_detail": a.verdict_detail | said}
    return Assessment(sections, a._tally)


def _counted(held: Tally | Forecasts, plan: Plan, given: list[str]) -> Tally:
    """What is held already, counted; options that would be of no effect are refused."""
    kind = type(held).__name__
    if given:
        raise TypeError(f"assess() got {', '.join(given)} beside a {kind}, which holds all its data; give it to that")
    if isinstance(held, Forecasts):
        return Tally.hold(held, plan)
    usual = Plan()
    for name, value in plan.options().items():
        if value not in (getattr(held.plan, name), getattr(usual, name)):
            raise ValueError(
                f"{name}: {value!r}, but the tally was counted with {getattr(held.plan, name)!r}\n"
                "  leave the options out, or count again with them"
            )
    return held


def _of_frame(data: Any, plan: Plan, beside: dict[str, Any], options: dict[str, Any]) -> Assessment | Assessments:
    from veracity.read import ReadOptions as Options
    from veracity.read import frame

    known = Options.__dataclass_fields__
    for option in options:
        if option not in known:
            raise TypeError(f"assess() has no option {option!r} for a frame; there are {', '.join(known)}")
    for option, named in OF_FRAME.items():
        if option in beside:
            raise TypeError(f"assess() got {option} beside a frame; its own option is {named}=…")
    models = frame(data, Options(**options, **beside))  # what is left is `ideal`, which has one name for both
    found = {name: of_tally(Tally.hold(f, plan), model=name) for name, f in models.items()}
    return next(iter(found.values())) if len(found) == 1 else Assessments(found)


def _instead(option: str) -> str:
    """What to do instead of giving arrays an option that they do not take."""
    if option in OF_ARRAYS:
        return f"assess(Forecasts.of(y_true, y_proba, {option}=…)) takes it"
    if option in ("classes", "class_names", "order"):
        return "name the classes with labels=[…]"
    return "it reads a frame, not arrays"


def _columns(groups: Any) -> Mapping[str, Any] | None:
    """Groups by name: a mapping or frame as it is, one array under the name "group"."""
    if groups is None or isinstance(groups, Mapping):
        return groups
    if hasattr(groups, "columns"):
        return {str(name): groups[name] for name in groups.columns}
    return {"group": groups}


def of_tally(
    tally: Tally,
    *,
    model: str | None = None,
    provenance: Mapping[str, Any] | None = None,
    groups: Mapping[str, Mapping[str, Tally]] | None = None,
    started: float | None = None,
) -> Assessment:
    """The assessment of a tally; `groups` are tallies of parts of the same rows, by column and value."""
    plan, s = tally.plan, tally.sums
    sections: dict[str, Any] = {
        "schema": SCHEMA,
        "model": model,
        "n": tally.cases,
        "classes": tally.classes,
        "floor": plan.limits[0],
        "level": plan.level,
    }
    sections |= empty(tally) if s.rows == 0 else at_once(tally)
    if tally.shares_only:
        sections = {name: without_intervals(section) for name, section in sections.items()}
    if groups is not None:
        sections["groups"] = {c: {v: group(t) for v, t in parts.items()} for c, parts in groups.items()}
    sections["provenance"] = {
        "command": None,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": __version__,
        "kernel": kernels.NAME,
        "engine": "local",
        "inputs": [],
        "reading": None,
        "plan": plan.options(),
        "seconds": round(time.perf_counter() - started, 6) if started is not None else None,
        **(provenance or {}),
    }
    return Assessment(sections, tally)


# -- sections computed at first access ------------------------------------------------------------------------------


def _tally(a: Assessment) -> Tally:
    assert a._tally is not None
    return a._tally


def _ladder(a: Assessment) -> Ladder:
    if "_ladder" not in a._sections:
        a._sections["_ladder"] = Ladder(_tally(a))
    ladder: Ladder = a._sections["_ladder"]
    return ladder


def _verdict_of(a: Assessment) -> Verdict:
    if "_verdict" not in a._sections:
        t = _tally(a)
        a._sections["_verdict"] = verdict(t) if t.sums.rows else Verdict("undetermined", undefined(EMPTY), EMPTY)
    found: Verdict = a._sections["_verdict"]
    return found


def _verdict_detail(a: Assessment) -> dict[str, Any]:
    v = _verdict_of(a)
    return {
        "level": v.level,
        "zero_rows": _tally(a).sums.zeros,
        "slope_adjusted": v.slope_adjusted,
        "reason": v.reason,
        "rows_needed": v.rows_needed,
        "sentences": sentences(_tally(a), v, a.slope, _ladder(a).losses("log"), a._sections["findings"]),
    }


def _losses(a: Assessment) -> dict[str, Any]:
    ladder = _ladder(a)
    found = {rule: ladder.losses(rule) for rule in RULES}
    a._sections["findings"] += ladder.findings(found["log"])
    return found


def _curves(a: Assessment) -> dict[str, Any]:
    m: Measured | None = a._sections["_measured"]
    if m is None:
        return {"pooled": [], "top_label": [], "classwise": {}, "sharpness": [], "roc": []}
    whole = _tally(a).whole
    return reliability(whole, curves_of(whole)[0])


def _groups(a: Assessment) -> dict[str, Any]:
    held = _tally(a).held
    if held is None:
        return {}
    plan = replace(_tally(a).plan, bootstrap=None)
    found: dict[str, Any] = {}
    for column, values in held.groups.items():
        names, place = np.unique(np.asarray(values).astype(str), return_inverse=True)
        parts = (np.flatnonzero(place == i) for i in range(len(names)))
        found[column] = {
            str(name): group(Tally.count(replace(take(held, part), groups={}, rows=None), plan))
            for name, part in zip(names, parts, strict=True)
        }
    return found


def _surprises(a: Assessment) -> list[dict[str, Any]]:
    """The rows that gave least to what happened."""
    t = _tally(a)
    return [{**place(row), "outcome": None if y < 0 else str(t.classes[y]), "probability": p} for p, row, y in t.lowest]


_LATER: dict[str, Callable[[Assessment], Any]] = {
    "verdict": lambda a: _verdict_of(a).word,
    "verdict_detail": _verdict_detail,
    "decomposition": lambda a: {rule: _ladder(a).decomposition(rule) for rule in RULES},
    "losses": lambda a: _losses(a),
    "decomposed_profile": lambda a: _ladder(a).profile(),
    "corp": lambda a: _ladder(a).corp(),
    "adjustment": lambda a: _ladder(a).adjustment(),
    "curves": _curves,
    "groups": _groups,
    "surprises": _surprises,
}
_READINGS = ("scores", "skill", "reported", "measured", "measured_plain", "divergence")
_ALL = (
    "n", "classes", "floor", "level", "scores", "skill", "baseline", "reported", "measured", "measured_plain",
    "divergence", "slope", "verdict", "verdict_detail", "risk_profile", "floors", "decomposition", "losses",
    "decomposed_profile", "corp", "calibration_error", "curves", "bins", "adjustment", "groups", "surprises",
    "findings", "provenance",
)  # fmt: skip
