"""`assess`: from arrays, frames, forecasts or tallies to an assessment; and several models by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from inspect import signature
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from veracity import __version__, kernels
from veracity.extras import extras
from veracity.inputs import Forecasts, check, prepare
from veracity.inputs.arguments import is_empty, swapped_error
from veracity.options import READING, ReadOptions, canonical
from veracity.records.findings_of_input import SoftOmitted, SoftOutcomes
from veracity.records.sections import Provenance
from veracity.results.assessment import Assessment
from veracity.results.document import expect_schema, parse
from veracity.results.presented import Presented
from veracity.results.tabular import library_of
from veracity.state.plan import PLANNED, USUAL, Plan
from veracity.state.tally import Tally

if TYPE_CHECKING:
    from altair.typing import ChartType

SEVERAL = "veracity/assessments/2"
SOFT = (SoftOutcomes, SoftOmitted)  # findings that some outcomes were between 0 and 1


@dataclass(frozen=True, repr=False)
class Assessments(Presented):
    """Assessments of several models, by name.

    >>> import polars as pl
    >>> import veracity as vc
    >>> frame = pl.DataFrame({"y": [0, 1, 1, 0], "a": [0.2, 0.7, 0.9, 0.4], "b": [0.5, 0.5, 0.6, 0.5]})
    >>> models = vc.assess(frame, label="y", positive_proba="a,b")
    >>> list(models.models), round(models["a"].scores.log_loss, 3)
    (['a', 'b'], 0.299)
    """

    models: Mapping[str, Assessment]

    def __getitem__(self, name: str) -> Assessment:
        return self.models[name]

    def __len__(self) -> int:
        return len(self.models)

    def document(self) -> dict[str, Any]:
        return {"schema": SEVERAL, "models": {name: a.document() for name, a in self.models.items()}}

    @classmethod
    def from_json(cls, text: str) -> Assessments:
        """Return the assessments that `to_json` wrote."""
        document = parse(text)
        expect_schema(document, SEVERAL, "several assessments")
        models = document.get("models")
        if not isinstance(models, dict):
            raise ValueError("text: without models")
        return cls({name: Assessment.from_document(one) for name, one in models.items()})

    def plot(self, name: str | None = "compare", **options: Any) -> ChartType:
        """Return a picture by name, an Altair chart."""
        return super().plot(name, **options)


class PlanOptions(TypedDict, total=False):
    """The options of an assessment; `assess` explains them."""

    floor: float | None
    end_width: float | None
    bins: int | str
    preset: str | None
    curve: str | None
    neighbours: int | None
    map: str
    level: float
    bootstrap: int | None
    random_state: int
    r: ArrayLike
    lags: int | None
    window: str | int | None
    shrink: str
    threshold: ArrayLike
    costs: Mapping[str, float] | Sequence[Mapping[str, float]] | str
    prior: Mapping[Any, float] | str


@overload
def assess(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = ...,
    counts: ArrayLike | None = ...,
    labels: Sequence[Any] | None = ...,
    pos_label: object = ...,
    groups: ArrayLike | Mapping[str, ArrayLike] | None = ...,
    clusters: ArrayLike | None = ...,
    time: ArrayLike | None = ...,
    ideal: ArrayLike | None = ...,
    features: ArrayLike | None = ...,
    **plan: Unpack[PlanOptions],
) -> Assessment: ...


@overload
def assess(y_true: Tally | Forecasts, **plan: Unpack[PlanOptions]) -> Assessment: ...


@overload
def assess(y_true: object, **reading: Any) -> Assessment | Assessments: ...


def assess(
    y_true: Any,
    y_proba: Any = None,
    *,
    sample_weight: Any = None,
    counts: Any = None,
    labels: Any = None,
    pos_label: Any = None,
    floor: float | None = None,
    end_width: float | None = None,
    bins: int | str = "auto",
    preset: str | None = None,
    curve: str | None = None,
    neighbours: int | None = None,
    map: str = "auto",
    groups: Any = None,
    clusters: Any = None,
    time: Any = None,
    ideal: Any = None,
    features: Any = None,
    level: float = 0.95,
    bootstrap: int | None = None,
    random_state: int = 0,
    r: Any = (),
    lags: int | None = None,
    window: str | int | None = None,
    shrink: str = "auto",
    threshold: Any = (),
    costs: Any = (),
    prior: Any = (),
    **reading: Any,
) -> Assessment | Assessments:
    """Assess probabilistic forecasts against outcomes.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), `Forecasts`, `Tally` or data frame
        Outcomes: labels, column numbers 0 … k−1, or shares of an outcome between 0 and 1. A frame (pandas, polars,
        pyarrow) holds outcomes and forecasts: its columns are recognised, or named by `label=`, `proba=`,
        `positive_proba=` and the other reading options of the command line.
    y_proba : array-like of shape (n,) or (n, k)
        Probability of the second class (the event) in each case, or of each class, in the order of `labels`.
    sample_weight : array-like of shape (n,), optional
        Importance of each case; only ratios matter.
    counts : array-like of int, shape (n,), optional
        Number of identical cases that each row stands for.
    labels : sequence of length k, optional
        Class of each column of `y_proba`. Default: the sorted distinct labels, or the order of an ordered categorical.
    pos_label : label, optional
        The event, where `y_proba` has one column; of more than two classes, the class to decide about.
    floor : float, optional
        Minimum probability in the reported means; default: 0, or that of the preset. The log loss is never floored.
    end_width : float, optional
        Width of the first and the last bin of the published measured means; default: 0.005.
    bins : int or "auto", default "auto"
        Number of bins of the published measured means.
    preset : {"CQ", "N17"}, optional
        Also compute the measured means by the procedure of that paper.
    curve : {"bins", "isotonic", "kernel", "knn", "width"}, optional
        Also compute source probabilities of each class by this curve (`a.papers.curve`).
    neighbours : int, optional
        Number of nearest forecasts of the curve "knn"; default: the power 2/3 of the number of cases.
    map : str, default "auto"
        Recalibration behind the losses: "auto" cross-fits a pool of all calibrators; "grouped", "bins", "isotonic", …
        count stage C of KF15 in the same cases.
    groups : array-like of shape (n,), or mapping of name to array-like, optional
        Groups whose readings are compared.
    clusters : array-like of shape (n,), optional
        Cases with one value depend on each other (patients, matches, questions). Excludes `time`.
    time : array-like of shape (n,), optional
        When each case took place; neighbours in time may depend on each other. Excludes `clusters`.
    ideal : array-like of shape (n,) or (n, k), optional
        True probabilities, where they are known: separates grouping from irreducible loss.
    features : array-like of shape (n,) or (n, f), optional
        Features of each case; cases with equal features have the same true probabilities.
    level : float, default 0.95
        Level of the intervals.
    bootstrap : int, optional
        Number of resamples for the intervals; default: closed forms.
    random_state : int, default 0
        Seed of draws and folds.
    r : float or sequence of float, optional
        Further risk parameters r > −1 whose losses are computed.
    lags : int, optional
        Lags of intervals in time (Bartlett weights); default: cosines.
    window : str or int, optional
        Length of the windows of time: "30d", "12m", or a number of cases.
    shrink : {"auto", "none"}, default "auto"
        Whether the log losses of small groups are drawn towards the common mean.
    threshold : float or sequence of float, optional
        Probabilities from which somebody acts; `a.decisions.at` has net benefit and rates there.
    costs : mapping or sequence of mappings, optional
        What errors cost a decision-maker, such as {"false_alarm": 1, "miss": 8}; `a.decisions.costs`.
    prior : mapping, optional
        Other class frequencies, such as {"event": 0.05}; `a.decisions.prior`, or `a.at_prior(…)` later.

    Returns
    -------
    Assessment
        Scores, verdict, losses and remedies, computed when they are asked for. `Assessments`, by model, where a frame
        holds several models.

    Examples
    --------
    >>> import veracity as vc
    >>> a = vc.assess([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> round(a.scores.log_loss, 4), round(a.scores.accuracy, 2)
    (0.299, 1.0)
    """
    started = perf_counter()
    options: dict[str, Any] = {name: value for name, value in locals().items() if name in PLANNED}
    event = event_of_many(y_proba, pos_label)
    plan = Plan(**options, event=event or reading.get("positive"))
    pos_label = None if event else pos_label
    columns = {"sample_weight": sample_weight, "counts": counts, "labels": labels, "pos_label": pos_label}
    columns |= {"groups": groups, "clusters": clusters, "time": time, "ideal": ideal, "features": features}
    given = {name: value for name, value in columns.items() if value is not None}
    if isinstance(y_true, (Tally, Forecasts)):
        also = [] if y_proba is None else ["y_proba"]
        usual = [name for name in USUAL if options[name] is not None]
        return assessment(counted(y_true, plan, [*also, *given, *reading], usual), started=started)
    if y_proba is None:
        return _of_frame(y_true, plan, given, reading)
    for option in reading:
        raise TypeError(f"assess() of arrays has no option {option!r}; {_instead(option)}")
    if is_empty(y_true) and is_empty(y_proba):
        return assessment(Tally.of(y_true, y_proba, labels=labels, pos_label=pos_label, plan=plan), started=started)
    alone = single_class(y_true, y_proba, labels)
    if alone is not None and sample_weight is None and counts is None:
        return assessment(replace(Tally.zero([alone], plan), cases=len(y_true)), started=started)
    forecasts = prepare(y_true, y_proba, **{**columns, "groups": _columns(groups)})
    if ideal is not None:
        check(forecasts)  # the pass looks at the forecasts alone
    return assessment(Tally.of(forecasts, plan=plan), started=started, library=library_of(y_true, y_proba))


def event_of_many(y_proba: Any, pos_label: Any) -> str | None:
    """Return the class to decide about where there are more than two; None where there are two, or none is named."""
    if pos_label is None or y_proba is None:
        return None
    try:
        shape = np.shape(y_proba)
    except (ValueError, TypeError, RuntimeError):  # no array: reading it will raise the error
        return None
    return canonical(pos_label) if len(shape) == 2 and shape[1] > 2 else None


def _refuse_swapped_parts(tally: Tally) -> None:
    """Refuse fractions as outcomes with forecasts of 0 and 1 alone: a part may be so by chance, but not all of them.

    Input that came whole has been looked at when it was prepared.
    """
    if tally.names.whole:
        return
    soft = any(isinstance(finding, SOFT) for finding in tally.findings)
    rows, h = tally.analysis.rows.probabilities, tally.pooled
    if soft and tally.k == 2 and rows is not None and rows.ndim == 1:
        every = h.all if h.all_weight is None else h.all_weight
        if np.all((h.all_sum == 0.0) | (h.all_sum == every)):
            raise swapped_error(tally.names)


def assessment(
    tally: Tally,
    *,
    model: str | None = None,
    provenance: Mapping[str, Any] | None = None,
    started: float | None = None,
    library: str = "",
) -> Assessment:
    """Return the assessment of a tally with its provenance; `started` is when the work began (perf_counter)."""
    if tally.sums.rows:
        _refuse_swapped_parts(tally)
        tally.require_effect()
    source = Provenance(
        command=None,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
        kernel=kernels.NAME,
        engine="local",
        inputs=(),
        reading=None,
        plan=dict(vars(tally.plan)),
        seconds=None if started is None else round(perf_counter() - started, 6),
    )
    return Assessment(tally, model, replace(source, **(provenance or {})), library)


def single_class(y_true: Any, y_proba: Any, labels: Any) -> Any:
    """Return the label if the input has exactly one class with probability 1, else None."""
    try:
        shapes = np.shape(y_true), np.shape(y_proba)
    except (ValueError, TypeError, RuntimeError):  # no arrays: reading them will raise the error
        return None
    if len(shapes[0]) != 1 or shapes[1] != (*shapes[0], 1):
        return None
    seen = list({value for value in np.asarray(y_true).tolist() if value is not None and value == value})
    if len(seen) != 1 or len([value for value in y_true if value in seen]) < len(y_true):
        return None
    names = seen if labels is None else list(labels)
    return names[0] if len(names) == 1 and seen == names and (np.asarray(y_proba) == 1.0).all() else None


def counted(cases: Tally | Forecasts, plan: Plan, given: list[str], explicit: list[str]) -> Tally:
    """Return the tally of checked data; options without effect are refused, also usual ones that were `explicit`."""
    kind = type(cases).__name__
    if given:
        raise TypeError(f"assess() got {', '.join(given)} with a {kind}, which holds all its data; give it to that")
    if isinstance(cases, Forecasts):
        return Tally.of(cases, plan=plan)
    usual = Plan()
    for name, value in vars(plan).items():
        if value != getattr(cases.plan, name) and (name in explicit or value != getattr(usual, name)):
            raise ValueError(
                f"{name}: {value!r}, but the tally was counted with {getattr(cases.plan, name)!r}\n"
                "  leave the options out, or count again with them"
            )
    return cases


def models_of(data: Any, options: dict[str, Any], caller: str = "assess") -> dict[str, Forecasts]:
    """Return the forecasts of each model in a frame."""
    with extras():
        from veracity.read import frame

    for name, option in READING.items():
        if option.argument in options and option.argument != name:
            raise TypeError(f"{caller}() got {option.argument} with a frame; its own option is {name}=…")
    for name in options:
        if name not in READING:
            raise TypeError(f"{caller}() has no option {name!r} for a frame; there are {', '.join(READING)}")
    return dict(frame(data, ReadOptions(**options)))


def _of_frame(data: Any, plan: Plan, given: dict[str, Any], options: dict[str, Any]) -> Assessment | Assessments:
    models = models_of(data, options | given)
    library = library_of(data)
    assessments = {name: assessment(Tally.of(f, plan=plan), model=name, library=library) for name, f in models.items()}
    return next(iter(assessments.values())) if len(assessments) == 1 else Assessments(assessments)


def _instead(option: str) -> str:
    """Return the remedy for an option that arrays do not take."""
    if option in signature(Forecasts.of).parameters:
        return f"assess(Forecasts.of(y_true, y_proba, {option}=…)) takes it"
    if option in ("classes", "class_names", "order"):
        return "name the classes with labels=[…]"
    return "it reads a frame, not arrays"


def _columns(groups: Any) -> Mapping[str, Any] | None:
    """Return groups by name: a mapping or frame as it is, one array under the name "group"."""
    if groups is None or isinstance(groups, Mapping):
        return groups
    if hasattr(groups, "columns"):
        return {str(name): groups[name] for name in groups.columns}
    return {"group": groups}
