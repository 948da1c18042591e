"""Groups: the readings of every level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from veracity.data.records import ClassLevel, Group, Level
from veracity.estimate import group_test
from veracity.estimate.conclusion import verdict
from veracity.estimate.dependent import Widening
from veracity.estimate.expected import Expected
from veracity.estimate.measured import Measured, unmeasured
from veracity.estimate.per_class import residual
from veracity.estimate.recalibration import Recalibration
from veracity.estimate.reported import Profile
from veracity.estimate.scores import scores
from veracity.state.plan import Plan
from veracity.state.tally import Tally

WIDENED = ("scores", "reported", "measured", "slope")  # by clusters or times


def group(levels: Mapping[str, Tally], recalibration: Recalibration | None = None) -> Group:
    """Return the readings of each level, a test that levels differ, and the worst one.

    The worst level has the largest log loss, shrunk towards the common mean unless the plan says otherwise.
    """
    plan = next(iter(levels.values())).plan if levels else Plan()
    drawn = group_test.shrunk(levels, plan.level) if plan.shrink == "auto" else {}
    found = {
        name: replace(
            level(tally, len(levels)),
            shrunk=drawn.get(name),
            gain=group_test.gain(tally, recalibration, plan.level),
        )
        for name, tally in levels.items()
    }
    losses = {name: float(one.shrunk if one.shrunk is not None else one.scores.log_loss) for name, one in found.items()}
    worst = max(losses, key=lambda name: (losses[name], name), default=None)
    return Group(found, group_test.differ(levels, plan.random_state), worst if len(found) > 1 else None)


def level(tally: Tally, among: int = 1) -> Level:
    """Return the readings of one level of so many."""
    profile = Profile(tally)
    measured = Measured(tally, profile) if tally.measurable else None
    found = Level(
        n=tally.cases,
        scores=scores(tally),
        reported=profile.means(),
        expected=Expected(tally).means(),
        measured=measured.measured_means() if measured else unmeasured(),
        slope=measured.slope() if measured else unmeasured().decisiveness,
        verdict=verdict(tally, among=among).word,
        level=event_level(tally),
    )
    if tally.by_key is None or not tally.sums.rows:
        return found
    wider = Widening(tally)
    return replace(found, **{name: wider.section(getattr(found, name)) for name in WIDENED})


def event_level(tally: Tally) -> ClassLevel | None:
    """Return predicted and observed share of the event, with its z; None beyond two classes."""
    if tally.k != 2 or not (tally.measurable and tally.sums.rows):
        return None
    return ClassLevel(float(tally.mean_forecast[1]), float(tally.frequencies[1]), residual(tally.classwise[1]))
