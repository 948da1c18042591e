"""Text that is safe to print, and the pieces that sentences are made of."""

from __future__ import annotations

import re
from collections.abc import Sequence

GENERIC_EVENTS = ("1", "1.0", "true", "yes", "event", "ja", "oui", "si", "sí")  # labels that name no event
BLANKS = re.compile("[\n\t\r]")
# Controls, line separators, directions, surrogates, and what no character is.
NO_TEXT = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
    + "]"
)
FORMULA = tuple("=+-@＝＋－＠")  # beginnings that a spreadsheet would compute


def natural(text: str) -> tuple[float, str]:
    """Return what puts names in the order that people expect: numbers by size, before words.

    >>> sorted(["10", "b", "9", "a"], key=natural)
    ['9', '10', 'a', 'b']
    """
    try:
        return float(text), text
    except ValueError:
        return float("inf"), text


def listing(names: Sequence[str]) -> str:
    """Return names as a list in a sentence.

    >>> listing(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else list(names))


def event_name(label: str | None) -> str:
    """Return what sentences call the event: its label, or "the event" where that only says that it happened.

    >>> event_name("rain"), event_name("1"), event_name(None)
    ('rain', 'the event', 'the event')
    """
    return "the event" if label is None or label.strip().lower() in GENERIC_EVENTS else label


def capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def sentence(text: str) -> str:
    """
    >>> sentence("12 rows left out"), sentence("")
    ('12 rows left out.', '')
    """
    return capital(text if not text or text.endswith((".", "?", "!")) else f"{text}.")


def inert(text: str) -> str:
    """Return text that a spreadsheet shows instead of computing it.

    >>> inert("=1+1"), inert("\\n =1+1"), inert("scores.brier")
    ("'=1+1", "'  =1+1", 'scores.brier')
    """
    text = clean(text)
    return f"'{text}" if text.strip(" '\"\N{REPLACEMENT CHARACTER}").startswith(FORMULA) else text


def clean(text: str) -> str:
    """Return text without control characters, which could move the cursor, reverse the line or end a file's format.

    >>> clean("a\\x1b[2Jb\\u202ec")
    'a�[2Jb�c'
    """
    if text.isascii() and text.isprintable():
        return text
    return NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", BLANKS.sub(" ", text))


def clean_lines(text: str) -> str:
    """Return text without control characters apart from the ends of its lines."""
    return "\n".join(map(clean, text.split("\n")))
