"""What a task declares: its policy of retrieval, and contract.json of version 2."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

from ragdb.client.rows import loads

Mode = Literal["off", "auto", "on", "required"]
Unit = Literal["token", "char"]

VERIFIERS = ("json.object", "contract.schema", "rag.citations")
MAX_ATTEMPTS = 10


class ContractError(ValueError):
    """A contract.json that cannot be read; `problems` are sentences, each with its place."""

    def __init__(self, *problems: str) -> None:
        super().__init__("contract: " + "; ".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Gate:
    """Thresholds of `ragdb.rag_enough_context_gate`: chunks, best score, share of the terms.

    Without a `min_score` the floor counts that the corpus has for the mode.
    """

    min_chunks: int = 1
    min_score: float | None = None
    min_coverage: float = 0.5


@dataclass(frozen=True, slots=True)
class RagPolicy:
    """How a task retrieves. `max_context` counts the unit, None sets no limit.

    `enough_context_gate` is True for the gate's own thresholds, or a Gate. The unit is a token of
    four characters, or a char.
    """

    mode: Mode = "auto"
    top_k: int = 8
    require_citations: bool = False
    max_context: int | None = None
    enough_context_gate: bool | Gate = False
    unit: Unit = "token"

    @property
    def gate(self) -> Gate | None:
        """The thresholds to weigh evidence by; None where it is not weighed."""
        if isinstance(self.enough_context_gate, Gate):
            return self.enough_context_gate
        return Gate() if self.enough_context_gate else None


@dataclass(frozen=True, slots=True)
class TaskContract:
    """A task's contract.json: what it takes and returns, how it retrieves, how it is verified."""

    task_id: str
    version: str
    supports_rag: bool = False
    requires_rag: bool = False
    returns_citations: bool = False
    policy: RagPolicy = field(default_factory=lambda: RagPolicy("off"))
    verifier_ids: tuple[str, ...] = ()
    input_schema: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None
    max_attempts: int = 2

    @classmethod
    def load(cls, path: str | PathLike[str]) -> TaskContract:
        """Read a file. Raises OSError, ContractError."""
        try:
            data = loads(Path(path).read_bytes())
        except ValueError as error:
            raise ContractError(f"not JSON: {error}") from None
        return cls.read(data)

    @classmethod
    def read(cls, data: Any) -> TaskContract:
        """Read a parsed contract. Raises ContractError with everything that is wrong."""
        from jsonschema import Draft202012Validator, SchemaError

        found = sorted(Draft202012Validator(FORM).iter_errors(data), key=lambda e: list(e.path))
        if found:
            raise ContractError(*(_place(error.path) + error.message[:200] for error in found[:10]))
        capable = data.get("capabilities", {})
        supports = capable.get("supports_rag", False)
        requires = capable.get("requires_rag", False)
        returns = capable.get("returns_citations", False)
        rag = data.get("rag_policy", {})
        verifiers = tuple(data.get("verification_policy", {}).get("verifier_ids", ()))
        default: Mode = "required" if requires else "auto" if supports else "off"
        mode = rag.get("mode", default)
        problems = [
            problem
            for problem, is_so in (
                ("requires_rag needs supports_rag", requires and not supports),
                (f"requires_rag contradicts the mode {mode}", requires and mode != "required"),
                (
                    "require_citations needs returns_citations",
                    rag.get("require_citations", False) and not returns,
                ),
                (
                    "verifier rag.citations needs returns_citations",
                    "rag.citations" in verifiers and not returns,
                ),
                (
                    "verifier contract.schema needs output_schema",
                    "contract.schema" in verifiers and "output_schema" not in data,
                ),
                (
                    "max_context and max_context_tokens are one",
                    "max_context" in rag and "max_context_tokens" in rag,
                ),
            )
            if is_so
        ]
        for name in ("input_schema", "output_schema"):
            try:
                Draft202012Validator.check_schema(data.get(name, {}))
            except SchemaError as error:
                problems.append(f"{name} is not a JSON Schema: {error.message[:200]}")
        if problems:
            raise ContractError(*problems)
        gate = rag.get("enough_context_gate", False)
        attempts = data.get("execution_policy", {}).get("max_attempts")
        if attempts is None:
            attempts = data.get("retry_policy", {}).get("max_attempts", 2)
        return cls(
            task_id=data["task_id"],
            version=str(data["version"]),
            supports_rag=supports,
            requires_rag=requires,
            returns_citations=returns,
            policy=RagPolicy(
                mode=mode,
                top_k=int(rag.get("top_k", 8)),
                require_citations=rag.get("require_citations", False),
                max_context=rag.get("max_context", rag.get("max_context_tokens")),
                enough_context_gate=Gate(**gate) if isinstance(gate, dict) else gate,
            ),
            verifier_ids=verifiers,
            input_schema=data.get("input_schema"),
            output_schema=data.get("output_schema"),
            max_attempts=int(attempts),
        )


