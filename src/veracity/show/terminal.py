"""Blocks as text for a terminal or a pipe: no boxes, colour only where asked, no control characters from the data."""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from veracity.show.blocks import Block, Chart, Details, FindingBlock, Heading, Sentence, walk
from veracity.show.cells import Cell, Column, Label, Table, Value
from veracity.words import clean, finding

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

MARK = 2  # columns of a mark in words
LEAST, MOST = 60, 120  # columns
TIE = "\ue000"  # a space at which no line may end
LEAST_TEXT = 12  # columns that a text keeps in a crowded table
MOST_NUMBERS = 24  # rows of a picture that are printed instead of it
COLOURS = {"✓": "green", "✗": "red", "→": "blue", "!": "yellow"}
PLAIN = {  # where the terminal has no Unicode
    "✓": "ok", "✗": "no", "→": "->", "↓": "v", "↑": "^", "–": "-", "−": "-", "·": "|", "…": "...", "≥": ">=",
    "∞": "inf", "÷": "/", "²": "2", "’": "'", "“": '"', "”": '"', "Σ": "sum",
}  # fmt: skip


def render(
    blocks: Sequence[Block], width: int = 80, *, colour: bool = False, unicode: bool = True, details: bool = False
) -> str:
    """Return the blocks as lines of at most `width` columns; details only on request."""
    from rich.console import Console

    width = max(LEAST, min(width, MOST))
    console = Console(
        file=io.StringIO(), width=width, force_terminal=colour, color_system="standard" if colour else None,
        no_color=not colour, highlight=False, markup=False, emoji=False, legacy_windows=False, _environ={},
        force_jupyter=False,  # in a notebook rich would display what is rendered here
    )  # fmt: skip
    for part in _parts(blocks, details):
        part_lines(console, part, width, unicode)
    assert isinstance(console.file, io.StringIO)
    text = "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()).strip("\n") + "\n"
    return text if unicode else to_ascii(text)


def headline(blocks: Sequence[Block]) -> str:
    """Return the headline as one line, for --quiet."""
    lead = [block for block in walk(blocks) if isinstance(block, Sentence) and block.lead]
    text = " ".join(f"{s.opening} {s.text}".strip() for s in lead)
    return clean(text.replace("**", ""))


def to_ascii(text: str) -> str:
    """Return the text in the characters that every terminal has.

    >>> to_ascii("✓ 5–7 % · naïve")
    'ok 5-7 % | naive'
    """
    for character, plain in PLAIN.items():
        text = text.replace(character, plain)
    marked = unicodedata.normalize("NFKD", text)
    return "".join(c for c in marked if not unicodedata.combining(c)).encode("ascii", "replace").decode()


def _parts(blocks: Sequence[Block], details: bool) -> Iterator[list[Block]]:
    """Yield the blocks in groups, separated by blank lines: sentences together, tables alone."""
    together: list[Block] = []
    for block in blocks:
        if isinstance(block, Sentence | FindingBlock):
            together.append(block)
            continue
        if isinstance(block, Chart) and details:
            block = numbers(block) or block
        inner = list(_parts(block.blocks, details)) if isinstance(block, Details) and details else []
        if isinstance(block, Heading | Table) or inner:
            if together:
                yield together
                together = []
            yield [block]
            yield from inner
    if together:
        yield together


def numbers(chart: Chart) -> Table | None:
    """Return the numbers of a picture as a table, if there are few."""
    from veracity import plots

    picture = plots.Picture.of(chart.name, chart.result)
    if not 0 < len(picture.rows) <= MOST_NUMBERS:
        return None
    fields = picture.columns.items()
    columns = tuple(Column(title, number=bool(form), rank=i) for i, (_, (title, form)) in enumerate(fields))
    cells = tuple(tuple(_picture_cell(row.get(field), form) for field, (_, form) in fields) for row in picture.rows)
    return Table(picture.title, columns, cells, (picture.caption,))


def _picture_cell(x: float | str | None, form: str) -> Cell:
    return str(x or "") if not form or isinstance(x, str) else Value(x, digits=0 if form.startswith(",") else None)


def part_lines(console: Console, part: list[Block], width: int, unicode: bool = True) -> None:
    """Print one group and the blank line after it."""
    first = part[0]
    if isinstance(first, Heading):
        console.print(_text(first.note or first.text, "dim" if first.note else "bold"))
    elif isinstance(first, Details):
        console.print(_text(first.title.upper(), "bold"))
        return
    elif isinstance(first, Table):
        _table(console, first, width)
    else:
        titles = [len(clean(block.title)) for block in part if isinstance(block, Sentence)]
        column = max(titles, default=0)
        for block in part:
            if isinstance(block, Sentence):
                _sentence(console, block, column, width, 1 if unicode else MARK)
            elif isinstance(block, FindingBlock):
                _wrapped(console, f"{block.finding.severity}: {finding(block.finding)}", width, "  ", "- ")
    console.print()


