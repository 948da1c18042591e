"""Help, version and completion: quick, whole, and with examples that run."""

from __future__ import annotations

import html
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
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


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        (["e.csv", "--label=y", "--where", "a=1", "--normalise", "--where=b=2"], None),
        (
            ["--quiet", "e.csv", "--cut", "0,4", "--json", "x.json", "--no-header", "--level", "0.9"],
            "--cut --no-header",
        ),
        (["--group", "g", "--cluster", "c", "--id", "i", "--", "-e.csv"], "--cluster --id"),
    ],
)
def test_the_options_that_say_how_the_input_is_read_are_kept_as_they_were_written(
    typed: list[str], kept: str | None
) -> None:
    from veracity.cli._click import typed_input_options

    command = cli.veracity.get_command(click.Context(cli.veracity), "assess")
    assert command is not None
    with command.make_context("assess", typed):
        found = typed_input_options()
    if kept is None:
        assert set(found) == {("--label", "y"), ("--where", "a=1"), ("--where", "b=2"), ("--normalise",)}
    else:
        assert " ".join(option[0] for option in found) == kept


@pytest.mark.parametrize(
    ("options", "forecasts", "read"),
    [
        ((("--label", "y"), ("--members", "m*"), ("--exceeds", "6")), (), "e.csv --label y --members 'm*' --exceeds 6"),
        (
            (("--normalise",), ("--proba", "{model}_c*"), ("--cut", "0")),
            ("wet_c1", "wet_c2"),
            "e.csv --normalise --cut 0 --proba 'wet_c*'",
        ),
        ((), ("wet p",), "e.csv --positive-proba 'wet p'"),
    ],
)
def test_proposed_commands_read_one_model_as_it_was_read(
    options: tuple[tuple[str, ...], ...], forecasts: tuple[str, ...], read: str
) -> None:
    from veracity.records.sections import Given
    from veracity.show.commands import ready

    given = Given(("e.csv",), options, forecasts=forecasts)
    found = ready("veracity calibrate fit FILE --map beta -o map.json", given, "wet")
    assert found == f"veracity calibrate fit {read} --map beta -o map.json"


HELD = {
    "column 7 of names": ("7", ["--model", "7"]),
    "column of names": ("model", []),
    "columns": (None, []),
    "columns of classes": (None, ["--proba", "{model}_*"]),
}


@pytest.mark.parametrize("held", HELD)
def test_the_fix_of_one_of_several_models_runs(
    held: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    column, options = HELD[held]
    rng = np.random.default_rng(2)
    p = rng.random(800)
    y = (rng.random(800) < p).astype(int)
    sure = p**3 / (p**3 + (1 - p) ** 3)
    monkeypatch.chdir(tmp_path)
    lines = [f"y,p,{column}"] + [
        f"{o},{x:.6f},{m}" for m, q in (("gam", sure), ("net", p)) for o, x in zip(y, q, strict=True)
    ]
    if held == "columns":
        lines = ["y,p_gam,p_net"] + [f"{o},{a:.6f},{b:.6f}" for o, a, b in zip(y, sure, p, strict=True)]
    elif column is None:
        head = "y,gam_0,gam_1,net_0,net_1"
        lines = [head] + [f"{o},{1 - a},{a},{1 - b},{b}" for o, a, b in zip(y, sure, p, strict=True)]
    Path("models.csv").write_text("\n".join(lines) + "\n")
    assert cli.run(["assess", "models.csv", *options, "--details", "--report", "page.html"]) == 0
    capsys.readouterr()
    found = re.findall(r"veracity calibrate fit [^<]*", html.unescape(Path("page.html").read_text(encoding="utf-8")))
    assert found
    assert cli.run(shlex.split(found[0])[1:]) == 0, found[0]


@pytest.mark.parametrize(
    ("files", "read"), [(["runs/v1.1.csv", "runs/v1.2.csv"], "runs/v1.2.csv"), (["runs"], "runs/v1.2.csv")]
)
def test_proposed_commands_of_a_comparison_read_the_file_of_one_model(files: list[str], read: str) -> None:
    from veracity.records.sections import Given
    from veracity.show.commands import ready

    given = Given(tuple(files), ())
    found = ready("veracity adjust FILE --to sample -o OUT", given, "v1.2", ["v1.1.csv", "v1.2.csv"])
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
