"""Examples that run when the documentation is built: a command line for every option, a call for every chart.

`commands.txt` holds the command lines, in the order in which they run in one folder with small files. An option or a
chart without an example fails the build by its name, and so does a command line that fails.
"""

from __future__ import annotations

import contextlib
import io
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import polars as pl
from sphinx.errors import ExtensionError

from veracity import plots
from veracity.cli import Commands, run

HERE = Path(__file__).parent
CHARTS = """
import numpy as np
import veracity as vc
from veracity import plots

rng = np.random.default_rng(2)
x = rng.normal(0, 1.2, 1500)
y = (rng.random(1500) < 1 / (1 + np.exp(-x))).astype(int)
sure = 1 / (1 + np.exp(-1.8 * x))  # a model that is too sure of itself
blurred = 1 / (1 + np.exp(-0.8 * x - rng.normal(0, 0.9, 1500)))  # one that knows less
day = np.datetime64("2025-01-01") + np.arange(1500) // 5
site = {"site": np.where(np.arange(1500) % 3 == 0, "north", "south")}

a = vc.assess(y, sure, groups=site)
series = vc.assess(y, sure, time=day, window="30d")
species = rng.dirichlet([1.0, 1.0, 1.0], 1500)
picks = vc.assess([rng.choice(3, p=p) for p in species], species)
c = vc.compare(y, {"sure": sure, "blurred": blurred}, groups=site)
watch = vc.monitor(y, sure, time=day, window="1m")
t = vc.PredictionTable([[83, 56], [2, 12]])
stated = vc.PredictionTable([[60, 20], [25, 48]], [0.2, 0.8])
coupled = [vc.CoupledNormal(0.0, 1.0, kappa) for kappa in (-0.3, 0.0, 0.5)]
"""
KINDS = {  # of what each of these draws pictures
    "a": ("assessment",), "series": ("assessment",), "picks": ("assessment",), "c": ("comparison", "models"),
    "watch": ("monitor",), "t": ("table",), "stated": ("table",), "coupled": ("distribution",),
}  # fmt: skip


# -- charts ---------------------------------------------------------------------------------------------------------


def charts() -> Iterator[tuple[plots.Picture, str, dict[str, bytes]]]:
    """Yield every picture, of the first result that has numbers for it, with the call, and what it draws by theme."""
    results: dict[str, Any] = {}
    exec(CHARTS, results)
    found: dict[str, tuple[plots.Picture, str]] = {}
    for variable, kinds in KINDS.items():
        for picture in (picture for kind in kinds for picture in plots.pictures(kind, results[variable])):
            call = f'{variable}.plot("{picture.name}")'
            if variable == "coupled":  # densities are no result of an assessment
                call = f'plots.chart("{picture.name}", {variable})'
            found.setdefault(picture.name, (picture, call))
    if missing := sorted(set(plots.names()) - set(found)):
        raise ExtensionError(f"charts without an example in docs/_examples.py: {', '.join(missing)}")
    for picture, call in found.values():
        drawn = {theme: eval(f'{call[:-1]}, theme="{theme}")', results) for theme in ("light", "dark")}
        yield picture, call, {theme: plots.rendered(chart, "svg") for theme, chart in drawn.items()}


# -- options --------------------------------------------------------------------------------------------------------


def commands() -> dict[str, click.Command]:
    """Return every command by the words that call it."""
    group = Commands()
    context = click.Context(group, info_name="veracity")
    found: dict[str, click.Command] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = command.commands.items() if isinstance(command, click.Group) else ()
        found |= {f"{name} {word}": each for word, each in inner} or {name: command}
    return found


def examples() -> dict[str, dict[str, str]]:
    """Run every command line, and return {command: {option: the first one that uses it}}."""
    lines = [line for line in (HERE / "commands.txt").read_text().splitlines() if line]
    found = first_uses(lines)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        write_files()
        for line in lines:
            answer(line)
    return found


def first_uses(lines: list[str]) -> dict[str, dict[str, str]]:
    """Return the first line that uses each option of each command; an option that no line uses fails the build."""
    known = commands()
    first: dict[str, dict[str, str]] = {name: {} for name in known}
    shown: set[int] = set()  # options with an example; commands share them
    for line in lines:
        words = shlex.split(line)[1:]
        name = next(name for name in known if words[: len(name.split())] == name.split())
        for option in known[name].params:
            if isinstance(option, click.Option) and set(option.opts) & set(words):
                first[name].setdefault(option.opts[0], line)
                shown.add(id(option))
    every = [(name, option) for name in known for option in known[name].params if isinstance(option, click.Option)]
    if bare := [f"veracity {name} {option.opts[0]}" for name, option in every if id(option) not in shown]:
        raise ExtensionError(f"options without an example in docs/commands.txt: {', '.join(bare)}")
    return first


