"""Accuracy and AUC without labels beside NannyML's CBPE, which runs in an environment of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.estimate import beside_cbpe

PYTHON = Path(__file__).parents[2] / ".venv-nannyml" / "bin" / "python"
WITHIN = 0.02


@pytest.mark.skipif(not PYTHON.exists(), reason="NannyML is in an environment of its own: make .venv-nannyml/installed")
@pytest.mark.parametrize("name", ["over-confident", "too high", "ten classes"])
@pytest.mark.parametrize("shifted", [False, True])
def test_accuracy_and_auc_are_those_of_cbpe(name: str, shifted: bool) -> None:
    for score, (ours, theirs) in beside_cbpe(name, shifted, 20, str(PYTHON)).items():
        assert abs(np.mean(ours - theirs)) <= WITHIN, score
