"""Where there is a compiler, the C kernel is there: a failed build would otherwise only make everything slow."""

from __future__ import annotations

import shutil

import pytest

from veracity import kernels


def test_the_kernel_is_compiled_where_a_compiler_is() -> None:
    if not any(shutil.which(name) for name in ("cc", "gcc", "clang")):
        pytest.skip("no C compiler on this machine")
    assert kernels.native is not None
