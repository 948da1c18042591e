"""The order of categories (best to worst) and outcomes (event last), by names, words or data; notes say which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.inputs.events import EVENT_WORDS, NEGATIONS
from veracity.words import in_full, natural

NO_EVENT = {
    *EVENT_WORDS.values(),
    *("none", "neg", "negativ", "control", "-", "no disease", "healthy", "well", "gesund", "sain"),
    *("low", "low risk", "not at risk", "test negative", "test -"),
}
EVENT = {
    *EVENT_WORDS,
    *("pos", "positiv", "case", "+", "disease", "diseased", "sick", "ill", "krank", "malade"),
    *("high", "high risk", "at risk", "test positive", "test +"),
}


def event_last(names: Sequence[str]) -> list[str] | None:
    """Return two names in the order no event, event, if their words decide it; else None.

    >>> event_last(["Yes", "No"])
    ['No', 'Yes']
    >>> event_last(["spray", "no spray"])
    ['no spray', 'spray']
    """
    plain = [name.strip().lower().removesuffix(".0") for name in names]
    for first, last in ((0, 1), (1, 0)):
        negated = len(plain) == 2 and plain[first] in [negation + plain[last] for negation in NEGATIONS]
        if negated or (len(plain) == 2 and plain[first] in NO_EVENT and plain[last] in EVENT):
            return [names[first], names[last]]
    return None


def distinct(values: Sequence[Any]) -> list[str]:
    return list(dict.fromkeys(str(value) for value in values))


def outcomes(seen: list[str], columns: Sequence[Any] | None) -> tuple[list[str], tuple[str, ...]]:
    """Return outcomes from no event to event, and notes about their order."""
    if columns is not None:
        return [seen[j] for j in given("columns", columns, seen)], ()
    ordered = event_last(seen)
    if ordered is not None:
        return ordered, ()
    if len(seen) == 2:
        a, b = sorted(seen)
        raise ValueError(
            f"outcomes {a!r} and {b!r}: which one is the event?\n"
            f"  name it last:  --columns {b!r},{a!r}   or   --columns {a!r},{b!r}".replace("'", '"')
        )
    in_order = sorted(seen, key=natural)
    return in_order, (f"Outcomes are in the order {', '.join(in_order)}; --columns gives another.",)


def places(values: Sequence[Any], names: Sequence[str]) -> NDArray[np.int64]:
    """Return the place of each value among the names."""
    place = {name: i for i, name in enumerate(names)}
    return np.array([place[str(value)] for value in values], dtype=np.int64)


def by_event_share(counts: NDArray[np.float64]) -> list[int]:
    total = counts.sum(1)
    share = np.divide(counts[:, -1], total, out=np.zeros(len(counts)), where=total > 0)
    return [int(i) for i in np.argsort(share, kind="stable")]


def given(argument: str, names: Sequence[Any], seen: list[str]) -> list[int]:
    wanted = [str(name) for name in names]
    if sorted(wanted) != sorted(seen):
        raise ValueError(f"{argument}: {', '.join(wanted)} are not the names in the data ({', '.join(seen)})")
    return [seen.index(name) for name in wanted]


def probability_names(f: NDArray[np.float64]) -> tuple[str, ...]:
    """Return categories named by their probability, with all digits only where six are not distinct."""
    for show in (lambda p: in_full(float(f"{p:.6g}")), in_full):
        names = [show(float(row[-1])) if len(row) == 2 else " / ".join(show(float(p)) for p in row) for row in f]
        if len(set(names)) == len(names):
            break
    return tuple(names)


def merged(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
    """Return one order of categories that contains both; refused where it would have to be guessed.

    >>> merged(("low", "high"), ("low", "medium", "high"))
    ('low', 'medium', 'high')
    """
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    if [name for name in longer if name in shorter] == list(shorter):
        return longer
    try:
        return tuple(sorted({*a, *b}, key=float))
    except ValueError:
        raise ValueError(
            f"tables with different categories do not add: {', '.join(a)} and {', '.join(b)}; "
            "give both the same categories in the same order (--rows)"
        ) from None
