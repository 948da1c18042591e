"""What travels between rooms: readings, findings, verdicts and the sections of results; no computation, no text."""
