"""Write docs/files.md: how files of each shape are read, from the shapes that the tests read."""

from __future__ import annotations

from pathlib import Path

from tests.inputs.corpus.all import SECTIONS, SHAPES
from tests.inputs.corpus.shapes import Shape

FILE = Path(__file__).with_name("files.md")

HEAD = """# Files as people have them

How each of {shapes} shapes of files is read: {read} at once, {refused} after an option that the message names and that
was tried before it was printed, {changed} not before the file is changed. `tests/inputs/test_corpus.py` makes each
file, runs the command, checks layout, columns and log loss, and runs every command that a message prints. Written by
`python -m docs.make_files`.
"""


def outcome_of(shape: Shape) -> str:
    """Return what comes of a shape, in words."""
    columns = f"forecast `{_short(shape.forecasts)}`"
    columns = f"outcome `{shape.outcome}`, {columns}" if shape.outcome else columns
    models = f", {len(shape.losses)} models" if len(shape.losses) > 1 else ""
    reading = f"{shape.layout}: {columns}{models}"
    if not shape.says:
        return reading
    if shape.layout == "table":
        return f"refused, then `{shape.remedy}`"
    what = shape.says.splitlines()[0].partition(": ")[2] if not shape.remedy else ""
    return f"refused, then `{shape.remedy}` → {reading}" if shape.remedy else f"refused: {what}"


def _short(columns: str) -> str:
    names = columns.split(" ")
    return columns if len(names) <= 4 else f"{names[0]}…{names[-1]}"


def text() -> str:
    read, refused = sum(not s.says for s in SHAPES), sum(bool(s.remedy) for s in SHAPES)
    counts = {"shapes": len(SHAPES), "read": read, "refused": refused, "changed": len(SHAPES) - read - refused}
    parts = [HEAD.format(**counts)]
    for title, shapes in SECTIONS.items():
        rows = [(shape.name, f"`{shape.typed}`", outcome_of(shape)) for shape in shapes]
        lines = [("file", "command", "what happens"), ("---",) * 3, *rows]
        parts.append(f"## {title}\n")
        parts.append("\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines))
        parts.append("")
    return "\n".join(parts)


if __name__ == "__main__":
    FILE.write_text(text())
