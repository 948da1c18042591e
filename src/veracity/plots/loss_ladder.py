"""The loss taken apart: what matching frequencies, recalibration and a better model would save, and what is chance."""

from __future__ import annotations

from typing import Any

import altair as alt

from veracity.plots import _style as style
from veracity.words import WORDS, number

OF, ORDER = "assessment", 20
CAPTION = (
    "The loss taken apart, step by step: what goes away by matching the class frequencies, what "
    "recalibration with labelled cases would remove, and what only a better model, or nothing, can."
)
COLUMNS = {
    "part": ("part", ""),
    "value": ("loss", ".4~g"),
    "low": ("low", ".4~g"),
    "high": ("high", ".4~g"),
    "remedy": ("what removes it", ""),
}
UNITS = {"log": "log loss (nats)", "brier": "Brier score (0 to 2)"}
REMEDIES = {
    "L": "",
    "AL": "matching class frequencies",
    "PCL": "recalibration with labels",
    "GL": "a better model",
    "RL": "a better model, or nothing",
    "IL": "nothing",
    "remainder": "left over by the bins",
}


def rows(result: Any, rule: str = "log") -> style.Rows:
    """The steps from all of the loss down to what remains; each begins where the one before ended."""
    losses = (style.document(result).get("losses") or {}).get(rule) or {}
    total = style.finite(losses.get("L"))
    if total is None:
        return []
    split = style.finite(losses.get("GL")) is not None and style.finite(losses.get("IL")) is not None
    steps, top = [_step("L", losses["L"], 0.0, total)], total
    for name in ("AL", "PCL", *(("GL",) if split else ()), "remainder"):
        size = style.finite(losses.get(name))
        if size is not None and not (name == "remainder" and abs(size) < 5e-7):
            steps.append(_step(name, losses[name], top - size, top))
            top -= size
    last = "IL" if split else "RL"
    if (size := style.finite(losses.get(last))) is not None:
        steps.append(_step(last, losses[last], 0.0, size))
    return steps


def _step(name: str, reading: Any, start: float, stop: float) -> dict[str, Any]:
    value = style.finite(reading)
    return {
        "part": WORDS[f"losses.{name}"].full,
        "value": value,
        "low": style.end(reading, "low"),
        "high": style.end(reading, "high"),
        "from": start,
        "to": stop,
        "remedy": REMEDIES[name],
        "kind": "saved by a remedy" if name in ("AL", "PCL", "GL") else "all, and what remains",
        "label": f"{WORDS[f'losses.{name}'].full}: {number(value)}",
    }


def chart(result: Any, rule: str = "log") -> style.Chart:
    """Waterfall of L = AL + PCL + GL + IL (KF15 section 5); GL + IL as one step where they cannot be told apart."""
    found = style.document(result)
    steps = rows(result, rule)
    if not steps and rule == "log":  # an infinite log loss cannot be drawn, the Brier score can
        rule, steps = "brier", rows(result, "brier")
    style.present(steps, "loss_ladder", "finite losses")
    order = [step["part"] for step in steps]
    kinds = ["saved by a remedy", "all, and what remains"]
    y = alt.Y("part:N", sort=order, axis=None, scale=alt.Scale(paddingInner=0.1))
    base = alt.Chart(style.data(steps))
    baseline = style.finite((found.get("baseline") or {}).get("log_loss" if rule == "log" else "brier"))
    layers: list[style.Chart] = [
        base.mark_bar(height=16, yOffset=9).encode(
            x=alt.X("from:Q", title=UNITS[rule][0].upper() + UNITS[rule][1:], scale=alt.Scale(zero=True)),
            x2="to:Q",
            y=y,
            color=alt.Color("kind:N", scale=style.categories(kinds[::-1]), title=None),
            tooltip=style.tips(COLUMNS),
        ),
        base.mark_text(style="note", align="left", baseline="middle", dy=-10, x=2).encode(y=y, text="label:N"),
    ]
    note = "From all of the loss down to what no recalibration removes."
    if baseline is not None:
        rule_at = alt.Chart(style.data([{"x": baseline, "name": "always saying the base rate"}]))
        layers.append(
            rule_at.mark_rule(style="reference").encode(
                x="x:Q", tooltip=style.tips({"name": ("", ""), "x": ("", ".4~g")})
            )
        )
        note += f" Dashed: always saying the base rate, {number(baseline)}."
    return alt.layer(*layers).properties(
        width=style.WIDTH, height=46 * len(steps), title=style.title(f"Loss ladder: {UNITS[rule]}", note)
    )
