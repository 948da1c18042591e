"""Logs of evaluations of language models: Inspect (.eval archives, .json) and HELM (per_instance_stats.json), as rows.

Inspect: a sample is a question with its target, the model's output and scores. With `top_logprobs` the row holds the
log-probabilities of the options, otherwise the stated confidence and whether the answer was right.
HELM: the statistics of an instance are columns; `max_prob` is the confidence in the pick, `exact_match` tells if it was
right; `logprob` is the log-likelihood of a text.
"""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from veracity.records import findings_of_input as of_input
from veracity.records.layout import Event

from . import strings
from .nested_rows import Row, Rows, Spool, flat, flattened, loads, of_likelihoods
from .paths import Scratch
from .picks import PICK_WAS_RIGHT, of_picks
from .table import Table

SAMPLE_BYTES = 1 << 27  # of one sample, unpacked; a larger one is no sample
SAMPLE = re.compile(r"samples/.+_epoch_\d+(\.json|/sample\.json)")
ZSTANDARD = 93  # the number of this compression in zip archives
GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}  # correct, incorrect, partial, no answer
PICKED: dict[str, Any] = {"labels": ("0", "1"), "layout": "top"}  # how picks are read
STATED = re.compile(r"(?i)(?:confiden\w+|certain\w*|probab\w+)[^\n]{0,40}")


def is_inspect(document: Any) -> bool:
    return isinstance(document, dict) and "eval" in document and isinstance(document.get("samples"), list)


def is_helm(document: Any) -> bool:
    first = document[0] if isinstance(document, list) and document else None
    return isinstance(first, dict) and "instance_id" in first and isinstance(first.get("stats"), list)


# -- Inspect ----------------------------------------------------------------------------------------------------------


def table_of_archive(path: Path, shown: str) -> Table:
    """Return an Inspect .eval archive as a table; samples are read one after another."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if not any(SAMPLE.fullmatch(name) for name in names):
        raise ValueError(f"{shown}: no samples in this archive\n  an Inspect log (.eval) holds samples/*.json")
    return _of_samples(partial(_archived, path, shown), shown)


def table_of_log(document: dict[str, Any], shown: str) -> Table:
    """Return an Inspect .json log as a table."""
    return _of_samples(lambda: iter(document["samples"]), shown)


def _archived(path: Path, shown: str) -> Iterator[dict[str, Any]]:
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        for name in sorted((name for name in names if SAMPLE.fullmatch(name)), key=_numbered):
            sample = _member(archive, name, shown)
            metadata = name.removesuffix("sample.json") + "metadata.json"  # of a sample in several files
            if isinstance(sample, dict) and metadata in names:
                sample["metadata"] = _member(archive, metadata, shown)
            yield sample


def _member(archive: zipfile.ZipFile, name: str, shown: str) -> Any:
    """Return a JSON file of an archive."""
    member = archive.getinfo(name)
    if member.file_size > SAMPLE_BYTES:
        raise ValueError(f"{shown}: {name} expands to {member.file_size >> 20} MB\n  no sample is so long")
    written = _unpacked(archive, member) if member.compress_type == ZSTANDARD else archive.read(member)
    return loads(written, f"{shown}: {name}", "  write the log again")


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> str:
    """Return a text in Zstandard, which Python's zipfile knows from 3.14 on."""
    copy = Scratch(".zst")
    with Path(str(archive.filename)).open("rb") as file:
        file.seek(member.header_offset + 26)
        lengths = struct.unpack("<HH", file.read(4))  # of the name and of what follows it
        file.seek(sum(lengths), 1)
        copy.path.write_bytes(file.read(member.compress_size))
    return "\n".join(pl.read_lines(copy.path).to_series())


