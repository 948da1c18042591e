"""The script that draws charts: built into the package once, that of the installed vl-convert."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import vl_convert

from veracity.plots._offline import packaged_runtime, runtime

REPORT = """
import sys
import numpy as np
import veracity as vc
from veracity import show

rng = np.random.default_rng(0)
p = rng.random(200)
page = show.to_html(vc.assess((rng.random(200) < p).astype(int), p))
assert "vegaEmbed" in page
print("vl_convert" in sys.modules)
"""


def test_the_package_holds_the_script_of_the_installed_converter() -> None:
    held = packaged_runtime()
    assert held is not None, "run `make setup`: setup.py writes the script"
    assert held == vl_convert.javascript_bundle()
    assert runtime() == held.replace("</script", "<\\/script")


def test_a_report_does_not_make_the_script_again() -> None:
    done = subprocess.run([sys.executable, "-c", REPORT], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_script_of_another_version_is_not_used(monkeypatch, tmp_path: Path) -> None:
    made = vl_convert.javascript_bundle()
    (tmp_path / "runtime-0.0.1.js").write_text("another")
    monkeypatch.setattr("veracity.plots._offline.files", lambda package: tmp_path)
    assert packaged_runtime() is None
    assert runtime.__wrapped__() == made.replace("</script", "<\\/script")
