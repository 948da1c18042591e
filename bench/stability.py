"""Time, groups and repeated rows: how often the tests are wrong, and how often they find what is there.

`python -m bench.stability [drift|groups|repeated …] [--draws N] [--first S]` prints the tables. True probabilities are
known. A share above 7 %, or a power more than 5 points below its aim, each by more than two standard errors of the
simulation, is MISSED.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

import veracity as vc
from bench import row
from bench._draws import of_draws, options
from bench._truth import draw, pair, softmax, truth
from veracity.estimate.calibration.repeated_rows import repeated_rows
from veracity.estimate.groups_and_time.groups import calibration
from veracity.estimate.groups_and_time.windows import drifts
from veracity.inputs import prepare
from veracity.state.tally import Tally

DRAWS, MOST_FALSE, SLACK = 200, 0.07, 0.05
Given = dict[str, Any]
Make = Callable[[np.random.Generator], Given]


@dataclass(frozen=True)
class Row:
    """A source, and the aim of the share of its draws that count: at most 7 % (None), or a power."""

    name: str
    make: Make
    counts: Callable[[Given], bool]
    aim: float | None = None
    most: float = MOST_FALSE

    def holds(self, share: float, draws: int) -> bool:
        """Return whether the share keeps its bound, but for the error of the simulation."""
        bound = self.most if self.aim is None else self.aim - SLACK
        error = 2.0 * float(np.sqrt(bound * (1.0 - bound) / draws))
        return share <= bound + error if self.aim is None else share >= bound - error


def hits(one: Row, draws: Iterable[int]) -> list[bool]:
    """Return of each draw whether it counts."""
    seeds = (np.random.default_rng([crc32(one.name.encode()), draw, 35]) for draw in draws)
    return [one.counts(one.make(rng)) for rng in seeds]


def share(one: Row, draws: int) -> float:
    """Return the share of draws that count."""
    return float(np.mean(hits(one, range(draws))))


def tally_of(given: Given) -> Tally:
    k = given["p"].shape[1]
    more = {name: given[name] for name in ("time", "groups", "clusters", "sample_weight") if name in given}
    return vc.Tally.of(prepare(given["y"], given["p"], labels=list(range(k)), **more))


# -- over time --------------------------------------------------------------------------------------------------------


def drift_found(given: Given) -> bool:
    found = drifts(tally_of(given))
    return found is not None and found.p is not None and found.p <= 0.05


def in_time(n: int, error: str = "", moved: str = "", kind: str = "bin", weights: bool = False) -> Make:
    """Return a source: difficulty that drifts with a wrong curve (`error`), or calibration that does (`moved`)."""

    def make(rng: np.random.Generator) -> Given:
        t = np.arange(n) / n
        given: Given = {"time": np.arange(n)}
        if weights:
            given["sample_weight"] = 0.05 + rng.gamma(1.0, 1.0, n)
        if kind != "bin":
            q = truth(kind, n, rng)
            p = softmax({"T": 1.3}.get(error, 1.0) * np.log(q))
            if moved:
                q = softmax(np.log(q) + np.outer(1.2 * (t - 0.5), np.eye(q.shape[1])[0] - np.eye(q.shape[1])[1]))
            return {**given, "p": p, "y": draw(q, rng)}
        z = rng.normal(0.0, 1.5, n)
        if error.startswith("harder"):
            z = z * (0.5 + 1.5 * t)
        if error == "rare":
            z = 0.7 * z - 4.0
        x = z.copy()
        x = {"harder, T": 1.5 * x, "harder, level": x + 0.5, "harder, bend": x + 0.4 * (np.abs(x) - 1.0)}.get(error, x)
        if error == "AR(1)":
            e = rng.standard_normal(n)
            for i in range(1, n):
                e[i] = 0.5 * e[i - 1] + np.sqrt(0.75) * e[i]
            z = z + 0.5 * e
        z = {
            "bias .6": z + 1.2 * (t - 0.5),
            "bias .3": z + 0.6 * (t - 0.5),
            "step": z + 0.7 * (t > 0.8),
            "slope": z * (1.0 - 0.4 * t),
        }.get(moved, z)
        return {**given, "p": pair(x), "y": draw(pair(z), rng)}

    return make


def over_time() -> list[Row]:
    stable = ("", "harder", "harder, T", "harder, level", "harder, bend", "AR(1)", "rare")
    rows = [Row(f"{e or 'calibrated'}, n={n}", in_time(n, e), drift_found) for n in (300, 1000, 3000) for e in stable]
    rows.append(Row("weights, n=1000", in_time(1000, weights=True), drift_found))
    for kind in ("k3", "k10"):
        rows += [
            Row(f"{kind}{', ' + e if e else ''}, n=1000", in_time(1000, e, kind=kind), drift_found) for e in ("", "T")
        ]
    powers = {"bias .6": (0.97, 1.0), "bias .3": (0.41, 0.85), "step": (0.66, 1.0), "slope": (0.27, 0.63)}
    for moved, aims in powers.items():
        for n, aim in zip((1000, 3000), aims, strict=True):
            rows.append(Row(f"{moved}, n={n}", in_time(n, moved=moved), drift_found, aim))
    return rows


# -- by group ---------------------------------------------------------------------------------------------------------


def groups_found(given: Given) -> bool:
    found = calibration(tally_of(given).groups["g"], 0)
    return found is not None and found.p is not None and found.p <= 0.05


def by_group(n: int, groups: int, error: str = "", moved: str = "", kind: str = "bin", more: str = "") -> Make:
    """Return a source whose groups are equal, harder (`error`), or off (`moved`)."""

    def make(rng: np.random.Generator) -> Given:
        g = rng.integers(0, groups, n)
        given: Given = {"groups": {"g": g}}
        if more == "weights":
            given["sample_weight"] = 0.05 + rng.gamma(1.0, 1.0, n)
        if kind != "bin":
            q = truth(kind, n, rng)
            p = softmax({"T": 1.3}.get(error, 1.0) * np.log(q))
            if moved:
                q = softmax(np.log(q) + np.outer(0.8 * (g == 0), np.eye(q.shape[1])[0]))
            return {**given, "p": p, "y": draw(q, rng)}
        z = rng.normal(0.0, 1.5, n)
        if error.startswith("harder"):
            z = z * (0.5 + 1.5 * g / groups)
        if "rare" in error:
            z = 0.7 * z - 4.0
        x = {"harder, T": 1.5 * z, "harder, bend": z + 0.4 * (np.abs(z) - 1.0)}.get(error, z.copy())
        if more == "clusters":
            given["clusters"] = rng.integers(0, n // 10, n)
            z = z + rng.normal(0.0, 0.7, n // 10)[given["clusters"]]
        z = {"two": z + 0.4 * (g == 0) - 0.4 * (g == 1), "one": z + 0.8 * (g == 0)}.get(moved, z)
        return {**given, "p": pair(x), "y": draw(pair(z), rng)}

    return make


def groups() -> list[Row]:
    rows = []
    for n, g in ((300, 6), (1500, 3), (1500, 12), (3000, 40)):
        for error in ("", "harder", "harder, T", "harder, bend", "rare"):
            rows.append(Row(f"{error or 'calibrated'}, n={n}, {g} groups", by_group(n, g, error), groups_found))
    for more in ("weights", "clusters"):
        for error in ("", "rare"):
            made = by_group(1500, 6, error, more=more)
            rows.append(Row(f"{more}{', ' + error if error else ''}, n=1500, 6 groups", made, groups_found))
    for kind in ("k3", "k10"):
        for error in ("", "T"):
            made = by_group(1000, 6, error, kind=kind)
            rows.append(Row(f"{kind}{', ' + error if error else ''}, n=1000, 6 groups", made, groups_found))
    rows.append(Row("two of three off by .4, n=1500", by_group(1500, 3, moved="two"), groups_found, 1.0))
    rows.append(Row("one of twelve off by .8, n=1500", by_group(1500, 12, moved="one"), groups_found, 0.65))
    return rows


# -- repeated rows ----------------------------------------------------------------------------------------------------


def alarm(given: Given) -> bool:
    return repeated_rows(tally_of(given)) is not None


def false_verdict(given: Given) -> bool:
    k = given["p"].shape[1]
    return vc.assess(given["y"], given["p"], labels=list(range(k))).verdict_detail.state in ("found", "slight")


def repeating(kind: str, n: int, error: str = "", copies: int = 1, jitter: float = 0.0) -> Make:
    """Return a source whose cases are there once, or `copies` times with nearly the same log-probabilities."""

    def make(rng: np.random.Generator) -> Given:
        cases = n // copies
        q = pair(8.0 * np.round(truth("bin", cases, rng)[:, 1], 1) - 4.0) if kind == "eleven" else None
        q = pair(rng.normal(0.0, 8.0, cases)) if kind == "saturated" else q
        q = truth(kind, cases, rng) if q is None else q
        p, x = q, np.log(q)
        if error == "T":
            p = softmax(1.6 * x)
        elif error == "bend":
            p = pair(x[:, 1] - x[:, 0] + 0.5 * (np.abs(x[:, 1] - x[:, 0]) - 1.0))
        elif error == "waves":
            q = pair(x[:, 1] - x[:, 0] + 0.5 * np.sin(4.0 * (x[:, 1] - x[:, 0])))
        elif error == "swap":
            k = q.shape[1]
            q = 0.8 * q + 0.2 * np.roll(q, 1, axis=1) if k > 2 else q
        y, i = draw(q, rng), rng.permutation(np.repeat(np.arange(cases), copies))
        noise = np.outer(rng.normal(0.0, jitter, n), np.eye(p.shape[1])[0])  # of the log-odds of the first class
        p = softmax(np.log(p[i]) + noise) if jitter else p[i]
        return {"p": p, "y": y[i]}

    return make


def repeated() -> list[Row]:
    alone = [(kind, n, error) for kind in ("bin", "rare") for n in (300, 2000) for error in ("", "T", "bend", "waves")]
    alone += [("eleven", 1000, ""), ("eleven", 1000, "T"), ("saturated", 1000, ""), ("saturated", 1000, "T")]
    alone += [(kind, 1000, error) for kind in ("k3", "k10", "sat10") for error in ("", "T", "swap")]
    rows = [Row(f"alone, {k} {e}, n={n}", repeating(k, n, e), alarm, most=0.0) for k, n, e in alone]
    for kind in ("bin", "saturated", "k3", "k10"):
        for n in (500, 1000):
            rows.append(Row(f"five copies, {kind}, n={n}", repeating(kind, n, copies=5), alarm, 1.0 + SLACK))
    rows.append(Row("five copies, jitter .02, n=1000", repeating("bin", 1000, copies=5, jitter=0.02), alarm, 0.95))
    for kind in ("bin", "k3"):
        made = repeating(kind, 1000, copies=5)
        rows.append(Row(f"false verdicts of five copies, {kind}, n=1000", made, false_verdict))
    return rows


TABLES = {"drift": over_time, "groups": groups, "repeated": repeated}


def run(quick: bool = False) -> dict[str, Any]:
    """Return the largest false share of each table in few draws; `main` prints every row."""
    draws = 10 if quick else 40
    table = []
    for name, rows in TABLES.items():
        false = [share(one, draws) for one in rows()[:: 4 if quick else 1] if one.aim is None]
        table.append(row(f"stability, {name}: mean share of false alarms, %", 100 * float(np.mean(false)), 7.0))
    return {"table": table}


def main() -> bool:
    """Print the tables; return whether every bound holds."""
    draws, parts = options(__doc__, DRAWS, tuple(TABLES))
    good = True
    for part, one in ((name, one) for name in parts for one in TABLES[name]()):
        found = hits(one, draws)
        held = one.holds(float(np.mean(found)), len(found))
        good &= held
        aim = f"≤ {100 * one.most:.0f}" if one.aim is None else f"aim {100 * min(one.aim, 1.0):.0f}"
        print(f"{part:<9} {one.name:<48} {of_draws(found)}   {aim} %{'' if held else '   MISSED'}", flush=True)
    return good


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
