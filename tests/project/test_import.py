"""`import veracity` must stay light: its heavy libraries are loaded when first needed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import veracity

HEAVY = ("scipy", "polars", "narwhals", "altair", "vl_convert", "pandas", "pyarrow", "sklearn", "dask", "pyspark")

PROBE = """
import json, sys, time
import numpy
start = time.process_time()
{code}
print(json.dumps({{"seconds": time.process_time() - start, "loaded": sorted(sys.modules)}}))
"""


def probe(code: str) -> dict[str, object]:
    done = subprocess.run([sys.executable, "-c", PROBE.format(code=code)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "code",
    [
        "import veracity",
        "import veracity; veracity.generalized_mean([0.5, 0.8], 0)",
        "import veracity; veracity.risk_profile([0.5, 0.8])",
        "import veracity; veracity.rule('brier').shift([0.5, 0.5], [0.1, 0.0])",
        "import veracity; veracity.Plan()",
    ],
)
def test_import_loads_nothing_heavy(code):
    got = probe(code)
    assert not [name for name in HEAVY if name in got["loaded"]]
    print(f"{code}: {1000 * got['seconds']:.0f} ms of CPU time beyond NumPy (aim: at most 60)")


def test_a_printed_answer_loads_no_library_of_distributions():
    answer = "import veracity; str(veracity.assess([0, 1, 1, 0] * 50, [0.2, 0.7, 0.9, 0.4] * 50))"
    assert "scipy.stats" not in probe(answer)["loaded"]


@pytest.mark.parametrize("name", veracity.__all__)
def test_every_public_name_is_there(name):
    assert getattr(veracity, name) is not None
    assert name in dir(veracity)


def test_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="module 'veracity' has no attribute 'nothing'"):
        veracity.nothing  # noqa: B018
