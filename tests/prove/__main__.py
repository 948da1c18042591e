"""The long versions of these tests; `make prove` runs them all: `python -m tests.prove [KIND [NUMBER…]]`.

fuzz [INPUTS [SEED]]     inputs nobody would send
mutants [FIRST [LAST]]   the sample of mutants, or some of it
faults                   killed, full and shared disks, lost workers, crafted states, bombs, sanitizers
install                  wheel, sdist, oldest versions, other Pythons
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from random import Random

from tests.prove import fuzz, mutants

ROUNDS, PATIENCE = 20, 60  # seconds of processor time for one input
FAULTS = ("tests/prove/test_faults.py", "tests/prove/test_sanitizers.py", "tests/prove/test_bombs.py",
          "tests/prove/test_crafted.py", "tests/engines/test_faults.py", "tests/engines/test_lost.py")  # fmt: skip
INSTALL = ("tests/prove/test_install.py",)


def run_fuzz(inputs: int, seed: int = 0) -> int:
    """Give every target its share of the inputs, in rounds; print counts and failures; return their number."""
    rates: dict[str, float] = {}
    for name, target in fuzz.TARGETS.items():  # quick targets get more inputs than slow ones
        target(Random(f"{name} warm"))
        began = time.process_time()
        for i in range(30):
            target(Random(f"{name} warm {i}"))
        rates[name] = 30 / (time.process_time() - began)
    share = {name: math.ceil(inputs / ROUNDS * rate / sum(rates.values())) for name, rate in rates.items()}
    done, failed = dict.fromkeys(share, 0), dict.fromkeys(share, 0)
    signal.signal(signal.SIGPROF, _hangs)
    for turn in range(ROUNDS):
        for name, number in share.items():
            for i in range(done[name], done[name] + number):
                signal.setitimer(signal.ITIMER_PROF, PATIENCE)
                try:
                    fuzz.TARGETS[name](Random(f"{name} {seed} {i}"))
                except Exception:
                    failed[name] += 1
                    if failed[name] <= 3:
                        print(f"{name}, input {seed} {i}:\n{traceback.format_exc(limit=-3)}", flush=True)
            done[name] += number
        signal.setitimer(signal.ITIMER_PROF, 0)
        counts = ", ".join(f"{name} {number:,}" for name, number in done.items())
        print(
            f"round {turn + 1}: {sum(done.values()):,} inputs, {sum(failed.values())} failures ({counts})", flush=True
        )
    return sum(failed.values())


def _hangs(*_: object) -> None:
    raise TimeoutError(f"no answer within {PATIENCE} s")


def run_mutants(first: int = 0, last: int = mutants.SAMPLE) -> int:
    """Try the mutants of the sample from `first` up to `last`; print who survived; return 1 below 90 % killed."""
    dead = tried = 0
    for mutant, by, seconds in mutants.run(first, last):
        tried, dead = tried + 1, dead + bool(by)
        print(f"{first + tried - 1:>4} {'killed  ' if by else 'SURVIVED'} {seconds:5.0f} s  {mutant}  {by}", flush=True)
    print(f"{dead} of {tried} mutants killed ({dead / max(tried, 1):.0%})")
    return int(dead < 0.9 * tried)


def run_tests(paths: tuple[str, ...]) -> int:
    """Run tests with 30 kills of a checkpointed run, 25,000 inputs of the sanitized kernel; return 1 if any fails."""
    env = os.environ | {"VERACITY_KILLS": "30", "VERACITY_SANITIZED": "25000"}
    return int(subprocess.run([sys.executable, "-m", "pytest", "-ra", *paths], env=env, check=False).returncode != 0)


KINDS: dict[str, Callable[..., int]] = {
    "fuzz": lambda inputs=1_000_000, seed=0: min(1, run_fuzz(inputs, seed)),
    "mutants": run_mutants,
    "faults": lambda: run_tests(FAULTS),
    "install": lambda: run_tests(INSTALL),
}


def main(arguments: list[str]) -> int:
    """Run one kind with its numbers, or all of them."""
    if not arguments:
        return max(kind() for kind in KINDS.values())
    if arguments[0] not in KINDS:
        print(__doc__)
        return 2
    return KINDS[arguments[0]](*map(int, arguments[1:]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
