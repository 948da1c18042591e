"""Libraries that `pip install veracity` does not bring, and the extra that does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

CLI = ("polars", "narwhals", "click", "rich", "jinja2", "markupsafe", "altair", "vl_convert")
EXTRAS = dict.fromkeys(CLI, "cli") | {"dask": "dask", "distributed": "dask", "pyspark": "spark", "sklearn": "sklearn"}
EXTRAS |= {"torch": "torch", "torchmetrics": "torch", "mlflow": "mlflow", "fastexcel": "excel"}


def remedy(missing: ModuleNotFoundError) -> str:
    """Return the missing library and the command that installs it; empty for libraries that no extra names.

    >>> remedy(ModuleNotFoundError("No module named 'polars'", name="polars"))
    "polars is not installed\\n  pip install 'veracity[cli]'"
    """
    library = (missing.name or "").partition(".")[0]
    return f"{library} is not installed\n  pip install 'veracity[{EXTRAS[library]}]'" if library in EXTRAS else ""


@contextmanager
def extras() -> Iterator[None]:
    """Let an import that fails say which extra brings the library."""
    try:
        yield
    except ModuleNotFoundError as missing:
        if not remedy(missing):
            raise
        raise ModuleNotFoundError(remedy(missing), name=missing.name) from None
