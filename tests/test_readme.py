"""The README's code prints the output that stands under it."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path


def test_code_of_the_readme_prints_what_it_shows(root: Path) -> None:
    text = (root / "README.md").read_text()
    ((code, shown),) = re.findall(r"```python\n(.*?)```\n```text\n(.*?)```", text, flags=re.S)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == shown


def test_commands_of_the_readme_exist(root: Path) -> None:
    from veracity.cli import Commands

    named = set(re.findall(r"^veracity (\w+)", (root / "README.md").read_text(), flags=re.M))
    assert named <= set(Commands().list_commands(None))  # type: ignore[arg-type]
