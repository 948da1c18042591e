"""The command line: one file per command, found by listing this folder and imported when called."""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import pkgutil
import shlex
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

import click

from veracity.cli._child_process import in_child, is_forked, was_interrupted

DONE, BAD_INPUT, INTERRUPTED = 0, 2, 130


class Commands(click.Group):
    """A command is a file here that defines `command`; importing waits until it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(name for _, name, _ in pkgutil.iter_modules(__path__) if not name.startswith("_"))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(ctx):
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            from difflib import get_close_matches

            near = get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"commands: {', '.join(self.list_commands(ctx))}"
            if os.path.exists(args[0]):
                hint = f"to assess this file:  veracity assess {args[0]}"
            ctx.fail(f"no command `{args[0]}`; {hint}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; exit quietly if the reader of standard output has closed the pipe."""
        try:
            done = super().invoke(ctx)
            sys.stdout.flush()
            return done
        except BrokenPipeError:
            _forget_stdout()
            raise click.exceptions.Exit(BAD_INPUT) from None


def _forget_stdout() -> None:
    """Discard buffered output, so that Python does not report the closed pipe again at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from veracity import __version__, kernels

        click.echo(f"veracity {__version__} (kernel: {kernels.NAME})")
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_version,
    help="Print the version and the kernel in use.",
)
def veracity() -> None:
    """How true are your probabilities?

    Reads forecasts with outcomes, and says how far the stated probabilities can be trusted, what is lost, and what
    would repair it.

    \b
    Examples:
      veracity assess forecasts.csv
      veracity assess forecasts.csv --report out.html
      veracity compare first.csv second.csv
      veracity check forecasts.csv --require "scores.accuracy>=0.6"
      veracity table --counts "83,56;2,12"

    \b
    Completion of commands and options, for bash (zsh and fish likewise):
      eval "$(_VERACITY_COMPLETE=bash_source veracity)"
    """


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code: 0 done, 1 a requirement failed, 2 bad input, 130 interrupted."""
    try:
        context = {"command": shlex.join(["veracity", *arguments])}
        code = veracity.main(args=list(arguments), prog_name="veracity", standalone_mode=False, obj=context)
        return code if isinstance(code, int) else DONE
    except (click.Abort, KeyboardInterrupt):
        return _say("interrupted", INTERRUPTED)
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "veracity"
        return _say(f"{error.format_message()}\n  help:  {path} --help")
    except click.ClickException as error:
        return _say(error.format_message())
    except ModuleNotFoundError as missing:
        from veracity.extras import remedy

        return _say(remedy(missing) or f"this should not happen: {missing}")
    except MemoryError:
        return _say("not enough memory; give the file as Parquet, or in parts")
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _say(f"{where}{error.strerror or error}")
    except ValueError as error:
        return _say(str(error))
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{os.path.basename(at.filename)}, line {at.lineno}"
        return _say(f"this should not happen: {type(error).__name__}: {error} ({place})")
    except SystemExit:
        raise
    except BaseException as error:  # a compiled library gave up
        from veracity.inputs.names import first_line

        return _say(f"this should not happen: {type(error).__name__}: {first_line(error)}")


def _say(message: str, code: int = BAD_INPUT) -> int:
    if was_interrupted():
        message, code = "interrupted", INTERRUPTED
    message = f"veracity: {message}"
    if not all(c.isprintable() or c == "\n" for c in message):
        from veracity.words import clean_lines

        message = clean_lines(message)
    with contextlib.suppress(OSError):  # standard error may be closed too
        click.echo(message, err=True)
    return code


def _open_streams() -> None:
    """Open closed standard streams on the null device, so that no file opened later takes their numbers."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if number == 0 else os.O_WRONLY)  # takes the lowest number that is free
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))


def main() -> None:
    """Run the command of `sys.argv` in a child process and exit with its code."""
    _open_streams()
    # Threads of a BLAS wait busily and help nothing here; the kernel has its own. NumPy reads this when imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(100_000)  # importing makes many objects and no garbage: looking for it would take a tenth of a run
    warnings.simplefilter("ignore", RuntimeWarning)  # findings explain infinite and undefined numbers
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without "…" shows "?" instead of failing
    code = in_child(lambda: run(sys.argv[1:]), _say)
    if not is_forked():
        sys.exit(code)  # profilers, coverage and debuggers have something to do at the end
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    # Taking every module apart again would take a tenth of a small run; and where an interrupt passed through compiled
    # code, Python would die of the signal itself.
    os._exit(code)
