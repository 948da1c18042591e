"""Input options shared by every command that reads forecasts, and what they say as a `ReadOptions`."""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from veracity.read import ReadOptions

Command = TypeVar("Command", bound=Callable[..., Any])


class LayoutChoice(click.Choice[str]):
    """The layouts: files of their folder, listed without importing the readers, so that --help is quick."""

    choices = property(lambda self: ("auto", *_layout_names()), lambda self, _: None)


def _layout_names() -> list[str]:
    loaded = sys.modules.get("veracity.read.layouts")
    folders = loaded.__path__ if loaded else [str(Path(__file__).parents[1] / "read" / "layouts")]
    names = (name for _, name, _ in pkgutil.iter_modules(folders) if not name.startswith("_"))
    return sorted(name.replace("_", "-") for name in names)


_OPTIONS = (
    click.option("--label", metavar="COL", help="Column of what happened."),
    click.option(
        "--proba", metavar="PATTERN", help="Class columns: names or globs; * is the class, {model} the model."
    ),
    click.option(
        "--positive-proba", metavar="COL[,COL…]", help="Column of the event's probability; one model per column."
    ),
    click.option("--positive", metavar="LABEL", help="The outcome that counts as the event."),
    click.option(
        "--layout",
        type=LayoutChoice(()),
        default="auto",
        show_default=True,
        help="How the columns are laid out.",
    ),
    click.option(
        "--scale",
        type=click.Choice(["probability", "logit", "log", "percent"]),
        help="What the forecasts are; recognised only from % signs and logit or logprob in the name.",
    ),
    click.option("--weight", metavar="COL|FILE", help="Importance of each row: a column, or a file with one column."),
    click.option("--count", metavar="COL", help="How many times each row stands: whole numbers."),
    click.option("--model", metavar="COL|none", help="Column that names the model; none pools all models."),
    click.option("--id", metavar="COL[,COL…]", help="Columns that identify a case."),
    click.option("--where", metavar="COL=VALUE", multiple=True, help="Only these rows; also COL!=VALUE; repeatable."),
    click.option(
        "--missing",
        type=click.Choice(["error", "drop"]),
        default="error",
        show_default=True,
        help="Rows with missing values.",
    ),
    click.option(
        "--soft",
        type=click.Choice(["split", "omit", "refuse"]),
        default="split",
        show_default=True,
        help="Outcomes between 0 and 1.",
    ),
    click.option("--normalise", is_flag=True, help="Rescale rows that do not sum to one."),
    click.option("--cut", metavar="X[,X…]", help="Limits that cut a measured outcome into the classes."),
    click.option("--versus-rest", metavar="LABEL[,LABEL…]", help="These classes together against all others."),
    click.option("--order", metavar="LABEL,…", help="Order of the classes."),
    click.option("--absent", type=click.Choice(["nan"]), help="nan: a missing class value means “not offered”."),
    click.option("--group", metavar="COL", multiple=True, help="Assess each value of this column too; repeatable."),
    click.option("--ideal", metavar="PATTERN", help="Columns of the true probabilities, where they are known."),
    click.option("--feature", metavar="COL", multiple=True, help="What the forecasts were made from; repeatable."),
)
NAMES = (
    *("label", "proba", "positive_proba", "positive", "layout", "scale", "weight", "count", "model", "id", "where"),
    *("missing", "soft", "normalise", "cut", "versus_rest", "order", "absent", "group", "ideal", "feature"),
)


def input_options(command: Command) -> Command:
    """The decorator that gives a command all input options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def files_argument(command: Command) -> Command:
    """FILE… : paths, globs, folders; - is standard input."""
    return click.argument("files", nargs=-1, required=True, metavar="FILE…")(command)


def reading_taken_from(options: dict[str, Any]) -> ReadOptions:
    """Takes the input options out of a command's; the others stay."""
    from veracity.read import ReadOptions

    given = {name: options.pop(name) for name in NAMES if name in options}
    for name in ("id", "cut", "versus_rest", "order"):
        given[name] = given.get(name) or ()
    return ReadOptions(**given)
