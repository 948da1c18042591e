"""veracity simulate: the papers' sources as data files."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import click

from veracity.cli._click import CASES, ESTIMATION, FORCE, OUTPUT, Command, Option
from veracity.cli._output_files import OutputFiles, check_file

if TYPE_CHECKING:
    from veracity.inputs import Forecasts

ENDINGS = (".csv", ".parquet")


def _listed(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    from veracity.simulate import SIMULATIONS

    width = max(map(len, SIMULATIONS))
    for name, simulation in SIMULATIONS.items():
        click.echo(f"{name:<{width}}  {simulation.n:>5} rows  {simulation.about}")
    ctx.exit()


NAME = click.Argument(["name"])
EAGER: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": _listed}
OWN = (
    Option(CASES, "-n N", "Number of rows; each source has its usual one.", name="rows", type=click.IntRange(min=1)),
    Option(CASES, "--seed", "The same seed gives the same file.", type=click.IntRange(min=0), default=0),
    Option(OUTPUT, "-o --output FILE", "A .csv or .parquet file; - is CSV on standard output.", required=True),
    FORCE,
    *(
        Option(ESTIMATION, f"--{name.replace('_', '-')} {metavar}", f"n17: {about}", name=name, type=kind)
        for name, metavar, kind, about in (
            ("kappa", "K", float, "coupling of the source, 0 is Gaussian; 0.5 by default."),
            ("model_kappa", "K", float, "coupling of the model; that of the source by default."),
            ("mean", "M", float, "the model's mean of the second class; the source has 2."),
            ("variance", "V", float, "the model's variance of the second class; the source has 1."),
            ("amplitude", "A", float, "factor on the model's density of the second class."),
            ("dimension", "D", int, "number of dimensions."),
            ("training", "N", int, "points of each class that the model is fitted to; none: it knows the source."),
        )
    ),
    Option(OUTPUT, "--list", "Print all names.", **EAGER),
)


@click.command(cls=Command, params=[NAME, *OWN], short_help="Draw the papers' sources as data files.")
def command(name: str, rows: int | None, seed: int, output: str, force: bool, **parameters: Any) -> None:
    """Draw the source NAME and write its forecasts and outcomes to a file that `veracity assess` reads.

    \b
    Examples:
      veracity simulate --list
      veracity simulate n17-matched -n 1000 -o matched.csv
      veracity simulate cq-alexnet-imagenet-sharp -o alexnet.parquet
      veracity simulate n17 --kappa 0.2 --dimension 4 --training 25 -o few.csv
    """
    from veracity.simulate import OWN, simulate

    if output != "-":
        if not output.lower().endswith(ENDINGS):
            raise ValueError(f"-o {output}: give a file that ends in {' or '.join(ENDINGS)}")
        check_file(output, force)
    given = {key: value for key, value in parameters.items() if value is not None}
    forecasts = simulate(name, rows, seed=seed, **given)
    ideal = name == OWN
    with OutputFiles() as files:
        files.add(output, _content(forecasts, parquet=output.lower().endswith(".parquet"), ideal=ideal))
    if output != "-":
        named = " --proba 'p_*' --ideal 'ideal_*'" if ideal else ""
        what = f"{output}: {len(forecasts):,} rows, {forecasts.k} classes"
        click.echo(f"{what}. Look at it:  veracity assess {output}{named}", err=True)


def _content(f: Forecasts, *, parquet: bool, ideal: bool) -> bytes:
    import numpy as np
    import polars as pl

    columns: dict[str, Any] = {"label": np.asarray(f.classes)[f.outcomes]}
    columns |= {f"p_{label}": f.matrix[:, j] for j, label in enumerate(f.classes)}
    if ideal and f.ideal is not None:
        columns |= {f"ideal_{label}": np.asarray(f.ideal)[:, j] for j, label in enumerate(f.classes)}
    if f.features is not None:
        columns |= {f"x{j + 1}": f.features[:, j] for j in range(f.features.shape[1])}
    frame, buffer = pl.DataFrame(columns), io.BytesIO()
    if parquet:
        frame.write_parquet(buffer)
    else:
        frame.write_csv(buffer)
    return buffer.getvalue()
