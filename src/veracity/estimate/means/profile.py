"""The risk profile: expected, reported and measured means along r."""

from __future__ import annotations

from typing import Any

from veracity.estimate.means.bootstrap import Bootstrap
from veracity.estimate.means.expected import Expected
from veracity.estimate.means.measured import Measured
from veracity.estimate.means.reported import Profile
from veracity.kernels.result import R
from veracity.records.sections import RiskProfile


def risk_profile(
    expected: Expected | None, profile: Profile, measured: Measured | None, bootstrap: Bootstrap | None
) -> RiskProfile:
    """Return the generalized means for every r of the grid with their intervals."""
    low, high = bootstrap.reported_limits() if bootstrap else profile.limits
    excess = expected.excess if expected else None
    recalibrated = measured.along if measured else (None, None, None)
    columns = {
        "expected": expected.values if expected else None,
        "expected_low": expected.band[0] if expected else None,
        "expected_high": expected.band[1] if expected else None,
        "reported": profile.values,
        "reported_low": low,
        "reported_high": high,
        "measured": recalibrated[0],
        "measured_low": recalibrated[1],
        "measured_high": recalibrated[2],
        "score_excess": excess[0] if excess else None,
        "score_excess_by_chance": excess[1] if excess else None,
    }
    fields: dict[str, Any] = {name: None if x is None else tuple(x.tolist()) for name, x in columns.items()}
    return RiskProfile(tuple(R.tolist()), **fields)
