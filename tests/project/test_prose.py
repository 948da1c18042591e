"""Prose is written once, in `words/`, and never read back: nothing is decided by what a sentence says."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import veracity

SOURCE = Path(veracity.__file__).parent
READERS = {"startswith", "endswith", "partition", "rpartition", "split", "rsplit", "splitlines", "replace", "find"}
READERS |= {"removeprefix", "removesuffix", "index", "count", "translate", "isdigit"}
REGEXES = {"search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split"}
FIELDS = {
    "message",
    "reason",
    "sentence",
    "sentences",
    "basis",
    "meaning",
    "remark",
    "remedy",
    "gloss",
    "text",
    "method",
}
FIELDS |= {"title", "caption", "parameters", "reading", "label", "describe", "one_line", "note", "notes"}
SAFE = {"clean", "clean_lines", "inert", "natural"}  # of `words.text`: they make any text safe to print
NAMES = {"message", "sentence", "reason", "remark", "refusal", "why"}


def prose_makers(module: ast.Module) -> set[str]:
    """Return the names that a module imports from `words`, with `words` itself."""
    names: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module.startswith("veracity.words"):
                names |= {alias.asname or alias.name for alias in node.names if alias.name not in SAFE}
            elif node.module == "veracity":
                names |= {alias.asname or alias.name for alias in node.names if alias.name == "words"}
    return names


def readings_of_prose(module: ast.Module) -> Iterator[int]:
    """Yield the lines where a message, a reason, a sentence or an error is taken apart or searched."""
    makers = prose_makers(module)
    for function in ast.walk(module):
        if isinstance(function, (ast.FunctionDef, ast.Lambda)):
            yield from _in_function(function, makers)


def _in_function(function: ast.FunctionDef | ast.Lambda, makers: set[str]) -> Iterator[int]:
    is_prose = _judge(function, makers)
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            call = node.func
            regex = call.attr in REGEXES and any(map(is_prose, node.args))
            if regex or (call.attr in READERS and is_prose(call.value)):
                yield node.lineno
        if isinstance(node, ast.Compare) and any(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops):
            text = isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
            if text and any(map(is_prose, node.comparators)):
                yield node.lineno


def _judge(function: ast.FunctionDef | ast.Lambda, makers: set[str]) -> Callable[[ast.AST], bool]:
    """Return what tells whether an expression in this function is prose."""
    errors = {h.name for h in ast.walk(function) if isinstance(h, ast.ExceptHandler) and h.name}
    prose = NAMES | errors

    def is_prose(node: ast.AST) -> bool:
        """Whether an expression is a text for people, or made from one."""
        if isinstance(node, ast.Name):
            return node.id in prose
        if isinstance(node, ast.Attribute):
            return node.attr in FIELDS
        if isinstance(node, ast.Call):
            called = node.func
            root = called
            while isinstance(root, ast.Attribute):
                root = root.value
            made = isinstance(root, ast.Name) and root.id in makers
            plain = isinstance(called, ast.Name) and called.id in {"str", "repr", "format"}
            chained = isinstance(called, ast.Attribute) and called.attr in READERS | {"strip", "join"}
            inside = [called.value] if chained and isinstance(called, ast.Attribute) else []
            named = isinstance(called, ast.Attribute) and called.attr in FIELDS
            return made or named or any(map(is_prose, [*(node.args if plain else []), *inside]))
        if isinstance(node, ast.BoolOp):
            return any(map(is_prose, node.values))
        if isinstance(node, (ast.Subscript, ast.FormattedValue)):
            return is_prose(node.value)
        return False

    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and is_prose(node.value):
            prose = prose | {target.id for target in node.targets if isinstance(target, ast.Name)}
    return is_prose


def test_no_module_outside_words_reads_prose_back() -> None:
    places: list[str] = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        lines = sorted(set(readings_of_prose(ast.parse(path.read_text()))))
        if not name.startswith("words/"):
            places += [f"{name}:{line}" for line in lines]
    assert places == []


@pytest.mark.parametrize(
    "line",
    [
        "'row' in finding.message",
        "finding.message.partition(' for the')[0]",
        "str(error).startswith('map')",
        "re.search('percent', verdict.reason)",
        "words.usefulness(a).text.replace('Log', 'log')",
        "words.headline(a).split()",
        "[part for part in layout.describe().splitlines()]",
    ],
)
def test_reading_a_sentence_back_is_seen(line: str) -> None:
    head = "from veracity import words\ndef f(a):\n    try:\n        a()\n    except ValueError as error:\n"
    text = f"{head}        {line}\n"
    assert list(readings_of_prose(ast.parse(text))) == [6]


def test_reading_a_file_or_an_option_is_no_reading_of_prose() -> None:
    text = "def f(text, path):\n    return text.split(','), path.name.endswith('.csv'), 'a' in text\n"
    assert list(readings_of_prose(ast.parse(text))) == []
