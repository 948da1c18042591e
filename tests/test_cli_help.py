"""Help, version and completion: quick, whole, and with examples that run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from veracity import __version__, cli
from veracity.cli import run

COMMANDS = cli.veracity.list_commands(click.Context(cli.veracity))
HEAVY = ("numpy", "polars", "scipy", "altair", "jinja2", "rich", "narwhals")


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    for name in COMMANDS:
        assert re.search(rf"^  {name}  +\S", out, flags=re.MULTILINE), name
    assert {"assess", "check", "compare", "table"} <= set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_a_sentence_for_every_option(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    assert "Usage: veracity" in capsys.readouterr().out
    command = cli.veracity.get_command(click.Context(cli.veracity), name)
    assert command is not None
    assert command.help
    silent = [p.name for p in command.params if isinstance(p, click.Option) and not p.help]
    assert silent == []


def test_help_imports_nothing_heavy() -> None:
    """What makes --help quick; the time itself is measured by the benchmark."""
    program = f"""
import sys
from veracity.cli import run
code = run(["--help"])
print([name for name in {HEAVY!r} if name in sys.modules], code)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "[] 0"


def test_version_names_the_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert re.fullmatch(rf"veracity {re.escape(__version__)} \(kernel: \w+\)\n", capsys.readouterr().out)


def examples(text: str) -> list[str]:
    return re.findall(r"^\s+(veracity .+)$", text.partition("Examples:")[2], flags=re.MULTILINE)


FORECASTS = "truth,p_no,p_yes,site,patient\n" + "".join(
    f"{'yes' if i % 3 else 'no'},{0.4 - 0.2 * (i % 2):.1f},{0.6 + 0.2 * (i % 2):.1f},{'ab'[i % 2]},{i // 4}\n"
    for i in range(120)
)
MODELS = "question,date,outcome,gam,forest\n" + "".join(
    f"{i},2024-{1 + i // 28:02}-{1 + i % 28:02},{int(i % 3 > 0)},{0.5 + 0.1 * (i % 4):.2f},{0.7 - 0.1 * (i % 4):.2f}\n"
    for i in range(120)
)
LONG = "question,forecaster,outcome,risk\n" + "".join(
    f"{i},{who},{int(i % 3 > 0)},{0.5 + 0.1 * (i % 4) * sign:.2f}\n"
    for i in range(60)
    for who, sign in (("x", 1), ("y", -1))
)
FILES = {
    "forecasts.csv": FORECASTS,
    "first.csv": FORECASTS,
    "second.csv": FORECASTS,
    "models.csv": MODELS,
    "long.csv": LONG,
}


@pytest.mark.parametrize("name", ["", "assess", "compare", "check"])
def test_examples_of_the_help_run(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for file, text in FILES.items():
        Path(file).write_text(text)
    assert run([*([name] if name else []), "--help"]) == 0
    shown = examples(capsys.readouterr().out)
    assert len(shown) >= 3
    for example in shown:
        code = run([*shlex.split(example)[1:]])
        out, err = capsys.readouterr()
        assert code in ((0, 1) if " check " in example else (0,)), f"{example}\n{err}"
        assert out
        Path("out.html").unlink(missing_ok=True)


def test_shell_completes_commands_and_options() -> None:
    words = {"_VERACITY_COMPLETE": "bash_complete", "COMP_WORDS": "veracity ass", "COMP_CWORD": "1"}
    program = "from veracity.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **words},
        check=False,
    )
    assert "assess" in done.stdout
    words |= {"COMP_WORDS": "veracity assess --re", "COMP_CWORD": "2"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **words},
        check=False,
    )
    assert {line.partition(",")[2] for line in done.stdout.splitlines()} == {"--report"}
