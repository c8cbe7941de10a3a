"""The contract in a file: its text, its name, and the hashes of its prompt files.

What the text says is read in the database, by `ragdb.parse_contract`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragdb.client.client import Client

Json = dict[str, Any]
MAX_DEPTH = 16


class ContractFileError(ValueError):
    """The bytes of a file are not a text that the database can be given."""

    def __init__(self, path: Path, line: int, column: int, message: str, hint: str, text: str):
        super().__init__(show(str(path), line, column, message, hint, text))
        self.problem = {
            "rule": "contract-syntax",
            "severity": "error",
            "node": "",
            "line": line,
            "column": column,
            "message": message,
            "hint": hint,
            "text": text,
        }


def show(
    name: str, line: int, column: int, message: str, hint: str | None = None, text: str = ""
) -> str:
    """A problem with its line, where that says something, and a caret below the column."""
    shown = text.removesuffix("\r").replace("\t", " ")
    # a line of any length: what stands around the column
    start = max(0, column - 81)
    caret = " " * (column - 1 - start) + "^"
    body = f"{name}:{line}:{column}: {message}"
    if shown.strip():
        body += f"\n  {shown[start : start + 160]}\n  {caret}"
    return f"{body}\n  hint: {hint}" if hint else body


def name_of(path: Path) -> str:
    """A contract is named after its file."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("-._") or "contract"
    return name[:128]


def text_of(path: Path) -> str:
    """The text in a file, without a byte order mark. Raises ContractFileError, OSError."""
    written = path.read_bytes()
    try:
        text = written.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before, text = written[: error.start].decode(), written.decode(errors="replace")
        wrong, hint = "not UTF-8", "save the file as UTF-8"
    else:
        before, nul, _ = text.partition("\0")
        if not nul:
            return text
        wrong, hint = "a control character", r"write it as an escape, such as \n"
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    shown = text.split("\n")[line - 1].replace("\0", "�")
    raise ContractFileError(path, line, column, wrong, hint, shown)


def read(db: Client, path: Path) -> Json:
    """The contract in a file, with the hash of each prompt file that is found beside it.

    Raises ContractFileError, OSError, InvalidContract.
    """
    return with_prompts(db.parse_contract(text_of(path), name_of(path)), path)


def with_prompts(found: Json, path: Path) -> Json:
    """A contract, with the hash of each prompt file beside its file put into the rag node."""
    for node, prompt in _prompts(found):
        file = path.parent / prompt
        if os.path.isfile(file):  # of a name that no file can have pathlib raises
            node["prompt_sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def missing_prompts(found: Json) -> list[Json]:
    """What `validate_contract` cannot see: the prompts that are not a file beside the contract."""
    return [
        {
            "rule": "rag-prompt-missing",
            "severity": "error",
            "node": "rag",
            "line": node.get("line"),
            "column": (node.get("columns") or {}).get("prompt"),
            "message": f'prompt "{prompt[:80]}" of rag "{node["keys"].get("name")}" is not a file',
            "hint": "the path is relative to the contract",
        }
        for node, prompt in _prompts(found)
        if "prompt_sha256" not in node
    ]


def _prompts(found: Json) -> Iterator[tuple[Json, str]]:
    """The rag nodes that name a prompt, and it; nodes of JSON may have any form."""
    for node in _all(found.get("nodes"), MAX_DEPTH):
        keys = node.get("keys")
        prompt = keys.get("prompt") if isinstance(keys, dict) else None
        if node.get("node") == "rag" and isinstance(prompt, str | int | float):
            yield node, prompt if isinstance(prompt, str) else json.dumps(prompt)


def _all(nodes: Any, depth: int) -> Iterator[Json]:
    for node in nodes if isinstance(nodes, list) and depth else []:
        if isinstance(node, dict):
            yield node
            yield from _all(node.get("children"), depth - 1)
