"""Options that were given and have no effect on the layout found: refused, never ignored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from veracity.inputs.names import run_of
from veracity.records.layout import Layout

from ..options import ReadOptions, canonical
from .free_columns import Columns
from .patterns import matching
from .proposals import Proposal, flags

USUAL = ReadOptions()


def refuse_without_effect(columns: Columns, layout: Layout) -> None:
    """Refuse the first option that the layout found does not use, with what may be meant instead."""
    options, table = columns.options, columns.table
    for name, has_effect, why, meant in _effects(columns, layout):
        if getattr(options, name) == getattr(USUAL, name) or has_effect:
            continue
        left_out: dict[str, Any] = {name: getattr(USUAL, name)} | ({"exceeds": ()} if name == "members" else {})
        given = flags(table.names(), options, replace(options, **left_out))
        proposals = [Proposal(when, left_out | instead) for when, instead in meant.items()]
        raise columns.refuse(f"{given} has no effect: {why}.", *proposals, otherwise=f"leave {given} out")


def _effects(columns: Columns, match: Layout) -> list[tuple[str, bool, str, dict[str, dict[str, Any]]]]:
    """Return (option, whether it has an effect, why not, {when: what may be meant}) of options that a layout may not
    use. Those that depend on values (missing, soft) or that every layout uses are not among them.
    """
    options, roles, k = columns.options, match.roles, len(match.classes)
    classes = tuple(canonical(label) for label in match.labels or match.classes)
    order, positive = tuple(canonical(label) for label in options.order), options.positive
    named = {c for _, _, c in matching(options.proba or options.positive_proba or "", columns.table.columns)}
    counted = next((roles[role] for role in ("n", "count") if role in roles), "")
    settled = match.derived or match.picks_only or match.stacked or bool({"events", "frequency"} & {*roles})
    several = (len(match.forecasts) > len(match.models) or "class" in roles) and not match.derived and not match.stacked

    outcome = run_of([match.outcome] if match.outcome else match.outcomes)
    outcome = f"the outcome is {outcome}" if outcome else "no outcome is read"
    forecast = f"the forecast is {run_of(match.forecasts)}"
    event = f"the event is {classes[-1]}" if k == 2 else f"there are {k} classes" if k else "no classes are read"
    event = "the event is that the pick was right" if match.picks_only else event
    together = "classes are put together as the event" if options.versus_rest else event
    alone = "the probabilities are computed" if match.derived else "each row has one probability"
    models = "one model per column" if len(match.models) > 1 else f"the layout {match.layout} has no column of models"

    pick = {"if it is the confidence in a pick": {"layout": "top"}}
    last = _other_event(classes, positive) if classes and not match.stacked and not options.versus_rest else {}
    first = {"choose the event": {"positive": order[-1]}} if k == 2 and set(order) == set(classes) else {}
    decided = k > 2 and positive in classes and not match.stacked  # the class that decisions are about
    chosen = decided or (k == 2 and classes[-1] == positive)
    return [
        ("label_file", columns.table.labels == match.outcome, outcome, {}),
        ("label", options.label in (match.outcome, *match.outcomes), outcome, {}),
        ("proba", named >= {*match.forecasts}, forecast, {}),
        ("positive_proba", named >= {*match.forecasts}, forecast, {}),
        ("members", match.derived, forecast, {}),
        ("pick", roles.get("pick") == options.pick, f"{forecast}, no confidence in a pick", pick),
        ("positive", chosen and not options.versus_rest, together, last),
        ("order", not options.labelled or (classes == order and not options.versus_rest), together, first),
        ("cut", bool(match.outcome) and not settled, f"{outcome}; limits do not make it", {}),
        ("versus_rest", k > 0 and not settled and not (options.cut and k == 2), event, {}),
        ("scale", not match.derived, alone, {}),
        ("normalise", several, alone, {}),
        ("absent", several, alone, {}),
        ("count", not counted, f"`{counted}` is the number of cases", {}),
        ("model", options.model in ("none", match.model_column), models, {}),
        ("no_header", any(c.startswith("column ") for c in columns.table.columns), "the columns have names", {}),
    ]


def _other_event(classes: tuple[str, ...], positive: str | None) -> dict[str, dict[str, Any]]:
    """Return what may be meant by an event that is none: of two classes the first, of more a class that is none."""
    if len(classes) == 2:
        return {"put the event last": {"order": classes[::-1]}} if positive == classes[0] else {}
    return {} if positive in classes else {"decide about one class": {"positive": classes[0]}}
