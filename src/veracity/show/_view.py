"""A document arranged for the page: which rows, in which order, under which words. Numbers stay as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from veracity import plots, words
from veracity.plots._style import document, name_of
from veracity.show import _figures
from veracity.show._figures import figure
from veracity.show._table import is_table, table_numbers

MOST_MODELS = 6  # with a section of their own: the best and the worst by log loss
MOST_WHOLE = 3  # models with every picture; more have the essential ones, so that the page stays small
ESSENTIAL = ("reliability", "loss_ladder", "model_versus_source", "groups", "surprises")
MOST_SIDE_BY_SIDE = 20
MOST_CURVES = 6  # as many as there are colours
MOST_GROUPS = 60

View = dict[str, Any]


def page(result: Any) -> View:
    """Everything the page shows."""
    found = document(result)
    if "models" not in found:
        one = model(found, "m1")
        return {"kind": "one", "title": one["head"], "models": [one], "definitions": definitions([found])}
    ranked = sorted(found["models"].items(), key=lambda item: words.rank(item[1]))
    shown = dict(_ends(ranked, MOST_MODELS))
    names = None if len(shown) <= MOST_WHOLE else ESSENTIAL
    models = [model({**d, "model": name}, f"m{i}", names) for i, (name, d) in enumerate(ranked, 1) if name in shown]
    return {
        "kind": "many",
        "title": f"{words.count(len(ranked), 'model')} side by side",
        "side": side_by_side(found, ranked),
        "models": models,
        "left_out": len(ranked) - len(models),
        "definitions": definitions([d for _, d in ranked[:1]]),
    }


def summary(result: Any) -> View:
    """What a notebook cell shows: no figures."""
    found = document(result)
    if "models" in found:
        ranked = sorted(found["models"].items(), key=lambda item: words.rank(item[1]))
        return {"kind": "many", "rows": [_side_row(name, d) for name, d in _ends(ranked, MOST_SIDE_BY_SIDE)]}
    if is_table(found):
        return {"kind": "table", "numbers": table_numbers(found), "n": found.get("n")}
    return {"kind": "one", **_first_screen(found)}


def model(found: Mapping[str, Any], key: str, names: Sequence[str] | None = None) -> View:
    """One model's part of the page, with the pictures named or all there are."""
    wanted = [
        module
        for module in _figures.modules("assessment")
        if names is None or _figures.name_of_picture(module) in names
    ]
    figures = [made for module in wanted if (made := figure(module, found, key)) is not None]
    first = next((f for f in figures if f["name"] == "reliability"), None)
    return {
        "key": key,
        **_first_screen(found),
        "picture": first,
        "figures": [f for f in figures if f is not first],
        "losses": losses(found),
        "terms": terms(found),
        "errors": calibration_errors(found),
        "groups": groups(found),
        "findings": found.get("findings") or [],
        "reading": reading(found),
        "provenance": provenance(found),
        "papers": words.PAPERS,
    }


def _first_screen(found: Mapping[str, Any]) -> View:
    return {
        "name": name_of(found),
        "head": head(found),
        "sentences": words.sentences(found),
        "verdict": found.get("verdict"),
        "grave": words.grave(found),
        "level": words.level(found),
        "means": means(found),
        "slope": found.get("slope"),
        "scores": scores(found),
        "remedies": remedies(found),
        "floor": words.floor_note(found),
    }


def head(found: Mapping[str, Any]) -> str:
    """File, model, number of cases, classes, date: one line."""
    made = found.get("provenance") or {}
    inputs = [
        str(i.get("path") or i.get("name") or "") if isinstance(i, Mapping) else str(i)
        for i in made.get("inputs") or []
    ]
    own = [path for path in inputs if _stem(path) == found.get("model")]
    inputs = own or inputs
    classes = [str(c) for c in found.get("classes") or []]
    named = ", ".join(classes) if len(classes) <= 4 else f"{classes[0]} … {classes[-1]}"
    parts = [
        ", ".join(filter(None, inputs[:3])) + (f" and {len(inputs) - 3} more" if len(inputs) > 3 else ""),
        str(found["model"]) if found.get("model") and not any(_stem(i) == found["model"] for i in inputs) else "",
        words.count(int(found["n"]), "case") if found.get("n") is not None else "",
        f"{len(classes)} classes: {named}" if classes else "",
        str(made.get("date") or "")[:16].replace("T", " "),
    ]
    return " · ".join(part for part in parts if part)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def means(found: Mapping[str, Any]) -> list[View]:
    stated, borne = found.get("reported") or {}, found.get("measured") or {}
    ratio = found.get("divergence") or {}
    return [
        {
            "word": words.WORDS[f"reported.{name}"],
            "short": words.SHORT[name],
            "stated": stated.get(name),
            "borne": borne.get(name),
            "ratio": ratio.get(name),
            "bars": [
                bar for bar in (_bar(words.STATED, stated.get(name)), _bar(words.BORNE_OUT, borne.get(name))) if bar
            ],
        }
        for name in words.MEANS
        if stated.get(name) is not None
    ]


def _bar(side: str, reading: Any) -> View | None:
    """Where point and interval stand on a bar from 0 to 100."""
    at = words.value(reading)
    if at is None or not 0 <= at <= 1.5:
        return None
    low, high = reading.get("low"), reading.get("high")
    low, high = (at, at) if low is None or high is None else (low, high)
    clipped = [100 * min(max(x, 0.0), 1.0) for x in (at, low, high)]
    return {"side": side, "at": clipped[0], "low": clipped[1], "width": clipped[2] - clipped[1]}