def _sentence(console: Console, block: Sentence, column: int, width: int, marks: int) -> None:
    """Print a sentence to the right of its mark and title; `marks` is the width of all marks."""
    indent = " " * (column + marks + 4) if block.title else " " * (marks + 1)
    mark = block.mark if marks == 1 else PLAIN.get(block.mark, block.mark)
    head = _text("").append(f"{mark:<{marks}} ", style=COLOURS.get(block.mark, ""))
    if block.title:
        head.append(f"{clean(block.title):<{column}}   ", style="bold")
    lines = _wrap(console, block.text, width - len(indent)) or [_text("")]
    console.print(head.append_text(lines[0]), soft_wrap=True)
    for line in lines[1:]:
        console.print(_text(indent).append_text(line), soft_wrap=True)
    for proposed in map(clean, block.proposed):  # never wrapped, so that they can be copied
        console.print(
            _text((indent if len(indent) + len(proposed) <= width else "  ") + proposed, "cyan"), soft_wrap=True
        )


def _wrapped(console: Console, text: str, width: int, indent: str, first: str = "") -> None:
    for i, line in enumerate(_wrap(console, text, width - len(indent))):
        console.print(_text(indent if i or not first else first).append_text(line), soft_wrap=True)


def _wrap(console: Console, text: str, width: int) -> list[Text]:
    """Return lines with **bold** parts; a number keeps its percent sign, and p its value."""
    tied = clean(text).replace(" %", f"{TIE}%").replace("p = ", f"p{TIE}={TIE}")
    lines = list(_emphasised(tied).wrap(console, width))
    for line in lines:
        line.rstrip()
        line.plain = line.plain.replace(TIE, " ")
    return lines


def _table(console: Console, table: Table, width: int) -> None:
    """Print a table; where it is too wide, titles get two lines, the least important columns go, titles get more."""
    from rich.table import Table as Grid

    kept = list(range(len(table.columns)))
    names = max(
        (len(cell.name) for row in table.rows for cell in row if isinstance(cell, Label) and cell.arrow), default=0
    )
    cells = [[_cell(cell, names) for cell in row] for row in table.rows]
    titles = [clean(column.title) for column in table.columns]
    longest = [max((cell_len(row[i]) for row in cells), default=0) for i in kept]

    def wide() -> int:
        return sum(max(longest[i], _lines_width(titles[i])) + 2 for i in kept) - 2

    if wide() > width:
        wider = [column.number and cell_len(column.title) > longest[i] for i, column in enumerate(table.columns)]
        titles = [_two_lines(title) if wider[i] else title for i, title in enumerate(titles)]
    while wide() > width and (ranked := [i for i in kept if table.columns[i].rank]):
        kept.remove(max(ranked, key=lambda i: (table.columns[i].rank, i)))
    if wide() > width:
        titles = ["\n".join(title.split()) if table.columns[i].number else title for i, title in enumerate(titles)]
    lines = max(titles[i].count("\n") for i in kept)
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=any(titles[i] for i in kept))
    for i in kept:
        number = table.columns[i].number
        above = "\n" * (lines - titles[i].count("\n"))  # titles end on the same line
        title = _text("", "bold").append(above + "\n".join(clean(line) for line in titles[i].split("\n")))
        least = None if number else min(longest[i], LEAST_TEXT)
        grid.add_column(
            title, justify="right" if number else "left", vertical="top", no_wrap=number, overflow="fold",
            min_width=least,
        )  # fmt: skip
    for row in cells:
        grid.add_row(*(_text(row[i]) for i in kept))
    console.print(grid)
    for note in (*table.notes, *(table.columns[i].gloss for i in kept if table.columns[i].gloss)):
        _wrapped(console, note, width, "  ")


def _two_lines(title: str) -> str:
    """Return a title on two lines of about the same length; an arrow stays with its word.

    >>> _two_lines("log loss ↓"), _two_lines("cases")
    ('log\\nloss ↓', 'cases')
    """
    words = re.sub(r" (?=[↓↑])", TIE, title).split(" ")
    halves = [(" ".join(words[:i]), " ".join(words[i:])) for i in range(1, len(words))]
    best = min(halves, key=lambda pair: max(map(len, pair)), default=(title,))
    return "\n".join(best).replace(TIE, " ")


def _lines_width(text: str) -> int:
    return max(cell_len(line) for line in text.split("\n"))


def _cell(cell: Cell, names: int) -> str:
    if isinstance(cell, Label):
        return clean(f"{cell.name:<{names}} {cell.arrow}".rstrip())
    return clean(cell) if isinstance(cell, str) else cell.text


def cell_len(text: str) -> int:
    """Return the columns that a text takes on screen."""
    from rich.cells import cell_len as measured

    return measured(text)


def _text(text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(clean(text), style=style)


def _emphasised(text: str) -> Text:
    """Return **bold** parts as such."""
    emphasised = _text("")
    for i, piece in enumerate(text.split("**")):
        emphasised.append(piece, style="bold" if i % 2 else "")
    return emphasised
