"""python -m papers: one page per paper, an index and all rows as CSV."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from papers import Options, Paper, _readme, keys, module, questions, reproduce
from papers._page import COLUMNS, files
from papers._rows import DIFFERS, tally
from papers.questions import _render as pages

DATA = ("../shared/data", "shared/data")  # possible folders of real networks' outputs, from the current one


@click.command(
    help="Reproduce the papers: KEYS are N17, RP, CQ, HB17 and KF15; all by default. "
    "questions [NAME]... runs the studies of the open questions again, at most an hour, and keeps their results."
)
@click.argument("wanted", nargs=-1, metavar="[KEYS]...")
@click.option("-o", "--output", default="papers/out", show_default=True, metavar="DIR", help="Folder of the pages.")
@click.option("--quick", is_flag=True, help="Fewer draws: about a minute.")
@click.option("--readme", is_flag=True, help="Write papers/README.md too; needs all papers.")
@click.option("--data", metavar="DIR", help=f"Real networks' forecasts (default: {DATA[0]} where it exists).")
@click.option("--outputs", metavar="DIR", help="Logits or probabilities with labels of your networks, for CQ.")
@click.option("--seed", default=0, show_default=True, help="Of the studies of the questions.")
def main(
    wanted: tuple[str, ...], output: str, quick: bool, readme: bool, data: str | None, outputs: str | None, seed: int
) -> None:
    """Compute the papers asked for, write their pages and exit with 1 if a number differs without a reason.

    `questions`, with names of some or alone, runs their studies again and keeps the results.
    """
    if wanted and wanted[0].lower() == "questions":
        _study(wanted[1:], quick, seed)
        return
    try:
        selected = list(dict.fromkeys(key.upper() for key in wanted)) or keys()
        for key in selected:
            module(key)
        if readme and set(selected) != set(keys()):
            raise ValueError("--readme lists every paper\n  leave out the KEYS")
        if readme and (quick or data or outputs):
            raise ValueError("--readme lists the values of all draws\n  leave out --quick, --data and --outputs")
        folder = _checked(Path(output))
        found = None if readme else _data(data)  # what the list says does not depend on the folder it is made in
        options = Options(quick=quick, data=found, outputs=Path(outputs) if outputs else None)
        papers = [_reported(reproduce(key, options)) for key in selected]
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    folder.mkdir(parents=True, exist_ok=True)
    answered = [] if wanted else questions.answered()
    for name, text in (files(papers, pages.listed(answered)) | pages.files(answered)).items():
        (folder / name).write_text(text, encoding="utf-8")
    if readme:
        Path(__file__).with_name("README.md").write_text(_readme.text(papers), encoding="utf-8")
    differing = sum(tally(paper.sections)[DIFFERS] for paper in papers)
    result = f"{differing} rows differ without a known reason" if differing else "no row differs without a known reason"
    click.echo(f"{result}. Pages: {folder / 'index.html'}")
    sys.exit(1 if differing else 0)


def _study(names: tuple[str, ...], short: bool, seed: int) -> None:
    """Run the studies of these questions, or of all, and keep their results; short ones are only tried."""
    try:
        for name in names or questions.NAMES:
            result = questions.run(name, seed, short)
            if not short:
                questions.keep(name, result)
            click.echo(f"{name}: {result['cpu_seconds']:.0f} s of CPU time{'' if short else ', results kept'}")
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _reported(paper: Paper) -> Paper:
    """Return the paper after printing its counts and the rows that differ."""
    click.echo(f"{paper.key}: " + ", ".join(f"{n} {verdict}" for verdict, n in tally(paper.sections).items() if n))
    for section in paper.sections:
        for row in section.rows:
            if row.verdict == DIFFERS:
                click.echo(f"  {section.title} · {row.item}: paper {row.paper}, computed {row.computed}")
    return paper


def _checked(folder: Path) -> Path:
    """Return the folder if it is new, empty or an earlier output of this program; refuse any other."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"-o {folder}: a file of this name exists; give a folder")
    rows = folder / "rows.csv"
    ours = rows.is_file() and rows.read_text(encoding="utf-8", errors="replace").startswith(",".join(COLUMNS))
    if folder.is_dir() and any(folder.iterdir()) and not ours:
        raise ValueError(f"-o {folder}: the folder holds other files; give a new one")
    return folder


def _data(given: str | None) -> Path | None:
    if given is not None and not Path(given).is_dir():
        raise ValueError(f"--data {given}: no such folder\n  leave --data out, or give a folder of real networks")
    places = DATA if given is None else (given,)
    return next((Path(place) for place in places if Path(place).is_dir()), None)


if __name__ == "__main__":
    main()
