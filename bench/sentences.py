"""The sentences of a hundred simulated cases beside their truth: `python -m bench.sentences [seed]` prints them.

Each case draws outcomes from known probabilities q and states p. A statement is false where its direction is not that
of the truth: the mean of q in the range or class it names does not lie on the stated side of the mean of p, a direction
of confidence is named under a wrong level alone, or a fault is found in calibrated forecasts.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import row
from bench._truth import draw, stated, truth
from veracity import Assessment, assess
from veracity.words.verdict import sentences

Floats = NDArray[np.float64]
CASES: list[tuple[str, str, float, int]] = [
    *[(kind, "cal", 0.0, n) for kind in ("bin", "rare", "k5", "k10", "sat10") for n in (30, 100, 300, 1000)],
    *[(kind, "cal", 0.0, n) for kind in ("k100", "sat100") for n in (100, 300)],
    *[(kind, "T", size, n) for kind in ("bin", "k5", "k10", "sat10") for size in (1.25, 2.0) for n in (300, 1000)],
    *[(kind, "T", size, n) for kind in ("bin", "k5", "k10", "sat10") for size in (0.8, 0.5) for n in (300, 1000)],
    *[("bin", "bias", size, n) for size in (-0.5, 0.2, 0.5, 1.0) for n in (300, 1000)],
    *[("k5", "bias", size, n) for size in (0.2, 0.6) for n in (300, 1000)],
    *[("rare", "bias", size, n) for size in (-0.7, 0.7) for n in (1000, 5000)],
    *[("rare", "T", size, n) for size in (0.7, 1.5) for n in (1000, 5000)],
    *[("bin", "bend", size, n) for size in (0.3, -0.3) for n in (300, 2000)],
    *[("k10", "cls", size, n) for size in (1.3, 1.8) for n in (300, 2000)],
    *[("zeros", kind, 0.0, n) for kind in ("cal", "wrong") for n in (100, 1000)],
    *[(kind, "T", 1.5, n) for kind in ("bin", "k5") for n in (10, 20, 50, 100)],
    *[("hard", kind, 0.0, 200) for kind in ("cal", "wrong")],
    *[("constant", "cal", 0.0, 200), ("constant", "bias", 1.0, 500)],
]
SAME = 0.003  # a difference of frequencies below this is none


@dataclass(frozen=True)
class Case:
    """A drawn case: its assessment, what was stated, and the truth."""

    name: str
    a: Assessment
    p: Floats
    q: Floats
    error: str

    @property
    def calibrated(self) -> bool:
        return self.error == "cal"

    def faults(self) -> list[str]:
        """Return the statements of the verdict whose direction is not that of the truth."""
        detail, found = self.a.verdict_detail, []
        if self.calibrated and detail.state in ("found", "slight"):
            found.append(f"calibrated, called {self.a.verdict}")
        if self.error == "bias" and detail.confidence.direction:
            found.append(f"only the level is wrong, called {detail.confidence.direction}")
        for where in (detail.confidence.where, detail.shape.where):
            if where is not None and not self.calibrated:
                inside = (self.p >= where.low) & (self.p < where.high) | (self.p == 1.0) & (where.high >= 1.0)
                if self.p.shape[1] == 2:
                    inside[:, 0] = False
                true = float((self.q - self.p)[inside].mean())
                if true * (where.observed - where.predicted) <= 0.0:
                    found.append(f"range {where.low:g}–{where.high:g}: the truth differs by {true:+.4f}")
        for name, level in detail.level.classes.items():
            true = float((self.q - self.p)[:, int(name)].mean())
            if not self.calibrated and true * np.sign(level.observed - level.predicted) < SAME:
                found.append(f"class {name}: the truth differs by {true:+.4f}")
        return found


def case(kind: str, error: str, size: float, n: int, seed: int) -> Case:
    """Return one drawn case."""
    rng = np.random.default_rng([seed, n, int(1000 * abs(size)), sum(map(ord, kind + error))])
    if kind in ("zeros", "hard"):  # 3 % or all of the forecasts are certain, right or not
        q = truth("bin", n, rng)
        p, certain = q.copy(), rng.random(n) < (0.03 if kind == "zeros" else 1.0)
        p[certain] = np.round(p[certain])
        q = np.where(certain[:, None] & (error == "cal"), p, q)
    elif kind == "constant":
        q = np.tile([0.7, 0.3], (n, 1))
        p = stated(q, error, size)
    else:
        q = truth(kind, n, rng)
        p = stated(q, error, size)
    y = draw(q, rng)
    name = f"{kind} {'calibrated' if error == 'cal' else f'{error} {size:g}'} n={n}"
    return Case(name, assess(y, p, labels=list(range(p.shape[1]))), p, q, error)


def cases(seed: int = 0) -> list[Case]:
    """Return the hundred cases."""
    return [case(*given, seed) for given in CASES]


def run(quick: bool = False) -> dict[str, Any]:
    """Return the share of cases with a false statement."""
    made = cases()[:: 5 if quick else 1]
    return {
        "table": [row("false statements in simulated cases", sum(bool(c.faults()) for c in made) / len(made), 0.07)]
    }


def main() -> None:
    """Print the sentences of every case, and what is false about them."""
    made = cases(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    for one in made:
        faults = one.faults()
        print(f"{one.name}{'  FALSE: ' + '; '.join(faults) if faults else ''}")
        for sentence in sentences(one.a.verdict_detail):
            print(f"    {sentence}")
    print(f"{sum(bool(one.faults()) for one in made)} of {len(made)} cases with a false statement")


if __name__ == "__main__":
    main()
