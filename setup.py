"""Compiles the optional C kernel; everything else is in pyproject.toml.

The module uses Python's limited API, so one binary serves every Python from 3.11 on. When no
compiler is at hand the install still succeeds and the NumPy twin does the work.
"""

from glob import glob

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "veracity.kernels._native",
            sources=sorted(glob("src/veracity/kernels/*.c")),
            depends=sorted(glob("src/veracity/kernels/*.h")),
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            extra_compile_args=["-O3", "-std=gnu11", "-fno-math-errno", "-ffp-contract=off", "-Wno-psabi"],
            libraries=["m", "pthread"],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
