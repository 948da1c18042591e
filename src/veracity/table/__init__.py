"""Prediction–realization tables: the door for people who have counts (HB17)."""

from __future__ import annotations

from .assessment import TableAssessment
from .records import Terms
from .types import PredictionTable

__all__ = ["PredictionTable", "TableAssessment", "Terms"]
