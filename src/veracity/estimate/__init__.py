"""What follows from a tally, one question per file; `results` asks the functions listed here."""

from __future__ import annotations

from veracity.estimate.calibration.fix import advice
from veracity.estimate.calibration.per_class import per_class
from veracity.estimate.calibration.reliability import calibration_error, reliability
from veracity.estimate.calibration.remedies import remedies
from veracity.estimate.calibration.repeated_rows import forecasts_as_clusters, has_equal_forecasts, repeated_rows
from veracity.estimate.calibration.verdict_of_tally import nothing, surprises, verdict
from veracity.estimate.decisions.decisions import decisions
from veracity.estimate.decisions.prior import at_prior
from veracity.estimate.findings import findings
from veracity.estimate.groups_and_time.groups import group, whole_level
from veracity.estimate.groups_and_time.windows import drifts, windows
from veracity.estimate.loss.decomposition import adjustment, corp, decomposed_profile, decomposition
from veracity.estimate.loss.ideal import ideal
from veracity.estimate.loss.losses import losses, no_losses
from veracity.estimate.loss.recalibration import recalibration
from veracity.estimate.means.at_r import ReportedAt
from veracity.estimate.means.by_curve import Sources
from veracity.estimate.means.expected import expected_at, expected_score
from veracity.estimate.means.measured import score_at
from veracity.estimate.means.profile import risk_profile
from veracity.estimate.means.reported import NOT_MEASURABLE
from veracity.estimate.means.scores import baseline, no_scores, scores, skill
from veracity.estimate.means.source import source_divergence, source_means, with_source

__all__ = [
    "NOT_MEASURABLE",
    "ReportedAt",
    "Sources",
    "adjustment",
    "advice",
    "at_prior",
    "baseline",
    "calibration_error",
    "corp",
    "decisions",
    "decomposed_profile",
    "decomposition",
    "drifts",
    "expected_at",
    "expected_score",
    "findings",
    "forecasts_as_clusters",
    "group",
    "has_equal_forecasts",
    "ideal",
    "losses",
    "no_losses",
    "no_scores",
    "nothing",
    "per_class",
    "recalibration",
    "reliability",
    "remedies",
    "repeated_rows",
    "risk_profile",
    "score_at",
    "scores",
    "skill",
    "source_divergence",
    "source_means",
    "surprises",
    "verdict",
    "whole_level",
    "windows",
    "with_source",
]
