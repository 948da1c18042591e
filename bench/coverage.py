"""How often intervals hold the truth: `python -m bench.coverage [--draws N] [--first S]`; nominal 95 %, at least 90 %.

The truth of a reading is its value for 400,000 cases of the same source; of the losses, and of what recalibration could
remove, it follows from the true probabilities. Grid: 300 and 2,000 cases, calibrated and over-confident forecasts
(log-odds times 1.5), 2 and 5 classes. Of losses that are stated as "at least" or "at most" that end is looked at.
Measured means are in `bench.measured`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import row
from bench._draws import options
from bench._truth import draw, stated, truth
from veracity import Assessment, assess
from veracity.formulas.rules import rule as rule_of
from veracity.records.reading import Reading

Floats = NDArray[np.float64]

DRAWS, LEAST, MANY = 200, 0.90, 400_000
SECTIONS = ("scores", "skill", "reported")
GRID = [(kind, size, n) for kind in ("bin", "k5") for size in (1.0, 1.5) for n in (300, 2000)]


def readings(a: Assessment) -> dict[str, Any]:
    """Return all readings with intervals that one pass gives, those at other r, and those of the verdict."""
    found = {f"{s}.{name}": reading for s in SECTIONS for name, reading in getattr(a, s).readings().items()}
    found |= {f"expected.scores.{rule}.excess": one.excess for rule, one in a.expected.scores.items()}
    detail = a.verdict_detail
    found |= {f"verdict_detail.{name}": held for name, held in detail.readings().items() if name != "gain"}
    errors = a.calibration_error
    found |= {
        f"calibration_error.{name}": Reading(error.value, error.low, error.high) for name, error in errors.stated()
    }
    found |= {f"per_class.{name}.slope": one.slope for name, one in list(a.per_class.items())[1:2]}
    return found


def losses(a: Assessment, q: Floats, p: Floats) -> dict[str, tuple[Any, float]]:
    """Return the losses with an interval, each with its true value for these forecasts."""
    found: dict[str, tuple[Any, float]] = {}
    for name in ("log", "brier"):
        rule = rule_of(name)
        best = float(np.mean(rule.entropy(q)))
        whole = float(np.mean(np.sum(q * scores_of(rule, p), axis=1)))
        held = a.losses(name)
        found |= {f"losses.{name}.CL": (held.CL, whole - best), f"losses.{name}.L": (held.L, whole)}
        found |= {f"losses.{name}.RL": (held.RL, best), f"losses.{name}.AL": (held.AL, 0.0)}
    loss = float(np.mean(np.sum(q * scores_of(rule_of("log"), p), axis=1)))
    share = 1.0 - float(np.mean(rule_of("log").entropy(q))) / loss
    return found | {"verdict_detail.gain": (a.verdict_detail.gain, share)}


def scores_of(rule: Any, p: Floats) -> Floats:
    """Return the score of every class of every row."""
    return np.stack([np.asarray(rule.score(p, np.full(len(p), j))) for j in range(p.shape[1])], axis=1)


def assessed(kind: str, size: float, n: int, seed: int) -> tuple[Assessment, Floats, Floats]:
    """Return the assessment of drawn outcomes, the true probabilities and the stated ones."""
    rng = np.random.default_rng([seed, n])
    q = truth(kind, n, rng)
    p = stated(q, "T", size)
    return assess(draw(q, rng), p, labels=list(range(p.shape[1]))), q, p


def table(draws: Iterable[int]) -> dict[str, list[tuple[int, int]]]:
    """Return, for each reading, (intervals that hold the truth, intervals shown) by cell of the grid."""
    found: dict[str, list[tuple[int, int]]] = {}
    for cell, (kind, size, n) in enumerate(GRID):
        many, q, p = assessed(kind, size, MANY, 10_000)
        truths = readings(many) | {name: true for name, (_, true) in losses(many, q, p).items()}
        for number in draws:
            a = assessed(kind, size, n, number)[0]
            shown = readings(a) | {name: reading for name, (reading, _) in losses(a, q, p).items()}
            for name, reading in shown.items():
                held = found.setdefault(name, [(0, 0)] * len(GRID))
                if reading is not None and (reading.low is not None or reading.high is not None):
                    low, high = (
                        end if end is not None else side
                        for end, side in zip((reading.low, reading.high), (-np.inf, np.inf), strict=True)
                    )
                    hit = bool(low <= truths[name] <= high)
                    held[cell] = (held[cell][0] + hit, held[cell][1] + 1)
    return found


def run(quick: bool = False) -> dict[str, Any]:
    """Return the least coverage of each reading as a row: 1 − coverage should stay at or below 0.10."""
    rows = []
    for name, cells in table(range(20 if quick else DRAWS)).items():
        shares = [hits / shown for hits, shown in cells if shown > 20]
        if shares:
            work = f"missed by the 95 % interval of {name}, worst of 8 sources"
            rows.append(row(work, 1.0 - min(shares), 1.0 - LEAST))
    return {"table": rows}


def main() -> None:
    """Print coverage in per cent by source; – where hardly any interval is shown."""
    draws, _ = options(__doc__, DRAWS)
    print("| reading | " + " | ".join(f"{kind} ×{size:g} n={n}" for kind, size, n in GRID) + " |")
    print("|---" * (len(GRID) + 1) + "|")
    for name, cells in table(draws).items():
        shown = [f"{100 * hits / count:.0f}" if count > draws.number / 10 else "–" for hits, count in cells]
        print(f"| {name} | {' | '.join(shown)} |")


if __name__ == "__main__":
    main()
