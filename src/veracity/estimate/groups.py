"""Groups: the readings of every level."""

from __future__ import annotations

from collections.abc import Mapping

from veracity.data.records import Group, Level
from veracity.data.verdict import ClassLevel
from veracity.estimate.conclusion import verdict
from veracity.estimate.expected import Expected
from veracity.estimate.measured import Measured, unmeasured
from veracity.estimate.per_class import residual
from veracity.estimate.reported import Profile
from veracity.estimate.scores import scores
from veracity.state.tally import Tally


def group(levels: Mapping[str, Tally]) -> Group:
    """Return the readings of each level; the worst is the one with the largest log loss."""
    found = {name: level(tally) for name, tally in levels.items()}
    worst = max(found, key=lambda name: (float(found[name].scores.log_loss), name), default=None)
    return Group(found, worst=worst if len(found) > 1 else None)


def level(tally: Tally) -> Level:
    """Return the readings of one level."""
    profile = Profile(tally)
    measured = Measured(tally, profile) if tally.measurable else None
    return Level(
        n=tally.cases,
        scores=scores(tally),
        reported=profile.means(),
        expected=Expected(tally).means(),
        measured=measured.measured_means() if measured else unmeasured(),
        slope=measured.slope() if measured else unmeasured().decisiveness,
        verdict=verdict(tally).word,
        level=event_level(tally),
    )


def event_level(tally: Tally) -> ClassLevel | None:
    """Return predicted and observed share of the event, with its z; None beyond two classes."""
    if tally.k != 2 or not (tally.measurable and tally.sums.rows):
        return None
    return ClassLevel(float(tally.mean_forecast[1]), float(tally.frequencies[1]), residual(tally.classwise[1]))
