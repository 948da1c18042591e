"""Everything that is said about decisions on one set of forecasts, as a record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from veracity.estimate.decisions.actions import actions
from veracity.estimate.decisions.clinical import clinical
from veracity.estimate.decisions.curves import at_thresholds, halves, murphy_band, net_benefits, useful, user
from veracity.estimate.decisions.picks import picks
from veracity.estimate.decisions.prior import at_prior
from veracity.estimate.loss.recalibration import Recalibration
from veracity.formulas import decisions as formulas
from veracity.options import canonical
from veracity.options.deciding import costs_of, prior_of, whole_prior
from veracity.records.decisions import Decisions
from veracity.state.tally import Tally

NO_EVENT = "more than two classes: ask for one class against the rest, a.decisions.of(label)"
ONE_OUTCOME = "only one outcome was observed"


@dataclass(frozen=True, eq=False)
class ClassDecisions:
    """The decisions about any class of a tally."""

    tally: Tally

    def of(self, label: Any) -> Decisions:
        """Return the curves of one class against the rest."""
        names = [canonical(c) for c in self.tally.classes]
        if canonical(label) not in names:
            listed = ", ".join(names[:8])
            raise ValueError(f"label: no class {label!r:.80}; there are {listed}\n  name one of them")
        return replace(self.curves(names.index(canonical(label))), _deciding=self)

    def curves(self, label: int) -> Decisions:
        """Return the curves of a class by its number."""
        tally, plan = self.tally, self.tally.plan
        a = actions(tally, label)
        value, low, high = net_benefits(a)
        above = formulas.net_benefit(*a.shares(above=True), a.thresholds)
        some = 0.0 < a.prevalence < 1.0
        return Decisions(
            event=str(tally.classes[label]),
            thresholds=tuple(a.thresholds.tolist()),
            net_benefit=tuple(value.tolist()),
            net_benefit_low=None if a.reason else tuple(low.tolist()),
            net_benefit_high=None if a.reason else tuple(high.tolist()),
            treat_all=tuple(formulas.treat_all(a.prevalence, a.thresholds).tolist()),
            murphy=tuple(formulas.murphy(above, a.prevalence, a.thresholds).tolist()),
            band=murphy_band(a),
            half=halves(tally, label, tuple(r for r in plan.r if r > -1.0)),
            useful=useful(a) if some else (),
            prevalence=a.prevalence,
            at=at_thresholds(a, plan.action_thresholds),
            costs=tuple(user(a, costs) for costs in costs_of(plan.costs)),
            method=a.method,
            reason=None if some else ONE_OUTCOME,
        )


def decisions(tally: Tally, recalibration: Recalibration | None) -> Decisions:
    """Return the decisions about the event of two classes, which may be that the pick is right; of more, about the
    picks, and the class that is named.
    """
    plan, deciding = tally.plan, ClassDecisions(tally)
    if tally.k == 2:
        summary = deciding.curves(1)
        summary = summary if tally.picks_only else replace(summary, clinical=clinical(tally, recalibration))
    elif plan.event is not None:
        summary = deciding.of(plan.event)
    else:
        summary = Decisions(None, reason=NO_EVENT)
    prior = None
    if plan.prior:
        prior = at_prior(tally, whole_prior(prior_of(plan.prior), tally.classes), summary.thresholds)
    own = picks(tally) if tally.k > 2 or tally.picks_only else None
    return replace(summary, prior=prior, picks=own, _deciding=deciding)
