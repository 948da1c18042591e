"""What decision-makers ask for, as options keep it: thresholds, costs, another prevalence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from veracity.options import Option, OptionError, canonical

ROUNDING = 1e-9  # by which shares may miss one
EVENT = "event"  # names the positive class of two, whatever it is called
FALSE_ALARM, MISS = "false_alarm", "miss"


class Costs(NamedTuple):
    """What an error costs a decision-maker."""

    false_alarm: float
    miss: float

    @property
    def threshold(self) -> float:
        from veracity.formulas.decisions import threshold_of_costs  # here, so that help imports no NumPy

        return threshold_of_costs(*self)


def take_thresholds(option: Option, value: Any) -> tuple[float, ...]:
    """Return probabilities to act from, rising, from numbers or a comma list."""
    thresholds = []
    for item in _items(value):
        x = _share(option, item, "0.1,0.2")
        if not 0.0 < x < 1.0:
            percent = f"{x / 100.0:g} for {x:g} %" if 1.0 <= x < 100.0 else "such as 0.1,0.2"
            raise OptionError(option.name, f"{x:g} is outside (0, 1)\n  give probabilities: {percent}")
        thresholds.append(x)
    if isinstance(value, str) and not thresholds:
        raise OptionError(option.name, f"{value!r:.40} holds no number\n  give probabilities such as 0.1,0.2")
    return tuple(sorted(set(thresholds)))


def take_costs(option: Option, value: Any) -> tuple[str, ...]:
    """Return the costs of each decision-maker as "false_alarm=…,miss=…"."""
    several = [value] if isinstance(value, (str, Mapping)) else list(value or ())
    return tuple(
        f"{FALSE_ALARM}={c.false_alarm:.12g},{MISS}={c.miss:.12g}" for c in (_costs(option, one) for one in several)
    )


def costs_of(texts: Iterable[str]) -> tuple[Costs, ...]:
    """Return the costs that `take_costs` kept."""
    return tuple(Costs(*(float(part.partition("=")[2]) for part in text.split(","))) for text in texts)


def _costs(option: Option, value: Any) -> Costs:
    named = _named(option, value, f"{FALSE_ALARM}=1,{MISS}=8")
    remedy = f'\n  give both, such as "{FALSE_ALARM}=1,{MISS}=8"'
    for name in (FALSE_ALARM, MISS):
        if name not in named:
            raise OptionError(option.name, f"{name} is missing{remedy}")
    for name, x in named.items():
        if name not in (FALSE_ALARM, MISS):
            raise OptionError(option.name, f"{name!r:.40} is neither {FALSE_ALARM} nor {MISS}{remedy}")
        if not (x > 0.0 and math.isfinite(x)):
            what = f"{name}={x:g}: costs of errors are positive numbers in any unit; their ratio decides"
            raise OptionError(option.name, f"{what}{remedy}")
    return Costs(named[FALSE_ALARM], named[MISS])


def take_prior(option: Option, value: Any) -> tuple[str, ...]:
    """Return the frequency of each named class as "label=share"."""
    if value is None or (not isinstance(value, str) and not len(value)):
        return ()
    named = _named(option, value, f"{EVENT}=0.05", _share)
    for name, share in named.items():
        if not 0.0 < share < 1.0:
            percent = f"{name}={share / 100.0:g} is {share:g} %" if 1.0 <= share < 100.0 else f"such as {EVENT}=0.05"
            raise OptionError(option.name, f"{name}={share:g} is outside (0, 1)\n  give frequencies: {percent}")
    return tuple(f"{name}={share!r}" for name, share in named.items())


def prior_of(texts: Iterable[str]) -> dict[str, float]:
    """Return the frequencies that `take_prior` kept."""
    parts = (text.rpartition("=") for text in texts)
    return {name: float(share) for name, _, share in parts}


def whole_prior(given: Mapping[str, float], classes: tuple[Any, ...], called: str = "prior") -> tuple[float, ...]:
    """Return the frequency of every class; of two classes one suffices. Refuses names and sums that are wrong."""
    names = [canonical(c) for c in classes]
    remedy = f'{called} "{names[-1]}=0.05"' if len(names) == 2 else f"{called} with all of {_listed(names)}, sum 1"
    alias = len(names) == 2 and EVENT not in names
    shares: dict[str, float] = {}
    for name, share in given.items():
        known = names[1] if alias and name == EVENT else name
        if known not in names:
            raise ValueError(f"{called}: no class {name!r:.40}; there are {_listed(names)}\n  {remedy}")
        if known in shares:
            raise ValueError(f"{called}: {known} is given twice\n  {remedy}")
        shares[known] = share
    if len(names) == 2 and len(shares) == 1:
        ((name, share),) = shares.items()
        shares[names[1 - names.index(name)]] = 1.0 - share
    missing = [name for name in names if name not in shares]
    if missing:
        raise ValueError(f"{called}: {_listed(missing)} without a frequency\n  {remedy}")
    total = math.fsum(shares.values())
    if abs(total - 1.0) > ROUNDING:
        raise ValueError(f"{called}: the frequencies sum to {total:.10g}, not to 1\n  {remedy}")
    return tuple(shares[name] for name in names)


def _listed(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _items(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, str):
        return [part for part in value.split(",") if part.strip()]
    return list(value) if hasattr(value, "__iter__") else [value]


def _number(option: Option, value: Any, example: str) -> float:
    try:
        if isinstance(value, (bool, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise OptionError(option.name, f"{str(value).strip()!r:.40} is not a number\n  write {example}") from None


def _share(option: Option, value: Any, example: str) -> float:
    """Return a number, or the share that a percentage such as 10% is."""
    if isinstance(value, str) and value.strip().endswith("%"):
        return _number(option, value.strip().removesuffix("%"), example) / 100.0
    return _number(option, value, example)


def _named(
    option: Option, value: Any, example: str, number: Callable[[Option, Any, str], float] = _number
) -> dict[str, float]:
    """Return numbers by name, from a mapping or from NAME=NUMBER,…"""
    if isinstance(value, Mapping):
        return {canonical(name): number(option, x, example) for name, x in value.items()}
    numbers: dict[str, float] = {}
    for item in _items(value):
        name, equals, x = str(item).rpartition("=")
        if not equals or not name.strip():
            raise OptionError(option.name, f"{str(item).strip()!r:.40} is not NAME=NUMBER\n  write {example}")
        if canonical(name) in numbers:
            raise OptionError(option.name, f"{canonical(name)} is given twice\n  write {example}")
        numbers[canonical(name)] = number(option, x, example)
    return numbers
