"""Every option with its default: one record for Python, command line, engines and report."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral
from typing import Any

FLOORS = (0.05, 0.01, 0.005, 0.001, 0.0)  # the sweep of CQ Table 2
ERROR_BINS = 15  # bins of a calibration error, the number other libraries report
USUAL = {"floor": 0.0, "end_width": 0.005}  # where they are not given
PRESETS = {"CQ": USUAL | {"floor": 0.005}, "N17": USUAL | {"floor": 0.01}}  # the same by the papers' procedures
MOST_DRAWS = 100_000  # of a bootstrap: more change no printed digit, and their sums would not fit in memory
MOST_R = 20.0  # of a score: beyond, p^(1 - r) of unlikely outcomes is too large for a computer
# what data must hold for an option to have an effect
NEEDS = {"bins": "classes", "end_width": "classes", "shrink": "groups"} | dict.fromkeys(
    ("window", "lags", "horizon"), "time"
)


@dataclass(frozen=True)
class Plan:
    """The options of an assessment; tallies with different plans refuse to add.

    floor and end_width that are not given (None) are those of the preset, or the usual ones.
    """

    floor: float = None  # type: ignore[assignment]  # a number once the plan is made
    end_width: float = None  # type: ignore[assignment]
    bins: int | str = "auto"
    preset: str | None = None
    map: str = "auto"
    level: float = 0.95
    bootstrap: int | None = None
    random_state: int = 0  # None: another seed each time
    r: tuple[float, ...] = ()  # further risk parameters of losses and decompositions
    lags: int | None = None  # of intervals in time: Bartlett weights instead of cosines
    horizon: int | None = None  # steps ahead that compared forecasts are made: Diebold–Mariano

    window: str | None = None  # of time: "30d", "12m", or a number of cases
    shrink: str = "auto"  # log losses of groups towards their common mean; "none"

    def __post_init__(self) -> None:
        if self.preset is not None and self.preset not in PRESETS:
            raise ValueError(f"preset: {self.preset!r} is not one of 'CQ', 'N17'; leave it out for the defaults")
        for name, width in (USUAL if self.preset is None else PRESETS[self.preset]).items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, width)
        for name in ("floor", "end_width", "level"):
            given = getattr(self, name)
            object.__setattr__(self, name, given if type(given) in (int, float) else _number(name, given))
        for name, usual in (("bins", "auto"), ("end_width", USUAL["end_width"])):
            value: Any = getattr(self, name)
            if self.preset == "N17" and value != usual:
                raise ValueError(f"{name}: {value!r} with preset N17, which has its own bins; leave one of them out")
        if not 0.0 <= self.floor < 0.5:
            raise ValueError(f"floor: {self.floor!r} is outside [0, 0.5); 0 means no floor")
        if not 0.0 <= self.end_width < 0.5 or (self.end_width and 1.0 - self.end_width == 1.0):
            raise ValueError(f"end_width: {self.end_width!r} is outside [0, 0.5), or too small; 0.005 is usual")
        if self.bins != "auto" and (isinstance(self.bins, (str, bool)) or self.bins < 1 or self.bins % 1):
            raise ValueError(f"bins: {self.bins!r} is neither 'auto' nor a whole number from 1")
        if not 0.0 < self.level < 1.0:
            raise ValueError(f"level: {self.level!r} is outside (0, 1); 0.95 is usual")
        draws: Any = 2 if self.bootstrap is None else self.bootstrap
        if isinstance(draws, bool) or not isinstance(draws, Integral) or not 2 <= int(draws) <= MOST_DRAWS:
            raise ValueError(f"bootstrap: {self.bootstrap!r} draws; give 2 to {MOST_DRAWS:,}, or leave it out")
        object.__setattr__(self, "r", _numbers("r", self.r))
        for r in self.r:
            if not -1.0 < r <= MOST_R:
                raise ValueError(f"r: {r:g}; scores are proper for r > -1, and computed up to {MOST_R:g}")
        if self.window is not None:
            object.__setattr__(self, "window", str(self.window))
            if not re.fullmatch(r"[1-9]\d{0,8}[dm]?", self.window):
                raise ValueError(f"window: {self.window!r:.40} is none of 30d (days), 12m (months), 100 (cases)")
        if self.shrink not in ("auto", "none"):
            raise ValueError(f"shrink: {self.shrink!r} is none of 'auto', 'none'")
        for name, least in (("lags", 0), ("horizon", 1)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or value < least):
                raise ValueError(f"{name}: {value!r} is not a whole number from {least}")
        if self.lags is not None and self.horizon is not None:
            raise ValueError("horizon: lags are given too\n  give one of them")
        seed: Any = self.random_state
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0):
            raise ValueError(
                f"random_state: {self.random_state!r} is not a whole number from 0; it is the seed of draws"
            )

    def require(self, held: Collection[str], dashes: str = "", times: float = math.inf, *, dates: bool = True) -> None:
        """Refuse options without effect on data that hold only these: classes, groups, time or cluster.

        dashes  "--" where options were typed
        times   number of different times
        dates   False: they are plain numbers
        """
        for name, needed in NEEDS.items():
            value = getattr(self, name)
            if value == USUAL.get(name, getattr(Plan, name)) or needed in held:
                continue
            add = f"--{needed.removesuffix('s')} COL" if dashes else f"{needed}="
            add += f" instead of {dashes}cluster" if needed == "time" and "cluster" in held else ""
            option = f"{dashes}{name.replace('_', '-') if dashes else name} {value}"
            remedy = "leave it out" if needed == "classes" else f"add {add}, or leave it out"
            raise ValueError(f"{option} has no effect without {needed}\n  {remedy}")
        if self.window is not None and self.window[-1] in "dm" and not dates:
            raise ValueError(
                f"{dashes}window {self.window}: the times are numbers, not dates\n  give a number of cases, such as 100"
            )
        for name in ("lags", "horizon"):
            if (getattr(self, name) or 0) >= times:
                value = getattr(self, name)
                raise ValueError(f"{dashes}{name} {value}: there are only {times} times\n  give a smaller number")

    @property
    def limits(self) -> tuple[float, float]:
        """Floor and ceiling of the probabilities: N17 clips on both sides, other plans only below."""
        return (self.floor, 1.0 - self.floor) if self.preset == "N17" else (self.floor, 1.0)

    @property
    def cuts(self) -> tuple[float, ...]:
        """Given edges, each an atom of the grid, so that [a, b) and (a, b] are both exact."""
        return _cuts(self.floor, self.end_width, self.preset)

    def options(self) -> dict[str, object]:
        return dict(vars(self))


def _number(name: str, value: Any) -> float:
    """Return an option as a float; texts and truth values are none."""
    try:
        if isinstance(value, (str, bytes, bool)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, ArithmeticError):
        raise ValueError(f"{name}: {value!r:.80} is not a number") from None


def _numbers(name: str, values: Any) -> tuple[float, ...]:
    """Return one number or several as floats."""
    one = isinstance(values, (str, bytes)) or not hasattr(values, "__iter__") or getattr(values, "ndim", 1) == 0
    return tuple(_number(name, value) for value in ([values] if one else values))


@lru_cache(maxsize=64)
def _cuts(floor: float, end_width: float, preset: str | None) -> tuple[float, ...]:
    cuts = {i / ERROR_BINS for i in range(1, ERROR_BINS)} | {*FLOORS, floor, end_width, 1.0 - end_width}
    if preset == "N17":
        cuts |= {i / 100 for i in range(1, 100)} | {1.0 - floor}
    return tuple(sorted(c for c in cuts if 0.0 < c < 1.0))
