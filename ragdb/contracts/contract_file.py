"""The contract in a file, in either form, with the hashes of its prompt files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragdb.client.rows import loads
from ragdb.contracts.syntax import MAX_DEPTH, ContractSyntaxError, Json, Problem, parse


def contract(nodes: list[Json], name: str) -> Json:
    """The contract of some nodes, as `ragdb.validate_contract` and `apply_contract` take it."""
    return {"contract": name, "nodes": nodes}


def name_of(path: Path) -> str:
    """A contract is named after its file."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("-._") or "contract"
    return name[:128]


def read(path: Path) -> tuple[Json, str]:
    """The contract in a file, in either form, and its text.

    The hash of each prompt file, found beside the contract, is put into its rag node.
    Raises ContractSyntaxError, OSError.
    """
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode()
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        text = error.object.decode(errors="replace")
        problem = Problem(line, column, "not UTF-8", "save the file as UTF-8")
        raise ContractSyntaxError([problem], text, str(path)) from None
    if path.suffix == ".json":
        found = _from_json(text, path)
    else:
        found = contract(parse(text, str(path)), name_of(path))
    for node in _all(found.get("nodes"), MAX_DEPTH):
        _hash_prompt(node, path)
    return found, text


def _from_json(text: str, path: Path) -> Json:
    try:
        found = loads(text)
    except RecursionError:
        raise ContractSyntaxError([Problem(1, 1, "nested too deeply")], text, str(path)) from None
    except json.JSONDecodeError as error:
        problem = Problem(error.lineno, error.colno, f"not JSON: {error.msg}")
        raise ContractSyntaxError([problem], text, str(path)) from None
    except ValueError as error:
        raise ContractSyntaxError([Problem(1, 1, str(error))], text, str(path)) from None
    if isinstance(found, list):
        found = {"nodes": found}
    if not isinstance(found, dict):
        problem = Problem(1, 1, "not an object", '{"contract": "name", "nodes": […]}')
        raise ContractSyntaxError([problem], text, str(path))
    return {"contract": name_of(path), **found}


def _all(nodes: Any, depth: int) -> Iterator[Json]:
    for node in nodes if isinstance(nodes, list) and depth else []:
        if isinstance(node, dict):
            yield node
            yield from _all(node.get("children"), depth - 1)


def _hash_prompt(node: Json, path: Path) -> None:
    keys = node.get("keys")
    prompt = keys.get("prompt") if isinstance(keys, dict) else None
    if node.get("node") != "rag" or not isinstance(prompt, str):
        return
    file = path.parent / prompt
    if file.is_file():
        node["prompt_sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()


def missing_prompts(found: Json) -> list[Json]:
    """The rag nodes whose prompt is not a file beside the contract."""
    return [
        node
        for node in _all(found.get("nodes"), MAX_DEPTH)
        if node.get("node") == "rag"
        and isinstance(node.get("keys"), dict)
        and isinstance(node["keys"].get("prompt"), str)
        and "prompt_sha256" not in node
    ]
