"""What is installed: wheel and sdist built, looked into, installed clean and tried with the oldest libraries."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import scipy

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HOOKS = "import sys; from setuptools import build_meta as b; getattr(b, 'build_' + sys.argv[1])(sys.argv[2])"
SMOKE = """
import numpy as np, veracity as vc
rng = np.random.default_rng(0)
p = rng.random(300); y = rng.random(300) < p
a = vc.assess(y.astype(int), p)
assert a.scores.log_loss < 0.7 and a.verdict, a.verdict
assert vc.Assessment.from_json(a.to_json()) == a
assert vc.Tally.from_bytes(a.tally.to_bytes()) == a.tally
assert "log loss" in repr(a).lower()
q = rng.dirichlet(np.ones(4), 200)
assert vc.assess(rng.integers(0, 4, 200), q).losses("log").L > 0
"""
pytestmark = pytest.mark.slow


def run(command: list[Any], **options: Any) -> subprocess.CompletedProcess[str]:
    made = {"capture_output": True, "text": True, "timeout": 600, "check": False} | options
    return subprocess.run([str(word) for word in command], **made)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as it would be cloned, without what was compiled here."""
    folder = tmp_path_factory.mktemp("source") / "veracity"
    left = shutil.ignore_patterns(
        ".git", ".venv*", "__pycache__", "*.so", "*.egg-info", "build", "dist", "out", ".*cache"
    )
    shutil.copytree(ROOT, folder, ignore=left)
    return folder


