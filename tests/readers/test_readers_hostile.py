"""Malicious and damaged files are read, or refused with a code, within a short time."""

from __future__ import annotations

import gzip
import io
import shutil
import sys
import threading
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from ragdb.readers import child, sandbox
from ragdb.readers.document import Content, ReadError
from ragdb.readers.read import read
from tests.readers.made_files import parametrized, zipped

DATA = Path(__file__).parent.parent / "data"


def refused(data: bytes, name: str, **options: int) -> ReadError:
    with pytest.raises(ReadError) as raised:
        read(data, name, **options)  # type: ignore[arg-type]
    assert raised.value.reason
    assert raised.value.hint
    return raised.value


def docx_with(document: bytes) -> bytes:
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(DATA / "sample.docx") as sample,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name in sample.namelist():
            is_text = name == "word/document.xml"
            archive.writestr(name, document if is_text else sample.read(name))
    return packed.getvalue()


def pdf_with(stream: bytes) -> bytes:
    """A PDF of one page whose contents unpack to the stream."""
    packed = zlib.compress(stream)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R"
        b" /Resources << /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Courier >> >> >> >>",
        b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (len(packed), packed),
    ]
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (n, o) for n, o in enumerate(objects, 1))
    return b"%PDF-1.4\n" + body + b"trailer\n<< /Root 1 0 R /Size 5 >>\n%%EOF\n"


