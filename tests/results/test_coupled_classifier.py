"""The classifier of coupled Gaussians: scikit-learn's own checks, its formulas, the choice of kappa, and refusals."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import multivariate_t
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils.estimator_checks import check_estimator

from veracity.sklearn import CoupledGaussianClassifier


def two_classes(n, d, seed=0, distance=1.0):
    generator = np.random.default_rng(seed)
    y = np.repeat([0, 1], n)
    return generator.standard_normal((2 * n, d)) + distance * y[:, None], y


@pytest.mark.filterwarnings("ignore:Skipping check check_array_api_input")  # needs a variable of the environment
def test_classifier_passes_the_checks_of_scikit_learn():
    results = check_estimator(CoupledGaussianClassifier(), on_fail=None)
    assert len(results) > 40
    assert [one["check_name"] for one in results if one["status"] == "failed"] == []


def test_probabilities_are_those_of_students_t_with_prior_and_sample_covariance():
    x, y = two_classes(30, 3)
    priors = [0.2, 0.8]
    fitted = CoupledGaussianClassifier(kappa=0.4, shrinkage=None, priors=priors).fit(x, y)
    new = np.random.default_rng(1).standard_normal((20, 3))
    joint = np.column_stack(
        [
            prior * multivariate_t(x[y == k].mean(axis=0), np.cov(x[y == k].T), df=1 / 0.4).pdf(new)
            for k, prior in enumerate(priors)
        ]
    )
    # the reference's gamma functions are good to about 1e-13
    np.testing.assert_allclose(fitted.predict_proba(new), joint / joint.sum(axis=1, keepdims=True), rtol=1e-11)


def test_kappa_zero_with_shared_plain_covariance_is_linear_discriminant_analysis():
    x, y = two_classes(40, 4, distance=0.7)
    ours = CoupledGaussianClassifier(kappa=0.0, shrinkage=None, covariance="shared").fit(x, y)
    logit = np.diff(ours.predict_log_proba(x))[:, 0] * 80 / 78  # scikit-learn divides by n, and we by n − 2
    np.testing.assert_allclose(
        LinearDiscriminantAnalysis(solver="eigen").fit(x, y).decision_function(x), logit, rtol=1e-9
    )


def test_chosen_kappa_has_the_least_of_the_reported_losses_and_rises_where_cases_are_few():
    chosen = {}
    for n in (15, 2000):
        fitted = CoupledGaussianClassifier(shrinkage=None).fit(*two_classes(n, 8, seed=3))
        assert fitted.losses_[fitted.kappas_ == fitted.kappa_] == fitted.losses_.min()
        chosen[n] = fitted.kappa_
    assert chosen[15] > chosen[2000] == pytest.approx(0.0, abs=0.02)


def test_priors_are_returned_where_no_density_is_positive():
    x, y = two_classes(50, 2)
    fitted = CoupledGaussianClassifier(kappa=-0.3, priors=[0.3, 0.7]).fit(x, y)
    assert fitted.predict_proba([[50.0, 50.0]]).tolist() == [[pytest.approx(0.3), pytest.approx(0.7)]]


def test_shrinkage_does_not_depend_on_the_units_of_features():
    x, y = two_classes(12, 6, seed=5)
    units = np.array([1e-3, 1.0, 1.0, 1e4, 1.0, 1.0])
    one, other = (CoupledGaussianClassifier().fit(rows, y) for rows in (x, x * units))
    np.testing.assert_allclose(one.predict_proba(x), other.predict_proba(x * units), rtol=1e-8)


FEW = two_classes(6, 5)


@pytest.mark.parametrize(
    ("options", "data", "message", "remedy"),
    [
        ({"kappa": -0.2}, FEW, "kappa: -0.2 with 5 features", {"kappa": -0.19}),
        ({"kappas": [0.1, -0.5]}, FEW, "kappas: -0.5 with 5 features", {"kappas": [0.1, -0.1]}),
        ({"kappa": "auto"}, FEW, "give 'cv' or numbers above -1/5", {"kappa": "cv"}),
        ({"shrinkage": None}, FEW, r"class 0 \(4 cases in 5 folds\) in 5 features is singular", {"shrinkage": "auto"}),
        ({"shrinkage": None}, FEW, "covariance='shared'", {"shrinkage": None, "covariance": "shared"}),
        ({"shrinkage": 2}, FEW, "from 0 to 1", {"shrinkage": 1}),
        ({"covariance": "pooled"}, FEW, "neither 'own' nor 'shared'", {"covariance": "shared"}),
        ({"priors": [0.5, 0.6]}, FEW, "positive probabilities that sum to 1", {"priors": [0.5, 0.5]}),
        ({"cv": 1}, FEW, "cv: 1; give 2 folds", {"cv": 2}),
    ],
)
def test_a_refusal_names_a_remedy_that_works(options, data, message, remedy):
    with pytest.raises(ValueError, match=message):
        CoupledGaussianClassifier(**options).fit(*data)
    CoupledGaussianClassifier(**remedy).fit(*data)


def test_bad_cases_are_refused_by_name():
    x, y = two_classes(10, 3)
    with pytest.raises(ValueError, match="y: one class only, 'green'"):
        CoupledGaussianClassifier().fit(x, ["green"] * 20)
    with pytest.raises(ValueError, match="feature 1 is constant within every class"):
        CoupledGaussianClassifier().fit(np.column_stack([x[:, 0], y, x[:, 1]]), y)
    with pytest.raises(ValueError, match=r"class 'b' \(1 cases\) needs 2 cases or more"):
        CoupledGaussianClassifier().fit(x, ["a"] * 19 + ["b"])


def test_without_scikit_learn_the_import_names_the_extra():
    code = "import sys; sys.modules['sklearn'] = None; import veracity.sklearn"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 1
    assert "pip install 'veracity[sklearn]'" in ran.stderr
