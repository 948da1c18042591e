"""The risk profile: expected, reported and measured means along r."""

from __future__ import annotations

from typing import Any

from veracity.data.records import RiskProfile
from veracity.estimate.bootstrap import Bootstrap
from veracity.estimate.expected import Expected
from veracity.estimate.measured import Measured
from veracity.estimate.reported import Profile
from veracity.kernels.result import R


def risk_profile(
    expected: Expected, profile: Profile, measured: Measured | None, bootstrap: Bootstrap | None
) -> RiskProfile:
    """Return the generalized means for every r of the grid with their intervals."""
    low, high = bootstrap.reported_limits() if bootstrap else profile.limits
    excess = expected.excess if measured else None
    columns = {
        "expected": expected.values if measured else None,
        "expected_low": expected.band[0] if measured else None,
        "expected_high": expected.band[1] if measured else None,
        "reported": profile.values,
        "reported_low": low,
        "reported_high": high,
        "measured": measured.values if measured else None,
        "measured_low": measured.limits[0] if measured else None,
        "measured_high": measured.limits[1] if measured else None,
        "score_excess": excess[0] if excess else None,
        "score_excess_by_chance": excess[1] if excess else None,
    }
    held: dict[str, Any] = {name: None if x is None else tuple(x.tolist()) for name, x in columns.items()}
    return RiskProfile(tuple(R.tolist()), **held)
