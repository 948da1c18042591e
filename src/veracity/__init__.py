"""How true are your probabilities?

>>> import veracity as vc
>>> round(vc.generalized_mean([0.5, 0.8, 0.9], 0), 6)
0.711379
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Assessment": "results.assessment",
    "assess": "results.assess",
    "Comparison": "results.comparison",
    "compare": "results.compare",
    "Tally": "state.tally",
    "Forecasts": "data",
    "Finding": "data",
    "Plan": "state.plan",
    "generalized_mean": "formulas.means",
    "risk_profile": "formulas.means",
    "rule": "formulas.rules",
    "ScoringRule": "formulas.rules",
    "Chain": "formulas.chain",
    "adjust": "calibrators",
    "InfeasibleTarget": "calibrators",
    "PredictionTable": "table",
    "CoupledNormal": "formulas.distributions",
    "CoupledExponential": "formulas.distributions",
    "coupled_log": "formulas.coupled",
    "coupled_exp": "formulas.coupled",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'veracity' has no attribute {name!r}")
    value = getattr(import_module(f"veracity.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
