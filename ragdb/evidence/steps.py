"""The steps of one run of the engine, in their order."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ragdb.evidence.answers import (
    NO_EVIDENCE,
    NO_RETRIEVER,
    NOT_ACCEPTED,
    NOT_ENOUGH,
    Answer,
    RagError,
)
from ragdb.evidence.outputs import ANSWERS, ask, name_of, sentence_of, used, verdict_of
from ragdb.evidence.packs import EvidencePack, build_evidence_pack
from ragdb.evidence.retrieval import RetrievalQuery, RetrievedChunk, Retriever
from ragdb.evidence.tasks import RagPolicy, mismatches

if TYPE_CHECKING:
    from ragdb.evidence.engine import Engine

FUSION = 60
"""Constant of the reciprocal ranks by which the results of several queries become one."""


class Run:
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
        self.took: dict[str, Any] = {}

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
            self.engine.told("evidence", {"hash": pack.hash, "chunks": packed["chunks"]})
            self._weigh(packed)
            if self.verdict is not None:
                self.engine.told("gate", self.verdict)
            self.engine._check_input(given)
        if self.verdict is not None and not self.verdict["enough"]:
            output, problems = self._unanswered(packed), list[str]()
        else:
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
            planner: Any = self.engine.planner
            plan, problem = ask(getattr(planner, "plan", planner), self.question)
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
        self.engine.told("plan", self.summary["plan"] | {"queries": queries})
        return queries, reason if self.policy.mode == "auto" and not needs else None

    def _fused(self, retriever: Retriever, queries: Sequence[str]) -> tuple[RetrievedChunk, ...]:
        """The chunks of all queries by the sum of their reciprocal ranks.

        Scores of different queries are of different questions, so ranks are compared. Each chunk
        has the score that the first query gave it: the question comes before its parts.
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
                best.setdefault(key, chunk)
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

    def _unanswered(self, packed: dict[str, Any]) -> dict[str, Any]:
        """What is said in place of an answer where the gate says no: no task is asked."""
        output: dict[str, Any] = {"answer": "", "citations": [], "insufficient_evidence": True}
        if self.is_recorded:
            self._citations(output, packed, 1)
        self.summary |= {"attempts": 0, "verification": [], "verified": True}
        return output

    # ── run, verify, repair ──

    def _attempt(
        self, given: dict[str, Any], packed: dict[str, Any]
    ) -> tuple[dict[str, Any], list[str]]:
        task = self.engine.task
        if task is None:
            began = time.perf_counter()
            output = self.db.answer_from_evidence(self.question, packed, self.engine.sentences)
            self.took = {"elapsed_ms": 1000 * (time.perf_counter() - began)}
            self.summary["attempts"] = 1
            problems = self._verified(output, packed, 1)
            self.engine.told("attempt", {"attempt": 1, "problems": problems})
        else:
            output, problems = {}, []
            for attempt in range(1, self.engine.max_attempts + 1):
                self.summary["attempts"] = attempt
                asked = {**given, "problems": problems} if problems else dict(given)
                began = time.perf_counter()
                made, problem = ask(task, asked)
                self.took = {"elapsed_ms": 1000 * (time.perf_counter() - began), **used(task)}
                output = made if isinstance(made, dict) else {}
                if problem is not None:
                    problems = [problem]
                    self.summary["verification"] = [verdict_of("json.object", problem)]
                else:
                    problems = self._verified(output, packed, attempt)
                self.engine.told("attempt", {"attempt": attempt, "problems": problems})
                if not problems:
                    break
        self.summary["verified"] = not problems
        return output, problems

    def _verified(self, output: dict[str, Any], packed: dict[str, Any], attempt: int) -> list[str]:
        """What the verifiers of the task find wrong; their verdicts go into the summary."""
        problems: list[str] = []
        verdicts = []
        for verifier, codes, found in self._verifiers(output, packed, attempt):
            verdicts.append(verdict_of(verifier, *codes))
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
                model=name_of(self.engine.task),
                attempt=attempt,
                client=self.engine.client,
                **self.took,
            )
            if rows:
                self.summary["answer_id"] = str(rows[0].answer_id)
        else:
            rows = self.db.check_citations(output, packed, require_citations=required)
        wrong = [row for row in rows if row.code is not None and not row.is_advisory]
        said = self.db.validate_citations(output, packed, required)
        if not said:
            said = [sentence_of(row) for row in wrong]
        codes = list(dict.fromkeys(row.code for row in wrong))
        return codes or (["CITATIONS_MALFORMED"] if said else []), said
