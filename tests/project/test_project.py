"""The repository itself: nothing names a host or a machine, every dependency is justified, bundled data are sound.

Style, types and layers are checked by `make lint`, which `make test` runs first.
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
HOSTS = ("pypi.org", "pythonhosted", "anaconda.org", "index-url", "find-links http")
MACHINE = re.compile(r"(?<![\w.])/(?:home|root|Users|work)/\w")


def tracked() -> list[Path]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("git or its history absent")
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def texts() -> list[tuple[Path, str]]:
    """Every tracked text but this file, which must name what it forbids."""
    out = []
    for path in tracked():
        if path == Path(__file__).resolve():
            continue
        try:
            out.append((path, path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue
    assert out
    return out


def test_no_file_names_a_package_host():
    for path, text in texts():
        text = text.replace("--no-emit-index-url", "")  # `make lock` asks for files without it
        found = [host for host in HOSTS if host in text]
        assert not found, f"{path.relative_to(ROOT)} names {found}"


def test_no_file_names_a_machine_path():
    for path, text in texts():
        assert not MACHINE.search(text), f"{path.relative_to(ROOT)}: {MACHINE.search(text)}"


def test_nothing_is_left_undone():
    unfinished = re.compile(r"\b(?:TODO|FIXME|XXX)\b|mark\.(?:skip|xfail)\b")
    for path, text in texts():
        if path.suffix in (".py", ".c", ".h", ".sh", ".toml", ".md"):
            assert not unfinished.search(text), f"{path.relative_to(ROOT)}: {unfinished.search(text)}"


def test_no_module_has_more_than_450_lines():
    for folder in ("src", "papers", "bench"):
        for path in (ROOT / folder).rglob("*.[pch]*"):
            if path.suffix in (".py", ".c", ".h"):
                lines = len(path.read_text().splitlines())
                assert lines <= 450, f"{path.relative_to(ROOT)} has {lines} lines"


def requirements(lines: list[str]) -> set[str]:
    return {re.match(r"[A-Za-z0-9._-]+", line)[0].lower() for line in lines} - {"veracity"}  # extras of its own


def declared() -> dict[str, set[str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {"run": requirements(project["dependencies"])} | {
        extra: requirements(names) for extra, names in project["optional-dependencies"].items()
    }


def test_every_dependency_is_justified():
    rows = re.findall(r"^\| ([\w.-]+) \|", (ROOT / "docs/dependencies.md").read_text(), flags=re.M)
    assert set().union(*declared().values()) == set(rows) - {"package"}


def pinned(name: str) -> dict[str, list[str]]:
    text = (ROOT / "requirements" / name).read_text()
    blocks = re.split(r"\n(?=[A-Za-z])", text)
    return {b.split("==")[0].lower(): [b.split("==")[1].split()[0], *re.findall(r"sha256:\w{64}", b)] for b in blocks}


def test_every_pin_has_hashes_and_runtime_is_a_part_of_dev():
    dev, runtime = pinned("dev.txt"), pinned("runtime.txt")
    assert all(len(entry) > 1 for entry in (*dev.values(), *runtime.values()))
    apart = ("torch", "mlflow")  # gigabytes
    assert set().union(*(names for extra, names in declared().items() if extra not in apart)) <= set(dev)
    assert declared()["torch"] <= set(torch := pinned("torch.txt"))
    assert all(len(entry) > 1 for name in ("mlflow.txt", "nannyml.txt") for entry in pinned(name).values())
    assert all(len(entry) > 1 for entry in torch.values())
    assert not {"torch", "mlflow"} & set(dev)
    assert declared()["run"] == {"numpy", "scipy"}
    assert declared()["run"] | declared()["cli"] <= set(runtime)
    assert {name: dev[name] for name in runtime} == runtime
    assert not {"pytest", "scikit-learn", "pyspark", "pandas"} & set(runtime)


def test_the_other_pandas_is_pinned_without_pyarrow_beside_the_pins_of_the_runtime():
    other, dev, runtime = pinned("pandas3.txt"), pinned("dev.txt"), pinned("runtime.txt")
    assert all(len(entry) > 1 for entry in other.values())
    assert (other["pandas"][0].split(".")[0], dev["pandas"][0].split(".")[0]) == ("3", "2")
    assert "pyarrow" not in other
    assert {name: entry for name, entry in other.items() if name in runtime} == {
        name: runtime[name] for name in ("narwhals", "numpy", "polars", "polars-runtime-32", "scipy")
    }


@pytest.mark.parametrize(
    ("model", "sureness"), [("logistic_regression", 0.0), ("naive_bayes", 1.0), ("random_forest", -1.0)]
)
def test_bundled_forecasts_are_what_the_demonstration_says(model, sureness):
    header, *lines = (ROOT / "demo" / f"{model}.csv").read_text().splitlines()
    assert header == "label," + ",".join(f"p_{k}" for k in range(10))
    table = np.array([line.split(",") for line in lines], dtype=float)
    label, p = table[:, 0].astype(int), table[:, 1:]
    assert len(p) == 1797
    np.testing.assert_allclose(p.sum(1), 1.0, atol=1e-12)
    assert np.all(p[np.arange(len(p)), label] > 0)
    assert (p.argmax(1) == label).mean() > 0.9
    excess = p.max(1).mean() - (p.argmax(1) == label).mean()  # over-confident models state more than they hold
    assert abs(excess) < 0.02 if sureness == 0.0 else sureness * excess > 0.05
