"""The event among two labels, by words such as yes and no, or by the negation of the other."""

from __future__ import annotations

from collections.abc import Sequence

EVENT_WORDS = {
    "yes": "no",
    "true": "false",
    "1": "0",
    "event": "no event",
    "positive": "negative",
    "present": "absent",
    "ja": "nein",
    "oui": "non",
    "si": "no",
    "sí": "no",
    "wahr": "falsch",
    "vrai": "faux",
    "verdadero": "falso",
    "vero": "falso",
    "y": "n",
    "t": "f",
}

NEGATIONS = ("no ", "not ", "non-", "non ", "without ")  # before the event: no blight, not at risk


def event_of(labels: Sequence[str]) -> tuple[str, str] | None:
    """Return (other, event) of two labels, or of one and its counterpart; None where the words do not decide.

    >>> event_of(("No", "Yes"))
    ('No', 'Yes')
    >>> event_of(("blight", "no blight"))
    ('no blight', 'blight')
    >>> event_of(("1", "2")) is None
    True
    """
    low = [label.lower() for label in labels]
    if len(labels) == 1:
        if low[0] in EVENT_WORDS:
            return EVENT_WORDS[low[0]], labels[0]
        for event, other in EVENT_WORDS.items():
            if other == low[0] and event not in ("si", "sí"):
                return labels[0], event
        return None
    for i, j in ((0, 1), (1, 0)):
        word = low[i]
        if low[j] in [negation + word for negation in NEGATIONS]:
            return labels[j], labels[i]
        if word in ("1", "y", "t"):
            if low[j] in (EVENT_WORDS[word], "-1"):
                return labels[j], labels[i]
        elif word in EVENT_WORDS and low[j] not in EVENT_WORDS:
            return labels[j], labels[i]
    return None
