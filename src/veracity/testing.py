"""Assertions for the tests of a model: `assert_calibrated(y, p)`, `assert_not_worse(y, new, old, margin=0.01)`.

A failure says what the answer would say. Nothing is loaded into pytest.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from veracity.results.assess import Assessments, assess
from veracity.results.check import NotWorse
from veracity.results.compare import compare
from veracity.words import verdict

__all__ = ["assert_calibrated", "assert_not_worse"]

PASSED = ("calibrated", "none found")


def assert_calibrated(y_true: Any, y_proba: Any = None, *, slight: bool = True, **options: Any) -> None:
    """Raise AssertionError with the sentences of the verdict unless no miscalibration is found.

    Parameters
    ----------
    y_true, y_proba, options
        As in `assess`. Too few cases to judge fail too: such a test proves nothing.
    slight : bool, default True
        Whether miscalibration that costs next to nothing passes.

    Examples
    --------
    >>> try:
    ...     assert_calibrated([0, 1] * 200, [0.4, 0.4] * 200)
    ... except AssertionError as failure:
    ...     print(failure)
    biased
      Too low overall. It predicts 40 % on average; 50 % happened.
    """
    assessment = assess(y_true, y_proba=y_proba, **options)
    models = assessment.models if isinstance(assessment, Assessments) else {"": assessment}
    passed = (*PASSED, "slight") if slight else PASSED
    failed = {
        name: a for name, a in models.items() if a.verdict_detail.state not in passed or a.verdict_detail.zero_rows
    }
    if failed:
        sentences = [
            f"{f'{name}: ' if name else ''}{a.verdict}\n"
            + "\n".join(f"  {str(one).replace('**', '')}" for one in verdict.sentences(a.verdict_detail))
            for name, a in failed.items()
        ]
        raise AssertionError("\n".join(sentences))


def assert_not_worse(
    y_true: ArrayLike, new: ArrayLike, old: ArrayLike, *, margin: float, score: str = "log_loss", **options: Any
) -> None:
    """Raise AssertionError unless the interval of the paired difference excludes a loss of more than the margin.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes.
    new, old : array-like of shape (n,) or (n, k)
        Forecasts of the same cases.
    margin : float
        By how much the score may be worse; with 0 the new one must be better, or the same.
    score : str, default "log_loss"
        "log_loss", "brier", "accuracy", …
    options
        As in `compare`, such as `clusters=` and `time=`.

    Examples
    --------
    >>> assert_not_worse([0, 1] * 50, [0.2, 0.8] * 50, [0.3, 0.7] * 50, margin=0.0)
    """
    wanted = NotWorse.parse(f"{score} not worse by {margin!r}")
    c = compare(y_true, {"new": new, "old": old}, reference="old", **options)
    outcome = wanted.judged(c)
    if not outcome.met:
        raise AssertionError(f"new is not shown to be: {wanted}\n  {score}: {outcome.found}")
