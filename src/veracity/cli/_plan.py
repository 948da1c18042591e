"""The options of a `Plan` on the command line."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from veracity.state.plan import Plan

Command = TypeVar("Command", bound=Callable[..., Any])


def _bins(ctx: click.Context, param: click.Parameter, value: str) -> int | str:
    if value == "auto":
        return value
    try:
        return int(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither auto nor a whole number", ctx, param) from None


_FOLDER = str(Path(__file__).parents[1] / "maps")
MAPS = sorted(name for _, name, _ in pkgutil.iter_modules([_FOLDER]) if not name.startswith("_"))

_OPTIONS = (
    click.option("--floor", type=float, default=0.0, show_default=True, help="Smallest probability that counts."),
    click.option("--end-width", type=float, default=0.005, show_default=True, help="Width of the two end bins."),
    click.option("--bins", callback=_bins, metavar="auto|N", default="auto", show_default=True, help="Number of bins."),
    click.option("--preset", type=click.Choice(["CQ", "N17"]), help="The procedure of a paper."),
    click.option(
        "--map",
        type=click.Choice(MAPS),
        metavar="NAME",
        default="bins",
        show_default=True,
        help="How stage C of the loss ladder is made: bins, isotonic, grouped, …",
    ),
    click.option("--level", type=float, default=0.95, show_default=True, help="Level of the intervals."),
    click.option("--bootstrap", type=int, metavar="N", help="Intervals by N redraws of the cases."),
    click.option("--seed", type=int, default=0, show_default=True, help="Seed of everything random."),
)


def plan_options(command: Command) -> Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def plan_taken_from(options: dict[str, Any]) -> Plan:
    """Takes the options of the plan out of a command's; the others stay."""
    from veracity.state.plan import Plan

    names = ("floor", "end_width", "bins", "preset", "map", "level", "bootstrap")
    try:
        return Plan(**{name: options.pop(name) for name in names}, random_state=options.pop("seed"))
    except ValueError as problem:
        argument, _, what = str(problem).partition(": ")
        option = "seed" if argument == "random_state" else argument.replace("_", "-")
        raise ValueError(f"--{option} {what}") from None
