"""The same cases where classes are more or less frequent: forecasts as they are, and updated by Bayes' rule."""

from __future__ import annotations

import numpy as np

from veracity.estimate.decisions.actions import FEWEST_ACTING
from veracity.estimate.decisions.curves import odds
from veracity.estimate.decisions.spread import Dependence, errors, half
from veracity.formulas import decisions as formulas
from veracity.formulas.rules import rule
from veracity.inputs import Forecasts
from veracity.records.decisions import AtPrior, PriorScores
from veracity.records.reading import DELTA, Reading
from veracity.state.tally import Tally
from veracity.types import Array, Floats

SAME = 1e-12  # of frequencies: an update by such a factor is rounding


def at_prior(tally: Tally, prior: tuple[float, ...], thresholds: tuple[float, ...] = ()) -> AtPrior:
    """Return scores and net benefit where the classes have the frequencies of `prior`.

    Outcomes are reweighted by π'/π, so every mean is Σ_k π'_k·(mean of class k) with se² = Σ_k π'_k² s_k²/n_k.
    """
    rows, share = tally.rows, np.array(prior)
    observed = tally.frequencies
    reweighted = Reweighted.of(tally, rows, share)
    same = bool(np.abs(share - observed).max() <= SAME)
    updated = rows.matrix if same else formulas.at_prior(rows.matrix, observed, share)
    logs = -rows.log_realised if rows.log_realised is not None else None
    as_is = reweighted.scores(rows.matrix, thresholds, logs)
    after = as_is if same else reweighted.scores(updated, thresholds, None)
    names = [str(c) for c in tally.classes]
    two = len(names) == 2 and thresholds
    every = formulas.treat_all(share[1], np.array(thresholds)).tolist() if two else ()
    return AtPrior(
        dict(zip(names, map(float, prior), strict=True)),
        dict(zip(names, observed.tolist(), strict=True)),
        as_is,
        after,
        thresholds=thresholds if two else (),
        treat_all=tuple(every),
    )


class Reweighted:
    """Means of the rows of a tally under other class frequencies."""

    def __init__(self, tally: Tally, rows: Forecasts, share: Floats, weight: Floats, dependence: Dependence) -> None:
        self.tally, self.rows, self.share, self.weight, self.dependence = tally, rows, share, weight, dependence

    @classmethod
    def of(cls, tally: Tally, rows: Forecasts, prior: Floats) -> Reweighted:
        mass = np.bincount(rows.observed, weights=rows.mass, minlength=rows.k)
        weight = prior[rows.observed] * rows.mass / mass[rows.observed]
        return cls(tally, rows, prior, np.asarray(weight), Dependence.of(tally, rows))

    def scores(self, p: Floats, thresholds: tuple[float, ...], logs: Floats | None) -> PriorScores:
        """Return the scores of forecasts p; `logs` are their log scores where these are known."""
        y, asked = self.rows.observed, np.array(self.tally.plan.action_thresholds)
        with np.errstate(divide="ignore"):
            log = -np.log(p[np.arange(len(p)), y]) if logs is None else logs
        columns = [log, np.asarray(rule("brier").score(p, y))]
        if p.shape[1] == 2:
            act = (p[:, 1, None] >= asked).astype(np.float64)
            columns += list(np.where(y[:, None] == 1, act, -act * odds(asked).T).T)
        log_loss, brier, *benefits = self.means(np.column_stack(columns))
        if benefits:
            acting = self.rows.copies @ act
            few = np.minimum(acting, self.rows.copies.sum() - acting) < FEWEST_ACTING
            none = f"fewer than {FEWEST_ACTING} cases on one side of the threshold"
            benefits = [Reading(float(x), reason=none) if small else x for x, small in zip(benefits, few, strict=True)]
        curve = self._curve(p[:, 1], np.array(thresholds)) if p.shape[1] == 2 and thresholds else ()
        named = {f"{c:g}": reading for c, reading in zip(asked.tolist(), benefits, strict=False)}
        return PriorScores(log_loss, brier, named, curve)

    def _curve(self, p: Floats, thresholds: Floats) -> tuple[float, ...]:
        """Return net benefit at the thresholds from the rates of hits and false alarms."""

        def share(chosen: Array) -> Floats:
            order = np.argsort(p[chosen], kind="stable")
            after = np.append(np.cumsum(self.weight[chosen][order][::-1])[::-1], 0.0)
            return np.asarray(after[np.searchsorted(p[chosen][order], thresholds, side="left")])

        event = self.rows.observed == 1
        return tuple(formulas.net_benefit(share(event), share(~event), thresholds).tolist())

    def means(self, values: Floats) -> list[Reading]:
        """Return the reweighted means of values (rows, means) with their intervals."""
        y, k = self.rows.observed, self.rows.k
        finite = np.isfinite(values).all(axis=0)
        known = np.where(np.isfinite(values), values, 0.0)
        mean = np.where(finite, self.weight @ known, np.inf)
        of_class = np.column_stack(
            [np.bincount(y, weights=self.weight * column, minlength=k) / self.share for column in known.T]
        )
        squares = np.bincount(y, weights=self.rows.squared_mass, minlength=k)
        n = np.bincount(y, weights=self.rows.mass, minlength=k) ** 2 / squares
        small = np.sqrt(np.where(n > 1.0, n / np.maximum(n - 1.0, 1e-9), np.nan))
        u = (self.weight * small[y])[:, None] * (known - of_class[y])
        reason = "the number of cases is unknown: no intervals" if self.tally.shares_only else self.dependence.reason
        if (n <= 1.0 + 1e-9).any():
            reason = reason or "one case of a class: no interval"
        reach = half(self.tally.plan.level, self.dependence.df) * errors(self.dependence.covariance(u))
        how = ", ".join(part for part in (DELTA, self.dependence.method, self.tally.basis) if part)
        return [
            Reading(x, reason="an outcome had probability 0")
            if not np.isfinite(x)
            else Reading(x, reason=reason)
            if reason
            else Reading(x, x - e, x + e, how)
            for x, e in zip(mean.tolist(), reach.tolist(), strict=True)
        ]
