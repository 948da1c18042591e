"""Blocks as Markdown, for a pull request or an issue; nothing from the data is taken as markup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from veracity.show.blocks import Block, Details, FindingBlock, Heading, Sentence
from veracity.show.cells import Cell, Label, Table
from veracity.words import clean, finding

MARKS = re.compile(r"([\\`*_~|$\[\]])")  # $ begins mathematics where it is supported
BEGINS = re.compile(r"^([#+=-])(?=[\s#+=-]|$)")  # of a heading, a list or a line
LINKS = re.compile(r"(?i)(https?|ftp|www|@|#)(://|\.|\w)")  # what a reader of Markdown makes an address or a mention
BAR = r"\|"


def render(blocks: Sequence[Block], level: int = 3) -> str:
    """Return headings, sentences and tables; pictures are left out, folded details are folded."""
    return "\n".join(_lines(blocks, level)).strip("\n") + "\n"


def _lines(blocks: Sequence[Block], level: int) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Heading):
            yield from (f"{'#' * level} {safe(block.text)}", "", safe(block.note), "")
        elif isinstance(block, Sentence):
            title = f"**{safe(block.opening)}** " if block.title else ""
            yield f"{'>' if block.lead else '-'} {block.mark} {title}{emphasised(block.text)}"
            yield from ([">"] if block.lead else [])
            yield from (["", *(f"      {clean(line)}" for line in block.proposed), ""] if block.proposed else [])
        elif isinstance(block, FindingBlock):
            yield f"- {block.finding.severity}: {safe(finding(block.finding))}"
        elif isinstance(block, Table):
            yield from _table(block)
        elif isinstance(block, Details):
            inner = _lines(block.blocks, level + 1)
            if block.folded:
                yield from ("", f"<details><summary>{safe(block.title)}</summary>", "", *inner, "</details>", "")
            else:
                yield from ("", f"{'#' * (level + 1)} {safe(block.title)}", "", *inner)


def _table(table: Table) -> Iterator[str]:
    yield ""
    titles = [safe(column.title) for column in table.columns]
    yield _row([titles[0] or safe(table.title), *titles[1:]])
    yield _row(["--:" if column.number else "---" for column in table.columns])
    for row in table.rows:
        yield _row([_cell(cell) for cell in row])
    yield ""
    yield from (f"{emphasised(note)}  " for note in table.below)


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell) -> str:
    if isinstance(cell, Label):
        return safe(f"{cell.name} {cell.arrow}".strip())
    return safe(cell) if isinstance(cell, str) else cell.text


def safe(text: str) -> str:
    """Return text that Markdown, and the HTML inside it, take as text: no emphasis, link, mention or mathematics.

    >>> safe("<b>*a*|b</b>")
    '&lt;b&gt;\\\\*a\\\\*\\\\|b&lt;/b&gt;'
    >>> safe("@all see www.example.org")
    '@<!-- -->all see www<!-- -->.example.org'
    """
    out = MARKS.sub(r"\\\1", clean(text)).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return LINKS.sub(r"\1<!-- -->\2", BEGINS.sub(r"\\\1", out))


def emphasised(text: str) -> str:
    """Return a sentence whose **bold** and `code` stay such; everything else in it is text.

    >>> emphasised("**Bad** `a|b` c_d_e")
    '**Bad** `a\\\\|b` c\\\\_d\\\\_e'
    """
    return "**".join(_coded(part) for part in text.split("**")) if text.count("**") % 2 == 0 else _coded(text)


def _coded(text: str) -> str:
    pieces = text.split("`")
    if len(pieces) % 2 == 0:  # one that has no other is a character
        return safe(text)
    return "".join(_code(piece) if i % 2 else safe(piece) for i, piece in enumerate(pieces))


def _code(text: str) -> str:
    return f"`{clean(text).replace('|', BAR)}`" if text.strip() and "<" not in text else safe(f"`{text}`")
