"""Estimators and metrics with the interface of scikit-learn: `pip install 'veracity[sklearn]'`."""

from __future__ import annotations

from veracity.extras import extras

with extras():
    from veracity.sklearn.coupled import CoupledGaussianClassifier as CoupledGaussianClassifier

__all__ = ["CoupledGaussianClassifier"]
