"""The base of fitted maps: parameters, callable on rows, JSON both ways."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from veracity.types import Array

SCHEMA = "veracity/map/1"
BLOCK = 1 << 17  # entries handled at a time: a few copies of a block stay in cache


def as_rows(block: Array, k: int) -> Array:
    """Return a block as (m, k) float64; one column means the probability of the second of two classes."""
    p = np.asarray(block, dtype=np.float64)
    if p.ndim == 2:
        return p
    rows = np.empty((len(p), k))
    rows[:, 0], rows[:, 1] = 1.0 - p, p
    return rows


def blocks(n: int, k: int) -> Iterator[slice]:
    """Yield slices of n rows that keep the working arrays small."""
    size = max(1, BLOCK // max(k, 1))
    return (slice(start, start + size) for start in range(0, n, size))


def checked_rows(rows: ArrayLike, k: int) -> Array:
    """Return rows for a fitted map: (n, k), or (n,) for two classes, finite."""
    p = np.atleast_1d(rows)
    if p.dtype.kind not in "fiu" or p.shape[1:] not in ((k,), () if k == 2 else (k,)):
        raise ValueError(
            f"rows: {p.dtype} of shape {p.shape}; this map was fitted on {k} classes: give numbers of shape (n, {k})"
            + (" or (n,)" if k == 2 else "")
        )
    if not np.isfinite(p.sum()):
        bad = np.argwhere(~np.isfinite(p))[0]
        raise ValueError(f"rows: row {bad[0]} holds {p[tuple(bad)]}, not a finite number")
    return p


def _read(value: Any, kind: str) -> Any:
    """Return a parameter from JSON values: an array, several of them, or the value itself."""
    if kind.startswith("tuple"):
        return tuple(np.asarray(part, dtype=np.int64 if "Ints" in kind else np.float64) for part in value)
    return np.asarray(value, dtype=np.float64) if isinstance(value, list) else value


def plain(value: Any) -> Any:
    """Return JSON values, infinities as words."""
    if isinstance(value, np.ndarray):
        return [plain(v) for v in value.tolist()]
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    return repr(value) if isinstance(value, float) and not np.isfinite(value) else value


@dataclass(frozen=True, eq=False)
class Fitted(ABC):
    """A map from rows to rows; subclasses add its parameters as fields."""

    classes: tuple[Any, ...]

    name: ClassVar[str] = ""  # of the file that defines the map
    wording: ClassVar[str] = "{0.name}"  # the map in a few words, a format of its parameters
    needs_labels: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        cls.name = cls.__module__.rpartition(".")[2]

    @property
    def k(self) -> int:
        return len(self.classes)

    @property
    def parameters(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "classes"}

    @property
    def text(self) -> str:
        """The map with its main number in a few words."""
        return self._described.replace(" -", " −")

    @property
    def _described(self) -> str:
        return self.wording.format(self)

    @abstractmethod
    def __call__(self, rows: ArrayLike) -> Array:
        """(n, k) mapped rows."""

    def to_json(self) -> str:
        document = {"schema": SCHEMA, "map": self.name, "classes": plain(self.classes)}
        return json.dumps(document | {"parameters": {k: plain(v) for k, v in self.parameters.items()}}, indent=1)

    @classmethod
    def from_parameters(cls, classes: tuple[Any, ...], parameters: dict[str, Any]) -> Self:
        known = {f.name for f in fields(cls)} - {"classes"}
        if set(parameters) != known:
            raise ValueError(f"parameters {sorted(parameters)} are not {sorted(known)}")
        return cls(classes=classes, **{f.name: _read(parameters[f.name], str(f.type)) for f in fields(cls)[1:]})

    def check(self, kept: slice | Array = slice(None)) -> None:
        """Raise ValueError unless every row, of those with probability for `kept` classes, becomes a distribution.

        Maps also check what a few rows would not show.
        """
        for name, value in self.parameters.items():
            for parameter in value if isinstance(value, tuple) else (value,):
                good = isinstance(parameter, (np.ndarray, int, type(None))) or np.isfinite(parameter)
                self.require(good, f"{name} {parameter!r} is no finite number")
                undefined = isinstance(parameter, np.ndarray) and (np.isnan(parameter) | np.isposinf(parameter)).any()
                self.require(not undefined, f"{name} holds an undefined number")
        tried = self._tried()
        self.require_distributions(self(tried[(tried[:, kept] > 0.0).any(axis=1)]), "mapped rows")

    def _tried(self) -> Array:
        """Rows to try a map on: even, certain, nearly certain, and others."""
        k = self.k
        certain = np.eye(k)[: min(k, 8)]
        others = np.random.default_rng(0).dirichlet(np.full(k, 0.5), 32)
        return np.concatenate([np.full((1, k), 1.0 / k), certain, 0.999 * certain + 0.001 / k, others])

    def require(self, holds: Any, what: str) -> None:
        if not holds:
            raise ValueError(what)

    def require_distributions(self, rows: Array, what: str) -> None:
        """Raise ValueError unless these are rows of probabilities that sum to one."""
        rows = np.asarray(rows)
        self.require(rows.ndim == 2 and rows.shape[1] == self.k, f"{what} of shape {rows.shape} for {self.k} classes")
        off = np.flatnonzero(~((np.abs(rows.sum(axis=1) - 1.0) <= 1e-6) & (rows >= 0.0).all(axis=1)))
        self.require(not off.size, f"{what}: row {off[:1].tolist()} is not a distribution")


@dataclass(frozen=True, eq=False)
class Formula(Fitted):
    """A map given by a formula, computed block by block; other maps look rows up."""

    @abstractmethod
    def rows(self, p: Array) -> Array:
        """(m, k) mapped rows of a checked (m, k) block."""

    def __call__(self, rows: ArrayLike) -> Array:
        p = checked_rows(rows, self.k)
        out = np.empty((len(p), self.k))
        for part in blocks(len(p), self.k):
            out[part] = self.rows(as_rows(p[part], self.k))
        return out
