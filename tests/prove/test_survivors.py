"""What mutants of the sample changed in reading, maps, states and formulas and no test noticed: a small test each."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import digamma, gammaln

from veracity import calibrators
from veracity.calibrators._feasibility import levels, whole_capacities
from veracity.calibrators._grouping import row_mass
from veracity.calibrators.coherent import nearest_in_simplex
from veracity.formulas.distributions import _digamma_step, _log_gamma_excess
from veracity.inputs import Forecasts
from veracity.read import ReadOptions, build, frame, read, recognise
from veracity.read.column_meaning import Column
from veracity.read.files import WeightsFile
from veracity.read.layouts import lm_eval
from veracity.read.pairing import abreast, keys_of_ids
from veracity.read.parts import Part
from veracity.read.proposals import Proposal, Refusal, completed
from veracity.read.text import _comments, _encoding, _has_names_of_rows
from veracity.state.analysis_rows import RunningRows
from veracity.state.checks import check
from veracity.state.plain_bytes import Damaged
from veracity.state.tally import Tally


def test_ids_are_the_same_as_whole_and_as_decimal_numbers_up_to_the_largest() -> None:
    whole = np.array([0, 5, -7, 2**53])
    np.testing.assert_array_equal(keys_of_ids(whole), keys_of_ids(whole.astype(float)))
    beyond = np.array([2.0**63, -(2.0**63), 2.0**64, 0.5])  # no whole numbers of 64 bits: kept apart by their bits
    assert len(np.unique(keys_of_ids(beyond))) == 4


def test_levels_are_longest_paths_whichever_end_has_the_larger_numbers() -> None:
    np.testing.assert_array_equal(levels(np.array([2, 1, 2]), np.array([1, 0, 0])), [0, 1, 2])
    np.testing.assert_array_equal(levels(np.array([0, 1]), np.array([1, 2])), [2, 1, 0])


def test_a_two_valued_pick_is_not_the_outcome(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    p = rng.random(50).round(3)
    frame = {"p": p, "predicted": (p > 0.5).astype(int), "rained": (rng.random(50) < p).astype(int)}
    pl.DataFrame(frame).write_csv(tmp_path / "x.csv")
    assert recognise(tmp_path / "x.csv").outcome == "rained"


@pytest.mark.parametrize(("value", "wanted"), [("2", "c"), (2, "c"), ("3", None), (3, None), ("B", None), ("b", "b")])
def test_the_right_option_is_counted_from_zero_and_no_further_than_there_are(value: Any, wanted: str | None) -> None:
    assert lm_eval._right(value, ["a", "b", "c"], {}) == wanted


def test_batches_that_are_joined_keep_the_numbers_of_their_rows() -> None:
    first, then = (pl.DataFrame({"a": values}) for values in ([1, 2], [3]))
    start, numbers, frame = build._joined((0, np.array([4, 6]), first), (2, np.array([9]), then))
    assert (start, numbers.tolist(), frame["a"].to_list()) == (0, [4, 6, 9], [1, 2, 3])


@pytest.mark.parametrize(
    "data",
    [gzip.compress(b"y,p\n1,0.5\n" * 99)[:-20], b"\x1f\x8b\x08\0" * 20, b"\x28\xb5\x2f\xfd"],
    ids=["cut gzip", "heads of gzip", "head of zstd"],  # bytes hold the time at which they were made
)
def test_a_damaged_compressed_file_is_refused_by_name(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.csv.gz").write_bytes(data)
    with pytest.raises(ValueError, match=r"^x\.csv\.gz: "):
        read(tmp_path / "x.csv.gz", ReadOptions())


def test_an_archive_of_an_unknown_compression_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, y=np.array([0, 1]), p=np.array([0.2, 0.7]))
    data = bytearray(path.read_bytes())
    for magic, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        start = data.find(magic)
        while start >= 0:
            data[start + at] = 77
            start = data.find(magic, start + 1)
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"^x\.npz: "):
        read(path, ReadOptions())


def test_pairs_that_cells_serve_leave_no_analysis_row() -> None:
    running = RunningRows()
    running.add(Forecasts.of([0, 1, 1], [0.2, 0.7, 0.9]), complete=False)
    assert len(running.rows().rows) == 0


def test_a_grouped_map_with_one_row_that_is_no_number_is_refused() -> None:
    document = json.loads(calibrators.fit("grouped", Forecasts.of([0, 1, 1], [0.2, 0.7, 0.9])).to_json())
    document["parameters"]["seen"][1][0] = "nan"
    with pytest.raises(ValueError, match="rows that were not seen"):
        calibrators.from_json(json.dumps(document))


def test_fitted_maps_are_told_apart_by_identity() -> None:
    f = Forecasts.of([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.3])
    for name in ("identity", "temperature", "platt", "beta", "isotonic", "bins", "grouped"):
        one, other = calibrators.fit(name, f), calibrators.fit(name, f)
        assert len({one, other}) == 2, name


def test_columns_of_one_name_are_numbered_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("y,p,p,p\n" + "1,0.5,0.6,0.7\n0,0.1,0.2,0.3\n" * 20)
    with pytest.raises(ValueError, match=r"columns: y, p, p \(2\), p \(3\)"):
        read(tmp_path / "x.csv", ReadOptions(proba="q"))


@pytest.mark.parametrize(
    ("listed", "wanted"),
    [
        ({"A": 0.6, "B": 0.3, "x": 0.05}, (0.6, 0.3, 0.05)),  # C holds what is left
        ({"A": 0.6, "B": 0.1, "x": 0.1}, (0.6, 0.1, 0.1)),  # no more than the least likely that is listed
        ({"A": 0.7, "B": 0.35}, (0.7, 0.35, 0.0)),  # rounded numbers that leave nothing
        ({"A": 0.7, "B": 0.2, "C": 0.05}, (0.7, 0.2, 0.05)),
    ],
)
def test_options_that_are_not_listed_share_what_is_left(listed: dict[str, float], wanted: tuple[float, ...]) -> None:
    shares, some_absent = lm_eval._shares([{k: math.log(v) for k, v in listed.items()}], ["A", "B", "C"]) or ({}, None)
    np.testing.assert_allclose(list(shares.values()), np.array(wanted) / sum(wanted), rtol=1e-12)
    assert some_absent == ("C" not in listed)


def test_masses_in_units_of_rows_do_not_depend_on_the_scale_of_weights() -> None:
    for scale in (1e-9, 1e9):
        f = Forecasts.of([0, 1, 1], [0.2, 0.7, 0.9], sample_weight=np.array([1.0, 2.0, 3.0]) * scale)
        np.testing.assert_allclose(row_mass(f), np.array([1.0, 2.0, 3.0]) * (36 / 14 / 6), rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("a", [0.6, 5.0, 17.5, 19.99, 20.01, 30.0, 400.0])
def test_steps_of_gamma_functions_are_those_of_scipy(a: float, d: int) -> None:
    excess = gammaln(a + d / 2) - gammaln(a) - d / 2 * math.log(a)
    assert _log_gamma_excess(a, d) == pytest.approx(excess, abs=1e-14 * max(1.0, abs(float(gammaln(a)))))
    assert _digamma_step(a, d) == pytest.approx(digamma(a + d / 2) - digamma(a), abs=1e-14)


def test_columns_that_differ_between_files_are_named(tmp_path: Path) -> None:
    for name, columns in (("a.csv", "y,p,old"), ("b.csv", "y,p,new")):
        (tmp_path / name).write_text(f"{columns}\n" + "1,0.5,3\n0,0.4,4\n" * 10)
    with pytest.raises(ValueError, match=r"have different columns \(old, new\)"):
        read([tmp_path / "a.csv", tmp_path / "b.csv"], ReadOptions())


def test_the_limit_of_a_measurement_is_asked_and_not_invented(tmp_path: Path) -> None:
    lines = [f"{0.01 * i:.2f},{i * i / 7:.3f}" for i in range(1, 100)]
    (tmp_path / "x.csv").write_text("p,outcome\n" + "\n".join(lines) + "\n")
    with pytest.raises(ValueError, match=r"above which limit is the event\?  --cut LIMIT"):
        recognise(tmp_path / "x.csv")


def test_proposals_are_followed_to_a_depth_and_no_further() -> None:
    tried = []

    def attempt(options: ReadOptions) -> None:
        tried.append(options)
        raise Refusal("never", Proposal("always", {"label": "y"}))

    assert completed(ReadOptions(), attempt) is None
    assert len(tried) == 7  # four by proposals, and three without missing rows


@pytest.mark.parametrize("rows", [4, 400])
def test_a_title_above_the_names_is_refused_however_long_the_table_is(rows: int, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("My forecasts\ny,p\n" + "1,0.5\n0,0.25\n" * rows)
    with pytest.raises(ValueError, match="1 line above the column names"):
        read(tmp_path / "x.csv", ReadOptions())


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (["# a", "# b", "# c"], 0),  # nothing but comments
        (["# a", "# b", "y,p", "1,0.5"], 2),
        (["# a", "#y,p", "1,0.5", "0,0.2"], 1),  # names that begin with #
        (["# a", "#y,p", "x,0.5", "z,0.2"], 1),
        (["# a,b", "y,p", "1,0.5"], 1),
        (["y,p", "1,0.5"], 0),
        (["# y", "1", "0"], 1),
    ],
)
def test_comments_above_the_names_are_counted(lines: list[str], wanted: int) -> None:
    assert _comments(lines) == wanted


@pytest.mark.parametrize(
    ("a", "b", "wanted"),
    [
        ((0.5, 0.7), (0.5, 0.2), "which one does `p` forecast"),  # one label is picked above ½, the other below
        ((0.5, 0.2), (0.5, 0.7), "which one does `p` forecast"),
        ((0.4, 0.7), (0.5, 0.6), "or the confidence in the pick"),
    ],
)
def test_a_probability_beside_picks_is_of_a_label_where_a_threshold_decides(
    a: Any, b: Any, wanted: str, tmp_path: Path
) -> None:
    rows = [(p, pick) for pick, side in (("a", a), ("b", b)) for p in side] * 20
    right = np.random.default_rng(0).random(len(rows)) < 0.8
    label = [pick if hit else "ba"["ab".index(pick)] for (_, pick), hit in zip(rows, right, strict=True)]
    pl.DataFrame({"p": [p for p, _ in rows], "label": label, "predicted": [pick for _, pick in rows]}).write_csv(
        tmp_path / "x.csv"
    )
    with pytest.raises(ValueError, match=wanted):
        recognise(tmp_path / "x.csv")


def test_examples_of_words_without_confidence_are_the_first_of_the_file(tmp_path: Path) -> None:
    p = np.random.default_rng(1).random(200)
    said = [f"{100 * value:.0f} %" for value in p]
    said[::10] = [f"no {word}" for word in "zyxwvutsrqponmlkjihg"]
    pl.DataFrame({"y": (p > 0.4).astype(int), "confidence": said}).write_csv(tmp_path / "x.csv")
    (told,) = [
        f
        for f in recognise(tmp_path / "x.csv", ReadOptions(missing="drop")).findings
        if f.code == "no_confidence_stated"
    ]
    assert "('no z', 'no y', 'no x')" in told.message


@pytest.mark.parametrize("kept", [1, 2])
def test_a_state_with_histograms_of_some_classes_is_damaged(kept: int) -> None:
    tally = Tally.of([0, 1, 2, 1], np.array([[0.2, 0.3, 0.5], [0.1, 0.6, 0.3]] * 2))
    check(tally, tally.grid)
    with pytest.raises(Damaged, match="the number of histograms"):
        check(replace(tally, classwise=tally.classwise[:kept]), tally.grid)


@pytest.mark.parametrize(
    ("mass", "target", "wanted"),
    [
        ([1000.0, 500.0], [0.25, 0.75], ([1000, 500], [375, 1125])),
        ([1.0, 1.0], [0.25, 0.75], ([2, 2], [1, 3])),  # halves of rows
        ([2.0**30, 2.0**30], [0.5, 0.5], None),  # more than the solver can count
        ([0.5, 0.5], [0.5, 0.5], None),
    ],
)
def test_capacities_are_whole_numbers_where_there_are_such(mass: Any, target: Any, wanted: Any) -> None:
    found = whole_capacities(np.array(mass), np.array(target))
    assert (found if found is None else tuple(part.tolist() for part in found)) == wanted


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-16", "utf-32"])
def test_the_encoding_is_seen_in_the_first_bytes(encoding: str) -> None:
    assert _encoding("outcome,p\n1,0.5\n0,0.25\n".encode(encoding))[0] == encoding


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [([["1", "a", "b"]], False), ([["1", "a", "b"], ["2", "c", "d"]], True), ([["1", "a", "b"]] * 2, False)],
)
def test_rows_have_names_where_two_of_them_differ(rows: list[list[str]], wanted: bool) -> None:
    assert _has_names_of_rows([["y", "p"], *rows]) == wanted


@pytest.mark.parametrize(
    ("v", "wanted"),
    [
        ([0.2, 0.8], [0.2, 0.8]),
        ([0.6, 0.8, -0.5], [0.4, 0.6, 0.0]),
        ([[2.0, 0.0], [0.0, 0.5]], [[1.0, 0.0], [0.25, 0.75]]),
    ],
)
def test_the_nearest_row_of_the_simplex_is_known_by_hand(v: Any, wanted: Any) -> None:
    np.testing.assert_allclose(nearest_in_simplex(np.array(v)), wanted, atol=1e-15)


@pytest.mark.parametrize("name", ["x.csv", "x.xls", "x"])
def test_a_workbook_is_known_by_its_first_bytes(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    with pytest.raises(ValueError, match="encrypted, or no workbook"):
        read(tmp_path / name, ReadOptions())


def test_a_missing_file_is_refused_with_a_similar_name(tmp_path: Path) -> None:
    (tmp_path / "forecasts.csv").write_text("y,p\n1,0.5\n")
    with pytest.raises(ValueError, match=r"forecast\.csv: no such file; did you mean forecasts\.csv\?"):
        read(tmp_path / "forecast.csv", ReadOptions())
    with pytest.raises(ValueError, match=r"zzz: no such file$"):
        read(tmp_path / "zzz", ReadOptions())


def test_an_event_among_three_labels_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("y,p\n" + "win,0.5\nloss,0.25\ndraw,0.125\n" * 10)
    with pytest.raises(ValueError, match=r"`y` has three values \(draw, loss, win\)"):
        recognise(tmp_path / "x.csv", ReadOptions(label="y", positive="win"))


@pytest.mark.parametrize(("rows", "most", "wanted"), [(None, 30, 30), (10, 30, 10), (50, 30, 30), (None, 200, None)])
def test_parts_of_two_models_are_cut_at_the_same_rows(rows: int | None, most: int, wanted: int, tmp_path: Path) -> None:
    sources = []
    for name in ("a", "b"):
        pl.DataFrame({"y": [0, 1] * 50, "p": [0.25, 0.5] * 50}).write_parquet(tmp_path / f"{name}.parquet")
        sources.append([Part(str(tmp_path / f"{name}.parquet"), rows=rows)])
    found = abreast(sources, most)
    assert found[0].rows == found[1].rows == wanted
    assert [part.first for part in found[::2]] == list(range(0, 100, wanted or 100))


@pytest.mark.parametrize("values", [["a", "b"], [None], [[0.5]]])
def test_the_ends_of_what_holds_no_number_are_undefined(values: list[Any]) -> None:
    column = Column("x", pl.Series(values, dtype=pl.Float64 if values == [None] else None))
    assert math.isnan(column.low)
    assert math.isnan(column.high)


@pytest.mark.parametrize(("times", "code"), [(1, False), (2, True)])
def test_a_negative_value_that_repeats_is_a_code(times: int, code: bool, tmp_path: Path) -> None:
    p = [0.01 * i for i in range(30)] + [-0.5] * times
    pl.DataFrame({"y": [i % 2 for i in range(len(p))], "p": p}).write_csv(tmp_path / "x.csv")
    with pytest.raises(ValueError, match="-0\\.5") as refused:
        read(tmp_path / "x.csv", ReadOptions())
    assert ("a code for missing?" in str(refused.value)) == code


@pytest.mark.parametrize(("number", "more"), [(200, False), (201, True)])
def test_as_many_columns_are_listed_as_a_message_may_name(number: int, more: bool, tmp_path: Path) -> None:
    names = [f"v{i}x" for i in range(number)]
    (tmp_path / "x.csv").write_text(",".join(names) + "\n" + (",".join(["text"] * number) + "\n") * 3)
    with pytest.raises(ValueError, match="`v0x`") as refused:
        recognise(tmp_path / "x.csv")
    assert ("…" in str(refused.value).split("columns:")[1].splitlines()[0]) == more


def test_a_file_of_weights_gives_those_of_any_rows(tmp_path: Path) -> None:
    pl.DataFrame({"w": [1.0, 2.0, 3.0, 4.0]}).write_parquet(tmp_path / "w.parquet")
    weights = WeightsFile(str(tmp_path / "w.parquet"), "w", {})
    assert weights[np.array([3, 1, 2])].tolist() == [4.0, 2.0, 3.0]


@pytest.mark.parametrize("name", ["data", "columns"])
def test_a_column_may_be_called_as_those_of_a_frame_are(name: str, tmp_path: Path) -> None:
    rows = {"y": [0, 1, 1, 0], "p": [0.25, 0.75, 0.5, 0.1], name: ["u", "v", "w", "x"]}
    (tmp_path / "x.json").write_text(json.dumps(rows))
    (f,) = read(tmp_path / "x.json", ReadOptions(label="y", proba="p")).values()
    assert f.positive.tolist() == rows["p"]


def test_a_state_whose_names_are_no_text_is_damaged() -> None:
    tally = Tally.of([0, 1, 1], [0.2, 0.7, 0.9])
    for changed in ({"outcome": 5}, {"whole": "yes"}):
        with pytest.raises(Damaged, match="names"):
            check(replace(tally, names=replace(tally.names, **changed)), tally.grid)


def test_a_part_is_named_as_messages_name_its_file() -> None:
    assert Part("folder/a.csv").name == "a.csv"
    assert Part("folder/a.csv", file="standard input").name == "standard input"
    assert Part("a.parquet", first=10, rows=5).name == "a.parquet, rows 11 to 15"


def test_a_condition_holds_for_the_rows_of_a_frame() -> None:
    rows = pl.DataFrame({"y": [0, 1, 1, 0, 1], "p": [0.25, 0.75, 0.5, 0.1, 0.9], "g": ["u", "v", "u", "v", "v"]})
    for where, wanted in (((), [0.25, 0.75, 0.5, 0.1, 0.9]), (("g=v",), [0.75, 0.1, 0.9])):
        (f,) = frame(rows, ReadOptions(label="y", proba="p", where=where)).values()
        assert f.positive.tolist() == wanted
