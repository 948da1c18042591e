"""A shape: files as people keep them, the command they would type, and how a person reads them.

The forecasts are the same in all shapes: P of the event Y, or Q of the three classes K, so that the right reading has a
known log loss.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

N = 120
_RNG = np.random.default_rng(26)
P = np.round(_RNG.uniform(0.01, 0.99, N), 3)
Y = (_RNG.random(N) < P).astype(int)
Q = _RNG.dirichlet([1.0, 1.0, 1.0], N)
K = np.array([_RNG.choice(3, p=q) for q in Q])
OTHER = np.round(np.clip(P + _RNG.normal(0, 0.15, N), 0.01, 0.99), 3)  # a second forecaster of the same events
FAIR = _RNG.integers(0, 2, N)  # a column of two values that has nothing to do with the forecasts


def loss(p: Any, y: Any) -> float:
    """Return the log loss of probabilities of an event, or of rows of class probabilities."""
    p, y = np.asarray(p, dtype=float), np.asarray(y)
    return float(-np.mean(np.log(np.where(y == 1, p, 1 - p) if p.ndim == 1 else p[np.arange(len(y)), y])))


TWO, THREE, SECOND = loss(P, Y), loss(Q, K), loss(OTHER, Y)


@dataclass(frozen=True)
class Shape:
    """Files, a command, and the reading that is right.

    name       what the file is, in words
    files      {name: text or bytes}
    command    what is typed after `veracity`; by default `assess` and the first file
    layout, outcome, forecasts   of the right reading
    losses     log loss of each model, in their order; with a command that compares files, of each file
    says       the message, if the command is refused: all lines after the name of the file
    remedy     the printed options or command that give the right reading; empty if the file must be changed
    filled     what a person writes for a placeholder of the message, such as LIMIT
    """

    name: str
    files: Mapping[str, str | bytes]
    layout: str = ""
    outcome: str = ""
    forecasts: str = ""
    losses: tuple[float, ...] = ()
    command: str = ""
    says: str = ""
    remedy: str = ""
    filled: tuple[str, str] = ("", "")

    @property
    def typed(self) -> str:
        return self.command or f"assess {next(iter(self.files))}"


def lines(header: str, *columns: Iterable[Any], sep: str = ",", end: str = "\n") -> str:
    """Return delimited text of columns, below a line of names."""
    rows = [header.replace(",", sep), *(sep.join(map(str, row)) for row in zip(*columns, strict=True))]
    return end.join(rows) + end


def records(**columns: Iterable[Any]) -> str:
    """Return JSON lines of columns."""
    plain = {name: np.asarray(list(values)).tolist() for name, values in columns.items()}
    return "".join(json.dumps(dict(zip(plain, row, strict=True))) + "\n" for row in zip(*plain.values(), strict=True))


def frame(**columns: Iterable[Any]) -> pl.DataFrame:
    return pl.DataFrame({name: list(values) for name, values in columns.items()}, strict=False)


def words(no: str, yes: str, of: Any = Y) -> list[str]:
    """Return the outcomes as words."""
    return [yes if y else no for y in of]


def named(names: Iterable[str], of: Any = K) -> list[str]:
    """Return the classes by their names."""
    known = list(names)
    return [known[k] for k in of]


def altered(values: Iterable[Any], value: Any, every: int = 10) -> list[Any]:
    """Return the values with each tenth replaced."""
    return [value if i % every == 3 else v for i, v in enumerate(values)]


def kept(every: int = 10) -> Any:
    """Return which rows `altered` leaves alone."""
    return np.arange(N) % every != 3


def comma(values: Iterable[float]) -> list[str]:
    return [f"{v}".replace(".", ",") for v in values]


def percent(values: Iterable[float], sign: str = "%", digits: int = 1) -> list[str]:
    return [f"{100 * v:.{digits}f}{sign}" for v in values]


ANIMALS = ["cat", "dog", "fox"]
PICKS = Q.argmax(axis=1)
TOP = loss(Q.max(axis=1), PICKS == K)


def classes(stem: str, q: Any = Q) -> dict[str, Any]:
    """Return a column for each animal."""
    return {stem + name: q[:, j] for j, name in enumerate(ANIMALS)}


def csv(**columns: Iterable[Any]) -> str:
    return frame(**columns).write_csv()


def held(write: Callable[[io.BytesIO], Any]) -> bytes:
    """Return the bytes that a function writes into a file."""
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def parquet(**columns: Iterable[Any]) -> bytes:
    return held(frame(**columns).write_parquet)


def npy(array: Any) -> bytes:
    return held(lambda out: np.save(out, array))


def npz(**arrays: Any) -> bytes:
    return held(lambda out: np.savez(out, **arrays))
