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


def test_proposed_commands_keep_every_option_that_says_how_the_input_is_read() -> None:
    from veracity.cli._options import READ
    from veracity.show.commands import FLAGS, KEPT, KEPT_FLAGS

    about_cases = {"--ideal", "--feature", "--group", "--cluster", "--time"}  # change no probability and no outcome
    assert {name for option in READ for name in option.opts} == {*KEPT, *KEPT_FLAGS} | about_cases
    flags = {
        name
        for command in ("assess", "compare", "check")
        for option in cli.veracity.get_command(click.Context(cli.veracity), command).params
        if getattr(option, "is_flag", False) and option.name not in ("help", "version")
        for name in option.opts
    }
    assert flags <= set(FLAGS)


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        (
            "veracity assess e.parquet --label y --members 'm*' --exceeds 6",
            "e.parquet --label y --members 'm*' --exceeds 6",
        ),
        (
            "veracity assess e.csv --normalise --proba '{model}_c*' --cut 0",
            "e.csv --normalise --cut 0 --proba 'wet_c*'",
        ),
    ],
)
def test_proposed_commands_read_one_model_as_it_was_read(typed: str, read: str) -> None:
    from veracity.show.commands import ready

    reading = "  models      2  dry, wet" if "{model}" in typed else ""
    model = "wet" if reading else None
    found = ready("veracity calibrate fit FILE --map beta -o map.json", typed, reading, model)
    assert found == f"veracity calibrate fit {read} --map beta -o map.json"


@pytest.mark.parametrize(
    ("files", "read"), [(["runs/v1.1.csv", "runs/v1.2.csv"], "runs/v1.2.csv"), (["runs"], "runs/v1.2.csv")]
)
def test_proposed_commands_of_a_comparison_read_the_file_of_one_model(files: list[str], read: str) -> None:
    from veracity.show.commands import ready

    typed = shlex.join(["veracity", "compare", *files])
    found = ready("veracity adjust FILE --to sample -o OUT", typed, "", "v1.2", ["v1.1.csv", "v1.2.csv"])
    assert found == f"veracity adjust {read} --to sample -o adjusted.csv"


def test_commands_in_messages_find_files_in_other_folders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "in it"
    folder.mkdir()
    for name, shift in (("a.csv", 0.0), ("b.csv", 0.1)):
        rows = [f"{i % 2},{shift + 0.02 * (i % 30) + 0.1}" for i in range(60)]
        (folder / name).write_text("\n".join(["outcome,probability", *rows]))
    monkeypatch.chdir(tmp_path)
    assert run(["assess", "in it/a.csv", "in it/b.csv"]) == 2
    said = capsys.readouterr().err
    (command,) = re.findall(r"veracity compare .*?(?=   |$)", said, flags=re.MULTILINE)
    assert run(shlex.split(command)[1:]) == 0, said
