"""Mutants: a seeded sample of small changes to the program, each of which some test should notice.

`python -m tests.prove mutants [FIRST [LAST]]` makes the sample (always the same for the same source), puts each mutant
into a copy of the source, and runs the tests that call the changed function, quick ones first, until one fails. It
prints who survived. Which test calls which function is recorded once and kept in `build/calls.json`.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "veracity"
CALLS_OF_TESTS = ROOT / "build" / "calls.json"
FOLDERS = ("formulas", "state", "estimate", "calibrators", "read", "words", "show")
SAID = ("words", "show")  # where sentences and tables are the behaviour, so that what is put into texts is changed too
SAMPLE, SEED = 400, 27
PATIENCE = 60.0  # seconds of tests for one mutant, as long as they took when recorded; quick tests come first
HANG = 10  # a mutant whose tests take this many times as long, and a minute, is noticed by its time
QUICK = ("-q", "--no-header", "-m", "not slow and not browser and not spark", "-p", "no:xdist")
TESTS = ("src/veracity", "tests/laws", "tests/papers", "tests/inputs", "tests/kernels", "tests/conclusions",
         "tests/pages", "tests/prove/test_crafted.py", "tests/prove/test_survivors.py",
         "tests/prove/test_survivors_in_estimates.py", "tests/prove/test_survivors_in_formulas.py",
         "tests/prove/test_survivors_in_tests.py",
         "tests/engines/test_sample.py", "tests/engines/test_same_answer.py", "tests/engines/test_pairing.py",
         "tests/engines/test_awkward_parts.py",
         *sorted(f"tests/{path.name}" for path in (ROOT / "tests").glob("test_*.py")))  # fmt: skip
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
    function: str  # the outermost function or method; "" between functions

    def __str__(self) -> str:
        return f"{self.path.relative_to(SOURCE)}:{self.line}  {self.what}"


class _Changes(ast.NodeTransformer):
    """Makes the change of this number, or lists all where it is −1; `said`: also inside of texts."""

    def __init__(self, said: bool, wanted: int = -1) -> None:
        self.wanted, self.count = wanted, 0
        self._silent = (ast.Raise, ast.AnnAssign, ast.arg, ast.Assert, *(() if said else (ast.JoinedStr,)))
        self.found: list[tuple[int, int, str, str]] = []
        self._quiet = 0
        self._names: list[str] = []
        self._inside = 0

    def _here(self, node: ast.AST, what: str) -> bool:
        if self._quiet:
            return False
        function = ".".join(self._names) if self._inside else ""
        self.found.append((getattr(node, "lineno", 0), self.count, what, function))
        self.count += 1
        return self.count - 1 == self.wanted

    def visit(self, node: ast.AST) -> ast.AST:
        quiet = isinstance(node, self._silent) and not (isinstance(node, ast.AnnAssign) and node.value is not None)
        self._quiet += quiet  # messages and types are no behaviour that numbers depend on
        function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if named := isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not self._inside:
            self._names.append(node.name)  # type: ignore[attr-defined]
        self._inside += function
        made: ast.AST = super().visit(node)
        self._inside -= function
        if named:
            self._names.pop()
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

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        if self._here(node, "if ↔ else"):
            node.body, node.orelse = node.orelse, node.body
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
            changes = _Changes(folder in SAID)
            changes.visit(ast.parse(path.read_text(encoding="utf-8")))
            found += [Mutant(path, *held) for held in changes.found]
    return found


def sample(size: int = SAMPLE, seed: int = SEED) -> list[Mutant]:
    """The seeded sample, as many from each folder as it has lines of the whole."""
    return Random(seed).sample(all_mutants(), size)


def text_of(mutant: Mutant) -> str:
    tree = ast.parse(mutant.path.read_text(encoding="utf-8"))
    said = mutant.path.relative_to(SOURCE).parts[0] in SAID
    return ast.unparse(ast.fix_missing_locations(_Changes(said, mutant.place).visit(tree)))


class _Recorder:
    """Records the functions of ours that each test calls, and the seconds it takes."""

    def __init__(self, source: Path) -> None:
        self.source = f"{source}{os.sep}"
        self.calls: dict[str, dict[str, Any]] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        codes: set[Any] = set()
        add = codes.add

        def profile(frame: Any, event: str, argument: Any) -> None:
            if event == "call":
                add(frame.f_code)

        started = time.monotonic()
        threading.setprofile(profile)
        sys.setprofile(profile)
        yield
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
        called = {
            f"{code.co_filename.removeprefix(self.source)}:{code.co_qualname.split('.<locals>')[0]}"
            for code in codes if code.co_filename.startswith(self.source)
        }  # fmt: skip
        self.calls[item.nodeid] = {"seconds": time.monotonic() - started, "calls": sorted(called)}


class _First:
    """Runs these tests in order and remembers the first that failed; leaves out those whose names a mutant changed."""

    def __init__(self, tests: Iterable[str]) -> None:
        self.order, self.failed = {name: i for i, name in enumerate(tests)}, ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.order), key=lambda i: self.order[i.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.failed:
            self.failed = f"collecting {report.nodeid}"


def in_a_child(copy: Path, work: Callable[[], str], seconds: float) -> str:
    """What `work` returns in a child that imports the copy; "time" where it does not come to an end."""
    out = copy / "said"
    out.write_text("")
    if not (child := os.fork()):
        os.setsid()
        os.chdir(copy)
        null = os.open(copy / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(null, 1)
        os.dup2(null, 2)
        sys.path[:0] = [str(copy / "src"), str(copy)]
        os.environ |= {"PYTHONPATH": os.pathsep.join(sys.path[:2]), "PYTHONDONTWRITEBYTECODE": "1"}
        sys.dont_write_bytecode = True
        for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "veracity", "papers")]:
            del sys.modules[name]
        try:
            out.write_text(work())
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    end = time.monotonic() + seconds
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "time"
        time.sleep(0.02)
    if ended[1] and not os.WIFSIGNALED(ended[1]):
        raise RuntimeError((copy / "log").read_text())
    return "a crash" if ended[1] else out.read_text()


def calls_of_tests(copy: Path) -> dict[str, dict[str, Any]]:
    """Each test with its seconds and the functions it calls, recorded where no record is kept."""
    if not CALLS_OF_TESTS.exists():

        def record() -> str:
            recorder = _Recorder(copy / "src" / "veracity")
            pytest.main([*QUICK, *TESTS], plugins=[recorder])
            return json.dumps(recorder.calls)

        CALLS_OF_TESTS.parent.mkdir(exist_ok=True)
        CALLS_OF_TESTS.write_text(in_a_child(copy, record, 7200))
    held: dict[str, dict[str, Any]] = json.loads(CALLS_OF_TESTS.read_text())
    return held


def chosen(mutant: Mutant, calls: dict[str, dict[str, Any]], patience: float = PATIENCE) -> dict[str, float]:
    """The tests that call the mutant's function, or its file where it is in none, quickest first: names, seconds."""
    path = f"{mutant.path.relative_to(SOURCE)}:"
    called = path + mutant.function
    tests = {
        name: held["seconds"]
        for name, held in calls.items()
        if (called in held["calls"] if mutant.function else any(call.startswith(path) for call in held["calls"]))
    }
    total, out = 0.0, {}
    for name in sorted(tests, key=tests.__getitem__):
        total += tests[name]
        if out and total > patience:
            break
        out[name] = tests[name]
    return out


