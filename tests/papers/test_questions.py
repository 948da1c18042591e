"""The questions that the papers left open: kept results, short runs, pages, and formulas written a second time."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

from papers import questions
from papers.__main__ import main
from papers.questions import _render, prior, training, which_r
from veracity.formulas.rules import power


@pytest.fixture(scope="module")
def answered():
    return questions.answered()


def test_every_question_has_kept_results_with_date_and_seed(answered):
    assert [one.name for one in answered] == list(questions.NAMES)
    for one in answered:
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", one.run["date"])
        assert one.run["seed"] == 0
    assert sum(one.run["cpu_seconds"] for one in answered) < 3600


def test_kept_results_bear_out_every_claim(answered):
    assert [claim.text for one in answered for claim in one.page.claims if not claim.holds] == []


def test_questions_with_draws_have_200_of_them_and_training_20_seeds():
    runs = {name: run["results"] for name, run in questions.kept().items()}
    assert min(runs[name]["draws"] for name in ("which_r", "kind_of_error", "prior", "along_r")) >= 200
    assert min(runs[name]["seeds"] for name in ("kappa", "training")) >= 20
    assert runs["adjustment"]["tasks"] * len(runs["adjustment"]["cells"]) == 240_000


def test_a_page_answers_in_one_sentence_and_says_where_it_fails(answered):
    for name, text in _render.files(answered).items():
        assert name.startswith("question-")
        for heading in ("Method", "Simulation with known truth", "Where it fails", "What the answer rests on"):
            assert f"<h2>{heading}</h2>" in text
        assert "differs" not in re.sub(r"<style>.*?</style>", "", text, flags=re.S)
        assert not re.findall(r"<script|src=|<link|@import", text)
    for one in answered:
        assert len(re.findall(r"\.(?=\s|$)", one.page.answer)) == 1
        assert len(one.page.fails) >= 2


def test_every_line_of_a_picture_has_a_colour(answered):
    def coloured(node):
        if isinstance(node, dict):
            yield from [node["encoding"]["color"]] if "color" in node.get("encoding", {}) else []
            node = list(node.values())
        if isinstance(node, list):
            for part in node:
                yield from coloured(part)

    for one in answered:
        for figure in one.page.figures:
            spec = figure.chart.to_dict()
            rows = [row for values in spec["datasets"].values() for row in values]
            for colour in coloured(spec):
                labels = {row[colour["field"]] for row in rows if colour["field"] in row}
                assert labels <= set(colour["scale"]["domain"]), one.name


@pytest.mark.parametrize("name", questions.NAMES)
def test_a_short_run_makes_a_page(name):
    result = json.loads(json.dumps(questions.run(name, seed=3, short=True), allow_nan=False))
    page = questions.module(name).page(result["results"])
    assert page.answer
    assert page.claims


def test_a_short_run_by_command_keeps_nothing_and_unknown_questions_are_refused():
    before = questions.RESULTS.read_bytes()
    ran = CliRunner().invoke(main, ["questions", "which_r", "--quick"])
    assert ran.exit_code == 0
    assert questions.RESULTS.read_bytes() == before
    refused = CliRunner().invoke(main, ["questions", "which_s"])
    assert refused.exit_code == 2
    assert "no question 'which_s'; there are which_r" in refused.output


@pytest.mark.parametrize("r", [-2 / 3, 0.0, 0.5, 2.0])
def test_training_descends_on_the_power_score(r):
    generator = np.random.default_rng(0)
    z, y = generator.standard_normal((4, 3)), np.array([0, 1, 2, 1])

    def loss(logits):
        p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        return power(r).score(p, y).sum()

    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    slope = training.slope_in_logits(p, np.eye(3)[y], r, local=False)
    for at in np.ndindex(z.shape):
        step = np.zeros_like(z)
        step[at] = 1e-6
        # central differences are good to about 1e-9
        assert slope[at] == pytest.approx((loss(z + step) - loss(z - step)) / 2e-6, abs=1e-7)


@pytest.mark.parametrize("r", [-0.5, 0.5, 1.0, 3.0])
def test_the_halves_of_two_classes_add_to_the_score(r):
    p, y = np.random.default_rng(1).random(40), np.arange(40) % 2
    both = which_r.event_half(p, y, r) + which_r.event_half(1.0 - p, 1 - y, r)
    np.testing.assert_allclose(both, power(r).score(np.column_stack([1.0 - p, p]), y), rtol=1e-12)


def test_picks_as_forecasts_give_the_confusion_matrix_of_black_box_shift_estimation():
    generator = np.random.default_rng(2)
    reference, scores, *_ = prior.scene(5, 400, 0.5, 1.0, generator)
    picks_before, picks = reference.matrix.argmax(axis=1), scores.argmax(axis=1)
    k = reference.k
    confusion = np.array(
        [[((picks_before == i) & (reference.outcomes == j)).mean() for j in range(k)] for i in range(k)]
    )
    ratio = np.linalg.solve(confusion, np.bincount(picks, minlength=k) / len(picks))
    here = prior.Forecasts(scores, None, reference.classes)
    found, _ = prior.black_box(prior.picked(here), prior.picked(reference))
    np.testing.assert_allclose(found, ratio * reference.prior, rtol=1e-9)
