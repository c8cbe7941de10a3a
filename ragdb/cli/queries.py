"""Files of queries and judgements, as `ragdb eval import` reads them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ragdb.cli.session import Failure
from ragdb.client.rows import NotHeld, loads

# How the columns of a table of queries are called, where its first line says so.
NAMES = {"id", "qid", "queryid", "questionid", "name"}
TEXTS = {"text", "query", "question", "querytext", "questiontext"}
# a grade, whole also where a data frame wrote 1.0; a first line without a number is a heading
_GRADE = re.compile(r"(-?\d{1,9})(?:\.0+)?")
_NUMBER = re.compile(r"[-+]?[\d.]+(?:[eE][-+]?\d+)?")
# what ends the first column, an id, of a table as a spreadsheet saves it
_ENDS = re.compile(r'\s*(?:"(?:[^"]|"")*"|[^",;\t\n]*)([,;\t])')


def judgements(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Labels by query. TREC has four columns, BEIR three below a heading."""
    grades: dict[str, dict[str, int]] = {}
    for number, line in enumerate(io.StringIO(_read(path)), 1):
        row = line.split("\t") if "\t" in line else line.split()
        row = [part.strip() for part in row]
        if not any(row) or (number == 1 and not _NUMBER.fullmatch(row[-1])):
            continue
        grade = _GRADE.fullmatch(row[-1])
        if len(row) not in (3, 4) or not grade:
            raise Failure(
                f"{path}:{number}: not a judgement",
                hint="query, (iteration,) document, grade; a grade is a whole number",
            )
        query, source = row[0], row[-2]
        before = grades.setdefault(query, {}).setdefault(source, int(grade[1]))
        if before != int(grade[1]):
            raise _twice(f"{path}:{number}", query, source, before, grade[1])
    return {
        query: [{"source": source, "grade": grade} for source, grade in judged.items()]
        for query, judged in grades.items()
    }


def _twice(where: str, query: str, source: str, *grades: object) -> Failure:
    graded = " and ".join(map(str, grades))
    return Failure(
        f"{where}: query {query!r} has the document {source!r} twice, with grades {graded}",
        hint="leave one of them out",
    )


def _read(path: Path, newline: str | None = None) -> str:
    """The text of a file, with or without a byte order mark. Raises Failure."""
    try:
        with path.open(encoding="utf-8-sig", newline=newline) as file:
            return file.read()
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise Failure(
            f"{path} is not UTF-8: byte {error.start} is {byte:#x}", hint="save it as UTF-8"
        ) from None


def cases(path: Path, labels: dict[str, list[dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """The cases of a file, each with the labels that its query has in it and in `labels`."""
    table = path.suffix.lower() in (".tsv", ".csv")
    text = _read(path, "" if table else None)
    for case in _rows(path, text) if table else _records(path, io.StringIO(text)):
        _judge(case, labels.get(case["name"], ()), path)
        yield case


def _judge(case: dict[str, Any], judged: Iterable[dict[str, Any]], path: Path) -> None:
    """Give a case the labels that it does not have yet. Raises Failure."""
    grades = {
        str(label.get("source")): 1 if label.get("grade") is None else label["grade"]
        for label in case["labels"]
        if isinstance(label, dict) and label.get("start") is None
    }
    for label in judged:
        source, grade = label["source"], label["grade"]
        if source not in grades:
            case["labels"].append(label)
        elif grades[source] != grade and grades[source] != str(grade):
            where = f"{path} and the judgements"
            raise _twice(where, case["name"], source, grades[source], grade)


def _rows(path: Path, text: str) -> Iterator[dict[str, Any]]:
    """The queries of a table, whose first two columns are the id and the text."""
    lines = io.StringIO(text, newline="")
    if path.suffix.lower() == ".csv":
        ends = _ENDS.match(text)
        rows = csv.reader(lines, delimiter=ends[1] if ends else ",")
    else:
        rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    try:
        for number, row in enumerate(rows, 1):
            name, text = (part.strip() for part in (*row, "", "")[:2])
            heads = [re.sub("[-_ ]", "", part.lower()) for part in (name, text)]
            if not any(row) or (number == 1 and heads[0] in NAMES and heads[1] in TEXTS):
                continue
            swapped = number == 1 and heads[0] in TEXTS and heads[1] in NAMES
            if not name or not text or swapped:
                raise Failure(
                    f"{path}: row {number} is not a query",
                    hint="the id in the first column and the text in the second",
                )
            yield {"name": name, "query": text, "labels": []}
    except csv.Error as error:
        raise Failure(f"{path}:{rows.line_num}: {error}") from None


def _records(path: Path, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The queries of JSON lines, those that `ragdb eval cases --format ndjson` prints among them.

    A contract brings its own cases.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = loads(line)
            if record.get("origin") == "contract":
                continue
            listed = "origin" in record
            name = record["name" if listed else "_id"]
            if isinstance(name, str | int | float) and not isinstance(name, bool):
                yield {
                    "name": str(name),
                    "query": record["query" if listed else "text"],
                    "tags": record.get("tags") or [],
                    "asserts": record.get("asserts") or [],
                    "labels": [*(record.get("labels") or ())],
                }
                continue
            wrong = "has an id that is neither a text nor a number"
        except KeyError as error:
            wrong = f"has no {error}"
        except (TypeError, AttributeError):
            wrong = "is not an object, or its labels are not a list"
        except NotHeld as error:
            wrong = f"is ambiguous ({error})"
        except ValueError as error:
            wrong = f"is not JSON ({error})"
        raise Failure(
            f"{path}:{number}: it {wrong}",
            hint='{"_id": …, "text": …} in each line; a table ends in .csv or .tsv',
        )
