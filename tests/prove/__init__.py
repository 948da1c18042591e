"""Proof by attack: crafted inputs, faults, mutants, sanitizers; the suite runs a short version, `make prove` all."""
