"""Where the rows are counted: the options that every command with `--engine` shares."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from veracity.engines import names

if TYPE_CHECKING:
    from veracity.cli._progress import Working
    from veracity.engines import Input
    from veracity.read import ReadOptions

Command = TypeVar("Command", bound=Callable[..., Any])

STREAMED = 1 << 28  # bytes of input from which it is counted in batches instead of being held in memory

_OPTIONS = (
    click.option("--engine", type=click.Choice(names()), help="Where the rows are counted; local by itself."),
    click.option("--engine-option", metavar="K=V", multiple=True, help="An option of the engine; repeatable."),
)
_CHECKPOINT = click.option(
    "--checkpoint", metavar="FILE", help="Keep the state here, and go on from it after an interruption."
)


def engine_options(command: Command) -> Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def checkpoint_option(command: Command) -> Command:
    return _CHECKPOINT(command)


@dataclass(frozen=True)
class Counting:
    """Which engine, with which options of its own."""

    engine: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    checkpoint: str | None = None

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> Counting:
        """Takes its own options out of a command's; the others stay."""
        given = options.pop("engine_option")
        for text in given:
            if "=" not in text:
                raise ValueError(f"--engine-option: {text!r} is no option of an engine\n  write NAME=VALUE")
        pairs = {text.partition("=")[0]: text.partition("=")[2] for text in given}
        return cls(options.pop("engine"), pairs, options.pop("checkpoint", None))

    def in_parts(self, paths: Iterable[Path]) -> bool:
        """Whether rows are read in parts: because someone asked for it, or because there are many."""
        asked = self.engine or self.options or self.checkpoint
        return bool(asked) or sum(path.stat().st_size for path in paths if path.is_file()) >= STREAMED

    def opened(self, data: Any, reading: ReadOptions, working: Working, kind: type[Input] | None = None) -> Input:
        """The input, which tells `working` how far it is."""
        from veracity import engines

        made = kind or engines.Input
        opened = made(data, reading, engine=self.engine or "local", options=self.options, watch=working.watch)
        if self.engine == "dask":  # what goes wrong is said once, by us, and without tracebacks
            for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        return opened
