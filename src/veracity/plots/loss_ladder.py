"""The parts of the loss: the savings by prior correction, recalibration and a better model, and chance."""

from __future__ import annotations

import altair as alt

from veracity.measures import quantity
from veracity.plots import _style as style
from veracity.records.reading import Reading
from veracity.records.sections import Losses
from veracity.results.assessment import Assessment
from veracity.words import RULES, SCORE_OF, capital, decimals, finite, number, percent, value

OF, ORDER, TITLE = "assessment", 40, "Loss ladder"
COLUMNS = {"part": ("part", ""), "value": ("loss", ".4~g"), **style.INTERVAL, "remedy": ("what removes it", "")}
REMEDIES = {
    "L": "",
    "CL": "recalibration",
    "AL": "prior correction",
    "PCL": "recalibration with labels",
    "GL": "a better model",
    "RL": "a better model, or nothing",
    "IL": "nothing",
    "remainder": "left over where C was fitted in the same rows",
}
SAVED, LEFT = "saved by a remedy", "all, and what remains"
NEGLIGIBLE = 5e-7


def _losses(result: Assessment) -> tuple[str, Losses | None]:
    """Return the rule and its losses: the log loss, or the Brier score where the log loss is infinite."""
    for rule in RULES:
        losses = result.losses(rule)
        if finite(losses.L) is not None:
            return rule, losses
    return "log", None


def rows(result: Assessment) -> style.Rows:
    """Return the steps from all of the loss down to what remains; each begins where the one before ended."""
    _, losses = _losses(result)
    if losses is None:
        return []
    split = finite(losses.GL) is not None and finite(losses.IL) is not None
    top = float(losses.L)
    digits = decimals(losses.L)
    steps = [_step("L", losses.L, 0.0, top, digits)]
    parts = ("AL", "PCL") if finite(losses.PCL) is not None else ("CL",)
    for name in (*parts, *(("GL",) if split else ()), "remainder"):
        loss = losses.readings().get(name)
        size = finite(loss)
        if size is not None and not (name == "remainder" and abs(size) < NEGLIGIBLE):
            end = max(top - size, 0.0)
            steps.append(_step(name, loss, end, top, digits))
            top = end
    last, loss = ("IL", losses.IL) if split else ("RL", losses.RL)
    if (size := finite(loss)) is not None:
        steps.append(_step(last, loss, 0.0, max(size, 0.0), digits))
    return steps


def _step(name: str, loss: Reading | None, start: float, stop: float, digits: int) -> dict[str, object]:
    described = quantity(f"losses.{name}")
    part = described.within(quantity("losses.CL"))
    return {
        "part": part,
        **style.reading(loss),
        "from": start,
        "to": stop,
        "remedy": REMEDIES[name],
        "kind": SAVED if name in ("CL", "AL", "PCL", "GL") else LEFT,
        "label": f"{part}: {number(loss, digits) if abs(value(loss) or 0.0) >= NEGLIGIBLE else 'nothing'}",
    }


def caption(result: Assessment) -> str:
    """Return how much recalibration saves of the loss, and what remains."""
    rule, losses = _losses(result)
    if losses is None:
        return ""
    saved, total, least = finite(losses.CL) or 0.0, float(losses.L), finite(losses.CL.low)
    whole = f"the {RULES[rule]} of {number(losses.L)}"
    if total <= 0.0:
        return f"There is nothing to save: the {RULES[rule]} is 0."
    if saved < NEGLIGIBLE:
        return f"Recalibration would save nothing of {whole}; all of it needs a better model, or is chance."
    if least is not None and least <= 0.0:
        return f"It is not certain that recalibration saves anything; {whole} needs a better model, or is chance."
    certain = f" (at least {number(least, decimals(losses.CL))})" if least is not None else ""
    return (
        f"Recalibration saves {number(losses.CL)}{certain} of {whole}, {percent(saved / total, 0)}; "
        "the rest needs a better model, or is chance."
    )


def chart(result: Assessment) -> style.Chart:
    """Waterfall of L = AL + PCL + GL + IL (KF15 section 5); GL + IL as one step where only their sum is known."""
    steps = style.present(rows(result), "loss_ladder", "finite losses")
    rule, _ = _losses(result)
    order = [step["part"] for step in steps]
    y = alt.Y("part:N", sort=order, axis=None, scale=alt.Scale(paddingInner=0.1))
    base = style.points(steps)
    name = RULES[rule]
    layers: list[alt.Chart] = [
        base.mark_bar(height=16, yOffset=9).encode(
            x=alt.X("from:Q", title=capital(name), scale=alt.Scale(zero=True)),
            x2=alt.X2("to:Q"),
            y=y,
            **style.by("kind", [LEFT, SAVED], "color"),
            tooltip=style.tips(COLUMNS),
        ),
        base.mark_text(style="note", align="left", baseline="middle", dy=-10, x=2).encode(
            y=y, text=alt.Text("label:N")
        ),
    ]
    note = "From all of the loss down to what no recalibration removes."
    baseline = finite(result.baseline.score(SCORE_OF[rule]))
    if baseline is not None:
        line = style.points([{"x": baseline, "name": "baseline"}]).mark_rule(style="reference")
        layers.append(line.encode(x=alt.X("x:Q"), tooltip=style.tips({"name": ("", ""), "x": ("", ".4~g")})))
        note += f" Dashed: the baseline, {number(baseline)}."
    return style.layered(f"{TITLE}: {name}", note, *layers, height=46 * len(steps))
