"""What `ragdb ingest` says of folders, names and pages to whoever types it."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import ragdb
from ragdb.client._generated.functions import Functions
from tests.conftest import Run
from tests.readers.made_files import FILES, MBOX

pytestmark = pytest.mark.long

DATA = Path(__file__).parent.parent / "data"


def test_a_folder_of_twenty_types_is_read_and_the_rest_is_counted(
    run: Run, tmp_path: Path, clone: str
) -> None:
    folder = tmp_path / "all"
    folder.mkdir()
    for name, (data, _) in FILES.items():
        (folder / name).write_bytes(data)
    (folder / "a.mbox").write_bytes(MBOX)
    for name in ("sample.pdf", "sample.docx", "sample.md"):
        (folder / name).write_bytes((DATA / name).read_bytes())
    for name in ("favicon.ico", "a.png", "b.png"):
        (folder / name).write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(99))
    done = run("ingest", folder, "-c", "all", "--json")
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert {f["status"] for f in report["files"]} == {"ingested", "skipped"}
    assert (report["failed"], report["skipped"]) == (0, 3)
    assert "3 skipped: 2 .png, 1 .ico" in done.stderr
    with ragdb.connect(clone) as db:
        assert db.check_corpus("all") == []
        found = {row.source: row.media_type for row in db.list_documents("all")}
        assert len(set(found.values())) >= 19
        (hit, *_) = db.search("all", "saw costs 12 sharp ones")
        assert hit.source == "all/a.adoc"
        assert db.search("all", "loud drill price")[0].source in ("all/a.csv", "all/a.epub")
    again = run("ingest", folder, "-c", "all", "--json")
    assert json.loads(again.stdout)["written"] == 0


def test_another_docs_folder_is_refused_and_replaced_is_said(run: Run, tmp_path: Path) -> None:
    for name in ("A", "B"):
        (tmp_path / name / "docs").mkdir(parents=True)
        (tmp_path / name / "docs" / "index.md").write_text(f"# Project {name}\n")
    assert run("ingest", tmp_path / "A" / "docs", "-c", "docs").exit_code == 0
    refused = run("ingest", tmp_path / "B" / "docs", "-c", "docs", "--prune")
    assert refused.exit_code == 2
    assert "docs/index.md in corpus docs came from" in refused.stderr
    assert "--prefix" in refused.stderr
    taken = run("ingest", tmp_path / "B" / "docs", "-c", "docs", "--prefix", "docs")
    assert taken.exit_code == 0
    assert "1 written, 1 of them replaced" in taken.stderr
    assert "replaced" in taken.stdout
    apart = run("ingest", tmp_path / "A" / "docs", "-c", "docs", "--prefix", "a")
    assert apart.exit_code == 0
    assert "a/index.md" in apart.stdout


def test_who_reads_a_file_under_a_second_name_is_told_the_verb_that_removes_one(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("Alpha.")
    assert run("ingest", tmp_path / "docs", "-c", "docs").exit_code == 0
    told = run("ingest", tmp_path / "docs/a.md", "-c", "docs").stderr
    assert "a.md is docs/a.md" in told
    assert "`ragdb corpus delete`" in told


def test_a_hint_names_a_deep_file_by_its_beginning(run: Run, tmp_path: Path) -> None:
    deep = tmp_path.joinpath("docs", *(150 * "d" for _ in range(8)))
    deep.mkdir(parents=True)
    (deep / "broken.pdf").write_bytes(b"%PDF-1.4 and no more")
    done = run("ingest", tmp_path / "docs", "-c", "docs")
    (hint,) = [line for line in done.stderr.splitlines() if line.startswith("  hint: docs/")]
    assert (done.exit_code, len(hint) < 200) == (4, True)


def test_what_was_named_and_is_not_read_fails(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.ico").write_bytes(b"\0\0\1\0")
    done = run("ingest", tmp_path / "a.ico", "-c", "docs")
    assert done.exit_code == 4
    assert "--convert" in done.stderr


def test_a_converter_reads_what_nothing_else_does(run: Run, tmp_path: Path, clone: str) -> None:
    (tmp_path / "scan.pdf").write_bytes((DATA / "scanned.pdf").read_bytes())
    assert run("ingest", tmp_path / "scan.pdf", "-c", "docs").exit_code == 4
    code = "import sys; open(sys.argv[2], 'w').write('# Seen\\n\\nWhat the %s says.')"
    for what in ("scan", "better scan"):
        command = f"{shlex.quote(sys.executable)} -c {shlex.quote(code % what)} {{in}} {{out.md}}"
        done = run("ingest", tmp_path / "scan.pdf", "-c", "docs", "--convert", f".pdf={command}")
        assert done.exit_code == 0, done.output
        with ragdb.connect(clone) as db:
            (document,) = db.list_documents("docs")
            assert document.media_type == "application/pdf"
            assert document.chunking["converter"] == command
            assert f"What the {what} says." in str(db.document_text("docs", document.doc_cid))
    assert run("ingest", tmp_path, "-c", "docs", "--convert", "pdf").exit_code == 2


def test_a_named_file_that_is_text_is_read_whatever_it_ends_in(
    run: Run, tmp_path: Path, clone: str
) -> None:
    (tmp_path / "README.Debian").write_text("Bash reads the file of root.")
    (tmp_path / "notes.v2.gz").write_bytes(gzip.compress(b"The second version.", mtime=0))
    (tmp_path / "a.bin").write_bytes(bytes(range(256)))
    named = run("ingest", *sorted(tmp_path.iterdir()), "-c", "docs")
    assert "2 written, 0 unchanged, 1 failed" in named.stderr
    assert [line.split()[:2] for line in named.stdout.splitlines()[1:]] == [
        ["ingested", "README.Debian"],
        ["failed", "a.bin"],
        ["ingested", "notes.v2.gz"],
    ]
    with ragdb.connect(clone) as db:
        (hit,) = db.search("docs", "second version")
        assert (hit.source, hit.text) == ("notes.v2.gz", "The second version.")
    # a folder has many files that nobody means
    found = run("ingest", tmp_path, "-c", "docs", "--prefix", "d")
    assert "3 skipped: 1 .debian, 1 .bin, 1 .v2)" in found.stderr


@pytest.mark.parametrize(("ending", "read"), [(".1", b"packed"), (".gz", b"\x1f\x8b")])
def test_a_converter_gets_a_packed_file_by_the_ending_that_it_is_counted_under(
    run: Run, tmp_path: Path, clone: str, ending: str, read: bytes
) -> None:
    (tmp_path / "man").mkdir()
    (tmp_path / "man" / "ls.1.gz").write_bytes(gzip.compress(b"packed", mtime=0))
    assert "1 skipped: 1 .1)" in run("ingest", tmp_path / "man", "-c", "docs").stderr
    code = "import sys; print(sys.argv[1][-3:], open(sys.argv[1], 'rb').read()[:9])"
    rule = f"{ending}={shlex.quote(sys.executable)} -c {shlex.quote(code)} {{in}}"
    done = run("ingest", tmp_path / "man", "-c", "docs", "--convert", rule)
    assert done.exit_code == 0, done.output
    with ragdb.connect(clone) as db:
        (document,) = db.list_documents("docs")
        text = str(db.document_text("docs", document.doc_cid))
        assert (text[:3].endswith(ending), repr(read)[2:-1] in text) == (True, True)
        # as its own bytes, from which they are read again
        assert document.size_bytes == (tmp_path / "man" / "ls.1.gz").stat().st_size
    again = run("ingest", tmp_path / "man", "-c", "docs", "--convert", rule)
    assert "1 unchanged" in again.stderr


def test_what_is_skipped_or_fails_takes_a_line_and_each_hint_is_said_once(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("a.ico", "b.ico", "c.bin"):
        (tmp_path / name).write_bytes(b"\0\0\1\0")
    (tmp_path / "empty.md").touch()
    (tmp_path / "id_rsa").write_text("a key")
    (tmp_path / "note.md").write_text("It is short.")
    folder = run("ingest", tmp_path, "-c", "docs", "--prefix", "d")
    assert [line.split()[:2] for line in folder.stdout.splitlines()[1:]] == [
        ["skipped", "d/empty.md"],
        ["ingested", "d/note.md"],
        ["skipped", "d/id_rsa"],
    ]
    assert "5 skipped: 2 .ico, 1 .bin, 2 for other reasons)" in folder.stderr
    assert "--convert" not in folder.output
    named = run("ingest", *sorted(tmp_path.glob("*.ico")), "-c", "docs")
    assert named.exit_code == 4
    assert len(named.stdout.splitlines()) == 3
    assert named.stderr.count("--convert") == 1
    assert "hint: a.ico and 1 other: text, source code" in named.stderr
    # asked for more, it says all
    again = run("ingest", tmp_path, "-c", "docs", "--prefix", "d", "-v")
    assert again.stdout.count("are not read") == 3
    (tmp_path / "note.md").unlink()
    nothing = run("ingest", tmp_path, "-c", "other")
    assert nothing.exit_code == 5
    assert "nothing was found that is read; --convert '.ENDING=COMMAND {in}'" in nothing.stderr
    for name in ("a.ico", "b.ico", "c.bin"):
        (tmp_path / name).unlink()
    empty = run("ingest", tmp_path, "-c", "other")
    assert empty.exit_code == 5
    assert empty.stderr.endswith("nothing was found that is read\n")


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    ("rule", "code", "says"),
    [
        # a file of a type that nothing reads: what was made of it is known by its bytes
        (".foo=seen {in} {out}", "b'the otter swims'", "the otter swims"),
        (".foo=seen {in} {out}", "open(SAMPLE, 'rb').read()", "free of charge"),
        (".foo=seen {in} {out.bar}", "b'the otter swims'", "the otter swims"),
        (".pdf=ocrmypdf {in} {out}", "open(SAMPLE, 'rb').read()", "free of charge"),
    ],
)
def test_what_a_converter_makes_is_known_by_its_bytes(
    run: Run,
    tmp_path: Path,
    clone: str,
    monkeypatch: pytest.MonkeyPatch,
    rule: str,
    code: str,
    says: str,
) -> None:
    ending, _, program = rule.partition("=")
    _program(tmp_path, monkeypatch, program.split()[0], code)
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / f"scan{ending}").write_bytes((DATA / "scanned.pdf").read_bytes())
    done = run("ingest", tmp_path / "all", "-c", "docs", "--convert", rule)
    assert done.exit_code == 0, done.output
    with ragdb.connect(clone) as db:
        (document,) = db.list_documents("docs")
        assert says in str(db.document_text("docs", document.doc_cid))


def test_what_a_converter_makes_and_nobody_reads_fails_also_in_a_folder(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(tmp_path, monkeypatch, "seen", "bytes(99)")
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "a.foo").write_bytes(b"x")
    done = run("ingest", tmp_path / "all", "-c", "docs", "--convert", ".foo=seen {in} {out}")
    assert done.exit_code == 4
    assert "what seen made of it is not read" in done.stdout
    assert "{out.txt}" in done.stderr


def _program(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, made: str) -> None:
    """A program on the path that writes `made` into its second argument."""
    sample = str(DATA / "sample.pdf")
    path = folder / "bin" / name
    path.parent.mkdir()
    script = path.with_suffix(".py")
    script.write_text(f"import sys\nSAMPLE = {sample!r}\nopen(sys.argv[2], 'wb').write({made})\n")
    # the first line of a script cannot name a program in a folder with a space
    called = shlex.join([sys.executable, str(script)])
    path.write_text(f'#!/bin/sh\nexec {called} "$@"\n')
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(path.parent), prepend=os.pathsep)


def test_the_page_of_a_citation_is_the_page_of_its_quote(run: Run, clone: str) -> None:
    assert run("ingest", DATA / "sample.pdf", "-c", "docs").exit_code == 0
    found = json.loads(run("search", "Returns are free of charge", "-c", "docs", "--json").stdout)
    hit = found[0] if isinstance(found, list) else found["hits"][0]
    assert (hit["text"], hit["page"]) == ("Returns are free of charge.", 3)
    with ragdb.connect(clone) as db:
        (document,) = db.list_documents("docs")
        chunks = db.document_chunks("docs", document.doc_cid)
    assert [chunk.page for chunk in chunks] == [1, 3]
    assert not any("\f" in chunk.text for chunk in chunks)


@pytest.mark.nightly
def test_progress_moves_inside_a_large_file(tmp_path: Path, clone: str) -> None:
    path = tmp_path / "large.md"
    # many chunks and many bytes, but few words, of which each would be indexed
    paragraph = f"Number {{}} of the parts that are short.{' ' * 500}\n\n"
    path.write_text("".join(map(paragraph.format, range(8_250))))
    seen = []

    def tell(now: Any) -> None:
        seen.append((now.stage, now.bytes))

    with ragdb.connect(clone) as db:
        db.ingest(path, corpus="docs", max_tokens=16, overlap=0, progress=tell)
        assert db.check_corpus("docs") == []
        assert db.corpus_info("docs").chunks > 8_192
    inside = {size for _, size in seen if 0 < size < path.stat().st_size}
    assert len(inside) >= 4
    assert [size for _, size in seen] == sorted(size for _, size in seen)
    assert {stage for stage, _ in seen} == {"reading", "writing", "optimizing"}


def test_records_that_fail_alike_are_told_in_a_line_for_their_file(
    run: Run, tmp_path: Path
) -> None:
    for name in ("a", "b", "c"):
        lines = [json.dumps({"_id": f"d{n}", "text": f"{name} {n}"}) for n in range(40)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    done = run("ingest", tmp_path, "-c", "docs", "--prefix", "x")
    assert done.exit_code == 4
    said = done.stderr.splitlines()
    assert said[0] == (
        "x/b.jsonl: 40 failed (#d0, #d1, #d2, …): another document of the corpus has its id (RG409)"
    )
    assert said[2].startswith("  hint: x/b.jsonl and 1 other: an external_id, such as the _id of")
    assert said[3].startswith("docs: 40 documents (40 written, 0 unchanged, 80 failed)")
    assert len(said) == 4


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_what_a_corpus_cannot_be_is_refused_before_anything_is_read(
    run: Run, tmp_path: Path, dry: list[str]
) -> None:
    (tmp_path / "a.md").write_text("One.\n")
    assert run("ingest", tmp_path, "-c", "docs", "--text-config", "german").exit_code == 0
    for corpus, config, says in (
        ("docs", "english", "ragdb: corpus docs has the text configuration german, not english"),
        ("docs", "klingon", "ragdb: corpus docs has the text configuration german, not klingon"),
        ("new", "klingon", 'ragdb: text configuration "klingon" is not one that'),
        ("Bad Name", "german", 'ragdb: "Bad Name" is not a corpus name'),
    ):
        done = run("ingest", tmp_path, "-c", corpus, "--text-config", config, *dry)
        assert done.exit_code == 2
        assert done.stderr.startswith(says)
    for given in (["--text-config", "german"], []):
        assert run("ingest", tmp_path, "-c", "docs", *given, *dry).exit_code == 0


def test_a_new_corpus_has_the_configuration_of_the_language_of_most_of_its_documents(
    run: Run, tmp_path: Path
) -> None:
    sentences = {
        "de": "Die Werkstatt verleiht ihre Maschinen an alle Mitglieder, die einen Kurs haben.",
        "en": "The workshop lends its machines to all of the members who have taken a course.",
        "ja": "工房は、講習を受けたすべての会員に機械を貸し出しています。",
    }

    def made(corpus: str, *languages: str, given: Sequence[str] = ()) -> tuple[str, bool]:
        """The configuration of the corpus, and whether that was told."""
        (folder := tmp_path / corpus).mkdir()
        for n, language in enumerate(languages):
            (folder / f"{n}.md").write_text(f"# {n}\n\n{sentences[language]}\n")
        for dry in (["--dry-run"], []):
            done = run("ingest", folder, "--corpus", corpus, *given, *dry)
            assert done.exit_code == 0
        info = json.loads(run("corpus", "show", corpus, "--json").stdout)
        return info["text_config"], "made with --text-config" in done.stderr

    assert made("blatt", "de", "en", "de") == ("german", True)
    assert made("even", "de", "en") == ("english", False)
    assert made("most", "en", "de", "en") == ("english", False)
    assert made("kami", "ja", "ja") == ("english", False)
    assert made("given", "de", "de", given=["--text-config", "simple"]) == ("simple", False)


def test_a_new_corpus_of_another_language_is_told_how_its_words_are_stemmed(
    run: Run, tmp_path: Path
) -> None:
    text = "Die Werkstatt verleiht ihre Maschinen an alle Mitglieder, die einen Kurs besucht haben."
    for n in range(20):
        (tmp_path / f"{n}.md").write_text(f"# Blatt {n}\n\n{text}\n")
    said = "stemmed as english ones: `ragdb ingest PATH --corpus ANOTHER --text-config german`"
    english = ("ingest", tmp_path, "--corpus", "blatt", "--text-config", "english")
    assert said in run(*english).stderr
    assert "stemmed" not in run(*english).stderr
    done = run("ingest", tmp_path, "--corpus", "deutsch")
    assert (done.exit_code, "stemmed" in done.stderr) == (0, False)


def test_what_waits_for_a_model_outside_is_counted_with_what_embeds_it(
    run: Run, tmp_path: Path, clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ragdb.connect(clone) as db:
        db.create_embedder("words", 64)
        db.bind_embedder("words", "hash", "hash-v1")
        for corpus in ("docs", "bare"):
            db.create_corpus(corpus)
        db.embed_corpus("docs", "words")
    for name in ("a", "b"):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\nA text.\n")

    def said(*flags: object) -> str:
        done = run("ingest", tmp_path, *flags)
        assert done.exit_code == 0, done.output
        return str(done.stderr)

    waits = "2 chunks of docs wait for an embedding by words"
    hint = f"  hint: {waits}, and no worker runs: `ragdb embed docs`\n"
    assert " for an embedding" not in said("-c", "docs", "--dry-run")
    assert " for an embedding" not in said("-c", "bare")
    assert hint in said("-c", "docs")
    assert hint in said("-c", "docs")  # also where nothing was written
    monkeypatch.setattr(Functions, "has_worker", lambda _: True)
    assert f"  {waits}, which a worker makes\n" in said("-c", "docs")
    assert " for an embedding" not in said("-c", "docs", "--embed")
    assert " for an embedding" not in said("-c", "docs")


def test_no_worker_is_said_to_embed_by_an_embedder_without_a_provider(
    run: Run, tmp_path: Path, clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ragdb.connect(clone) as db:
        db.create_embedder("words", 64)
        db.create_corpus("docs")
        db.embed_corpus("docs", "words")
    (tmp_path / "a.md").write_text("# a\n\nA text.\n")
    monkeypatch.setattr(Functions, "has_worker", lambda _: True)
    said = run("ingest", tmp_path, "-c", "docs").stderr
    waits = "1 chunk of docs waits for an embedding by words, which is bound to no provider"
    assert f"  hint: {waits}: `ragdb embedder bind words --provider PROVIDER`\n" in said
    assert "a worker" not in said


def test_what_a_contract_reads_and_a_model_outside_embeds_is_counted(
    run: Run, tmp_path: Path, clone: str
) -> None:
    with ragdb.connect(clone) as db:
        db.create_embedder("words", 64)
        db.bind_embedder("words", "hash", "hash-v1")
    (tmp_path / "a.md").write_text("# a\n\nA text.\n")
    contract = tmp_path / "c.kern"
    contract.write_text("corpus name=docs\n  source name=a uri=a.md\n")
    assert run("apply", contract).exit_code == 0
    assert " for an embedding" not in run("ingest", "--contract", contract).stderr
    with ragdb.connect(clone) as db:
        db.embed_corpus("docs", "words")
    said = run("ingest", "--contract", contract).stderr
    assert "1 chunk of docs waits for an embedding by words, and no worker runs" in said


def test_a_file_over_a_quota_is_told_what_the_quota_is(run: Run, tmp_path: Path) -> None:
    assert run("quota", "set", "public", "--corpus-chunks", 1).exit_code == 0
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text(f"This is {name}.")
    done = run("ingest", tmp_path, "-c", "docs", "--prefix", ".")
    assert done.exit_code == 4
    assert "it may have 1 and has 1" in done.stdout
