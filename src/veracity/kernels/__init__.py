"""The one pass over forecasts that everything else is computed from: in C where it was compiled, else in NumPy."""

from __future__ import annotations

import os
from types import ModuleType

from veracity.kernels.hashes import forecast_hashes
from veracity.kernels.result import Histogram, Pass
from veracity.kernels.scan import scan

__all__ = ["NAME", "Histogram", "Pass", "forecast_hashes", "scan"]

native: ModuleType | None
try:
    from veracity.kernels import native
except ImportError:  # installed without a compiler
    native = None
NAME = "numpy" if native is None or os.environ.get("VERACITY_KERNEL") == "numpy" else "native"
