"""What one run of `ingest` did, file by file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

MOST = 1000  # failures, and reasons of them, that a report lists


@dataclass(frozen=True)
class Failed:
    """A file or record that could not be read or stored."""

    uri: str
    reason: str
    hint: str | None


@dataclass
class Reason:
    """Why some of one file failed: how many of its records, and the first of them."""

    uri: str
    reason: str
    hint: str | None
    count: int = 0
    first: list[str] = field(default_factory=list)
    """At most three."""


@dataclass(frozen=True)
class Twice:
    """A file that the corpus has under another name too, and the folder that this was read from."""

    uri: str
    other: str
    root: str


@dataclass
class FileResult:
    """What became of one file. A JSONL file has many documents, others one."""

    uri: str
    status: str = "unread"
    """ingested, replaced, unchanged, empty, skipped or failed; unread where a run was
    interrupted."""
    documents: int = 0
    written: int = 0
    replaced: int = 0
    """Documents that took the place of another at their source."""
    empty: int = 0
    failed: int = 0
    chunks: int = 0
    tokens: int = 0
    pages: int | None = None
    pages_without_text: int = 0
    bad_characters: int = 0
    """Characters that no text has (NUL, lone surrogates), replaced by U+FFFD."""
    cut: int = 0
    """Chunks found by the words of their first 65,536 characters only, headings included."""
    doc_cid: str | None = None
    reason: str | None = None
    hint: str | None = None
    type: str | None = None
    """Ending of a file that is skipped because files of its type are not read."""


@dataclass(repr=False)
class Report:
    """What one run did."""

    corpus: str
    files: list[FileResult]
    failures: list[Failed] = field(default_factory=list)
    """Every file and record that failed; at most 1,000."""
    reasons: list[Reason] = field(default_factory=list)
    """Why they failed, file by file; at most 1,000."""
    documents: int = 0
    written: int = 0
    replaced: int = 0
    unchanged: int = 0
    empty: int = 0
    failed: int = 0
    skipped: int = 0
    skipped_types: dict[str, int] = field(default_factory=dict)
    """How many files of each type were skipped because it is not read, most first."""
    cut: int = 0
    pruned: int = 0
    gone: int = 0
    """Documents of the folders and JSONL files given that are not there any more and stay."""
    twice: list[Twice] = field(default_factory=list)
    """Files that were read from a folder around or inside these ones too; at most 1,000."""
    chunks: int = 0
    tokens: int = 0
    seconds: float = 0.0
    created: bool = False
    text_config: str | None = None
    """What was chosen for the corpus that was made, by the language of its documents."""
    optimized: bool = False
    dry_run: bool = False
    not_pruned: list[str] = field(default_factory=list)
    """Folders left alone by --prune, because something in them could not be read."""

    def __repr__(self) -> str:
        counts = {
            name: getattr(self, name)
            for name in ("documents", "written", "unchanged", "failed", "skipped", "chunks")
        }
        said = ", ".join(f"{name}={count}" for name, count in counts.items())
        why = [f"{one.first[0]}: {one.reason}" for one in self.reasons[:3]]
        return f"Report({self.corpus!r}, {said}{f', reasons={why}' * bool(why)})"

    def fail(self, file: FileResult, failure: Failed) -> None:
        """Take note of a file or record that failed."""
        file.failed += 1
        if failure.uri == file.uri:
            file.reason, file.hint = failure.reason, failure.hint
        if len(self.failures) < MOST:
            self.failures.append(failure)
        key = file.uri, failure.reason
        reason = next((r for r in reversed(self.reasons) if (r.uri, r.reason) == key), None)
        if reason is None:
            if len(self.reasons) == MOST:
                return
            reason = Reason(*key, failure.hint)
            self.reasons.append(reason)
        reason.count += 1
        if len(reason.first) < 3:
            reason.first.append(failure.uri)

    def settle(self, *, is_whole: bool = True) -> None:
        """Sum up the files. What a run that is not whole has not come to is unread."""
        for file in self.files:
            if file.status != "skipped":
                file.status = (
                    "failed"
                    if file.failed
                    else "replaced"
                    if file.replaced
                    else "ingested"
                    if file.written
                    else "unchanged"
                    if file.documents
                    else "empty"
                    if file.empty or is_whole
                    else "unread"
                )
        for name in (
            "documents",
            "written",
            "replaced",
            "empty",
            "failed",
            "cut",
            "chunks",
            "tokens",
        ):
            setattr(self, name, sum(getattr(file, name) for file in self.files))
        self.unchanged = self.documents - self.written
        self.skipped = sum(file.status == "skipped" for file in self.files)
        types = Counter(file.type for file in self.files if file.type is not None)
        self.skipped_types = dict(types.most_common())


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    files: int
    files_total: int
    bytes: int
    bytes_total: int
    chunks: int
    stage: str = "reading"
    """reading, writing or optimizing."""
