"""How true are your probabilities?

>>> import veracity as vc
>>> round(vc.generalized_mean([0.5, 0.8, 0.9], 0), 6)
0.711379
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what editors and type checkers see; at run time a name is imported when it is first used
    from veracity.calibrators import InfeasibleTarget as InfeasibleTarget
    from veracity.calibrators import adjust as adjust
    from veracity.formulas.chain import Chain as Chain
    from veracity.formulas.coupled import coupled_exp as coupled_exp
    from veracity.formulas.coupled import coupled_log as coupled_log
    from veracity.formulas.densities import generalized_mean_of as generalized_mean_of
    from veracity.formulas.distributions import CoupledExponential as CoupledExponential
    from veracity.formulas.distributions import CoupledNormal as CoupledNormal
    from veracity.formulas.means import generalized_mean as generalized_mean
    from veracity.formulas.means import risk_profile as risk_profile
    from veracity.formulas.rules import ScoringRule as ScoringRule
    from veracity.formulas.rules import rule as rule
    from veracity.inputs import Forecasts as Forecasts
    from veracity.records.findings import Finding as Finding
    from veracity.results.assess import Assessments as Assessments
    from veracity.results.assess import assess as assess
    from veracity.results.assessment import Assessment as Assessment
    from veracity.results.calibrator import Calibrator as Calibrator
    from veracity.results.calibrator import calibrate as calibrate
    from veracity.results.compare import compare as compare
    from veracity.results.comparison import Comparison as Comparison
    from veracity.results.monitor import Monitor as Monitor
    from veracity.results.monitor import monitor as monitor
    from veracity.state.plan import Plan as Plan
    from veracity.state.tally import Tally as Tally
    from veracity.table import PredictionTable as PredictionTable

__version__ = "0.1.0"

_HOMES = {
    "Assessment": "results.assessment",
    "assess": "results.assess",
    "Assessments": "results.assess",
    "Calibrator": "results.calibrator",
    "calibrate": "results.calibrator",
    "Comparison": "results.comparison",
    "compare": "results.compare",
    "Monitor": "results.monitor",
    "monitor": "results.monitor",
    "Tally": "state.tally",
    "Forecasts": "inputs",
    "Finding": "records.findings",
    "Plan": "state.plan",
    "generalized_mean": "formulas.means",
    "generalized_mean_of": "formulas.densities",
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


_DOORS = ("sql",)  # modules that are imported when they are named


def __getattr__(name: str) -> object:
    if name in _DOORS:
        return import_module(f"veracity.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'veracity' has no attribute {name!r}")
    value = getattr(import_module(f"veracity.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
