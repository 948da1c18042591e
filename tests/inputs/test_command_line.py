"""The input options of the command line become one ReadOptions."""

from __future__ import annotations

from typing import Any

import click
from click.testing import CliRunner

from veracity.cli._click import FILES, READ, read_options_from
from veracity.read import ReadOptions

SEEN: list[Any] = []


@click.command(params=[FILES, *READ])
@click.option("--floor", default=0.0)
def command(files: tuple[str, ...], **options: Any) -> None:
    SEEN.append((files, read_options_from(options), options))


def run(*words: str) -> tuple[Any, ReadOptions, dict[str, Any]]:
    result = CliRunner().invoke(command, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    found: tuple[Any, ReadOptions, dict[str, Any]] = SEEN.pop()
    return found


def test_defaults_are_the_defaults_of_reading() -> None:
    files, reading, rest = run("a.csv", "b.csv")
    assert files == ("a.csv", "b.csv")
    assert reading == ReadOptions()
    assert rest == {"floor": 0.0}


def test_every_reading_option_of_the_command_line_is_passed_on() -> None:
    words = (
        *("x.csv", "--label", "y", "--proba", "p_*", "--positive", "1.0", "--layout", "wide", "--scale", "percent"),
        *("--weight", "w", "--count", "n", "--model", "m", "--id", "u,v", "--where", "a=1", "--where", "b!=2"),
        *("--missing", "drop", "--soft", "refuse", "--normalise", "--cut", "0.2,4.4", "--versus-rest", "a,b"),
        *("--order", "c,b,a", "--absent", "nan", "--group", "g", "--group", "h", "--ideal", "q_*", "--feature", "f"),
    )
    _, reading, _ = run(*words)
    assert reading == ReadOptions(
        label="y",
        proba="p_*",
        positive="1",
        layout="wide",
        scale="percent",
        weight="w",
        count="n",
        model="m",
        id=("u", "v"),
        where=("a=1", "b!=2"),
        missing="drop",
        soft="refuse",
        normalise=True,
        cut=(0.2, 4.4),
        versus_rest=("a", "b"),
        order=("c", "b", "a"),
        absent="nan",
        group=("g", "h"),
        ideal="q_*",
        feature=("f",),
    )


def test_names_are_the_fields_of_reading() -> None:
    assert {*(option.name for option in READ), "labelled"} == set(
        ReadOptions.__dataclass_fields__
    )  # `labelled` is set by commands
