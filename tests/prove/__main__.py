"""`python -m tests.prove fuzz|mutants|…`: the long versions; `make prove` runs them all."""

from __future__ import annotations

import sys
import time
import traceback
from random import Random

from tests.prove import fuzz, mutants


def run_fuzz(inputs: int, seed: int = 0) -> int:
    """Run every target on its share of the inputs; print counts and failures; return the number of failures."""
    failures = 0
    started = time.time()
    rates: dict[str, float] = {}
    for name, target in fuzz.TARGETS.items():  # quick targets get more inputs than slow ones
        began = time.process_time()
        for i in range(20):
            target(Random(f"{name} warm {i}"))
        rates[name] = 20 / (time.process_time() - began)
    total = sum(rates.values())
    done = 0
    for name, target in fuzz.TARGETS.items():
        number = max(100, round(inputs * rates[name] / total))
        bad = 0
        for i in range(number):
            try:
                target(Random(f"{name} {seed} {i}"))
            except Exception:
                bad += 1
                if bad <= 3:
                    print(f"{name}, input {seed} {i}:\n{traceback.format_exc(limit=-3)}", flush=True)
        done, failures = done + number, failures + bad
        print(f"{name:<16} {number:>9,} inputs, {bad} failures, {time.time() - started:.0f} s", flush=True)
    print(f"{done:,} inputs, {failures} failures", flush=True)
    return failures


def run_mutants(first: int = 0, last: int = mutants.SAMPLE) -> int:
    """Try the mutants of the sample from `first` up to `last`; print who survived; return 1 below 90 % killed."""
    dead = tried = 0
    for mutant, by, seconds in mutants.run(first, last):
        tried, dead = tried + 1, dead + bool(by)
        print(f"{first + tried - 1:>4} {'killed  ' if by else 'SURVIVED'} {seconds:5.0f} s  {mutant}  {by}", flush=True)
    print(f"{dead} of {tried} mutants killed ({dead / max(tried, 1):.0%})")
    return int(dead < 0.9 * tried)


def main(arguments: list[str]) -> int:
    what, *rest = arguments or ["fuzz"]
    if what == "fuzz":
        return min(1, run_fuzz(int(rest[0]) if rest else 1_000_000, int(rest[1]) if len(rest) > 1 else 0))
    if what == "mutants":
        return run_mutants(*map(int, rest))
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
