"""How the columns of a table are understood, and the sentences that say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from veracity.inputs.names import listed, many
from veracity.records import findings_of_input as of_input
from veracity.records.findings import Finding

INDENT = 15  # width of the column names in the printed block


@dataclass(frozen=True)
class Match:
    """The columns of a table in the roles that a layout gives them.

    models    one entry per model: its name and its forecast columns, in the order of `classes`
              (one column: the probability of classes[1])
    classes   empty where only the probability of the outcome is known
    outcome   the column of the outcome; `outcomes`: one column per class
    """

    models: tuple[tuple[str, tuple[str, ...]], ...]
    classes: tuple[Any, ...] = ()
    outcome: str | None = None
    outcomes: tuple[str, ...] = ()
    scale: str = "probability"
    model_column: str | None = None
    case: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()  # how the classes are written in the outcome column
    roles: dict[str, str] = field(default_factory=dict)  # further columns by role: n, events, pick, class, value, …
    ideal: tuple[str, ...] = ()
    layout: str = ""  # public name, set by `recognise`
    findings: tuple[Finding, ...] = ()
    labelled: bool = True  # False: outcomes are not known
    picks_only: bool = False  # the event is "the pick was right"
    shares_only: bool = False  # weights are shares of an unknown number of cases
    half: bool = False  # probabilities were computed in half precision and stored in a higher one
    derived: bool = False  # probabilities are computed from the columns, which hold something else
    stacked: bool = False  # each row holds several separate yes/no events
    undivided: bool = False  # rows belong together: a batch must not part them
    certain: bool = False  # columns with names of this layout only: no other layout is looked for
    may_have_models: bool = True  # a column may name the model of each row
    no_answers: tuple[int, ...] = ()  # rows that are left out because they answer nothing
    why: str = ""
    outcome_note: str = ""
    event: str = ""  # for the one-line summary, where the event is not obvious
    unused: tuple[tuple[str, str], ...] = ()  # (column, remark)
    remark: str = ""
    companions: tuple[str, ...] = ()  # how outcomes and weights in files of their own are paired with the rows
    joined_on: tuple[str, ...] = ()  # the id columns by which they are
    files: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    rows: int = 0
    class_counts: tuple[tuple[str, int], ...] = ()  # number of cases of each class, where every row was seen

    @property
    def named_models(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.models)

    @property
    def forecasts(self) -> tuple[str, ...]:
        """Forecast columns of all models."""
        return tuple(dict.fromkeys(c for _, columns in self.models for c in columns))

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that must be read."""
        wanted = [*self.forecasts, *(c for c in (self.outcome, self.model_column) if c)]
        wanted += [*self.outcomes, *self.case, *self.roles.values(), *self.ideal]
        return tuple(dict.fromkeys(wanted))

    @property
    def row_is_forecast(self) -> bool:
        """Whether each row is one forecast of one model, whatever its outcome."""
        special = self.roles or self.outcomes or self.undivided or self.picks_only or self.model_column or self.derived
        return not special and bool(self.classes) and len(self.models) == 1

    @property
    def holds_its_forecasts(self) -> bool:
        """Whether each row holds one forecast as it is, in a column for each class or in one of two."""
        special = self.stacked or self.undivided or self.derived
        columns = len(self.forecasts)
        whole = columns == len(self.classes) or (columns == 1 and len(self.classes) == 2)
        return not special and len(self.models) == 1 and whole

    def _forecast(self) -> str:
        if len(self.models) > 1 and not self.model_column:
            return " · ".join(dict.fromkeys(run_of(columns) for _, columns in self.models))
        return run_of(self.models[0][1]) if self.models else ""

    @property
    def _size(self) -> str:
        return many(self.rows, "row") if self.rows else "rows not counted beforehand"

    def describe(self) -> str:
        """Return the block that is printed: files, roles of the columns, remarks."""
        head = f"read {shown_files(self.files)}: {self._size}" + "".join(f", {f}" for f in self.facts)
        rows = []
        if self.outcome or self.outcomes:
            rows.append(("outcome", self.outcome or run_of(self.outcomes), self.outcome_note))
        rows.append(("forecast", self._forecast(), self.why))
        if self.model_column:
            rows.append(("models", self.model_column, f"{len(self.models)}: {listed(self.named_models)}"))
        elif len(self.models) > 1:
            rows.append(("models", str(len(self.models)), listed(self.named_models)))
        if self.unused:
            shown = ", ".join(name + (f" ({why})" if why else "") for name, why in self.unused[:12])
            shown += f", … ({len(self.unused)} columns)" if len(self.unused) > 12 else ""
            rows.append(("not used", shown, self.remark))
        lines = [head]
        for role, columns, note in rows:
            width = INDENT if len(columns) < INDENT else len(columns) + 8 if role == "not used" else len(columns) + 2
            lines.append(f"  {role:<8} {columns:<{width}}{note}".rstrip())
        lines += [f"  paired   {sentence}" for sentence in self.companions]
        lines += [f"  note     {finding.message}" for finding in self.findings]
        return "\n".join(lines)

    def one_line(self, unused: str = "not used") -> str:
        """Return the same parts on one line; `unused`: a word for the other columns."""
        parts = [f"read {shown_files(self.files)}: {self._size}"]
        parts += [fact for fact in self.facts if fact.startswith(("Windows", "decimal"))]  # possibly misread
        if self.outcome or self.outcomes:
            counts = ", ".join(f"{name} {n:,}" for name, n in self.class_counts) if len(self.class_counts) <= 4 else ""
            parts.append(f"outcome {self.outcome or run_of(self.outcomes)}" + (f" ({counts})" if counts else ""))
        parts += self.companions
        if not self.labelled:
            parts.append("no outcome")
        many = len(self.classes) > 4
        parts.append(f"{len(self.classes)} classes {self._forecast()}" if many else f"forecast {self._forecast()}")
        if not self.classes:
            parts.append(self.why)
        if len(self.models) > 1:
            parts.append(f"{len(self.models)} models: {listed(self.named_models)}")
        if self.unused:
            names = [name + (f" ({why})" if "percent" in why else "") for name, why in self.unused]
            parts.append(f"{unused} {listed(names)}")
        parts += [text for text in (self.event, self.remark) if text]
        parts += [finding.message for finding in self.findings]
        return " · ".join(parts)


def of_picks(model: str, confidence: str, right: str, *findings: Finding, **more: Any) -> Match:
    """Return the match of the confidence in a pick and of the column that tells whether it was right."""
    found = (of_input.PickOnly(), *findings)
    shown = ("wrong", "right")
    return Match(((model, (confidence,)),), shown, right, findings=found, picks_only=True, certain=True, **more)


def run_of(columns: Sequence[str]) -> str:
    """Return names of columns; a long list by its ends: p0…p9."""
    return " ".join(columns) if len(columns) <= 6 else f"{columns[0]}…{columns[-1]}"


def short(values: Sequence[Any], between: str = " ") -> str:
    """Return all values, or the ends of a long list with its length."""
    values = list(values)
    return between.join(map(str, values)) if len(values) <= 12 else f"{values[0]}…{values[-1]} ({len(values)})"


def shown_files(files: Sequence[str]) -> str:
    return files[0] if len(files) == 1 else f"{files[0]} … {files[-1]} ({len(files)} files)"
