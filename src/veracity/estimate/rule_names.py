"""The names of scoring rules in documents: "log", "brier", or r as text."""

from __future__ import annotations

import math

RULES = ("log", "brier")


def rule_key(rule: str | float) -> str:
    """Return the name of a rule in documents: "log", "brier", or r as text."""
    if isinstance(rule, str) and rule in RULES:
        return rule
    try:
        r = float(rule)
    except (TypeError, ValueError):
        raise ValueError(f"rule: {rule!r} is not one of {', '.join(RULES)}, and no number r > -1") from None
    if not r > -1.0 or not math.isfinite(r):
        raise ValueError(f"rule: r = {r:g}; scores are proper for r > -1")
    return {0.0: "log", 1.0: "brier"}.get(r, repr(r))


def rule_of(key: str) -> str | float:
    """Return the rule of a name in documents."""
    return key if key in RULES else float(key)


def parameter_of(key: str) -> float:
    """Return the r of a rule by its name in documents."""
    return {"log": 0.0, "brier": 1.0}[key] if key in RULES else float(key)
