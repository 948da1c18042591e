"""The one pass over forecasts that everything else is computed from: in C where it was compiled, else in NumPy."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any

from veracity.kernels.hashes import forecast_hashes
from veracity.kernels.result import EXPONENTS, PROBLEMS, SCORES, Histogram, Histograms, Pass, Problem
from veracity.kernels.scan import scan

__all__ = [
    "EXPONENTS",
    "NAME",
    "PROBLEMS",
    "SCORES",
    "Histogram",
    "Histograms",
    "Pair",
    "Pass",
    "Problem",
    "forecast_hashes",
    "scan",
]

native: ModuleType | None
try:
    from veracity.kernels import native
except ImportError:  # installed where there was no compiler
    native = None
NAME = "numpy" if native is None or os.environ.get("VERACITY_KERNEL") == "numpy" else "native"
Pair: Any = None  # counts two classes in parts, where the kernel is compiled
if NAME == "native":
    from veracity.kernels.pair import Pair
