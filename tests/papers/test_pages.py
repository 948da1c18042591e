"""The pages of the reproduced papers and the command that writes them."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import papers
from papers import Options, _page, _readme, cq, rp
from papers.__main__ import main
from papers._rows import (
    EVIDENCE,
    IDENTITY,
    KINDS,
    VERDICTS,
    Section,
    claim,
    fitted,
    identity,
    printed,
    shown,
    tally,
    tolerances,
)

NAMES = ("index.html", "rows.csv")


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def hb17():
    return papers.reproduce("HB17", Options())


def test_unknown_paper_is_refused():
    assert papers.keys() == ["N17", "RP", "CQ", "HB17", "KF15"]
    with pytest.raises(ValueError, match="no paper 'X'"):
        papers.module("X")


def test_command_writes_stable_pages_that_need_no_other_file(tmp_path):
    target = tmp_path / "out"
    ran = run("hb17", "-o", target)
    assert ran.exit_code == 0
    assert "no row differs without a known reason" in ran.output
    first = {path.name: path.read_bytes() for path in target.iterdir()}
    assert set(first) == {"index.html", "hb17.html", "rows.csv"}
    text = first["hb17.html"].decode()
    assert text.count("<svg") == 4
    assert not re.findall(r"<script|src=|<link|@import", text)
    assert 'href="hb17.html"' in first["index.html"].decode()
    assert (
        first["rows.csv"]
        .decode()
        .startswith("key,section,kind,item,paper,computed,value,verdict,tolerance,note,evidence\n")
    )
    assert run("HB17", "-o", target).exit_code == 0
    assert {path.name: path.read_bytes() for path in target.iterdir()} == first


def test_command_refuses_bad_arguments_and_foreign_folders(tmp_path):
    def refused(*arguments, message):
        ran = run(*arguments)
        assert ran.exit_code == 2
        assert message in ran.output

    refused("XYZ", message="no paper 'XYZ'")
    refused("HB17", "--data", tmp_path / "none", message="no such folder")
    for name in NAMES:
        folder = tmp_path / name.replace(".", "_")
        folder.mkdir()
        (folder / name).write_text("mine")
        refused("HB17", "-o", folder, message="the folder holds other files")
        assert (folder / name).read_text() == "mine"
    refused("HB17", "-o", tmp_path / "index_html" / "index.html", message="a file of this name exists")


def test_command_fails_when_a_number_differs_without_a_reason(tmp_path, monkeypatch):
    module = papers.module("HB17")
    monkeypatch.setattr(module, "sections", lambda options: [Section("Table 1", rows=[printed("x", "0.5", 0.9)])])
    ran = run("HB17", "-o", tmp_path / "out")
    assert ran.exit_code == 1
    assert "Table 1 · x: paper 0.5, computed 0.9" in ran.output


def test_an_identity_prints_no_number_as_the_papers_and_has_its_own_count(hb17):
    rows = [row for section in hb17.sections for row in section.rows]
    identities = [row for row in rows if row.kind == "identity"]
    assert len(identities) == tally(hb17.sections)[IDENTITY] == 7
    assert all(row.paper == "–" for row in identities)
    assert all(any(c.isdigit() for c in row.paper) for row in rows if row.kind == "number")


def test_legend_states_every_tolerance_that_was_used():
    rows = [printed("a", "0.5", 0.5), identity("b", 1.0, 1.0, 1e-7), claim("c", "yes", True, "yes")]
    rows += [identity("d", 1.0, 1.0)] * 2
    assert tolerances([Section("t", rows=rows)]) == {
        "number": {"±0.05": 1},
        "statement": {"none": 1},
        "identity": {"1e-12": 2, "1e-07": 1},
    }
    page = _page.page([papers.Paper("X", "A paper", [Section("t", rows=rows)], {"(3)": "a definition"})])
    for text in ("1e-12 (2), 1e-07 (1)", "±0.05 (1)", "a definition", *VERDICTS, *(KINDS[k] for k in ("number",))):
        assert text in page


def test_csv_holds_every_row_with_its_full_value(hb17):
    rows = [row for section in hb17.sections for row in section.rows]
    written = list(csv.DictReader(_page.rows_csv([hb17]).splitlines()))
    assert [row["item"] for row in written] == [row.item for row in rows]
    assert [float(row["value"] or "nan") for row in written] == pytest.approx([row.value for row in rows], nan_ok=True)


def test_the_word_accuracy_is_never_alone(hb17):
    text = re.sub(r"<svg.*?</svg>|<style.*?</style>", "", _page.page([hb17], hb17), flags=re.S)
    for source in (text, rp.TITLE, cq.TITLE):
        assert not re.findall(r"(?<!geometric )(?<!prediction )(?<!Geometric )\baccuracy\b", source)


@pytest.mark.slow
def test_rows_and_pages_are_equal_in_every_process(tmp_path, root):
    """Neither the order of sets nor the number of threads shows in the numbers or the pages."""
    runs = []
    for number in ("1", "2"):
        target = tmp_path / number
        ran = subprocess.run(
            [sys.executable, "-m", "papers", "RP", "CQ", "--quick", "-o", str(target)],
            cwd=root,
            env=os.environ | {"PYTHONHASHSEED": number, "OPENBLAS_NUM_THREADS": number, "OMP_NUM_THREADS": number},
            capture_output=True,
            check=True,
        )
        written = {path.name: path.read_bytes() for path in target.iterdir()}
        runs.append((ran.stdout.replace(str(target).encode(), b""), written))
    assert runs[0] == runs[1]


def test_a_paper_is_added_by_one_file(tmp_path, monkeypatch):
    (tmp_path / "x99.py").write_text(
        "from papers._rows import Section, printed\n"
        "TITLE, NUMBERED, NOT_REPRODUCED = 'A new paper', ('Table 1',), {'(7)': 'a definition'}\n"
        "def sections(options):\n"
        "    yield Section('Table 1', rows=[printed('mean', '0.25', 0.25)])\n"
    )
    monkeypatch.setattr(papers, "__path__", [*papers.__path__, str(tmp_path)])
    monkeypatch.setitem(sys.modules, "papers.x99", None)  # restored to absent afterwards
    del sys.modules["papers.x99"]
    assert papers.keys()[-1] == "X99"
    assert run("X99", "-o", tmp_path / "out").exit_code == 0
    assert "A new paper" in (tmp_path / "out" / "x99.html").read_text()
    assert "a definition" in (tmp_path / "out" / "index.html").read_text()


def test_readme_lists_every_numbered_item_with_a_row_and_a_place():
    text = (Path(papers.__file__).parent / "README.md").read_text(encoding="utf-8")
    for key in papers.KEYS:
        section = text.partition(f"## {key}\n")[2].partition("\n## ")[0]
        lines = [line for line in section.splitlines() if line.startswith("| **")]
        assert [line.split("**")[1] for line in lines] == list(papers.module(key).NUMBERED)
        assert not [line for line in lines if "| missing |" in line or "|  |" in line]
        assert papers.module(key).NOT_REPRODUCED == {}
    assert "open" in EVIDENCE
    assert not [line for line in text.splitlines()[20:] if line.endswith("| open |")]


def test_readme_is_made_from_the_rows(hb17):
    text = _readme.text([hb17])
    line = next(line for line in text.splitlines() if line.startswith("| **equation 15**"))
    assert "`normalized_mutual_information`" in line
    assert "| 0.530 | paper's number |" in line
    assert text.count("\n| Table 1: ") == 12


def test_every_row_says_what_it_is_evidence_of():
    chosen = fitted(printed("a", "0.5", 0.5), "the seed")
    assert (chosen.verdict, chosen.evidence, chosen.note) == ("fitted", "fitted", "fitted: the seed")
    assert fitted(printed("a", "0.5", 0.9), "the seed").verdict == "differs"
    rows = [
        printed("a", "1", 1.0),
        identity("b", 1.0, 1.0),
        shown("c", "1"),
        claim("d", "no", False, "yes", "misprint: no"),
    ]
    lost = claim("e", "1", False, "2", "the outputs were not published")
    kinds = [row.evidence for row in [*rows, lost, claim("f", "no", False, "yes")]]
    assert kinds == ["paper's number", "identity", "ours", "misprint", "ours", "open"]
    assert set(kinds) | {"fitted"} == set(EVIDENCE)


def test_readme_counts_every_item_and_every_row(hb17):
    """The kept page: its sentence against its own tables, and against rows that are made again."""
    text = (Path(papers.__file__).parent / "README.md").read_text(encoding="utf-8")
    sentence = " ".join(text.split())
    found = re.search(
        r"(\d+) of (\d+) items are accounted for \((\d+) numbered, (\d+) quoted\), (\d+) missing, by (\d+) rows: "
        r"(.*?)\.",
        sentence,
    )
    present, items, numbered, quoted, missing, rows = map(int, found.groups()[:6])
    kinds = {kind: int(number) for number, kind in (part.split(" ", 1) for part in found.group(7).split(", "))}
    assert (present, missing, list(kinds)) == (items, 0, list(EVIDENCE))
    assert sum(kinds.values()) == rows
    assert kinds["open"] == 0
    lines = [line for line in text.partition("## N17")[2].splitlines() if line.startswith("| ") and "---" not in line]
    entries = [line for line in lines if not line.startswith("| item |")]
    assert len(entries) == items == numbered + quoted
    assert sum(line.startswith("| **") for line in entries) == numbered
    own = next(line for line in text.splitlines() if line.startswith("| HB17 |"))
    counts = tally(hb17.sections)
    cells = [cell.strip() for cell in own.strip("|").split("|")]
    assert int(cells[4]) == sum(counts.values())
    assert int(cells[6]) == counts[IDENTITY]
    assert "## HB17\n" + _readme.text([hb17]).partition("## HB17\n")[2] in text  # nothing is stale


@pytest.mark.parametrize(
    ("option", "remedy"), [("HB17", "leave out the KEYS"), ("--quick", "leave out --quick, --data and --outputs")]
)
def test_readme_needs_all_papers_and_all_draws(option, remedy):
    ran = run(option, "--readme")
    assert ran.exit_code == 2
    assert remedy in ran.output
