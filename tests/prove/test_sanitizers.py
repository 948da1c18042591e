"""The kernel in C under the address and undefined-behaviour sanitizers, for each width of vectors."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "src" / "veracity" / "kernels"
FLAGS = ["-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
LIKE_THE_BUILD = ["-std=gnu11", "-fno-math-errno", "-ffp-contract=off", "-Wno-psabi", "-DPy_LIMITED_API=0x030B0000"]
RUN = """
import sys
from random import Random
import numpy as np
from veracity import kernels
from veracity.kernels import _native, hashes
from veracity.kernels.grid import grid
from veracity.kernels.binary_moments import BinaryMomentCounter
from tests.prove import fuzz

bytes_wide, inputs = int(sys.argv[1]), int(sys.argv[2])
found = _native.use_vectors(bytes_wide)
assert kernels.NAME == "native"
for i in range(inputs):
    fuzz.kernel(Random(f"kernel {i}"))
rng = np.random.default_rng(0)
for n in (0, 1, 7, 1000, 5001):  # two classes in one column, in other memory orders too
    for kind in (np.float64, np.float32):
        for step in (1, 2, -1):
            p = (rng.random(2 * n) ** 4).astype(kind)[::step]
            y = rng.integers(0, 2, len(p)).astype(np.int8)
            BinaryMomentCounter(grid((0.005, 0.9))).add(p, y)
            hashes.forecast_hashes(p)
for shape in ((0, 3), (5, 1), (33, 200), (3, 1000)):
    hashes.forecast_hashes(np.asfortranarray(rng.random(shape)))
print("vectors of", found, "bytes")
"""


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A copy of the package with a sanitized kernel, and the run-time library of the sanitizer."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc absent")
    library = subprocess.run([compiler, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    if not Path(library.stdout.strip()).is_absolute():
        pytest.skip("sanitizers absent")
    folder = tmp_path_factory.mktemp("sanitized")
    shutil.copytree(
        ROOT / "src" / "veracity", folder / "veracity", ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    target = folder / "veracity" / "kernels" / f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"
    sources = [str(path) for path in sorted(KERNELS.glob("*.c"))]
    command = [compiler, "-shared", "-fPIC", *FLAGS, *LIKE_THE_BUILD, f"-I{sysconfig.get_paths()['include']}"]
    subprocess.run([*command, *sources, "-o", str(target), "-lm", "-lpthread"], check=True, capture_output=True)
    return folder, library.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("wide", [32, 16])
def test_the_kernel_reads_and_writes_only_its_own_memory(wide: int, sanitized: tuple[Path, str]) -> None:
    folder, library = sanitized
    env = os.environ | {
        "LD_PRELOAD": library, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "PYTHONMALLOC": "malloc",
        "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1:exitcode=77", "UBSAN_OPTIONS": "print_stacktrace=1",
    }  # fmt: skip
    inputs = os.environ.get("VERACITY_SANITIZED", "300")
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(wide), inputs],
        env=env,
        capture_output=True,
        text=True,
        timeout=3000,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "runtime error" not in done.stderr
    assert done.stdout.startswith("vectors of")


@pytest.mark.slow
def test_the_sanitizer_would_notice(sanitized: tuple[Path, str], tmp_path: Path) -> None:
    """A read one past the end of an array is noticed: the test above can fail."""
    _, library = sanitized
    source = tmp_path / "bad.c"
    source.write_text("int bad(int n) { int *a = __builtin_malloc(4 * n); return a[n]; }\n")
    made = tmp_path / "bad.so"
    subprocess.run(["gcc", "-shared", "-fPIC", *FLAGS, str(source), "-o", str(made)], check=True)
    run = f"import ctypes; ctypes.CDLL({str(made)!r}).bad(10)"
    env = os.environ | {"LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0:exitcode=77"}
    done = subprocess.run([sys.executable, "-c", run], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 77
    assert "heap-buffer-overflow" in done.stderr
