"""What follows from a tally, one question per file; `results` asks the functions listed here."""

from __future__ import annotations

from veracity.estimate.calibration import calibration_error, reliability
from veracity.estimate.conclusion import nothing, surprises, verdict
from veracity.estimate.decomposition import adjustment, corp, decomposed_profile, decomposition
from veracity.estimate.expected import expected_at, expected_score
from veracity.estimate.findings import findings
from veracity.estimate.fix import advice
from veracity.estimate.groups import group
from veracity.estimate.ideal import ideal
from veracity.estimate.ladder import losses, no_losses
from veracity.estimate.measured import score_at
from veracity.estimate.per_class import per_class
from veracity.estimate.profile import risk_profile
from veracity.estimate.published import measured_by
from veracity.estimate.recalibration import recalibration
from veracity.estimate.remedies import remedies
from veracity.estimate.reported import NOT_MEASURABLE
from veracity.estimate.scores import baseline, no_scores, scores, skill
from veracity.estimate.source import source_divergence, source_means, with_source
from veracity.estimate.windows import drifts, windows

__all__ = [
    "NOT_MEASURABLE",
    "adjustment",
    "advice",
    "baseline",
    "calibration_error",
    "corp",
    "decomposed_profile",
    "decomposition",
    "drifts",
    "expected_at",
    "expected_score",
    "findings",
    "group",
    "ideal",
    "losses",
    "measured_by",
    "no_losses",
    "no_scores",
    "nothing",
    "per_class",
    "recalibration",
    "reliability",
    "remedies",
    "risk_profile",
    "score_at",
    "scores",
    "skill",
    "source_divergence",
    "source_means",
    "surprises",
    "verdict",
    "windows",
    "with_source",
]
