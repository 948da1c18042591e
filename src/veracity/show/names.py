"""Names from the data as names of files and places on a page."""

from __future__ import annotations

import re


def safe_name(name: str) -> str:
    """Return a model's name as the name of a folder.

    >>> safe_name("../a b:c")
    '.._a_b_c'
    """
    return re.sub(r"[^\w.+-]", "_", name)[:80] or "model"
