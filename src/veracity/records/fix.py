"""The advice that follows from the verdict, as a frozen record."""

from __future__ import annotations

from dataclasses import dataclass

from veracity.records.sections import Gain, Section


@dataclass(frozen=True)
class Fix(Section):
    """What to do: "fix", "possible fix", "base rate", "floor" or "none", with the reason where there is no gain.

    `strength` is the share of the fitted step that is taken: a careful correction goes as far as its evidence.
    """

    advice: str
    reason: str | None = None
    map: str | None = None
    strength: float | None = None
    parameters: str | None = None
    log: Gain | None = None
    command: str | None = None
    python: str | None = None
