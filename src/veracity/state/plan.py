"""Every option with its default: one record for Python, command line, engines and report."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from veracity.options import (
    ESTIMATION,
    OptionError,
    as_choice,
    as_number,
    canonical,
    module_names,
    option,
    options_of,
    take_all,
)
from veracity.options.deciding import costs_of, prior_of, take_costs, take_prior, take_thresholds, whole_prior
from veracity.options.numbers import as_bins, as_confidence, as_risk_parameters, as_share, as_whole, as_width, as_window

FLOORS = (0.05, 0.01, 0.005, 0.001, 0.0)  # the sweep of CQ Table 2
ERROR_BINS = 15  # bins of a calibration error, the number other libraries report
USUAL = {"floor": 0.0, "end_width": 0.005}  # where they are not given
PRESETS = {"CQ": USUAL | {"floor": 0.005}, "N17": USUAL | {"floor": 0.01}}  # the same by the papers' procedures
MOST_DRAWS = 100_000  # of a bootstrap: more change no printed digit, and their sums would not fit in memory
VERY_MANY_CLASSES = 128  # beyond, the grid is coarse below 2^-22
LEAST_OF_MANY = 2.0**-5  # beyond, the grid of single classes starts here


def finite_power(r: Any) -> float:
    """Return r as a number; a mean at infinity is the least or the greatest probability, and no mean of many."""
    power = as_number(PLANNED["r"], r)
    if not math.isfinite(power):
        raise OptionError("r", f"{power:g} is not finite\n  give a number such as -0.5")
    return power


_plan = partial(option, group=ESTIMATION)


@dataclass(frozen=True)
class Plan:
    """The options of an assessment; tallies with different plans refuse to add.

    floor and end_width that are not given (None) are those of the preset, or the usual ones.

    >>> Plan(floor=0.01).floor, Plan(preset="CQ").floor
    (0.01, 0.005)
    """

    floor: float = _plan(  # a number once the plan is made
        None,
        "Least probability that counts in the three means; 0, or that of the preset (CQ: 0.005, N17: 0.01).",
        take=as_share,
        typed=float,
        hint="; 0 means no floor",
    )
    end_width: float = _plan(
        None,
        "Width of the bins next to 0 and 1; 0.005 by default.",
        take=as_width,
        typed=float,
        hint="; 0.005 is usual",
        needs="classes",
    )
    bins: int | str = _plan("auto", "Number of bins of the calibration curve.", "auto|N", take=as_bins, needs="classes")
    preset: str | None = _plan(
        None,
        "Measure by the procedure of a paper as well.",
        take=as_choice,
        among=tuple(PRESETS),
        hint="; leave it out for the defaults",
    )
    curve: str | None = _plan(
        None,
        "Source probabilities of each class by this curve as well (N17).",
        take=as_choice,
        among=partial(module_names, "estimate.means.curves"),
        hint="; leave it out for the procedure of the papers",
        needs="classes",
    )
    neighbours: int | None = _plan(
        None,
        "Number of nearest forecasts of --curve knn; by the number of cases.",
        "K",
        take=partial(as_whole, least=1),
        typed=int,
        needs="classes",
    )
    map: str = _plan(
        "auto",
        "Recalibration of the losses: auto is cross-fitted; the papers' in-sample ones are {choices}.",
        "NAME",
        take=as_choice,
        among=partial(module_names, "calibrators", "auto"),
    )
    level: float = _plan(0.95, "Level of the intervals.", take=as_confidence, typed=float, basic=True)
    bootstrap: int | None = _plan(
        None,
        "Intervals by resampling the cases N times.",
        "N",
        take=partial(as_whole, least=2, most=MOST_DRAWS, what=f" draws; give 2 to {MOST_DRAWS:,}, or leave it out"),
        typed=int,
    )
    random_state: int = _plan(  # None: another seed each time
        0, "Seed of all random numbers.", take=as_whole, typed=int, hint="; it is the seed of draws", flag="seed"
    )
    r: tuple[float, ...] = _plan(
        (),
        "Mean, and above -1 loss, at this risk parameter (1: Brier, 0: log, below: misses count more); repeatable.",
        "R",
        take=as_risk_parameters,
        typed=float,
        repeatable=True,
    )
    threshold: tuple[float, ...] = _plan(
        (),
        "Probability from which somebody acts: net benefit, sensitivity and costs are shown there.",
        "C[,C…]",
        take=take_thresholds,
        needs="classes",
        basic=True,
    )
    costs: tuple[str, ...] = _plan(
        (),
        "What errors cost a decision-maker, in any unit: threshold and cost per case; repeatable.",
        '"false_alarm=1,miss=8"',
        take=take_costs,
        needs="classes",
        repeatable=True,
        basic=True,
    )
    prior: tuple[str, ...] = _plan(
        (),
        "Scores and net benefit where the event, or each class, is as frequent as this.",
        '"event=0.05"',
        take=take_prior,
        needs="classes",
        basic=True,
    )
    lags: int | None = _plan(
        None,
        "Intervals in time by Bartlett weights of L lags instead of cosines.",
        "L",
        take=as_whole,
        typed=int,
        needs="time",
    )
    horizon: int | None = _plan(
        None,
        "Forecasts are made H steps ahead: Diebold–Mariano tests; needs --time.",
        "H",
        take=partial(as_whole, least=1),
        typed=int,
        needs="time",
        commands=("compare",),
    )
    window: str | None = _plan(
        None,
        "Readings in windows of days, months or N cases; needs --time.",
        "30d|12m|N",
        take=as_window,
        needs="time",
    )
    shrink: str = _plan(
        "auto",
        "Draw log losses of small groups towards the mean of all groups, or not.",
        take=as_choice,
        among=("auto", "none"),
        needs="groups",
    )

    event: str | None = None  # of decisions about more than two classes; of two it is the second

    def __post_init__(self) -> None:
        preset = PLANNED["preset"].take(PLANNED["preset"], self.preset)
        for name, width in (USUAL if preset is None else PRESETS[preset]).items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, width)
        take_all(self, PLANNED)
        if preset == "N17":
            for name, usual in (("bins", "auto"), ("end_width", USUAL["end_width"])):
                if getattr(self, name) != usual:
                    what = f"{getattr(self, name)!r} with preset N17, which has its own bins; leave one of them out"
                    raise OptionError(name, what)
        if self.neighbours is not None and self.curve != "knn":
            raise OptionError("neighbours", f"{self.neighbours} has no effect without curve knn; leave it out")
        if self.lags is not None and self.horizon is not None:
            raise OptionError("horizon", "lags are given too\n  give one of them")

    def require(
        self,
        roles: Collection[str],
        dashes: str = "",
        times: float = math.inf,
        *,
        dates: bool = True,
        cases: float = math.inf,
    ) -> None:
        """Refuse options without effect on data that hold only these: classes, groups, time or cluster.

        dashes  "--" where options were typed
        times   number of different times
        dates   False: they are plain numbers
        """
        if (self.neighbours or 0) > cases:
            raise ValueError(
                f"{dashes}neighbours {self.neighbours}: there are only {cases:,} cases\n  give a smaller number"
            )
        for name, planned in PLANNED.items():
            value, needed = getattr(self, name), planned.needs
            if not needed or value == USUAL.get(name, planned.default) or needed in roles:
                continue
            add = f"--{needed.removesuffix('s')} COL" if dashes else f"{needed}="
            add += f" instead of {dashes}cluster" if needed == "time" and "cluster" in roles else ""
            shown = ",".join(map(str, value)) if isinstance(value, tuple) else value
            given = f"{planned.typed_as if dashes else name} {shown}"
            remedy = "leave it out" if needed == "classes" else f"add {add}, or leave it out"
            raise ValueError(f"{given} has no effect without {needed}\n  {remedy}")
        if self.window is not None and self.window[-1] in "dm" and not dates:
            raise ValueError(
                f"{dashes}window {self.window}: the times are numbers, not dates\n  give a number of cases, such as 100"
            )
        for name in ("lags", "horizon"):
            if (getattr(self, name) or 0) >= times:
                value = getattr(self, name)
                raise ValueError(f"{dashes}{name} {value}: there are only {times} times\n  give a smaller number")

    def require_decisions(self, classes: tuple[Any, ...], cases: list[float], dashes: str = "") -> None:
        """Refuse decisions that these classes, with so many cases each, cannot tell anything about."""
        given = "threshold" if self.threshold else "costs" if self.costs else ""
        if not given and not self.prior and self.event is None:
            return
        names = [canonical(c) for c in classes]
        listed = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        positive = f"{dashes}positive" if dashes else "pos_label"
        if len(names) > 2 and self.event is None and given:
            what = f"{dashes}{given}: there are {len(names)} classes, and a decision is about one of them"
            raise ValueError(f"{what}\n  name it:  {positive}{' ' if dashes else '='}{names[0]}   (or {listed})")
        if len(names) > 2 and self.event is not None and self.event not in names:
            raise ValueError(f"{positive}: no class {self.event!r:.40}; there are {listed}\n  name one of them")
        low = [c for c in self.action_thresholds if c < LEAST_OF_MANY]
        if len(names) > VERY_MANY_CLASSES and low:
            what = f"{dashes}{given} {low[0]:g}: with more than {VERY_MANY_CLASSES} classes thresholds start at"
            other = "classes that are put together:  --versus-rest" if dashes else "two classes, the event and the rest"
            raise ValueError(f"{what} {LEAST_OF_MANY:g}\n  give a higher one, or {other}")
        if self.prior:
            whole_prior(prior_of(self.prior), classes, f"{dashes}prior")
            nobody = [name for name, n in zip(names, cases, strict=True) if not n > 0.0]
            if nobody:
                what = (
                    f"{dashes}prior: no case of {', '.join(nobody[:8])} was observed: nothing tells how it is forecast"
                )
                raise ValueError(f"{what}\n  leave the class out of the forecasts, or add cases of it")

    @property
    def limits(self) -> tuple[float, float]:
        """Floor and ceiling of the probabilities: N17 clips on both sides, other plans only below."""
        return (self.floor, 1.0 - self.floor) if self.preset == "N17" else (self.floor, 1.0)

    @property
    def cuts(self) -> tuple[float, ...]:
        """Given edges, each an atom of the grid, so that [a, b) and (a, b] are both exact."""
        return _cuts(self.floor, self.end_width, self.preset, self.action_thresholds)

    @property
    def action_thresholds(self) -> tuple[float, ...]:
        """The probabilities from which those who were named act, by threshold or by costs."""
        return tuple(sorted({*self.threshold, *(costs.threshold for costs in costs_of(self.costs))}))


PLANNED = options_of(Plan)


def asked_prior(given: Mapping[Any, float], classes: tuple[Any, ...], cases: list[float]) -> tuple[float, ...]:
    """Return the frequency of every class, from those that a caller names; `cases` are those of each class."""
    plan = Plan(prior=given)  # type: ignore[arg-type]
    if not plan.prior:
        raise ValueError('prior: no frequency is given\n  give them by class, such as {"event": 0.05}')
    plan.require_decisions(classes, cases)
    return whole_prior(prior_of(plan.prior), classes)


@lru_cache(maxsize=64)
def _cuts(floor: float, end_width: float, preset: str | None, acted: tuple[float, ...]) -> tuple[float, ...]:
    cuts = {i / ERROR_BINS for i in range(1, ERROR_BINS)} | {*FLOORS, floor, end_width, 1.0 - end_width, *acted}
    if preset == "N17":
        cuts |= {i / 100 for i in range(1, 100)} | {1.0 - floor}
    return tuple(sorted(c for c in cuts if 0.0 < c < 1.0))
