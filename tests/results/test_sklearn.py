"""`veracity.sklearn` is at home in scikit-learn: checks, routing, searches, pipelines, copies."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_wine, make_blobs, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.multiclass import OneVsOneClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

import veracity as vc
from veracity import metrics
from veracity.results.calibrator import calibrator
from veracity.sklearn import AssessmentDisplay, Recalibrated, scorer, scorers
from veracity.sklearn._link import are_votes, margins

X, Y = make_classification(600, n_redundant=10, random_state=0)
X3, Y3 = load_wine(return_X_y=True)


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def best_on_average(y: Any, p: Any) -> vc.Calibrator:
    return calibrator(vc.assess(y, p), caution=0.0)


def test_every_check_of_an_estimator_passes() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of checks with few cases of a class
        results = check_estimator(Recalibrated(LogisticRegression()), on_skip=None, on_fail=None)
    failed = [result["check_name"] for result in results if result["status"] == "failed"]
    assert failed == []
    assert sum(result["status"] == "passed" for result in results) > 50


def test_recalibration_helps_naive_bayes_as_its_assessment_says() -> None:
    half = len(X) // 2
    fitted = Recalibrated(GaussianNB()).fit(X[:half], Y[:half])
    plain = metrics.log_loss(Y[half:], GaussianNB().fit(X[:half], Y[:half]).predict_proba(X[half:]))
    recalibrated = metrics.log_loss(Y[half:], fitted.predict_proba(X[half:]))
    assert recalibrated < plain
    assert fitted.assessment_.n == half
    assert fitted.calibrator_.gain > 0.0
    assert fitted.assessment_.scores.log_loss == pytest.approx(recalibrated, rel=0.3)
    assert set(fitted.predict(X)) <= set(fitted.classes_)
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X)), fitted.predict_proba(X))
    alone = Recalibrated(GaussianNB(), ensemble=False).fit(X[:half], Y[:half])
    assert len(alone.classifiers_) == 1
    np.testing.assert_array_equal(
        alone.calibrator_.predict(fitted.predict_proba(X)), fitted.calibrator_.predict(fitted.predict_proba(X))
    )


def test_the_map_of_one_classifier_is_that_of_its_out_of_fold_forecasts() -> None:
    from sklearn.model_selection import cross_val_predict

    p = cross_val_predict(GaussianNB(), X, Y, cv=5, method="predict_proba")
    fitted = Recalibrated(GaussianNB(), ensemble=False).fit(X, Y)
    np.testing.assert_allclose(
        fitted.predict_proba(X), best_on_average(Y, p).predict(GaussianNB().fit(X, Y).predict_proba(X)), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("data", "classifier"), [((X, Y), LinearSVC()), ((X, Y), RidgeClassifier()), ((X3, Y3), SVC())]
)
def test_scores_of_a_decision_function_become_probabilities(data: Any, classifier: Any) -> None:
    scaled = make_pipeline(StandardScaler(), classifier)
    fitted = Recalibrated(scaled).fit(*data)
    p = fitted.predict_proba(data[0])
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert metrics.log_loss(data[1], p) < 0.6 * vc.assess(data[1], p).baseline.log_loss
    assert 0.7 < fitted.assessment_.calibration_slope < 1.4
    far = fitted.predict_proba(1e6 * data[0])
    assert np.isfinite(far).all()


def test_classifiers_are_pooled_by_logarithms_unless_their_forecasts_are_over_confident() -> None:
    noisy = make_classification(400, flip_y=0.3, random_state=3)
    for classifier, data, pool in (
        (RandomForestClassifier(20, random_state=0), (X3, Y3), "geometric"),
        (GaussianNB(), (X, Y), "arithmetic"),
        (DecisionTreeClassifier(max_depth=6, random_state=0), noisy, "arithmetic"),
    ):
        fitted = Recalibrated(classifier).fit(*data)
        assert fitted.pool_ == pool
        own = [fitted.calibrator_.predict(fitted.link_(one.predict_proba(data[0]))) for one in fitted.classifiers_]
        mean = np.mean(own, axis=0) if pool == "arithmetic" else np.exp(np.mean(np.log(own), axis=0))
        np.testing.assert_allclose(fitted.predict_proba(data[0]), mean / mean.sum(axis=1, keepdims=True), rtol=1e-9)


@pytest.mark.parametrize("classifier", [RandomForestClassifier(20, random_state=0), GaussianNB()])
def test_the_step_is_the_best_on_average_and_longer_than_the_careful_one(classifier: Any) -> None:
    fitted = Recalibrated(classifier).fit(X3[::3], Y3[::3]).calibrator_
    careful, best = fitted.source._advised_with(1.5), fitted.source._advised_with(0.0)
    assert careful.fix.strength is None or careful.fix.strength < best.fix.strength
    assert fitted.fix == best.fix


def test_one_classifier_alone_rules_nothing_out() -> None:
    fitted = Recalibrated(Sure()).fit(np.arange(100.0)[:, None] / 100, np.arange(100) % 2)
    identity = vc.calibrate(Y, Y * 0.6 + 0.2, method="identity")
    fitted.pool_, fitted.link_, fitted.calibrator_ = "geometric", np.asarray, identity
    for place, classifier in enumerate(fitted.classifiers_):
        classifier.p = 1.0 if place else 0.0
    np.testing.assert_allclose(fitted.predict_proba(np.zeros((2, 1))), [[0.2, 0.8]] * 2)


def test_scores_of_many_classes_get_a_matrix_where_it_is_clearly_better() -> None:
    from sklearn.datasets import load_digits

    rows, labels = load_digits(return_X_y=True)
    ridge = make_pipeline(StandardScaler(), RidgeClassifier())
    assert Recalibrated(ridge).fit(rows[::2], labels[::2]).link_.fitted.name == "matrix"
    assert Recalibrated(ridge).fit(X3[::2], Y3[::2]).link_.fitted.name == "temperature"


@pytest.mark.parametrize("classifier", [SVC(), OneVsOneClassifier(LinearSVC())])
def test_votes_of_one_against_one_become_sums_of_margins(classifier: Any) -> None:
    rows = StandardScaler().fit_transform(X3)
    fitted = Recalibrated(classifier).fit(rows, Y3)
    assert fitted.link_.of_votes
    pairs = SVC(decision_function_shape="ovo").fit(rows, Y3).decision_function(rows)  # 0 against 1, 0 and 1 against 2
    sums = np.column_stack([pairs[:, 0] + pairs[:, 1], pairs[:, 2] - pairs[:, 0], -pairs[:, 1] - pairs[:, 2]])
    np.testing.assert_allclose(margins(SVC().fit(rows, Y3).decision_function(rows)), sums, rtol=1e-9)


def test_scores_of_one_against_the_rest_are_no_votes() -> None:
    assert not Recalibrated(RidgeClassifier()).fit(X3, Y3).link_.of_votes
    assert not are_votes(np.array([[1.0, 0.0]]))


def test_scores_that_are_always_right_in_few_cases_rule_nothing_out() -> None:
    rows, labels = make_blobs(45, centers=3, cluster_std=0.1, random_state=0)
    svm = Recalibrated(SVC()).fit(rows, labels)
    assert svm.predict_proba(rows).min() > 1e-4
    assert svm.score(rows, labels) == 1.0


def test_a_frozen_classifier_is_not_fitted_again() -> None:
    half = len(X) // 2
    once = GaussianNB().fit(X[:half], Y[:half])
    before = once.theta_.copy()
    fitted = Recalibrated(FrozenEstimator(once)).fit(X[half:], Y[half:])
    np.testing.assert_array_equal(once.theta_, before)
    expected = best_on_average(Y[half:], once.predict_proba(X[half:])).predict(once.predict_proba(X))
    np.testing.assert_allclose(fitted.predict_proba(X), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="the classifier does not know the class 7"):
        Recalibrated(FrozenEstimator(once)).fit(X[half:], np.where(Y[half:] == 1, 7, 0))


def test_a_classifier_that_first_says_0_to_a_new_case_rules_nothing_out() -> None:
    fitted = Recalibrated(Sure(), ensemble=False).fit(np.arange(100.0)[:, None] / 100, np.arange(100) % 2)
    fitted.classifiers_[0].p = 1.0
    assert 0.0 < fitted.predict_proba([[0.5]])[0, 0] < 0.3


def test_trees_that_say_0_rule_nothing_out() -> None:
    fitted = Recalibrated(DecisionTreeClassifier(random_state=0)).fit(X, Y)
    assert (fitted.predict_proba(X) > 0.0).all()
    assert np.isfinite(fitted.assessment_.scores.log_loss)


@pytest.mark.usefixtures("routing")
def test_six_scorers_and_weights_are_routed_through_cross_validate() -> None:
    weight = np.where(Y == 1, 3.0, 1.0)
    model = Recalibrated(GaussianNB().set_fit_request(sample_weight=True)).set_fit_request(sample_weight=True)
    weighted = {
        name: pickle.loads(pickle.dumps(one)).set_score_request(sample_weight=True) for name, one in scorers.items()
    }
    assert len(weighted) == 6
    how: Any = {"cv": 3, "params": {"sample_weight": weight}}
    found = cross_validate(model, X, Y, scoring=weighted, return_estimator=True, return_indices=True, **how)
    ignored = pickle.loads(pickle.dumps(scorers["neg_log_loss"])).set_score_request(sample_weight=False)
    plain = cross_validate(model, X, Y, scoring=ignored, **how)
    for i, (fitted, test) in enumerate(zip(found["estimator"], found["indices"]["test"], strict=True)):
        expected = metrics.log_loss(Y[test], fitted.predict_proba(X[test]), sample_weight=weight[test])
        assert found["test_neg_log_loss"][i] == pytest.approx(-expected, rel=1e-12)
    assert not np.allclose(plain["test_score"], found["test_neg_log_loss"])
    unweighted = Recalibrated(GaussianNB()).fit(X, Y).calibrator_.source.scores.log_loss
    own = model.fit(X, Y, sample_weight=weight).calibrator_.source.scores.log_loss
    assert own != pytest.approx(unweighted)


def test_scorers_are_the_metrics_in_the_order_of_the_classes() -> None:
    words = np.array(["c", "a", "b"])[Y3]
    fitted = make_pipeline(StandardScaler(), GaussianNB()).fit(X3, words)
    some = np.flatnonzero(words != "a")  # a class that does not occur
    p, labels = fitted.predict_proba(X3[some]), ["a", "b", "c"]
    assert scorers["neg_log_loss"](fitted, X3[some], words[some]) == -metrics.log_loss(words[some], p, labels=labels)
    assert scorer(r=0.5)(fitted, X3[some], words[some]) == -metrics.power_score(0.5)(words[some], p, labels=labels)
    assert scorer(r=1)(fitted, X3, words) == pytest.approx(scorers["neg_brier"](fitted, X3, words), rel=1e-12)
    assert repr(pickle.loads(pickle.dumps(scorer(r=0.5)))) == "scorer(r=0.5)"
    with pytest.raises(AttributeError, match=r"give it one:  Recalibrated\(LinearSVC"):
        scorers["neg_log_loss"](LinearSVC().fit(X, Y), X, Y)


def test_a_search_over_methods_in_a_pipeline_with_two_processes() -> None:
    model = make_pipeline(StandardScaler(), Recalibrated(GaussianNB(), cv=3))
    grid = {"recalibrated__method": ["identity", "platt", "advised"]}
    found = GridSearchCV(model, grid, scoring=scorers["neg_log_loss"], cv=2, n_jobs=2).fit(X, Y)
    assert found.best_params_["recalibrated__method"] != "identity"
    assert found.best_estimator_.predict_proba(X).shape == (600, 2)


def test_frames_copies_and_pickles() -> None:
    import pandas as pd

    frame = pd.DataFrame(X3, columns=[f"x{j}" for j in range(X3.shape[1])])
    model = make_pipeline(StandardScaler().set_output(transform="polars"), Recalibrated(GaussianNB(), "temperature"))
    fitted = clone(model).fit(frame, np.array(list("abc"))[Y3])
    copied = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copied.predict_proba(frame), fitted.predict_proba(frame))
    assert fitted.classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_names_of_features_are_kept_where_the_classifier_keeps_them(library: str) -> None:
    frame = StandardScaler().set_output(transform=library).fit_transform(X3)
    alone = GaussianNB().fit(frame, Y3)  # scikit-learn 1.6 reads no names from polars 2
    kept = Recalibrated(GaussianNB(), "temperature").fit(frame, Y3)
    assert (
        getattr(kept, "feature_names_in_", np.empty(0)).tolist()
        == getattr(alone, "feature_names_in_", np.empty(0)).tolist()
    )


def test_whole_weights_are_repeated_cases_and_others_importance() -> None:
    whole = np.where(Y == 1, 2, 1)
    counted = Recalibrated(GaussianNB()).fit(X, Y, sample_weight=whole)
    weighed = Recalibrated(GaussianNB()).fit(X, Y, sample_weight=whole.astype(float))
    assert counted.calibrator_.source.n == whole.sum()
    assert weighed.calibrator_.source.n == len(Y)


class Neither(ClassifierMixin, BaseEstimator):
    def fit(self, X: Any, y: Any) -> Neither:
        self.classes_ = np.unique(y)
        return self


class Sure(Neither):
    """States p of the second class, whatever the case."""

    p = 0.5

    def predict_proba(self, X: Any) -> Any:
        return np.column_stack([np.full(len(X), 1.0 - self.p), np.full(len(X), self.p)])


class Logits(Neither):
    def predict_proba(self, X: Any) -> Any:
        return np.column_stack([X[:, 0], -X[:, 0]])


class Several(Neither):
    def predict_proba(self, X: Any) -> Any:
        return [np.full((len(X), 2), 0.5)] * 2


BAD = {
    "Neither has neither predict_proba nor decision_function": lambda: Recalibrated(Neither()).fit(X, Y),
    "predict_proba of Logits: y_proba": lambda: Recalibrated(Logits()).fit(X, Y),
    "several outcomes per case": lambda: Recalibrated(Several()).fit(X, Y),
    "y has shape (600, 2): several outcomes": lambda: Recalibrated(GaussianNB()).fit(X, np.column_stack([Y, Y])),
    "one class only": lambda: Recalibrated(GaussianNB()).fit(X, np.ones(600)),
    "only 1 sample of class 5": lambda: Recalibrated(GaussianNB()).fit(X, np.r_[5, Y[1:]]),
    "method: 'plat' is not one of": lambda: Recalibrated(GaussianNB(), "plat").fit(X, Y),
    "set decision_function_shape='ovr'": lambda: Recalibrated(SVC(decision_function_shape="ovo")).fit(
        *make_classification(300, n_classes=4, n_informative=4, random_state=0)
    ),
    "pairs of classes in its columns": lambda: Recalibrated(
        make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo"))
    ).fit(X3, Y3),
    "FrozenEstimator instance is not fitted": lambda: Recalibrated(FrozenEstimator(GaussianNB())).fit(X, Y),
    "sample_weight: -1 is negative": lambda: Recalibrated(GaussianNB()).fit(X, Y, sample_weight=-np.ones(600)),
    "kind: 'roc' is not one of": lambda: AssessmentDisplay.from_predictions(Y, np.full(600, 0.5), kind="roc"),
    "LinearSVC has no predict_proba": lambda: AssessmentDisplay.from_estimator(LinearSVC().fit(X, Y), X, Y),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused(what: str) -> None:
    with pytest.raises((ValueError, TypeError, AttributeError)) as error:
        BAD[what]()
    assert what in str(error.value)


def test_few_cases_of_a_class_make_fewer_folds() -> None:
    with pytest.warns(UserWarning, match="class 5 has 3 cases: 3 folds instead of 5"):
        fitted = Recalibrated(GaussianNB()).fit(X, np.r_[5, 5, 5, Y[3:]])
    assert len(fitted.classifiers_) == 3
    with pytest.warns(UserWarning, match="fit takes no sample_weight"):
        Recalibrated(make_pipeline(GaussianNB())).fit(X, Y, sample_weight=np.ones(600))


@pytest.mark.parametrize("kind", ["reliability", "risk_profile"])
def test_a_display_draws_the_numbers_of_the_assessment(kind: str) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    X2, Y2 = load_breast_cancer(return_X_y=True)
    model = GaussianNB().fit(X2, Y2)
    shown = AssessmentDisplay.from_estimator(model, X2, Y2, kind=kind, color="C3")
    a = vc.assess(Y2, model.predict_proba(X2))
    drawn = np.asarray(shown.lines_[0].get_ydata())
    curve = [point.observed for point in a.curves.classwise["1"] if point.count]
    np.testing.assert_array_equal(drawn, curve if kind == "reliability" else a.risk_profile.reported)
    again = AssessmentDisplay.from_predictions(Y2, model.predict_proba(X2), kind=kind, ax=shown.ax_, name="again")
    assert again.figure_ is shown.figure_
    assert "again" in [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    plt.close(shown.figure_)