SCORES = (
    ("log_loss", words.HONEST, "number"),
    ("brier", words.HONEST, "number"),
    ("half_brier", words.HONEST, "number"),
    ("spherical", words.HONEST, "number"),
    ("perplexity", words.HONEST, "number"),
    ("prediction_accuracy", words.NOT_HONEST, "percent"),
    ("auc", words.NOT_HONEST, "number"),
)


def scores(found: Mapping[str, Any]) -> list[View]:
    held, base = found.get("scores") or {}, found.get("baseline") or {}
    rows = [
        {
            "word": words.WORDS[f"scores.{name}"],
            "value": held[name],
            "base": base.get(name),
            "honest": honest,
            "show": show,
        }
        for name, honest, show in SCORES
        if held.get(name) is not None
    ]
    error = (found.get("calibration_error") or {}).get("top_label")
    if error:
        word = words.WORDS["calibration_error.top_label"]
        rows.append({"word": word, "value": error, "base": None, "honest": words.NOT_HONEST, "show": "number"})
    return rows


def remedies(found: Mapping[str, Any]) -> list[View]:
    ordered = words.helpful(found)
    ordered += [entry for entry in found.get("remedies") or [] if entry not in ordered]
    return [
        {
            "name": words.remedy(entry)[0],
            "needs": words.remedy(entry)[1],
            "log": words.gain(entry, "log"),
            "brier": words.gain(entry, "brier"),
            "rules_out": words.value(words.gain(entry, "log")) == float("-inf"),
        }
        for entry in ordered
    ]


def losses(found: Mapping[str, Any]) -> list[View]:
    held = found.get("losses") or {}
    return [
        {"name": name, "word": words.WORDS[f"losses.{name}"], "log": log, "brier": (held.get("brier") or {}).get(name)}
        for name, log in (held.get("log") or {}).items()
        if f"losses.{name}" in words.WORDS
    ]


def terms(found: Mapping[str, Any]) -> list[View]:
    held = found.get("decomposition") or {}
    return [
        {
            "name": name,
            "word": words.WORDS[f"decomposition.{name}"],
            "log": log,
            "brier": (held.get("brier") or {}).get(name),
        }
        for name, log in (held.get("log") or {}).items()
        if f"decomposition.{name}" in words.WORDS
    ]


def calibration_errors(found: Mapping[str, Any]) -> list[View]:
    held = found.get("calibration_error") or {}
    return [
        {"word": words.WORDS[f"calibration_error.{name}"], **error}
        for name, error in held.items()
        if error and f"calibration_error.{name}" in words.WORDS
    ]


def groups(found: Mapping[str, Any]) -> list[View]:
    made = []
    for column, levels in (found.get("groups") or {}).items():
        ordered = sorted(levels.items(), key=lambda item: -float(item[1].get("n") or 0))
        rows = [{**part, "said": part.get("level"), "level": str(level)} for level, part in ordered[:MOST_GROUPS]]
        left_out, levelled = len(ordered) - len(rows), any(row["said"] for row in rows)
        made.append({"column": str(column), "rows": rows, "left_out": left_out, "levelled": levelled})
    return made


def reading(found: Mapping[str, Any]) -> list[str]:
    """How the input was read, as lines."""
    return list(_lines((found.get("provenance") or {}).get("reading")))


def _lines(held: Any) -> Iterator[str]:
    if held is None:
        return
    if isinstance(held, str):
        yield from held.splitlines()
    elif isinstance(held, Mapping):
        for name, value in held.items():
            if isinstance(value, (Mapping, list)):
                yield from _lines(value)
            else:
                yield f"{name}: {value}"
    else:
        for item in held:
            yield from _lines(item)


def provenance(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    made = dict(found.get("provenance") or {})
    made.pop("reading", None)
    return [(name, _flat(value)) for name, value in made.items() if value not in (None, [], {})]


def _flat(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {_flat(held)}" for name, held in value.items())
    if isinstance(value, (list, tuple)):
        return "; ".join(_flat(held) for held in value[:20]) + (
            f"; and {len(value) - 20} more" if len(value) > 20 else ""
        )
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def definitions(found: list[Mapping[str, Any]]) -> list[View]:
    """Every number on the page with its formula and where it comes from."""
    rows = []
    for path, word in words.WORDS.items():
        section, _, name = path.partition(".")
        if any(_holds(one, section, name) for one in found):
            rows.append({"path": path, "word": word})
    return rows


def _holds(found: Mapping[str, Any], section: str, name: str) -> bool:
    held = found.get(section)
    if not held or not name or section in ("losses", "decomposition", "corp"):
        return bool(held)
    return bool(held.get(name) is not None)


def side_by_side(found: Mapping[str, Any], ranked: list[tuple[str, Any]]) -> View:
    shown = _ends(ranked, MOST_SIDE_BY_SIDE)
    pictured = {"compare": shown, "risk_profile": _ends(ranked, MOST_CURVES)}
    figures = [
        figure(plots.module(name), {**found, "models": dict(models)}, "all") for name, models in pictured.items()
    ]
    return {
        "rows": [_side_row(name, one) for name, one in shown],
        "left_out": len(ranked) - len(shown),
        "figures": [made for made in figures if made is not None],
    }


def _side_row(name: str, found: Mapping[str, Any]) -> View:
    return {
        "name": name,
        "n": found.get("n"),
        "verdict": found.get("verdict"),
        "slope": found.get("slope"),
        "means": [(found.get("reported") or {}).get(mean) for mean in words.MEANS],
        **{score: (found.get("scores") or {}).get(score) for score in ("log_loss", "brier", "prediction_accuracy")},
    }


def _ends(ranked: list[tuple[str, Any]], most: int) -> list[tuple[str, Any]]:
    """All of them, or the best and the worst."""
    return ranked if len(ranked) <= most else ranked[: most // 2] + ranked[-(most // 2) :]
