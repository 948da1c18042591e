"""Results in a notebook with a real kernel, and the notebook exported as a page without network."""

from __future__ import annotations

import base64
import os
import pickle
from collections.abc import Iterable
from html import unescape
from pathlib import Path
from typing import Any

import altair as alt
import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

import veracity as vc

SETUP = """
import numpy as np
import veracity as vc
from veracity import progress
progress.PATIENCE = 60.0  # however busy the machine is
rng = np.random.default_rng(5)
p = rng.random(300)
y = (rng.random(300) < p).astype(int)
a = vc.assess(y, p)
c = vc.compare(y, {"model": p, "half": 0.5 + 0 * p})
t = vc.PredictionTable([[30, 10], [12, 25]])
"""
CELLS = {
    **{name: name for name in "act"},
    **{f"print {name}": f"print({name})" for name in "act"},
    "str": "print(repr(str(a)))",
    "reliability": 'a.plot("reliability")',
    "narrow": 'a.plot("risk_profile").properties(width=200)',
    "differences": 'c.plot("differences")',
    "chosen": 'import altair\naltair.renderers.enable("png")\na.plot("roc")',
}
DRAWN = ("reliability", "narrow", "differences")
MARKS = "svg [class*=mark-] path, svg [class*=mark-] line, svg [class*=mark-] text"


def executed(folder: str, sources: Iterable[str], *paths: str) -> Any:
    """Return a notebook of these cells after a real kernel ran it, with packages from these paths before others."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    with pytest.MonkeyPatch.context() as patch:
        for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
            patch.setenv(name, folder)
        patch.delenv("FORCE_COLOR", raising=False)
        patch.setenv("PYTHONPATH", os.pathsep.join([*paths, str(Path(vc.__file__).parents[1])]))
        NotebookClient(made, kernel_name="python3", timeout=120, resources={"metadata": {"path": folder}}).execute()
    return made


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The notebook after a real kernel ran it."""
    return executed(str(tmp_path_factory.mktemp("notebook")), (SETUP, *CELLS.values()))


@pytest.fixture(scope="module")
def shown(notebook: Any) -> dict[str, list[Any]]:
    """The outputs of each cell by name."""
    return {name: list(cell.outputs) for name, cell in zip(CELLS, notebook.cells[1:], strict=True)}


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """What the same results print outside of a notebook."""
    held: dict[str, Any] = {}
    exec(SETUP, held)
    return {name: str(held[name]) for name in "act"}


def streamed(outputs: list[Any]) -> str:
    """Return what was printed, which may come in pieces, and nothing else."""
    assert {output.output_type for output in outputs} == {"stream"}
    return "".join(output.text for output in outputs)


@pytest.mark.parametrize("name", list("act"))
def test_a_result_is_shown_once_with_its_page_and_its_text(
    name: str, shown: dict[str, list[Any]], texts: dict[str, str]
) -> None:
    (output,) = shown[name]
    assert output.output_type == "execute_result"
    assert output.data["text/plain"] == texts[name].rstrip("\n")  # IPython drops the last one
    assert output.data["text/html"].count('class="veracity"') == 1


@pytest.mark.parametrize("name", list("act"))
def test_a_printed_result_is_its_text_once(name: str, shown: dict[str, list[Any]], texts: dict[str, str]) -> None:
    assert streamed(shown[f"print {name}"]) == texts[name] + "\n"


def test_the_text_of_a_result_is_the_same_as_outside_of_a_notebook(
    shown: dict[str, list[Any]], texts: dict[str, str]
) -> None:
    assert streamed(shown["str"]) == repr(texts["a"]) + "\n"


WITH_PANDAS_3 = (
    """
import numpy as np
import pandas as pd
import veracity as vc
from veracity import progress
progress.PATIENCE = 60.0
rng = np.random.default_rng(5)
log_odds = rng.normal(0, 1.5, 600)
frame = pd.DataFrame({"p": 1 / (1 + np.exp(-2 * log_odds)), "happened": rng.random(600) < 1 / (1 + np.exp(-log_odds))})
print(pd.__version__)
""",
    "a = vc.assess(frame)\na",
    "k = a.fix()\nk",
    "a.to_frame().head(2)",
    "a.report()",
    "a.plot('reliability')",
    """
from veracity import engines
frame.to_csv("long.csv", index=False)
progress.PATIENCE, shown, put = 0.0, [], progress._cell
def seen():
    cell = put()
    change = cell.update
    cell.update = lambda data, **how: (shown.append(data["text/plain"]), change(data, **how))
    return cell
progress._cell = seen
[a.n for a in engines.assess("long.csv").values()], shown
""",
    "shown.clear()\nk.assessment.n, shown",
)


