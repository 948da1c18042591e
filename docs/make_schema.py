"""Write the JSON schemas in src/veracity/schema from the types of the sections."""

from __future__ import annotations

import json
from pathlib import Path

from veracity.results.schema import comparison_schema, estimate_schema, monitor_schema, schema

FOLDER = Path(__file__).parents[1] / "src/veracity/schema"
SCHEMAS = {"assessment-2.json": schema, "comparison-2.json": comparison_schema}
SCHEMAS |= {"monitor-1.json": monitor_schema, "estimate-1.json": estimate_schema}


def text(name: str) -> str:
    return json.dumps(SCHEMAS[name](), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name in SCHEMAS:
        (FOLDER / name).write_text(text(name))
