"""The tables of the documentation, from bench/results.json: nothing there is typed by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
TABLES = {"engineering.md": ("jobs", "assessment", "document"), "scaling.md": ("streaming",)}


def write(results: dict[str, Any]) -> None:
    """Put the tables between the marks of each page: work, goal, measured, machine and date."""
    for page, names in TABLES.items():
        path = DOCS / page
        text = path.read_text()
        for name in names:
            if "table" not in results["benchmarks"].get(name, {}):
                continue
            mark = re.compile(rf"(<!-- bench {name} -->\n).*?(<!-- end of bench -->)", re.DOTALL)
            text = mark.sub(lambda found, name=name: found[1] + table(results["benchmarks"][name]) + found[2], text)
        path.write_text(text)


def table(found: dict[str, Any]) -> str:
    """Return one benchmark as Markdown."""
    here = found["machine"]
    load = max(here["load_before"])
    busy = f", while others used it (load {load:.1f})" if load > 1.0 else ""
    lines = [f"On {here['cores']} cores of {here['processor']}, {here.get('date', 'no date')}{busy}:", ""]
    lines += ["| work | goal | measured |", "|---|---|---|"]
    for line in found["table"]:
        target, measured = line["target"], line["measured"]
        goal = "" if target is None else f"≤ {target:g}"
        lines.append(f"| {line['work']} | {goal} | {'–' if measured is None else f'{measured:.3g}'} |")
    return "\n".join(lines) + "\n"
