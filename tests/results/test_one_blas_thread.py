"""The package computes with one BLAS thread, and gives the caller's number back."""

import sys
import threading

import numpy as np
import pytest
import scipy.special  # noqa: F401

from veracity import assess, calibrate, compare, estimate
from veracity.kernels import blas
from veracity.kernels.blas import one_blas_thread

LIBRARIES = [library for name in blas.LINKED if name in sys.modules and (library := blas._linked(name)) is not None]
pytestmark = pytest.mark.skipif(not LIBRARIES, reason="NumPy is linked with another BLAS than OpenBLAS")


def numbers():
    return {library.number() for library in LIBRARIES}


@pytest.fixture(autouse=True)
def two_threads():
    before = [library.number() for library in LIBRARIES]
    for library in LIBRARIES:
        library.limit(2)
    yield
    for library, number in zip(LIBRARIES, before, strict=True):
        library.limit(number)


def forecasts(n=400, k=2):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(k), n)
    return (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), p**1.5 / (p**1.5).sum(axis=1, keepdims=True)


JOBS = {
    "print": ("verdict", lambda y, p: str(assess(y, p))),
    "document": ("verdict", lambda y, p: assess(y, p).to_json()),
    "compare": ("recalibration", lambda y, p: compare(y, {"a": p, "b": p**2 / (p**2).sum(1)[:, None]}).to_json()),
    "calibrate": ("recalibration", lambda y, p: calibrate(y, p, method="best").predict(p)),
}


@pytest.mark.parametrize("job", JOBS)
def test_a_job_computes_with_one_thread_and_leaves_two(job, monkeypatch):
    function, work = JOBS[job]
    seen, whole = [], getattr(estimate, function)

    def watched(*args, **options):
        seen.append(numbers())
        return whole(*args, **options)

    monkeypatch.setattr(estimate, function, watched)
    if job == "calibrate":
        monkeypatch.setattr("veracity.results.calibrator.best_map", lambda *a, **o: watched_map(seen, *a, **o))
    work(*forecasts(k=3))
    assert seen
    assert all(number == {1} for number in seen)
    assert numbers() == {2}


def watched_map(seen, *args, **options):
    from veracity.estimate.calibration.remedies import best_map

    seen.append(numbers())
    return best_map(*args, **options)


def test_an_error_gives_the_number_back():
    with pytest.raises(ValueError, match="classes"):
        calibrate(*forecasts(k=3)).predict([[0.5, 0.5]])
    assert numbers() == {2}


def test_the_last_of_several_threads_gives_the_number_back():
    inside, leave = threading.Barrier(2), threading.Event()

    def work():
        with one_blas_thread:
            inside.wait(10)
            leave.wait(10)

    other = threading.Thread(target=work)
    other.start()
    with one_blas_thread:
        inside.wait(10)
    assert numbers() == {1}
    leave.set()
    other.join()
    assert numbers() == {2}


def test_a_number_that_the_caller_sets_meanwhile_stays():
    with one_blas_thread:
        for library in LIBRARIES:
            library.limit(3)
    assert numbers() == {3}


def test_the_document_has_the_same_bits_whatever_the_caller_set():
    y, p = forecasts(1_000, 5)
    two = assess(y, p).document()
    for library in LIBRARIES:
        library.limit(1)
    one = assess(y, p).document()
    assert repr({**one, "provenance": None}) == repr({**two, "provenance": None})
