"""Mutants: a seeded sample of small changes to the program, each of which some test should notice.

`python -m tests.prove mutants [FIRST [LAST]]` makes the sample (always the same for the same source), puts each mutant
into a copy of the source, and runs the tests of its folder, quick ones first, until one fails. It prints who survived.
"""

from __future__ import annotations

import ast
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "veracity"
FOLDERS = ("formulas", "state", "estimate", "maps", "read")
SAMPLE, SEED = 400, 27
PATIENCE = 1800  # seconds for the tests of one mutant: a loop without end is noticed too
# Tests of each folder, those that notice most in little time first.
TESTS = {
    "formulas": ("tests/laws", "tests/papers", "tests/test_table.py"),
    "state": ("tests/laws/test_tally.py", "tests/laws/test_document.py", "tests/engines/test_sample.py",
              "tests/engines/test_same_answer.py", "tests/prove/test_crafted.py", "tests/test_assessment.py"),
    "estimate": ("tests/test_assessment.py", "tests/laws/test_document.py", "tests/test_verdict.py",
                 "tests/test_curves.py", "tests/test_inference.py", "tests/test_influences.py",
                 "tests/laws/test_losses.py", "tests/laws/test_recalibration.py", "tests/test_reference.py",
                 "tests/conclusions/test_verdict_laws.py", "tests/conclusions/test_expected.py"),
    "maps": ("tests/laws/test_maps.py", "tests/laws/test_adjustment.py", "tests/test_calibrators.py",
             "tests/prove/test_crafted.py", "tests/laws/test_losses.py", "tests/laws/test_recalibration.py"),
    "read": ("tests/inputs",),
}  # fmt: skip
COMPARE = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
           ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}  # fmt: skip
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
              ast.FloorDiv: ast.Div, ast.Mod: ast.Add, ast.MatMult: ast.Mult, ast.LShift: ast.RShift,
              ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}  # fmt: skip
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum",
         "floor": "ceil", "ceil": "floor", "argmax": "argmin", "argmin": "argmax", "ones": "zeros", "log": "log1p",
         "cumsum": "cumprod", "sum": "mean"}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: where, and the line before and after."""

    path: Path
    line: int
    place: int  # number of the change in its file
    what: str

    @property
    def folder(self) -> str:
        return self.path.relative_to(SOURCE).parts[0]

    def __str__(self) -> str:
        return f"{self.path.relative_to(SOURCE)}:{self.line}  {self.what}"


class _Changes(ast.NodeTransformer):
    """Makes the change of this number, or lists all where it is −1."""

    def __init__(self, wanted: int = -1) -> None:
        self.wanted, self.count = wanted, 0
        self.found: list[tuple[int, int, str]] = []
        self._quiet = 0

    def _here(self, node: ast.AST, what: str) -> bool:
        if self._quiet:
            return False
        self.found.append((getattr(node, "lineno", 0), self.count, what))
        self.count += 1
        return self.count - 1 == self.wanted

    def visit(self, node: ast.AST) -> ast.AST:
        quiet = isinstance(node, (ast.Raise, ast.AnnAssign, ast.arg, ast.JoinedStr, ast.Assert)) and not (
            isinstance(node, ast.AnnAssign) and node.value is not None
        )
        self._quiet += quiet  # messages and types are no behaviour that numbers depend on
        made: ast.AST = super().visit(node)
        self._quiet -= quiet
        return made

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        other = COMPARE.get(type(node.ops[0]))
        if len(node.ops) == 1 and other and self._here(node, f"{type(node.ops[0]).__name__} → {other.__name__}"):
            node.ops = [other()]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
            return node
        other = ARITHMETIC.get(type(node.op))
        if other and self._here(node, f"{type(node.op).__name__} → {other.__name__}"):
            node.op = other()
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        if self._here(node, "and ↔ or"):
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, (ast.Not, ast.USub, ast.Invert)) and self._here(node, f"no {type(node.op).__name__}"):
            return node.operand
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool):
            return ast.Constant(not node.value) if self._here(node, f"{node.value} → {not node.value}") else node
        if isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            other = node.value + 1 if isinstance(node.value, int) else node.value * 1.5 + 0.1
            return ast.Constant(other) if self._here(node, f"{node.value} → {other}") else node
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in CALLS and self._here(node, f"{name} → {CALLS[name]}"):
            if isinstance(node.func, ast.Attribute):
                node.func.attr = CALLS[name]
            elif isinstance(node.func, ast.Name):
                node.func.id = CALLS[name]
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING") and self._here(node, "if not …"):
            node.test = ast.UnaryOp(ast.Not(), node.test)
        return node


def all_mutants() -> list[Mutant]:
    """Every change that the rules above make, in order."""
    found = []
    for folder in FOLDERS:
        for path in sorted((SOURCE / folder).rglob("*.py")):
            changes = _Changes()
            changes.visit(ast.parse(path.read_text(encoding="utf-8")))
            found += [Mutant(path, line, place, what) for line, place, what in changes.found]
    return found


def sample(size: int = SAMPLE, seed: int = SEED) -> list[Mutant]:
    """The seeded sample, as many from each folder as it has lines of the whole."""
    return Random(seed).sample(all_mutants(), size)


def text_of(mutant: Mutant) -> str:
    tree = ast.parse(mutant.path.read_text(encoding="utf-8"))
    return ast.unparse(ast.fix_missing_locations(_Changes(mutant.place).visit(tree)))


def killed(mutant: Mutant, copy: Path, tests: tuple[str, ...] | None = None) -> str:
    """What noticed the mutant: the test that failed, "time", or "" if none did."""
    inside = copy / "src" / "veracity" / mutant.path.relative_to(SOURCE)
    before = inside.read_text(encoding="utf-8")
    inside.write_text(text_of(mutant), encoding="utf-8")
    try:
        given = [str(inside.relative_to(copy)), *(tests or TESTS[mutant.folder])]
        present = [path for path in given if (copy / path).exists()]
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-n",
            "0",
            "--no-header",
            "-m",
            "not slow and not browser and not spark",
            *present,
        ]
        env = os.environ | {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        with subprocess.Popen(
            command,
            cwd=copy,
            env=env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            try:
                out, _ = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return "time"
        if process.returncode == 0:
            return ""
        failed = [line for line in out.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return failed[0].split(" - ")[0] if failed else out.strip().splitlines()[-1]
    finally:
        inside.write_text(before, encoding="utf-8")


def copied() -> Path:
    """A copy of source and tests that mutants may live in."""
    folder = Path(tempfile.mkdtemp(prefix="veracity-mutants-"))
    for name in ("src", "tests", "papers", "docs", "demo", "bench", "requirements"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in (
        "pyproject.toml",
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "Makefile",
        "setup.py",
        "LICENSE",
        "MANIFEST.in",
    ):
        shutil.copy(ROOT / name, folder / name)
    return folder


def run(first: int = 0, last: int = SAMPLE) -> Iterator[tuple[Mutant, str, float]]:
    """Yield each mutant of the sample with what noticed it and the seconds it took."""
    folder = copied()
    try:
        for mutant in sample()[first:last]:
            started = time.monotonic()
            yield mutant, killed(mutant, folder), time.monotonic() - started
    finally:
        shutil.rmtree(folder, ignore_errors=True)
