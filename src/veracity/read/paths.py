"""Which files are meant: paths, globs, folders and standard input, each with the name that messages use."""

from __future__ import annotations

import glob
import os
import shutil
import sys
import tempfile
import weakref
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from veracity.inputs.names import FileName

from .patterns import nearest

COMPRESSED = (".gz", ".zst", ".zstd", ".xz", ".zip")
TABLE = "::"  # between a database and its table
TEXTS = (".csv", ".tsv", ".txt", ".dat", ".tab", ".psv")
KNOWN = (*TEXTS, ".parquet", ".pq", ".arrow", ".feather", ".ipc", ".jsonl", ".ndjson", ".npz", ".npy", ".eval", ".xlsx")


def expanded(paths: Sequence[str | Path] | str | Path) -> list[Path]:
    """Files that paths, globs and folders mean, in order."""
    if isinstance(paths, (str, Path)):
        paths = [paths]
    if not paths:
        raise ValueError("no file given\n  name a CSV, Parquet, Arrow or JSON lines file")
    files: list[Path] = []
    for given in paths:
        path = Path(_without_scheme(str(given)))
        if not str(given).strip():
            raise ValueError("a file without a name\n  name a CSV, Parquet, Arrow or JSON lines file")
        if str(given) == "-" or path.is_file() or Path(str(path).partition(TABLE)[0]).is_file():
            files.append(path)
        elif path.is_dir():
            inside = _inside(path)
            if not inside:
                raise ValueError(f"{given}: no file that can be read in this folder\n  kinds: {', '.join(KNOWN)}")
            files += inside
        else:
            matches = sorted(Path(m) for m in glob.glob(str(path), recursive=True))
            if not matches:
                raise ValueError(f"{given}: no such file{_similar_name(path)}")
            if not any(match.is_file() for match in matches):
                raise ValueError(
                    f"{given}: not a file\n  what a program writes is read from -:  PROGRAM | veracity assess -"
                )
            files += [m for m in matches if m.is_file()]
    twice = [path for path, times in Counter(path.absolute() for path in files).items() if times > 1]
    if twice:
        raise ValueError(f"{twice[0].name}: given twice\n  name each file once: its rows would count twice")
    return files


def _inside(folder: Path) -> list[Path]:
    """Return the files of a folder that can be read; JSON documents only if nothing else can, and HELM's by name."""
    files = sorted(f for f in folder.rglob("*") if f.is_file())
    documents = [f for f in files if extension(f) == ".json"]
    stats = [f for f in documents if f.name.startswith("per_instance_stats")]
    return [f for f in files if extension(f) in KNOWN] or stats or documents


@dataclass(frozen=True)
class File:
    """A file, and the name by which messages call it."""

    path: Path
    name: str
    keep: Any = field(default=None, compare=False)  # the copy of standard input lives as long as this


def listed(data: Any) -> list[File]:
    """Return the files that paths, globs and folders mean, each with its own name; standard input is copied."""
    if isinstance(data, list) and data and all(isinstance(file, File) for file in data):
        return data
    from .packed import opened

    paths = expanded(data)
    return [
        _copied() if str(path) == "-" else opened(path.absolute(), FileName.of(name, str(path)))
        for path, name in zip(paths, names_of(paths), strict=True)
    ]


class Scratch:
    """A temporary file that is deleted with this object."""

    def __init__(self, suffix: str = "") -> None:
        handle, name = tempfile.mkstemp(suffix=suffix)
        os.close(handle)
        self.path = Path(name)
        weakref.finalize(self, self.path.unlink, missing_ok=True)


def _copied() -> File:
    keep = Scratch()
    with keep.path.open("wb") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
    return File(keep.path, FileName.of("stdin", "-"), keep)


def is_address(given: str) -> bool:
    """s3a://…, hdfs://…: what is no file of this machine."""
    return "://" in given and not given.startswith("file://")


def _without_scheme(given: str) -> str:
    """The path that a file:// address means; other addresses are not files."""
    if given.startswith("file://"):
        return unquote(urlsplit(given).path)
    if is_address(given):
        raise ValueError(
            f"{given}: an address, not a file\n"
            "  one alone, if Spark can open it:  --engine spark      otherwise copy the files here"
        )
    return given


def _similar_name(path: Path) -> str:
    try:
        names = [f.name for f in path.parent.iterdir()]
    except OSError:
        return ""
    hint = nearest(path.name, names)
    return "" if hint == "." else hint.replace("`", "")


def extension(path: Path) -> str:
    """Return the ending that tells the kind of a file, without that of its compression."""
    parts = [s.lower() for s in path.suffixes]
    if parts and parts[-1] in COMPRESSED:
        parts = parts[:-1]
    return parts[-1] if parts else ""


def stem(path: Path) -> str:
    """The name of a file without its endings."""
    name = path.name
    for suffix in (*COMPRESSED, *KNOWN, ".tally"):
        if name.lower().endswith(suffix):
            name = name[: -len(suffix)]
    return name


def model_name(shown: str) -> str:
    """Return the name of the model in a file: its stem, or the folders that tell files of one name apart.

    >>> model_name("nb.csv"), model_name("gpt-x/samples_mmlu.jsonl")
    ('nb', 'gpt-x')
    """
    path = Path(shown)
    return stem(path) if len(path.parts) == 1 else str(path.parent)


def names_of(paths: Sequence[Path]) -> list[str]:
    """What messages call these files: their names, with as many folders as it takes to tell them apart.

    >>> names_of([Path("data/2024/part.csv"), Path("data/2025/part.csv"), Path("data/2025/more.csv")])
    ['2024/part.csv', '2025/part.csv', 'more.csv']
    """
    names = {path: path.name for path in paths}
    for folders in range(1, max(len(path.parts) for path in paths)):
        often = Counter(names.values())
        alike = [path for path, name in names.items() if often[name] > 1]
        names |= {path: str(Path(*path.parts[-1 - folders :])) for path in alike}
    return [names[path] for path in paths]
