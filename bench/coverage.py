"""How often intervals hold the truth: `python -m bench.coverage [draws]` prints a table; nominal 95 %, at least 90 %.

The truth of a reading is its value for 400,000 cases of the same source. Grid: 300 and 2,000 cases, calibrated and
over-confident forecasts (log-odds times 1.5), 2 and 5 classes.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from bench import row
from bench._truth import draw, stated, truth
from veracity import Assessment, assess

DRAWS, LEAST, MANY = 200, 0.90, 400_000
SECTIONS = ("scores", "skill", "reported", "measured", "measured_plain", "divergence")
GRID = [(kind, size, n) for kind in ("bin", "k5") for size in (1.0, 1.5) for n in (300, 2000)]


def readings(a: Assessment) -> dict[str, Any]:
    """Return all readings with intervals that one pass gives, and the calibration slope."""
    found = {f"{s}.{name}": reading for s in SECTIONS for name, reading in getattr(a, s).items() if name != "others"}
    return found | {"slope": a.slope}


def assessed(kind: str, size: float, n: int, seed: int) -> Assessment:
    rng = np.random.default_rng([seed, n])
    q = truth(kind, n, rng)
    p = stated(q, "T", size)
    made: Assessment = assess(draw(q, rng), p, labels=list(range(p.shape[1])))
    return made


def table(draws: int = DRAWS) -> dict[str, list[tuple[int, int]]]:
    """Return, for each reading, (intervals that hold the truth, intervals shown) by cell of the grid."""
    found: dict[str, list[tuple[int, int]]] = {}
    for kind, size, n in GRID:
        truths = readings(assessed(kind, size, MANY, 10_000))
        held = {name: [0, 0] for name in truths}
        for seed in range(draws):
            for name, reading in readings(assessed(kind, size, n, seed)).items():
                if reading.low is not None and reading.high is not None:
                    held[name][1] += 1
                    held[name][0] += bool(reading.low <= truths[name] <= reading.high)
        for name, (hits, shown) in held.items():
            found.setdefault(name, []).append((hits, shown))
    return found


def run(quick: bool = False) -> dict[str, Any]:
    """Return the least coverage of each reading as a row: 1 − coverage should stay at or below 0.10."""
    rows = []
    for name, cells in table(20 if quick else DRAWS).items():
        shares = [hits / shown for hits, shown in cells if shown > 20]
        if shares:
            work = f"missed by the 95 % interval of {name}, worst of 8 sources"
            rows.append(row(work, 1.0 - min(shares), 1.0 - LEAST))
    return {"table": rows}


def main() -> None:
    """Print coverage in per cent by source; – where no interval is shown."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS
    print("| reading | " + " | ".join(f"{kind} ×{size:g} n={n}" for kind, size, n in GRID) + " |")
    print("|---" * (len(GRID) + 1) + "|")
    for name, cells in table(draws).items():
        shown = [f"{100 * hits / count:.0f}" if count > draws / 10 else "–" for hits, count in cells]
        print(f"| {name} | {' | '.join(shown)} |")


if __name__ == "__main__":
    main()
