"""The blocks of a table as text, Markdown, HTML or CSV."""

from __future__ import annotations

import csv
import io
import math
import textwrap
from collections.abc import Iterator
from html import escape
from typing import Any

from .page import Block, blocks, summary

WIDTH = 100


def _warnings(found: dict[str, Any]) -> list[str]:
    return [finding["message"] for finding in found["findings"]]


def text(found: dict[str, Any]) -> str:
    """For the terminal: the table, what it says, then the numbers."""
    first, *others = blocks(found)
    lines = [*_aligned(first), ""]
    for sentence in [*summary(found), *_warnings(found)]:
        lines += textwrap.wrap(sentence, WIDTH)
    for block in others:
        lines += ["", *_aligned(block)]
    return "\n".join(lines)


def _aligned(block: Block) -> list[str]:
    table = [block.header, *block.rows]
    widths = [max(len(row[j]) for row in table) for j in range(len(block.header))]
    shown = [block.title]
    for row in table:
        cells = [
            f"  {row[0]:<{widths[0]}}",
            *(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)),
        ]
        shown.append("  ".join(cells).rstrip())
    for sentence in block.under:
        shown += textwrap.wrap(sentence, WIDTH, initial_indent="  ", subsequent_indent="  ")
    return shown


def markdown(found: dict[str, Any]) -> str:
    first, *others = blocks(found)
    parts = [_markdown(first), "\n".join(f"* {s}" for s in [*summary(found), *_warnings(found)])]
    return "\n\n".join(["# Prediction–realization table", *parts, *map(_markdown, others)]) + "\n"


def _markdown(block: Block) -> str:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    rule = "|" + "|".join([":--", *["--:"] * (len(block.header) - 1)]) + "|"
    table = [f"**{block.title}**", "", line(block.header), rule, *map(line, block.rows)]
    return "\n".join([*table, *(f"\n{sentence}" for sentence in block.under)])


def html(found: dict[str, Any]) -> str:
    """For notebooks: the table and what it says; the report has the rest."""
    first, *others = blocks(found)
    said = "".join(f"<p>{escape(s)}</p>" for s in [*summary(found), *_warnings(found)])
    rest = "".join(map(block_html, others))
    details = f"<details><summary>All numbers</summary>{rest}</details>"
    return f"<div class='veracity-table'>{block_html(first)}{said}{details}</div>"


def block_html(block: Block) -> str:
    def line(cells: list[str], tag: str) -> str:
        first = f"<th scope='{'col' if tag == 'th' else 'row'}' style='text-align:left'>{escape(cells[0])}</th>"
        return (
            "<tr>"
            + first
            + "".join(f"<{tag} style='text-align:right'>{escape(c)}</{tag}>" for c in cells[1:])
            + "</tr>"
        )

    body = "".join(line(row, "td") for row in block.rows)
    under = "".join(f"<p><small>{escape(sentence)}</small></p>" for sentence in block.under)
    caption = f"<caption style='text-align:left'><b>{escape(block.title)}</b></caption>"
    return f"<table>{caption}<thead>{line(block.header, 'th')}</thead><tbody>{body}</tbody></table>{under}"


def csv_lines(found: dict[str, Any]) -> str:
    """Every number and word of the document under its JSON path; curves for pictures are left out."""
    limits = _limits(found)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["name", "value", "low", "high", "method"])
    for path, value in _flat({key: value for key, value in found.items() if key not in ("curves", "intervals")}, ""):
        writer.writerow([path, _exact(value), *limits.get(path, ("", "", ""))])
    return out.getvalue()


def _limits(found: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """{path: (low, high, method)} of the numbers that have an interval."""
    intervals = found["intervals"]
    if intervals is None:
        return {}
    last = len(found["columns"]) - 1
    held = {
        f"prior.{last}": intervals["prior"],
        **{name: intervals.get(name) for name in ("sensitivity", "specificity")},
    }
    held |= {f"predictive_values.{i}.{last}": limit for i, limit in enumerate(intervals["predictive_values"])}
    exact = {path: (*map(_exact, limit["exact"]), "Clopper-Pearson") for path, limit in held.items() if limit}
    return {**exact, "psep": (*map(_exact, intervals["psep"]["newcombe"]), "Newcombe")}


def _exact(value: Any) -> str:
    return repr(value) if isinstance(value, float) and math.isfinite(value) else str(value)


def _flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flat(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _flat(item, f"{path}.{i}")
    elif value is not None:
        yield path, value
