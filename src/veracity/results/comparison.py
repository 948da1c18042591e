"""The comparison: models on the same cases, their paired differences, ranking and what decides, as a frozen result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from veracity.estimate.comparison import compare as estimates
from veracity.estimate.comparison.compare import Dependence
from veracity.estimate.comparison.components import NAMES as COMPONENTS
from veracity.estimate.comparison.components import components, shortfall
from veracity.estimate.comparison.paired import EXCESS, Scorer, comparable, score_of
from veracity.estimate.decisions.dominance import dominance
from veracity.estimate.decisions.paired import How
from veracity.estimate.means.reported import NOT_MEASURABLE
from veracity.estimate.rule_names import rule_key, rule_of
from veracity.inputs import Forecasts
from veracity.kernels.blas import one_blas_thread, section
from veracity.measures import HIGHER
from veracity.options import canonical
from veracity.progress import tracked
from veracity.records import findings_of_results as of_results
from veracity.records.comparison import CasesNeeded, ComparisonRecord, Differences
from veracity.records.decisions import Dominance
from veracity.records.findings import Finding, unique
from veracity.results.assessment import Assessment
from veracity.results.document import build, encode, expect_schema, parse, plain
from veracity.results.presented import Presented
from veracity.results.schema import COMPARISON as SCHEMA
from veracity.state.clusters import CLUSTER
from veracity.state.pairs import CaseScores, Moments, Pairs
from veracity.state.plan import Plan

if TYPE_CHECKING:
    from altair.typing import ChartType

FROM_JSON = "this comparison was read from a document that does not hold this; make it again from the forecasts"
Held = TypeVar("Held")
INDEPENDENT = Dependence()
MOST_DOMINANCES = 5  # of the best model against others, in a document


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Presented):
    """Several models on the same cases.

    >>> from veracity import compare
    >>> c = compare([0, 1, 1, 0], {"a": [0.2, 0.7, 0.9, 0.4], "b": [0.3, 0.6, 0.6, 0.5]})
    >>> d = c.differences("brier")[0]
    >>> d.a, d.b, round(d.value, 6)
    ('a', 'b', -0.18)
    """

    models: Mapping[str, Assessment]
    pairs: Pairs | None = None  # None where the comparison was read from a document
    paired_by: str = "row"
    reference: str | None = None
    dependence: Dependence = INDEPENDENT
    files: tuple[str, ...] = ()  # of rows that know their file

    def __getitem__(self, name: str) -> Assessment:
        return self.models[name]

    def __len__(self) -> int:
        return len(self.models)

    # -- what follows from the pairs ------------------------------------------------------------------------------

    @section
    def record(self) -> ComparisonRecord:
        """Everything that follows from pairing the cases."""
        scores = [name for name in self._scorer.names if name != EXCESS]
        moments = self._moments
        log = self.differences("log")
        return ComparisonRecord(
            cases=moments.cases,
            paired_by=self.paired_by,
            method=self.dependence.method(moments.keyed),
            reference=self.reference,
            differences={name: self.differences(name) for name in scores},
            components={name: self.components(name) for name in (*COMPONENTS, EXCESS)} if self._measurable else {},
            ranking={name: self.ranking(name) for name in scores},
            deciding_rows=estimates.deciding(
                self._pairs.extremes, log, self._names, moments, next(iter(self.models.values())).classes, self.files
            ),
            cases_needed=self.cases_needed(),
            groups=self._groups,
            group_rule=self._group_rule,
            dominance=self._dominances,
            findings=self._findings,
        )

    @one_blas_thread
    def differences(self, rule: str | float = "log") -> Differences:
        """Return the paired differences a − b of a score: "log", "brier", "accuracy", …, or any r > −1.

        Of an r that the plan does not hold, from the sample of cases.
        """
        if self.pairs is None:
            return self._stored(self.record.differences, _key(rule))
        return self._differences(*self._of_rule(_key(rule)))

    @one_blas_thread
    def components(self, name: str, rule: str | float = "log") -> Differences:
        """Return the paired differences of CL, AL, RL, slope, or expected_minus_realised."""
        if name not in (*COMPONENTS, EXCESS):
            raise ValueError(f"component: {name!r} is not one of {', '.join((*COMPONENTS, EXCESS))}")
        key = _key(rule)
        if self.pairs is None:
            return self._stored(self.record.components, name if key == "log" else "")
        if name == EXCESS:
            return self._differences(self._moments, self._scorer.names.index(EXCESS))
        moments, reasons = self._log_components if key == "log" else self._components(key)
        short = [self._shortfall(a, key)[name] for a in self.models.values()] if name in ("CL", "AL") else None
        return self._differences(moments, COMPONENTS.index(name), reasons[name], short)

    @staticmethod
    def _shortfall(a: Assessment, key: str) -> dict[str, tuple[float, float]]:
        share, loss = a.verdict_detail.gain.high, float(a.scores.log_loss)
        upper = share * loss if key == "log" and share is not None and np.isfinite(loss) else None
        return shortfall(a._shared.recalibration, upper)

    @one_blas_thread
    def ranking(self, rule: str | float = "log") -> tuple[tuple[str, ...], ...]:
        """Return tiers of models by a score, best first; models of one tier cannot be told from its best."""
        if self.pairs is None:
            return self._stored(self.record.ranking, _key(rule))
        moments, score = self._of_rule(_key(rule))
        known = comparable(self._scorer.k, self._measurable)
        better = "higher" if _key(rule) in known and known[_key(rule)].better == HIGHER else "lower"
        return estimates.ranking(moments, score, self._names, self.dependence, self._level, better=better)

    @one_blas_thread
    def cases_needed(self, difference: float | None = None, rule: str | float = "log") -> tuple[CasesNeeded, ...]:
        """Return the cases at which the difference of each pair, or the given one, is seen with 80 % power."""
        if self.pairs is None:
            if difference is None and _key(rule) == "log":
                return self.record.cases_needed
            raise AttributeError(FROM_JSON)
        moments, _ = self._of_rule(_key(rule))
        return estimates.cases_needed(self.differences(rule), moments, self._level, difference)

    @one_blas_thread
    def dominance(self, a: str, b: str, event: Any = None) -> Dominance:
        """Return for which thresholds, and for which r, one of two models is better, each set with a simultaneous band.

        Several pairs of models share the error (Bonferroni), whichever is asked for. `event` is the class to act on: of
        two classes the second, unless another is given.
        """
        for name in (a, b):
            if name not in self.models or a == b:
                known = ", ".join(list(self.models)[:8])
                raise ValueError(f"dominance: {name!r} is not another model; there are {known}\n  name two of them")
        if self.pairs is None:
            stored = {(d.a, d.b): d for d in self.record.dominance if event is None or str(event) == d.event}
            return self._stored(stored, (a, b))
        if not self._measurable:
            raise ValueError(f"dominance: {NOT_MEASURABLE}\n  give the forecasts of all classes")
        classes = [canonical(c) for c in self.models[a].classes]
        named = event if event is not None else self._plan.event
        if named is not None and canonical(named) not in classes:
            raise ValueError(f"event: no class {named!r:.80}; there are {', '.join(classes[:8])}\n  name one of them")
        at = classes.index(canonical(named)) if named is not None else 1 if len(classes) == 2 else None
        models = len(self.models)
        pairs = models - 1 if self.reference else models * (models - 1) // 2
        level = 1.0 - (1.0 - self._level) / pairs
        how = How(level, self._plan.random_state, self.dependence.kind, self.dependence.lags)
        return dominance((a, b), self._samples[a], self._samples[b], at, self._plan.action_thresholds, how)

    @section
    def _dominances(self) -> tuple[Dominance, ...]:
        """Those of the best model, or the reference, against each other one."""
        if not self._measurable:
            return ()
        rule = self._group_rule
        first = self.reference or self.ranking(rule)[0][0]
        others = [name for tier in self.ranking(rule) for name in tier if name != first]
        return tuple(self.dominance(first, other) for other in others[:MOST_DOMINANCES])

    @property
    def _plan(self) -> Plan:
        tally = next(iter(self.models.values())).tally
        return Plan() if tally is None else tally.plan

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What must be known about the pairing, and about the models."""
        return unique([*self.record.findings, *(f for a in self.models.values() for f in a.findings)])

    # -- as data --------------------------------------------------------------------------------------------------

    def document(self) -> dict[str, Any]:
        record = {**plain(self.record), "findings": plain(self.record.findings)}
        models = {name: a.document() for name, a in self.models.items()}
        return {"schema": SCHEMA, "models": models, "comparison": record}

    @classmethod
    def from_json(cls, text: str) -> Comparison:
        """Return the comparison that `to_json` wrote."""
        document = parse(text)
        expect_schema(document, SCHEMA, "a comparison")
        for part in ("models", "comparison"):
            if not isinstance(document.get(part), dict):
                raise ValueError(f"text: without {part}")
        models = {name: Assessment.from_document(one) for name, one in document["models"].items()}
        record = build(ComparisonRecord, document["comparison"], "comparison")
        read_back = cls(models, None, record.paired_by, record.reference)
        vars(read_back)["record"] = record
        return read_back

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Comparison):
            return NotImplemented
        documents = [c.document() for c in (self, other)]
        for document in documents:
            document["models"] = {name: {**a, "provenance": None} for name, a in document["models"].items()}
        return encode(documents[0]) == encode(documents[1])

    __hash__ = None  # type: ignore[assignment]

    def rows(self) -> list[dict[str, Any]]:
        """Return the differences as a flat table: name, a, b, value, low, high, z, p, p_adjusted, reason."""
        sections = {f"differences.{name}": pairs for name, pairs in self.record.differences.items()}
        sections |= {f"components.{name}": pairs for name, pairs in self.record.components.items()}
        for column, levels in self.record.groups.items():
            sections |= {f"groups.{column}.{level}": pairs for level, pairs in levels.items()}
        return [{"name": name, "reason": None, **plain(d)} for name, pairs in sections.items() for d in pairs]

    def plot(self, name: str | None = "differences", **options: Any) -> ChartType:
        """Return a picture by name, an Altair chart."""
        return super().plot(name, **options)

    # -- what sections share --------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_log_components", "_samples")}

    @property
    def _pairs(self) -> Pairs:
        if self.pairs is None:
            raise AttributeError(FROM_JSON)
        return self.pairs

    @property
    def _scorer(self) -> Scorer:
        scorer: Scorer = self._pairs.scorer
        return scorer

    @property
    def _moments(self) -> Moments:
        assert self._pairs.moments is not None
        return self._pairs.moments

    @property
    def _names(self) -> tuple[str, ...]:
        return self._pairs.models

    @property
    def _level(self) -> float:
        return next(iter(self.models.values())).level

    @property
    def _measurable(self) -> bool:
        return self._scorer.measurable

    @staticmethod
    def _stored(stored: Mapping[Any, Held], name: Any) -> Held:
        if name not in stored:
            raise AttributeError(FROM_JSON)
        return stored[name]

    def _differences(
        self, moments: Moments, score: int, reason: str = "", short: list[tuple[float, float]] | None = None
    ) -> Differences:
        options: dict[str, Any] = {"reference": self.reference, "reason": reason, "short": short}
        return estimates.differences(moments, score, self._names, self.dependence, self._level, **options)

    def _of_rule(self, key: str) -> tuple[Moments, int]:
        """Return the sums that hold a score, and its place among them."""
        names = self._scorer.names
        if key in names:
            return self._moments, names.index(key)
        if not self._measurable:
            raise ValueError(f"rule: {key!r} needs the forecasts of all classes; only those of the outcomes are known")
        float(key)  # a name that is no score was refused before
        return self._stacked({name: score_of(f, key)[:, None] for name, f in self._samples.items()}), 0

    @section
    def _samples(self) -> dict[str, Forecasts]:
        """The rows of the sampled cases that all models have."""
        rows = {name: f for name in self._names if (f := self._pairs.samples[name].rows()) is not None}
        common = reduce(np.intersect1d, (np.asarray(f.case) for f in rows.values()))
        return {name: f.take(np.flatnonzero(np.isin(np.asarray(f.case), common))) for name, f in rows.items()}

    def _stacked(self, values: Mapping[str, Any]) -> Moments:
        """Return the sums of values (rows, columns) of the sampled cases."""
        case_scores = [CaseScores.of(f, values[name], self._by(f)) for name, f in self._samples.items()]
        first = case_scores[0]
        by = None if first.by is None or self.dependence.kind is None else (self.dependence.kind, first.by)
        return Moments.of(np.stack([one.scores.T for one in case_scores], axis=1), first.cases, first.weight, by)

    def _by(self, f: Forecasts) -> Any:
        return f.clusters if self.dependence.kind == CLUSTER else f.time

    @section
    def _log_components(self) -> tuple[Moments, dict[str, str]]:
        return self._components("log")

    def _components(self, key: str) -> tuple[Moments, dict[str, str]]:
        reasons = dict.fromkeys(COMPONENTS, "")
        values = {}
        for name, f in tracked("comparing", self._samples.items(), len(self._samples)):
            parts = components(f, self.models[name]._shared.recalibration, rule_of(key))
            columns = []
            for part in COMPONENTS:
                scores = parts[part]
                if isinstance(scores, str):
                    reasons[part] = reasons[part] or f"{name}: {scores}"
                columns.append(np.zeros(len(f)) if isinstance(scores, str) else scores)
            values[name] = np.column_stack(columns)
        return self._stacked(values), reasons

    @property
    def _group_rule(self) -> str:
        infinite = bool(self._moments.infinite[self._scorer.names.index("log")].any())
        return "brier" if infinite and "brier" in self._scorer.names else "log"

    @section
    def _groups(self) -> dict[str, dict[str, Differences]]:
        """Differences of each level; without tests where a level has too few clusters or times."""
        by_column: dict[str, dict[str, Differences]] = {}
        score = self._scorer.names.index(self._group_rule)
        for column, levels in self._pairs.groups.items():
            by_column[column] = {}
            for level, moments in sorted(levels.items()):
                few = moments.keyed is not None and len(moments.keyed) < estimates.FEWEST_CLUSTERS
                reason = f"{len(moments.keyed)} clusters or times: too few" if few and moments.keyed is not None else ""
                by_column[column][level] = self._differences(moments, score, reason)
        return by_column

    @section
    def _findings(self) -> tuple[Finding, ...]:
        moments = self._moments
        u = None if moments.keyed is None else estimates.influences(moments, 0)
        findings = [*estimates.findings_of_time(moments.keyed, self.dependence, u)]
        picks_only = all(a.tally is not None and a.tally.picks_only for a in self.models.values())
        right = moments.pairs[self._scorer.names.index("accuracy"), :, 2]  # squared differences: 0 where all agree
        if picks_only and right.any():
            findings.append(of_results.OwnPicks())
        sample = self._pairs.samples[self._names[0]]
        if not sample.complete and self._measurable:
            n = len(np.unique(np.asarray(next(iter(self._samples.values())).case)))
            findings.append(of_results.SampledComponents(n, moments.cases))
        return tuple(findings)


def _key(rule: str | float) -> str:
    """Return the name of a score in comparisons: that of a measure, or r as text."""
    known = comparable(2, True)
    return rule if isinstance(rule, str) and rule in known else rule_key(rule)
