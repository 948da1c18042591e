"""Where the loss comes from: the stages P, S, A, C, Q, Y and the expected divergence between any two (KF15).

P prior · S scores · A adjusted · C calibrated · Q ideal · Y outcome. Each step towards Y removes a cause of loss:
loss = adjustment + post-adjustment calibration + grouping + irreducible (KF15 Theorem 4), and
loss = uncertainty − resolution + reliability (Murphy), for every rule of the power family.
What a stage that is only approximate leaves unexplained is the remainder; it is reported, never hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from veracity.formulas.rules import ScoringRule
from veracity.formulas.rules import rule as rule_of
from veracity.types import Array

Rule = str | float | ScoringRule

BLOCK = 1 << 17  # entries at a time: a few arrays of so many stay in the cache
PAIRS = {  # KF15 Table 2
    "L": "SY",
    "AL": "SA",
    "PCL": "AC",
    "CL": "SC",
    "GL": "CQ",
    "IL": "QY",
    "EL": "SQ",
    "PEL": "AQ",
    "RL": "CY",
    "PL": "AY",
}


@dataclass(frozen=True, eq=False)
class Chain:
    """The stages of one set of forecasts. Build it from fitted maps; nothing here fits.

    S             (n, k), or (n,) the probability of the second of two classes
    outcomes      (n,) column numbers
    C             (n, k); or (g, k) class frequencies of cells with `cells` (n,) their numbers
    A             rule → (n, k) adjusted scores, or None where none exist: each rule has its own adjustment
    Q             (n, k) ideal probabilities; without them GL, IL, EL and PEL are unknown
    mass          (n,) weight times count
    counts        (n,) how many cases each row counts as, for the corrections
    prior         (k,) class frequencies; those of the outcomes when left out
    log_realised  (n,) ln of the score of the outcome where it is known better than from S

    >>> from veracity import rule
    >>> forecasts, calibrated = np.array([[0.2, 0.8], [0.6, 0.4]]), np.array([[0.1, 0.9], [0.7, 0.3]])
    >>> chain = Chain(S=forecasts, outcomes=np.array([1, 0]), C=calibrated)
    >>> round(chain.loss(rule("log"), "S", "Y"), 4), round(chain.loss(rule("log"), "S", "C"), 4)
    (0.367, 0.0291)
    """

    S: Array
    outcomes: Array
    C: Array
    A: Callable[[ScoringRule], Array | None] | None = None
    Q: Array | None = None
    cells: Array | None = None
    mass: Array | None = None
    counts: Array | None = None
    prior: Array | None = None
    log_realised: Array | None = None
    _held: dict[str | float, Array | None] = field(default_factory=dict, repr=False)

    @property
    def k(self) -> int:
        return int(self.C.shape[1])

    @cached_property
    def shares(self) -> Array:
        """(n,) share of the whole mass."""
        n = len(self.outcomes)
        return np.full(n, 1.0 / n) if self.mass is None else self.mass / self.mass.sum()

    @cached_property
    def frequencies(self) -> Array:
        """(k,) class probabilities of stage P."""
        if self.prior is not None:
            return np.asarray(self.prior, dtype=np.float64)
        return np.bincount(self.outcomes, weights=self.shares, minlength=self.k)

    def adjusted(self, rule: ScoringRule) -> Array | None:
        if rule.key not in self._held:
            self._held.clear()  # one matrix at a time
            self._held[rule.key] = None if self.A is None else self.A(rule)
        return self._held[rule.key]

    def _parts(self) -> Iterator[slice]:
        size = max(1, BLOCK // self.k)
        return (slice(start, start + size) for start in range(0, len(self.outcomes), size))

    def _has(self, stage: str, rule: ScoringRule) -> bool:
        return not ((stage == "Q" and self.Q is None) or (stage == "A" and self.adjusted(rule) is None))

    def _stage(self, stage: str, rule: ScoringRule, part: slice) -> Array:
        """(m, k) rows of a stage."""
        if stage == "P":
            return np.broadcast_to(self.frequencies, (len(self.outcomes[part]), self.k))
        if stage == "C":
            return self.C[part] if self.cells is None else self.C[self.cells[part]]
        forecasts = {"S": self.S, "A": self.adjusted(rule) if stage == "A" else None, "Q": self.Q}[stage]
        if forecasts is None:
            raise ValueError(f"stage {stage} is not known in this chain")
        rows = np.asarray(forecasts[part], dtype=np.float64)
        return rows if rows.ndim == 2 else np.column_stack([1.0 - rows, rows])

    def rows(self, rule: Rule, from_: str, to: str) -> Array:
        """(n,) divergence of stage `to` from stage `from_`, row by row."""
        rule = rule_of(rule)
        if from_ not in "PSACQ" or to not in "SACQY" or len(from_) != 1 or len(to) != 1:
            raise ValueError(f"no loss from {from_!r} to {to!r}; stages in order are P, S, A, C, Q, Y")
        out = np.empty(len(self.outcomes))
        if rule.name == "log" and from_ + to == "SY" and self.log_realised is not None:
            return -np.asarray(self.log_realised, dtype=np.float64)
        for part in self._parts():
            before = self._stage(from_, rule, part)
            if to == "Y":
                out[part] = rule.score(before, self.outcomes[part])
            else:
                out[part] = rule.divergence(before, self._stage(to, rule, part))
        return out

    def mean(self, rows: Array) -> float:
        """Return the weighted mean; rows without mass are left out even where they are infinite."""
        counted = self.shares > 0.0
        return float(self.shares[counted] @ rows[counted])

    def loss(self, rule: Rule, from_: str, to: str) -> float:
        """Expected divergence of stage `to` from stage `from_`: `loss("log", "S", "Y")` is the log loss.

        >>> S = np.array([[.9, .1]] * 4 + [[.3, .7]] * 4)
        >>> y = np.array([0, 0, 0, 1, 0, 0, 1, 1])
        >>> chain = Chain(S, y, C=np.array([[.75, .25]] * 4 + [[.5, .5]] * 4))
        >>> round(chain.loss("log", "S", "Y"), 3), round(chain.loss("log", "S", "C"), 3)   # KF15 Table 3
        (0.717, 0.09)
        """
        return self.mean(self.rows(rule, from_, to))

    def losses(self, rule: Rule) -> dict[str, float | None]:
        """Return the ten losses of KF15 Table 2 and the remainder L − AL − PCL − GL − IL; None without the stage.

        Without Q the remainder is L − AL − PCL − RL; without A it is L − CL − RL. Infinite on both sides is NaN.
        """
        rule = rule_of(rule)
        out: dict[str, float | None] = {
            name: self.loss(rule, *pair) if all(self._has(stage, rule) for stage in pair) else None
            for name, pair in PAIRS.items()
        }
        steps = [out["CL"]] if out["AL"] is None else [out["AL"], out["PCL"]]
        steps += [out["RL"]] if out["GL"] is None else [out["GL"], out["IL"]]
        out["remainder"] = _difference(out["L"], sum(step for step in steps if step is not None))
        return out

    def influence(self, rule: Rule, name: str) -> Array:
        """(n,) numbers whose weighted mean is the loss and whose spread gives its sampling error.

        The loss between two stages changes with row i as the difference of their scores for its outcome
        (the three-point identity); the mean of the differences misses the loss by the remainder only.
        """
        rule, before, after = rule_of(rule), PAIRS[name][0], PAIRS[name][1]
        rows = self.rows(rule, before, "Y")
        if after != "Y":
            with np.errstate(invalid="ignore"):
                rows = rows - self.rows(rule, after, "Y")
        value = self.loss(rule, before, after)
        with np.errstate(invalid="ignore"):
            return np.asarray(rows + (value - self.mean(rows)) if np.isfinite(value) else rows)

    def terms(self, rule: Rule) -> dict[str, float]:
        """Return the terms of loss = uncertainty − resolution + reliability + within (HB17; Stephenson et al. 2008).

        With cells, reliability is the divergence of their class frequencies from their mean score, and `within` the
        effect of the spread of scores inside cells; for `brier` it is within_variance − within_covariance.
        Without cells reliability is the divergence row by row and `within` the remainder.
        """
        rule = rule_of(rule)
        uncertainty, loss = float(rule.entropy(self.frequencies)), self.loss(rule, "S", "Y")
        if self.cells is None:
            resolution, reliability = self.loss(rule, "P", "C"), self.loss(rule, "S", "C")
            within = _difference(loss, uncertainty - resolution + reliability)
            return _named(uncertainty, resolution, reliability, within)
        size, centre = self._sizes, self._centres
        resolution = float(size @ rule.divergence(self.frequencies, self.C))
        reliability = float(size @ np.where(size > 0.0, rule.divergence(centre, self.C), 0.0))
        if self._counted:
            of_centres = uncertainty - resolution + reliability
        else:
            of_centres = self._mean_of(lambda part: rule.score(centre[self._cell(part)], self.outcomes[part]))
        out = _named(uncertainty, resolution, reliability, _difference(loss, of_centres))
        if rule.name == "brier":
            out["within_variance"] = self._mean_of(lambda part: (self._deviations(part) ** 2).sum(axis=1))
            out["within_covariance"] = 2.0 * self._mean_of(self._covariances)
        return out

    def _cell(self, part: slice) -> Array:
        assert self.cells is not None
        return np.asarray(self.cells[part])

    def _deviations(self, part: slice) -> Array:
        """(m, k) S less the mean S of its cell."""
        return self._stage("S", rule_of("brier"), part) - self._centres[self._cell(part)]

    def _covariances(self, part: slice) -> Array:
        """(m,) product of the deviations of S and of Y from their cells' means."""
        spread, y = self._deviations(part), self.outcomes[part]
        return np.asarray(spread[np.arange(len(y)), y] - (spread * self.C[self._cell(part)]).sum(axis=1))

    def _mean_of(self, rows: Callable[[slice], Array]) -> float:
        return float(sum(self.shares[part] @ rows(part) for part in self._parts()))

    @cached_property
    def _sizes(self) -> Array:
        """(g,) share of each cell."""
        return np.bincount(self._cell(slice(None)), weights=self.shares, minlength=len(self.C))

    @cached_property
    def _counted(self) -> bool:
        """Whether C holds the class frequencies of these outcomes in the cells: then one pass gives all terms."""
        if self.cells is None or self.prior is not None:
            return False
        key = self.cells * self.k + self.outcomes
        sums = np.bincount(key, weights=self.shares, minlength=self.C.size).reshape(self.C.shape)
        return bool(np.abs(sums - self.C * self._sizes[:, None]).max() < 1e-14)

    @cached_property
    def _centres(self) -> Array:
        """(g, k) mean S of each cell."""
        sums = np.zeros(self.C.shape)
        for part in self._parts():
            cell = self._cell(part)
            order = np.argsort(cell, kind="stable")
            start = np.flatnonzero(np.append(True, np.diff(cell[order]) > 0))
            rows = self._stage("S", rule_of("log"), part) * self.shares[part][:, None]
            sums[cell[order[start]]] += np.add.reduceat(rows[order], start, axis=0)
        total = self._sizes[:, None]
        return np.where(total > 0.0, sums / np.where(total > 0.0, total, 1.0), self.C)

    def corrections(self, rule: Rule) -> dict[str, float]:
        """Return the bias of each term from in-sample class frequencies, to be subtracted.

        Brier: Ferro & Fricker 2012, without bias. Log and other r: the second-order term, (classes − 1)/2n a cell for
        the log score (Miller & Madow). Cells of one row tell nothing about their own error and count as zero for Brier.
        """
        rule = rule_of(rule)
        r = power_of(rule)
        cells = self.cells
        if cells is None:
            raise ValueError("corrections need the cells that C was counted in")
        size = self._sizes
        square = self.shares**2 if self.counts is None else self.shares**2 / np.maximum(self.counts, 1)
        squares = np.bincount(cells, weights=square, minlength=len(self.C))
        with np.errstate(divide="ignore", invalid="ignore"):
            rows = np.where(squares > 0.0, size**2 / squares, 0.0)
        bias = float(size @ _entropy_bias(self.C, rows, r))
        whole = float(_entropy_bias(self.frequencies[None], np.array([1.0 / square.sum()]), r)[0])
        return {"uncertainty": -whole, "resolution": bias - whole, "reliability": bias, "CL": bias, "RL": -bias}

    def profile(self, rs: Sequence[float]) -> dict[str, list[float | None]]:
        """Return every term for each r as a share of the uncertainty at that r; one C for all r."""
        out: dict[str, list[float | None]] = {"r": [float(r) for r in rs]}
        for r in rs:
            rule = rule_of(float(r))
            terms = self.terms(rule)
            named: dict[str, float | None] = {name: terms[name] for name in NAMES}
            known = self._has("A", rule)
            adjustment = self.loss(rule, "S", "A") if known else None
            calibration = self.loss(rule, "A" if known else "S", "C")
            base = terms["uncertainty"] - terms["resolution"]
            refinement = base if self._counted else self.loss(rule, "C", "Y")
            loss = base + terms["reliability"] + terms["within"]
            named |= {"adjustment": adjustment, "post_calibration": calibration, "refinement": refinement}
            named["remainder"] = _difference(loss, (adjustment or 0.0) + calibration + refinement)
            unit = terms["uncertainty"]
            for name, value in named.items():
                share = None if value is None or np.isnan(value) or unit <= 0.0 else value / unit
                out.setdefault(name, []).append(share)
        return out


