"""The output of a task: asked for, read, and what is wrong with it in words."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from ragdb.client._generated.rows import CheckCitationsRow
from ragdb.client.rows import NotHeld, held, loads
from ragdb.evidence.answers import Task
from ragdb.models.chat import ModelError, ModelRefused

MOST = 1_000_000
"""Characters of an output at most."""


def name_of(task: Task | None) -> str | None:
    """What a model or a callable calls itself; None for the answer that needs none."""
    if task is None:
        return None
    name = getattr(task, "name", None) or getattr(task, "__name__", None) or type(task).__name__
    return str(name)[:200]


def used(task: Task) -> dict[str, int]:
    """The tokens of the last answer that a model of `ragdb.models.chat` gave this thread."""
    found = getattr(task, "usage", None) or {}
    return {name: found[name] for name in ("input_tokens", "output_tokens") if name in found}


def ask(model: Callable[[Any], Any], given: Any) -> tuple[dict[str, Any] | None, str | None]:
    """The object that a model or any callable returns, or what is wrong instead of one."""
    try:
        made = model(given)
    except ModelRefused:
        return None, "output: refused"
    except ModelError as error:
        return None, f"model: {error}"[:200]
    except (TimeoutError, ConnectionError) as error:
        # what a callable says of itself may hold a prompt or a key
        return None, f"model: {type(error).__name__}"
    return _object(made)


def holds(problems: Sequence[str], checks: Sequence[CheckCitationsRow]) -> bool:
    """Whether the citations of an output have no problem and get advice at most."""
    return not problems and all(check.code is None or check.is_advisory for check in checks)


def _object(made: Any) -> tuple[dict[str, Any] | None, str | None]:
    """An object that JSON and the database can hold, or what is wrong with it."""
    try:
        if isinstance(made, str) and len(made) <= MOST:
            made = loads(_unfenced(made))
        text = held(made)
    except NotHeld as error:
        return None, f"output: {error}"
    except (ValueError, TypeError, RecursionError):
        return None, "output: not JSON"
    if not isinstance(made, dict):
        return None, "output: no object"
    if len(text) > MOST:
        return None, f"output: more than {MOST} characters"
    return json.loads(text), None


def _unfenced(text: str) -> str:
    """What stands between the fences that a model puts around its JSON."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        text = text[text.index("\n") : -3]
    return text
