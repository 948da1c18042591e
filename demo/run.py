"""The main job on the bundled forecasts: three models of handwritten digits, side by side.

Prints the summary and writes demo/report.html and demo/assessment.json.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import veracity as vc

HERE = Path(__file__).resolve().parent
MODELS = ("logistic_regression", "naive_bayes", "random_forest")


def compare() -> int:
    """What a user would type: veracity compare *.csv --report report.html --json assessment.json"""
    files = [f"demo/{model}.csv" for model in MODELS]
    out = ["--report", "demo/report.html", "--json", "demo/assessment.json", "--force"]
    command = ["veracity", "compare", *files, *out]
    print("$", *command, flush=True)
    return subprocess.run([Path(sys.executable).with_name("veracity"), *command[1:]], cwd=HERE.parent).returncode


def profiles() -> int:
    """The risk profile of each model, by the public functions alone."""
    shown = [-2.0, -1.0, -2 / 3, 0.0, 1.0, 2.0]
    print(f"{'mean of the probability given to what happened, r =':52}", *(f"{r:8.2f}" for r in shown))
    for model in MODELS:
        table = np.loadtxt(HERE / f"{model}.csv", delimiter=",", skiprows=1)
        realised = table[np.arange(len(table)), 1 + table[:, 0].astype(int)]
        print(f"{model:52}", *(f"{value:8.4f}" for value in vc.risk_profile(realised, shown)))
    return 0


if __name__ == "__main__":
    sys.exit(compare() if find_spec("veracity.cli.compare") else profiles())
