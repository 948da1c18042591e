"""How often the calibration verdict is right: `python -m bench.verdict [PART …] [--draws N] [--first S]`.

Calibrated forecasts: the share of draws with any statement of miscalibration (at most 7 %). Miscalibrated ones: the
share with the right word. Statements of size: the share of draws in which "calibrated" or "slightly" is said although
recalibration would remove more of the loss than stated (at most 5 %). A source with 5 % shows more than 7 % in one of
15 runs of 200 draws, so a row is MISSED where its share is beyond the bound by two standard errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from bench import row
from bench._draws import of_draws, options
from bench._truth import Floats, draw, misread, removable, stated, truth
from veracity.estimate.calibration.calibration_tests import ALPHA
from veracity.estimate.calibration.verdict import judge
from veracity.records.verdict import Verdict

DRAWS = 200
LONG = ("k1000", "sampled", "n=10000", "n=5000", "n=3000")  # rows that only the whole table has
MOST_FALSE, MOST_WRONG = 0.07, 0.05
NOTHING = ("calibrated", "no miscalibration found", "too few cases")
Given = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """A source, what is to be counted in its draws, and the bound on the share."""

    name: str
    make: Callable[[np.random.Generator], Given]
    counts: Callable[[Verdict, Given], bool]
    least: float = 0.0
    most: float = 1.0

    def holds(self, share: float, draws: int) -> bool:
        """Return whether the share keeps the bound, but for the error of the simulation."""
        bound = self.least or self.most
        error = 2.0 * float(np.sqrt(bound * (1.0 - bound) / draws))
        return self.least - error <= share <= self.most + error


def verdict_of(given: Given) -> Verdict:
    """Return the verdict of forecasts p and outcomes y."""
    names = [f"class {j:04}" for j in range(given["p"].shape[1])]
    options = {name: values for name, values in given.items() if name not in ("p", "y", "q")}
    return judge(given["p"], given["y"], names, **options)


def hits(one: Row, draws: Iterable[int]) -> list[bool]:
    """Return of each draw whether it counts."""
    given = (one.make(np.random.default_rng([crc32(one.name.encode()), draw])) for draw in draws)
    return [one.counts(verdict_of(made), made) for made in given]


def share(one: Row, draws: int) -> float:
    """Return the share of draws that count."""
    return float(np.mean(hits(one, range(draws))))


def anything(verdict: Verdict, given: Given) -> bool:
    return verdict.word not in NOTHING


def says(word: str) -> Callable[[Verdict, Given], bool]:
    return lambda verdict, given: word in verdict.word


def too_small(verdict: Verdict, given: Given) -> bool:
    """Whether the verdict says that recalibration saves less than it would."""
    if verdict.state not in ("calibrated", "slight"):
        return False
    said = max(verdict.gain.high or 0.0, verdict.detectable or 0.0 if verdict.state == "calibrated" else 0.0)
    return removable(given["q"], given["p"]) > said


def plain(kind: str, n: int, error: str = "cal", size: float = 0.0) -> Callable[[np.random.Generator], Given]:
    def make(rng: np.random.Generator) -> Given:
        q = truth(kind, n, rng)
        return {"p": stated(q, error, size), "y": draw(q, rng), "q": q}

    return make


def weighted(rng: np.random.Generator) -> Given:
    q = truth("k5", 500, rng)
    return {"p": q, "y": draw(q, rng), "weights": rng.lognormal(0.0, 1.0, 500)}


def weighted_pair(rng: np.random.Generator) -> Given:
    q = truth("bin", 500, rng)
    return {"p": q, "y": draw(q, rng), "weights": rng.lognormal(0.0, 1.0, 500)}


def counted(rng: np.random.Generator) -> Given:
    """Rows of some cases each: forecasts that repeat, with the number of each outcome."""
    q = truth("k5", 150, rng)
    number = rng.integers(1, 9, 150)
    outcomes = rng.multinomial(number, q)
    i, y = np.nonzero(outcomes)
    return {"p": q[i], "y": y, "counts": outcomes[i, y]}


def few_levels(rng: np.random.Generator) -> Given:
    """Forecasts of 0, 10 %, … 100 %, as people say them."""
    p = rng.integers(0, 11, 2000) / 10.0
    q = np.column_stack([1.0 - p, p])
    return {"p": q, "y": (rng.random(2000) < p).astype(np.int64)}


def some_certain(rng: np.random.Generator) -> Given:
    q = truth("bin", 1000, rng)
    sure = rng.random(1000) < 0.03
    q[sure] = np.eye(2)[rng.integers(0, 2, sure.sum())]
    return {"p": q, "y": draw(q, rng)}


def top_five(rng: np.random.Generator) -> Given:
    """The five largest of 100 classes, and one outcome that was not among them."""
    q = truth("k100", 300, rng)
    q = np.where(q >= np.sort(q, axis=1)[:, -5:-4], q, 0.0)
    q /= q.sum(axis=1, keepdims=True)
    y = draw(q, rng)
    y[0] = q[0].argmin()
    return {"p": q, "y": y}


def sampled(rng: np.random.Generator) -> Given:
    """150,000 cases of 30,000 forecasts, and of these the half that a hash of the forecast chooses."""
    q = truth("k3", 30_000, rng)[rng.random(30_000) < 0.5]
    i, y = np.nonzero(outcomes := rng.multinomial(rng.poisson(5.0, len(q)), q))
    return {"p": q[i], "y": y, "counts": outcomes[i, y]}


def picks(error: float) -> Callable[[np.random.Generator], Given]:
    def make(rng: np.random.Generator) -> Given:
        q = truth("k5", 1000, rng)
        right = q.max(axis=1)
        p = stated(q, "T", error).max(axis=1)
        return {"p": np.column_stack([1 - p, p]), "y": (rng.random(1000) < right).astype(int), "picks_only": True}

    return make


def by_cluster(kind: str, n: int = 25) -> Callable[[np.random.Generator], Given]:
    """40 clusters of n cases whose outcomes are dependent, each calibrated."""

    def make(rng: np.random.Generator) -> Given:
        cluster = np.repeat(np.arange(40), n)
        noise = _uniform(0.6 * rng.normal(size=40)[cluster] + 0.8 * rng.normal(size=40 * n))
        return {**_with_noise(truth(kind, 40 * n, rng), noise), "clusters": cluster}

    return make


def series(kind: str, n: int) -> Callable[[np.random.Generator], Given]:
    """A series of dependent outcomes (autocorrelation .5), each calibrated."""

    def make(rng: np.random.Generator) -> Given:
        e = rng.normal(size=n)
        for t in range(1, n):
            e[t] = 0.5 * e[t - 1] + np.sqrt(0.75) * e[t]
        return {**_with_noise(truth(kind, n, rng), _uniform(e)), "time": np.arange(float(n))}

    return make


def _uniform(normal: Floats) -> Floats:
    from scipy.special import ndtr

    found: Floats = ndtr(normal)
    return found


def _with_noise(q: Floats, u: Floats) -> Given:
    return {"p": q, "y": (np.cumsum(q, axis=1)[:, :-1] < u[:, None]).sum(axis=1)}


def calibrated() -> Iterator[Row]:
    """Yield the sources whose forecasts are right."""
    sources: dict[str, Callable[[np.random.Generator], Given]] = {}
    for kind in ("bin", "rare", "k10", "sat10"):
        sources |= {f"{kind} n={n}": plain(kind, n) for n in (100, 300, 1000)}
    for kind, n in (("k100", 300), ("sat100", 300), ("k1000", 300), ("k3", 150), ("k1000", 2000), ("bin", 50)):
        sources[f"{kind} n={n}"] = plain(kind, n)
    sources |= {"k5 n=50": plain("k5", 50), "weights k5": weighted, "weights bin": weighted_pair, "counts": counted}
    sources |= {"11 forecasts": few_levels, "3 % certain": some_certain, "top-5 lists": top_five, "sampled": sampled}
    sources |= {"picks": picks(1.0), "clusters bin": by_cluster("bin"), "clusters k5": by_cluster("k5")}
    sources["clusters rare"] = by_cluster("rare", 50)
    sources |= {
        "series bin": series("bin", 300),
        "series bin short": series("bin", 120),
        "series k5": series("k5", 300),
    }
    for name, make in sources.items():
        yield Row(f"calibrated: {name}", make, anything, most=MOST_FALSE)


def miscalibrated() -> Iterator[Row]:
    """Yield the sources with known errors, with the power to reach (that of the rule, less 8 points)."""
    over, under = says("over-confident"), says("under-confident")
    yield Row("binary 1000, slope 1/1.25", plain("bin", 1000, "T", 1.25), over, least=0.64)
    yield Row("binary 1000, slope 1/.8", plain("bin", 1000, "T", 0.8), under, least=0.70)
    yield Row("binary 1000, bias .5", plain("bin", 1000, "bias", 0.5), anything, least=0.92)
    yield Row("binary 1000, bias .2", plain("bin", 1000, "bias", 0.2), says("biased"), least=0.50)
    yield Row("saturated 10, 1000, 1.25", plain("sat10", 1000, "T", 1.25), over, least=0.82)
    yield Row("saturated 10, 1000, .8", plain("sat10", 1000, "T", 0.8), under, least=0.89)
    yield Row("k10, 1000, 1.25", plain("k10", 1000, "T", 1.25), over, least=0.92)
    yield Row("k100, 300, 1.25", plain("k100", 300, "T", 1.25), over, least=0.92)
    yield Row("rare 1000, 1.5", plain("rare", 1000, "T", 1.5), anything, least=0.90)
    yield Row("picks 1000, 1.25", picks(1.25), over, least=0.5)


def rejected(verdict: Verdict, given: Given) -> bool:
    return verdict.p is not None and verdict.p <= ALPHA


def shapes() -> Iterator[Row]:
    """Yield curves that are bent and classes that are confused, with the share found by the rule, less 5 points."""
    for kind, n, least in (
        ("over", 300, 36), ("over", 1000, 85), ("under", 300, 19), ("under", 1000, 80), ("level", 300, 14),
        ("level", 1000, 54), ("quadratic", 300, 66), ("bent", 300, 17), ("plateau", 300, 76), ("joint-3", 300, 94),
        ("joint-10", 1000, 64), ("swap-100", 3000, 80), ("T-3", 1000, 84), ("level-3", 1000, 80), ("swap-3", 1000, 83),
        ("slopes-3", 1000, 89),
    ):  # fmt: skip

        def make(rng: np.random.Generator, kind: str = kind, n: int = n) -> Given:
            p, q = misread(kind, n, rng)
            return {"p": p, "y": draw(q, rng), "q": q}

        yield Row(f"found: {kind} n={n}", make, rejected, least=least / 100)


def wrong_words() -> Iterator[Row]:
    """Yield sources whose level alone is wrong: a direction of confidence would be a false statement."""
    for kind, n, size in (
        ("bin", 300, 0.5), ("bin", 1000, 0.3), ("bin", 5000, 0.5), ("rare", 1000, 0.7), ("rare", 1000, -0.7),
        ("rare", 10_000, 0.7), ("k10", 300, 0.3), ("k10", 1000, 0.15), ("k10", 1000, 0.3), ("k10", 5000, 0.3),
        ("sat10", 1000, 0.5), ("k100", 300, 0.3), ("k100", 1000, 0.5), ("k100", 3000, 0.3),
    ):  # fmt: skip
        made = plain(kind, n, "bias", size)
        yield Row(f"over- or under-confident said of {kind} n={n}, bias {size}", made, says("-conf"), most=MOST_WRONG)


def wrong_levels() -> Iterator[Row]:
    """Yield sources whose slope alone is wrong, and whose level is not moved by it."""
    for kind, n, size in (
        ("bin", 1000, 1.5), ("bin", 1000, 0.7), ("k10", 1000, 1.25), ("k10", 1000, 1.6), ("sat10", 1000, 1.5),
        ("sat100", 300, 1.4), ("k100", 300, 1.3),
    ):  # fmt: skip
        yield Row(
            f"biased said of {kind} n={n}, slope 1/{size}", plain(kind, n, "T", size), says("bias"), most=MOST_WRONG
        )


def sizes() -> Iterator[Row]:
    """Yield sources in which "calibrated" or "slightly" may say less than the truth."""
    errors = {
        "bin": [
            ("bias", 0.05), ("bias", 0.1), ("bias", 0.2), ("T", 1.1), ("T", 0.9), ("bend", 0.05), ("bend", 0.1),
            ("bend", 0.2),
        ],
        "k10": [("bias", 0.05), ("bias", 0.1), ("T", 1.05), ("T", 1.1), ("cls", 1.1)],
    }  # fmt: skip
    for kind, listed in errors.items():
        for error, size in listed:
            for n in (300, 2000, 5000):
                made = plain(kind, n, error, size)
                yield Row(f"too small a share said of {kind} n={n}, {error} {size}", made, too_small, most=MOST_WRONG)


TABLES = {
    "calibrated": calibrated,
    "miscalibrated": miscalibrated,
    "shapes": shapes,
    "words": wrong_words,
    "levels": wrong_levels,
    "sizes": sizes,
}


def run(quick: bool = False) -> dict[str, Any]:
    """Return the mean error of each table in few draws of its shorter rows; `main` prints every row."""
    table = []
    for name, rows in TABLES.items():
        short = [one for one in rows() if not any(part in one.name for part in LONG)][:: 4 if quick else 1]
        power = name in ("miscalibrated", "shapes")
        shares = [share(one, 5 if quick else 30) for one in short]
        bounds = [1.0 - one.least if power else one.most for one in short]
        errors = [1.0 - found if power else found for found in shares]
        table.append(row(f"verdict, {name}: mean error, %", 100 * float(np.mean(errors)), 100 * float(np.mean(bounds))))
    return {"table": table}


def main() -> bool:
    """Print the tables; return whether every bound holds."""
    draws, parts = options(__doc__, DRAWS, tuple(TABLES))
    good = True
    for one in (one for part in parts for one in TABLES[part]()):
        found = hits(one, draws)
        held = one.holds(float(np.mean(found)), len(found))
        good &= held
        bound = f"≥ {100 * one.least:.0f}" if one.least else f"≤ {100 * one.most:.0f}"
        print(f"{one.name:<60} {of_draws(found)}   {bound} %{'' if held else '   MISSED'}", flush=True)
    return good


if __name__ == "__main__":
    raise SystemExit(not main())