def killed(mutant: Mutant, copy: Path, tests: dict[str, float]) -> str:
    """What noticed the mutant: the test that failed, "time", or "" if none did."""
    inside = copy / "src" / "veracity" / mutant.path.relative_to(SOURCE)
    before = inside.read_text(encoding="utf-8")
    inside.write_text(text_of(mutant), encoding="utf-8")

    def work() -> str:
        first, files = _First(tests), dict.fromkeys(name.split("::")[0] for name in tests)
        code = pytest.main(["-x", *QUICK, *files], plugins=[first])
        quiet = code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        return first.failed or ("" if quiet else f"pytest ended with {code}")

    try:
        return in_a_child(copy, work, 60 + HANG * sum(tests.values())) if tests else ""
    finally:
        inside.write_text(before, encoding="utf-8")


def copied() -> Path:
    """A copy of source and tests that mutants may live in."""
    folder = Path(tempfile.mkdtemp(prefix="veracity-mutants-"))
    left = shutil.ignore_patterns(".git", ".venv", "__pycache__", "*.egg-info", "build", "dist", "out", ".*cache")
    shutil.copytree(ROOT, folder / "veracity", ignore=left)
    return folder / "veracity"


def run(first: int = 0, last: int = SAMPLE) -> Iterator[tuple[Mutant, str, float]]:
    """Yield each mutant of the sample with what noticed it and the seconds it took."""
    import scipy.optimize
    import scipy.stats  # noqa: F401  (once, before the children; polars not: its threads do not survive a fork)

    copy = copied()
    try:
        calls = calls_of_tests(copy)
        for mutant in sample()[first:last]:
            started = time.monotonic()
            yield mutant, killed(mutant, copy, chosen(mutant, calls)), time.monotonic() - started
    finally:
        shutil.rmtree(copy.parent, ignore_errors=True)
