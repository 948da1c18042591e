"""`veracity plan`: the cases that it names are those at which the error is seen."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import expit

from veracity.cli import run
from veracity.estimate.calibration.verdict import judge
from veracity.estimate.monitoring.planning import _auc, _for_comparison, _for_monitor, _for_verdict, _moved, source

Captured = pytest.CaptureFixture[str]


def test_source_has_the_base_rate_and_the_auc_that_were_asked_for() -> None:
    for baseline, auc in ((0.1, 0.75), (0.5, 0.9), (0.01, 0.6)):
        x = source(baseline, auc)
        assert expit(x).mean() == pytest.approx(baseline, abs=1e-6)
        assert _auc(x) == pytest.approx(auc, abs=1e-6)


def test_verdicts_of_the_planned_number_of_cases_find_the_error_with_the_power_asked_for() -> None:
    x = source(0.3, 0.75)
    p, truth = expit(x), expit(_moved(x, "level", 0.4))
    cases = _for_verdict(x, _moved(x, "level", 0.4), 0.8)
    assert cases is not None
    found = 0
    for seed in range(100):
        rng = np.random.default_rng([seed, 7])
        at = rng.integers(0, len(x), cases)
        y = (rng.uniform(size=len(at)) < truth[at]).astype(int)
        found += judge(p[at], y, ("0", "1")).p <= 0.05
    assert 68 <= found <= 92  # 80, within three standard errors of 100 draws


def test_larger_errors_and_less_power_need_fewer_cases() -> None:
    x = source(0.3, 0.8)

    def cases(size: float, power: float) -> list[int | None]:
        comparison = _for_comparison(x, _moved(x, "slope", size), power)
        return [comparison, _for_monitor(x, "slope", size, power, 50)]

    for large, small, weak in zip(cases(0.4, 0.8), cases(0.6, 0.8), cases(0.6, 0.5), strict=True):
        assert large is not None
        assert weak is not None
        assert small is not None
        assert large < small
        assert weak <= small


def test_command_prints_three_numbers_and_refuses_what_is_no_error(capsys: Captured) -> None:
    assert run(["plan", "--baseline", "0.2", "--detect", "level 0.9", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [one["what"] for one in document["plan"]["needed"]] == ["verdict", "comparison", "monitor"]
    for wrong in ("level", "level 0", "slope 1", "slope -1", "0.2", "level a b"):
        assert run(["plan", "--baseline", "0.2", "--detect", wrong]) == 2
        assert 'write "level 0.2"' in capsys.readouterr().err
    assert run(["plan", "--baseline", "1.2", "--detect", "level 0.2"]) == 2
    assert "--baseline 1.2 is not between 0 and 1" in capsys.readouterr().err
