"""Which tallies add."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veracity.state.tally import Tally


def require_same_kind(first: Tally, other: Tally) -> None:
    """Refuse to add tallies of different plans or classes, naming the option."""
    from veracity.state.tally import Tally

    if not isinstance(other, Tally):
        raise TypeError(f"a Tally adds to a Tally, not to {type(other).__name__}")
    if first.plan is not other.plan:  # batches of a stream share theirs
        _require_same_plan(asdict(first.plan), asdict(other.plan))
    if first.classes != other.classes:
        raise ValueError(
            f"tallies of different classes do not add: {list(first.classes)} and {list(other.classes)}; "
            "give both the same labels="
        )
    if first.sums.rows and other.sums.rows and first.measurable != other.measurable:
        raise ValueError("a tally of realised probabilities only does not add to one of whole forecasts")


def _require_same_plan(mine: dict[str, Any], theirs: dict[str, Any]) -> None:
    for option, value in mine.items():
        if value != theirs[option]:
            raise ValueError(
                f"tallies of different plans do not add: {option} is {value!r} in one and {theirs[option]!r} in "
                "the other; make both with the same options"
            )
