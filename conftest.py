"""Examples of modules whose library is not installed are not collected."""

from __future__ import annotations

from importlib.util import find_spec

NEEDS = {"src/veracity/torch.py": "torchmetrics"}

collect_ignore = [path for path, library in NEEDS.items() if find_spec(library) is None]
