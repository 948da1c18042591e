"""The main job on the bundled forecasts: three models of handwritten digits, side by side.

Prints the summary and writes demo/report.html and demo/assessment.json.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

COMMAND = [
    "veracity",
    "compare",
    "demo/logistic_regression.csv",
    "demo/naive_bayes.csv",
    "demo/random_forest.csv",
    "--report",
    "demo/report.html",
    "--json",
    "demo/assessment.json",
    "--force",
]

if __name__ == "__main__":
    print("$", *COMMAND, flush=True)
    program = Path(sys.executable).with_name("veracity")  # of the environment that runs this file
    sys.exit(subprocess.run([program, *COMMAND[1:]], cwd=ROOT).returncode)