def mismatches(schema: Mapping[str, Any], value: Any) -> list[str]:
    """Where a value does not fit a JSON Schema: places and the rules broken, none of its text.

    References are looked up in the schema itself; nothing is fetched.
    """
    from jsonschema import Draft202012Validator
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    validator = Draft202012Validator(schema, registry=Registry())
    try:
        errors = sorted(validator.iter_errors(value), key=lambda e: [str(p) for p in e.path])
    except Unresolvable as error:
        raise ContractError(f"a $ref names nothing in its schema: {error}"[:200]) from None
    return [f"{_place(error.path)}{_rule(error)}" for error in errors[:20]]


def _place(path: Any) -> str:
    place = ".".join(map(str, path))[:100]
    return f"{place}: " if place else ""


def _rule(error: Any) -> str:
    if error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        return "lacks " + ", ".join(missing)
    if error.validator == "additionalProperties":
        return "has what the schema does not name"
    return f"breaks {error.validator} {json.dumps(error.validator_value)[:80]}"


def _object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


BOOLEAN = {"type": "boolean"}
SHARE = {"type": "number", "minimum": 0, "maximum": 1}
CONTEXT = {"type": ["integer", "null"], "minimum": 1, "maximum": 10_000_000}
ATTEMPTS = {"type": "integer", "minimum": 1, "maximum": MAX_ATTEMPTS}

# what has no part in retrieval is for people and other engines: taken as it is
FORM = _object(
    ("contract_spec_format", "task_id", "version"),
    contract_spec_format={"const": 2},
    task_id={"type": "string", "minLength": 1, "maxLength": 100},
    version={"type": ["string", "integer"], "maxLength": 50},
    title={"type": "string"},
    contract_markdown_path={"type": "string"},
    success_criteria={"type": "array"},
    failure_modes={"type": "array"},
    fallback_policy={"type": "object"},
    inference_policy={"type": "object"},
    prompt_cache_policy={"type": "object"},
    input_schema={"type": "object"},
    output_schema={"type": "object"},
    capabilities=_object(
        uses_llm=BOOLEAN, supports_rag=BOOLEAN, requires_rag=BOOLEAN, returns_citations=BOOLEAN
    ),
    execution_policy={"type": "object", "properties": {"max_attempts": ATTEMPTS}},
    retry_policy={"type": "object", "properties": {"max_attempts": ATTEMPTS}},
    verification_policy=_object(verifier_ids={"type": "array", "items": {"enum": list(VERIFIERS)}}),
    rag_policy=_object(
        mode={"enum": list(get_args(Mode))},
        top_k={"type": "integer", "minimum": 1, "maximum": 1000},
        require_citations=BOOLEAN,
        max_context=CONTEXT,
        max_context_tokens=CONTEXT,
        enough_context_gate={
            "anyOf": [
                BOOLEAN,
                _object(
                    min_chunks={"type": "integer", "minimum": 0, "maximum": 1000},
                    min_score=SHARE,
                    min_coverage=SHARE,
                ),
            ]
        },
    ),
)