def test_a_notebook_with_pandas_3_shows_each_answer_once_and_pictures_without_network(
    pandas3: Path, tmp_path: Path
) -> None:
    (site,) = pandas3.parents[1].glob("lib/python*/site-packages")
    made = executed(str(tmp_path), WITH_PANDAS_3, str(site))
    version, answer, fix, table, report, picture, long_work, out_of_fold = (cell.outputs for cell in made.cells)
    assert streamed(version).startswith("3.")
    for (output,) in (answer, fix, table, report, picture):
        assert output.output_type == "execute_result"
    assert answer[0].data["text/html"].count('class="veracity"') == 1
    assert "k.predict(new_proba)" in answer[0].data["text/html"]
    assert fix[0].data["text/plain"].startswith("Platt scaling")
    assert "<table" in table[0].data["text/html"]  # a frame of pandas
    held = report[0].data["text/html"]
    assert held.startswith("<iframe")
    assert held.count("<") == 2  # the whole page is in an attribute
    assert "</html>" in unescape(held)
    assert "cdn" not in held + picture[0].data["text/html"]
    progress, found = long_work
    assert progress.data == {"text/plain": ""}  # it was there while the work lasted
    assert found.data["text/plain"].startswith("([600],")
    assert "counting 100% 600 rows" in found.data["text/plain"]
    progress, found = out_of_fold
    assert progress.data == {"text/plain": ""}
    assert "assessing out of fold 80% 4 of 5 parts" in found.data["text/plain"]


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_in_a_notebook_names_no_content_network_and_has_a_still_one(
    name: str, shown: dict[str, list[Any]]
) -> None:
    (output,) = shown[name]
    assert "cdn" not in output.data["text/html"]
    assert base64.b64decode(output.data["image/png"]).startswith(b"\x89PNG")


def test_the_renderer_that_a_user_chose_is_used(shown: dict[str, list[Any]]) -> None:
    (output,) = shown["chosen"]
    assert set(output.data) == {"image/png", "text/plain"}


@pytest.mark.browser
def test_every_picture_of_an_exported_notebook_is_drawn_without_network(
    notebook: Any, chromium: str, tmp_path: Path
) -> None:
    from playwright.sync_api import sync_playwright

    page, _ = HTMLExporter().from_notebook_node(notebook)
    path = tmp_path / "notebook.html"
    path.write_text(page, encoding="utf-8")
    bare, _ = HTMLExporter().from_notebook_node(nbformat.v4.new_notebook())  # links to MathJax, whatever it holds
    failed: list[str] = []
    asked: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        opened = browser.new_context(offline=True).new_page()
        opened.on("pageerror", lambda error: failed.append(str(error)))
        opened.on("request", lambda request: asked.append(request.url))
        opened.goto(path.as_uri())
        opened.wait_for_function("document.querySelectorAll('.vega-embed svg').length >= 3", timeout=60_000)
        places = opened.query_selector_all(".vega-embed")
        marks = [len(place.query_selector_all(MARKS)) for place in places]
        browser.close()
    assert len(marks) == len(DRAWN)
    assert all(count > 2 for count in marks), marks
    outside = [url for url in asked[1:] if not url.startswith(("data:", "blob:"))]
    assert [url for url in outside if url not in bare] == []
    assert [text for text in failed if "require" not in text and "MathJax" not in text] == []


def test_what_altair_makes_of_a_picture_stays_offline_and_is_copied_and_pickled(tmp_path: Path) -> None:
    y = np.arange(60) % 2
    chart = vc.assess(y, 0.3 + 0.4 * y).plot("reliability")
    for made in (chart.properties(title="mine"), chart.copy(), pickle.loads(pickle.dumps(chart))):
        made.save(tmp_path / "picture.html")
        assert b"cdn" not in (tmp_path / "picture.html").read_bytes()
        assert "cdn" not in made._repr_mimebundle_()["text/html"]
        assert isinstance(made, type(alt.vconcat()))


def test_names_from_the_data_do_not_run_in_a_picture_of_a_notebook() -> None:
    name = "</script><script>window.hit=2</script>"
    y = np.arange(60) % 2
    a = vc.assess(np.array(["no", name], dtype=object)[y], 0.3 + 0.4 * y, labels=["no", name])
    assert name not in a.plot("reliability")._repr_mimebundle_()["text/html"]
