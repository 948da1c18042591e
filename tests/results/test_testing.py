"""Assertions say what the verdict says."""

from __future__ import annotations

from importlib import metadata

import numpy as np
import pytest

from veracity.testing import assert_calibrated, assert_not_worse

RNG = np.random.default_rng(4)
P = RNG.uniform(0.02, 0.98, 3000)
Y = (RNG.random(3000) < P).astype(int)
SURE = P**2 / (P**2 + (1 - P) ** 2)


def test_calibrated_forecasts_pass_and_others_fail_with_the_sentences_of_the_verdict() -> None:
    assert_calibrated(Y, P)
    with pytest.raises(AssertionError) as error:
        assert_calibrated(Y, SURE)
    said = str(error.value)
    assert said.startswith("over-confident\n  Over-confident. When it says")
    assert "exceptions where" in said


def test_too_few_cases_prove_nothing() -> None:
    with pytest.raises(AssertionError, match="not measurable"):
        assert_calibrated(Y[:5], P[:5])


def test_an_outcome_that_was_ruled_out_fails() -> None:
    p = P.copy()
    p[np.flatnonzero(Y == 1)[0]] = 0.0
    with pytest.raises(AssertionError, match="ruled out what happened"):
        assert_calibrated(Y, p)


def test_a_worse_model_fails_and_the_margin_decides() -> None:
    assert_not_worse(Y, P, SURE, margin=0.0)
    assert_not_worse(Y, P, P, margin=0.0)
    assert_not_worse(Y, SURE, P, margin=0.5)
    with pytest.raises(AssertionError) as error:
        assert_not_worse(Y, SURE, P, margin=0.01)
    assert str(error.value).startswith("new is not shown to be: log_loss not worse by 0.01\n  log_loss: +0.")
    with pytest.raises(AssertionError, match="accuracy"):
        assert_not_worse(Y, 1 - P, P, margin=0.01, score="accuracy")


def test_bad_input_is_refused_and_not_a_failure() -> None:
    with pytest.raises(ValueError, match="above 1"):
        assert_calibrated([0, 1], [0.5, 2.0])
    with pytest.raises(ValueError, match="margin must be 0 or more"):
        assert_not_worse(Y, P, P, margin=-1.0)
    with pytest.raises(ValueError, match="no score `log_los`"):
        assert_not_worse(Y, P, P, margin=0.1, score="log_los")


def test_no_plugin_is_registered_with_pytest() -> None:
    plugins = [entry.value for entry in metadata.entry_points(group="pytest11")]
    assert not [name for name in plugins if "veracity" in name]
