"""Compiles the optional C kernel and writes the script that draws charts; everything else is in pyproject.toml.

The module uses Python's limited API, so one binary serves every Python from 3.11 on. Where it cannot be compiled, or
Python is free-threaded (which has no limited API), the wheel is pure Python and the NumPy reference does the work.
The script is that of the installed vl-convert; without it, the script is made where a page is.
"""

from __future__ import annotations

import sys
import sysconfig
from glob import glob
from importlib.metadata import version
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

LINUX = sys.platform.startswith("linux")
COMPILED = not sysconfig.get_config_var("Py_GIL_DISABLED")


class BuildKernel(build_ext):
    """Compiles the kernel; where that fails there is none, and the distribution knows it."""

    def run(self) -> None:
        try:
            super().run()
        except Exception as problem:
            print(f"the kernel was not compiled, NumPy will serve: {problem}", file=sys.stderr)
            self.distribution.ext_modules = None  # type: ignore[assignment]
            self.extensions = []


class BuildPackage(build_py):
    """Writes the script that draws charts beside the pictures, named after the version of vl-convert it is of."""

    def run(self) -> None:
        try:
            import vl_convert
        except ModuleNotFoundError:
            print("vl-convert is not installed: the script of charts is made when it is needed", file=sys.stderr)
        else:
            folder = Path("src", "veracity", "plots")
            for outdated in folder.glob("runtime-*.js"):
                outdated.unlink()
            script = folder / f"runtime-{version('vl-convert-python')}.js"
            script.write_text(vl_convert.javascript_bundle(), encoding="utf-8")
        super().run()


class BuildWheel(bdist_wheel):
    """Compiles first, so that the name of the wheel tells what is in it."""

    def run(self) -> None:
        if self.distribution.has_ext_modules():
            self.run_command("build_ext")
        self.root_is_pure = not self.distribution.has_ext_modules()
        super().run()


KERNEL = Extension(
    "veracity.kernels._native",
    sources=sorted(glob("src/veracity/kernels/*.c")),
    depends=sorted(glob("src/veracity/kernels/*.h")),
    define_macros=[("Py_LIMITED_API", "0x030B0000")],
    extra_compile_args=["-O3", "-g0", "-std=gnu11", "-fno-math-errno", "-ffp-contract=off", "-Wno-psabi"],
    extra_link_args=["-Wl,-s"] if LINUX else [],  # without symbols that only a debugger reads
    libraries=["m", "pthread"],
    py_limited_api=True,
)

setup(
    ext_modules=[KERNEL] if COMPILED else [],
    cmdclass={"build_ext": BuildKernel, "build_py": BuildPackage, "bdist_wheel": BuildWheel},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if COMPILED else {},
)
