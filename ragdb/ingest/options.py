"""What `ingest` takes beside paths and corpus, and what the paths mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, TypedDict

from ragdb.client.calling import unknown
from ragdb.ingest import chunker, sources
from ragdb.ingest.report import Progress
from ragdb.ingest.source import Found
from ragdb.ingest.stopping import Stop
from ragdb.readers import language
from ragdb.readers.document import ReadError, storable

CHUNKING: dict[str, Any] = {
    "strategy": "paragraph",
    "max_tokens": 240,
    "overlap": 48,
    "unit": "token",
}

Paths = str | PathLike[str] | bytes | Iterable[str | PathLike[str]]
"""What is to be read: paths, folders and URLs, or the bytes of a file."""

READING = (
    *("title", "language", "metadata", "max_bytes", "blobs", "allow_private"),
    *("media_type", "source_name", "known", "convert"),
    *CHUNKING,
)


MOST = {"max_bytes": 2**40, "workers": 1000}


class IngestError(ValueError):
    """Something given to `ingest` cannot be used; nothing was read."""

    exit_code = 2

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        if hint:
            self.add_note(f"hint: {hint}")


class Options(TypedDict, total=False):
    """What `Database.ingest` takes beside paths and corpus."""

    glob: str | None
    """Names to take from folders, such as `*.md`; paths below the folder where it has a `/`."""
    prefix: str | None
    """Name of the sources' folder in the corpus, in place of the folder's own (`.`: that); such
    sources also take over those of their names that came from elsewhere."""
    name: str | None
    """Name of bytes, or of what is read from standard input, `-`; its ending says the type."""
    convert: Mapping[str, str]
    """Commands that make a readable file of one with an ending, as `--convert` takes them."""
    recursive: bool
    """Go into folders of folders (default true)."""
    force: bool
    """Write documents again that are there already."""
    dry_run: bool
    """Read, check and take everything back."""
    prune: bool
    """Remove sources under the folders and JSONL files given that are not there any more."""
    tells_gone: bool
    """Count what prune would remove (`Report.gone`), and leave it there."""
    blobs: bool
    """Keep the original bytes of files (default true)."""
    workers: int
    """Processes that read (default 1: this one)."""
    title: str | None
    language: str | None
    media_type: str | None
    """What files are, whatever their names say."""
    source_name: str
    """Source of a contract that the documents are of."""
    metadata: dict[str, Any] | None
    """Added to, and preferred to, what a document says of itself."""
    allow_private: bool
    """Fetch URLs of hosts that are not on the public internet, too."""
    max_bytes: int
    """Largest file read (default 64 MiB)."""
    text_config: str
    """Text search configuration of a corpus that is made (default: that of the language of most of
    the first documents, or english); one that is there must have it."""
    strategy: str
    max_tokens: int
    overlap: int
    unit: str
    """Chunking: see docs/chunker.md."""
    progress: Callable[[Progress], None] | None
    """Called after every file and batch, and several times within a large one."""
    stop: Stop | None
    """What is asked at each step whether to go on."""


def look(paths: Paths, options: Mapping[str, Any]) -> Found:
    """What `paths` mean. Raises IngestError for options that cannot be meant."""
    for option in sorted(options.keys() - Options.__annotations__.keys()):
        raise TypeError(unknown("ingest", option, Options.__annotations__))
    if isinstance(paths, Mapping) or not isinstance(paths, str | PathLike | bytes | Iterable):
        kind = type(paths).__name__
        raise TypeError(f"paths is of type {kind}: give a path, a list of paths or bytes")
    given = [paths] if isinstance(paths, str | PathLike | bytes) else list(paths)
    name = options.get("name")
    if any(isinstance(one, bytes) for one in given) and (given != [paths] or not name):
        raise IngestError(
            "bytes are one file, and it has no name", 'ingest(file.read(), …, name="notes.md")'
        )
    try:
        chunker.check(**{name: options.get(name, value) for name, value in CHUNKING.items()})
        return sources.find(
            given,
            glob=options.get("glob"),
            recursive=options.get("recursive", True),
            name=name or "stdin",
            prefix=options.get("prefix"),
        )
    except ValueError as error:
        raise IngestError(str(error)) from None


def as_stored(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with what is said of every document as the database keeps it.

    Raises IngestError.
    """
    for name, most in MOST.items():
        number = options.get(name)
        if number is not None and not 1 <= number <= most:
            raise IngestError(f"{name} is {str(number)[:80]}", f"it is 1 to {most}")
    given = {name: options[name] for name in ("title", "metadata") if options.get(name)}
    try:
        stored = {name: storable(value) for name, value in given.items()}
    except ReadError as error:
        raise IngestError(error.reason, error.hint) from None
    if options.get("language"):
        stored["language"] = language.normalise(options["language"])
        if stored["language"] is None:
            raise IngestError(
                f"{options['language'][:80]!r} is not a language", "give its code, such as de"
            )
    return {**options, **stored}
