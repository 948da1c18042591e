"""The monitor: how often it is wrong, how soon it finds a change, and whether its words are right.

`python -m bench.monitor [--draws N] [evalues|alarms|weekly|classes|delays|later|words|class_words …]` prints the
tables. Forecasts come from some equally frequent values, so that the ratios of a day are counts times a table; all else
is the code that ships. True probabilities are known.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_softmax
from scipy.stats import beta

from bench import row
from veracity.estimate.monitoring.alternatives import MoreClasses, TwoClasses, log_odds, logs_of
from veracity.estimate.monitoring.delays import residuals_of_counts
from veracity.estimate.monitoring.detector import THRESHOLDS, Detector
from veracity.estimate.monitoring.reference import FEWEST_DAYS, Days, Reference, fitted
from veracity.formulas.evalues import log_mixture
from veracity.inputs import Forecasts
from veracity.records.monitoring import DAY, OVER, TOO_HIGH, TOO_LOW, UNDER, WEEK

CELLS, PER_DAY, YEAR, DAYS, CALM, BATCH = 256, 100, 365, 60, 100, 50
BETA = beta.ppf((np.arange(CELLS) + 0.5) / CELLS, 0.8, 1.6)
TRUE = np.log(BETA / (1.0 - BETA))
STATED = 1.3 * TRUE + 0.3  # a known, accepted miscalibration of the model
CENTRE = float((BETA * (1.0 - BETA)) @ TRUE / (BETA * (1.0 - BETA)).sum())
Sums = tuple[np.ndarray, np.ndarray, np.ndarray]  # of every update: log ratios, φ and likelihood of each variance


class Change(NamedTuple):
    """A change of the true log-odds about their weighted mean."""

    level: float = 0.0
    slope: float = 1.0


def truth(change: Change) -> np.ndarray:
    return CENTRE + change.level + change.slope * (TRUE - CENTRE)


def reference_of(rng: np.random.Generator, cases: int, sd: float, days: int = DAYS, update: int = 1) -> Reference:
    """Return the fitted reference of so many cases over days that differ by `sd` log-odds; `update` days are one."""
    keys = np.repeat(np.arange(days), rng.multinomial(cases, np.full(days, 1.0 / days)))
    cell = rng.integers(0, CELLS, cases)
    y = (rng.uniform(size=cases) < expit(TRUE[cell] + sd * rng.standard_normal(days)[keys])).astype(np.int64)
    p = expit(STATED)[cell]

    def by(keys: np.ndarray) -> Days:
        order = np.lexsort([y, p, keys])
        updates, first = np.unique(keys[order], return_index=True)
        return Days(updates, first, log_odds(p)[order], p[order], y[order], np.ones(cases, np.int64))

    few = update > 1 and days < FEWEST_DAYS * update
    return fitted(by(keys // update), by(keys) if few else None)


def path(rng: np.random.Generator, held: Reference, change: Change, sd: float, days: int, update: int = 1) -> Sums:
    """Return the sums of every update of so many days."""
    alternatives = held.alternatives
    assert isinstance(alternatives, TwoClasses)
    none, more = (x.reshape(CELLS, -1) for x in alternatives.ratios(log_odds(expit(STATED))))
    n = rng.multinomial(PER_DAY, np.full(CELLS, 1.0 / CELLS), size=days)
    events = rng.binomial(n, expit(truth(change) + sd * rng.standard_normal((days, 1))))
    n, events = (x.reshape(-1, update, CELLS).sum(axis=1) for x in (n, events))
    u, v = residuals_of_counts(np.stack([n - events, events], axis=2), alternatives.expected(log_odds(expit(STATED))))
    ratios = (n @ none + events @ more).reshape(len(n), len(alternatives.nulls), -1)
    return ratios, *held.of_day(u, v)


def alarm_days(series: list[Sums], held: Reference, updates: str = DAY) -> np.ndarray:
    """(series,) the first update with an alarm, 0 without one."""
    sums = [np.array(each) for each in zip(*series, strict=True)]
    alternatives = held.alternatives
    detector = Detector.new(alternatives, held.weights, updates, (len(series),))
    found = np.zeros(len(series), np.int64)
    for number in range(sums[0].shape[1]):
        detector = detector.after(*(each[:, number] for each in sums), number)
        found[(found == 0) & (detector.evidence(alternatives) >= np.log(THRESHOLDS[updates]))] = number + 1
        if found.all():
            break
    return found


def joined(first: Sums, second: Sums) -> Sums:
    """Return the sums of two spans, one after the other."""
    ratios, phi, likelihood = (np.concatenate(pair) for pair in zip(first, second, strict=True))
    return ratios, phi, likelihood


def detector_after(sums: Sums, held: Reference, updates: int) -> Detector:
    detector = Detector.new(held.alternatives, held.weights, DAY)
    for number in range(updates):
        detector = detector.after(*(each[number] for each in sums), number)
    return detector


def simulated(draws: int, cases: int, sd: float, change: Change, days: int, seed: int, calm: int = 0) -> np.ndarray:
    """(draws,) the day of the first alarm, 0 without one; the change is after so many calm days."""
    found = []
    for start in range(0, draws, BATCH):
        series = []
        for draw in range(start, min(start + BATCH, draws)):
            rng = np.random.default_rng([draw, cases, int(10 * sd), seed])
            held = reference_of(rng, cases, sd)
            before = [path(rng, held, Change(), sd, calm)] if calm else []
            series.append(reduce(joined, [*before, path(rng, held, change, sd, days)]))
        found.append(alarm_days(series, held))
    return np.concatenate(found)


def alarms(draws: int) -> None:
    """False alarms in a year: day effects by size of the reference, φ and null maps together."""
    for cases in (500, 2000, 10_000):
        shares = [(simulated(draws, cases, sd, Change(), YEAR, 4001) > 0).mean() for sd in (0.0, 0.1, 0.2, 0.3)]
        print(f"false alarms a year, reference {cases:6,}: {[round(float(x), 3) for x in shares]}", flush=True)


def weekly(draws: int) -> None:
    """False alarms in a year of weekly looks: 60 days have too few weeks for φ, days bound it; a year has them."""
    for days in (DAYS, 364):
        shares = []
        for sd in (0.0, 0.1, 0.2, 0.3):
            found = 0
            for draw in range(draws):
                rng = np.random.default_rng([draw, days, int(10 * sd), 6])
                held = reference_of(rng, 6000, sd, days, 7)
                found += int(alarm_days([path(rng, held, Change(), sd, 364, 7)], held, WEEK)[0] > 0)
            shares.append(found / draws)
        print(
            f"false alarms a year, weekly looks, reference of 6,000 over {days} days: {shares}, {draws} series",
            flush=True,
        )


def classes(draws: int) -> None:
    """False alarms in a year of daily looks beyond two classes."""
    for k, cells in ((3, 64), (10, 32)):
        for cases in (500, 2000, 10_000):
            shares = []
            for sd in (0.0, 0.1, 0.2, 0.3):
                rngs = (np.random.default_rng([draw, k, int(10 * sd), cases]) for draw in range(draws))
                shares.append(sum(_alarm_of_more(rng, k, cells, cases, sd) for rng in rngs) / draws)
            print(f"false alarms a year, {k} classes, reference {cases:6,}: {shares}, {draws} series", flush=True)


class Source:
    """Equally frequent forecasts of k classes, stated too extreme; days differ in all classes but one."""

    def __init__(self, rng: np.random.Generator, k: int, cells: int, sd: float) -> None:
        self.rng, self.sd = rng, sd
        self.true = log_softmax(rng.gumbel(0.0, 1.6, (cells, k)), axis=1)
        self.stated = np.exp(log_softmax(1.3 * self.true, axis=1))

    def counts(self, days: int, per_day: int, change: Change | None = None) -> np.ndarray:
        """(days, cells, k) outcomes; a change of level is that of the first class."""
        cells, k = self.true.shape
        logs = self.true if change is None else change.slope * self.true + change.level * (np.arange(k) == 0)
        effect = np.zeros((days, 1, k))
        effect[:, 0, 1:] = self.sd * self.rng.standard_normal((days, k - 1))
        n = self.rng.multinomial(per_day, np.full(cells, 1.0 / cells), size=days)
        return np.asarray(self.rng.multinomial(n, np.exp(log_softmax(logs + effect, axis=2))))

    def reference(self, cases: int) -> Reference:
        day, cell, y = np.nonzero(drawn := self.counts(DAYS, cases // DAYS))
        f = Forecasts(self.stated[cell], y, tuple(range(self.true.shape[1])), counts=drawn[day, cell, y])
        return fitted(Days.of(f, day))

    def sums(self, held: Reference, counts: np.ndarray) -> Sums:
        """Return the sums of every day."""
        alternatives, logs = held.alternatives, logs_of(self.stated)
        assert isinstance(alternatives, MoreClasses)
        u, v = residuals_of_counts(counts, alternatives.expected(logs))
        return np.tensordot(counts, alternatives.by_outcome(logs), 2), *held.of_day(u, v)


def _alarm_of_more(rng: np.random.Generator, k: int, cells: int, cases: int, sd: float) -> bool:
    """Return whether a year of calibrated forecasts of k classes has an alarm."""
    source = Source(rng, k, cells, sd)
    held = source.reference(cases)
    return bool(alarm_days([source.sums(held, source.counts(YEAR, PER_DAY))], held)[0])


def class_words(draws: int) -> None:
    """Words and class at the alarm after 30 calibrated days of three classes."""
    for name, change, right in (
        ("level −.6 of a class", Change(level=-0.6), ({TOO_HIGH}, 0)),
        ("slope .7", Change(slope=0.7), ({OVER}, None)),
    ):
        found = good = 0
        for draw in range(draws):
            source = Source(np.random.default_rng([draw, 9]), 3, 64, 0.0)
            held = source.reference(6000)
            counts = np.concatenate([source.counts(30, PER_DAY), source.counts(150, PER_DAY, change)])
            sums = source.sums(held, counts)
            day = int(alarm_days([sums], held)[0])
            if day <= 30:
                continue
            _, said, of_class = detector_after(sums, held, day).explanation(held.alternatives)
            found += 1
            good += (set(said), of_class) == right
        print(f"words after {name} of 3 classes: right in {good} of {found} alarms, {draws} series", flush=True)


def delays(draws: int) -> None:
    """Median days until a change is found."""
    for cases in (2000, 6000):
        for sd in (0.0, 0.1, 0.2, 0.3):
            line = []
            for change in (Change(level=-0.3), Change(slope=0.8), Change(slope=0.6)):
                days = simulated(draws, cases, sd, change, 200, 2)
                line.append(float(np.median(np.where(days == 0, np.inf, days))))
            print(f"delay, reference {cases:,}, days {sd}: level −.3, slope .8, slope .6: {line}", flush=True)


def later(draws: int) -> None:
    """Median days until a change after a hundred calm days is found, where no alarm came before it."""
    for name, change in (
        ("level −.3", Change(level=-0.3)),
        ("slope .8", Change(slope=0.8)),
        ("slope .6", Change(slope=0.6)),
    ):
        days = simulated(draws, 2000, 0.0, change, 200, 4002, CALM)
        found = np.where(days == 0, np.inf, days - CALM)
        print(f"delay after {CALM} calm days, reference 2,000, {name}: {np.median(found[found > 0])}", flush=True)


def words(draws: int) -> None:
    """The words at the alarm and ten days later, after 30 calibrated days: right, wrong direction, none."""
    asked = {
        "level −.4": (Change(level=-0.4), {TOO_HIGH}),
        "level +.4": (Change(level=0.4), {TOO_LOW}),
        "slope .7": (Change(slope=0.7), {OVER}),
        "slope 1.4": (Change(slope=1.4), {UNDER}),
        "level −.4, slope .7": (Change(-0.4, 0.7), {TOO_HIGH, OVER}),
    }
    for name, (change, right) in asked.items():
        for later in (0, 10):
            good = wrong = silent = found = 0
            since = []
            for seed in range(draws):
                rng = np.random.default_rng([seed, 3])
                held = reference_of(rng, 6000, 0.0)
                sums = joined(path(rng, held, Change(), 0.0, 30), path(rng, held, change, 0.0, 90))
                day = int(alarm_days([sums], held)[0])
                if day <= 30:  # none, or a false one
                    continue
                found += 1
                detector = detector_after(sums, held, min(day + later, len(sums[0])))
                began, said, _ = detector.explanation(held.alternatives)
                since.append(began - 30)
                wrong += bool(set(said) - right)
                silent += not said
                good += bool(said) and set(said) <= right
            print(
                f"words after {name}, {later} days after the alarm: right {good / found:.3f}, a wrong one "
                f"{wrong / found:.3f}, none {silent / found:.3f}; began {np.median(since):+.0f} days "
                f"(90 %: {np.percentile(since, 5):+.0f} to {np.percentile(since, 95):+.0f}), n = {found}",
                flush=True,
            )


def evalues(draws: int) -> None:
    """P(ever ≥ 20) over 5,000 looks in calibrated series, one case a look."""
    looks = 5000
    rare = np.log(np.linspace(0.001, 0.05, CELLS) / (1.0 - np.linspace(0.001, 0.05, CELLS)))
    for name, x in (("two classes", TRUE), ("rare", rare)):
        for seasonal in (False, True):
            held = TwoClasses(np.array([[0.0, 1.0]]), np.array([0.0]))
            none, more = (r[:, 0, 1:] for r in held.ratios(x))
            print(f"P(e ≥ 20), {name}{', seasonal' if seasonal else ''}: ", end="")
            print(_ever(draws, looks, seasonal, lambda rng, at, n=none, m=more, x=x: _two(rng, at, n, m, x)))
    for k in (3, 10):
        rng = np.random.default_rng(k)
        logs = log_softmax(rng.gumbel(0.0, 1.6, (CELLS, k)), axis=1)
        logs = logs[np.argsort(logs.max(axis=1))]  # hard cases first, for seasons
        held_more = MoreClasses(np.append(np.zeros(k), 1.0)[None], np.arange(k))
        table = held_more.by_outcome(logs)[:, :, 0, 1:]
        cumulated = np.exp(logs).cumsum(axis=1)

        def drawn(
            rng: np.random.Generator, at: np.ndarray, t: np.ndarray = table, c: np.ndarray = cumulated
        ) -> np.ndarray:
            y = (c[at] < rng.uniform(size=(*at.shape, 1))).sum(axis=-1).clip(max=t.shape[1] - 1)
            return t[at, y]

        for seasonal in (False, True):
            print(f"P(e ≥ 20), {k} classes{', seasonal' if seasonal else ''}: ", end="")
            print(_ever(draws, looks, seasonal, drawn, held_more.weights), flush=True)


def _two(rng: np.random.Generator, at: np.ndarray, none: np.ndarray, more: np.ndarray, x: np.ndarray) -> np.ndarray:
    y = rng.uniform(size=at.shape) < expit(x[at])
    return none[at] + y[..., None] * more[at]


def _ever(
    draws: int, looks: int, seasonal: bool, ratios: Callable[..., np.ndarray], weights: np.ndarray | None = None
) -> float:
    """Return the share of series in which the e-value is ever 20 or more."""
    total, ever = None, np.zeros(draws, dtype=bool)
    rng = np.random.default_rng(20)
    for start in range(0, looks, 50):
        at = rng.integers(0, CELLS, (draws, 50))
        if seasonal:  # easy and hard cases take turns
            at = np.sort(at, axis=1) if (start // 50) % 2 else CELLS - 1 - np.sort(at, axis=1) // 2
        sums = np.cumsum(ratios(rng, at), axis=1)
        sums = sums if total is None else sums + total[:, None]
        total = sums[:, -1]
        w = np.full(sums.shape[-1], 1.0 / sums.shape[-1]) if weights is None else weights
        ever |= (log_mixture(sums, w) >= np.log(20.0)).any(axis=1)
    return float(ever.mean())


TABLES = {
    "evalues": evalues,
    "alarms": alarms,
    "weekly": weekly,
    "classes": classes,
    "delays": delays,
    "later": later,
    "words": words,
    "class_words": class_words,
}


def run(quick: bool = False) -> dict[str, Any]:
    """Return false alarms and delays in few draws; `main` prints every table."""
    draws = 20 if quick else 100
    false = 100.0 * float((simulated(draws, 2000, 0.2, Change(), YEAR, 1) > 0).mean())
    delay = simulated(draws, 6000, 0.0, Change(slope=0.6), 100, 2)
    found = float(np.median(np.where(delay == 0, np.inf, delay)))
    return {
        "table": [
            row("monitor: false alarms a year, days differ by 0.2 log-odds, %", false, 5.0),
            row("monitor: days until a slope of 0.6 is found", found, 7.5),
        ]
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.monitor", description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"some of {', '.join(TABLES)}; all by default")
    parser.add_argument("--draws", type=int, default=200)
    given = parser.parse_args()
    for name in given.tables or TABLES:
        TABLES[name](given.draws)


if __name__ == "__main__":
    main()
