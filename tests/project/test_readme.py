"""The README's code prints the output that stands under it, its commands run, and its links lead somewhere."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def text(root: Path) -> str:
    return (root / "README.md").read_text()


def test_code_of_the_readme_prints_what_it_shows(text: str) -> None:
    ((code, shown),) = re.findall(r"```python\n(.*?)```\n```text\n(.*?)```", text, flags=re.S)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == shown


def test_commands_of_the_readme_run(
    text: str, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from veracity.cli import Commands, run

    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").symlink_to(root / "demo")
    rows = [f"{i % 5 % 2},{0.12 if i % 5 % 2 == 0 else 0.83}" for i in range(200)]
    (tmp_path / "forecasts.csv").write_text("\n".join(["outcome,probability", *rows]))
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, flags=re.S) for line in block.splitlines()]
    commands = [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("veracity ")]
    assert [command[0] for command in commands] == ["assess", "assess", "compare"]
    for command in commands:
        files = [str(path) for word in command for path in sorted(tmp_path.glob(word)) if "*" in word]
        assert run([word for word in command if "*" not in word] + files) == 0
        assert capsys.readouterr().out
    assert (tmp_path / "out.html").exists()
    named = set(re.findall(r"`(\w+)` \(", text.partition("The other commands")[2].partition("\n\n")[0]))
    assert named | {"assess", "compare"} == set(Commands().list_commands(None))  # type: ignore[arg-type]


def test_links_and_benchmarks_of_the_readme_exist(text: str, root: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    assert len(links) > 10
    assert [link for link in links if not (root / link).exists()] == []
    modules = re.findall(r"python -m (bench\.\w+)", text)
    assert modules
    assert [name for name in modules if not (root / f"{name.replace('.', '/')}.py").exists()] == []


def test_versions_of_the_compared_packages_are_those_installed(text: str) -> None:
    from importlib.metadata import version

    for name in ("scikit-learn", "probcal", "model-diagnostics"):
        assert f"{name} {version(name)}" in text
