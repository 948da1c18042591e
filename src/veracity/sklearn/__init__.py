"""Estimators and metrics with the interface of scikit-learn: `pip install 'veracity[sklearn]'`."""

from __future__ import annotations

from veracity.extras import extras

with extras():
    from veracity.sklearn.coupled import CoupledGaussianClassifier as CoupledGaussianClassifier
    from veracity.sklearn.display import AssessmentDisplay as AssessmentDisplay
    from veracity.sklearn.recalibrated import Recalibrated as Recalibrated
    from veracity.sklearn.scoring import scorer as scorer
    from veracity.sklearn.scoring import scorers as scorers

__all__ = ["AssessmentDisplay", "CoupledGaussianClassifier", "Recalibrated", "scorer", "scorers"]
