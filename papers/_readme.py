"""papers/README.md: every numbered item and every quoted number of the papers, where it is, its value and its kind."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from papers import Paper, module
from papers._rows import EVIDENCE, Row, Section
from veracity.formulas import CARRIES

PLACES = {  # of what is no function with an equation of its own: sections by the beginning of their titles
    "N17": {
        "Figure 1": "`veracity simulate n17-fig1-…`; `veracity.simulate.ten_dimensions`",
        "Figure 2": "`veracity simulate n17-matched`; `CoupledNormal`; `.plot('roc')`",
        "Figure 4": "`veracity simulate n17-mean-1`; `CoupledNormal`; `.plot('roc')`",
        "Figure": "`assess … --preset N17 --curve NAME`; `a.papers`, `a.bins`; `.plot('model_versus_source')`",
        "Amplitude": "`veracity simulate n17-amplitude-2`; `.plot('model_versus_source')`",
        "Equations": "`assess … --preset N17 --curve NAME`; `a.papers.classes`, `a.bins`",
    },
    "RP": {
        "Figure 1": "`CoupledNormal.generalized_mean`, `.entropy`",
        "Figure 2": "`CoupledNormal.generalized_mean`; `.plot('coupled')`",
        "Figure": "`veracity simulate n17-fig1-…`; `a.risk_profile`, `a.reported_at`; `.plot('risk_profile')`",
        "": "`veracity.formulas`",
    },
    "CQ": {
        "Table 2": "`assess … --preset CQ`; `a.floors`; `.plot('floors')`",
        "": "`assess … --preset CQ`; `a.papers.CQ`; `.plot('confidence_histogram')`",
    },
    "HB17": {
        "Figure": "`veracity table … --plots`; `PredictionTable.plot('bregman_tangents')`",
        "": "`veracity table …`; `PredictionTable`",
    },
    "KF15": {
        "Table 2": "`a.losses`; `.plot('loss_ladder')`",
        "Table 3": "`a.losses`; `.plot('loss_ladder')`",
        "Table 4": "`veracity simulate kf15-task-…`; `vc.adjust`",
        "": "`veracity adjust`; `vc.adjust`; `a.losses`, `a.adjustment`",
    },
}

EQUATIONS = {  # that no function carries alone
    "N17": {
        "(3)": "posterior",
        "(4)": "posterior",
        "(5)": "geometric_accuracy",
        "(7)": "scales",
        "(11)": "risk_from_coupling",
    }
}

HEAD = """# The five papers, item by item

Written by `python -m papers --readme`; `make papers` draws the pages. Every numbered equation, table, figure and
theorem of the papers, and every number and statement that they quote: where it is in the package, its value here, the
paper's, and what the agreement is evidence of.

{kinds}

{sentence}

{counts}

For networks of your own, `python -m papers CQ --outputs FOLDER` makes CQ's tables and Figure 1 of them. FOLDER holds
one file for each network (npz, Parquet or CSV with logits or probabilities and labels), or logits with a file `labels`
beside them:

```
outputs/
  first/logits.npy      one row for each image, one column for each class
  first/labels.npy
  second.npz            arrays `logits` and `labels`
  third.csv             a column of labels, and one for each class
```

A network that is named as in the paper (`alexnet-gtsrb`, `densenet-imagenet`) is compared with its Table 1. An example
that runs as it stands, with simulated outputs:

