"""Calibration and grouping loss where forecasts repeat and their ideals are given: `python -m bench.ideal [--draws N]`.

Counted: C is the mean ideal of equal forecasts (KF15's exact chain, the default from 10 cases a class and forecast).
Pooled: the cross-fitted pool of maps, the default below. Both against the losses of the source, by cases of a forecast.
"""

from __future__ import annotations

import numpy as np

from bench._draws import options
from veracity.estimate.loss.losses import losses
from veracity.estimate.loss.recalibration import recalibration, soft_rows
from veracity.formulas.rules import rule
from veracity.inputs import Forecasts

DRAWS, CASES, DISTINCT, FRESH = 100, (5, 10, 20, 30, 60, 200), 20, 200
SPREAD = 6.0  # of the ideals about the frequencies of a forecast


def errors(k: int, cases: int, generator: np.random.Generator) -> list[float]:
    """Return counted and pooled calibration loss less the truth, and the same of the grouping loss."""
    said = 0.96 * generator.dirichlet(np.ones(k), DISTINCT) + 0.04 / k
    bent = said**1.3
    bent = 0.7 * bent / bent.sum(axis=1, keepdims=True) + 0.3 * generator.dirichlet(np.full(k, 3.0), DISTINCT)

    def ideals(times: int) -> np.ndarray:
        drawn = np.concatenate([generator.dirichlet(SPREAD * row, times) for row in bent])
        return 0.998 * drawn + 0.002 / k

    q, scores, frequencies = ideals(cases), np.repeat(said, cases, axis=0), 0.998 * bent + 0.002 / k
    outcomes = (generator.random(len(q))[:, None] > q.cumsum(axis=1)[:, :-1]).sum(axis=1)
    rows, log = Forecasts(scores, outcomes, tuple(range(k)), ideal=q), rule("log")
    calibration = float(log.divergence(said, frequencies).mean())
    grouping = float(log.divergence(np.repeat(frequencies, FRESH, axis=0), ideals(FRESH)).mean())
    whole = float(losses(rows, "log", None, map="grouped").EL)
    found = [float(losses(rows, "log", None, map="grouped").CL)]
    pool = recalibration(soft_rows(rows))
    assert pool is not None
    found.append(max(pool.gain("log")[0], 0.0))
    return [*(cl - calibration for cl in found), *(whole - cl - grouping for cl in found)]


def main() -> None:
    draws, _ = options(__doc__, DRAWS)
    print(
        "| classes | cases of a forecast | CL counted | CL pooled | GL counted | GL pooled |\n|---|---|---|---|---|---|"
    )
    for k in (2, 3):
        for cases in CASES:
            drawn = np.array([errors(k, cases, np.random.default_rng([k, cases, seed])) for seed in draws])
            root = np.sqrt((drawn**2).mean(axis=0))
            cells = [f"{mean:+.4f}, {error:.4f}" for mean, error in zip(drawn.mean(axis=0), root, strict=True)]
            print(f"| {k} | {cases} | {' | '.join(cells)} |", flush=True)
    print(f"Bias, root mean squared error; {draws.number} draws of {DISTINCT} distinct forecasts.")


if __name__ == "__main__":
    main()