def answer(line: str) -> None:
    """Run one command line; one that fails fails the build."""
    said, problem = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(problem):
        code = run(shlex.split(line)[1:])
    if code:
        raise ExtensionError(f"docs/commands.txt: exit code {code} of\n  {line}\n{problem.getvalue()}")


def write_files() -> None:
    """Write the small files of the examples."""
    from tests.inputs.test_packed import workbook

    rng = np.random.default_rng(7)
    n = 240
    x = rng.normal(0, 1.2, n)
    truth = 1 / (1 + np.exp(-x))
    event = (rng.random(n) < truth).astype(int)
    given = (1 / (1 + np.exp(-1.6 * x))).round(3)
    day = [str(np.datetime64("2026-01-01") + i // 4) for i in range(n)]
    cases = pl.DataFrame({"case": range(n), "died": event, "risk": given})
    more = cases.with_columns(
        other=pl.Series((0.2 + 0.6 * given).round(3)), true=pl.Series(truth), age=pl.Series(rng.integers(40, 80, n)),
        patient=pl.Series([i // 2 for i in range(n)]), site=pl.Series(["north", "south"] * (n // 2)),
        day=pl.Series(day), w=pl.Series(rng.choice([1.0, 2.0], n)), n=pl.Series(rng.integers(1, 4, n)),
    )  # fmt: skip
    more.write_csv("risks.csv")
    more.write_csv("before.csv")
    cases.write_csv("north.csv")
    cases.with_columns(risk=pl.Series((0.5 * given + 0.2).round(3))).write_csv("south.csv")
    cases.select("case", "risk").write_csv("new.csv")
    cases.select("case", "died").write_csv("outcomes.csv")
    cases.write_csv("bare.csv", include_header=False)
    cases.with_columns(pl.when(pl.col("case") == 3).then(None).otherwise("risk").alias("risk")).write_csv("gaps.csv")
    cases.with_columns(risk=pl.Series((100 * given).round(1))).write_csv("percents.csv")
    cases.with_columns(died=pl.Series(rng.binomial(4, truth) / 4)).write_csv("votes.csv")
    Path("weights.csv").write_text("weight\n" + "1\n2\n" * (n // 2))
    tall = [cases.with_columns(who=pl.lit(who), risk=pl.Series(p)) for who, p in (("a", given), ("b", given[::-1]))]
    pl.concat(tall).write_csv("judges.csv")
    workbook(Path("risks.xlsx"), {"2025": cases, "2026": cases})
    classes = rng.dirichlet([1.0, 1.0, 1.0], n)
    name = np.array(["cat", "dog", "fox"])
    picked = name[classes.argmax(1)]
    seen = name[[rng.choice(3, p=p) for p in classes]]
    species = pl.DataFrame({"seen": seen, "p_cat": classes[:, 0], "p_dog": classes[:, 1], "p_fox": classes[:, 2]})
    species.write_csv("species.csv")
    species.with_columns(pl.col("^p_.*$").round(2)).write_csv("rounded.csv")
    offered = classes.copy()
    offered[seen == "cat", 2] = np.nan
    offered /= np.nansum(offered, axis=1, keepdims=True)
    pl.DataFrame({"seen": seen} | {f"p_{c}": offered[:, i] for i, c in enumerate(name)}).with_columns(
        pl.col("^p_.*$").fill_nan(None)
    ).write_csv("offered.csv")
    pl.DataFrame({"seen": seen, "picked": picked, "confidence": classes.max(1)}).write_csv("picked.csv")
    rain = rng.gamma(1.0, 3.0, n).round(1)
    members = {f"m{i}": (rain * rng.lognormal(0, 0.5, n)).round(1) for i in range(8)}
    pl.DataFrame({"rain": rain, **members}).write_csv("ensemble.csv")
    pl.DataFrame({"rain": rain, "p_rain": given}).write_csv("rain.csv")
    Path("prior.csv").write_text("class,probability\n0,0.6\n1,0.4\n")
    Path("gate.toml").write_text('require = ["n>=100", "scores.log_loss<=2"]\n')
    Path("counts.csv").write_text("forecast,no,yes\nlow,83,56\nhigh,2,12\n")
    pairs = (
        "forecast,seen,n,share,site",
        "low,no,83,.54,a",
        "low,yes,56,.37,a",
        "high,no,2,.01,b",
        "high,yes,12,.08,b",
    )
    Path("pairs.csv").write_text("\n".join(pairs))
    Path("days").mkdir()
    Path("year").mkdir()
    cases[: n // 2].write_csv("year/january.csv")
    cases[n // 2 :].write_csv("year/february.csv")
