"""Write src/veracity/schema/assessment-1.json from the types of the sections."""

from __future__ import annotations

import json
from pathlib import Path

from veracity.results.schema import schema

FILE = Path(__file__).parents[1] / "src/veracity/schema/assessment-1.json"


def text() -> str:
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(text())
