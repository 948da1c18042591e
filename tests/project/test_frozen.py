"""Results are frozen: they pickle, copy and compare, and do not depend on what was asked before."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import veracity as vc


def forecasts(k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(k)
    p = rng.dirichlet(np.full(k, 0.5), 400)
    return (np.cumsum(p, axis=1)[:, :-1] < rng.random((400, 1))).sum(axis=1), p


def assessed(k: int) -> vc.Assessment:
    y, p = forecasts(k)
    return vc.assess(y, p, groups={"site": np.arange(400) % 3})


@pytest.mark.parametrize("k", [2, 4])
def test_results_pickle_copy_compare_and_come_back_from_json(k: int) -> None:
    a = assessed(k)
    text = a.to_json()
    for other in (pickle.loads(pickle.dumps(a)), copy.deepcopy(a), copy.copy(a), vc.Assessment.from_json(text)):
        assert other == a
        assert other.to_json() == text
    y, p = forecasts(k)
    assert vc.assess(y, p[:, ::-1] if k == 2 else np.roll(p, 1, axis=1)) != a


def test_sections_cannot_be_changed() -> None:
    a = assessed(2)
    with pytest.raises(FrozenInstanceError):
        a.model = "other"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        a.scores.brier = a.scores.log_loss  # type: ignore[misc]


def test_numbers_of_a_table_cannot_be_changed() -> None:
    table = vc.PredictionTable([[83, 56], [2, 12]])
    before = table.to_json()
    for name in ("psep", "counts", "prior", "anything"):
        with pytest.raises(FrozenInstanceError):
            setattr(table, name, 0.0)
    for array in (table.counts, table.prior, table.predictive_values, table.likelihood_ratios):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0
    assert table.to_json() == before
    assert pickle.loads(pickle.dumps(table)).to_json() == before


@pytest.mark.parametrize("k", [2, 4])
def test_findings_and_print_do_not_depend_on_what_was_asked_before(k: int) -> None:
    fresh, asked = assessed(k), assessed(k)
    asked.losses("log"), asked.remedies, asked.curves, asked.losses(-0.5)
    assert fresh.findings == asked.findings
    assert repr(fresh) == repr(asked)
    assert fresh.findings == fresh.findings


def test_one_result_used_from_eight_threads_gives_one_document() -> None:
    a = assessed(3)
    with ThreadPoolExecutor(8) as pool:
        documents = set(pool.map(lambda _: a.to_json(), range(8)))
    assert documents == {assessed_text(3, a)}


def assessed_text(k: int, like: vc.Assessment) -> str:
    """The document of the same forecasts, assessed anew, with the provenance of another."""
    made = assessed(k)
    object.__setattr__(made, "provenance", like.provenance)
    return made.to_json()


@pytest.mark.slow
def test_results_travel_to_spawned_processes() -> None:
    a = assessed(2)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(float, (a.scores.log_loss,)) == float(a.scores.log_loss)
        assert pool.apply(pickle.dumps, (a.tally,)) == pickle.dumps(a.tally)
