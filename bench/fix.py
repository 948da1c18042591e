"""How often the advised correction is right: `python -m bench.fix [bin] [k10] [--draws N] [--first S]`.

After a verdict that is true, the share of draws in which a correction is advised, and of those the share in which it
hurts on endless new cases and in which the interval of its gain holds the true gain. Errors of .5 to 15 % of the loss.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench import row
from bench._draws import options
from bench._truth import Floats, draw, stated, truth
from veracity import assess

OF_TWO = [("T", 1.15), ("T", 1.3), ("T", 1.5), ("T", 0.85), ("T", 0.7), ("bias", 0.2), ("bias", 0.4), ("bias", -0.3)]
OF_TWO += [("bend", 0.2), ("bend", 0.4)]
OF_MORE = [("T", 1.15), ("T", 1.3), ("T", 0.85), ("T", 0.7), ("bias", 0.1), ("bias", 0.2), ("cls", 1.15), ("cls", 1.3)]
ERRORS = {"bin": OF_TWO, "k10": OF_MORE}
DRAWS, NEW = 40, 20_000  # cases that the gain is judged on, by their true probabilities


@dataclass
class Count:
    """What happened in draws of one kind and size."""

    rejected: int = 0
    advised: int = 0
    hurts: int = 0
    holds: int = 0
    firm: int = 0


def expected_loss(p: Floats, q: Floats) -> float:
    return float(-(q * np.log(np.maximum(p, 1e-300))).sum(axis=1).mean())


def count(kind: str, n: int, errors: list[tuple[str, float]], draws: Iterable[int]) -> Count:
    """Return how often a correction is advised, hurts, and has an interval that holds."""
    found = Count()
    for number, (error, size) in enumerate(errors):
        for seed in draws:
            rng = np.random.default_rng([35, n, number, seed])
            q = truth(kind, n, rng)
            a = assess(draw(q, rng), stated(q, error, size))
            if a.verdict_detail.state not in ("found", "slight"):
                continue
            found.rejected += 1
            if a.advice.advice not in ("fix", "possible fix") or a.advised_map is None or a.advice.log is None:
                continue
            new = truth(kind, NEW, rng)
            p = stated(new, error, size)
            gain = expected_loss(p, new) - expected_loss(a.advised_map(p), new)
            found.advised += 1
            found.hurts += gain < 0.0
            found.firm += a.advice.advice == "fix"
            low, high = a.advice.log.low, a.advice.log.high
            found.holds += low is not None and high is not None and low <= gain <= high
    return found


def run(quick: bool = False) -> dict[str, Any]:
    """Return the share of advised corrections that hurt."""
    c = count("bin", 1000, OF_TWO[:: 4 if quick else 1], range(2 if quick else 10))
    return {"table": [row("advised corrections that hurt, two classes, n = 1,000", c.hurts / max(c.advised, 1), 0.01)]}


def main() -> None:
    draws, kinds = options(__doc__, DRAWS, tuple(ERRORS))
    print("| source | n | true verdicts | advised % | hurts % | interval holds % | firm % |")
    print("|" + "---|" * 7)
    for kind in kinds:
        for n in (300, 1000, 3000):
            c = count(kind, n, ERRORS[kind], draws)
            shares = [c.advised / max(c.rejected, 1), *(x / max(c.advised, 1) for x in (c.hurts, c.holds, c.firm))]
            print(
                f"| {kind} | {n:,} | {c.rejected} | " + " | ".join(f"{100 * x:.1f}" for x in shares) + " |", flush=True
            )


if __name__ == "__main__":
    main()