NAMES = ("uncertainty", "resolution", "reliability", "within")


def _named(*values: float) -> dict[str, float]:
    return dict(zip(NAMES, values, strict=True))


def _difference(whole: float | None, parts: float) -> float:
    """whole − parts; NaN where both are infinite."""
    assert whole is not None
    return np.nan if np.isinf(whole) and whole == parts else float(whole - parts)


def power_of(rule: ScoringRule) -> float:
    if rule.name in ("log", "brier"):
        return 0.0 if rule.name == "log" else 1.0
    if not isinstance(rule.key, float):
        raise ValueError(f"rule: {rule.name} is not of the power family; give 'log', 'brier' or a number r > -1")
    return rule.key


def _entropy_bias(c: Array, rows: Array, r: float) -> Array:
    """(g,) expected shortfall of the entropy of frequencies c counted in so many rows: ½(1 + r) Σ c^r (1 − c)/rows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        each = 0.5 * (1.0 + r) * np.where(c > 0.0, c**r * (1.0 - c), 0.0).sum(axis=1)
        return np.where(rows - (r == 1.0) > 1e-9, each / (rows - (r == 1.0)), 0.0)


def corp(rule: Rule, S: Array, C: Array, outcomes: Array, mass: Array | None = None) -> dict[str, float]:
    """Miscalibration, discrimination and uncertainty by score differences, with isotonic C (Dimitriadis et al. 2021).

    miscalibration = score of S − score of C; discrimination = score of the base rate − score of C.
    """
    chain = Chain(S, outcomes, C, mass=mass)
    loss, calibrated, base = (chain.loss(rule, stage, "Y") for stage in "SCP")
    return {
        "miscalibration": _difference(loss, calibrated),
        "discrimination": _difference(base, calibrated),
        "uncertainty": base,
    }
