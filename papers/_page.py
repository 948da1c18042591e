"""The page of a reproduction: one self-contained HTML file, figures as inline SVG."""

from __future__ import annotations

import html
import re
from typing import Any

from ._rows import AGREES, DIFFERS, DOCUMENTED, SHOWN, Section, tally

TITLE = "The papers, reproduced"
WORDS = {AGREES: "agrees", DOCUMENTED: "documented", SHOWN: "shown", DIFFERS: "DIFFERS"}
MEANING = {
    AGREES: "the paper's number is reproduced to half a unit of its last digit, or its claim holds",
    DOCUMENTED: "the paper differs, and the note says why",
    SHOWN: "the paper prints no number to compare with",
    DIFFERS: "differs without a known reason",
}

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --soft: #5c5c5c; --line: #d9d9d9; --paper: #fff; --box: #f6f6f4; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e9e9e6; --soft: #a5a5a0; --line: #3c3c3a; --paper: #161615; --box: #20201f; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { margin-top: 3rem; border-bottom: 2px solid var(--line); } h3 { margin-top: 2rem; }
nav a { margin-right: 1rem; } a { color: inherit; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td:first-child { min-width: 13rem; } td.verdict { white-space: nowrap; } td.note { color: var(--soft); }
.agrees::before { content: "✓ "; } .documented::before { content: "≠ "; } .differs { font-weight: bold; }
.differs::before { content: "✗ "; } .shown { color: var(--soft); } .about { color: var(--soft); max-width: 48rem; }
figure { margin: 1.5rem 0; background: #fff; color: #1b1b1b; padding: .8rem; border: 1px solid var(--line);
  overflow-x: auto; break-inside: avoid; }
figcaption { font-size: .9rem; margin-top: .5rem; } svg { max-width: 100%; height: auto; }
@media print { body { max-width: none; } nav { display: none; } }
"""


def page(papers: dict[str, tuple[str, list[Section]]]) -> str:
    """HTML of {key: (title, sections)}."""
    parts = [
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{TITLE}</title>',
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>',
        f"<h1>{TITLE}</h1>",
        "<p>Every numbered table, figure and quoted number: the paper beside the program.</p>",
        "<ul>" + "".join(f"<li><b>{WORDS[v]}</b>: {html.escape(MEANING[v])}</li>" for v in WORDS) + "</ul>",
        "<nav>" + "".join(f'<a href="#{key}">{key}</a>' for key in papers) + "</nav>",
        _overview(papers),
    ]
    for key, (title, sections) in papers.items():
        parts.append(f'<h2 id="{key}">{key}</h2><p class="about">{html.escape(title)}</p>')
        parts += [_section(section) for section in sections]
    return _renumbered("\n".join([*parts, "</body></html>\n"]))


def _renumbered(text: str) -> str:
    """Clip paths numbered in the order of the page: the converter counts on from page to page."""
    numbers: dict[str, str] = {}
    return re.sub(r"\bclip\d+\b", lambda found: numbers.setdefault(found.group(), f"clip{len(numbers)}"), text)


def _overview(papers: dict[str, tuple[str, list[Section]]]) -> str:
    head = "".join(f"<th>{WORDS[v]}</th>" for v in WORDS)
    rows = ""
    for key, (_, sections) in papers.items():
        counts = tally(sections)
        rows += f"<tr><td>{key}</td>" + "".join(f"<td>{counts[v]}</td>" for v in WORDS) + "</tr>"
    return f"<table><thead><tr><th>paper</th>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _section(section: Section) -> str:
    parts = [f"<h3>{html.escape(section.title)}</h3>"]
    if section.about:
        parts.append(f'<p class="about">{html.escape(section.about)}</p>')
    for figure in section.figures:
        parts.append(f"<figure>{svg(figure.chart)}<figcaption>{html.escape(figure.caption)}</figcaption></figure>")
    if section.rows:
        body = "".join(
            f"<tr><td>{html.escape(row.item)}</td><td>{html.escape(row.paper)}</td>"
            f'<td>{html.escape(row.computed)}</td><td class="verdict {row.verdict}">{WORDS[row.verdict]}'
            f'</td><td class="note">{html.escape(row.note)}</td></tr>'
            for row in section.rows
        )
        head = "<tr><th>item</th><th>paper</th><th>computed</th><th>agrees?</th><th>note</th></tr>"
        parts.append(f"<table><thead>{head}</thead><tbody>{body}</tbody></table>")
    return "\n".join(parts)


def svg(chart: Any) -> str:
    """The chart as SVG text."""
    import vl_convert

    text: str = vl_convert.vegalite_to_svg(chart.to_json())
    return text
