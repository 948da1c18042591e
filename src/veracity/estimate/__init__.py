"""What follows from a tally, one question per file; `results` asks the functions listed here."""

from __future__ import annotations

from veracity.estimate.calibration.fix import advice as advice
from veracity.estimate.calibration.per_class import per_class as per_class
from veracity.estimate.calibration.reliability import calibration_error as calibration_error
from veracity.estimate.calibration.reliability import reliability as reliability
from veracity.estimate.calibration.remedies import remedies as remedies
from veracity.estimate.calibration.repeated_rows import forecasts_as_clusters as forecasts_as_clusters
from veracity.estimate.calibration.repeated_rows import repeated_rows as repeated_rows
from veracity.estimate.calibration.verdict_of_tally import nothing as nothing
from veracity.estimate.calibration.verdict_of_tally import surprises as surprises
from veracity.estimate.calibration.verdict_of_tally import verdict as verdict
from veracity.estimate.decisions.decisions import decisions as decisions
from veracity.estimate.decisions.prior import at_prior as at_prior
from veracity.estimate.findings import findings as findings
from veracity.estimate.groups_and_time.groups import group as group
from veracity.estimate.groups_and_time.groups import whole_level as whole_level
from veracity.estimate.groups_and_time.windows import drifts as drifts
from veracity.estimate.groups_and_time.windows import windows as windows
from veracity.estimate.loss.decomposition import adjustment as adjustment
from veracity.estimate.loss.decomposition import corp as corp
from veracity.estimate.loss.decomposition import decomposed_profile as decomposed_profile
from veracity.estimate.loss.decomposition import decomposition as decomposition
from veracity.estimate.loss.ideal import ideal as ideal
from veracity.estimate.loss.losses import losses as losses
from veracity.estimate.loss.losses import no_losses as no_losses
from veracity.estimate.loss.recalibration import recalibration as recalibration
from veracity.estimate.means.at_r import ReportedAt as ReportedAt
from veracity.estimate.means.by_curve import Sources as Sources
from veracity.estimate.means.expected import expected_at as expected_at
from veracity.estimate.means.expected import expected_score as expected_score
from veracity.estimate.means.measured import score_at as score_at
from veracity.estimate.means.profile import risk_profile as risk_profile
from veracity.estimate.means.reported import NOT_MEASURABLE as NOT_MEASURABLE
from veracity.estimate.means.scores import baseline as baseline
from veracity.estimate.means.scores import no_scores as no_scores
from veracity.estimate.means.scores import scores as scores
from veracity.estimate.means.scores import skill as skill
from veracity.estimate.means.source import source_divergence as source_divergence
from veracity.estimate.means.source import source_means as source_means
from veracity.estimate.means.source import with_source as with_source