@pytest.fixture(scope="module")
def built(source: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The sdist, and the wheel that is built from it."""
    dist = tmp_path_factory.mktemp("dist")
    made = run([sys.executable, "-c", HOOKS, "sdist", dist], cwd=source)
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(dist, filter="data")
    (inside,) = (path for path in dist.iterdir() if path.is_dir())
    made = run([sys.executable, "-c", HOOKS, "wheel", dist], cwd=inside)
    assert made.returncode == 0, made.stderr[-2000:]
    (wheel,) = dist.glob("*.whl")
    return {"sdist": sdist, "inside": inside, "wheel": wheel}


@pytest.fixture(scope="module")
def core(built: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """A function that runs Python with the wheel, NumPy and SciPy, and nothing else."""
    folder = tmp_path_factory.mktemp("core")
    with zipfile.ZipFile(built["wheel"]) as archive:
        archive.extractall(folder)
    for library in (numpy, scipy):
        home = Path(library.__file__).parent
        for path in (home, home.with_name(f"{home.name}.libs")):
            if path.exists():
                (folder / path.name).symlink_to(path)

    def python(*words: Any, **options: Any) -> subprocess.CompletedProcess[str]:
        env = {"PYTHONPATH": str(folder), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
        return run([sys.executable, "-S", *words], env=env, cwd=folder, **options)

    return python


def test_the_wheel_holds_the_compiled_kernel_stripped_and_no_sources(built: dict[str, Path]) -> None:
    if not built["wheel"].name.endswith(".whl") or "none-any" in built["wheel"].name:
        pytest.skip("compiler absent")
    assert re.fullmatch(r"veracity-[\d.]+-cp311-abi3-.+\.whl", built["wheel"].name)
    with zipfile.ZipFile(built["wheel"]) as archive:
        names = archive.namelist()
        (kernel,) = (name for name in names if name.endswith(".so"))
        binary = archive.read(kernel)
        metadata = archive.read(next(name for name in names if name.endswith("METADATA"))).decode()
    assert not [name for name in names if name.endswith((".c", ".h"))]
    assert not [name for name in names if not name.startswith(("veracity/", "veracity-"))]
    assert b".symtab" not in binary
    assert {"veracity/py.typed", "veracity/show/page.html", "veracity/schema/assessment-2.json"} <= set(names)
    assert set(re.findall(r"^Requires-Dist: ([\w-]+)[^;\n]*$", metadata, re.M)) == {"numpy", "scipy"}
    assert {"cli", "all", "dask", "spark", "sklearn"} <= set(re.findall(r"^Provides-Extra: (\w+)", metadata, re.M))


FREE_THREADED = """
import sysconfig
known = sysconfig.get_config_var
sysconfig.get_config_var = lambda name: 1 if name == "Py_GIL_DISABLED" else known(name)
"""


@pytest.mark.parametrize(("before", "compiler"), [("", "/bin/false"), (FREE_THREADED, "cc")])
def test_without_a_compiler_or_limited_api_the_wheel_is_one_of_pure_python(
    before: str, compiler: str, source: Path, tmp_path: Path
) -> None:
    inside = tmp_path / "source"
    shutil.copytree(source, inside)
    made = run([sys.executable, "-c", before + HOOKS, "wheel", tmp_path], cwd=inside, env=os.environ | {"CC": compiler})
    assert made.returncode == 0, made.stderr[-2000:]
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if name.endswith((".so", ".c", ".h"))]
        said = archive.read(next(name for name in archive.namelist() if name.endswith("/WHEEL"))).decode()
    assert "Root-Is-Purelib: true" in said


def test_the_library_works_with_numpy_and_scipy_alone(core: Callable[..., Any]) -> None:
    done = core("-c", SMOKE)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("code", "library"),
    [
        ("a.report('x.html')", "altair|jinja2"),
        ("a.plot('reliability')", "altair"),
        ("a.to_frame()", "polars"),
        ("vc.assess({'y': [0, 1], 'p': [0.2, 0.7]}, label='y')", "polars|narwhals"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(code: str, library: str, core: Callable[..., Any]) -> None:
    begin = "import veracity as vc\na = vc.assess([0, 1] * 20, [0.2, 0.7] * 20)\n"
    done = core("-c", begin + code)
    assert done.returncode == 1
    assert re.search(
        rf"ModuleNotFoundError: ({library}) is not installed\n  pip install 'veracity\[cli\]'", done.stderr
    )


def test_the_command_without_its_libraries_says_which_extra_brings_them(core: Callable[..., Any]) -> None:
    done = core("-m", "veracity", "assess", "x.csv")
    assert done.returncode == 2
    assert done.stderr == "veracity: click is not installed\n  pip install 'veracity[cli]'\n"


def test_the_sdist_can_run_its_tests(built: dict[str, Path]) -> None:
    env = os.environ | {"PYTHONPATH": str(built["inside"] / "src")}
    words = [
        "-m",
        "pytest",
        "-q",
        "-n",
        "0",
        "tests/laws/test_means.py",
        "tests/results/test_table.py",
        "tests/papers/test_hb17.py",
    ]
    done = run([sys.executable, *words], cwd=built["inside"], env=env)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (built["inside"] / "tests" / "prove").is_dir()
    with tarfile.open(built["sdist"]) as archive:
        assert not [name for name in archive.getnames() if name.endswith((".so", ".pyc"))]


def environment(python: str, folder: Path, *wanted: str) -> Path:
    """A virtual environment with these packages; skips the test where they cannot be had."""
    if run([python, "-m", "venv", "--without-pip", folder]).returncode:
        pytest.skip(f"{python} absent")
    installer = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        folder / "bin" / "python",
        "install",
        "--disable-pip-version-check",
    ]
    done = run([*installer, "--quiet", *wanted])
    if done.returncode:
        pytest.skip(f"packages cannot be had: {done.stderr.strip().splitlines()[-1:]}")
    return folder / "bin" / "python"


def test_the_oldest_versions_that_are_allowed_will_do(built: dict[str, Path], tmp_path: Path) -> None:
    bounds = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["cli"]]
    oldest = [re.sub(r"([\w-]+)>=([\d.]+).*", r"\1==\2", bound) for bound in bounds]
    oldest = [
        name if name.count(".") > 1 else f"{name}.*" if name.startswith("vl-convert") else f"{name}.0"
        for name in oldest
    ]
    python = environment(sys.executable, tmp_path / "venv", str(built["wheel"]), *oldest)
    done = run([python, "-c", SMOKE], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    data = tmp_path / "a.csv"
    data.write_text("y,p\n" + "1,0.7\n0,0.2\n1,0.4\n" * 40)
    command = [
        python.with_name("veracity"),
        "assess",
        data,
        "--report",
        tmp_path / "a.html",
        "--json",
        tmp_path / "a.json",
    ]
    done = run([*command, "--plots", tmp_path / "plots", "--quiet"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.html").stat().st_size > 100_000


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_one_wheel_serves_later_versions_of_python(version: str, built: dict[str, Path], tmp_path: Path) -> None:
    known = [shutil.which(f"python{version}"), *Path.home().glob(f".pyenv/versions/{version}*/bin/python")]
    found = next((str(path) for path in known if path and run([path, "--version"]).returncode == 0), None)
    if found is None:
        pytest.skip(f"Python {version} absent")
    python = environment(found, tmp_path / "venv", str(built["wheel"]))
    done = run([python, "-c", SMOKE + "\nfrom veracity import kernels; print(kernels.NAME)"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == ("numpy" if "none-any" in built["wheel"].name else "native")