@pytest.mark.parametrize(
    ("data", "name", "code"),
    [
        (b"", "a.md", "empty"),
        (b" \n\t\n", "a.md", "blank"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9, "a.txt", "binary"),
        (b"\0" * 1000, "a.md", "binary"),
        (b"x", "a.exe", "unknown_type"),
        (b"{}", "a.json", "blank"),
        (b"{", "a.json", "malformed"),
        (b"x", "a", "read"),
        (gzip.compress(b"x", mtime=0), "a.exe.gz", "unknown_type"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "a.docx", "encrypted"),
        (b"PK\x03\x04 and no more", "a.docx", "corrupt"),
        (b"no pdf", "a.pdf", "corrupt"),
        (b"%PDF-1.7\nno more", "a.pdf", "corrupt"),
        (gzip.compress(b'{"text": "x"}\n' * 99, mtime=0)[:-9], "a.jsonl.gz", "corrupt"),
        (b"---\na: [1\n---\ntext", "a.md", "front_matter"),
        (b"---\na: !!python/object/apply:os.system [id]\n---\ntext", "a.md", "front_matter"),
        (b"<script>only()</script>", "a.html", "blank"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_says_why_by_a_stable_code(data: bytes, name: str, code: str) -> None:
    if code == "read":
        assert read(data, name)[0].text == "x"
    else:
        assert refused(data, name).code == code


def test_files_that_need_a_password_or_ocr_are_told_apart() -> None:
    assert refused((DATA / "encrypted.pdf").read_bytes(), "a.pdf").code == "encrypted"
    scanned = refused((DATA / "scanned.pdf").read_bytes(), "a.pdf")
    assert scanned.code == "no_text"
    assert "OCR" in scanned.hint


@pytest.mark.parametrize("name", ["a.jar", "a.docx", "a.xlsx", "a.txt"])
def test_an_archive_of_another_kind_is_named_so(name: str) -> None:
    assert refused(zipped({"META-INF/MANIFEST.MF": "x"}), name).code == "unknown_type"


def archive_with(at: bytes, offset: int, byte: int) -> bytes:
    """An archive whose type is packed, with another byte so far behind its first such mark."""
    archive = bytearray(zipped({"mimetype": "application/epub+zip"}))
    archive[archive.index(at) + offset] = byte
    return bytes(archive)


@pytest.mark.parametrize(
    "archive",
    [
        archive_with(b"mimetype", 8, 0x07),  # no block of deflate begins so
        archive_with(b"PK\x01\x02", 6, 99),  # a version that there is not
        archive_with(b"PK\x01\x02", 10, 97),  # a way of packing that there is not
    ],
    ids=["broken block", "version", "method"],
)
def test_an_archive_that_cannot_be_unpacked_is_corrupt(archive: bytes) -> None:
    assert refused(archive, "a.epub").code == "corrupt"


@pytest.mark.parametrize("size", [9, 10, 11])
def test_the_limit_of_bytes_is_exact(size: int) -> None:
    data = b"x" * size

    if size <= 10:
        assert len(read(data, "a.txt", max_bytes=10)) == 1
    else:
        assert refused(data, "a.txt", max_bytes=10).code == "too_large"


@pytest.mark.nightly
def test_a_large_file_of_short_sections_and_tables_is_read() -> None:
    section = (
        "## Part {n}\n\nOn day {n} *nobody* knows who mends the `lift`.\n\n| a | b |\n|---|---|\n"
        "| {n} | 2 |\n\n- one\n- two\n\n```\ncode\n```\n\n" + "It is seen again. " * 30 + "\n\n"
    )
    data = "".join(section.format(n=n) for n in range(76_000)).encode()
    assert len(data) > 50_000_000
    assert len(sandbox.read("markdown", data).text) > 40_000_000


def test_nul_is_replaced_and_counted() -> None:
    [document] = read(b"a\0b" + b"text " * 20, "a.txt")

    assert document.text.startswith("a\ufffdb")
    assert document.replaced == 1


def test_damage_to_utf8_is_replaced_and_counted() -> None:
    text = "Grüße aus München, schöne Tage. " * 30

    [document] = read(text.encode() + b"\xff" + text.encode(), "a.md")

    assert document.text == text + "\ufffd" + text
    assert document.replaced == 1


def test_a_replacement_character_of_the_source_is_not_counted() -> None:
    [document] = read("a\ufffdb".encode(), "a.txt")

    assert (document.text, document.replaced) == ("a\ufffdb", 0)


def nested_aliases() -> bytes:
    levels = "".join(
        f"{name}: &{name} [{', '.join(f'*{below}' for _ in range(9))}]\n"
        for below, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    return f"---\na: &a [x, x]\n{levels}---\ntext".encode()


def deep_yaml() -> bytes:
    return b"---\na: " + b"[" * 30_000 + b"]" * 30_000 + b"\n---\ntext"


HARD = {
    "YAML aliases": (nested_aliases, "a.md", {"front_matter"}),
    "deep YAML": (deep_yaml, "a.md", {"front_matter", "limits"}),
    "nested lists": (lambda: b"- " * 100_000 + b"x", "a.md", {"read"}),
    "nested quotes": (lambda: b"> " * 100_000 + b"x", "a.md", {"read"}),
    "open brackets": (lambda: b"[" * 49_000, "a.md", {"read"}),
    "open links": (lambda: b"[a](" * 200_000, "a.md", {"read"}),
    "one long line": (lambda: b"word " * 1_000_000, "a.md", {"read"}),
    "one long word": (lambda: b"x" * 5_000_000, "a.md", {"read"}),
    "many headings": (lambda: b"# x\n" * 20_000, "a.md", {"read"}),
    "deep HTML": (lambda: b"<div>" * 100_000 + b"x", "a.html", {"malformed"}),
    "unclosed HTML": (lambda: b"<" * 1_000_000, "a.html", {"read", "blank"}),
    "zip bomb": (lambda: docx_with(b" " * 70_000_000), "a.docx", {"limits"}),
    "XML entities": (
        lambda: docx_with(
            b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
            + b"".join(
                b'<!ENTITY %c "%s">' % (n, b"&%c;" % (n - 1) * 10) for n in range(98, 108)
            )
            + b"]><x>&k;</x>"
        ),
        "a.docx",
        {"corrupt", "limits", "blank"},
    ),
    "deep XML": (lambda: docx_with(b"<a>" * 200_000 + b"</a>" * 200_000), "a.docx",
                 {"corrupt", "limits", "blank"}),
    "PDF bomb": (lambda: pdf_with(b"BT /F 1 Tf (a) Tj ET\n" * 2_000_000), "a.pdf",
                 {"limits", "corrupt", "read"}),
    "gzip bomb": (lambda: gzip.compress(b" " * 100_000_000), "a.jsonl.gz", {"limits", "too_large"}),
}  # fmt: skip


LONG = {"PDF bomb", "many headings", "open brackets", "deep YAML", "deep XML"}


@pytest.mark.parametrize(("make", "name", "outcomes"), parametrized(HARD, LONG))
def test_a_bomb_is_read_or_refused_in_time_and_the_reader_lives_on(
    make: Callable[[], bytes], name: str, outcomes: set[str]
) -> None:
    data = make()
    # a reader that takes longer than its bytes may cost of a processor is ended
    try:
        outcome = "read" if read(data, name) else "nothing"
    except ReadError as error:
        outcome = error.code

    assert outcome in outcomes
    assert read(b"# still here", "a.md")[0].title == "still here"


def test_a_panic_of_a_parser_in_rust_is_a_broken_file_and_no_limit() -> None:
    # what Python makes of one is not an Exception
    panic = type("PanicException", (BaseException,), {})

    def parse(_: object) -> Content:
        raise panic("called `Option::unwrap()` on a `None` value")

    assert child._answer({"reader": ".xyz"}, {".xyz": parse}, b"x") == ("failed", b"PanicException")


def test_a_child_that_was_killed_is_replaced() -> None:
    read(b"warm", "a.md")
    child = sandbox._pool.take()
    child.process.kill()
    child.process.wait()
    sandbox._pool.give_back(child)

    assert read(b"text", "a.md")[0].text == "text"


def test_a_child_that_cannot_start_is_not_taken_for_a_file_that_is_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sandbox, "_pool", sandbox._Pool())
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(ReadError, match="did not start \\(exit code 1\\)") as raised:
        read(b"text", "a.md")
    assert raised.value.code == "unstarted"
    assert "ragdb.readers.child" in str(raised.value.hint)


def test_a_child_has_the_libraries_that_python_was_started_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    child = sandbox._Child("")
    try:
        assert child.ask({"reader": "markdown", "memory": 2**29, "seconds": 5}, b"x")
        proc = Path(f"/proc/{child.process.pid}")
        if not proc.exists():
            pytest.skip("no /proc to look into")
        assert f"LD_LIBRARY_PATH={tmp_path}".encode() in (proc / "environ").read_bytes()
    finally:
        child.close()


def test_one_child_reads_one_file_after_the_other() -> None:
    read(b"warm", "a.md")
    first = sandbox._pool.take()
    sandbox._pool.give_back(first)

    for n in range(5):
        read(b"text %d" % n, "a.md")

    assert sandbox._pool.take() is first
    sandbox._pool.give_back(first)


def test_many_threads_may_read_at_once() -> None:
    results: list[str | None] = [None] * 6

    def work(n: int) -> None:
        results[n] = read(f"# title {n}".encode(), "a.md")[0].title

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == [f"title {n}" for n in range(6)]


def test_the_child_sees_no_secret_and_can_open_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGDB_DATABASE_URL", "postgresql://u:secret@h/d")
    child = sandbox._Child("")
    try:
        child.ask({"reader": "markdown", "memory": 2**29, "seconds": 5}, b"x")
        proc = Path(f"/proc/{child.process.pid}")
        if not proc.exists():
            pytest.skip("no /proc to look into")
        assert b"secret" not in (proc / "environ").read_bytes()
        lines = (proc / "limits").read_text().splitlines()
        limits = {line[:26].strip(): line[26:].split() for line in lines}
        assert limits["Max open files"][0] == "3"
        assert limits["Max file size"][0] == "0"
        assert len(list((proc / "fd").iterdir())) == 3
    finally:
        child.close()
