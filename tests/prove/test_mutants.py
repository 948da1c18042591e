"""The mutants change what the program computes and what it says, and each is another program that can be read."""

from __future__ import annotations

import ast
from collections import Counter

from tests.prove import mutants


def folder(mutant: mutants.Mutant) -> str:
    return mutant.path.relative_to(mutants.SOURCE).parts[0]


def test_the_sample_changes_sentences_and_tables_too() -> None:
    found = Counter(map(folder, mutants.sample()))
    assert set(found) == set(mutants.FOLDERS)
    assert found["words"] >= 10
    assert found["show"] >= 10


def test_what_is_put_into_a_sentence_is_changed_only_where_sentences_are_the_behaviour() -> None:
    said, computed = mutants.SOURCE / "words" / "verdict.py", mutants.SOURCE / "formulas" / "tables.py"
    for path, changed in ((said, True), (computed, False)):
        lines = [node.lineno for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.JoinedStr)]
        assert any(one.path == path and one.line in lines for one in mutants.all_mutants()) == changed or not lines


def test_a_mutant_is_another_program_and_both_ways_of_a_choice_are_exchanged() -> None:
    path = mutants.SOURCE / "words" / "assessment.py"
    own = [one for one in mutants.all_mutants() if one.path == path]
    before = ast.unparse(ast.parse(path.read_text()))
    assert {one.what for one in own} >= {"if ↔ else", "if not …", "and ↔ or", "Lt → LtE"}
    for one in own[::10]:
        after = mutants.text_of(one)
        ast.parse(after)
        assert after != before
