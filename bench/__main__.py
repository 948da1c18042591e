"""`python -m bench [--quick] [--before CHECKOUT] [NAME…]`: benchmarks in processes of their own, one table.

The figures are kept in bench/results.json, and the tables of docs/ are written from them.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import platform
import subprocess
import sys
from datetime import date
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from bench import _docs

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results.json"
WIDE = 112  # of the column that names the work
QUICKER = 20  # a benchmark that takes `rows` gets this many times fewer


def names() -> list[str]:
    """Return the modules that measure; others here are programs of their own that print tables."""
    every = (module.name for module in iter_modules([str(FOLDER)]))
    return sorted(name for name in every if "\ndef run(" in (FOLDER / f"{name}.py").read_text() and name[0] != "_")


def measure(name: str, quick: bool) -> dict[str, Any]:
    """The result of one benchmark, in this process."""
    run = import_module(f"bench.{name}").run
    takes = inspect.signature(run).parameters
    options: dict[str, Any] = {}
    if "quick" in takes:
        options["quick"] = quick
    elif quick and "rows" in takes:
        options["rows"] = takes["rows"].default // QUICKER
    found: dict[str, Any] = run(**options)
    return found


def lines(name: str, found: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of the table that a result makes."""
    if "table" in found:
        return list(found["table"])
    module = import_module(f"bench.{name}")
    work = str(module.__doc__).strip().splitlines()[0].rstrip(".")
    return [{"work": work, "target": getattr(module, "TARGET", None), "measured": found.get("ratio")}]


def machine() -> dict[str, Any]:
    """What the numbers depend on; nothing that names the machine."""
    import psutil

    packages = ("numpy", "scipy", "scikit-learn", "polars")
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "system": platform.system(),
        "date": date.today().isoformat(),
        "python": platform.python_version(),
        "packages": {package: version(package) for package in packages},
        "load_before": [round(x, 2) for x in os.getloadavg()],
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as facts:
            return next(line.split(":", 1)[1].strip() for line in facts if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def show(line: dict[str, Any]) -> str:
    target, measured = line["target"], line["measured"]
    if measured is None:
        return f"{line['work']:<{WIDE}} {'':>8} {'–':>9}"
    word = "" if target is None else "holds" if measured <= target else "MISSED"
    return f"{line['work']:<{WIDE}} {'' if target is None else f'≤ {target:g}':>8} {measured:>9.3g}  {word}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(names())}; all by default")
    parser.add_argument("--quick", action="store_true", help="fewer rows: minutes become seconds, ratios become rough")
    parser.add_argument(
        "--before", metavar="CHECKOUT", help="another checkout, built there, to compare `assessment` with"
    )
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one, given.quick)))
        return 0
    unknown = set(given.names) - set(names())
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(names())}")
    results: dict[str, Any] = {"quick": given.quick, "benchmarks": {}}
    here = machine()
    print(f"{'work':<{WIDE}} {'target':>8} {'measured':>9}")
    failed = 0
    for name in given.names or names():
        command = [sys.executable, "-m", "bench", "--one", name, *(["--quick"] if given.quick else [])]
        one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        if given.before:
            one_thread["BENCH_BEFORE"] = str(Path(given.before).resolve())
        done = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, text=True, env=one_thread)
        if done.returncode:
            failed += 1
            reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
            print(f"{name}: did not finish ({reason})", flush=True)
            results["benchmarks"][name] = {"error": "did not finish"}  # a message may hold paths
            continue
        found = json.loads(done.stdout.strip().splitlines()[-1])
        results["benchmarks"][name] = {"machine": here, **found}  # of each: not all are measured on one
        for line in lines(name, found):
            print(show(line), flush=True)
    if not given.quick:
        if given.names and RESULTS.exists():  # the others keep what they had
            results["benchmarks"] = json.loads(RESULTS.read_text())["benchmarks"] | results["benchmarks"]
        RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
        _docs.write(results)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
