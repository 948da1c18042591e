"""What the documentation needs beyond Sphinx: formulas without a script, pages from the program itself, checks.

* formulas become MathML, which browsers draw themselves: no script and no foreign address;
* the pages on commands and charts are written from what the commands and charts say of themselves;
* every page is also there as Markdown, and `llms.txt` lists them;
* a public name, an option or a chart without an example, and a foreign address in what is loaded, fail the build.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import re
import shutil
from pathlib import Path
from typing import Any

import click
import nbformat
from docutils import nodes
from latex2mathml.converter import convert
from myst_nb.core import render
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

import veracity
from docs import _examples
from veracity.cli import Commands

HERE = Path(__file__).resolve().parent
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
    examples = _examples.examples()
    pages: dict[str, str] = {}
    for name, command in _examples.commands().items():
        group, _, inner = name.partition(" ")
        head = f"## veracity {name}" if inner else f"# veracity {name}"
        first = f"# veracity {group}\n\n```text\n{_help(['veracity', group], '--help')}\n```\n\n" if inner else ""
        page = pages.get(f"command-{group}", first)
        pages[f"command-{group}"] = f"{page}{head}\n\n" + _command(command, ["veracity", *name.split()], examples[name])
    listing = "\n".join(pages)
    pages["commands"] = (
        "# Commands\n\nEach with its usual options, those for special cases, and examples: those of the tables ran"
        " when this page was built. What `assess` reads and estimates, the other commands read and estimate by the"
        " same options. `-` is standard input or output; exit code 0: done, 1: a requirement failed, 2: bad input.\n\n"
        f"```{{toctree}}\n:maxdepth: 1\n\n{listing}\n```\n"
    )
    return pages


def _command(command: click.Command, words: list[str], examples: dict[str, str]) -> str:
    parts = [f"```text\n{_help(words, '--help')}\n```"]
    level = "#" * len(words)
    if any("--help-all" in option.opts for option in command.get_params(click.Context(command))):
        parts.append(f"{level} Every option\n\n```text\n{_help(words, '--help-all')}\n```")
    rows = [f"| `{option}` | `{line}` |" for option, line in examples.items()]
    parts.append(f"{level} An example of each option")
    parts.append("\n".join(["| option | a command that ran |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n\n"


def _help(words: list[str], flag: str) -> str:
    from click.testing import CliRunner

    result = CliRunner(env={"COLUMNS": "96"}).invoke(Commands(), [*words[1:], flag], prog_name="veracity")
    return result.output.rstrip()


def chart_page() -> str:
    """Return the gallery, as Markdown: every chart with the call that draws it."""
    how = 'In a notebook each is interactive; `.save("x.png")` writes it, also as SVG, PDF or HTML.'
    parts = [f"# Charts\n\n{how}\n\n```python{_examples.CHARTS}```"]
    for picture, call, drawn in _examples.charts():
        (GENERATED / f"{picture.name}-wide.svg").write_bytes(drawn["light"])
        (GENERATED / f"{picture.name}-dark.svg").write_bytes(drawn["dark"])
        parts += [f"## {picture.title}", f"`{call}`", f"![{picture.title}]({picture.name}-wide.svg)", picture.caption]
    return "\n\n".join(part for part in parts if part) + "\n"


def write_pages(app: Sphinx) -> None:
    """Write the generated pages, where the program or the examples have changed."""
    GENERATED.mkdir(exist_ok=True)
    sources = sorted([*Path(veracity.__file__).parent.rglob("*.py"), *HERE.glob("_*.py"), HERE / "commands.txt"])
    key = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    stamp = GENERATED / "key.txt"
    if stamp.exists() and stamp.read_text() == key:
        return
    for name, text in (command_pages() | {"charts": chart_page()}).items():
        path = GENERATED / f"{name}.md"
        if not path.exists() or path.read_text() != text:  # an unchanged page is not built again
            path.write_text(text)
    stamp.write_text(key)


def show_variants(app: Sphinx, page: nodes.document) -> None:
    """Show a picture's dark version in the dark, and its narrow one on narrow screens, where they lie beside it."""
    folder = Path(app.env.doc2path(app.env.docname)).parent
    for picture in list(page.findall(nodes.image)):
        for name in ("dark", "narrow"):
            uri = picture["uri"].replace("-wide.", f"-{name}.")
            if uri != picture["uri"] and (folder / uri).exists():
                other = picture.deepcopy()
                other["uri"], other["classes"] = uri, [f"only-{name}"]
                picture["classes"].append("only-light" if name == "dark" else "only-broad")
                picture.parent.insert(picture.parent.index(picture) + 1, other)


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


