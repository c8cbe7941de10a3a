"""The engine that answers from evidence: plan, retrieve, pack, weigh, run, verify, repair.

Order and failures are those of the four RAG modes. Everything that is decided is decided by
functions of the database; a model, where one is used, only proposes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict

from ragdb.client.rows import loads
from ragdb.evidence.retrieval import (
    EvidencePack,
    RetrievalQuery,
    RetrievedChunk,
    Retriever,
    build_evidence_pack,
)
from ragdb.evidence.tasks import (
    MAX_ATTEMPTS,
    ContractError,
    Gate,
    Mode,
    RagPolicy,
    TaskContract,
    mismatches,
)
from ragdb.models.chat import ModelError, ModelRefused

if TYPE_CHECKING:
    from typing import Unpack

    from ragdb.client.client import Client

NO_RETRIEVER = "rag required but no retriever configured"
NO_EVIDENCE = "rag required but no evidence found"
NOT_ENOUGH = "insufficient evidence"
NOT_ACCEPTED = "rag required but task contract does not accept evidence"

FUSION = 60
"""Constant of the reciprocal ranks by which the results of several queries become one."""

ANSWERS = ("answer", "content", "message", "text")
"""Where an output has its text: ours, and those of Anthropic and Cohere."""

MOST = 1_000_000
"""Characters of an output at most."""

Task = Callable[[dict[str, Any]], "dict[str, Any] | str"]
Planner = Callable[[str], "dict[str, Any] | str"]


class PolicyOverrides(TypedDict, total=False):
    """Fields of `RagPolicy`."""

    mode: Mode
    top_k: int
    require_citations: bool
    max_context: int | None
    enough_context_gate: bool | Gate


class RagError(Exception):
    """A task that could not be run as its policy demands; `trace_summary` says how far it came."""

    def __init__(self, message: str, trace_summary: dict[str, Any]) -> None:
        super().__init__(message)
        self.trace_summary = trace_summary


@dataclass(frozen=True, slots=True)
class Answer:
    """What a task returned, with the evidence it had and what is wrong with it (nothing, or why).

    An output with `problems` has not been verified and is not to be shown as an answer.
    `trace_summary` holds ids, hashes, counts and verdicts, never a prompt or a text.
    """

    output: dict[str, Any]
    pack: EvidencePack | None
    problems: tuple[str, ...]
    trace_summary: dict[str, Any]
    gate: dict[str, Any] | None = None
    """The verdict of the gate with the terms that are missing; None where none was asked."""


class Engine:
    """Runs a task over evidence: validate, plan, retrieve, pack, weigh, run, verify, repair.

    `task` is given {"question", "evidence"?, "problems"? (of the attempt before)} and returns an
    output or its JSON: any callable, such as `ragdb.models.OpenAIModel`. Without one the answer is
    `ragdb.answer_from_evidence`, in at most `sentences` sentences. `planner` is given the question
    and returns a plan in place of `ragdb.rag_query_plan`. A `contract` brings policy, schemas,
    verifiers and the number of attempts.

    Evidence that a recorded retrieval found is weighed and answered on record
    (`ragdb.record_gate`, `ragdb.record_answer`).
    """

    def __init__(
        self,
        db: Client,
        *,
        retriever: Retriever | None = None,
        policy: RagPolicy | None = None,
        task: Task | None = None,
        planner: Planner | None = None,
        contract: TaskContract | None = None,
        corpus_id: str | None = None,
        accepts_evidence: bool = True,
        max_attempts: int | None = None,
        sentences: int = 2,
        client: str | None = None,
    ) -> None:
        attempts = max_attempts or (contract.max_attempts if contract else 2)
        if not 1 <= attempts <= MAX_ATTEMPTS or max_attempts == 0:
            raise ValueError(f"max_attempts is {max_attempts} and not 1 to {MAX_ATTEMPTS}")
        self.db, self.retriever, self.task, self.planner = db, retriever, task, planner
        self.contract = contract
        self.policy = policy or (contract.policy if contract else RagPolicy())
        self.accepts_evidence = contract.supports_rag if contract else accepts_evidence
        self.corpus_id, self.max_attempts = corpus_id, attempts
        self.sentences, self.client = sentences, client

    def run(
        self,
        question: str,
        evidence: Sequence[RetrievedChunk] = (),
        **overrides: Unpack[PolicyOverrides],
    ) -> Answer:
        """Answer a question. `evidence` is the caller's; `overrides` are fields of the policy.

        Raises RagError where the mode `required` cannot be met; ValueError for an empty question or
        one that is no input of the contract, and for evidence that it does not accept.
        """
        policy = self._policy(overrides, bool(evidence))
        if not question.strip():
            raise ValueError("question is empty")
        if evidence and not self.accepts_evidence:
            raise ValueError("the task contract does not accept evidence")
        self._check_input({"question": question})
        return _Run(self, question, policy).run(tuple(evidence))

    def _policy(self, overrides: PolicyOverrides, has_evidence: bool) -> RagPolicy:
        policy = replace(self.policy, **overrides)
        if self.contract is None or not self.contract.requires_rag or policy.mode == "required":
            return policy
        if policy.mode == "off":
            if not has_evidence:
                raise ValueError("the task contract requires evidence, and there is none")
            return policy
        return replace(policy, mode="required")

    def _check_input(self, given: dict[str, Any]) -> None:
        if self.contract is None or self.contract.input_schema is None:
            return
        if wrong := mismatches(self.contract.input_schema, given):
            raise ContractError(*(f"input {problem}" for problem in wrong))


class _Run:
    """One run of the engine: its steps, in their order, over what they find."""

    def __init__(self, engine: Engine, question: str, policy: RagPolicy) -> None:
        self.engine, self.db, self.question, self.policy = engine, engine.db, question, policy
        self.summary: dict[str, Any] = {"rag_mode": policy.mode}
        if engine.contract is not None:
            self.summary["task"] = engine.contract.task_id
            self.summary["version"] = engine.contract.version
        self.traces: list[str] = []
        self.is_recorded = False
        self.verdict: dict[str, Any] | None = None

    def run(self, evidence: tuple[RetrievedChunk, ...]) -> Answer:
        found = self._retrieve(bool(evidence))
        pack = None
        packed: dict[str, Any] = {"chunks": []}
        given: dict[str, Any] = {"question": self.question}
        if evidence or found is not None:
            chunks = (*evidence, *(found or ()))
            pack, packed = self._pack(chunks)
            given = pack.as_input(self.question)
            self.summary["retrieved_chunks"] = len(chunks)
            self.summary["evidence_pack_hash"] = pack.hash
            self._weigh(packed)
            self.engine._check_input(given)
        output, problems = self._attempt(given, packed)
        return Answer(output, pack, tuple(problems), self.summary, self.verdict)

    # ── plan and retrieve ──

    def _retrieve(self, has_evidence: bool) -> tuple[RetrievedChunk, ...] | None:
        """What was found; None where nothing was looked for. Raises RagError."""
        required = self.policy.mode == "required"
        retriever = self.engine.retriever
        skipped = queries = None
        if self.policy.mode == "off":
            skipped = "the mode is off"
        elif not self.engine.accepts_evidence:
            skipped = NOT_ACCEPTED if required else "the task contract does not accept evidence"
        elif retriever is None:
            skipped = NO_RETRIEVER if required else "no retriever is configured"
        elif self.policy.mode == "auto" and has_evidence:
            skipped = "the caller gave evidence"
        else:
            queries, skipped = self._plan()
        if skipped is not None:
            self.summary["retrieval_skipped"] = skipped
            if required:
                raise RagError(skipped, self.summary)
            return None
        assert retriever is not None
        chunks = self._fused(retriever, queries or [self.question])
        if required and not chunks:
            raise RagError(NO_EVIDENCE, self.summary | {"retrieved_chunks": 0})
        return chunks

    def _plan(self) -> tuple[list[str], str | None]:
        """What to look up, and why nothing need be in the mode auto."""
        plan, said = None, {"by": "rules"}
        if self.engine.planner is not None:
            plan, problem = _asked(self.engine.planner, self.question)
            problems = [problem] if problem else self.db.validate_query_plan(plan)
            if problems:
                # the model's own words are in none of these
                plan, said["problem"] = None, "; ".join(problems)
            else:
                said["by"] = "model"
        if plan is None:
            plan = self.db.rag_query_plan(self.question)
        needs, reason = plan["needs_retrieval"], plan.get("reason", "")
        queries = list(plan.get("queries") or [])
        if said["by"] == "model":
            reason = "the model's plan" if needs else "the model's plan needs none"
        self.summary["plan"] = {
            **said, "needs_retrieval": needs, "queries": len(queries), "reason": reason
        }  # fmt: skip
        return queries, reason if self.policy.mode == "auto" and not needs else None

    def _fused(self, retriever: Retriever, queries: Sequence[str]) -> tuple[RetrievedChunk, ...]:
        """The chunks of all queries by the sum of their reciprocal ranks, each with its best score.

        Scores of different queries are of different questions, so ranks are compared.
        """
        best: dict[tuple[str, str], RetrievedChunk] = {}
        weight: dict[tuple[str, str], float] = {}
        for query in queries:
            found = retriever.retrieve(RetrievalQuery(query, self.policy.top_k))
            if trace := getattr(retriever, "trace_id", None):
                self.traces.append(str(trace))
            for rank, chunk in enumerate(found, 1):
                key = chunk.source_id, chunk.chunk_id
                weight[key] = weight.get(key, 0) + 1 / (FUSION + rank)
                if key not in best or chunk.score > best[key].score:
                    best[key] = chunk
        if self.traces:
            self.summary["trace_ids"] = list(self.traces)
        # equal weights stay in the order in which they were found
        keys = sorted(best, key=lambda key: -weight[key])
        return tuple(best[key] for key in keys[: self.policy.top_k])

    # ── pack and weigh ──

    def _pack(self, chunks: Sequence[RetrievedChunk]) -> tuple[EvidencePack, dict[str, Any]]:
        names = {chunk.metadata["corpus"] for chunk in chunks if "corpus" in chunk.metadata}
        named = names.pop() if len(names) == 1 else None
        named = named or getattr(self.engine.retriever, "corpus", None)
        # evidence is on record where a retrieval that is found it, or found nothing
        self.is_recorded = bool(self.traces) and (
            not chunks or any("trace_id" in chunk.metadata for chunk in chunks)
        )
        pack = build_evidence_pack(
            chunks, self.engine.corpus_id or named or "context", max_context=self.policy.max_context
        )
        as_json = pack.as_json()
        if self.is_recorded and named:
            # the language that its words are compared in
            as_json["text_config"] = self.db.corpus_info(named).text_config
        return pack, as_json

    def _weigh(self, packed: dict[str, Any]) -> None:
        gate = self.policy.gate
        if gate is None or self.policy.mode == "off":
            return
        thresholds = asdict(gate)
        if self.is_recorded:
            verdict = self.db.record_gate(
                self.question,
                packed,
                **thresholds,
                trace_id=self._empty_trace(packed),
                client=self.engine.client,
            )
        else:
            verdict = self.db.rag_enough_context_gate(self.question, packed, **thresholds)
        self.verdict = verdict
        # the terms are the question's
        self.summary["gate"] = {k: v for k, v in verdict.items() if k != "missing_terms"}
        if self.policy.mode == "required" and not verdict["enough"]:
            raise RagError(NOT_ENOUGH, self.summary)

    def _empty_trace(self, packed: dict[str, Any]) -> str | None:
        """The trace of a pack without chunks, which would name it."""
        return None if packed["chunks"] else self.traces[0]

    # ── run, verify, repair ──

    def _attempt(
        self, given: dict[str, Any], packed: dict[str, Any]
    ) -> tuple[dict[str, Any], list[str]]:
        task = self.engine.task
        if task is None:
            output = self.db.answer_from_evidence(self.question, packed, self.engine.sentences)
            self.summary["attempts"] = 1
            problems = self._verified(output, packed, 1)
        else:
            output, problems = {}, []
            for attempt in range(1, self.engine.max_attempts + 1):
                self.summary["attempts"] = attempt
                asked = {**given, "problems": problems} if problems else dict(given)
                made, problem = _asked(task, asked)
                output = made if isinstance(made, dict) else {}
                if problem is not None:
                    problems = [problem]
                    self.summary["verification"] = [_verdict("json.object", problem)]
                else:
                    problems = self._verified(output, packed, attempt)
                if not problems:
                    break
        self.summary["verified"] = not problems
        return output, problems

    def _verified(self, output: dict[str, Any], packed: dict[str, Any], attempt: int) -> list[str]:
        """What the verifiers of the task find wrong; their verdicts go into the summary."""
        problems: list[str] = []
        verdicts = []
        for verifier, codes, found in self._verifiers(output, packed, attempt):
            verdicts.append(_verdict(verifier, *codes))
            problems += found
        self.summary["verification"] = verdicts
        return problems

    def _verifiers(
        self, output: dict[str, Any], packed: dict[str, Any], attempt: int
    ) -> Iterator[tuple[str, list[str], list[str]]]:
        contract = self.engine.contract
        bare = (
            (contract is None or contract.output_schema is None)
            and not any(output.get(name) for name in ANSWERS)
            and output.get("insufficient_evidence") is not True
        )
        empty = ["output: neither answer nor insufficient_evidence"] if bare else []
        yield "json.object", empty, empty
        if contract is not None and contract.output_schema is not None:
            wrong = [f"output {place}" for place in mismatches(contract.output_schema, output)]
            yield "contract.schema", wrong, wrong
        if (
            contract is None
            or "rag.citations" in contract.verifier_ids
            or self.policy.require_citations
        ):
            yield "rag.citations", *self._citations(output, packed, attempt)

    def _citations(
        self, output: dict[str, Any], packed: dict[str, Any], attempt: int
    ) -> tuple[list[str], list[str]]:
        """Codes of what is wrong with the citations, and the sentences that the task is told."""
        required = self.policy.require_citations
        contract = self.engine.contract
        if self.is_recorded:
            rows: Sequence[Any] = self.db.record_answer(
                output,
                packed,
                self._empty_trace(packed),
                required,
                task=contract.task_id if contract else None,
                model=_name(self.engine.task),
                attempt=attempt,
                client=self.engine.client,
            )
        else:
            rows = self.db.check_citations(output, packed, require_citations=required)
        wrong = [row for row in rows if row.code is not None and not row.is_advisory]
        said = self.db.validate_citations(output, packed, required)
        if not said:
            said = [_sentence(row) for row in wrong]
        codes = list(dict.fromkeys(row.code for row in wrong))
        return codes or (["CITATIONS_MALFORMED"] if said else []), said


def _sentence(row: Any) -> str:
    place = "" if row.citation is None else f"citation[{row.citation}]: "
    return f"{place}{row.code}: {row.message}"


def _verdict(verifier: str, *codes: str) -> dict[str, Any]:
    if not codes:
        return {"verifier_id": verifier, "status": "pass"}
    return {"verifier_id": verifier, "status": "fail", "codes": list(codes)}


def _name(task: Task | None) -> str | None:
    """What a model or a callable calls itself; None for the answer that needs none."""
    if task is None:
        return None
    name = getattr(task, "name", None) or getattr(task, "__name__", None) or type(task).__name__
    return str(name)[:200]


def _asked(model: Callable[[Any], Any], given: Any) -> tuple[dict[str, Any] | None, str | None]:
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


def _object(made: Any) -> tuple[dict[str, Any] | None, str | None]:
    """An object that JSON and the database can hold, or what is wrong with it."""
    try:
        if isinstance(made, str) and len(made) <= MOST:
            made = loads(_unfenced(made))
        text = json.dumps(made, allow_nan=False, ensure_ascii=False)
        text.encode()
    except UnicodeEncodeError:
        return None, "output: half of a surrogate pair"
    except (ValueError, TypeError, RecursionError):
        return None, "output: no JSON"
    if not isinstance(made, dict):
        return None, "output: no object"
    if len(text) > MOST:
        return None, f"output: more than {MOST} characters"
    if "\\u0000" in text.replace("\\\\", ""):
        return None, "output: a NUL"
    return json.loads(text), None


def _unfenced(text: str) -> str:
    """What stands between the fences that a model puts around its JSON."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        text = text[text.index("\n") : -3]
    return text
