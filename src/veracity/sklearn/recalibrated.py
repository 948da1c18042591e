"""A classifier whose probabilities are recalibrated as the answer of `assess` advises, fitted out of fold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, _safe_indexing, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    _check_method_params,
    _check_sample_weight,
    _num_samples,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
)

from veracity.calibrators import mapped_rows
from veracity.inputs import Forecasts, without_outcomes
from veracity.progress import tracked, working
from veracity.results.assess import assess, assessment
from veracity.results.assessment import Assessment
from veracity.results.calibrator import Calibrator, calibrator, check_method
from veracity.sklearn._link import linked
from veracity.state.tally import Tally
from veracity.types import Array


class Recalibrated(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier and the recalibration that its out-of-fold forecasts call for.

    The forecasts of every case come from a classifier that was fitted without its fold; the map from stated to better
    probabilities is chosen and fitted on all of them. Its step is the one that gains most on average, tested or not;
    `assess` advises a shorter one, which hardly ever hurts.

    Parameters
    ----------
    classifier : classifier
        With `predict_proba`, or with `decision_function`: then its scores become probabilities by Platt scaling (two
        classes) or by a softmax with a temperature, fitted in the same folds. A `FrozenEstimator` is not fitted again.
    method : str, default "advised"
        The map, as in `veracity.calibrate`: "advised", "best", "platt", "temperature", "isotonic", …
    cv : int, splitter or iterable, default 5
        Folds.
    ensemble : bool, default True
        Whether forecasts are pooled over the classifiers of the folds, each recalibrated, instead of those of one
        classifier fitted on all cases.
    n_jobs : int, default None
        Number of processes that fit classifiers.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    classifiers_ : list of fitted classifiers
    calibrator_ : Calibrator
        The map; its `gain` is what it takes off the log loss.
    assessment_ : Assessment
        Of the recalibrated forecasts, out of fold.
    pool_ : "arithmetic" or "geometric"
        Mean of the probabilities, or of their logarithms where recalibrated out-of-fold forecasts are not
        over-confident (slope 1 or more): the arithmetic mean of such forecasts is under-confident.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> x, y = make_classification(600, n_redundant=10, random_state=0)
    >>> fitted = Recalibrated(GaussianNB()).fit(x, y)
    >>> fitted.calibrator_.method
    'platt'
    """

    def __init__(
        self,
        classifier: Any,
        method: str = "advised",
        cv: Any = 5,
        *,
        ensemble: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.classifier = classifier
        self.method = method
        self.cv = cv
        self.ensemble = ensemble
        self.n_jobs = n_jobs

    @working("recalibrating")
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any) -> Self:
        """Fit the classifier in each fold, and the map on the forecasts of the other cases.

        Weights are those of importance; whole numbers of an integer type say how many cases a row stands for.
        """
        check_method(self.method)
        outcomes = np.asarray(y)
        if outcomes.ndim == 2 and outcomes.shape[1] > 1:
            raise ValueError(f"y has shape {outcomes.shape}: several outcomes per case\n  give one label for each row")
        X, labels = indexable(X, column_or_1d(outcomes, warn=True))
        check_classification_targets(labels)
        if not len(labels):
            raise ValueError("y is empty: there is nothing to fit on\n  give at least two cases of each class")
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
        if weight is not None and (weight < 0.0).any():
            raise ValueError(f"sample_weight: {weight.min():g} is negative\n  correct the value, or leave the row out")
        repeated = weight is not None and np.asarray(sample_weight).dtype.kind in "iu"
        routed, frozen = self._routed(weight, params), isinstance(self.classifier, FrozenEstimator)
        if frozen:
            check_is_fitted(self.classifier)
        self.classes_ = np.asarray(self.classifier.classes_) if frozen else np.unique(labels)
        if len(self.classes_) < 2:
            raise ValueError(f"y: one class only, {self.classes_[0]}\n  give cases of at least two classes")
        if frozen:
            self.classifiers_ = [self.classifier]
            tests, scores = [np.arange(len(labels))], [_scores(self.classifier, X, self.classes_)]
        else:
            folds, fit = self._folds(X, labels, routed.splitter.split), delayed(_fitted_and_scored)
            given = (X, labels, self.classes_, routed.classifier.fit)
            tasks = (fit(clone(self.classifier), *given, *fold) for fold in folds)
            running = Parallel(n_jobs=self.n_jobs, return_as="generator")(tasks)
            done = list(tracked(f"fitting {type(self.classifier).__name__}", running, len(folds), first=1))
            self.classifiers_ = [classifier for classifier, _ in done]
            tests, scores = [test for _, test in folds], [fold_scores for _, fold_scores in done]
        self.calibrator_ = self._calibrator(np.concatenate(scores), labels, weight, tests, repeated)
        self.pool_ = "arithmetic" if self._is_over_confident() else "geometric"
        if not (self.ensemble or frozen):
            self.classifiers_ = [clone(self.classifier).fit(X, labels, **routed.classifier.fit)]
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.classifiers_[0], name):
                setattr(self, name, getattr(self.classifiers_[0], name))
        return self

    def _calibrator(
        self, scores: Array, labels: Array, weight: Array | None, tests: list[Array], repeated: bool
    ) -> Calibrator:
        """Return the map fitted on out-of-fold scores, and keep the link from scores to probabilities.

        repeated  weights are numbers of cases
        """
        rows, names = np.concatenate(tests), self.classes_.tolist()
        own, weight = labels[rows], None if weight is None else weight[rows]
        unknown = np.setdiff1d(own, self.classes_)
        if unknown.size:
            known = ", ".join(map(str, names))
            raise ValueError(f"y: the classifier does not know the class {unknown[0]}; it was fitted for {known}")
        order = np.argsort(self.classes_)
        codes = order[np.searchsorted(self.classes_, own, sorter=order)]
        certain, ends = hasattr(self.classifiers_[0], "predict_proba"), np.cumsum([len(test) for test in tests])
        parts = [slice(int(end) - len(test), int(end)) for end, test in zip(ends, tests, strict=True)]
        name = f"{'predict_proba' if certain else 'decision_function'} of {type(self.classifiers_[0]).__name__}"
        try:
            if certain:
                without_outcomes(scores, tuple(names), name)
            self.link_, p = linked(scores, codes, weight, tuple(names), parts, probabilities=certain)
            twice = rows if len(np.unique(rows)) < len(rows) else None
            weights: dict[str, Any] = {"counts" if repeated else "sample_weight": weight}
            forecasts = Forecasts.of(own, p, labels=names, **weights, clusters=twice)
        except ValueError as problem:
            raise ValueError(f"{name}: {problem}") from None
        return calibrator(assess(forecasts), self.method, caution=0.0)

    def _folds(self, X: Any, labels: Array, params: dict[str, Any]) -> list[tuple[Array, Array]]:
        """Return (rows to fit on, rows to forecast) of each fold; each class is in all of a number of folds."""
        cv, number = self.cv, 5 if self.cv is None else self.cv
        if isinstance(number, int):
            classes, cases = np.unique(labels, return_counts=True)
            rare, few = classes[cases.argmin()], int(cases.min())
            if few < 2:
                raise ValueError(f"y: only 1 sample of class {rare}\n  give at least two of each class")
            if few < number:
                cv = few
                warn(f"class {rare} has {few} cases: {few} folds instead of {number}", stacklevel=3)
        return list(check_cv(cv, labels, classifier=True).split(X, labels, **params))

    def _routed(self, weight: Array | None, params: dict[str, Any]) -> Bunch:
        """Return what reaches the classifier's fit and the splitter."""
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, "fit", sample_weight=weight, **params)
        if weight is not None and not isinstance(self.classifier, FrozenEstimator):
            if has_fit_parameter(self.classifier, "sample_weight"):
                params = params | {"sample_weight": weight}
            else:
                name = type(self.classifier).__name__
                warn(f"{name}.fit takes no sample_weight: the weights reach the recalibration alone", stacklevel=3)
        return Bunch(classifier=Bunch(fit=params), splitter=Bunch(split={}))

    def predict_proba(self, X: Any) -> Array:
        """Return (n, n_classes) recalibrated probabilities."""
        check_is_fitted(self)
        total, logs = np.zeros((2, _num_samples(X), len(self.classes_)))
        for classifier in self.classifiers_:
            p = _scores(classifier, X, self.classes_)
            p = self.calibrator_.predict(self.link_(p))
            total += p
            with np.errstate(divide="ignore"):
                logs += np.log(p)
        mean, logs = total / len(self.classifiers_), logs / len(self.classifiers_)
        if self.pool_ == "arithmetic" or len(self.classifiers_) == 1:
            return np.asarray(mean)
        never = np.isneginf(logs).any(axis=1)  # one classifier alone rules nothing out
        geometric = softmax(np.where(never[:, None], 0.0, logs), axis=1)
        return np.asarray(np.where(never[:, None], mean, geometric))

    def _is_over_confident(self) -> bool:
        """Whether recalibrated out-of-fold forecasts look over-confident, or rule something out."""
        source = self.calibrator_.source
        assert source is not None
        rows = source._counted.rows
        p = mapped_rows(self.calibrator_.fitted, rows)
        recalibrated = replace(rows, probabilities=p, log_realised=None)
        slope = assessment(Tally.of(recalibrated)).calibration_slope
        return not (slope >= 1.0 and (p > 0.0).all())

    def predict_log_proba(self, X: Any) -> Array:
        """Return (n, n_classes) logarithms of the recalibrated probabilities."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row."""
        check_is_fitted(self)
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    @property
    def assessment_(self) -> Assessment:
        """The assessment of the recalibrated forecasts, each by a map that was fitted without its fold."""
        check_is_fitted(self)
        return self.calibrator_.assessment

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata reach the classifier, the splitter and the map."""
        to_fit, to_split = (
            MethodMapping().add(caller="fit", callee="fit"),
            MethodMapping().add(caller="fit", callee="split"),
        )
        router = MetadataRouter(owner=self).add_self_request(self)
        router = router.add(classifier=self.classifier, method_mapping=to_fit)
        return router.add(splitter=self.cv, method_mapping=to_split)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.classifier).input_tags.sparse
        return tags


def _fitted_and_scored(
    classifier: Any, X: Any, labels: Array, classes: Array, params: dict[str, Any], train: Array, test: Array
) -> tuple[Any, Array]:
    """Return the classifier fitted on some rows, and its scores of others."""
    own = _safe_indexing(labels, train)
    missing = np.setdiff1d(classes, own)
    if missing.size:
        raise ValueError(f"cv: no case of class {missing[0]} is outside of one fold\n  give folds by class, cv=5")
    classifier.fit(_safe_indexing(X, train), own, **_check_method_params(X, params, indices=train))
    return classifier, _scores(classifier, _safe_indexing(X, test), classes)


def _scores(classifier: Any, X: Any, classes: Array) -> Array:
    """Return (n, k) probabilities, or decision scores where there are none, in the order of the classes."""
    name, k = type(classifier).__name__, len(classes)
    if hasattr(classifier, "predict_proba"):
        predictions, method = classifier.predict_proba(X), "predict_proba"
    elif hasattr(classifier, "decision_function"):
        predictions, method = classifier.decision_function(X), "decision_function"
    else:
        raise TypeError(f"{name} has neither predict_proba nor decision_function\n  give a classifier with one of them")
    if isinstance(predictions, list):
        raise ValueError(f"{method} of {name}: several outcomes per case\n  give a classifier of one outcome")
    scores = np.asarray(predictions, dtype=np.float64)
    if method == "decision_function" and scores.ndim == 1:
        scores = np.column_stack([-scores / 2.0, scores / 2.0])
    in_pairs = k == 3 and method == "decision_function" and _gives_pairs(classifier)  # as many as classes
    if scores.ndim != 2 or scores.shape[1] != k or in_pairs:
        remedy = (
            "set decision_function_shape='ovr'" if method == "decision_function" else "give one column for each class"
        )
        what = "pairs of classes in its columns" if in_pairs else f"shape {scores.shape}"
        raise ValueError(f"{method} of {name} has {what}; {k} classes need shape (n, {k})\n  {remedy}")
    own = np.asarray(classifier.classes_)
    return scores if np.array_equal(own, classes) else scores[:, [own.tolist().index(c) for c in classes.tolist()]]


def _gives_pairs(classifier: Any) -> bool:
    """Whether the columns of the decision function are pairs of classes, here or in a step of a pipeline."""
    shapes = {name: value for name, value in classifier.get_params().items() if "decision_function_shape" in name}
    return "ovo" in shapes.values()
