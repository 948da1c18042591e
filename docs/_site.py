"""What the documentation needs beyond Sphinx: formulas without a script, pages from the program itself, checks.

* formulas become MathML, which browsers draw themselves: no script and no foreign address;
* the pages on commands and charts are written from what the commands and charts say of themselves;
* every page is also there as Markdown, and `llms.txt` lists them;
* a public name without an example, a page that no list names and a foreign address in what is loaded fail the build.
"""

from __future__ import annotations

import inspect
import re
import shutil
from pathlib import Path
from typing import Any

import click
import nbformat
from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

import veracity
from veracity.cli import Commands

HERE = Path(__file__).parent
GENERATED = HERE / "_generated"


# -- formulas -------------------------------------------------------------------------------------------------------


def inline_formula(translator: Any, node: nodes.math) -> None:
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def displayed_formula(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


# -- pages from the program -----------------------------------------------------------------------------------------


def command_pages() -> dict[str, str]:
    """Return one page per command, as Markdown: its meaning, its examples and its options, usual ones first."""
    group = Commands()
    context = click.Context(group, info_name="veracity")
    pages = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        pages[f"command-{name}"] = f"# veracity {name}\n\n" + _command(command, ["veracity", name])
    listing = "\n".join(f"command-{name}" for name in group.list_commands(context))
    pages["commands"] = (
        "# Commands\n\nEach with examples that run (the suite runs them), its usual options, and those for special"
        " cases. `-` is standard input or output; exit code 0: done, 1: a requirement failed, 2: bad input.\n\n"
        f"```{{toctree}}\n:maxdepth: 1\n\n{listing}\n```\n"
    )
    return pages


def _command(command: click.Command, words: list[str]) -> str:
    if isinstance(command, click.Group):
        parts = [inspect.cleandoc(command.help or "").replace("\b", "")]
        for name, inner in sorted(command.commands.items()):
            parts.append(f"## {' '.join([*words, name])}\n\n" + _command(inner, [*words, name]))
        return "\n\n".join(parts) + "\n"
    parts = [f"```text\n{_help(words, '--help')}\n```"]
    if any("--help-all" in option.opts for option in command.params):
        parts.append(f"{'#' * len(words)} Every option\n\n```text\n{_help(words, '--help-all')}\n```")
    return "\n\n".join(parts) + "\n"


def _help(words: list[str], flag: str) -> str:
    from click.testing import CliRunner

    result = CliRunner(env={"COLUMNS": "96"}).invoke(Commands(), [*words[1:], flag], prog_name="veracity")
    return result.output.rstrip()


def results() -> dict[str, tuple[str, Any]]:
    """Return {kind of picture: (name of a variable, result)}, which the gallery draws."""
    import numpy as np

    rng = np.random.default_rng(2)
    x = rng.normal(0, 1.2, 1500)
    outcome = (rng.random(1500) < 1 / (1 + np.exp(-x))).astype(int)
    sure, blurred = 1 / (1 + np.exp(-1.8 * x)), 1 / (1 + np.exp(-0.8 * x - rng.normal(0, 0.5, 1500)))
    dates = np.datetime64("2025-01-01") + np.arange(1500) // 5
    sites = {"site": np.where(np.arange(1500) % 3 == 0, "north", "south")}
    return {
        "assessment": ("a", veracity.assess(outcome, sure, groups=sites, time=dates)),
        "models": ("c", veracity.compare(outcome, {"sure": sure, "blurred": blurred})),
        "table": ("t", veracity.PredictionTable([[83, 56], [2, 12]])),
    }


def chart_page() -> str:
    """Return the gallery, as Markdown: every chart with the call that draws it."""
    from veracity import plots

    parts = ["# Charts", 'In a notebook each is interactive; `.save("x.png")` writes it, also as SVG, PDF or HTML.']
    for kind, (variable, result) in results().items():
        for picture in plots.pictures(kind, result):
            target = GENERATED / f"{kind}-{picture.name}.svg"
            target.write_bytes(plots.rendered(plots.chart(picture.name, result), "svg"))
            parts += [f"## {picture.title}", f'`{variable}.plot("{picture.name}")`']
            parts += [f"![{picture.title}]({target.name})", picture.caption]
    return "\n\n".join(part for part in parts if part) + "\n"


def write_pages(app: Sphinx) -> None:
    GENERATED.mkdir(exist_ok=True)
    for name, text in (command_pages() | {"charts": chart_page()}).items():
        path = GENERATED / f"{name}.md"
        if not path.exists() or path.read_text() != text:  # an unchanged page is not built again
            path.write_text(text)


# -- docstrings ------------------------------------------------------------------------------------------------------

FIELD = re.compile(r"(\w[\w, ]*?) {2,}(\S.*)")


def list_fields(_app: Sphinx, _what: str, _name: str, _thing: object, _options: object, lines: list[str]) -> None:
    """Turn aligned lines of names and meanings into a definition list."""
    shown: list[str] = []
    in_list = False
    for line in lines:
        field = FIELD.fullmatch(line)
        if field:
            shown += ([] if in_list else [""]) + [field[1], f"    {field[2]}"]
        elif in_list and line.startswith("    "):
            shown.append(f"    {line.strip()}")
        else:
            shown += ["", line] if in_list and line else [line]
        in_list = bool(field) or (in_list and line.startswith("    "))
    lines[:] = shown


# -- Markdown beside every page, and the list of them ----------------------------------------------------------------

MEMBER = re.compile(r"^\.\. auto(?:function|class|exception):: (\S+)$", flags=re.M)
FENCE = re.compile(r"```\{eval-rst\}\n(.*?)```", flags=re.S)
INCLUDED = re.compile(r"```\{(?:literalinclude|include)\} (\S+)\n(.*?)```", flags=re.S)


def write_markdown(app: Sphinx, problem: Exception | None) -> None:
    """Write every page as Markdown too, with the output of its cells and the texts that it includes."""
    if problem is not None or app.builder.name != "html":
        return
    out = Path(app.outdir)
    lines = ["# veracity", "", "> How true are your probabilities? Every page of the documentation, as Markdown.", ""]
    for name in sorted(app.env.found_docs):
        source = Path(app.env.doc2path(name))
        target = out / f"{name}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        executed = out.parent / "jupyter_execute" / f"{name}.ipynb"
        text = with_outputs(executed) if executed.exists() else source.read_text(encoding="utf-8")
        text = INCLUDED.sub(lambda found, folder=source.parent: _included(folder, found), text)
        target.write_text(FENCE.sub(_described, text), encoding="utf-8")
        title = app.env.titles[name].astext()
        lines.append(f"- [{title}]({name}.md)")
    shutil.copytree(HERE / "images", out / "images", dirs_exist_ok=True)
    (out / "llms.txt").write_text("\n".join(lines) + "\n")
    refuse_foreign_addresses(out)


def with_outputs(notebook: Path) -> str:
    """Return an executed page as Markdown: its text, its code, and what the code printed."""
    parts = []
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.cell_type != "code":
            parts.append(cell.source)
            continue
        if "remove-input" not in cell.metadata.get("tags", []):
            parts.append(f"```python\n{cell.source}\n```")
        printed = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs]
        if any(printed) and "remove-output" not in cell.metadata.get("tags", []):
            parts.append(f"```text\n{''.join(printed).rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def _included(folder: Path, found: re.Match[str]) -> str:
    text = (folder / found[1]).read_text(encoding="utf-8").rstrip()
    return text if found[0].startswith("```{include}") else f"```\n{text}\n```"


def _described(found: re.Match[str]) -> str:
    """Return the names of a block of the reference with their signatures and docstrings."""
    parts = []
    for path in MEMBER.findall(found[1]):
        thing = getattr(veracity, path.rpartition(".")[2])
        try:
            signature = str(inspect.signature(thing))
        except ValueError:
            signature = ""
        parts.append(f"### {path}{signature}\n\n```text\n{inspect.getdoc(thing) or ''}\n```")
        if inspect.isclass(thing):
            for name, member in inspect.getmembers(thing, lambda m: inspect.isfunction(m) or isinstance(m, property)):
                if not name.startswith("_") and (text := inspect.getdoc(member)):
                    parts.append(f"- `{name}`: {text.splitlines()[0]}")
    return "\n".join(parts) if parts else found[0]


FOREIGN = re.compile(
    r"""(?:<(?:script|img|iframe|source)[^>]*\bsrc|<link[^>]*\bhref|url\(|@import)\s*[=(]?\s*["']?(?:https?:)?//"""
)


def refuse_foreign_addresses(out: Path) -> None:
    """Refuse pages and styles that load something from another place."""
    for path in sorted([*out.rglob("*.html"), *out.rglob("*.css")]):
        if match := FOREIGN.search(path.read_text(encoding="utf-8")):
            raise ExtensionError(f"{path.relative_to(out)} loads something from elsewhere: {match.group()[:120]}")


def refuse_names_without_an_example(app: Sphinx) -> None:
    """Refuse public names that no example explains or that the reference leaves out."""
    names = [name for name in veracity.__all__ if not name.startswith("_")]
    bare = [name for name in names if ">>>" not in (getattr(veracity, name).__doc__ or "")]
    if bare:
        raise ExtensionError(f"public names without an example in their docstring: {', '.join(bare)}")
    listed = (HERE / "reference" / "api.md").read_text()
    missing = [name for name in names if f":: veracity.{name}\n" not in listed]
    if missing:
        raise ExtensionError(f"public names that reference/api.md does not list: {', '.join(missing)}")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline_formula, None), (displayed_formula, None))
    app.connect("autodoc-process-docstring", list_fields, priority=100)  # before numpydoc
    app.connect("builder-inited", refuse_names_without_an_example)
    app.connect("builder-inited", write_pages)
    app.connect("build-finished", write_markdown)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