def _numbered(name: str) -> list[Any]:
    """Return a name as a key that sorts 2 before 10."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", name) if part]


def _of_samples(samples: Callable[[], Iterator[dict[str, Any]]], shown: str) -> Table:
    first = next((s for s in samples() if isinstance(s, dict)), None)
    if first is None:
        raise ValueError(f"{shown}: no samples in this log\n  there is nothing to assess")
    if _top_logprobs(first) and (first.get("choices") or _target(first)):
        table = flattened(lambda: _option_rows(samples()), shown, next(_option_rows(iter([first])))[1])
        if table is not None:
            return table
    return _stated(samples, shown)


def _option_rows(samples: Iterator[dict[str, Any]]) -> Rows:
    for number, sample in enumerate(samples, start=1):
        choices = sample.get("choices")
        row = _identity(sample) | {"target": _target(sample), "output": sample.get("output") or {}}
        yield number, row | ({"choices": choices} if choices else {})


def _identity(sample: dict[str, Any]) -> Row:
    """Return id, epoch and metadata of a sample."""
    kept = {key: sample.get(key) for key in ("id", "epoch")}
    return flat({**kept, "metadata": sample.get("metadata") or {}})


def _target(sample: dict[str, Any]) -> Any:
    target = sample.get("target")
    return target[0] if isinstance(target, list) and len(target) == 1 else target


def _first_choice(sample: dict[str, Any]) -> dict[str, Any]:
    choices = (sample.get("output") or {}).get("choices") or [{}]
    return choices[0] if isinstance(choices[0], dict) else {}


def _top_logprobs(sample: dict[str, Any]) -> bool:
    content = (_first_choice(sample).get("logprobs") or {}).get("content") or []
    return any(isinstance(token, dict) and token.get("top_logprobs") for token in content)


def _stated(samples: Callable[[], Iterator[dict[str, Any]]], shown: str) -> Table:
    """Return a table of stated confidences and whether the answers were right."""
    spool, silent = Spool(), 0
    for sample in samples():
        right, words = _score(sample)
        confidence = strings.spoken(pl.Series([words]))[0] if words is not None else None
        silent += confidence is None
        spool.add(_identity(sample) | {"correct": right, "confidence": confidence})
    if silent == spool.rows:
        raise ValueError(
            f"{shown}: no probabilities: neither log-probabilities of the options nor a stated confidence\n"
            "  run the evaluation with --logprobs --top-logprobs 20, or ask the model for its confidence"
        )
    spoken = of_input.VerbalConfidence(spool.rows - silent, spool.rows, column="confidence")
    event = Event(("the answer was scored as right",), obvious=True)
    basis = "confidence that the answer states (rule 1)"
    picks = of_picks("", "confidence", "correct", spoken, meaning=event, basis=basis, **PICKED)
    return spool.table(shown, picks)


def _score(sample: dict[str, Any]) -> tuple[float | None, str | None]:
    """Return how right the answer was by its first score, and the words that state a confidence."""
    scores = sample.get("scores") or ({"": sample["score"]} if isinstance(sample.get("score"), dict) else {})
    first = next((s for s in scores.values() if isinstance(s, dict)), {})
    value = first.get("value")
    right = GRADES.get(value) if isinstance(value, str) else float(value) if isinstance(value, (int, float)) else None
    for metadata in (first.get("metadata"), sample.get("metadata")):
        if isinstance(metadata, dict) and metadata.get("confidence") is not None:
            return right, str(metadata["confidence"])
    statements = STATED.findall(_words(_first_choice(sample).get("message") or {}))
    return right, statements[-1] if statements else None


def _words(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content)


# -- HELM -------------------------------------------------------------------------------------------------------------


def table_of_stats(document: list[dict[str, Any]], shown: str) -> Table:
    """Return HELM's statistics per instance as a table."""
    spool, names = Spool(), set[str]()
    for instance in document:
        named = [stat for stat in instance["stats"] if isinstance(stat, dict) and isinstance(stat.get("name"), dict)]
        stats = {stat["name"]["name"]: stat.get("mean") for stat in named}
        names |= set(stats)
        kept = {key: instance.get(key) for key in ("instance_id", "train_trial_index")}
        perturbation = instance.get("perturbation")
        kept["perturbation"] = perturbation.get("name") if isinstance(perturbation, dict) else None
        spool.add(kept | stats)
    if {"max_prob", "exact_match"} <= names:
        basis = "max_prob, the confidence of the pick (rule 1)"
        return spool.table(
            shown, of_picks("", "max_prob", "exact_match", meaning=PICK_WAS_RIGHT, basis=basis, **PICKED)
        )
    if "logprob" in names:
        return spool.table(shown, of_likelihoods("logprob", "each text"))
    raise ValueError(
        f"{shown}: statistics per instance without probabilities\n"
        "  max_prob with exact_match (multiple choice), or logprob (language modelling) is needed"
    )