ANSI = re.compile(r"\x1b\[[?\d;]*[A-Za-z]")  # IPython's cells are a terminal to the command


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
    for picture in GENERATED.glob("*-wide.svg"):
        shutil.copy(picture, out / "_generated")
    (out / "llms.txt").write_text("\n".join(lines) + "\n")
    refuse_foreign_addresses(out)


def whole_streams(outputs: list[Any]) -> list[Any]:
    """Return what a cell printed with the pieces of each stream in one, where the first was."""
    streams: dict[str, Any] = {}
    shown = []
    for output in outputs:
        if output.output_type != "stream":
            shown.append(output)
        elif output.name in streams:
            streams[output.name].text += output.text
        else:
            streams[output.name] = output.copy()
            shown.append(streams[output.name])
    return shown


render.coalesce_streams = whole_streams  # that of myst_nb ends a line with every piece, and changes what it was given


def with_outputs(notebook: Path) -> str:
    """Return an executed page as Markdown: its text, its code, and what the code printed."""
    parts = []
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.cell_type != "code":
            parts.append(cell.source)
            continue
        if "remove-input" not in cell.metadata.get("tags", []):
            parts.append(f"```python\n{cell.source}\n```")
        outputs = whole_streams(cell.outputs)
        printed = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs]
        if any(printed) and "remove-output" not in cell.metadata.get("tags", []):
            parts.append(f"```text\n{ANSI.sub('', ''.join(printed)).rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def _included(page: Path, found: re.Match[str]) -> str:
    """Return an included text, or its part, with the links that it has from the page."""
    source = (page / found[1]).resolve()
    text = source.read_text(encoding="utf-8")
    if found[0].startswith("```{literalinclude}"):
        return f"```\n{text.rstrip()}\n```"
    for option, part in re.findall(r":(start-after|end-before): (.+)", found[2]):
        before, _, after = text.partition(part)
        text = after if option == "start-after" else before

    def moved(link: re.Match[str]) -> str:
        """Return a link from the page; one that leads out of the documentation is its text."""
        target = (source.parent / link[2]).resolve()
        return f"[{link[1]}]({os.path.relpath(target, page.resolve())})" if HERE in target.parents else link[1]

    return re.sub(r"\[([^\]]*)\]\((?!\w+:|#)([^)]+)\)", moved, text).strip()


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


MODULE = re.compile(r"^\.\. automodule:: (\S+)\n   :members:(.*)$", flags=re.M)


def refuse_names_without_an_example(_app: Sphinx | None = None) -> None:
    """Refuse public names that no example explains or that the reference leaves out."""
    names = [name for name in veracity.__all__ if not name.startswith("_")]
    listed = (HERE / "reference" / "api.md").read_text()
    public = {name: getattr(veracity, name) for name in names}
    for path, members in MODULE.findall(listed):
        module = importlib.import_module(path)
        chosen = [name.strip() for name in members.split(",") if name.strip()] or module.__all__
        public |= {f"{path}.{name}": getattr(module, name) for name in chosen}
    if bare := [name for name, thing in public.items() if callable(thing) and ">>>" not in (thing.__doc__ or "")]:
        raise ExtensionError(f"public names without an example in their docstring: {', '.join(bare)}")
    missing = [name for name in names if f":: veracity.{name}\n" not in listed]
    if missing:
        raise ExtensionError(f"public names that reference/api.md does not list: {', '.join(missing)}")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline_formula, None), (displayed_formula, None))
    app.connect("autodoc-process-docstring", list_fields, priority=100)  # before numpydoc
    app.connect("builder-inited", refuse_names_without_an_example)
    app.connect("builder-inited", write_pages)
    app.connect("doctree-read", show_variants, priority=400)  # before Sphinx collects the pictures
    app.connect("build-finished", write_markdown)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
