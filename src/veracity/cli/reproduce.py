"""veracity reproduce: every table and figure of the papers, paper value beside computed value."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import DONE, FAILED
from ._output import Together

if TYPE_CHECKING:
    from veracity.reproduce._rows import Section

MARKS = {
    "agrees": "[green]agrees[/]",
    "documented": "[yellow]documented[/]",
    "shown": "",
    "differs": "[bold red]DIFFERS[/]",
}
COLUMNS = ("key", "section", "item", "paper", "computed", "value", "verdict", "note")
DATA = ("../shared/data", "shared/data")  # where real networks' outputs may lie, from the current folder


@click.command(short_help="Every table and figure of the papers, beside what is computed.")
@click.argument("keys", nargs=-1, metavar="[N17|RP|CQ|HB17|KF15]...")
@click.option("--quick", is_flag=True, help="Fewer draws: under a minute.")
@click.option(
    "-o",
    "--output",
    default="reproduction",
    show_default=True,
    metavar="DIR",
    help="Folder of the page and its numbers.",
)
@click.option(
    "--data", metavar="DIR", help="Folder of real networks' forecasts (default: ../shared/data when it exists)."
)
@click.option(
    "--outputs", metavar="FOLDER", help="Your networks' logits or probabilities with labels, for CQ (npz, Parquet)."
)
@click.option("--force", is_flag=True, help="Write into DIR though it holds another index.html or rows.csv.")
def command(keys: tuple[str, ...], quick: bool, output: str, data: str | None, outputs: str | None, force: bool) -> int:
    """Compute every numbered table, figure and quoted number of the papers and set the paper's beside it.

    Prints one table for each, and writes DIR/index.html (figures redrawn) and DIR/rows.csv. Exit code 0 when every
    number agrees or has a documented reason, 1 otherwise.

    \b
    Examples:
      veracity reproduce --quick
      veracity reproduce HB17 KF15 -o tables
      veracity reproduce CQ --outputs my_networks
    """
    from veracity import reproduce
    from veracity.reproduce._page import TITLE, page
    from veracity.reproduce._rows import DIFFERS, tally

    wanted = list(dict.fromkeys(key.upper() for key in keys)) or reproduce.papers()
    for key in wanted:
        reproduce.paper(key)  # a wrong key is refused before any work
    if Path(output).exists() and not Path(output).is_dir():
        raise ValueError(f"-o {output}: a file of this name exists; give a folder")
    target = Path(output, "index.html")
    for path, sign in ((target, TITLE), (target.with_name("rows.csv"), ",".join(COLUMNS))):
        if path.exists() and not force and sign not in path.read_text(encoding="utf-8", errors="replace"):
            raise ValueError(f"{path} exists and is no reproduction; --force overwrites it, -o gives another folder")
    options = reproduce.Options(quick=quick, data=_data(data), outputs=Path(outputs) if outputs else None)
    console = _console()
    done: dict[str, tuple[str, list[Section]]] = {}
    for key in wanted:
        title = reproduce.paper(key).TITLE
        console.rule(f"{key}: {title}", align="left")
        sections: list[Section] = []
        for section in reproduce.sections(key, options):
            console.print(_table(key, section))
            sections.append(section)
        done[key] = title, sections
    with Together() as files:
        folder = files.folder(output)
        files.add(folder / "index.html", page(done))
        files.add(folder / "rows.csv", _rows(done))
    counts = {key: tally(sections) for key, (_, sections) in done.items()}
    for key, count in counts.items():
        console.print(f"{key}: " + ", ".join(f"{number} {verdict}" for verdict, number in count.items() if number))
    differing = sum(count[DIFFERS] for count in counts.values())
    verdict = (
        f"{differing} numbers differ without a known reason" if differing else "all numbers agree or are documented"
    )
    click.echo(f"{verdict}. Figures and notes: {target}")
    return FAILED if differing else DONE


def _data(given: str | None) -> Path | None:
    if given is not None:
        if not Path(given).is_dir():
            raise ValueError(f"--data {given}: no such folder")
        return Path(given)
    return next((Path(place) for place in DATA if Path(place).is_dir()), None)


def _console() -> Any:
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False)
    if not console.is_terminal:
        console.width = 160  # a log file has no width of its own
    return console


def _table(key: str, section: Section) -> Any:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=f"{key} · {section.title}", title_justify="left", title_style="bold", caption_justify="left")
    for name, ratio in (("item", 4), ("paper", 2), ("computed", 3), ("agrees?", None), ("note", 4)):
        table.add_column(name, ratio=ratio, overflow="fold")
    for row in section.rows:
        cells = (escape(text) for text in (row.item, row.paper, row.computed))
        table.add_row(*cells, MARKS[row.verdict], escape(row.note))
    return table


def _rows(papers: dict[str, tuple[str, list[Section]]]) -> str:
    """All rows as CSV, computed values in full."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for key, (_, sections) in papers.items():
        for section in sections:
            for row in section.rows:
                value = "" if row.value != row.value else repr(float(row.value))
                writer.writerow([key, section.title, row.item, row.paper, row.computed, value, row.verdict, row.note])
    return text.getvalue()
