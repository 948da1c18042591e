"""One BLAS thread while the package computes: its products are small, and waking a pool of threads costs more."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import Any, TypeVar

from veracity.progress import working

T = TypeVar("T")

# Modules that are linked with the OpenBLAS of NumPy and with that of SciPy: their names are looked up through these.
LINKED = ("numpy._core._multiarray_umath", "scipy.special._ufuncs", "scipy.linalg._fblas")
PREFIXES, SUFFIXES = ("scipy_", ""), ("64_", "")


class _OneThread(ContextDecorator):
    """A limit for the whole process, counted over all threads that are inside; the last to leave takes it away.

    The caller's numbers come back, unless somebody has set others meanwhile. Where BLAS is no OpenBLAS, or where names
    cannot be looked up through a linked module (Windows), nothing changes.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._before: dict[str, int] = {}  # the numbers of threads, by the modules that LINKED names

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            for name in LINKED:  # some may have been loaded since the scope was entered
                if name in self._before or name not in sys.modules:
                    continue
                library = _linked(name)
                if library is not None:
                    self._before[name] = library.number()
                    library.limit(1)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            while self._before and not self._inside:
                name, number = self._before.popitem()
                library = _linked(name)
                if library is not None and number > 1 and library.number() == 1:
                    library.limit(number)


one_blas_thread = _OneThread()


def section(compute: Callable[[Any], T]) -> cached_property[T]:
    """Make a method a property that is computed with one BLAS thread when first asked for, and kept.

    Its name is shown while it takes long.
    """
    doing = compute.__name__.strip("_").replace("_", " ")
    return cached_property(one_blas_thread(working(doing)(compute)))


@dataclass(frozen=True)
class _OpenBlas:
    number: Callable[[], int]
    limit: Callable[[int], None]


@cache
def _linked(name: str) -> _OpenBlas | None:
    """Return the OpenBLAS that a loaded module is linked with; None where it is another library."""
    if os.name == "nt":
        return None
    library = ctypes.CDLL(sys.modules[name].__file__)
    for prefix, suffix in product(PREFIXES, SUFFIXES):
        try:
            number, limit = (library[f"{prefix}openblas_{verb}_num_threads{suffix}"] for verb in ("get", "set"))
        except AttributeError:
            continue
        return _OpenBlas(number, limit)
    return None
