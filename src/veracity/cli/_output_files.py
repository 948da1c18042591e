"""Output files: checks before any work, and files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import click

from veracity.cli._click import Outputs, Request

if TYPE_CHECKING:
    from veracity.files.files_read import FilesRead
    from veracity.files.whole_files import Unfinished

PAGES = (".html", ".htm", ".pdf")


def files_read(request: Request | None = None, *names: str | None) -> FilesRead:
    """Return the files that a request reads and those of further names, folders and globs expanded."""
    from veracity.files.files_read import FilesRead
    from veracity.read.paths import expanded

    given = [name for name in names if name]
    if request is not None:
        given += [name.partition("::")[0] if "::" in name else name for name in request.files]  # a database is a file
        given += [
            name for name in (request.reading.label_file, request.reading.weight) if name and os.path.isfile(name)
        ]
    paths: list[str | Path] = []
    for name in given:
        with contextlib.suppress(ValueError):  # reading it will raise the error
            paths += [name] if os.path.isfile(name) else expanded(name)
    return FilesRead(paths)


def check_outputs(outputs: Outputs, read: FilesRead, state: str | None = None) -> None:
    """Refuse outputs that could not be written after the work, or would destroy an input or the `state` of the run."""
    if outputs.report == "-":
        raise ValueError("--report -: a page goes to a file; give its name, such as out.html")
    if outputs.report is not None and not outputs.report.lower().endswith(PAGES) and not _special(outputs.report):
        raise ValueError(f"--report {outputs.report}: give a file that ends in .html or .pdf")
    if outputs.plots == "-":
        raise ValueError("--plots -: pictures go into a folder; give its name, such as plots")
    printed = next((f"--{option} -" for option, path in outputs.files.items() if path == "-"), "")
    other = "--quiet" if outputs.quiet else printed
    if outputs.details and other:
        raise ValueError(f"--details has no effect beside {other}; leave one of them out")
    if list(outputs.files.values()).count("-") > 1:
        raise ValueError("standard output takes one document; give the others a file name")
    check_files({f"--{option}": path for option, path in outputs.files.items()}, read, outputs.force, state)
    if outputs.plots is not None:
        folder = Path(outputs.plots)
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"--plots {folder}: a file of this name exists; give a folder")
        if folder.is_dir() and any(folder.iterdir()) and not outputs.force:
            raise ValueError(f"--plots {folder}: the folder is not empty; --force writes into it")
        _check_folder(folder if folder.is_dir() else folder.absolute().parent, str(folder))


def check_files(named: Mapping[str, str | Path | None], read: FilesRead, force: bool, state: str | None = None) -> None:
    """Refuse files that could not be written after the work, meet one another, or would destroy what is read.

    `named`: {option: path}; "-" is standard output. `state`: the file of the run's own state, which it may replace.
    """
    from veracity.files.files_read import place_of

    files = {option: path for option, path in named.items() if path is not None and str(path) != "-"}
    seen: dict[Any, str] = {}
    for option, path in [*files.items(), *([("--checkpoint", state)] if state is not None else [])]:
        read.refuse(path, option)
        if not _special(path) and (twin := seen.setdefault(place_of(path), option)) != option:
            raise ValueError(f"{twin} and {option} name the same file, {path}")
    for path in files.values():
        check_file(str(path), force)


def check_file(path: str, force: bool) -> None:
    target = Path(path)
    if target.is_dir():
        raise ValueError(f"{path} is a folder; give a file name")
    if target.is_file() and not force:
        raise ValueError(f"{path} exists; --force overwrites it")
    if not _special(target):
        _check_folder(target.absolute().parent, path)


def _special(path: str | Path) -> bool:
    """Whether the path is a device or a named pipe, which cannot be renamed over."""
    return Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir()


def _check_folder(folder: Path, path: str) -> None:
    if not folder.is_dir():
        raise ValueError(f"{path}: no folder {folder}; make it first")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ValueError(f"{path}: cannot write into {folder} ({error.strerror})") from None


class OutputFiles:
    """Files that appear together at the end, or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with OutputFiles() as files:
    ...         files.add(Path(folder, "a.txt"), "text")
    ...         before = sorted(p.name for p in Path(folder).glob("*.txt"))
    ...     before, sorted(os.listdir(folder))
    ([], ['a.txt'])
    """

    def __init__(self, read: FilesRead | None = None) -> None:
        self._read = read  # files that none of these may replace
        self._waiting: list[Unfinished] = []
        self._folders: list[Path] = []

    def __enter__(self) -> OutputFiles:
        return self

    def add(self, path: str | Path, content: str | bytes) -> None:
        """Keep content for path; "-" is standard output, written at once."""
        data = content.encode() if isinstance(content, str) else content
        if str(path) == "-":
            to_stdout(data)
            return
        self.write_file(path, lambda part: part.write_bytes(data))

    def write_file(self, path: str | Path, write: Callable[[Path], Any]) -> None:
        """Make the file `path` by `write`, which is given a temporary file."""
        try:
            write(Path(path) if _special(path) else self._begun(path).path)
        except OSError as error:
            raise OSError(error.errno, f"{error.strerror}; nothing was written", str(path)) from None

    def write_folder(self, path: str | Path, write: Callable[[Path], Any]) -> None:
        """Make the folder `path` by `write`, which is given a temporary folder."""
        write(self._begun(path, folder=True).path)

    def _begun(self, path: str | Path, *, folder: bool = False) -> Unfinished:
        from veracity.files.whole_files import Unfinished

        if self._read is not None:
            self._read.refuse(path)
        begun = Unfinished(path, folder=folder)
        if any(begun.target == other.target for other in self._waiting):
            begun.discard()
            raise ValueError(f"two outputs name the same file, {path}; give one of them another name")
        self._waiting.append(begun)
        return begun

    def folder(self, path: str | Path) -> Path:
        """Return a folder for further files; a new one is removed again if the work fails."""
        target = Path(path)
        for missing in [*reversed(target.parents), target]:
            if not missing.exists():
                missing.mkdir()
                self._folders.append(missing)
        return target

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        failed = True
        try:
            for unfinished in self._waiting if kind is None else ():
                unfinished.finish()
            failed = kind is not None
        finally:
            for unfinished in self._waiting:
                unfinished.discard()
            for folder in reversed(self._folders if failed else []):
                with contextlib.suppress(OSError):  # one that holds a file stays
                    folder.rmdir()


def tell(message: str, *, err: bool = True) -> None:
    """Print lines for people, on standard error by default, without control characters from the data."""
    from veracity.words import clean_lines

    click.echo(clean_lines(message), err=err)


def to_stdout(content: str | bytes) -> None:
    """Write everything in UTF-8 whatever the terminal's encoding; a full disk or closed pipe raises here."""
    data = content.encode() if isinstance(content, str) else content
    sys.stdout.flush()
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        sys.stdout.write(data.decode())
    else:
        stream.write(data)
    sys.stdout.flush()
