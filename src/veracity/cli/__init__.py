"""The command line: one file per command, found by listing this folder and imported when called."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import click


class Commands(click.Group):
    """A command is a file here that defines `command`; importing waits until it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(name for _, name, _ in pkgutil.iter_modules(__path__) if not name.startswith("_"))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(ctx):
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{name}").command
        return command


@click.group(cls=Commands)
def veracity() -> None:
    """How true are your probabilities?"""


def main() -> None:
    sys.exit(veracity())
