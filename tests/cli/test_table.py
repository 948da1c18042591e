"""`veracity table` as people type it."""

from __future__ import annotations

import gzip
import io
import json
import shlex
from pathlib import Path

import pytest

from veracity.cli import run

A = "83,56;2,12"


@pytest.fixture
def say(capsys, tmp_path, monkeypatch):
    """Run a command in an empty folder: exit code, output, messages."""
    monkeypatch.chdir(tmp_path)

    def run_it(*arguments: str) -> tuple[int, str, str]:
        code = run(["table", *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run_it


def found(say, *arguments: str) -> dict:
    code, out, err = say(*arguments, "--json", "-")
    assert code == 0, err
    return json.loads(out)


def test_counts_print_the_table_first(say):
    code, out, err = say("--counts", A)
    assert code == 0
    assert err == ""
    lines = out.splitlines()
    assert lines[0] == "153 cases"
    assert lines[2].startswith("The table (cases)")
    assert lines[3].split() == ["forecast", "1", "83", "56", "139"]
    assert "event and the positive test first, give --tp 83 --fp 56 --fn 2 --tn 12." in " ".join(out.split())
    assert "0.454" in out
    assert "11.31 " in out
    assert "taken as zero" in " ".join(out.split())


def test_rows_and_columns_are_named(say):
    code, out, _ = say("--counts", A, "--rows", "not at risk, at risk", "--columns", "no disease,disease")
    assert code == 0
    assert "at risk 2 12 14" in " ".join(out.split())
    assert "the event is “disease”" in " ".join(out.split())
    assert "positive test first" not in out


def test_json_is_one_document_and_nothing_else(say):
    document = found(say, "--counts", A)
    assert document["psep"] == pytest.approx(0.454265, abs=5e-7)
    assert document["half_brier"] == pytest.approx(0.229759, abs=5e-7)
    assert document["g2"] == pytest.approx(11.310162, abs=5e-7)
    assert document["logit"]["coefficients"] == pytest.approx([-0.393489, 2.185248], abs=5e-7)
    assert document["log_terms"]["per_category"][1]["resolution"] == pytest.approx(0.368936, abs=5e-7)


def test_training_table_gives_the_forecasts(say):
    code, out, _ = say("--counts", "9,3;3,14", "--train", "98,6;18,28")
    assert code == 0
    assert "own shares" in out
    assert "0.506" in out
    assert "0.650" in out
    Path("train.csv").write_text("forecast,no event,event\nforecast 1,98,6\nforecast 2,18,28\n")
    document = found(say, "--counts", "9,3;3,14", "--train", "train.csv")
    assert document["log_terms"]["reliability"] == pytest.approx(0.144401, abs=5e-7)


def test_rates_give_predictive_values_at_each_prevalence(say):
    document = found(
        say, "--sens", ".833", "--spec", ".844", "--prior", ".36", "--prevalence", ".05", "--prevalence", ".85"
    )
    assert document["predictive_values"][1][1] == pytest.approx(0.75, abs=0.005)
    assert [at["predictive_values"][1][1] for at in document["prevalence"]] == pytest.approx([0.22, 0.97], abs=0.005)
    assert document["g2"] is None
    assert found(say, "--sens", ".833", "--spec", ".844", "--prior", ".36", "--n", "50")["g2"] > 0


FILES = {
    "matrix": "forecast,no,yes\nlow,83,56\nhigh,2,12\n",
    "turned": "forecast,yes,no\nhigh,12,2\nlow,56,83\n",
    "semicolon": "forecast;no;yes\nlow;83;56\nhigh;2;12\n;;\n",
    "tab": "forecast\tno\tyes\nlow\t83\t56\nhigh\t2\t12\n",
    "bar": "forecast|no|yes\nlow|83|56\nhigh|2|12\n",
    "blanks": "forecast no yes\nlow   83 56\nhigh   2 12\n",
    "sep": "sep=;\nforecast;no;yes\nlow;83;56\nhigh;2;12\n",
    "totals": "forecast,no,yes,total\nlow,83,56,139\nhigh,2,12,14\ntotal,85,68,153\n",
    "tidy": "forecast,observed,n\nhigh,yes,12\nlow,yes,56\nhigh,no,2\nlow,no,83\n",
    "quoted": '"forecast","observed","n"\n"high","yes","12"\n"low","yes","56"\n"high","no","2"\n"low","no","83"\n',
    "cases": "forecast,observed\n" + "low,no\n" * 83 + "low,yes\n" * 56 + "high,no\n" * 2 + "high,yes\n" * 12,
}


@pytest.mark.parametrize("form", FILES)
def test_every_form_of_file_gives_the_same_table(say, form):
    Path("t.csv").write_text(FILES[form])
    document = found(say, "t.csv")
    assert document["rows"] == ["low", "high"]
    assert document["columns"] == ["no", "yes"]
    assert document["counts"] == [[83, 56], [2, 12]]


def test_a_side_whose_words_say_nothing_is_turned_with_the_other(say):
    for text in (";dies;lives\npositive;12;56\nnegative;2;83\n", ";yes;no\nB;12;56\nA;2;83\n"):
        Path("t.csv").write_text(text)
        document = found(say, "t.csv")
        assert document["counts"] == [[83, 2], [56, 12]]
        assert "turned round with the" in say("t.csv")[1]
    Path("t.csv").write_text(";lives;dies\npositive;56;12\nnegative;83;2\n")
    assert found(say, "t.csv")["columns"] == ["lives", "dies"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_usual_encodings_are_read(say, encoding):
    Path("t.csv").write_bytes("Prognose;nein;ja\nniedrig ö;83;56\nhoch;2;12\n".encode(encoding))
    assert found(say, "t.csv")["rows"] == ["niedrig ö", "hoch"]


def test_bare_numbers_and_compressed(say):
    Path("t.csv").write_text("83,56\n2,12\n")
    assert found(say, "t.csv", "--columns", "well,ill")["counts"] == [[83, 56], [2, 12]]
    Path("t.csv.gz").write_bytes(gzip.compress(FILES["matrix"].encode()))
    assert found(say, "t.csv.gz")["n"] == 153


@pytest.mark.parametrize(
    "text",
    [
        "p,n,events\n0.8,20,17\n0.1,50,4\n",
        "p;n;obs_freq\n0,1;50;0,08\n0,8;20;0,85\n",
        "k,p,events,n\n1,10 %,4,50\n2,80 %,17,20\n",
        "p,observed,n\n0.1,no,46\n0.1,yes,4\n0.8,no,3\n0.8,yes,17\n",
        "p,no,yes\n0.1,46,4\n0.8,3,17\n",
    ],
)
def test_tables_of_probabilities_are_read(say, text):
    Path("t.csv").write_text(text)
    document = found(say, "t.csv")
    assert document["counts"] == [[46, 4], [3, 17]]
    assert [f[1] for f in document["forecasts"]] == [0.1, 0.8]
    assert document["half_brier"] == pytest.approx(0.09, abs=1e-12)


def test_parts_by_column_and_by_file(say):
    Path("t.csv").write_text(
        "site,forecast,observed,n\nA,low,no,50\nA,low,yes,10\nA,high,no,5\nA,high,yes,9\nB,low,no,40\nB,high,no,3\n"
    )
    code, out, _ = say("t.csv", "--group", "site")
    assert code == 0
    assert "B: column 'yes' is empty" in out
    assert found(say, "t.csv", "--group", "site")["strata"]["A"]["n"] == 74
    Path("p.csv").write_text(
        "site,p,observed,n\nA,0.2,no,8\nA,0.2,yes,2\nA,0.7,yes,6\nB,0.7,no,3\nB,0.2,no,4\nB,0.2,yes,1\nA,0.7,no,3\n"
    )
    document = found(say, "p.csv", "--group", "site")
    assert document["strata"]["A"]["half_brier"] == pytest.approx((8 * 0.04 + 2 * 0.64 + 6 * 0.09 + 3 * 0.49) / 19)
    assert found(say, "p.csv", "--group", "site", "--weight", "n")["n"] is None
    Path("2021.csv").write_text(FILES["matrix"])
    Path("2022.csv").write_text(FILES["tidy"])
    document = found(say, "2021.csv", "2022.csv")
    assert document["n"] == 306
    assert list(document["strata"]) == ["2021", "2022"]


def test_table_from_standard_input_is_read(say, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(FILES["tab"].encode())))
    assert found(say, "-")["counts"] == [[83, 56], [2, 12]]


def test_rows_and_columns_can_be_reordered(say):
    Path("t.csv").write_text(FILES["matrix"])
    document = found(say, "t.csv", "--rows", "high,low", "--columns", "yes,no")
    assert document["counts"] == [[12, 2], [56, 83]]
    code, _, err = say("t.csv", "--rows", "high,medium")
    assert code == 2
    assert "high, medium are not the names in the data (low, high)" in err


def test_finley_and_wilks_and_hughes_and_topp(say, shared):
    assert found(say, str(shared / "verification_misc" / "finley_1884.csv"))["counts"] == [[2680, 23], [72, 28]]
    wilks = str(shared / "wilks_pop_table" / "wilks_table.csv")
    code, _, err = say(wilks)
    assert code == 2
    assert "--weight p_y_corrected" in err
    assert found(say, wilks, "--weight", "p_y_corrected")["half_brier"] == pytest.approx(0.07346104, abs=1e-12)
    code, out, _ = say(str(shared / "pop_tampere" / "hughes_topp_table1.csv"))
    assert code == 0
    assert "not used: `k`" in out


def test_outputs_are_whole_or_not_at_all(say):
    assert say("--counts", A, "--json", "a.json", "--csv", "a.csv", "--markdown", "a.md", "--quiet")[0] == 0
    assert json.loads(Path("a.json").read_text())["n"] == 153
    assert Path("a.csv").read_text().startswith("name,value,low,high,method\n")
    assert "| forecast 2 | 2 | 12 | 14 |" in Path("a.md").read_text()
    code, _, err = say("--counts", "1,2;3,4", "--json", "a.json", "--csv", "b.csv")
    assert code == 2
    assert "a.json exists; --force overwrites it" in err
    assert not Path("b.csv").exists()
    assert json.loads(Path("a.json").read_text())["n"] == 153
    assert say("--counts", "1,2;3,4", "--json", "a.json", "--force", "--quiet")[0] == 0
    assert json.loads(Path("a.json").read_text())["n"] == 10


def test_quiet_is_one_line(say):
    code, out, err = say("--counts", A, "--quiet")
    assert code == 0
    assert err == ""
    assert out.count("\n") == 1
    assert "85.7 %" in out


@pytest.mark.slow
def test_pictures_that_the_table_allows_are_written(say):
    assert say("--counts", "9,3;3,14", "--train", "98,6;18,28", "--plots", "pictures", "--quiet")[0] == 0
    written = {path.name for path in Path("pictures").iterdir()}
    assert {"attributes.png", "bregman_tangents_log.svg", "predictive_values.png", "table_mosaic.svg"} <= written
    assert say("--counts", "5,1,2;1,5,2", "--plots", "more", "--quiet")[0] == 0
    assert {path.name for path in Path("more").iterdir()} == {"table_mosaic.png", "table_mosaic.svg"}


def test_report_holds_numbers_and_names(say):
    assert say("--counts", A, "--rows", "low,high", "--report", "t.html", "--quiet")[0] == 0
    page = Path("t.html").read_text()
    assert "0.454" in page
    assert "high" in page


BAD = {
    ("--counts", "83,-56;2,12"): "cannot be negative",
    ("--counts", "83,5.5;2,12"): "--shares",
    ("--counts", "83,;2,12"): "write 0 where nothing happened",
    ("--counts", "83,56;;2,12"): "is empty; rows are separated by one ;",
    ("--counts", "83,56;2"): "rows of different length (2, 1)",
    ("--counts", "0,0;2,12"): "this category was never forecast",
    ("--counts", "83,0;2,0"): "this outcome never happened",
    ("--counts", "abc"): "'abc' is not a number",
    ("--counts", "83"): "at least two forecast categories",
    ("--counts", A, "--n", "20"): "follows from the counts",
    ("--counts", A, "--sens", ".4"): "several ways",
    ("--counts", A, "--rows", "a"): "1 names (a) for 2 rows",
    ("--counts", A, "--prevalence", "5"): "write 0.05",
    ("--counts", A, "--level", "95"): "level",
    ("--counts", A, "--train", "1,2;3,4;5,6"): "3 × 2, but the table to be scored is 2 × 2",
    ("--counts", A, "--train", "none.csv"): "none.csv",
    ("--counts", A, "--report", "-"): "a page goes to a file",
    ("--sens", ".8"): "give --spec, --prior too",
    ("--sens", "83", "--spec", ".8", "--prior", ".3"): "write 0.83",
    ("--sens", ".8", "--spec", ".9", "--prior", "0"): "the event never happened",
    ("--sens", ".8", "--spec", ".9", "--prior", "1"): "the event always happened",
    ("--counts", "1,2,3;4,5,6", "--prevalence", ".3"): "add up columns until two are left",
    (): "no table given",
    ("none.csv",): "none.csv: no such file",
}


@pytest.mark.parametrize("arguments", BAD, ids=" ".join)
def test_bad_options_are_refused_with_their_message(say, arguments):
    code, out, err = say(*arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("veracity: ")
    assert BAD[arguments] in err


BAD_FILES = {
    "": "the file is empty",
    "forecast,no,yes\n": "no rows below the column names",
    "forecast,observed,n\nlow,no,83\nlow,yes,x\n": "row 2, column `n`: 'x' is not a number",
    "forecast,observed,n\nlow,no,\nlow,yes,3\n": "write 0 where nothing happened",
    "forecast,observed\nlow,no\n,yes\n": "row 2: forecast or outcome is empty",
    "forecast,observed,n\nlow,good,83\nlow,poor,2\nhigh,poor,9\nhigh,good,1\n": "which one is the event?",
    "forecast,no,yes,total\nlow,83,56,140\nhigh,2,12,14\n": "says 140 for 'low', but the cells add up to 139",
    "p,n,events\n0.1,10,11\n0.9,10,9\n": "there cannot be more events than cases",
    "p,n,events,obs_freq\n0.1,50,4,0.18\n0.8,20,17,0.85\n": "4 of 50 cases is 0.08",
    "p,n,events\n0.1,50,4\n80,20,17\n": "if it is a percentage, write 0.8",
    "p,n,events\n0.1,50,4\n0.8,0,0\n": "row '0.8' is empty: this category was never forecast",
    "a,b\nx,y\n": "not a table of forecasts against outcomes (columns: a, b)",
    "forecast,no,yes\nlow,83,56\nlow,2,12\n": "not a table",
}


@pytest.mark.parametrize("text", BAD_FILES)
def test_bad_table_files_are_refused_with_their_message(say, text):
    Path("t.csv").write_text(text)
    code, out, err = say("t.csv")
    assert code == 2
    assert out == ""
    assert err.startswith("veracity: t.csv: ")
    assert BAD_FILES[text] in err


def test_other_kinds_of_file(say):
    Path("t.xlsx").write_bytes(b"PK\x03\x04rest")
    assert "its sheet as CSV" in say("t.xlsx")[2]
    Path("t.parquet").write_bytes(b"PAR1rest")
    assert "damaged, cut short" in say("t.parquet")[2]


def test_zero_cells_are_explained(say):
    code, out, _ = say("--counts", "9,0;2,8")
    assert code == 0
    assert "0·ln 0 = 0" in " ".join(out.split())
    Path("t.csv").write_text("p,n,events\n0,10,1\n0.8,10,8\n")
    code, out, _ = say("t.csv")
    assert code == 0
    assert "The log loss is infinite because of it, and stays so" in " ".join(out.split())


@pytest.mark.parametrize("more", [["--rows", "test +,test -"], []])
def test_names_say_which_way_round_a_table_is(capsys, more):
    assert run(["table", "--counts", "120,15;30,80", "--columns", "disease,no disease", *more, "--json", "-"]) == 0
    turned = json.loads(capsys.readouterr().out)
    rows = ["--rows", "test -,test +"] if more else []
    counts = "80,30;15,120" if more else "15,120;80,30"
    assert run(["table", "--counts", counts, "--columns", "no disease,disease", *rows, "--json", "-"]) == 0
    straight = json.loads(capsys.readouterr().out)
    assert turned["counts"] == straight["counts"]
    assert turned["columns"] == ["no disease", "disease"]


def test_all_cases_are_not_those_without_the_event(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("fields.csv").write_text("risk_score,fields,diseased\n0.05,120,8\n0.3,82,22\n0.7,55,40\n")
    assert run(["table", "fields.csv"]) == 2
    said = capsys.readouterr().err
    assert 'all cases:  --count "fields"      without the event:  --columns "fields,diseased"' in said
    found = []
    for more in (["--count", "fields"], ["--columns", "fields,diseased"]):
        assert run(["table", "fields.csv", *more, "--json", "-"]) == 0
        found.append(json.loads(capsys.readouterr().out)["counts"])
    assert found == [[[112, 8], [60, 22], [15, 40]], [[120, 8], [82, 22], [55, 40]]]


def test_cells_of_a_diagnostic_test_are_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["table", "--tp", "12", "--fp", "2", "--fn", "56", "--tn", "83", "--json", "-"]) == 0
    by_cells = json.loads(capsys.readouterr().out)
    names = ["--rows", "negative,positive", "--columns", "no event,event"]
    assert run(["table", "--counts", "83,56;2,12", *names, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out) == by_cells
    assert by_cells["sensitivity"] == pytest.approx(12 / 68)
    assert run(["table", "--tp", "12", "--fp", "2"]) == 2
    assert "all of --tp, --fp, --fn and --tn" in capsys.readouterr().err


TEXTBOOK = "12,2;56,83"  # test positive first, disease first: TP, FP; FN, TN


def test_a_table_that_looks_like_the_textbooks_is_asked_about(say):
    code, out, _ = say("--counts", TEXTBOOK)
    assert code == 0
    lines = out.splitlines()
    asked = next(i for i, line in enumerate(lines) if line.startswith("! Which way round?"))
    assert asked < next(i for i, line in enumerate(lines) if line.startswith("Sensitivity"))
    said = " ".join(out.split())
    assert "Is yours such a table? Then: --tp 12 --fp 2 --fn 56 --tn 83." in said
    (finding,) = [f for f in found(say, "--counts", TEXTBOOK)["findings"] if f["code"] == "orientation"]
    assert finding["severity"] == "critical"
    remedy = finding["message"].partition("Then: ")[2].partition(". If not")[0]
    turned = found(say, *shlex.split(remedy))
    assert turned["sensitivity"] == pytest.approx(12 / 68)
    assert "orientation" not in [f["code"] for f in turned["findings"]]
    assert say("--counts", TEXTBOOK, "--quiet")[1].startswith("Which way round? As read, the event")


@pytest.mark.parametrize(
    "more",
    [
        ["--rows", "b,a", "--columns", "ill,well"],  # named in the order that is asked for
        ["--columns", "no,yes"],
        ["--train", "98,6;18,28"],
    ],
)
def test_a_table_with_a_stated_order_raises_no_question(say, more):
    document = found(say, "--counts", TEXTBOOK, *more)
    assert "orientation" not in [f["code"] for f in document["findings"]]


@pytest.mark.parametrize("counts", ["83,56;2,12", "120,80;30,15", "5,1,2;1,5,2"])
def test_other_tables_are_not_asked_about(say, counts):
    assert "orientation" not in [f["code"] for f in found(say, "--counts", counts)["findings"]]


def test_a_file_with_unknown_words_says_what_it_takes_for_the_event_and_asks(say):
    Path("t.csv").write_text("test,cancer,benign\nsuspicious,12,2\nclear,56,83\n")
    document = found(say, "t.csv")
    assert "The last column, “benign”, is taken for the event; --columns gives another order." in document["notes"]
    (asked,) = [f["message"] for f in document["findings"] if f["code"] == "orientation"]
    turned = found(say, "t.csv", *shlex.split(asked.partition("Then: ")[2].partition(". If not")[0]))
    assert turned["columns"] == ["benign", "cancer"]
    assert turned["sensitivity"] == pytest.approx(12 / 68)
    assert "orientation" not in [f["code"] for f in turned["findings"]]
    Path("t.csv").write_text("12,2\n56,83\n")
    assert "--tp 12 --fp 2 --fn 56 --tn 83" in " ".join(say("t.csv")[1].split())


def test_a_diagnostic_test_reads_in_clinical_words(say):
    out = " ".join(say("--tp", "12", "--fp", "2", "--fn", "56", "--tn", "83", "--columns", "well,ill")[1].split())
    assert "A positive test (“positive”) raises the probability of ill from 44.4 % to 85.7 %" in out
    assert "a negative one lowers it to 40.3 %" in out
    assert "LR+ 7.50 1.74–32.38" in out
    out = " ".join(say("--counts", "12,9;10,11")[1].split())
    assert "! Not clearly informative" in out


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        ("false_alarm=60,miss=190", "so act after every forecast. 33.3 per case, as much as acting in all cases."),
        ("false_alarm=19,miss=1", "so never act. 0.444 per case, as much as acting in none."),
    ],
)
def test_costs_at_which_the_forecast_changes_no_act_are_no_matter_of_chance(say, costs, said):
    assert said in " ".join(say("--counts", "83,56;2,12", "--costs", costs)[1].split())