```
mkdir outputs
veracity simulate cq-densenet-gtsrb-sharp -n 2000 -o outputs/mine.csv
python -m papers CQ --quick --outputs outputs -o pages
```
"""


def text(papers: Sequence[Paper]) -> str:
    """Return the page."""
    kinds = "\n".join(f"* **{kind}**: {meaning}" for kind, meaning in EVIDENCE.items())
    lines = [["paper", "numbered items", "of them missing", "quoted numbers and statements", "rows", *EVIDENCE]]
    total = [0] * (4 + len(EVIDENCE))
    for paper in papers:
        items = list(_numbered(paper))
        missing = sum(not rows for _, rows in items)
        quoted = list(_quoted(paper))
        tally = Counter(row.evidence for section in paper.sections for row in section.rows)
        counts = [len(items), missing, len(quoted), tally.total(), *(tally[kind] for kind in EVIDENCE)]
        total = [a + b for a, b in zip(total, counts, strict=True)]
        lines.append([paper.key, *map(str, counts)])
    lines.append(["together", *map(str, total)])
    numbered, missed, quotes, rows, *by_kind = total
    each = ", ".join(f"{number} {kind}" for number, kind in zip(by_kind, EVIDENCE, strict=True))
    sentence = (
        f"{numbered + quotes - missed} of {numbered + quotes} items are accounted for ({numbered} numbered, {quotes} "
        f"quoted), {missed} missing, by {rows} rows: {each}."
    )
    parts = [HEAD.format(kinds=kinds, sentence="\n".join(textwrap.wrap(sentence, 120)), counts=_table(lines))]
    for paper in papers:
        parts += [f"## {paper.key}\n\n{paper.title}\n", _table([COLUMNS, *_lines(paper)]) + "\n"]
    return "\n".join(parts)


COLUMNS = ["item", "where in the package", "value here", "paper", "kind"]


def _lines(paper: Paper) -> Iterator[list[str]]:
    """Yield a line for each numbered item by its first row, and one for each quoted number."""
    for label, rows in _numbered(paper):
        if not rows:
            yield [f"**{label}**", "missing", "", "", ""]
            continue
        section, row = rows[0]
        kinds = list(dict.fromkeys(one.evidence for _, one in rows))
        more = f" ({len(rows)} rows)" if len(rows) > 1 else ""
        yield [f"**{label}**{more}", _place(paper.key, section, row, label), row.computed, row.paper, ", ".join(kinds)]
    for section, row in _quoted(paper):
        where = _place(paper.key, section, row)
        yield [f"{section.title}: {row.item}", where, row.computed, row.paper, row.evidence]


def _numbered(paper: Paper) -> Iterator[tuple[str, list[tuple[Section, Row]]]]:
    """Yield each numbered item with its rows: those of its section, or those that name it."""
    for label in module(paper.key).NUMBERED:
        name = re.compile(re.escape(label) + r"(?!\d)")
        by_title = label.startswith(("Table", "Figure"))
        yield (
            label,
            [
                (section, row)
                for section in paper.sections
                for row in section.rows
                if name.search(section.title if by_title else row.item)
            ],
        )


def _quoted(paper: Paper) -> Iterator[tuple[Section, Row]]:
    """Yield the rows with a number or statement of the paper."""
    for section in paper.sections:
        yield from ((section, row) for row in section.rows if row.paper != "–")


def _place(key: str, section: Section, row: Row, label: str = "") -> str:
    """Return the functions that carry the equation, or where the section's numbers are."""
    wanted = label or row.item
    equations = {*re.findall(r"\([A\d.]+\)", wanted), *(f"equation {n}" for n in re.findall(r"equation (\d+)", wanted))}
    found = [name for name, one in CARRIES.items() if one.paper == key and equations & _equations(one.equation)]
    found += [name for equation, name in EQUATIONS.get(key, {}).items() if equation in equations]
    if found:
        return ", ".join(f"`{name}`" for name in found)
    places = PLACES.get(key, {})
    best = max((start for start in places if section.title.startswith(start)), key=len, default=None)
    return "" if best is None else places[best]


def _equations(text: str) -> set[str]:
    """Return the equations that a text names: "(3.1), (3.2)", "equations 7, 8", "equations 1–3"."""
    found = set(re.findall(r"\([A\d.]+\)", text))
    if text.startswith("equation"):
        ends = [int(number) for number in re.findall(r"\d+", text)]
        numbers = range(ends[0], ends[-1] + 1) if "–" in text else ends
        found |= {f"equation {number}" for number in numbers}
    return found


def _table(lines: list[list[str]]) -> str:
    head, *rows = lines
    cells = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in cells)
