"""Pages of the questions, and their list for the index."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from papers._page import renumbered, style_sheet, svg
from papers.questions import Answered

if TYPE_CHECKING:
    from markupsafe import Markup

TEMPLATE = Path(__file__).parent / "page.html"


def files(questions: Sequence[Answered]) -> dict[str, str]:
    """Return {file name: HTML} of every question."""
    from jinja2 import Environment
    from markupsafe import Markup

    environment = Environment(autoescape=True)
    environment.filters["prose"] = prose
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    style = Markup(style_sheet())
    return {name_of(one): renumbered(template.render(one=one, style=style, svg=svg)) for one in questions}


def name_of(one: Answered) -> str:
    """Return the name of the file of a question's page."""
    return f"question-{one.name.replace('_', '-')}.html"


def prose(text: str) -> Markup:
    """Return text with minus signs before digits, and what stands between backticks as code."""
    signed = re.sub(r"(?<![\w.])-(?=\d)", "−", text)
    from markupsafe import Markup

    parts = [Markup("<code>{}</code>").format(part) if odd % 2 else part for odd, part in enumerate(signed.split("`"))]
    return Markup("").join(parts)


def listed(questions: Sequence[Answered]) -> list[tuple[str, str, Markup]]:
    """Return (file, question, answer) of every question for the index."""
    return [(name_of(one), one.question, prose(one.page.answer)) for one in questions]
