"""`compare`: from arrays, frames or forecasts of several models to a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from veracity.estimate.comparison.compare import Dependence
from veracity.estimate.comparison.paired import Scorer
from veracity.estimate.rule_names import rule_key
from veracity.inputs import Forecasts, check, prepare
from veracity.kernels.blas import one_blas_thread
from veracity.kernels.hashes import SEED, mix
from veracity.progress import working
from veracity.results.assess import _columns, assessment, counted, event_of_many, models_of
from veracity.results.assessment import Assessment
from veracity.results.comparison import Comparison
from veracity.results.tallies import same_cases
from veracity.state.clusters import CLUSTER, TIME
from veracity.state.pairs import Pairs
from veracity.state.plan import PLANNED, Plan
from veracity.state.tally import Tally


def compare(
    y_true: Any,
    y_proba: Mapping[str, ArrayLike] | None = None,
    *,
    reference: str | None = None,
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    labels: Sequence[Any] | None = None,
    pos_label: object = None,
    groups: ArrayLike | Mapping[str, ArrayLike] | None = None,
    clusters: ArrayLike | None = None,
    time: ArrayLike | None = None,
    floor: float | None = None,
    end_width: float | None = None,
    bins: int | str = "auto",
    preset: str | None = None,
    curve: str | None = None,
    neighbours: int | None = None,
    map: str = "auto",
    level: float = 0.95,
    bootstrap: int | None = None,
    random_state: int = 0,
    r: ArrayLike = (),
    lags: int | None = None,
    horizon: int | None = None,
    window: str | int | None = None,
    shrink: str = "auto",
    threshold: Any = (),
    costs: Any = (),
    prior: Any = (),
    **reading: Any,
) -> Comparison:
    """Compare probabilistic forecasts of the same cases.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), data frame, or mapping of str to `Tally`
        Outcomes, as in `assess`. A frame holds several models; its columns are recognised, or named by `label=`,
        `proba=`, `model=`, `id=` and the other reading options of the command line. Tallies are models that were
        counted with the ids of their cases.
    y_proba : mapping of str to array-like of shape (n,) or (n, k)
        Probabilities of each model by its name.
    reference : str, optional
        Model that all others are compared with; default: every pair.
    sample_weight, counts, labels, pos_label, groups, clusters, time
        As in `assess`, for the cases that all models share.
    floor, end_width, bins, preset, curve, neighbours, map, level, bootstrap, random_state, r
        As in `assess`, for the assessment of each model.
    lags, window, shrink, threshold, costs, prior
        The same.
    horizon : int, optional
        Steps ahead that forecasts in time are made: Diebold–Mariano errors with the factor of Harvey, Leybourne and
        Newbold. Excludes `lags`.

    Returns
    -------
    Comparison
        Paired differences of every score, components of the loss, and a ranking with ties.

    Examples
    --------
    >>> import veracity as vc
    >>> c = vc.compare([0, 1, 1, 0], {"a": [0.2, 0.7, 0.9, 0.4], "b": [0.4, 0.6, 0.6, 0.5]})
    >>> d = c.differences("log")[0]
    >>> d.a, d.b, round(d.value, 4)
    ('a', 'b', -0.2574)
    """
    started = perf_counter()
    options = {name: value for name, value in locals().items() if name in PLANNED}
    first_proba = next(iter(y_proba.values()), None) if isinstance(y_proba, Mapping) else None
    event = event_of_many(first_proba, pos_label)
    pos_label = None if event else pos_label
    plan = Plan(**options, event=event or reading.get("positive"))
    if isinstance(y_true, Mapping) and y_true and all(isinstance(one, Tally) for one in y_true.values()):
        return compared_tallies(y_true, plan, reference=reference)
    if y_proba is None:
        named = {"sample_weight": sample_weight, "counts": counts, "labels": labels, "pos_label": pos_label}
        named |= {"group": groups, "cluster": clusters, "time": time}
        given = {name: value for name, value in named.items() if value is not None}
        forecasts = models_of(y_true, reading | given, "compare")
    else:
        if reading:
            raise TypeError(f"compare() of arrays has no option {next(iter(reading))!r}")
        if not isinstance(y_proba, Mapping):
            raise TypeError('y_proba: give the probabilities of each model by name, such as {"a": …, "b": …}')
        shared: dict[str, Any] = {
            "sample_weight": sample_weight,
            "counts": counts,
            "labels": labels,
            "pos_label": pos_label,
        }
        shared |= {"groups": _columns(groups), "clusters": clusters, "time": time}
        forecasts = {str(name): check(prepare(y_true, p, **shared)) for name, p in y_proba.items()}
    first = next(iter(forecasts.values()), None)
    by = {CLUSTER: first is not None and first.clusters is not None, TIME: first is not None and first.time is not None}
    kind = next((kind for kind, given in by.items() if given), None)
    return compared(forecasts, plan, Dependence(kind, plan.lags, plan.horizon), reference=reference, started=started)


def compared_tallies(
    tallies: Mapping[str, Tally], plan: Plan | None = None, *, dashes: str = "", **how: Any
) -> Comparison:
    """Return the comparison of tallies on the cases that all of them hold; the numbers of their rows are not known."""
    own = next(iter(tallies.values())).plan
    for name, tally in tallies.items():
        if tally.plan != own:
            raise ValueError(f"{name} and {next(iter(tallies))} were counted with different options\n  count one again")
        counted(tally, plan or own, [], [])
    models = same_cases(tallies)
    first = next(iter(models.values()))
    kind = CLUSTER if first.clusters is not None else TIME if first.time is not None else None
    comparison = compared(models, own, Dependence(kind, own.lags, own.horizon, kind or "", dashes), **how)
    assert comparison.pairs is not None
    comparison.pairs.extremes = None
    return replace(comparison, paired_by="id")


@one_blas_thread
@working("comparing")
def compared(
    models: Mapping[str, Forecasts],
    plan: Plan,
    dependence: Dependence,
    *,
    reference: str | None = None,
    started: float | None = None,
) -> Comparison:
    """Return the comparison of forecasts with the same rows."""
    if len(models) < 2:
        raise ValueError(f"compare: {len(models)} model; a comparison needs two\n  assess one model with assess()")
    first_name, first = next(iter(models.items()))
    for name, f in models.items():
        wrong = ""
        if f.classes != first.classes:
            wrong = "have different classes\n  models are compared on the same classes"
        elif not np.array_equal(f.numbers, first.numbers):
            wrong = "do not hold the same rows\n  leave the same rows out of all models"
        elif not f.picks_only and not np.array_equal(np.asarray(f.outcomes), np.asarray(first.outcomes)):
            wrong = "have different outcomes\n  a comparison needs one outcome per case"
        if wrong:
            raise ValueError(f"{first_name} and {name} {wrong}")
    pairs = Pairs(tuple(models), scorer_of(first.classes, plan))
    pairs.take([replace(f, model=name, case=_keys(f)) for name, f in models.items()])
    pairs.settle()
    pairs.require_equal_weights()
    assessments = {name: assessment(Tally.of(f, plan=plan), model=name, started=started) for name, f in models.items()}
    return comparison(assessments, pairs, dependence, reference=reference)


def comparison(
    models: Mapping[str, Assessment], pairs: Pairs, dependence: Dependence, *, reference: str | None = None, **how: Any
) -> Comparison:
    """Return the comparison of counted models; an unknown reference and too few clusters or times are refused."""
    if reference is not None and reference not in models:
        near = get_close_matches(str(reference), list(models), n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(models)}"
        chosen = dependence.option("reference", near[0] if near else next(iter(models)))
        raise ValueError(f"{dependence.dashes}reference {reference}: no such model; {hint}\n  choose:  {chosen}")
    assert pairs.moments is not None
    dependence.check(pairs.moments.keyed)
    return Comparison(models, pairs, reference=reference, dependence=dependence, **how)


def scorer_of(classes: Sequence[Any], plan: Plan) -> Scorer:
    """Return the scores that are summed over pairs; without classes only the probabilities of outcomes are known."""
    return Scorer(len(classes), bool(classes), tuple(rule_key(r) for r in plan.r if r > -1.0 and r not in (0.0, 1.0)))


def _keys(f: Forecasts) -> Any:
    """Return the keys of the cases: of the case where several rows are one, else of the row."""
    rows = np.asarray(f.numbers)
    return mix(mix(rows.astype(np.uint64) + SEED) * SEED)
